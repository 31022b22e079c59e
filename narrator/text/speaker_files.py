"""Decided speakers: a file next to each chapter's text, with a row for each quotation.

    # Who says what in 01-down.md. Change a name, and it is yours: no run changes it again.
    Alice | rule tag 0.98 Alice | “and what is the use of a book,”
    + | rule tag 0.98 + | “without pictures or conversations?”
    Ada   | you | “Oh dear!”

The first column is the speaker: a name, several joined by &, `+` for the speaker of the row before,
`-` for nobody's speech, `?` if unknown. The second is the origin: `you`, `print`, `rule NAME SURE`
or `model NAME SURE`, followed by the first column as that origin wrote it; if it differs, a person
has changed it. The third is the words. Rows are matched by their words and neighbours, so edits of
the text move nothing. A row that begins with `>` is a quotation within the one above, in a tale;
`+` then means the row before of the same kind, and `-` that the teller says it. Knows no cast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from narrator import files
from narrator.errors import Problem, StorageError
from narrator.text.alignment import match_texts
from narrator.text.markup import squeeze
from textbase.characters import decode_text, strip_invisible

NOBODY = "-"
UNKNOWN = "?"
_SAME_SPEAKER = "+"
_NESTED = ">"
ENDING = ".speakers.txt"

_MAX_BYTES = 32_000_000
"""Maximum size of the file; the rows of a long novel take about one million bytes."""
_HEADER = "# Who says what in "
_MAX_WORDS_LENGTH, _HEAD_LENGTH, _TAIL_LENGTH = 100, 60, 30
"""Characters up to which a quotation is written in full; else characters of its beginning and its
end."""
_COLUMNS = re.compile(r"(?<!\\)\|")
_ORIGIN = re.compile(
    r"(?P<by>you|print|rule|model)(?:(?<=rule|odel) (?P<name>\S+)(?: (?P<sure>[01](?:\.\d+)?))?)?"
    r"(?: (?P<decided>.+))?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """The speaker of one quotation, or of one piece of it."""

    speaker: str
    """Names as `format_names` writes them, NOBODY or UNKNOWN."""
    by: str
    """Origin of the decision: you, print, rule or model."""
    words: str = ""
    """Words of the quotation, as `shorten_words`."""
    name: str = ""
    """Name of the rule or model."""
    certainty: float = 1.0
    """0 to 1."""
    continues_previous: bool = False
    """True if it continues the quotation of the row before, among those as nested as it is."""
    is_nested: bool = False
    """True if the quotation lies within another one, in a tale."""
    number: int = 0
    """Line number in the file; 0 for a new row."""
    above: tuple[str, ...] = ()
    """Comment lines before the row, which are kept."""

    @property
    def is_manual(self) -> bool:
        """True if a person decided it; no run overrules that."""
        return self.by == "you"


@dataclass(frozen=True, slots=True)
class SpeakerFile:
    """The rows of one chapter's file."""

    path: Path
    rows: tuple[Row, ...] = ()
    below: tuple[str, ...] = ()
    """Comment lines after the last row."""
    problems: tuple[Problem, ...] = ()
    """Unreadable lines; the other rows are still valid."""
    exists: bool = False
    is_unreadable: bool = False
    """True if the file could not be read at all."""
    newline: str = "\n"

    def matched(self, words: Sequence[str]) -> list[int | None]:
        """Returns for each quotation of the text, in order, the index of its row.

        Of duplicate rows, as after a merge conflict, a person's is preferred.
        """
        row_places = match_texts(
            [row.words for row in self.rows],
            [shorten_words(quotation_words) for quotation_words in words],
        )
        quotations = {row: place for place, row in enumerate(row_places) if row is not None}
        for row_index, twin_index in self._find_duplicates(quotations):
            if self.rows[row_index].is_manual and not self.rows[twin_index].is_manual:
                row_places[quotations[twin_index]] = row_index
        return row_places

    def matched_rows(self, words: Sequence[str]) -> list[Row | None]:
        """Returns for each quotation of the text, in order, its row."""
        return [None if index is None else self.rows[index] for index in self.matched(words)]

    def unmatched_manual_rows(self, words: Sequence[str]) -> list[Row]:
        """Returns the rows of a person for which the text has no quotation."""
        unmatched_indices = set(range(len(self.rows))) - set(self.matched(words))
        rows = (self.rows[index] for index in sorted(unmatched_indices))
        return [row for row in rows if row.is_manual]

    def _find_duplicates(self, matched_rows: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yields unmatched rows, each with its duplicate: runs of rows that equal the run of
        matched rows right before or after."""
        places = range(len(self.rows))
        for is_matched, run in groupby(places, lambda place: place in matched_rows):
            row_indices = list(run)
            for shift in (-len(row_indices), len(row_indices)) if not is_matched else ():
                twins = [index + shift for index in row_indices]
                if all(
                    twin in matched_rows and self.rows[twin].words == self.rows[index].words
                    for index, twin in zip(row_indices, twins, strict=True)
                ):
                    yield from zip(row_indices, twins, strict=True)
                    break


def speaker_file_path(chapter: Path) -> Path:
    """Returns the path of the file that belongs to a chapter's text."""
    return chapter.parent / f"{chapter.stem}{ENDING}"


def format_names(names: Sequence[str]) -> str:
    """Returns names of the cast in the notation of the first column."""
    escaped = (re.sub(r"[\\|]", r"\\\g<0>", squeeze(name)) for name in names)
    joined = " & ".join(escaped)
    is_special = joined in (_SAME_SPEAKER, NOBODY, UNKNOWN) or joined.startswith(("#", _NESTED))
    return f"\\{joined}" if is_special else joined


def unescape_names(speaker: str) -> str:
    """Returns the first column without its escapes."""
    return re.sub(r"\\(.)", r"\1", speaker)


def shorten_words(words: str) -> str:
    """Returns the words of a quotation in the notation of a row."""
    squeezed = squeeze(strip_invisible(words))
    return (
        squeezed
        if len(squeezed) <= _MAX_WORDS_LENGTH
        else f"{squeezed[:_HEAD_LENGTH]} … {squeezed[-_TAIL_LENGTH:]}"
    )


# -- reading


def read(path: Path, parse: Callable[[Path, bytes], SpeakerFile] | None = None) -> SpeakerFile:
    """Reads a file. Nothing is refused: unreadable lines become problems, and no rows.

    `parse` may give what `parse_file` gave before.
    """
    try:
        file_bytes = files.read_bounded(path, _MAX_BYTES)
    except FileNotFoundError:
        return SpeakerFile(path)
    except files.TooLarge:
        return _unreadable(path, "larger than 32 MB, which no list of quotations is")
    except OSError as error:
        return _unreadable(path, f"cannot be read: {error.strerror}")
    return (parse or parse_file)(path, file_bytes)


def parse_file(path: Path, file_bytes: bytes) -> SpeakerFile:
    """Parses the bytes of a file, as `read` does."""
    text, invalid_offset = decode_text(file_bytes)
    problems: list[Problem] = []
    if invalid_offset is not None:
        message = "is not UTF-8 and is read as Windows-1252; save the file as UTF-8"
        problems.append(Problem(path, file_bytes.count(b"\n", 0, invalid_offset) + 1, message))
    newline = "\r\n" if "\r\n" in text else "\n"
    reader = _RowReader()
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        reader.add(line, number)
    problems += reader.problems(path)
    return SpeakerFile(
        path, tuple(reader.rows), tuple(reader.above), tuple(problems), True, newline=newline
    )


@dataclass(slots=True)
class _RowReader:
    """Collects rows, comments and faults from the lines of a file."""

    rows: list[Row] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    """Comment lines since the last row."""
    faults: dict[str, list[int]] = field(default_factory=dict)
    """Fault -> line numbers."""
    last_rows: dict[bool, Row] = field(default_factory=dict)
    """The last nested row, and the last other one, since a line that could not be read."""

    def add(self, line: str, number: int) -> None:
        """Reads one line: a row, or a comment kept for the next row."""
        is_head = line.startswith(_HEADER) and not (self.rows or self.above)
        if not line.strip() or is_head:
            return
        row, fault = _parse_row(line, number, self.last_rows)
        if fault:
            self.faults.setdefault(fault, []).append(number)
        if row is None:
            self.above.append(line)
            if fault:
                self.last_rows.clear()
            return
        self.last_rows[row.is_nested] = row
        self.rows.append(replace(row, above=tuple(self.above)))
        self.above = []

    def problems(self, path: Path) -> Iterator[Problem]:
        for fault, line_numbers in self.faults.items():
            suffix = f" (and {len(line_numbers) - 1} more)" if len(line_numbers) > 1 else ""
            yield Problem(path, line_numbers[0], fault + suffix)


def _unreadable(path: Path, message: str) -> SpeakerFile:
    message += "; the narrator speaks its quotations"
    return SpeakerFile(
        path, problems=(Problem(path, None, message),), exists=True, is_unreadable=True
    )


_NOT_A_ROW = "is not a row: who speaks | who decided | the words of the quotation"
_NO_SAME = "“+” is for the speaker of the row before, and there is none"
_NO_ORIGIN = "has no “you”, “print”, “rule …” or “model …” in its second column: taken for yours"


def _parse_row(line: str, number: int, last_rows: Mapping[bool, Row]) -> tuple[Row | None, str]:
    """Parses a line into a row and its fault, "" for none; the row is None for a comment or a line
    that cannot be read. `last_rows` has the rows that a `+` may mean, by `is_nested`."""
    if line.lstrip().startswith("#"):
        return None, ""
    columns = [squeeze(strip_invisible(column)) for column in _COLUMNS.split(line, maxsplit=2)]
    is_nested = columns[0].startswith(_NESTED)
    columns[0] = columns[0].removeprefix(_NESTED).lstrip()
    if len(columns) < 3 or not all((columns[0], columns[2])):
        return None, _NOT_A_ROW
    speaker, origin, words = columns
    speaker = NOBODY if speaker in "–—" else speaker
    row, fault = _apply_origin(
        origin, Row(speaker, "you", words, is_nested=is_nested, number=number)
    )
    if speaker != _SAME_SPEAKER:
        return row, fault
    previous_row = last_rows.get(is_nested)
    if previous_row is None:  # kept as a comment until corrected
        return (None if row.is_manual else replace(row, speaker=UNKNOWN)), _NO_SAME
    # who changes a quotation's first row means all of it
    if previous_row.is_manual:
        row = replace(row, by="you", name="", certainty=1.0)
    return replace(row, speaker=previous_row.speaker, continues_previous=True), fault


def _apply_origin(origin_text: str, row: Row) -> tuple[Row, str]:
    """Returns a row with its origin from the second column, and that column's fault, or ""."""
    match = _ORIGIN.fullmatch(origin_text)
    has_name = match is not None and match["name"] is not None
    if match is None or has_name != (match["by"] in ("rule", "model")):
        return row, _NO_ORIGIN
    if match["decided"] not in (None, row.speaker):
        return row, ""
    certainty = min(1.0, float(match["sure"] or 1))
    return replace(row, by=match["by"], name=match["name"] or "", certainty=certainty), ""


# -- writing


def update_rows(old: SpeakerFile, words: Sequence[str], fresh: Sequence[Row | None]) -> SpeakerFile:
    """Returns the rows for the quotations of the current text: a person's if there is one, else the
    fresh row, else the existing one.

    A person's row without a matching quotation stays in its place; others are dropped.
    """
    row_places = old.matched(words)
    quotation_of_row = {
        row_index: quotation_index
        for quotation_index, row_index in enumerate(row_places)
        if row_index is not None
    }
    rows: list[Row | None] = []
    for quotation_words, place, fresh_row in zip(words, row_places, fresh, strict=True):
        current = old.rows[place] if place is not None else None
        chosen = (
            current
            if current is not None and (fresh_row is None or current.is_manual)
            else fresh_row
        )
        rows.append(chosen and replace(chosen, words=shorten_words(quotation_words), above=()))
    unmatched_rows: dict[int, list[Row]] = {}
    comments_above: dict[int, tuple[str, ...]] = {}
    pending_comments: tuple[str, ...] = ()
    last_quotation = -1
    for row_index, row in enumerate(old.rows):
        pending_comments += row.above
        if row_index in quotation_of_row:
            last_quotation = quotation_of_row[row_index]
            comments_above[last_quotation], pending_comments = pending_comments, ()
        elif row.is_manual:
            unmatched_rows.setdefault(last_quotation, []).append(
                replace(row, above=pending_comments)
            )
            pending_comments = ()
    all_rows = list(unmatched_rows.get(-1, ()))
    for quotation_index, new_row in enumerate(rows):
        if new_row is not None:
            all_rows.append(replace(new_row, above=comments_above.get(quotation_index, ())))
        all_rows += unmatched_rows.get(quotation_index, ())
    return replace(old, rows=tuple(all_rows), below=(*pending_comments, *old.below))


def apply_answers(
    file: SpeakerFile,
    words: Sequence[str],
    fresh: Sequence[Row | None],
    answered_places: Collection[int],
) -> SpeakerFile:
    """Returns the file after a person has decided the speakers of the quotations at
    `answered_places`.

    `fresh` are rows for `words`: the person's, and rows for quotations that no person has decided.
    """
    rows = list(file.rows)
    for n, (row, place) in enumerate(zip(fresh, file.matched(words), strict=True)):
        if (
            row is not None
            and place is not None
            and (n in answered_places or not rows[place].is_manual)
        ):
            rows[place] = replace(row, above=rows[place].above)
    return update_rows(replace(file, rows=tuple(rows)), words, fresh)


def write(decided: SpeakerFile, chapter: str) -> bool:
    """Writes the file of a chapter; return True if it was written.

    It is not written if its content is unchanged, or if there is no file and no rows. Raises
    StorageError, also if an existing file could not be read.
    """
    if is_current(decided, chapter):
        return False
    files.write(files.resolve_link(decided.path), format_file(decided, chapter))
    return True


def is_current(decided: SpeakerFile, chapter: str) -> bool:
    """Returns whether the file of a chapter is as it would be written. Raises StorageError if an
    existing file could not be read."""
    if not (decided.rows or decided.exists) and not decided.is_unreadable:
        return True
    file_bytes = format_file(decided, chapter)
    try:
        return files.read_bounded(decided.path, _MAX_BYTES) == file_bytes
    except (OSError, files.TooLarge):
        return False


def format_file(decided: SpeakerFile, chapter: str) -> bytes:
    """Returns the bytes of a chapter's file.

    Raises StorageError if an existing file could not be read.
    """
    if decided.is_unreadable:
        raise StorageError(
            f"{decided.path}: cannot be read, and is not replaced; mend or remove it"
        )
    text = decided.newline.join((*_format_lines(decided, chapter), ""))
    return text.encode(errors="replace")


def _format_lines(decided: SpeakerFile, chapter: str) -> Iterator[str]:
    """Yields the lines of a file, header first."""
    yield f"{_HEADER}{chapter}. Change a name, and it is yours: no run changes it again."
    last_rows: dict[bool, Row] = {}
    for row in decided.rows:
        speaker = row.speaker
        previous_row = last_rows.get(row.is_nested)
        last_rows[row.is_nested] = row
        # what follows a person's row with a `+` is that person's, too
        if (
            row.continues_previous
            and previous_row
            and (previous_row.speaker, previous_row.is_manual) == (speaker, row.is_manual)
        ):
            speaker = _SAME_SPEAKER
        origin = row.by
        if row.by in ("rule", "model"):
            origin += f" {row.name} {row.certainty:.2f} {speaker}"
        elif row.by == "print":
            origin += f" {speaker}"
        yield from row.above
        yield f"{f'{_NESTED} ' * row.is_nested}{speaker} | {origin} | {row.words}"
    yield from decided.below
