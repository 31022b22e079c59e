"""`narrator cast --review`: the doubtful quotations one by one, an answer by one key.

Each answer is written before the next question. Keys come from a function, so that tests can press
them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from narrator.cli.shared import display_path, out
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.pipeline.attribution import Proposal
    from narrator.pipeline.questions import Question

Keys = Callable[[], str]
"""Returns the next key as a character; "" after the last."""

_CONTEXT_CHARS = 300
"""Characters of the paragraph that are shown on each side of a quotation."""
_KEYS_HELP = "1-9 who says it, o another, n nobody (the narrator), s skip, b back, q quit"
_ENTER_KEYS, _ESCAPE_KEY, _TAB_KEY, _BACKSPACE_KEYS = "\r\n", "\x1b", "\t", "\x7f\b"
_QUIT_KEYS = "q\x04"
_FUNCTION_KEY_TIMEOUT_S = 0.05
"""Seconds after Escape within which further bytes belong to a function key."""


def require_terminal() -> None:
    """Raises UsageError unless input and output are a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--review asks in a terminal, and this is none: `narrator cast` lists all")


def review(proposal: Proposal, *, in_order: bool = False) -> None:
    """Asks about doubtful quotations. Raises UsageError while the cast is not in the manifest."""
    if proposal.new_names:
        raise UsageError("the cast is not in book.yaml yet: narrator cast --write, then --review")
    with reading_keys(sys.stdin.fileno()) as keys:
        answer_count, open_count = Review(proposal, keys, out, in_order=in_order).run()
    rest = f"{open_count:,} left" if open_count else "nothing is left to ask"
    out.print(f"{pluralize(answer_count, 'answer')} written; {rest}")


@contextlib.contextmanager
def reading_keys(stream: int) -> Iterator[Keys]:
    """Reads single keys from a terminal, without Enter; restores its settings afterwards.

    `stream` is its file descriptor.
    """
    import termios
    import tty

    old_settings = termios.tcgetattr(stream)

    def read() -> str:
        key_bytes = os.read(stream, 1)
        while key_bytes == b"\x1b" and select.select([stream], [], [], _FUNCTION_KEY_TIMEOUT_S)[0]:
            key_bytes = _skip_function_key(stream)
        if key_bytes:  # in UTF-8 the first byte begins with a 1 for each byte of a longer letter
            following_bytes = f"{key_bytes[0]:08b}".find("0") - 1
            if following_bytes > 0:
                key_bytes += os.read(stream, following_bytes)
        return key_bytes.decode("utf-8", "replace")

    def stop(number: int, frame: object) -> NoReturn:
        sys.exit(128 + number)

    old_handlers = {name: signal.signal(name, stop) for name in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(stream)
        yield read
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, old_settings)
        for name, handler in old_handlers.items():
            signal.signal(name, handler)


def _skip_function_key(stream: int) -> bytes:
    """Skips the bytes of a function key after Escape. Returns the first byte of the next key."""
    next_byte = os.read(stream, 1)
    if next_byte not in (b"[", b"O"):  # with Alt
        return os.read(stream, 1)
    while (next_byte := os.read(stream, 1)) and not 0x40 <= next_byte[0] <= 0x7E:
        pass
    return os.read(stream, 1) if next_byte else next_byte


class Review:
    """Asks the questions of a proposal, and writes each answer."""

    def __init__(
        self, proposal: Proposal, keys: Keys, console: Console, *, in_order: bool = False
    ) -> None:
        from narrator.pipeline.questions import questions

        self.proposal = proposal
        self.keys = keys
        self.console = console
        self.questions = questions(proposal, in_order=in_order)
        self.answers = 0

    def run(self) -> tuple[int, int]:
        """Asks until the last question, or until the user quits.

        Returns the numbers of answers and of open questions.
        """
        index = 0
        while index < len(self.questions):
            question = self.questions[index]
            self._print_question(index, question)
            answer = self._read_answer(question.choices)
            if answer is None:
                break
            if answer in (_SKIP, _BACK):
                index = max(0, index - 1) if answer == _BACK else index + 1
                continue
            self._write(question, answer)
            index += 1
        open_count = sum(not question.group[0].row.is_manual for question in self.questions)
        return self.answers, open_count

    def _write(self, question: Question, speaker: str) -> None:
        from narrator.pipeline import attribution
        from narrator.pipeline.questions import refresh_questions

        self.proposal = attribution.apply_answer(self.proposal, question.group, speaker)
        attribution.write_speaker_file(self.proposal, question.chapter)
        self.questions = refresh_questions(self.proposal, self.questions)
        self.answers += 1

    # -- asking

    def _read_answer(self, choices: Sequence[tuple[str, float | None]]) -> str | None:
        """Reads keys until one is an answer: a name, NOBODY, _SKIP or _BACK; None to quit."""
        from narrator.text.speaker_files import NOBODY

        while True:
            key = self.keys()
            if not key or key in _QUIT_KEYS:
                return None
            if key.isdecimal() and 0 < int(key) <= len(choices):
                return choices[int(key) - 1][0]
            if key in "nN-":
                return NOBODY
            if key in "sS":
                return _SKIP
            if key in "bB":
                return _BACK
            if key in "oO":
                name = self._ask_for_name()
                if name is not None:
                    return name
            self.console.print(_KEYS_HELP)

    def _ask_for_name(self) -> str | None:
        """Reads a name of the cast, which is completed as it is typed; None after Escape."""
        typed = ""
        while True:
            names = self._matching_names(typed)
            candidates = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
            self.console.print(f"name: {typed}    {candidates or 'nobody of the cast'}")
            key = self.keys()
            if not key or key in _ESCAPE_KEY + "\x04":
                return None
            if key in _ENTER_KEYS + _TAB_KEY:
                if key in _ENTER_KEYS and (exact := self._find_name(typed)):
                    return exact
                if len(names) == 1 or (typed and names and key in _ENTER_KEYS):
                    return names[0]
                typed = _common_beginning(typed, names)
            elif key in _BACKSPACE_KEYS:
                typed = typed[:-1]
            elif key.isprintable():
                typed += key

    def _find_name(self, typed: str) -> str | None:
        """The speaker with exactly this name, else with this alias."""
        cast = self.proposal.characters
        names = {
            alias.casefold(): character.name
            for character in reversed(cast)
            for alias in character.aliases
        }
        names |= {character.name.casefold(): character.name for character in reversed(cast)}
        return names.get(typed.strip().casefold())

    def _matching_names(self, typed: str) -> list[str]:
        """Returns names that begin with the text, then those with such a word or alias.

        Names with more lines come first.
        """
        beginning = typed.casefold()
        cast = sorted(
            self.proposal.characters,
            key=lambda character: -self.proposal.lines[character.name],
        )
        by_name, by_part = [], []
        for character in cast:
            names = (character.name, *character.aliases)
            parts = (part for name in names for part in (name, *name.split()))
            if character.name.casefold().startswith(beginning):
                by_name.append(character.name)
            elif any(part.casefold().startswith(beginning) for part in parts):
                by_part.append(character.name)
        return by_name + by_part

    # -- showing

    def _print_question(self, index: int, question: Question) -> None:
        quote = question.group[0]
        title = self.proposal.chapters[quote.chapter].title
        place = (
            f"{index + 1:,} of {len(self.questions):,}  "
            f"{display_path(quote.path)}:{quote.number}  {title}"
        )
        self.console.print(Text(f"\n{place}", style="bold"))
        if question.before:
            self._print_wrapped(Text(question.before, style="dim"))
        self._print_wrapped(self._highlight_quotation(question))
        if question.after:
            self._print_wrapped(Text(question.after, style="dim"))
        for number, (name, sure) in enumerate(question.choices, 1):
            self._print_wrapped(
                Text(f" {number} {name}" + (f"  {sure:.0%}" if sure is not None else ""))
            )
        if quote.row.is_manual:
            self._print_wrapped(Text(f"you said: {quote.row.speaker}"))
        self._print_wrapped(Text(_KEYS_HELP, style="dim"))

    def _print_wrapped(self, text: Text) -> None:
        self.console.print(text, soft_wrap=False)

    def _highlight_quotation(self, question: Question) -> Text:
        """Returns the paragraph with the quotation reversed, or between >> << without colours."""
        text, spans = question.paragraph, question.spans
        first = max(0, spans[0][0] - _CONTEXT_CHARS)
        last = min(len(text), spans[-1][1] + _CONTEXT_CHARS)
        paragraph = Text("… " if first else "")
        has_colors = self.console.color_system is not None and not self.console.no_color
        position = first
        for start, stop in spans:
            paragraph.append(text[position:start])
            quotation = text[start:stop]
            if has_colors:
                paragraph.append(quotation, "reverse")
            else:
                paragraph.append(f">>{quotation}<<")
            position = stop
        paragraph.append(text[position:last])
        return paragraph.append(" …") if last < len(text) else paragraph


def _common_beginning(typed: str, names: Sequence[str]) -> str:
    """Extends the typed text by the letters that all matching names share."""
    while True:
        beginnings = {name[: len(typed) + 1].casefold() for name in names}
        if len(beginnings) != 1 or len(beginning := beginnings.pop()) <= len(typed):
            return typed
        typed = beginning


_SKIP, _BACK = "skip", "back"
"""Answers that are not names; no name of a cast is in lower case."""
