"""Labels the speeches of plays, interviews and transcripts that print their speakers.

Works on the blocks of a piece, whatever their source. No word is lost: a speech gets its speaker's
label, a direction goes to the narrator, a time is left out. `dialogue.py` decides which pieces are
dialogue; everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from manuscripts.blocks import Block, block_of_lines, left_out_block
from manuscripts.book import PrintedSpeaker, Reading, Treatment
from manuscripts.dialogue import (
    DoubtfulLabels,
    Passage,
    PrintedDialogue,
    find_dialogue,
    find_script,
)
from manuscripts.directions import (
    EXTENSION_REASON,
    PARENTHETICAL_REASON,
    DirectionStyle,
    SpeechPiece,
    is_extension,
    is_parenthetical,
    is_personal,
    is_scene_heading,
    is_verse,
    manner_of_speaking,
    match_transition,
    split_speech,
)
from manuscripts.labels import (
    COLONS,
    Label,
    in_ordinary_case,
    is_capitals,
    key_of,
    lower_capitals,
    split_names,
)
from manuscripts.persons import build_cast
from manuscripts.prose import (
    NARRATED_CLOSE,
    NARRATED_OPEN,
    Line,
    StyledSpan,
    narrated_flags,
    normalize_line,
    write_label,
)


@dataclass(frozen=True, slots=True)
class DialogueSummary:
    """Speakers and remarks of a book's printed dialogue."""

    speakers: tuple[PrintedSpeaker, ...] = ()
    dialogue: str = ""
    """Its kind with counts: `a play: 12 speakers, 843 speeches`."""
    remarks: tuple[str, ...] = ()


def label_dialogue(
    pieces_of_blocks: Sequence[list[Block]],
    all_blocks: Iterable[Block],
    directions: Treatment,
    is_script: bool = False,
    reading: Reading | None = None,
) -> DialogueSummary:
    """Labels the printed dialogue among the blocks of pieces, in place; `all_blocks` may hold the
    list of persons.

    In a script, markup identifies names and directions. Otherwise the print decides, or `reading`
    if the user says how to read the text.
    """
    if reading == "prose":
        return DialogueSummary()
    dialogue = (
        find_script(pieces_of_blocks)
        if is_script
        else find_dialogue(pieces_of_blocks, all_blocks, reading == "script")
    )
    if isinstance(dialogue, DoubtfulLabels):
        return DialogueSummary(remarks=(_describe_doubtful(dialogue),))
    if dialogue is None:
        remark = (
            "--as script: no names begin paragraphs, as speakers' names do, so it is read as prose."
        )
        return DialogueSummary(remarks=(remark,) if reading == "script" else ())
    labeller = _Labeller(dialogue, directions)
    for blocks, passages, is_dialogue in zip(
        pieces_of_blocks, dialogue.pieces, dialogue.dialogue_flags, strict=True
    ):
        if is_dialogue and _is_script_markdown(passages):
            labeller.count(passages)
        elif is_dialogue:
            blocks[:] = labeller.write_dialogue(passages)
        elif labeller.is_screenplay:
            _leave_transitions(passages)
    counts = labeller.counts
    cast = build_cast(counts.printed_names, dialogue.personas)
    return DialogueSummary(cast, counts.describe(dialogue), tuple(counts.remarks()))


_MAX_SHOWN_NAMES = 3


def _describe_doubtful(doubtful: DoubtfulLabels) -> str:
    """Returns a remark that names likely labels and the option that reads the text as a script."""
    shown_names = ", ".join(f"“{name}”" for name in doubtful.label_names[:_MAX_SHOWN_NAMES])
    hidden_count = len(doubtful.label_names) - _MAX_SHOWN_NAMES
    more_names = f" and {hidden_count} more" if hidden_count > 0 else ""
    return (
        f"{shown_names}{more_names} begin {doubtful.paragraphs:,} "
        "paragraphs, as speakers' names do, but it does not read like dialogue, so the "
        "narrator reads it all; if they are speakers: --as script."
    )


def _leave_transitions(passages: Iterable[Passage]) -> None:
    for passage in passages:
        if match_transition(passage.styled.text):
            passage.block.leave("transition")


_SCRIPT_LABEL = re.compile(r"[^\s:：(（][^:：(（\n]{0,59}?\s?(?:\([^()\n]{0,200}\)\s?)?[:：]\s")


def _is_script_markdown(passages: Sequence[Passage]) -> bool:
    """Returns whether a piece of Markdown is labelled as scripts are, in ordinary letters: then it
    stays its author's."""
    if any(passage.block.source_markdown is None for passage in passages):
        return False
    labelled_passages = [(passage, passage.label) for passage in passages if passage.label]
    colon_passages = [passage for passage, label in labelled_passages if label.mark in COLONS]
    has_capitals = all(is_capitals(label.name) for _, label in labelled_passages)
    has_capitals |= any(
        _split_extensions(passage, label)[0] for passage, label in labelled_passages
    )
    return (
        bool(colon_passages)
        and not has_capitals
        and all(_SCRIPT_LABEL.match(o.styled.text) for o in colon_passages)
    )


_PARENTHESIZED = re.compile(r"\([^()]*\)")


def _split_extensions(passage: Passage, label: Label) -> tuple[list[str], str]:
    """Returns the extensions after a name, such as `(V.O.)`, and the remaining bracketed text."""
    bracketed_text = passage.styled.text[slice(*label.aside_range)]
    extensions = [
        bracket for bracket in _PARENTHESIZED.findall(bracketed_text) if is_extension(bracket)
    ]
    capital_extensions = [bracket for bracket in extensions if bracket.upper() == bracket]
    for bracket in capital_extensions:
        bracketed_text = bracketed_text.replace(bracket, "", 1)
    return capital_extensions, bracketed_text.strip()


@dataclass(slots=True)
class _SpeechCounts:
    """Counts taken while a book's dialogue is written."""

    printed_names: dict[str, str] = field(default_factory=dict)
    """Key of each label -> its first printed form."""
    speech_count: int = 0
    directions: int = 0
    times: int = 0
    unlabelled: list[str] = field(default_factory=list)
    """Sources of paragraphs that continue the speech above."""

    def describe(self, dialogue: PrintedDialogue) -> str:
        """Returns the kind of dialogue with its counts, for people."""
        has_few_speakers = len(self.printed_names) <= 3
        talk = (
            "a transcript"
            if self.times
            else "an interview"
            if has_few_speakers
            else "a conversation"
        )
        parts = []
        if self.printed_names:
            parts += [
                _count_of(len(self.printed_names), "speaker"),
                _count_of(self.speech_count, "speech"),
            ]
        parts += [_count_of(self.directions, "stage direction")] if self.directions else []
        parts += [f"{_count_of(self.times, 'time')} left out"] if self.times else []
        extent = (
            ""
            if dialogue.is_majority
            else f", {_count_of(sum(dialogue.dialogue_flags), 'chapter')} of it"
        )
        talk = "a script" if dialogue.has_speaker_markup else "a play" if dialogue.is_play else talk
        return f"{talk}{extent}: {', '.join(parts)}"

    def remarks(self) -> Iterator[str]:
        """Yields remarks on paragraphs that the author should check."""
        if self.unlabelled:
            count = _count_of(len(self.unlabelled), "paragraph")
            first_place = self.unlabelled[0]
            yield f"{count} without a name: more of the speech above (first: {first_place})."


class _Labeller:
    """Writes the dialogue of a book with speakers' labels."""

    def __init__(self, dialogue: PrintedDialogue, directions: Treatment) -> None:
        self.dialogue = dialogue
        self.directions = directions
        self.is_screenplay = dialogue.is_play and dialogue.is_screenplay
        self.counts = _SpeechCounts()
        texts = [passage.styled.text for passage in dialogue.passages]
        bracketed = (
            bracketed_text for text in texts for bracketed_text in _SQUARE_BRACKETED.findall(text)
        )
        square_count = sum(any(map(str.isalpha, bracketed_text)) for bracketed_text in bracketed)
        parenthesis_count = sum(text.count("(") for text in texts)
        uses_square_brackets = square_count > 2 and 2 * square_count >= parenthesis_count
        self.habits = DirectionStyle(
            dialogue.is_play, uses_square_brackets, dialogue.has_speaker_markup
        )
        self.key_by_letters: dict[str, str] = {}
        """Letters of a name -> the first key that had them."""
        self.open_speech: _OpenSpeech | None = None
        self.pending_name: Block | None = None
        """Block of a name that stands alone, until a speech follows."""
        self.pending_counts = (0, 0)
        """Characters and words of that name."""

    def count(self, passages: Sequence[Passage]) -> None:
        """Counts the speeches of a script that stays as written."""
        for passage in passages:
            if passage.label:
                self._note_speaker(passage.label)
                self.counts.speech_count += 1
        _leave_transitions(passages)

    def write_dialogue(self, passages: Sequence[Passage]) -> list[Block]:
        """Returns the blocks of a dialogue with their labels."""
        blocks: list[Block] = []
        self.open_speech = None
        for block, group in groupby(passages, key=lambda passage: passage.block):
            parts = list(group)
            if not parts[0].lines:
                if block.kind in ("heading", "scene"):
                    blocks += self._take_pending_name()
                    self.open_speech = None
                blocks.append(block)
                continue
            if (parts[0].label or block.is_narrated) and self.pending_name:
                blocks += self._take_pending_name()
            last_spoken = next(
                (
                    written_block
                    for written_block in reversed(blocks)
                    if written_block.kind != "left"
                ),
                None,
            )
            if last_spoken and last_spoken.kind == "text" and any(map(self._heads_scene, parts)):
                blocks.append(Block("scene", block.source, source_markdown=_scene_break_for(block)))
            blocks += self._settle_counts(
                block,
                [
                    written_block
                    for passage in parts
                    for written_block in self._write_passage(passage)
                ],
            )
        return [*blocks, *self._take_pending_name()]

    def _settle_counts(self, block: Block, blocks: Sequence[Block]) -> Sequence[Block]:
        """Adjusts the counts of the blocks that replace a block, so that their sum is its own plus
        that of a pending name."""
        characters, words = (
            block.characters + self.pending_counts[0],
            block.words + self.pending_counts[1],
        )
        if not blocks:
            self.pending_name, self.pending_counts = block, (characters, words)
            return blocks
        self.pending_name, self.pending_counts = None, (0, 0)
        first_spoken = next(
            (written_block for written_block in blocks if written_block.kind != "left"), blocks[0]
        )
        further_blocks = [
            written_block for written_block in blocks if written_block is not first_spoken
        ]
        first_spoken.characters = characters - sum(
            written_block.characters for written_block in further_blocks
        )
        first_spoken.words = words - sum(written_block.words for written_block in further_blocks)
        return blocks

    def _write_passage(self, passage: Passage) -> Iterator[Block]:
        """Yields the blocks of a passage: speech, narration, or words that are left out."""
        label, text, block = passage.label, passage.styled.text, passage.block
        if label is None:
            yield from self._write_unlabelled(passage)
            return
        if self.pending_name is None:
            yield from self._take_pending_name()
        self.counts.speech_count += 1
        self.counts.times += len(label.time_ranges)
        for start, end in label.time_ranges:
            yield _left_out_block(block, text[start:end], "time of a transcript")
        style = None
        start, end = label.aside_range
        extensions, direction_text = _split_extensions(passage, label)
        for extension in extensions:
            yield _left_out_block(block, extension, EXTENSION_REASON)
        if direction_text:
            manner = lower_capitals(direction_text, False) if self.is_screenplay else direction_text
            style = manner_of_speaking(manner, before_colon=label.mark in COLONS)
        self.open_speech = _OpenSpeech(block, self._note_speaker(label), style)
        if direction_text and style is None:
            start += text[start] == ","
            yield self._direction_block(passage, SpeechPiece(start, end, True), is_of_label=True)
        yield from self._write_speech(passage, label.speech_start)

    def _write_unlabelled(self, passage: Passage) -> Iterator[Block]:
        text = passage.styled.text
        is_pending = self.open_speech is not None and self.open_speech.is_pending
        if passage.block.is_narrated:
            self.open_speech = None
            yield _unlabelled_block(passage, 0, len(text))
        elif match_transition(text):
            self.open_speech = None
            yield _left_out_block(passage.block, text, "transition")
        elif self._heads_scene(passage):
            self.open_speech = None
            yield _paragraph_block(passage.block, _lower_capitals_of_lines(passage.lines), "")
        elif passage.is_direction:
            whole_piece = SpeechPiece(0, len(text), True)
            if self.open_speech:
                self.open_speech.leads_into_speech = is_parenthetical(text)
            if not self._takes_style(passage, whole_piece):
                yield self._direction_block(passage, whole_piece)
        elif self.open_speech and (is_pending or self._continues_speech(passage)):
            if not is_pending and not self.dialogue.has_speaker_markup:
                self.counts.unlabelled.append(passage.block.source)
            self.open_speech.leads_into_speech = False
            yield from self._write_speech(passage, 0)
        else:
            yield _unlabelled_block(passage, 0, len(text))

    def _continues_speech(self, passage: Passage) -> bool:
        """Returns whether an unlabelled paragraph continues the speech above.

        In an interview it does. In a play verse does, and words in the first or second person,
        which directions hardly have; in a screenplay only what a parenthetical leads into.
        """
        if self.dialogue.has_speaker_markup:
            return True
        if self.is_screenplay:
            return self.open_speech is not None and self.open_speech.leads_into_speech
        return (
            not self.dialogue.is_play
            or is_verse(passage.styled.text)
            or is_personal(passage.styled.text)
        )

    def _heads_scene(self, passage: Passage) -> bool:
        return (
            self.is_screenplay and passage.label is None and is_scene_heading(passage.styled.text)
        )

    def _write_speech(self, passage: Passage, start: int) -> Iterator[Block]:
        """Yields a speech as a labelled paragraph, with its directions before, in and after it."""
        if self.open_speech is None:
            return
        speech_pieces = split_speech(passage.styled, start, self.habits)
        if (
            speech_pieces
            and speech_pieces[0].is_direction
            and self._takes_style(passage, speech_pieces[0])
        ):
            del speech_pieces[0]
        text = passage.styled.text
        is_left_out = [
            piece.is_direction
            and (
                self.directions == "omit"
                or self._is_unspoken_parenthetical(text[piece.start : piece.stop])
            )
            for piece in speech_pieces
        ]
        spoken_indexes = [
            number for number, piece in enumerate(speech_pieces) if not piece.is_direction
        ]
        first, last = (
            (spoken_indexes[0], spoken_indexes[-1] + 1)
            if spoken_indexes
            else (len(speech_pieces), len(speech_pieces))
        )
        for number, piece in enumerate(speech_pieces):
            if is_left_out[number] or (piece.is_direction and not first <= number < last):
                yield self._direction_block(passage, piece)
            elif number == first:
                yield self._speech_block(
                    passage, [speech_pieces[n] for n in range(first, last) if not is_left_out[n]]
                )

    def _is_unspoken_parenthetical(self, text: str) -> bool:
        """Returns whether a direction is a play's or a screenplay's parenthetical, which nobody
        speaks."""
        if text.isupper() and (self.is_screenplay or self.dialogue.has_speaker_markup):
            text = text.lower()
        return self.dialogue.is_play and is_parenthetical(text)

    def _takes_style(self, passage: Passage, piece: SpeechPiece) -> bool:
        """Returns whether a direction at the beginning of a speech gave the style in which it is
        spoken."""
        open_speech = self.open_speech
        if open_speech is None or (
            open_speech.style if open_speech.is_pending else not passage.leads_into_speech
        ):
            return False
        style = manner_of_speaking(passage.styled.text[piece.start : piece.stop])
        if style is not None:
            open_speech.style, open_speech.is_pending = style, True
        return style is not None

    def _speech_block(self, passage: Passage, speech_pieces: Sequence[SpeechPiece]) -> Block:
        """Returns a labelled paragraph of speech pieces; directions among them are marked for the
        narrator."""
        direction_pieces = [piece for piece in speech_pieces if piece.is_direction]
        self.counts.directions += len(direction_pieces)
        lines = _mark_directions(passage.lines, direction_pieces)
        texts_between = (
            passage.styled.text[piece_above.stop : piece_below.start]
            for piece_above, piece_below in pairwise(speech_pieces)
        )
        if not "".join(texts_between).strip():
            lines = _cut_lines(lines, speech_pieces[0].start, speech_pieces[-1].stop)
        else:
            lines = [
                line
                for piece in speech_pieces
                for line in _cut_lines(lines, piece.start, piece.stop)
            ]
            if len(speech_pieces) > 1 and not is_verse(passage.styled.text):
                lines = [
                    normalize_line(span for line in lines for span in (*line, StyledSpan(" ")))
                ]
        label = self.open_speech.label() if self.open_speech else ""
        return _paragraph_block(passage.block, lines, label)

    def _direction_block(
        self, passage: Passage, piece: SpeechPiece, is_of_label: bool = False
    ) -> Block:
        text = passage.styled.text[piece.start : piece.stop]
        if self.open_speech and not is_of_label and self._is_unspoken_parenthetical(text):
            return _left_out_block(passage.block, text, PARENTHETICAL_REASON)
        self.counts.directions += 1
        if self.directions == "omit":
            return _left_out_block(passage.block, text, "stage direction")
        return _unlabelled_block(passage, piece.start, piece.stop)

    def _note_speaker(self, label: Label) -> str:
        """Returns the name to write for a label, and notes it as a member of the cast."""
        names = split_names(label.name)
        if len(names) > 1 and all(key_of(part) in self.dialogue.known_keys for part in names):
            return " & ".join(map(self._note_name, names))
        return self._note_name(label.name.strip(" .") if label.name.count(".") == 1 else label.name)

    def _note_name(self, name: str) -> str:
        """Notes a name of the cast and returns it in ordinary case. In a script, names with the
        same letters are one."""
        key = key_of(name)
        if self.dialogue.has_speaker_markup:
            key = self.key_by_letters.setdefault("".join(filter(str.isalnum, key)) or key, key)
            name = self.counts.printed_names.get(key, name)
        self.counts.printed_names.setdefault(key, name)
        return in_ordinary_case(name)

    def _take_pending_name(self) -> Iterator[Block]:
        """Yields the block of a name without a speech, and resets the open speech."""
        if self.open_speech and self.open_speech.is_pending:
            style = f" ({self.open_speech.style})" if self.open_speech.style else ""
            block = _paragraph_block(
                self.open_speech.block, [(StyledSpan(self.open_speech.name + style),)], ""
            )
            block.characters, block.words = self.pending_counts
            yield block
        self.open_speech, self.pending_name, self.pending_counts = None, None, (0, 0)


def _count_of(count: int, noun: str) -> str:
    ending = ("es" if noun.endswith("ch") else "s") if count != 1 else ""
    return f"{count:,} {noun}{ending}"


@dataclass(slots=True)
class _OpenSpeech:
    """The speech that is open at a place in a dialogue."""

    block: Block
    """The block with its name."""
    name: str
    style: str | None
    is_pending: bool = True
    """Whether nothing of the speech has been written yet."""
    leads_into_speech: bool = False
    """Whether a parenthetical right above announces that the speech continues."""

    def label(self) -> str:
        """Returns the label of the next paragraph; only the first one carries the style."""
        style = f" ({self.style})" if self.style and self.is_pending else ""
        self.is_pending = False
        return f"{self.name}{style}:"


def _scene_break_for(block: Block) -> str | None:
    """Returns the Markdown of a scene break if the block has Markdown of its own."""
    return None if block.source_markdown is None else "***\n"


def _lower_capitals_of_lines(lines: Sequence[Line]) -> list[Line]:
    """Returns the heading of a scene in ordinary letters."""
    return [
        tuple(
            replace(span, text=lower_capitals(span.text, line_index == span_index == 0))
            for span_index, span in enumerate(line)
        )
        for line_index, line in enumerate(lines)
    ]


_SQUARE_BRACKETED = re.compile(r"\[[^\[\]]*\]")


def _cut_lines(lines: Sequence[Line], start: int, stop: int) -> list[Line]:
    """Returns the part of lines between two offsets in their joined text."""
    cut_lines = []
    offset = 0
    for line in lines:
        spans = []
        for span in line:
            cut_start, cut_end = max(start - offset, 0), min(stop - offset, len(span.text))
            if cut_start < cut_end:
                spans.append(replace(span, text=span.text[cut_start:cut_end]))
            offset += len(span.text)
        offset += 1
        if cut_line := normalize_line(spans):
            cut_lines.append(cut_line)
    return cut_lines


def _mark_directions(lines: Sequence[Line], direction_pieces: Sequence[SpeechPiece]) -> list[Line]:
    """Returns lines in which the directions of a speech are marked for the narrator."""
    marked_lines = []
    offset = 0
    for line in lines:
        spans = []
        for span in line:
            end = offset + len(span.text)
            borders = {border for piece in direction_pieces for border in (piece.start, piece.stop)}
            cut_offsets = [
                offset,
                *sorted(border for border in borders if offset < border < end),
                end,
            ]
            for begin, stop in pairwise(cut_offsets):
                is_direction = any(piece.start <= begin < piece.stop for piece in direction_pieces)
                text = span.text[begin - offset : stop - offset]
                spans.append(replace(span, text=text, is_for_narrator=is_direction))
            offset = end
        offset += 1
        marked_lines.append(tuple(spans))
    return marked_lines


def _unlabelled_block(passage: Passage, start: int, stop: int) -> Block:
    """Returns part of a passage as a block without a label; the block itself if the part is all of
    it."""
    is_whole_block = start == 0 and stop == len(passage.styled.text) and not passage.is_continuation
    if is_whole_block and passage.lines == (passage.block.lines or passage.lines):
        return passage.block
    return _paragraph_block(passage.block, _cut_lines(passage.lines, start, stop), "")


def _paragraph_block(block: Block, lines: Sequence[Line], speaker: str) -> Block:
    """Returns a paragraph that takes the place of a block."""
    paragraph = block_of_lines("text", block.source, lines)
    paragraph.speaker = speaker
    paragraph.document, paragraph.matter, paragraph.section = (
        block.document,
        block.matter,
        block.section,
    )
    paragraph.language, paragraph.containers = block.language, block.containers
    if block.source_markdown is not None:
        label = f"{write_label(speaker)} " if speaker else ""
        paragraph.source_markdown = label + "\\\n".join(map(_write_source_line, lines)) + "\n"
    return paragraph


def _write_source_line(line: Line) -> str:
    """Returns a line of Markdown with its own emphasis marks."""
    rows = []
    for is_for_narrator, group in groupby(
        zip(narrated_flags(line), line, strict=True), key=lambda flag_and_span: flag_and_span[0]
    ):
        text = "".join(f"{span.asterisks}{span.text}{span.asterisks}" for _, span in group)
        rows.append(f"{NARRATED_OPEN}{text}{NARRATED_CLOSE}" if is_for_narrator else text)
    return "".join(rows)


def _left_out_block(block: Block, text: str, reason: str) -> Block:
    omitted = left_out_block(block.source, text, reason)
    omitted.document = block.document
    return omitted
