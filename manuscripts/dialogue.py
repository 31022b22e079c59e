"""Finds the printed dialogue of a book: which pieces are dialogue, whose labels they use, and
whether it is a play.

Writes nothing. A novel in which `ALICE:` occurs now and then, a list, a recipe or running heads are
not dialogue; see `_has_shape_of_dialogue`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median

from manuscripts import evidence, persons
from manuscripts.blocks import Block
from manuscripts.book import count_words
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
    WORDS,
    Label,
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
_MAX_UNREPEATED_SPEAKERS = 12
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
_ACTS = frozenset(WORDS.words("acts"))


@dataclass(slots=True, eq=False)
class Passage:
    """A block, or some of its lines, with the labels that it may begin with."""

    block: Block
    lines: list[Line]
    """Empty if the block is not a paragraph."""
    styled: StyledText
    label_options: tuple[Label, ...] = ()
    """Labels that the passage may begin with, the likeliest first."""
    is_direction: bool = False
    repeated_label: Label | None = None
    """The likeliest label whose name begins other passages, too."""
    label: Label | None = None
    """The label that was chosen."""
    is_continuation: bool = False
    """True if this is not the first part of its block."""
    leads_into_speech: bool = False
    """True if this is a direction within a speech that continues below it; scripts only."""

    @property
    def text(self) -> str:
        return self.styled.text

    @property
    def is_label_alone(self) -> bool:
        """True if the passage is nothing but a label."""
        return any(label.speech_start >= len(self.text) for label in self.label_options)


@dataclass(slots=True, eq=False)
class Piece:
    """The passages of a chapter, or of another piece of the book."""

    passages: Sequence[Passage]
    is_dialogue: bool = False

    @property
    def paragraphs(self) -> list[Passage]:
        return [passage for passage in self.passages if passage.lines]

    @property
    def labelled_passages(self) -> list[Passage]:
        """The passages that begin with a repeated label."""
        return [passage for passage in self.passages if passage.repeated_label]

    @property
    def repeated_labels(self) -> list[Label]:
        return [passage.repeated_label for passage in self.passages if passage.repeated_label]

    @property
    def direction_count(self) -> int:
        return sum(passage.is_direction and not passage.repeated_label for passage in self.passages)


@dataclass(frozen=True, slots=True)
class DoubtfulLabels:
    """Words that look like speakers' names but probably are not."""

    label_names: tuple[str, ...]
    """Most frequent first."""
    paragraphs: int


@dataclass(frozen=True, slots=True)
class PrintedDialogue:
    """The pieces of a book, and which of them are printed dialogue."""

    pieces: Sequence[Piece]
    personas: Sequence[Persona]
    known_keys: frozenset[str]
    """Keys of repeated names and of the list of persons."""
    is_play: bool
    has_speaker_markup: bool = False
    """True if markup names the speaker of everything that is spoken."""

    @property
    def is_screenplay(self) -> bool:
        """True if the text has a screenplay's transitions or scene headings."""
        return any(is_screenplay_row(passage.text) for passage in _passages_of(self.pieces))

    @property
    def passages(self) -> Iterator[Passage]:
        """The passages of pieces that are dialogue."""
        return _passages_of(piece for piece in self.pieces if piece.is_dialogue)

    @property
    def is_majority(self) -> bool:
        """True if at least half of the book is dialogue."""
        words = sum(passage.block.words for passage in _passages_of(self.pieces))
        return 2 * sum(passage.block.words for passage in self.passages) >= words


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
    pieces = _read_pieces(pieces_of_blocks, is_certain)
    personas = _find_cast_list(_passages_of(pieces)) or _find_cast_list(
        map(_passage_of, all_blocks)
    )
    _find_repeated_labels(pieces, is_certain)
    shaped_pieces = [
        piece
        for piece in pieces
        if piece.labelled_passages and (is_certain or _has_shape_of_dialogue(piece))
    ]
    sure_pieces = shaped_pieces
    if shaped_pieces and not is_certain:
        sure_pieces = list(_convincing_pieces(shaped_pieces, personas, all_blocks))
    if not sure_pieces:
        return _doubtful_labels(shaped_pieces) if shaped_pieces else None
    label_counts = _count_labels(_passages_of(sure_pieces))
    known_keys = {key for key, count in label_counts.items() if count > 1}
    known_keys |= {key_of(persona.name) for persona in personas}
    for piece in pieces:
        piece.is_dialogue = piece in sure_pieces or _continues_dialogue(piece, known_keys)
    dialogue_pieces = [piece for piece in pieces if piece.is_dialogue]
    label_counts = _count_labels(_passages_of(dialogue_pieces))
    known_keys |= {key for key, count in label_counts.items() if count > 2}
    for piece in pieces:
        is_sure = piece in sure_pieces
        for passage in piece.passages:
            passage.label = _choose_label(passage, known_keys, is_sure)
    is_play = bool(personas) or _is_play(dialogue_pieces, pieces)
    return PrintedDialogue(pieces, personas, frozenset(known_keys), is_play)


def find_script(pieces_of_blocks: Sequence[Sequence[Block]]) -> PrintedDialogue | None:
    """Returns the dialogue of a script, in which exactly those words are names that its markup
    calls names."""
    pieces = [
        Piece(list(map(_passage_of_script, blocks)), is_dialogue=True)
        for blocks in pieces_of_blocks
    ]
    passages = list(_passages_of(pieces))
    known_keys = frozenset(passage.label.key for passage in passages if passage.label)
    if not known_keys and not any(passage.is_direction for passage in passages):
        return None
    for piece in pieces:
        for above, below in pairwise(piece.paragraphs):
            is_speech = not (below.label or below.is_direction or below.block.is_narrated)
            above.leads_into_speech = above.is_direction and is_speech
    return PrintedDialogue(pieces, (), known_keys, is_play=True, has_speaker_markup=True)


_AFTER_NAME = re.compile(r"[\s.:：]*")


def _passage_of_script(block: Block) -> Passage:
    if block.kind != "text" or not block.lines:
        return Passage(block, [], StyledText(""))
    styled = _style_lines(block.lines)
    passage = Passage(block, list(block.lines), styled)
    passage.is_direction = cover_text(styled.direction_ranges, styled.text)
    if block.is_name and block.lead_words:
        end = len(block.lead_words) if styled.text.startswith(block.lead_words) else 0
        name_end = _AFTER_NAME.match(styled.text, end)
        speech_start = name_end.end() if name_end else end
        is_alone = speech_start >= len(styled.text)
        passage.label = Label(block.lead_words.strip(" .:："), "apart", "", speech_start, is_alone)
    return passage


# -- finding labels --------------------------------------------------------------------------------


def _passages_of(pieces: Iterable[Piece]) -> Iterator[Passage]:
    return chain.from_iterable(piece.passages for piece in pieces)


def _read_pieces(pieces_of_blocks: Sequence[Sequence[Block]], is_certain: bool) -> list[Piece]:
    """Returns blocks as passages with the labels that are set in the usual way of their piece, or
    of the whole book if `is_certain`."""
    unsplit_pieces = [list(map(_passage_of, blocks)) for blocks in pieces_of_blocks]
    label_counts = Counter(
        label.key
        for passage in chain.from_iterable(unsplit_pieces)
        for label in chain(passage.label_options, *map(_labels_within, passage.lines[1:]))
    )
    pieces = [
        Piece([part for passage in passages for part in _split_passage(passage, label_counts)])
        for passages in unsplit_pieces
    ]
    all_passages = list(_passages_of(pieces))
    _drop_unmarked_labels(all_passages)
    for passages in [all_passages] if is_certain else [piece.passages for piece in pieces]:
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
        return Passage(block, [], StyledText(""))
    return _passage_of_lines(block, list(lines), block.lead_words)


def _passage_of_lines(block: Block, lines: list[Line], lead_words: str) -> Passage:
    styled = _style_lines(lines)
    first_span = lines[0][0]
    if not lead_words and (first_span.em or first_span.strong) and not first_span.is_direction:
        lead_words = first_span.text
    in_list = any(container.is_item for container in block.containers)
    options = (
        () if block.note_keys or in_list else find_labels(styled.text, lead_words, block.is_name)
    )
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
            span_range = (offset, offset + len(span.text))
            italic_ranges += [span_range] * span.em
            direction_ranges += [span_range] * span.is_direction
            offset += len(span.text)
        offset += 1
    text = "\n".join(map(plain_text, lines))
    return StyledText(text, tuple(italic_ranges), tuple(direction_ranges))


def _labels_within(line: Line) -> list[Label]:
    """Returns prominent labels at the beginning of a line within a paragraph."""
    lead_words = line[0].text if line[0].em or line[0].strong else ""
    return [o for o in find_labels(plain_text(line), lead_words) if o.stands_out and o.mark]


def _split_passage(passage: Passage, label_counts: Counter[str]) -> list[Passage]:
    """Splits a passage before lines that begin with a repeated label and around a screenplay's
    transitions and headings."""
    settings = {label.setting for label in passage.label_options if label_counts[label.key] > 1}
    is_screenplay_line = [is_screenplay_row(plain_text(line)) for line in passage.lines]
    part_starts = [
        index
        for index, line in enumerate(passage.lines[1:], 1)
        if any(is_screenplay_line[index - 1 : index + 1])
        or (settings and any(label_counts[label.key] > 1 or label.setting in settings
                             for label in _labels_within(line)))
    ]  # fmt: skip
    if not part_starts:
        return [passage]
    parts = []
    for begin, end in pairwise([0, *part_starts, len(passage.lines)]):
        lead_words = "" if begin else passage.block.lead_words
        parts.append(_passage_of_lines(passage.block, passage.lines[begin:end], lead_words))
        parts[-1].is_continuation = begin > 0
    return parts


def _find_repeated_labels(pieces: Sequence[Piece], is_certain: bool) -> None:
    """Sets the repeated label of each passage; if `is_certain`, a short scene may have one speech
    of each speaker."""
    label_counts = _count_labels(_passages_of(pieces))
    is_short = is_certain and max(label_counts.values(), default=0) == 1
    for passage in _passages_of(pieces):
        options = (o for o in passage.label_options if is_short or label_counts[o.key] > 1)
        passage.repeated_label = next(options, None)


def _drop_unmarked_labels(passages: Sequence[Passage]) -> None:
    """Drops labels that markup does not call names, if it calls enough others so."""
    marked_passages = [
        passage for passage in passages if passage.label_options and passage.block.is_name
    ]
    speaker_keys = {passage.label_options[0].key for passage in marked_passages}
    if len(marked_passages) >= _MIN_SPEECHES:
        for passage in passages:
            passage.label_options = tuple(
                label
                for label in passage.label_options
                if passage.block.is_name or label.key in speaker_keys
            )


def _find_cast_list(passages: Iterable[Passage]) -> list[Persona]:
    """Returns the persons in the book's list of persons, and removes the labels of its rows."""
    rows: list[str] = []
    remaining_rows = 0
    for passage in passages:
        block, lines = passage.block, passage.text.split("\n")
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


# -- deciding what is dialogue ---------------------------------------------------------------------


def _count_labels(passages: Iterable[Passage]) -> Counter[str]:
    """Returns how often each label occurs, by key."""
    return Counter(label.key for passage in passages for label in passage.label_options)


def _has_shape_of_dialogue(piece: Piece) -> bool:
    """Returns whether the same few names begin paragraphs again and again.

    That is: four speeches, two speakers with two each, and labels on half of the paragraphs, or on
    a quarter if eight of them are prominent and spread from the beginning on. Names alone on their
    lines are not running heads: their speeches are short. Three or more names in a fixed order are
    a form, such as a recipe or a letter.
    """
    paragraphs, labelled, labels = piece.paragraphs, piece.labelled_passages, piece.repeated_labels
    if not _has_few_speakers(labels) or _follows_fixed_order([label.key for label in labels]):
        return False
    if any(passage.block.is_name for passage in labelled):
        return sum(count_words(p.text) for p in paragraphs) <= _MAX_SPEECH_WORDS * len(labelled)
    names_alone = [passage for passage in labelled if passage.is_label_alone]
    if 2 * len(names_alone) > len(labelled):
        return _are_speeches_short(paragraphs, names_alone)
    share = len(labelled) / (len(paragraphs) - piece.direction_count)
    if share >= _LABELLED_SHARE:
        return True
    return (
        share >= _PROMINENT_SHARE
        and _has_many_prominent_labels(labels)
        and _is_evenly_labelled(paragraphs)
    )


def _convincing_pieces(
    shaped_pieces: Sequence[Piece], personas: Sequence[Persona], all_blocks: Sequence[Block]
) -> Iterator[Piece]:
    """Yields those pieces in the shape of dialogue that are dialogue.

    If the evidence of all of them together is sufficient, half of it is for each of them.
    """
    is_in_acts = _is_in_acts(all_blocks)
    possible_titles = [
        b.text for n, b in enumerate(all_blocks) if b.kind == "heading" or n < _TITLE_PARAGRAPHS
    ]
    has_question_title = any(map(evidence.answers_questions, possible_titles))

    def weigh(piece: Piece) -> float:
        labels = piece.repeated_labels
        top_texts = (passage.text for passage in piece.passages[:_TITLE_PARAGRAPHS])
        labelled_share = (len(labels) + piece.direction_count) / max(1, len(piece.paragraphs))
        circumstances = evidence.Circumstances(
            labelled_share,
            is_set_apart=2 * sum(label.form != "mixed" for label in labels) > len(labels),
            is_tabular=2 * sum(p.block.is_tabular for p in piece.labelled_passages) > len(labels),
            is_in_acts=is_in_acts,
            has_cast=_has_cast(personas, {label.key for label in labels}),
            answers_questions=has_question_title or any(map(evidence.answers_questions, top_texts)),
        )
        return evidence.weigh_labels(list(_labelled_speeches(piece)), circumstances)

    total_weight = weigh(Piece(list(_passages_of(shaped_pieces))))
    min_weight = evidence.MIN_WEIGHT / (2 if total_weight >= evidence.MIN_WEIGHT else 1)
    for piece in shaped_pieces:
        marked_count = sum(passage.block.is_name for passage in piece.labelled_passages)
        if marked_count >= _MIN_SPEECHES or weigh(piece) >= min_weight:
            yield piece


def _labelled_speeches(piece: Piece) -> Iterator[evidence.LabelledSpeech]:
    """Yields the repeated labels, each with the text up to the next label."""
    speech: evidence.LabelledSpeech | None = None
    for passage in piece.passages:
        if speech and (passage.repeated_label or not passage.lines):
            yield speech
            speech = None
        if label := passage.repeated_label:
            manner = manner_of_speaking(passage.text[slice(*label.aside_range)])
            speech = evidence.LabelledSpeech(
                label.key,
                passage.text[label.speech_start :],
                is_timed=bool(label.time_ranges),
                has_style=manner is not None,
            )
        elif speech and not passage.is_direction:
            speech.text += f" {passage.text}"
    if speech:
        yield speech


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


def _doubtful_labels(pieces: Iterable[Piece]) -> DoubtfulLabels:
    """Returns the words that look like speakers' names in pieces that are not dialogue."""
    names = [label.name for piece in pieces for label in piece.repeated_labels]
    return DoubtfulLabels(tuple(name for name, _ in Counter(names).most_common()), len(names))


def _has_few_speakers(labels: Collection[Label]) -> bool:
    """Returns whether labels are of the same few names."""
    label_counts = Counter(label.key for label in labels)
    repeated_names = sum(count > 1 for count in label_counts.values())
    is_crowd = len(label_counts) > _MAX_UNREPEATED_SPEAKERS and len(labels) < 2 * len(label_counts)
    return len(labels) >= _MIN_SPEECHES and repeated_names > 1 and not is_crowd


def _has_many_prominent_labels(labels: Iterable[Label]) -> bool:
    """Returns whether many labels are prominent, and two of the names come three times or more."""
    label_counts = Counter(label.key for label in labels if label.stands_out)
    frequent_names = sum(count > 2 for count in label_counts.values())
    return label_counts.total() >= _MIN_PROMINENT_LABELS and frequent_names > 1


def _is_evenly_labelled(paragraphs: Sequence[Passage]) -> bool:
    """Returns whether labels begin early, and no long stretch is without one.

    In a novel that quotes a play they are not.
    """
    label_indexes = [n for n, passage in enumerate(paragraphs) if passage.repeated_label]
    longest_gap = max(
        index_below - index_above
        for index_above, index_below in pairwise([*label_indexes, len(paragraphs)])
    )
    begins_early = label_indexes[0] <= _MAX_FIRST_LABEL_POSITION * len(paragraphs)
    return begins_early and longest_gap <= _MAX_UNLABELLED_PARAGRAPHS


def _follows_fixed_order(keys: Sequence[str]) -> bool:
    """Returns whether three or more labels follow one another in a fixed order, as in a recipe."""
    successors_by_key: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for key_above, key_below in pairwise(keys):
        successors_by_key[key_above][key_below] += 1
    frequent_keys = [key for key, count in Counter(keys).items() if count > 3]
    successor_counts = [successors_by_key[key] for key in frequent_keys]
    common_successors = sum(counter.most_common(1)[0][1] for counter in successor_counts)
    total_successors = sum(counter.total() for counter in successor_counts)
    return len(frequent_keys) > 2 and common_successors >= _FORM_ORDER_SHARE * total_successors


def _are_speeches_short(paragraphs: Sequence[Passage], names_alone: Collection[Passage]) -> bool:
    """Returns whether the text under names that stand alone is as short as speeches are."""
    words_by_speech = [0]
    for passage in paragraphs:
        if passage in names_alone:
            words_by_speech.append(0)
        else:
            words_by_speech[-1] += count_words(passage.text)
    return median(words_by_speech[1:]) <= _MAX_SPEECH_WORDS


def _continues_dialogue(piece: Piece, known_keys: set[str]) -> bool:
    """Returns whether a piece belongs to the same dialogue: known or frequent names label a third
    of it."""
    paragraphs = [passage for passage in piece.paragraphs if not passage.is_direction]
    label_counts = _count_labels(piece.passages)
    frequent_keys = {key for key, count in label_counts.items() if count > 2}

    def count_labelled(keys: set[str]) -> int:
        return sum(any(is_known(o, keys) for o in p.label_options) for p in paragraphs)

    labelled_count = count_labelled(known_keys | frequent_keys)
    return count_labelled(known_keys) > 0 and 3 * labelled_count >= len(paragraphs)


def is_known(label: Label, known_keys: Collection[str]) -> bool:
    """Returns whether a label has a known name, or several of them."""
    names = split_names(label.name)
    return label.key in known_keys or (
        len(names) > 1 and all(key_of(part) in known_keys for part in names)
    )


def _choose_label(passage: Passage, known_keys: set[str], is_sure: bool) -> Label | None:
    """Returns the label of the speech that begins with a passage.

    It is a known name or, in a piece that `is_sure` to be dialogue, a short prominent one.
    """
    known_labels = [label for label in passage.label_options if is_known(label, known_keys)]
    if known_labels or not is_sure or passage.is_direction:
        return next(iter(known_labels), None)
    prominent_labels = (label for label in passage.label_options if label.stands_out)
    return next((label for label in prominent_labels if len(label.name.split()) <= 3), None)


def _is_play(dialogue_pieces: Sequence[Piece], pieces: Sequence[Piece]) -> bool:
    """Returns whether a dialogue without a list of persons is a play: it has acts, many speakers,
    verse, directions, or marks names by a full stop."""
    passages = list(_passages_of(dialogue_pieces))
    speeches = [(passage, passage.label) for passage in passages if passage.label]
    labels = [label for _, label in speeches]
    label_keys = {label.key for label in labels}
    if any(label.time_ranges for label in labels) or all(len(key) == 1 for key in label_keys):
        return False
    all_passages = list(_passages_of(pieces))
    rows = [passage.text for passage in all_passages]
    transition_count = sum(match_transition(row) is not None for row in rows)
    extension_count = sum(is_extension(o.text[slice(*label.aside_range)]) for o, label in speeches)
    verse_count = sum(is_verse(o.text[label.speech_start :]) for o, label in speeches)
    direction_count = sum(passage.is_direction for passage in passages)
    colon_count = sum(label.mark in COLONS for label in labels)
    signs = (
        len(label_keys) > _MAX_CONVERSATION_SPEAKERS,
        _is_in_acts(passage.block for passage in all_passages),
        any(map(is_scene_heading, rows)),
        # The transcript of any recording may contain a single transition.
        transition_count > 0 and transition_count + extension_count > 1,
        max(4 * verse_count, 10 * direction_count) >= len(labels),
        2 * colon_count < len(labels),
    )
    return any(signs)


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
    rows = [row if row.strip() else "" for row in rows]
    paragraph_labels: list[Label] = []
    """Those that begin a paragraph, or stand out within one."""
    single_labels: list[Label] = []
    """Those that need not be repeated, since they stand out from the text after or below them."""
    for row_above, row, row_below in zip(["", *rows], rows, [*rows[1:], ""], strict=False):
        for label in _labels_of_row(row) if row else ():
            paragraph_labels += [label] * (not row_above or _is_prominent(label, row))
            single_labels += [label] * (label.stands_out and bool(row_below or not label.is_alone))
    settings = common_settings(paragraph_labels)
    label_counts = Counter(label.key for label in paragraph_labels if label.setting in settings)
    repeated_keys = {key for key, count in label_counts.items() if count > 1}
    repeated_count = sum(label_counts[key] for key in repeated_keys)
    if len(repeated_keys) < 2 or repeated_count < _MIN_SPEECHES:
        return frozenset()
    group_count = sum(not row_above and bool(row) for row_above, row in pairwise(["", *rows]))
    is_rare = repeated_count < _PROMINENT_SHARE * group_count
    if is_rare and 2 * label_counts.total() < len(rows) - rows.count(""):
        return frozenset()
    single_keys = {label.key for label in single_labels if label.setting in settings}
    return frozenset(repeated_keys | single_keys)


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


def _is_prominent(label: Label, row: str) -> bool:
    """Returns whether a label within a paragraph stands out: by its letters, its mark, its
    indent."""
    return label.stands_out or row[:2].isspace()
