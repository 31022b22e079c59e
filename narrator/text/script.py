"""Parses chapter sources into Chapter > Scene > Line, each with file and line number.

Chapter text is CommonMark, read by markdown-it-py, with six additions: `name (style): text` at
the start of a paragraph, `[pause 1.5s]`, `[music: name]`, `[language: el]`, `{written|spoken}`,
and footnotes (left out). Two rules of CommonMark are disabled, because manuscripts use them
differently: indented text is no code, and tags around a paragraph do not drop its text.

Nothing is lost: text that is not markup is in a `Line.text`, or in a `OmittedText` with its reason.
The language of a line is decided only here. Knows nothing of sentences, chunks and voices.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from markdown_it.token import Token

from narrator.errors import Problem, ScriptError
from narrator.text.flat import MASK, Flat, LanguageMark, ListNumbers, Sign, music_marks_at
from narrator.text.labels import (
    DOUBTFUL,
    LABEL,
    UNKNOWN,
    Attribution,
    Labels,
    Roles,
    Turn,
    fold_label,
    other_lines_note,
)
from narrator.text.letters import set_languages_by_letters
from narrator.text.lines import (
    AttributedSpan,
    Chapter,
    Line,
    MusicMark,
    OmittedText,
    PauseMark,
    Scene,
    SpokenForm,
)
from narrator.text.markup import markdown_parser, unpaired_braces, visible
from narrator.text.slips import (
    BRACE,
    LANGUAGE,
    LANGUAGE_END,
    LANGUAGE_NOT_ENDED,
    NO_WORDS,
    UNCLOSED_BRACE,
    UNKNOWN_SPEAKER,
    Slip,
    find_bracket_slips,
    find_label_slip,
)
from textbase.characters import INVISIBLE
from textbase.tongues import contradiction

MAX_PARAGRAPH_LENGTH = 1_000_000
"""Characters; about 18 hours of speech. Nothing longer is a paragraph of a book."""
MAX_UNENDED_LINES = 5
"""Lines that may follow a language mark without an end before it is reported as a slip."""


def decode_chapter(file_bytes: bytes, path: Path) -> str:
    """Decodes the bytes of a chapter's file, UTF-8 with or without a byte order mark.

    Raises ScriptError for other encodings and for U+0000.
    """
    if file_bytes.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ScriptError(Problem(path, 1, "is UTF-16; save the file as UTF-8"))
    try:
        text = file_bytes.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = error.start + file_bytes.startswith(b"\xef\xbb\xbf") * 3
        line = file_bytes.count(b"\n", 0, offset) + 1
        byte = f"0x{file_bytes[offset]:02X}"
        message = f"is not UTF-8: byte {byte} at offset {offset}; save the file as UTF-8"
        raise ScriptError(Problem(path, line, message)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = "has the control character U+0000, which no text has; remove it, or save as UTF-8"
        raise ScriptError(Problem(path, line, message))
    return text


def read_chapter(
    text: str,
    *,
    path: Path,
    title: str,
    language: str,
    roles: Roles,
    speaker: str | None,
    first_line: int = 1,
) -> Chapter:
    """Parses chapter text; `speaker` is the chapter's own default speaker.

    `first_line` is the number of the text's first line in `path`. Raises ScriptError with all
    problems of the chapter.
    """
    reader = _ScriptReader(path, language, roles, speaker)
    reader.note_invisible_characters(text, first_line)
    text, front_matter = _split_front_matter(text, roles)
    if front_matter:
        reason = "front matter: the facts of a book stand in book.yaml"
        reader.left_out.append(OmittedText(path, first_line, front_matter, reason))
    reader.read(text, lambda number: first_line + number)
    return reader.build_chapter(title, first_line)


def read_lines(
    lines: Sequence[tuple[int, str | tuple[str, str]]],
    *,
    path: Path,
    title: str,
    language: str,
    roles: Roles,
    speaker: str | None,
) -> Chapter:
    """Returns the inline `lines` of a manifest as a chapter.

    Each entry is the number of its line in `path` with either chapter text, or a label and the
    text that its speaker says. Raises ScriptError with all problems of the chapter.
    """
    reader = _ScriptReader(path, language, roles, speaker)
    for number, entry in lines:
        line_of = functools.partial(_constant_line, number)
        if isinstance(entry, str):
            reader.read(entry, line_of)
        else:
            label, speech = entry
            reader.read(speech, line_of, reader.labels.parse_label(label, number))
    return reader.build_chapter(title, lines[0][0] if lines else 1)


@dataclass(frozen=True, slots=True)
class Faults:
    """Problems that `read_chapter` would report, by row of the text, counted from 0."""

    unknown_labels: Mapping[str, Sequence[int]]
    """Apparent labels that name nobody in the cast -> rows."""
    other_rows: frozenset[int]
    """Rows with other problems."""
    is_spoken: bool
    """True if the text has anything to speak."""

    def __bool__(self) -> bool:
        return bool(self.unknown_labels or self.other_rows)


def find_faults(text: str, roles: Roles) -> Faults:
    """Finds the problems that `read_chapter` would report, for programs that write scripts.

    An apparent label counts, because it becomes one as soon as a speaker of that name is declared.
    """
    reader = _ScriptReader(Path(), "", roles, None)
    reader.read(text, lambda number: number)
    characters = (c for scene in reader.scenes for line in scene for c in line.text)
    unknown_labels: dict[str, list[int]] = {}
    other_rows = {problem.line or 0 for problem in reader.problems}
    for stray in reader.labels.strays:
        if stray.kind == UNKNOWN:
            unknown_labels.setdefault(stray.name, []).append(stray.line)
        elif stray.kind != DOUBTFUL:
            other_rows.add(stray.line)
    return Faults(unknown_labels, frozenset(other_rows), any(map(str.isalnum, characters)))


def _constant_line(number: int, _row: int) -> int:
    """Returns `number` for every row of a text: an inline line is one line of the manifest."""
    return number


_CONTROL_CHARACTER = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ORNAMENT = re.compile(r"[*⁂⁎•·~#_=+§❦❧☙◇◆◊○●★☆※\s-]+")
_YAML_KEY = re.compile(r"([\w.-]+)[ \t]*:(?:\s|$)")

_MARKUP_TAGS = re.compile(
    r"</?(a|abbr|b|bd[io]|big|blockquote|br|center|cite|code|dd|del|dfn|div|d[lt]|em|font|h[1-6]|i|"
    r"ins|kbd|li|mark|ol|p|q|s|samp|section|small|span|strike|strong|su[bp]|time|tt|ul?|var|wbr)\b",
    re.IGNORECASE,
)
"""HTML tags that are dropped as mere markup; other tags are listed as left out."""


@dataclass(slots=True)
class _ActiveLanguage:
    """The language set by the last language mark."""

    tag: str
    mark: LanguageMark
    line_count: int = 0
    is_contradicted: bool = False
    """True once a line under the mark has proved to be in another language."""


class _ScriptReader:
    """Collects the scenes and the problems of a chapter from one or more texts."""

    def __init__(self, path: Path, language: str, roles: Roles, speaker: str | None) -> None:
        self.path = path
        self.language = language
        self.roles = roles
        self.labels = Labels(path, roles)
        self.default_speaker = speaker or roles.narrator
        self.left_out: list[OmittedText] = []
        self.problems: list[Problem] = []
        self.scenes: list[list[Line]] = [[]]
        self.previous_speaker: str | None = None
        """Speaker of the last label."""
        self.leading_pause_s = 0.0
        """Pauses before the first line of a scene."""
        self.pending_signs: list[Sign] = []
        """Pauses and music marks since the last spoken words."""
        self.unattributed_lines: list[int] = []
        self.invisible_characters: dict[str, tuple[int, int]] = {}
        """Character -> line of its first occurrence, number of occurrences."""
        self.active_language: _ActiveLanguage | None = None
        """None where no language mark is in force."""
        self.declared_languages = [*roles.declared, language, *roles.languages.values()]
        self.warnings: list[Problem] = []
        self.slips: list[Slip] = []

    def build_chapter(self, title: str, first_line: int) -> Chapter:
        """Returns the chapter that was read. Raises ScriptError with all problems."""
        self.problems += self.labels.problems()
        if lines := self.unattributed_lines:
            self._add_problem(
                lines[0],
                f"nobody speaks this{other_lines_note(lines)}: begin it with a speaker's name and "
                "a colon, or set `narrator`, or the chapter's `speaker`",
            )
        characters = (c for scene in self.scenes for line in scene for c in line.text)
        if not self.problems and not any(map(str.isalnum, characters)):
            self._add_problem(first_line, f"chapter “{title}” has no text to speak")
        if self.problems:
            raise ScriptError(sorted(set(self.problems)))
        self._place_last_marks()
        if (
            (active := self.active_language)
            and active.line_count > MAX_UNENDED_LINES
            and not active.is_contradicted
        ):
            self.slips.append(
                Slip(active.mark.written, LANGUAGE_NOT_ENDED, self.path, active.mark.number)
            )
        foreign = set_languages_by_letters(self.scenes, self.declared_languages)
        scenes = tuple(Scene(tuple(scene)) for scene in self.scenes if scene)
        left_out = tuple(sorted(self.left_out, key=lambda omission: omission.line))
        unseen = tuple(
            (character, self.path, line, count)
            for character, (line, count) in self.invisible_characters.items()
        )
        warnings = tuple(sorted(self.warnings))
        slips = tuple(sorted([*self.slips, *self.labels.slips()], key=lambda slip: slip.line))
        return Chapter(title, self.language, scenes, left_out, unseen, foreign, warnings, slips)

    def note_invisible_characters(self, text: str, first_line: int) -> None:
        """Records invisible characters of a text with their line and count."""
        for match in INVISIBLE.finditer(text):
            line, count = self.invisible_characters.get(match[0], (0, 0))
            line = line or first_line + text.count("\n", 0, match.start())
            self.invisible_characters[match[0]] = line, count + 1

    def read(
        self, text: str, line_of: Callable[[int], int], attribution: Attribution | None = None
    ) -> None:
        """Adds the lines of `text`; `line_of` maps its rows, counted from 0, to source lines.

        With an attribution the whole text is that speaker's, and labels in it are not read.
        """
        text = _CONTROL_CHARACTER.sub(
            _replace_control_character, text.replace("\r\n", "\n").replace("\r", "\n")
        )
        if overlong := _overlong_paragraph(text):
            first_row, length = overlong
            message = (
                f"a paragraph of {length:,} characters (the limit is {MAX_PARAGRAPH_LENGTH:,})"
            )
            self._add_problem(line_of(first_row), f"{message}; part it with blank lines")
            return
        lines = text.split("\n")
        list_numbers = ListNumbers()
        tokens = iter(markdown_parser().parse(text, {"cast": self.roles}))
        for token in tokens:
            first_row, end_row = token.map or (0, 0)
            line, source = line_of(first_row), lines[first_row:end_row]
            match token.type:
                case "inline":
                    self._add_paragraph(
                        self._flatten(token, line_of), attribution, list_numbers.take(), 0
                    )
                case "heading_open":
                    self._check_heading(token, source, line_of(end_row - 1))
                    flat = self._flatten(next(tokens), line_of)
                    self._add_paragraph(flat, attribution, list_numbers.take(), int(token.tag[1]))
                case "hr":
                    self._end_scene()
                case "list_item_open":
                    list_numbers.open(token, line)
                case "list_item_close":
                    if bare_number := list_numbers.close():
                        self._add_paragraph(bare_number, attribution, "", 0)
                case "table_open":
                    next(inner for inner in tokens if inner.type == "table_close")
                    self._leave_out(line, "\n".join(source), "table")
                case "fence" | "definition" | "left_out":
                    self._leave_out_block(token, source, line)
                case "problem":
                    self._add_problem(line, token.content)

    def _check_heading(self, token: Token, source: Sequence[str], line: int) -> None:
        """Reports text above a row of dashes that may be meant as a scene break."""
        if token.markup == "-" and not _reads_as_title(source[:-1]):
            self._add_problem(
                line,
                "a scene break or a heading? Put a blank line above a scene break; "
                "begin a heading with ##",
            )

    def _leave_out_block(self, token: Token, source: Sequence[str], line: int) -> None:
        """Leaves out a code block, a link definition, or a block that the parser marked so."""
        reason = token.info
        if token.type == "fence":
            reason = "code block"
            if not _is_closed(token, source):
                message = f"a code block ({token.markup}) that is never closed"
                self._add_problem(line, f"{message}; for a scene break write ***")
        elif token.type == "definition":
            reason = "link definition"
            self.labels.check_link_label(str(token.meta["label"]), line)
        self._leave_out(line, "\n".join(source), reason)

    # -- paragraphs

    def _add_paragraph(
        self, flat: Flat, attribution: Attribution | None, list_number: str, heading_level: int
    ) -> None:
        """Adds the lines of one paragraph; `list_number` is that of its list item, `heading_level`
        0 for ordinary text."""
        if "<!--" in flat.masked_text:
            self._add_problem(
                flat.line_starts[0][1],
                "a comment that does not end in its paragraph; put <!-- and --> on lines of their "
                "own, or write \\<!-- for text",
            )
        if not list_number and not visible(flat.text):
            self._keep_silent_signs(flat)
            return
        if not (list_number or heading_level or flat.spoken_forms) and _ORNAMENT.fullmatch(
            flat.masked_text
        ):
            self._end_scene()
            self._keep_silent_signs(flat)
            return
        if heading_level or attribution:
            turns = [Turn(0, 0, attribution)]
        else:
            turns = self.labels.turns(flat)
        self._collect_slips(flat, turns, is_heading=heading_level > 0)
        ends = [turn.label_start for turn in turns[1:]] + [len(flat.text)]
        for turn, end in zip(turns, ends, strict=True):
            self._add_line(
                flat.part(turn.label_start, turn.speech_start, end),
                turn.attribution,
                list_number,
                heading_level,
            )
            list_number = ""

    def _collect_slips(self, flat: Flat, turns: Sequence[Turn], *, is_heading: bool) -> None:
        """Records text of a paragraph that is nearly markup and would be spoken.

        Source lines within the paragraph are checked only if it has labels, since prose is
        wrapped anywhere.
        """
        findings = list(find_bracket_slips(flat.masked_text))
        starts = {0, *(turn.speech_start for turn in turns)}
        if any(turn.attribution for turn in turns):
            starts |= {offset for offset, _ in flat.line_starts}
        for start in () if is_heading else sorted(starts):
            if slip := find_label_slip(flat.masked_text, start, self._is_speaker):
                findings.append(slip)
        for offset, written, problem in findings:
            self.slips.append(Slip(written, problem, self.path, flat.line_at(offset)))

    def _is_speaker(self, name: str) -> bool:
        return bool(self.roles.find_speakers(name))

    def _keep_silent_signs(self, flat: Flat) -> None:
        """Keeps the pauses and marks of a paragraph that has no words."""
        if flat.pauses:
            self._add_pause(sum(pause.seconds for pause in flat.pauses))
        self.pending_signs += flat.signs
        for mark in flat.languages:
            self._set_language(mark)

    def _set_language(self, mark: LanguageMark) -> None:
        if mark.tag is None and self.active_language is None and mark.is_well_formed:
            self._add_warning(mark.number, f"{mark.written}, but no language is on here")
        elif mark.tag is not None:
            self.declared_languages.append(mark.tag)
        self.active_language = None if mark.tag is None else _ActiveLanguage(mark.tag, mark)

    def _apply_active_language(self, line: Line, active: _ActiveLanguage) -> Line:
        """Returns a line in the language of the active mark, or in the language around it if its
        letters allow no other.

        The first line that contradicts the mark adds a warning.
        """
        active.line_count += 1
        denial = contradiction(line.text, active.tag, line.language)
        if denial and not active.is_contradicted:
            active.is_contradicted = True
            self._add_warning(
                line.line,
                f"after {active.mark.written} in line {active.mark.number} the text seems to be in "
                f"{denial.apparent_name}: was [language: off] forgotten?",
            )
        return replace(line, language=denial.language if denial else active.tag)

    def _add_line(
        self, part: Flat, attribution: Attribution | None, list_number: str, heading_level: int
    ) -> None:
        """Adds one speaker's part of a paragraph as a line, after the number of its list item."""
        line = part.line_starts[0][1]
        if not visible(part.text) and not list_number:
            self._keep_silent_signs(part)
            return
        trailing_marks = self._apply_language_marks(part)
        if list_number:
            part = part.numbered(list_number)
        if attribution:
            speakers, style = attribution
            speaker = next(iter(speakers), "")
            if len(speakers) > 1:
                part.attributed_spans.insert(0, AttributedSpan(0, len(part.text), speakers, style))
            self.previous_speaker = speaker or self.previous_speaker
        else:
            speaker, style = self.default_speaker or self.previous_speaker or "", None
            if not speaker:
                self.unattributed_lines.append(line)
        leading_pauses = [PauseMark(0, self.leading_pause_s)] if self.leading_pause_s else []
        self.leading_pause_s = 0.0
        new_line = Line(
            speaker,
            part.text,
            self.path,
            line,
            self.roles.languages.get(speaker, self.language),
            style,
            heading_level,
            spoken_forms=tuple(part.spoken_forms),
            pauses=(*leading_pauses, *part.pauses),
            marks=tuple(self._place_marks(part.text, part.signs)),
            attributed_spans=tuple(part.attributed_spans),
            is_narration=not (attribution or heading_level) and speaker == self.roles.narrator,
            is_marked=self.active_language is not None,
            source_lines=tuple(part.line_starts[1:]),
            last_source_line=part.last_source_line,
        )
        if self.active_language:
            new_line = self._apply_active_language(new_line, self.active_language)
        self.scenes[-1].append(new_line)
        for mark in trailing_marks:
            self._set_language(mark)

    def _apply_language_marks(self, part: Flat) -> list[LanguageMark]:
        """Applies the language marks before a line's words, and returns those after them."""
        trailing_marks = []
        for mark in part.languages:
            if not visible(part.text[: mark.offset]):
                self._set_language(mark)
            elif not visible(part.text[mark.offset :]):
                trailing_marks.append(mark)
            else:
                self._add_warning(
                    mark.number,
                    f"{mark.written} within a paragraph is ignored: a language is for whole "
                    "paragraphs, and its marks stand before and after them",
                )
        return trailing_marks

    def _add_pause(self, seconds: float) -> None:
        """Adds a pause between lines to the line before it, or to the start of the scene."""
        if scene := self.scenes[-1]:
            pause = PauseMark(len(scene[-1].text), seconds)
            scene[-1] = replace(scene[-1], pauses=(*scene[-1].pauses, pause))
        else:
            self.leading_pause_s += seconds

    def _place_marks(self, text: str, signs: Sequence[Sign]) -> Iterator[MusicMark]:
        """Yields the music marks of a line; marks after its last words wait for the next line."""
        first = next((i for i, c in enumerate(text) if c.isalnum()), len(text))
        self.pending_signs += (sign for sign in signs if sign.offset <= first)
        if first == len(text):
            return
        yield from music_marks_at(self.pending_signs, 0)
        self.pending_signs = []
        inner_signs = (sign for sign in signs if sign.offset > first)
        for offset, group in groupby(inner_signs, key=lambda sign: sign.offset):
            if any(map(str.isalnum, text[offset:])):
                yield from music_marks_at(list(group), offset)
            else:
                self.pending_signs += group

    def _place_last_marks(self) -> None:
        """Attaches the marks and the pause after a chapter's last words to its last spoken line."""
        spoken_places = (
            (scene, i)
            for scene in reversed(self.scenes)
            for i in reversed(range(len(scene)))
            if any(map(str.isalnum, scene[i].text))
        )
        scene, i = next(spoken_places)
        late_marks = music_marks_at(self.pending_signs, len(scene[i].text))
        late_pauses = (
            [PauseMark(len(scene[i].text), self.leading_pause_s)] if self.leading_pause_s else []
        )
        scene[i] = replace(
            scene[i], marks=(*scene[i].marks, *late_marks), pauses=(*scene[i].pauses, *late_pauses)
        )

    def _end_scene(self) -> None:
        if self.scenes[-1]:
            self.scenes.append([])

    # -- inline markup

    def _flatten(self, token: Token, line_of: Callable[[int], int]) -> Flat:
        """Converts a paragraph's inline tokens to text without markup."""
        first_row, end_row = token.map or (0, 1)
        newlines = [newline.start() for newline in re.finditer("\n", token.content)]
        flat = Flat([(0, line_of(first_row))], last_source_line=line_of(end_row - 1))
        children = token.children or []
        unpaired_places = unpaired_braces(children)
        open_braces: list[tuple[int, Token]] = []
        """Offset and token of each."""
        spans: list[tuple[int, int, Token]] = []
        """Start and end of each attributed span, and the token of its opening brace."""
        for index, child in enumerate(children):
            if child.type in ("softbreak", "hardbreak"):
                flat.add("\n", "\n")
                row = first_row + bisect_right(newlines, child.meta["pos"])
                flat.line_starts.append((flat.size, line_of(row)))
                continue
            line = flat.line_starts[-1][1]
            if "pos" in child.meta:
                line = line_of(first_row + bisect_left(newlines, child.meta["pos"]))
            if child.type == "attribution_open" and index not in unpaired_places:
                open_braces.append((flat.size, child))
            elif child.type == "attribution_close" and index not in unpaired_places:
                start, open_brace = open_braces.pop()
                spans.append((start, flat.size, open_brace))
            else:
                self._add_token(flat, child, line)
        flat.join()
        spans.reverse()  # those within another one ended first
        for start, stop, open_brace in sorted(spans, key=lambda span: (span[0], -span[1])):
            self._add_attributed_span(flat, start, stop, open_brace)
        return flat

    def _add_attributed_span(self, flat: Flat, start: int, stop: int, open_brace: Token) -> None:
        """Attributes the text between braces to the speakers that the opening brace names."""
        meta = open_brace.meta
        if visible(flat.text[start:stop]):
            flat.attributed_spans.append(
                AttributedSpan(start, stop, meta["speakers"], meta["style"])
            )
        else:
            line = flat.line_at(start)
            self.slips.append(Slip(meta["written"], NO_WORDS, self.path, line))

    def _add_token(self, flat: Flat, child: Token, line: int) -> None:
        """Adds one inline token to the text, as words or as a mark."""
        match child.type:
            case "text":
                flat.add(child.content, child.content)
            case "text_special" | "code_inline":
                flat.add(child.content, MASK * len(child.content))
            case "pause":
                flat.marks.append(PauseMark(flat.size, child.meta["seconds"]))
            case "music":
                flat.marks.append(MusicMark(flat.size, child.meta["name"], line))
            case "language":
                self._add_language_mark(flat, child, line)
            case "spoken_form":
                end = flat.size + len(child.content)
                flat.spoken_forms.append(SpokenForm(flat.size, end, child.meta["spoken"]))
                flat.add(child.content, MASK * len(child.content))
            case "attribution_open" | "brace":
                self._add_brace(flat, child, line)
            case "attribution_close":
                flat.add("}", "}")
            case "html_inline":
                space = self._read_html_tag(child.content, line)
                flat.add(space, space)
            case "image":
                self._leave_out(line, _image_source(child), "image")
            case "left_out":
                self._leave_out(line, child.content, child.info)
            case "slip":
                self.slips.append(Slip(child.content, child.info, self.path, line))

    def _add_brace(self, flat: Flat, child: Token, line: int) -> None:
        """Adds a brace that attributes nothing as text, and records it as a slip."""
        suggestion = child.meta["nearest_name"]
        problem = (
            UNCLOSED_BRACE
            if child.type == "attribution_open"
            else BRACE
            if suggestion is None
            else UNKNOWN_SPEAKER
        )
        hint = f"; did you mean “{{{suggestion}: …}}”?" if suggestion else ""
        self.slips.append(Slip(child.meta["written"], problem, self.path, line, hint))
        flat.add("{", MASK)
        flat.add(child.content[1:], child.content[1:])

    def _add_language_mark(self, flat: Flat, child: Token, line: int) -> None:
        """Adds a language mark; record a mistyped one as a slip."""
        is_well_formed, tag = child.meta["is_well_formed"], child.meta["tag"]
        if is_well_formed or child.meta["is_end"]:
            flat.marks.append(LanguageMark(flat.size, tag, line, child.content, is_well_formed))
        if is_well_formed:
            return
        problem = LANGUAGE_END if child.meta["is_end"] else LANGUAGE
        self.slips.append(Slip(child.content, problem, self.path, line))
        if child.content.endswith("]") or child.meta["is_end"]:
            self._leave_out(line, child.content, "language mark that is none")

    def _read_html_tag(self, written: str, line: int) -> str:
        """Returns the text of an HTML tag or comment: a space for a break, nothing for markup.

        Other tags and comments are listed as left out.
        """
        tag = _MARKUP_TAGS.match(written)
        if tag is None:
            self._leave_out(line, written, "comment" if written.startswith("<!--") else "HTML tag")
        return " " if tag and tag[1].lower() == "br" else ""

    # -- reports

    def _leave_out(self, line: int, text: str, reason: str) -> None:
        self.left_out.append(OmittedText(self.path, line, text, reason))

    def _add_problem(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.path, line, message))

    def _add_warning(self, line: int, message: str) -> None:
        self.warnings.append(Problem(self.path, line, message))


def _replace_control_character(match: re.Match[str]) -> str:
    """Replaces a control character by a space, by its letter in Windows-1252, or by nothing."""
    if match[0].isspace():
        return " "
    return match[0].encode("latin-1").decode("cp1252", "ignore") if match[0] > "\x7f" else ""


def _image_source(token: Token) -> str:
    """Reconstructs the Markdown source of an image."""
    title = token.attrs.get("title")
    target = f'{token.attrs["src"]} "{title}"' if title else token.attrs["src"]
    return f"![{token.content}]({target})"


def _reads_as_title(lines: Sequence[str]) -> bool:
    """Returns whether the text above a line of dashes is a heading and not a paragraph."""
    text = lines[0].rstrip()
    return len(lines) == 1 and len(text) <= 80 and text[-1:].isalnum() and not LABEL.match(text)


def _is_closed(fence: Token, source: Sequence[str]) -> bool:
    """Returns whether the last source line of a code block closes its fence."""
    last_line = source[-1].strip(" \t>") if source else ""
    return (
        len(source) > 1
        and len(last_line) >= len(fence.markup)
        and not last_line.strip(fence.markup[0])
    )


def _overlong_paragraph(text: str) -> tuple[int, int] | None:
    """Returns the row, counted from 0, and the length of the first paragraph over the limit."""
    if len(text) <= MAX_PARAGRAPH_LENGTH:
        return None
    start = row = 0
    for blank_line in (*re.finditer(r"\n[ \t]*(?=\n)", text), None):
        stop = blank_line.start() if blank_line else len(text)
        if stop - start > MAX_PARAGRAPH_LENGTH:
            return row + len(text[start:stop]) - len(text[start:stop].lstrip("\n")), stop - start
        row += text.count("\n", start, stop)
        start = stop
    return None


def _split_front_matter(text: str, roles: Roles) -> tuple[str, str]:
    """Returns the text with its YAML front matter replaced by blank lines, and the front matter.

    Since a scene may begin with `---` as well, front matter must begin with a key that is no
    speaker's name, and must have no blank lines.
    """
    lines = text.splitlines() if text.startswith("---") else []
    if not lines or lines[0].rstrip() != "---":
        return text, ""
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), 0)
    body = lines[1:end]
    key = _YAML_KEY.match(body[0]) if body else None
    if key is None or fold_label(key[1]) in roles.speakers:
        return text, ""
    if not all(line.startswith((" ", "\t", "#", "- ")) or _YAML_KEY.match(line) for line in body):
        return text, ""
    return "\n" * (end + 1) + "\n".join(lines[end + 1 :]), "\n".join(lines[: end + 1])
