"""Finds the printed dialogue of a book: which pieces are dialogue, whose labels they use, and
whether it is a play.

Writes nothing. A novel in which `ALICE:` occurs now and then, a list, a recipe or running heads are
not dialogue; see `_is_dialogue`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from statistics import median

from manuscripts import evidence, persons
from manuscripts.blocks import Block
from manuscripts.book import count_words, word_set
from manuscripts.counting import parse_numbering
from manuscripts.directions import (
    StyledText,
    cover_text,
    is_direction,
    is_extension,
    is_scene_heading,
    is_verse,
    manner_of_speaking,
    match_transition,
)
from manuscripts.labels import (
    COLONS,
    Label,
    Setting,
    common_settings,
    find_labels,
    key_of,
    split_names,
)
from manuscripts.persons import Persona
from manuscripts.plaintext import emphasized_spans
from manuscripts.prose import Line, StyledSpan, normalize_line, plain_text

_MIN_SPEECHES = 4
"""Least number of speeches in a dialogue; two of its speakers have at least two each."""
_LABELLED_SHARE = 0.5
"""Share of a piece's paragraphs that must begin with a label if nothing else marks it as dialogue.
"""
_PROMINENT_SHARE = 0.25
"""The same share if many names are in capitals, set apart or before a colon."""
_MIN_PROMINENT_LABELS = 8
_MAX_FIRST_LABEL_POSITION = 0.4
"""Largest share of the paragraphs of such a piece that may precede its first label."""
_MAX_UNLABELLED_PARAGRAPHS = 12
"""Largest number of paragraphs between two labels of such a piece."""
_MAX_SPEECH_WORDS = 100
"""Largest median number of words below a name that stands alone; below the running heads of pages
there are more. If markup identifies the names, the largest average for the whole piece."""
_MAX_LABEL_LENGTH = 120
"""Characters at the start of a row within which a label's colon must stand."""
_MAX_SINGLE_SPEAKERS = 12
"""With more names than this, labels must outnumber the names two to one."""
_FORM_ORDER_SHARE = 0.9
"""Share of successors that are always the same label, from which three or more labels are a form.
"""
_MAX_CONVERSATION_SPEAKERS = 8
"""With more speakers than this, a dialogue is a play rather than a conversation."""
_TITLE_PARAGRAPHS = 3
"""Paragraphs at the top of a piece in which a title may stand."""
_LIST_MARK = re.compile(r"\s*(?:[-+*]|\d+[.)])\s+|\s*#+\s*")
_MAX_CAST_ROWS = 80
"""Largest number of rows in a list of persons."""
_ACTS = word_set(
    "act akt aufzug acte acto ato atto bedrijf akten naytos действие явление scene szene auftritt "
    "scena escena cena сцена πραξη σκηνη perde babak 幕 막"
)


@dataclass(slots=True, eq=False)
class Passage:
    """A block, or some of its lines, with the labels that it may begin with."""

    block: Block
    lines: list[Line]
    """Empty if the block is not a paragraph."""
    styled: StyledText
    label_options: tuple[Label, ...]
    """Labels that the passage may begin with, the likeliest first."""
    is_direction: bool
    label: Label | None = None
    """The label that was chosen."""
    is_continuation: bool = False
    """Whether this is not the first part of its block."""
    leads_into_speech: bool = False
    """Whether this is a direction within a speech that continues below it; scripts only."""

    def is_label_alone(self) -> bool:
        """Returns whether the passage is nothing but a label."""
        return any(label.speech_start >= len(self.styled.text) for label in self.label_options)


@dataclass(frozen=True, slots=True)
class DoubtfulLabels:
    """Words that look like speakers' names but probably are not."""

    label_names: tuple[str, ...]
    """Most frequent first."""
    paragraphs: int


@dataclass(frozen=True, slots=True)
class PrintedDialogue:
    """The pieces of a book, and which of them are printed dialogue."""

    pieces: Sequence[Sequence[Passage]]
    dialogue_flags: Sequence[bool]
    personas: Sequence[Persona]
    known_keys: frozenset[str]
    """Keys of repeated names and of the list of persons."""
    is_play: bool
    has_speaker_markup: bool = False
    """Whether markup names the speaker of everything that is spoken."""

    @property
    def is_screenplay(self) -> bool:
        """Whether the text has a screenplay's transitions or scene headings."""
        return any(
            is_screenplay_row(passage.styled.text) for passage in chain.from_iterable(self.pieces)
        )

    @property
    def passages(self) -> Iterator[Passage]:
        """The passages of pieces that are dialogue."""
        return chain.from_iterable(compress(self.pieces, self.dialogue_flags))

    @property
    def is_majority(self) -> bool:
        """Whether at least half of the book is dialogue."""
        words = [sum(passage.block.words for passage in passages) for passages in self.pieces]
        return 2 * sum(compress(words, self.dialogue_flags)) >= sum(words)


def find_dialogue(
    pieces_of_blocks: Sequence[Sequence[Block]],
    all_blocks: Iterable[Block],
    is_certain: bool = False,
) -> PrintedDialogue | DoubtfulLabels | None:
    """Returns the dialogue in the pieces, if there is any; `all_blocks` may hold the list of
    persons.

    A piece that only has the form of dialogue is doubtful, unless `is_certain` says that the user
    declared a script.
    """
    all_blocks = list(all_blocks)
    pieces = _read_passages(pieces_of_blocks, is_certain)
    personas = _find_cast_list(pieces) or _find_cast_list(
        [[_passage_of(block) for block in all_blocks]]
    )
    label_counts = _count_labels(chain.from_iterable(pieces))
    if is_certain:
        if max(label_counts.values(), default=0) == 1:  # a short scene, one speech each
            label_counts.update(list(label_counts))
        is_sure_by_piece = [bool(_repeated_labels(passages, label_counts)) for passages in pieces]
    else:
        has_shape_by_piece = [_is_dialogue(passages, label_counts) for passages in pieces]
        is_sure_by_piece = _weigh_evidence(
            pieces, has_shape_by_piece, label_counts, personas, all_blocks
        )
        if any(has_shape_by_piece) and not any(is_sure_by_piece):
            return _doubtful_labels(compress(pieces, has_shape_by_piece), label_counts)
    if not any(is_sure_by_piece):
        return None
    label_counts = _count_labels(chain.from_iterable(compress(pieces, is_sure_by_piece)))
    known_keys = {key for key, count in label_counts.items() if count > 1}
    known_keys |= {key_of(persona.name) for persona in personas}
    dialogue_flags = [
        is_sure or _continues_dialogue(passages, known_keys)
        for passages, is_sure in zip(pieces, is_sure_by_piece, strict=True)
    ]
    label_counts = _count_labels(chain.from_iterable(compress(pieces, dialogue_flags)))
    known_keys |= {key for key, count in label_counts.items() if count > 2}
    for passages, is_sure in zip(pieces, is_sure_by_piece, strict=True):
        for passage in passages:
            passage.label = _choose_label(passage, known_keys, is_sure)
    is_play = bool(personas) or _is_play(pieces, dialogue_flags)
    return PrintedDialogue(pieces, dialogue_flags, personas, frozenset(known_keys), is_play)


def find_script(pieces_of_blocks: Sequence[Sequence[Block]]) -> PrintedDialogue | None:
    """Returns the dialogue of a script, in which exactly those words are names that its markup
    calls names."""
    pieces = [[_passage_of_script(block) for block in blocks] for blocks in pieces_of_blocks]
    known_keys = frozenset(
        passage.label.key for passage in chain.from_iterable(pieces) if passage.label
    )
    if not known_keys and not any(passage.is_direction for passage in chain.from_iterable(pieces)):
        return None
    for passages in pieces:
        for passage_above, passage_below in pairwise(
            passage for passage in passages if passage.lines
        ):
            ends_direction = (
                passage_below.label or passage_below.is_direction or passage_below.block.is_narrated
            )
            passage_above.leads_into_speech = passage_above.is_direction and not ends_direction
    return PrintedDialogue(
        pieces, [True] * len(pieces), (), known_keys, is_play=True, has_speaker_markup=True
    )


_AFTER_NAME = re.compile(r"[\s.:：]*")


def _passage_of_script(block: Block) -> Passage:
    if block.kind != "text" or not block.lines:
        return Passage(block, [], StyledText(""), (), False)
    styled = _style_lines(block.lines)
    passage = Passage(
        block, list(block.lines), styled, (), cover_text(styled.direction_ranges, styled.text)
    )
    if block.is_name and block.lead_words:
        end = len(block.lead_words) if styled.text.startswith(block.lead_words) else 0
        name_end = _AFTER_NAME.match(styled.text, end)
        speech_start = name_end.end() if name_end else end
        is_alone = speech_start >= len(styled.text)
        passage.label = Label(block.lead_words.strip(" .:："), "apart", "", speech_start, is_alone)
    return passage


# -- looking ---------------------------------------------------------------------------------------


def _read_passages(
    pieces_of_blocks: Sequence[Sequence[Block]], is_certain: bool
) -> list[list[Passage]]:
    """Returns blocks as passages with the labels that are set in the usual way of their piece, or
    of the whole book if `is_certain`."""
    unsplit_pieces = [[_passage_of(block) for block in blocks] for blocks in pieces_of_blocks]
    label_counts = Counter(
        label.key
        for passage in chain.from_iterable(unsplit_pieces)
        for label in _strong_labels(passage)
    )
    pieces = [
        [part for passage in passages for part in _split_passage(passage, label_counts)]
        for passages in unsplit_pieces
    ]
    _trust_markup(list(chain.from_iterable(pieces)))
    for passages in [list(chain.from_iterable(pieces))] if is_certain else pieces:
        _keep_common_labels(passages, is_certain)
    return pieces


def _keep_common_labels(passages: Sequence[Passage], is_certain: bool) -> None:
    """Drops labels that are neither set in a usual way nor repeat a name that is.

    If `is_certain` and no label comes again, those in capitals or set apart remain.
    """
    options = [label for passage in passages for label in passage.label_options]
    settings = common_settings(options)
    if is_certain and not settings:
        settings = {label.setting for label in options if label.form != "mixed"}
    keys = {label.key for label in options if label.setting in settings}
    forms = {form for form, *_ in settings}
    for passage in passages:
        passage.label_options = tuple(
            o for o in passage.label_options if o.key in keys and o.form in forms
        )


def _passage_of(block: Block) -> Passage:
    lines = block.lines if block.source_markdown is None else _lines_of_markdown(block)
    if block.kind != "text" or not lines:
        return Passage(block, [], StyledText(""), (), False)
    return _passage_of_lines(block, list(lines), block.lead_words)


def _passage_of_lines(block: Block, lines: list[Line], lead_words: str) -> Passage:
    styled = _style_lines(lines)
    first_span = lines[0][0]
    if not lead_words and (first_span.em or first_span.strong) and not first_span.is_direction:
        lead_words = first_span.text
    in_list = any(container.is_item for container in block.containers)
    options = () if block.note or in_list else find_labels(styled.text, lead_words, block.is_name)
    return Passage(block, lines, styled, options, is_direction(styled))


_EMPHASIS = re.compile(r"(?<![\\\w])(\*{1,3}|_{1,3})(?=[^\s*_])(.+?)(?<=[^\s\\])\1(?!\w)")
_BLOCK_START = re.compile(r"\s{0,3}(?:>|[-+*]\s|\d+[.)]\s|\||```|~~~|<|\[\^)")


def _lines_of_markdown(block: Block) -> list[Line]:
    """Returns the rows of a Markdown paragraph, with its escapes and links as written."""
    rows = [row for row in (block.source_markdown or "").split("\n") if row.strip()]
    if any(map(_BLOCK_START.match, rows)):
        return []
    return [normalize_line(_spans_of_markdown(row.rstrip().removesuffix("\\"))) for row in rows]


def _spans_of_markdown(row: str) -> Iterator[StyledSpan]:
    offset = 0
    for match in _EMPHASIS.finditer(row):
        yield StyledSpan(row[offset : match.start()])
        mark_length = len(match[1])
        yield StyledSpan(match[2], em=mark_length != 2, strong=mark_length > 1)
        offset = match.end()
    yield StyledSpan(row[offset:])


def _style_lines(lines: Sequence[Line]) -> StyledText:
    """Returns the text of lines with its ranges of italics and directions."""
    italic_ranges: list[tuple[int, int]] = []
    direction_ranges: list[tuple[int, int]] = []
    offset = 0
    for line in lines:
        for span in line:
            end = offset + len(span.text)
            italic_ranges += [(offset, end)] if span.em else []
            direction_ranges += [(offset, end)] if span.is_direction else []
            offset = end
        offset += 1
    return StyledText(
        "\n".join(map(plain_text, lines)), tuple(italic_ranges), tuple(direction_ranges)
    )


def _strong_labels(passage: Passage) -> Iterator[Label]:
    """Yields the labels that a passage may begin with, and prominent ones of its further lines."""
    yield from passage.label_options
    for line in passage.lines[1:]:
        yield from _labels_within(line)


def _labels_within(line: Line) -> Iterator[Label]:
    """Returns labels at the beginning of a line within a paragraph."""
    lead_words = line[0].text if line[0].em or line[0].strong else ""
    return (o for o in find_labels(plain_text(line), lead_words) if o.stands_out and o.mark)


def _split_passage(passage: Passage, label_counts: Mapping[str, int]) -> list[Passage]:
    """Splits a passage before lines that begin with a repeated label and around a screenplay's
    transitions and headings."""
    repeated_settings = {
        label.setting for label in passage.label_options if label_counts[label.key] > 1
    }
    is_screenplay_line = [is_screenplay_row(plain_text(line)) for line in passage.lines]
    part_starts = [
        number
        for number, line in enumerate(passage.lines)
        if number
        and (
            is_screenplay_line[number]
            or is_screenplay_line[number - 1]
            or (
                repeated_settings
                and any(
                    label_counts[label.key] > 1 or label.setting in repeated_settings
                    for label in _labels_within(line)
                )
            )
        )
    ]
    if not part_starts:
        return [passage]
    parts = []
    for begin, end in pairwise([0, *part_starts, len(passage.lines)]):
        part = _passage_of_lines(
            passage.block, passage.lines[begin:end], "" if begin else passage.block.lead_words
        )
        part.is_continuation = begin > 0
        parts.append(part)
    return parts


def _trust_markup(passages: Sequence[Passage]) -> None:
    """Drops labels that markup does not call names, if it calls enough others so."""
    marked_passages = [
        passage for passage in passages if passage.label_options and passage.block.is_name
    ]
    speaker_keys = {passage.label_options[0].key for passage in marked_passages}
    if len(marked_passages) >= _MIN_SPEECHES:
        for passage in passages:
            if not passage.block.is_name:
                passage.label_options = tuple(
                    label for label in passage.label_options if label.key in speaker_keys
                )


def _find_cast_list(pieces: Iterable[Sequence[Passage]]) -> list[Persona]:
    """Returns the persons in the book's list of persons; its rows lose their labels."""
    rows: list[str] = []
    remaining_rows = 0
    for passage in chain.from_iterable(pieces):
        block, lines = passage.block, passage.styled.text.split("\n")
        if not passage.lines:  # a list of Markdown
            lines = [_LIST_MARK.sub("", row) for row in block.rows] or [block.text]
        if persons.is_cast_heading(lines[0] or block.text):
            remaining_rows, lines = _MAX_CAST_ROWS, lines[1:]
        elif block.kind == "heading" or remaining_rows <= 0:
            remaining_rows = 0
            continue
        rows += lines
        passage.label_options = ()
        remaining_rows -= len(lines)
    return list(persons.parse_cast_list(rows))


# -- deciding --------------------------------------------------------------------------------------


def _count_labels(passages: Iterable[Passage]) -> Counter[str]:
    """Returns how often each label occurs, by key."""
    return Counter(label.key for passage in passages for label in passage.label_options)


def _is_dialogue(passages: Sequence[Passage], label_counts: Mapping[str, int]) -> bool:
    """Returns whether the same few names begin paragraphs again and again.

    That is: four speeches, two speakers with two each, and labels on half of the paragraphs, or on
    a quarter if eight of them are prominent and spread from the beginning on. Names alone on their
    lines are not running heads: their speeches are short. Three or more names in a fixed order are
    a form, such as a recipe or a letter.
    """
    paragraphs = [passage for passage in passages if passage.lines]
    label_by_passage = _repeated_labels(passages, label_counts)
    labelled_passages = list(label_by_passage)
    if not _has_few_speakers(label_by_passage.values()) or _is_form(label_by_passage.values()):
        return False
    if any(passage.block.is_name for passage in labelled_passages):
        return _count_passage_words(paragraphs) <= _MAX_SPEECH_WORDS * len(labelled_passages)
    label_only_passages = list(filter(Passage.is_label_alone, labelled_passages))
    if 2 * len(label_only_passages) > len(labelled_passages):
        return _is_short_under(paragraphs, label_only_passages)
    direction_count = sum(
        passage.is_direction for passage in paragraphs if passage not in label_by_passage
    )
    share = len(labelled_passages) / (len(paragraphs) - direction_count)
    is_prominently_labelled = share >= _PROMINENT_SHARE and _many_stand_out(
        label_by_passage.values()
    )
    return share >= _LABELLED_SHARE or (
        is_prominently_labelled and _is_evenly_labelled(paragraphs, labelled_passages)
    )


def _repeated_labels(
    passages: Iterable[Passage], label_counts: Mapping[str, int]
) -> dict[Passage, Label]:
    """Returns the passages that begin with a repeated label, with that label."""
    return {
        passage: label
        for passage in passages
        if passage.lines
        for label in _first_repeated(passage, label_counts)
    }


def _count_passage_words(passages: Iterable[Passage]) -> int:
    return sum(count_words(passage.styled.text) for passage in passages)


def _weigh_evidence(
    pieces: Sequence[Sequence[Passage]],
    has_shape_by_piece: Sequence[bool],
    label_counts: Mapping[str, int],
    personas: Sequence[Persona],
    all_blocks: Sequence[Block],
) -> list[bool]:
    """Returns for each piece in the form of dialogue whether it is dialogue, by its own evidence or
    by that of all such pieces."""
    is_in_acts = _is_in_acts(all_blocks)
    titles = [
        b.text for n, b in enumerate(all_blocks) if b.kind == "heading" or n < _TITLE_PARAGRAPHS
    ]
    has_question_title = any(map(evidence.answers_questions, titles))

    def weight(passages: Sequence[Passage]) -> float:
        speeches = list(_speeches(passages, label_counts))
        label_by_passage = _repeated_labels(passages, label_counts)
        chosen_labels = label_by_passage.values()
        direction_count = sum(
            passage.is_direction for passage in passages if passage not in label_by_passage
        )
        answers_questions = has_question_title or any(
            evidence.answers_questions(o.styled.text) for o in passages[:_TITLE_PARAGRAPHS]
        )
        circumstances = evidence.Circumstances(
            share=(len(label_by_passage) + direction_count)
            / max(1, sum(bool(passage.lines) for passage in passages)),
            is_set_apart=2 * sum(label.form != "mixed" for label in chosen_labels)
            > len(label_by_passage),
            is_tabular=2 * sum(passage.block.is_tabular for passage in label_by_passage)
            > len(label_by_passage),
            is_in_acts=is_in_acts,
            has_cast=_has_cast(personas, {label.key for label in chosen_labels}),
            answers_questions=answers_questions,
        )
        return evidence.weigh_labels(speeches, circumstances)

    def is_marked_up(passages: Iterable[Passage]) -> bool:
        return (
            sum(passage.block.is_name for passage in _repeated_labels(passages, label_counts))
            >= _MIN_SPEECHES
        )

    total_weight = weight(list(chain.from_iterable(compress(pieces, has_shape_by_piece))))
    min_weight = (
        evidence.MIN_WEIGHT / 2 if total_weight >= evidence.MIN_WEIGHT else evidence.MIN_WEIGHT
    )
    return [
        is_shaped and (is_marked_up(passages) or weight(passages) >= min_weight)
        for passages, is_shaped in zip(pieces, has_shape_by_piece, strict=True)
    ]


def _speeches(
    passages: Iterable[Passage], label_counts: Mapping[str, int]
) -> Iterator[evidence.LabelledSpeech]:
    """Yields the repeated labels, each with the text up to the next label."""
    label: Label | None = None
    speech_texts: list[str] = []
    has_style = False
    for passage in (*passages, None):
        begins_speech = (
            passage is None or not passage.lines or bool(_first_repeated(passage, label_counts))
        )
        if label and begins_speech:
            yield evidence.LabelledSpeech(
                label.name, " ".join(speech_texts), bool(label.time_ranges), has_style
            )
            label = None
        if passage is None or not passage.lines:
            continue
        if begins_speech:
            label = _first_repeated(passage, label_counts)[0]
            begin, end = label.aside_range
            has_style = (
                begin < end and manner_of_speaking(passage.styled.text[begin:end]) is not None
            )
            speech_texts = [passage.styled.text[label.speech_start :]]
        elif not passage.is_direction:
            speech_texts.append(passage.styled.text)


def _has_cast(personas: Iterable[Persona], keys: Collection[str]) -> bool:
    """Returns whether two or more listed persons appear among the labels, in full or by one word of
    their name."""
    names_of_persons = [key_of(persona.name).split() for persona in personas]
    labelled_count = sum(
        any(key == " ".join(words) or key.strip(".") in words or
            (len(key) > 1 and words[0].startswith(key)) for key in keys)
        for words in names_of_persons
    )  # fmt: skip
    return labelled_count > 1


def _doubtful_labels(
    pieces: Iterable[Sequence[Passage]], label_counts: Mapping[str, int]
) -> DoubtfulLabels:
    """Returns the words that look like speakers' names in pieces that are not dialogue."""
    label_list = [
        label for passages in pieces for label in _repeated_labels(passages, label_counts).values()
    ]
    names_by_frequency = Counter(label.name for label in label_list).most_common()
    return DoubtfulLabels(tuple(name for name, _ in names_by_frequency), len(label_list))


def _first_repeated(passage: Passage, label_counts: Mapping[str, int]) -> tuple[Label, ...]:
    """Returns the first repeated label of a passage's options as a tuple of one, or an empty
    tuple."""
    return tuple(label for label in passage.label_options if label_counts[label.key] > 1)[:1]


def _has_few_speakers(labels: Collection[Label]) -> bool:
    """Returns whether labels are of the same few names."""
    label_counts = Counter(label.key for label in labels)
    repeated_names = sum(count > 1 for count in label_counts.values())
    is_crowd = len(label_counts) > _MAX_SINGLE_SPEAKERS and len(labels) < 2 * len(label_counts)
    return len(labels) >= _MIN_SPEECHES and repeated_names > 1 and not is_crowd


def _many_stand_out(labels: Iterable[Label]) -> bool:
    """Returns whether many labels can be told from prose, of two that come three times at least."""
    keys = [label.key for label in labels if label.stands_out]
    frequent_names = sum(count > 2 for count in Counter(keys).values())
    return len(keys) >= _MIN_PROMINENT_LABELS and frequent_names > 1


def _is_evenly_labelled(
    paragraphs: Sequence[Passage], labelled_passages: Sequence[Passage]
) -> bool:
    """Returns whether labels begin early, and no long stretch is without one: no novel quotes a
    play."""
    label_indexes = [n for n, passage in enumerate(paragraphs) if passage in labelled_passages]
    longest_gap = max(
        index_below - index_above
        for index_above, index_below in pairwise([*label_indexes, len(paragraphs)])
    )
    return (
        label_indexes[0] <= _MAX_FIRST_LABEL_POSITION * len(paragraphs)
        and longest_gap <= _MAX_UNLABELLED_PARAGRAPHS
    )


def _is_form(labels: Iterable[Label]) -> bool:
    """Returns whether labels follow one another as they do in recipes."""
    keys = [label.key for label in labels]
    successors_by_key: dict[str, Counter[str]] = {}
    for key_above, key_below in pairwise(keys):
        successors_by_key.setdefault(key_above, Counter())[key_below] += 1
    frequent_keys = {key for key, count in Counter(keys).items() if count > 3}
    successor_counts = [
        counter for key, counter in successors_by_key.items() if key in frequent_keys
    ]
    common_successors = sum(counter.most_common(1)[0][1] for counter in successor_counts)
    total_successors = sum(counter.total() for counter in successor_counts)
    return len(frequent_keys) > 2 and common_successors >= _FORM_ORDER_SHARE * total_successors


def _is_short_under(paragraphs: Sequence[Passage], label_only_passages: Sequence[Passage]) -> bool:
    """Returns whether names that stand alone have short speeches under them."""
    words_by_speech = [0]
    for passage in paragraphs:
        if passage in label_only_passages:
            words_by_speech.append(0)
        else:
            words_by_speech[-1] += count_words(passage.styled.text)
    return median(words_by_speech[1:]) <= _MAX_SPEECH_WORDS


def _continues_dialogue(passages: Sequence[Passage], known_keys: set[str]) -> bool:
    """Returns whether a piece belongs to the same dialogue: names that are known, or come three
    times here, label a third of it."""
    paragraphs = [passage for passage in passages if passage.lines and not passage.is_direction]
    label_counts = _count_labels(passages)
    frequent_keys = {key for key, count in label_counts.items() if count > 2}
    labelled_passages = [
        passage
        for passage in paragraphs
        if any(is_known(o, known_keys | frequent_keys) for o in passage.label_options)
    ]
    has_known_label = any(
        is_known(label, known_keys) for passage in paragraphs for label in passage.label_options
    )
    return has_known_label and 3 * len(labelled_passages) >= len(paragraphs)


def is_known(label: Label, known_keys: Iterable[str]) -> bool:
    """Returns whether a label has a known name, or several of them."""
    names = split_names(label.name)
    return label.key in known_keys or (
        len(names) > 1 and all(key_of(part) in known_keys for part in names)
    )


def _choose_label(passage: Passage, known_keys: set[str], is_sure: bool) -> Label | None:
    """Returns the label of the speech that begins with a passage.

    It is a known name or, in a piece that `is_sure` to be dialogue, a short prominent one.
    """
    for label in passage.label_options:
        if is_known(label, known_keys):
            return label
    prominent_labels = (
        label for label in passage.label_options if label.stands_out and not passage.is_direction
    )
    short_labels = (label for label in prominent_labels if len(label.name.split()) <= 3)
    return next(short_labels, None) if is_sure else None


def _is_play(pieces: Sequence[Sequence[Passage]], dialogue_flags: Sequence[bool]) -> bool:
    """Returns whether a dialogue without a list of persons is a play: it has acts, many speakers,
    verse, directions, or marks names by a full stop."""
    passages = list(chain.from_iterable(compress(pieces, dialogue_flags)))
    speeches = [(passage, passage.label) for passage in passages if passage.label]
    names = {label.key for _, label in speeches}
    if any(label.time_ranges for _, label in speeches) or all(len(key) == 1 for key in names):
        return False
    if len(names) > _MAX_CONVERSATION_SPEAKERS or _is_in_acts(
        o.block for o in chain.from_iterable(pieces)
    ):
        return True
    rows = [passage.styled.text for passage in chain.from_iterable(pieces)]
    transitions = sum(match_transition(row) is not None for row in rows)
    extensions = sum(
        is_extension(passage.styled.text[slice(*label.aside_range)]) for passage, label in speeches
    )
    # The transcript of any recording may contain a single transition.
    if any(map(is_scene_heading, rows)) or (transitions and transitions + extensions > 1):
        return True
    verse_count = sum(
        is_verse(passage.styled.text[label.speech_start :]) for passage, label in speeches
    )
    direction_count = sum(passage.is_direction for passage in passages)
    colon_count = sum(label.mark in COLONS for _, label in speeches)
    return max(4 * verse_count, 10 * direction_count) >= len(speeches) or 2 * colon_count < len(
        speeches
    )


def is_screenplay_row(text: str) -> bool:
    """Returns whether a row is a screenplay's transition, or heads a scene of it."""
    return is_scene_heading(text) or match_transition(text) is not None


def _is_in_acts(blocks: Iterable[Block]) -> bool:
    """Returns whether a heading counts acts or scenes."""
    numberings = (parse_numbering(block.text) for block in blocks if block.kind == "heading")
    return any(numbering and numbering.word in _ACTS for numbering in numberings)


# -- rows of a text --------------------------------------------------------------------------------


def row_labels(rows: Sequence[str]) -> frozenset[str]:
    """Returns the keys of the labels that rows of a plain text begin with, if it may be printed
    dialogue.

    The text is then split into speeches by them, even without blank lines.
    """
    labels = list(_find_row_labels(rows))
    settings = common_settings(labels)
    labels = [label for label in labels if label.setting in settings]
    label_counts = Counter(label.key for label in labels)
    repeated_keys = {key for key, count in label_counts.items() if count > 1}
    repeated_count = sum(label_counts[key] for key in repeated_keys)
    if len(repeated_keys) < 2 or repeated_count < _MIN_SPEECHES:
        return frozenset()
    stripped_rows = [row.strip() for row in rows]
    group_count = sum(row_above == "" != row for row_above, row in pairwise(["", *stripped_rows]))
    if (
        2 * len(labels) < len(stripped_rows) - stripped_rows.count("")
        and repeated_count < _PROMINENT_SHARE * group_count
    ):
        return frozenset()
    return frozenset(
        repeated_keys | {key for key, setting in _single_labels(rows) if setting in settings}
    )


def _single_labels(rows: Sequence[str]) -> Iterator[tuple[str, Setting]]:
    """Yields key and setting of labels that need not be repeated, since they stand out from the
    text after or below them."""
    for row, next_row in pairwise([*rows, ""]):
        for label in _labels_of_row(row) if row.strip() else ():
            if label.stands_out and (next_row.strip() or not label.is_alone):
                yield label.key, label.setting


def _find_row_labels(rows: Sequence[str]) -> Iterator[Label]:
    """Yields the labels that rows begin with; within a paragraph only prominent ones."""
    for row_above, row in pairwise(["", *rows]):
        begins_paragraph = not row_above.strip()
        if row.strip() and (begins_paragraph or _may_have_prominent_label(row)):
            yield from (
                label
                for label in _labels_of_row(row)
                if begins_paragraph or _is_prominent(label, row)
            )


def label_of(row: str, keys: frozenset[str], is_within_paragraph: bool = False) -> Label | None:
    """Returns the label that a row begins with, if its key is in `keys`; within a paragraph it must
    be prominent."""
    candidates = (label for label in _labels_of_row(row) if label.key in keys)
    return next(
        (label for label in candidates if not is_within_paragraph or _is_prominent(label, row)),
        None,
    )


def _labels_of_row(row: str) -> tuple[Label, ...]:
    line = normalize_line(emphasized_spans(row))
    return find_labels(plain_text(line), line[0].text if line and line[0].em else "")


def _may_have_prominent_label(row: str) -> bool:
    """Returns whether a row may begin with a label that stands out; most of prose does not."""
    stripped_row = row.strip()
    first_word = stripped_row.split(maxsplit=1)[0].strip(".,:")
    is_set_apart = row[:2].isspace() or not stripped_row[0].isalpha() or first_word.isupper()
    return is_set_apart or any(colon in stripped_row[:_MAX_LABEL_LENGTH] for colon in COLONS)


def _is_prominent(label: Label, row: str) -> bool:
    """Returns whether a label within a paragraph stands out: by its letters, its mark, its
    indent."""
    return label.stands_out or row[:2].isspace()
