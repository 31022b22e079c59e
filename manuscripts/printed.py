"""Labels the speeches of plays, interviews and transcripts that print their speakers.

Works on the blocks of a piece, whatever their source. No word is lost: a speech gets its speaker's
label, a direction goes to the narrator, a time is left out. `dialogue.py` decides which pieces are
dialogue; everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

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
    for blocks, piece in zip(pieces_of_blocks, dialogue.pieces, strict=True):
        if piece.is_dialogue and _is_script_markdown(piece.passages):
            labeller.count_speeches(piece.passages)
        elif piece.is_dialogue:
            blocks[:] = labeller.write_dialogue(piece.passages)
        elif labeller.is_screenplay:
            _leave_transitions(piece.passages)
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
        if match_transition(passage.text):
            passage.block.omit("transition")


_SCRIPT_LABEL = re.compile(r"[^\s:：(（][^:：(（\n]{0,59}?\s?(?:\([^()\n]{0,200}\)\s?)?[:：]\s")


def _is_script_markdown(passages: Sequence[Passage]) -> bool:
    """Returns whether a piece of Markdown is labelled as scripts are, in ordinary letters: then it
    stays its author's."""
    speeches = [(passage, passage.label) for passage in passages if passage.label]
    colon_texts = [passage.text for passage, label in speeches if label.mark in COLONS]
    return (
        all(passage.block.source_markdown is not None for passage in passages)
        and not all(is_capitals(label.name) for _, label in speeches)
        and not any(_split_extensions(passage, label)[0] for passage, label in speeches)
        and bool(colon_texts)
        and all(map(_SCRIPT_LABEL.match, colon_texts))
    )


_PARENTHESIZED = re.compile(r"\([^()]*\)")


def _split_extensions(passage: Passage, label: Label) -> tuple[list[str], str]:
    """Returns the extensions after a name, such as `(V.O.)`, and the remaining bracketed text."""
    bracketed_text = passage.text[slice(*label.aside_range)]
    brackets = _PARENTHESIZED.findall(bracketed_text)
    extensions = [text for text in brackets if is_extension(text) and text.upper() == text]
    for extension in extensions:
        bracketed_text = bracketed_text.replace(extension, "", 1)
    return extensions, bracketed_text.strip()


@dataclass(slots=True)
class _SpeechCounts:
    """Counts taken while a book's dialogue is written."""

    printed_names: dict[str, str] = field(default_factory=dict)
    """Key of each label -> its first printed form."""
    speech_count: int = 0
    direction_count: int = 0
    time_count: int = 0
    unlabelled_sources: list[str] = field(default_factory=list)
    """Sources of paragraphs that continue the speech above."""

    def describe(self, dialogue: PrintedDialogue) -> str:
        """Returns the kind of dialogue with its counts, for people."""
        kinds = {
            "a script": dialogue.has_speaker_markup,
            "a play": dialogue.is_play,
            "a transcript": self.time_count > 0,
            "an interview": len(self.printed_names) <= 3,
            "a conversation": True,
        }
        kind = next(kind for kind, is_kind in kinds.items() if is_kind)
        if not dialogue.is_majority:
            chapter_count = sum(piece.is_dialogue for piece in dialogue.pieces)
            kind += f", {_count_of(chapter_count, 'chapter')} of it"
        parts = []
        if self.printed_names:
            parts.append(_count_of(len(self.printed_names), "speaker"))
            parts.append(_count_of(self.speech_count, "speech"))
        if self.direction_count:
            parts.append(_count_of(self.direction_count, "stage direction"))
        if self.time_count:
            parts.append(f"{_count_of(self.time_count, 'time')} left out")
        return f"{kind}: {', '.join(parts)}"

    def remarks(self) -> Iterator[str]:
        """Yields remarks on paragraphs that the author should check."""
        if self.unlabelled_sources:
            count = _count_of(len(self.unlabelled_sources), "paragraph")
            first_place = self.unlabelled_sources[0]
            yield f"{count} without a name: more of the speech above (first: {first_place})."


class _Labeller:
    """Writes the dialogue of a book with speakers' labels."""

    def __init__(self, dialogue: PrintedDialogue, directions: Treatment) -> None:
        self.dialogue = dialogue
        self.directions = directions
        self.is_screenplay = dialogue.is_play and dialogue.is_screenplay
        self.counts = _SpeechCounts()
        texts = [passage.text for passage in dialogue.passages]
        bracketed = [words for text in texts for words in _SQUARE_BRACKETED.findall(text)]
        square_count = sum(any(map(str.isalpha, words)) for words in bracketed)
        parenthesis_count = sum(text.count("(") for text in texts)
        self.direction_style = DirectionStyle(
            dialogue.is_play,
            uses_square_brackets=square_count > 2 and 2 * square_count >= parenthesis_count,
            has_markup=dialogue.has_speaker_markup,
        )
        self.key_by_letters: dict[str, str] = {}
        """Letters of a name -> the first key that had them."""
        self.open_speech: _OpenSpeech | None = None
        self.pending_name_block: Block | None = None
        """Block of a name that stands alone, until a speech follows."""
        self.pending_counts = (0, 0)
        """Characters and words of that name."""

    def count_speeches(self, passages: Sequence[Passage]) -> None:
        """Counts the speeches of a script that stays as written, and leaves out its transitions."""
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
                blocks.append(block)
                continue
            if (parts[0].label or block.is_narrated) and self.pending_name_block:
                blocks += self._take_pending_name()
            kinds_above = (
                written.kind for written in reversed(blocks) if written.kind != "omitted"
            )
            if next(kinds_above, None) == "text" and any(map(self._heads_scene, parts)):
                source_markdown = None if block.source_markdown is None else "***\n"
                blocks.append(Block("scene", block.source, source_markdown=source_markdown))
            written_blocks = [b for passage in parts for b in self._write_passage(passage)]
            self._settle_counts(block, written_blocks)
            blocks += written_blocks
        return [*blocks, *self._take_pending_name()]

    def _settle_counts(self, block: Block, blocks: Sequence[Block]) -> None:
        """Adjusts the counts of the blocks that replace a block, so that their sum is its own plus
        that of a pending name."""
        characters = block.characters + self.pending_counts[0]
        words = block.words + self.pending_counts[1]
        if not blocks:
            self.pending_name_block, self.pending_counts = block, (characters, words)
            return
        self.pending_name_block, self.pending_counts = None, (0, 0)
        first_spoken = next((b for b in blocks if b.kind != "omitted"), blocks[0])
        first_spoken.characters += characters - sum(b.characters for b in blocks)
        first_spoken.words += words - sum(b.words for b in blocks)

    def _write_passage(self, passage: Passage) -> Iterator[Block]:
        """Yields the blocks of a passage: speech, narration, or words that are left out."""
        label, text, block = passage.label, passage.text, passage.block
        if label is None:
            yield from self._write_unlabelled(passage)
            return
        if self.pending_name_block is None:
            yield from self._take_pending_name()
        self.counts.speech_count += 1
        self.counts.time_count += len(label.time_ranges)
        for begin, end in label.time_ranges:
            yield _left_out_block(block, text[begin:end], "time of a transcript")
        extensions, direction_text = _split_extensions(passage, label)
        for extension in extensions:
            yield _left_out_block(block, extension, EXTENSION_REASON)
        manner = lower_capitals(direction_text, False) if self.is_screenplay else direction_text
        style = manner_of_speaking(manner, before_colon=label.mark in COLONS)
        self.open_speech = _OpenSpeech(block, self._note_speaker(label), style)
        if direction_text and style is None:
            begin, end = label.aside_range
            begin += text[begin] == ","
            direction = SpeechPiece(begin, end, is_direction=True)
            yield self._direction_block(passage, direction, is_of_label=True)
        yield from self._write_speech(passage, label.speech_start)

    def _write_unlabelled(self, passage: Passage) -> Iterator[Block]:
        """Yields the blocks of a passage without a label, which may continue the speech above."""
        text, open_speech = passage.text, self.open_speech
        whole_text = SpeechPiece(0, len(text), passage.is_direction)
        if passage.block.is_narrated:
            self.open_speech = None
            yield _unlabelled_block(passage, whole_text)
        elif match_transition(text):
            self.open_speech = None
            yield _left_out_block(passage.block, text, "transition")
        elif self._heads_scene(passage):
            self.open_speech = None
            yield _paragraph_block(passage.block, _lower_capitals_of_lines(passage.lines), "")
        elif passage.is_direction:
            if open_speech:
                open_speech.leads_into_speech = is_parenthetical(text)
            if not self._apply_style(passage, whole_text):
                yield self._direction_block(passage, whole_text)
        elif open_speech and (open_speech.is_pending or self._continues_speech(passage)):
            if not open_speech.is_pending and not self.dialogue.has_speaker_markup:
                self.counts.unlabelled_sources.append(passage.block.source)
            open_speech.leads_into_speech = False
            yield from self._write_speech(passage, 0)
        else:
            yield _unlabelled_block(passage, whole_text)

    def _continues_speech(self, passage: Passage) -> bool:
        """Returns whether an unlabelled paragraph continues the speech above.

        In an interview it does. In a play verse does, and words in the first or second person,
        which directions hardly have; in a screenplay only what a parenthetical leads into.
        """
        if self.is_screenplay and not self.dialogue.has_speaker_markup:
            return self.open_speech is not None and self.open_speech.leads_into_speech
        is_play = self.dialogue.is_play and not self.dialogue.has_speaker_markup
        return not is_play or is_verse(passage.text) or is_personal(passage.text)

    def _heads_scene(self, passage: Passage) -> bool:
        """Returns whether a passage is the heading of a screenplay's scene."""
        return self.is_screenplay and passage.label is None and is_scene_heading(passage.text)

    def _write_speech(self, passage: Passage, start: int) -> Iterator[Block]:
        """Yields a speech as a labelled paragraph, with its directions before, in and after it."""
        pieces = split_speech(passage.styled, start, self.direction_style)
        if pieces and pieces[0].is_direction and self._apply_style(passage, pieces[0]):
            del pieces[0]
        spoken_indexes = [index for index, piece in enumerate(pieces) if not piece.is_direction]
        first_spoken, last_spoken = (
            (spoken_indexes[0], spoken_indexes[-1]) if spoken_indexes else (-1, -1)
        )
        unspoken_indexes = {
            index
            for index, piece in enumerate(pieces)
            if piece.is_direction
            and (self.directions == "omit" or self._is_parenthetical(passage, piece))
        }
        for index, piece in enumerate(pieces):
            if index in unspoken_indexes or not first_spoken <= index <= last_spoken:
                yield self._direction_block(passage, piece)
            elif index == first_spoken:
                kept_pieces = [
                    pieces[n]
                    for n in range(first_spoken, last_spoken + 1)
                    if n not in unspoken_indexes
                ]
                yield self._speech_block(passage, kept_pieces)

    def _is_parenthetical(self, passage: Passage, piece: SpeechPiece) -> bool:
        """Returns whether a direction is a play's or a screenplay's parenthetical, which nobody
        speaks."""
        text = passage.text[piece.start : piece.stop]
        if text.isupper() and (self.is_screenplay or self.dialogue.has_speaker_markup):
            text = text.lower()
        return self.dialogue.is_play and is_parenthetical(text)

    def _apply_style(self, passage: Passage, piece: SpeechPiece) -> bool:
        """Makes a direction at the beginning of a speech its style, if it describes the manner of
        speaking; returns whether it does."""
        open_speech = self.open_speech
        if open_speech is None or (
            open_speech.style if open_speech.is_pending else not passage.leads_into_speech
        ):
            return False
        style = manner_of_speaking(passage.text[piece.start : piece.stop])
        if style is not None:
            open_speech.style, open_speech.is_pending = style, True
        return style is not None

    def _speech_block(self, passage: Passage, pieces: Sequence[SpeechPiece]) -> Block:
        """Returns a labelled paragraph of speech pieces; directions among them are marked for the
        narrator."""
        self.counts.direction_count += sum(piece.is_direction for piece in pieces)
        label = self.open_speech.take_label() if self.open_speech else ""
        return _paragraph_block(passage.block, _cut_lines(passage.lines, pieces), label)

    def _direction_block(
        self, passage: Passage, piece: SpeechPiece, is_of_label: bool = False
    ) -> Block:
        """Returns a direction, which may be left out; `is_of_label` if it follows a name."""
        text = passage.text[piece.start : piece.stop]
        if self.open_speech and not is_of_label and self._is_parenthetical(passage, piece):
            return _left_out_block(passage.block, text, PARENTHETICAL_REASON)
        self.counts.direction_count += 1
        if self.directions == "omit":
            return _left_out_block(passage.block, text, "stage direction")
        return _unlabelled_block(passage, piece)

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
            name = StyledSpan(self.open_speech.take_label().removesuffix(":"))
            block = _paragraph_block(self.open_speech.block, [(name,)], "")
            block.characters, block.words = self.pending_counts
            yield block
        self.open_speech, self.pending_name_block, self.pending_counts = None, None, (0, 0)


def _count_of(count: int, noun: str) -> str:
    """Returns a number with its noun: `2 speeches`."""
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
    """True if nothing of the speech has been written yet."""
    leads_into_speech: bool = False
    """True if a parenthetical right above announces that the speech continues."""

    def take_label(self) -> str:
        """Returns the label of the next paragraph; only the first one carries the style."""
        style = f" ({self.style})" if self.style and self.is_pending else ""
        self.is_pending = False
        return f"{self.name}{style}:"


def _lower_capitals_of_lines(lines: Sequence[Line]) -> list[Line]:
    """Returns the lines of a scene's heading in ordinary case."""
    return [
        tuple(
            replace(span, text=lower_capitals(span.text, line_index == span_index == 0))
            for span_index, span in enumerate(line)
        )
        for line_index, line in enumerate(lines)
    ]


_SQUARE_BRACKETED = re.compile(r"\[[^\[\]]*\]")


def _cut_lines(lines: Sequence[Line], pieces: Sequence[SpeechPiece]) -> list[Line]:
    """Returns the parts of lines that pieces of their joined text cover, with directions among
    speech marked for the narrator."""
    is_speech = not all(piece.is_direction for piece in pieces)
    cut_lines = []
    offset = 0
    for line in lines:
        spans = []
        for span in line:
            for piece in pieces:
                text = span.text[max(piece.start - offset, 0) : max(piece.stop - offset, 0)]
                is_for_narrator = piece.is_direction and is_speech
                spans.append(replace(span, text=text, is_for_narrator=is_for_narrator))
            offset += len(span.text)
        offset += 1
        if cut_line := normalize_line(spans):
            cut_lines.append(cut_line)
    return cut_lines


def _unlabelled_block(passage: Passage, piece: SpeechPiece) -> Block:
    """Returns part of a passage as a block without a label; the block itself if the part is all of
    it."""
    is_whole = piece.stop - piece.start == len(passage.text) and not passage.is_continuation
    if is_whole and passage.lines == (passage.block.lines or passage.lines):
        return passage.block
    return _paragraph_block(passage.block, _cut_lines(passage.lines, [piece]), "")


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
    """Returns a block for words of `block` that are left out."""
    omitted = left_out_block(block.source, text, reason)
    omitted.document = block.document
    return omitted
