"""Sends files to a remote of the user's rclone, which keeps the addresses and passwords; narrator
never sees them.

https://rclone.org/docs/
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator import files
from narrator.delivery.shelves.sending import RESUME_ADVICE, Item
from narrator.errors import EnvironmentFailed, UsageError
from textbase.characters import excerpt

SCHEME = "rclone:"
_REMOTE = re.compile(r"([\w.+@][\w.+@ -]*):(.*)", re.DOTALL)
_NO_FOLDER_CODE = 3
"""rclone's exit code for a folder that does not exist."""
_LOG_OPTIONS = ("--ask-password=false", "--use-json-log", "--log-level", "INFO", "--stats", "0")
_HARMLESS_LEVELS = frozenset(("debug", "info", "notice", "warning"))
_CLOCK = re.compile(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ")
"""Date and time before a message that is not in JSON."""
_SECRET_VARIABLE = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL|AUTH", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"(?<=://)[^/@\s]+(?=@)"  # a name and password before a host
    r"|(?i:(?<=bearer )|(?<=basic ))[\w.~+/=-]+"
    r"|(?i:\b[\w-]*(?:pass(?:word)?|secret|token|sig|signature|key|credential|auth)[\w-]*"
    r"(?:=|: |\": *\"))[^&\s\"']+"
)


@dataclass(frozen=True, slots=True)
class RcloneShelf:
    """A folder on a remote. Its methods raise EnvironmentFailed."""

    target: str
    """REMOTE:PATH."""

    @classmethod
    def parse(cls, to: str) -> RcloneShelf:
        """Parses `rclone:REMOTE:PATH`. Raises UsageError, which never repeats the text: settings of
        a remote may contain a password."""
        match = _REMOTE.fullmatch(to.removeprefix(SCHEME))
        if not match or "," in match[1]:
            raise UsageError(
                "--to rclone:REMOTE:PATH needs the name of a remote from `rclone config` and a "
                "path; do not write the settings of a remote here, since your shell records them"
            )
        return cls(f"{match[1]}:{match[2].rstrip('/')}")

    def sizes(self, names: Collection[str]) -> Mapping[str, int]:
        folder = os.path.commonpath([f"{Path(name).parent}" for name in names]) if names else "."
        listing = ["lsjson", "--recursive", "--files-only", "--no-mimetype", "--no-modtime"]
        outcome = _run([*listing, self._path(folder)])
        if outcome.code == _NO_FOLDER_CODE:
            return {}
        self._require_success(outcome)
        try:
            existing_sizes = {
                Path(folder, row["Path"]).as_posix(): int(row["Size"])
                for row in json.loads(outcome.output or "[]")
            }
        except (ValueError, TypeError, LookupError, RecursionError):
            message = "rclone did not list the files there as its `lsjson` does; update rclone"
            raise EnvironmentFailed(message) from None
        return {
            name: size
            for name, size in existing_sizes.items()
            if name in names and not _has_line_break(name)
        }

    def send(self, items: Sequence[Item], on_sent: Callable[[Item], None]) -> None:
        """Sends files even if rclone considers them unchanged: some remotes compare only sizes."""
        remaining_items = {item.name: item for item in items}
        if odd_names := [name for name in remaining_items if _has_line_break(name)]:
            raise UsageError(
                f"{excerpt(odd_names[0], 200)}: rclone cannot be given a name with a line break; "
                "rename the file"
            )

        def note_event(row: Mapping[str, Any]) -> None:
            name = str(row.get("object"))
            if "Copied" in str(row.get("msg")) and name in remaining_items:
                on_sent(remaining_items.pop(name))

        with _names_file([item.name for item in items]) as (folder, names_option):
            staging = folder / "files"
            for item in items:
                link = staging / item.name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(item.source.resolve())
            options = ["--copy-links", "--ignore-times", "--no-traverse"]
            command = ["copy", os.fspath(staging), self._path(), *options, *names_option]
            self._require_success(_run(command, note_event))
        for item in remaining_items.values():  # of a version with other log messages
            on_sent(item)

    def remove(self, names: Sequence[str]) -> None:
        with _names_file(names) as (_, names_option):
            self._require_success(_run(["delete", self._path(), *names_option]))

    def _path(self, folder: str = ".") -> str:
        """Returns a folder of the remote in rclone's syntax."""
        if folder == ".":
            return self.target
        return f"{self.target}{'' if self.target.endswith(':') else '/'}{folder}"

    def _require_success(self, outcome: _Outcome) -> None:
        """Raises UsageError for a remote that does not exist, EnvironmentFailed for any other
        failure."""
        if not outcome.code:
            return
        if any("didn't find section" in error for error in outcome.errors):
            raise UsageError(
                f"rclone has no remote {self.target.partition(':')[0]!r}; `rclone listremotes` "
                "lists its remotes, `rclone config` creates one"
            )
        reason = clean(outcome.errors[-1]) if outcome.errors else f"exit code {outcome.code}"
        raise EnvironmentFailed(f"rclone: {reason}{RESUME_ADVICE}")


def _has_line_break(name: str) -> bool:
    """Returns whether a name would be several lines of a list of files, each another file."""
    return "\n" in name or "\r" in name


def clean(message: str) -> str:
    """Returns a message of rclone as one line, without anything that looks like a secret."""
    for name, secret in os.environ.items():
        if len(secret) > 3 and name.startswith("RCLONE_") and _SECRET_VARIABLE.search(name):
            message = message.replace(secret, "…")
    line = _CLOCK.sub("", " ".join(message.split()))
    return excerpt(_SECRET_TEXT.sub("…", line), 300)


@dataclass(frozen=True, slots=True)
class _Outcome:
    code: int
    output: str
    """Standard output."""
    errors: tuple[str, ...]
    """Error messages."""


def _run(
    arguments: Sequence[str], on_event: Callable[[Mapping[str, Any]], None] = lambda row: None
) -> _Outcome:
    """Runs rclone without prompts; it ends with this process. Raises EnvironmentFailed if it is not
    installed."""
    program = shutil.which("rclone")
    if program is None:
        raise EnvironmentFailed(
            "rclone is not installed; get it from https://rclone.org/install, then create a remote "
            "with `rclone config`"
        )
    errors: list[str] = []
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        _translating_errors(program),
        subprocess.Popen(
            [program, *arguments, *_LOG_OPTIONS],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        assert process.stderr is not None
        try:
            for line in process.stderr:
                row = _parse_event(line)
                on_event(row)
                message = str(row.get("msg", ""))
                if not row["level"] and message[:1].isspace() and errors:
                    errors[-1] += message  # it has several lines
                elif row["level"] not in _HARMLESS_LEVELS:
                    errors.append(message)
        except BaseException:
            process.terminate()
            raise
        code = process.wait()
        output.seek(0)
        return _Outcome(code, output.read(), tuple(errors))


@contextlib.contextmanager
def _translating_errors(program: str) -> Iterator[None]:
    """Turns OSError within the block into EnvironmentFailed."""
    try:
        yield
    except OSError as error:
        raise EnvironmentFailed(f"{program} cannot be run: {files.reason(error)}") from error


def _parse_event(line: str) -> dict[str, Any]:
    """Parses a line of rclone's JSON log; any other line is an error message."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    is_event = isinstance(row, dict) and isinstance(row.get("level"), str)
    return row if is_event else {"level": "", "msg": line}


@contextlib.contextmanager
def _names_file(names: Sequence[str]) -> Iterator[tuple[Path, list[str]]]:
    """Yields a temporary folder, and the options that limit rclone to these files."""
    with tempfile.TemporaryDirectory(prefix="narrator-") as temporary:
        path = Path(temporary, "names")
        path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        yield Path(temporary), ["--files-from-raw", os.fspath(path)]
