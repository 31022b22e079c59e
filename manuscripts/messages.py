"""Messages between the import and its reader process: lines of JSON.

Data only, validated when read; nothing in it is executed. Knows neither process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationInfo,
)

from manuscripts.book import Book, Choices
from manuscripts.errors import ImportFailed
from textbase.errors import EnvironmentFailed, Problem, ReportedError, StorageError, UsageError


def _escape_surrogates(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _unescape_surrogates(text: str, validation: ValidationInfo) -> str:
    if validation.mode != "json":
        return text
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


_FileName = Annotated[
    str, PlainSerializer(_escape_surrogates), AfterValidator(_unescape_surrogates)
]
"""A text that may contain a file name, whose bytes need not be UTF-8; JSON cannot hold those."""


_ERROR_CLASSES: dict[str, type[ReportedError]] = {
    kind.__name__: kind for kind in (EnvironmentFailed, ImportFailed, StorageError, UsageError)
}


class ImportMessage(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64"
    )

    def to_line(self) -> bytes:
        """Returns the message as a line to send."""
        return self.model_dump_json().encode() + b"\n"


class ImportRequest(ImportMessage):
    """The source to read, and how to read it."""

    source: _FileName
    choices: Choices


class ReadingFile(ImportMessage):
    """Reports the file that is read next."""

    kind: Literal["reading"] = "reading"
    path: _FileName


class FinishedBook(ImportMessage):
    """The imported book."""

    kind: Literal["finished"] = "finished"
    book: Book


class RefusedSource(ImportMessage):
    """The error that refused the source, by its class."""

    kind: Literal["refused"] = "refused"
    error: str
    problems: tuple[tuple[_FileName | None, int | None, _FileName], ...]

    @classmethod
    def from_error(cls, error: ReportedError) -> Self:
        return cls(
            error=type(error).__name__,
            problems=tuple(
                (None if p.path is None else str(p.path), p.line, p.message) for p in error.problems
            ),
        )

    def to_exception(self) -> ReportedError:
        """Returns the same error, of its own class or as ImportFailed."""
        problems = [
            Problem(None if path is None else Path(path), line, message)
            for path, line, message in self.problems
        ]
        kind = _ERROR_CLASSES.get(self.error, ImportFailed)
        return kind(problems)


class MemoryExhausted(ImportMessage):
    """Reports that memory ran out."""

    kind: Literal["out-of-memory"] = "out-of-memory"


class ReaderFault(ImportMessage):
    """A bug in this program."""

    kind: Literal["fault"] = "fault"
    error: _FileName
    traceback: _FileName


ImportAnswer = ReadingFile | FinishedBook | RefusedSource | MemoryExhausted | ReaderFault


def parse_answer(line: bytes) -> ImportAnswer:
    """Parses a line. Raises ValueError."""
    return _ANSWER_ADAPTER.validate_json(line)


_ANSWER_ADAPTER: TypeAdapter[ImportAnswer] = TypeAdapter(
    Annotated[ImportAnswer, Field(discriminator="kind")]
)
