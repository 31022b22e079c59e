"""`narrator cast --review`: the doubtful quotations one by one, an answer by one key.

Each answer is written before the next question. Keys come from `Keys`, so that tests can be the one
who presses them.
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
"""The next key: a character; "" when no more will come."""

_CONTEXT_CHARS = 300
"""Characters of what is around a quotation in its paragraph that are shown."""
_KEYS_HELP = "1-9 who says it, o another, n nobody (the narrator), s skip, b back, q quit"
_ENTER_KEYS, _ESCAPE_KEY, _TAB_KEY, _BACKSPACE_KEYS = "\r\n", "\x1b", "\t", "\x7f\b"
_QUIT_KEYS = "q\x04"
_FUNCTION_KEY_TIMEOUT_S = 0.05
"""Seconds after Escape, within which what comes is the rest of a function key."""


def require_terminal() -> None:
    """Raises UsageError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--review asks in a terminal, and this is none: `narrator cast` lists all")


def review(proposal: Proposal, *, in_order: bool = False) -> None:
    """Ask about all that is doubtful. Raises UsageError while the cast is not in the manifest."""
    from narrator.pipeline.new_characters import find_new_characters

    if find_new_characters(proposal):
        raise UsageError("the cast is not in book.yaml yet: narrator cast --write, then --review")
    with reading_keys(sys.stdin.fileno()) as keys:
        answers, remaining_count = Review(proposal, keys, out, in_order=in_order).run()
    summary = f"{pluralize(answers, 'answer')} written"
    out.print(
        f"{summary}; {remaining_count:,} left"
        if remaining_count
        else f"{summary}; nothing is left to ask"
    )


@contextlib.contextmanager
def reading_keys(stream: int) -> Iterator[Keys]:
    """Single keys of a terminal, without Enter; it is as it was afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(stream)

    def read() -> str:
        key_bytes = os.read(stream, 1)
        while key_bytes == b"\x1b" and select.select([stream], [], [], _FUNCTION_KEY_TIMEOUT_S)[0]:
            key_bytes = _skip_function_key(stream)
        missing_count = (
            max(0, f"{key_bytes[0]:08b}".find("0") - 1) if key_bytes else 0
        )  # of a letter in UTF-8
        if missing_count:
            key_bytes += os.read(stream, missing_count)
        return key_bytes.decode("utf-8", "replace")

    def stop(number: int, frame: object) -> NoReturn:
        sys.exit(128 + number)

    old_handlers = {name: signal.signal(name, stop) for name in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(stream)
        yield read
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
        for name, handler in old_handlers.items():
            signal.signal(name, handler)


def _skip_function_key(stream: int) -> bytes:
    """The rest of a key that sends several characters after Escape, and answers nothing."""
    next_byte = os.read(stream, 1)
    if next_byte not in (b"[", b"O"):  # with Alt
        return os.read(stream, 1)
    while (next_byte := os.read(stream, 1)) and not 0x40 <= next_byte[0] <= 0x7E:
        pass
    return os.read(stream, 1) if next_byte else next_byte


class Review:
    """Questions in their order, and the answers so far."""

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
        """Ask until the last question or the wish to quit: how many answers, how many are left."""
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
        return self.answers, sum(
            not asked_question.group[0].row.is_manual for asked_question in self.questions
        )

    def _write(self, question: Question, speaker: str) -> None:
        from narrator.pipeline import attribution
        from narrator.pipeline.questions import refresh_questions

        self.proposal = attribution.apply_answer(self.proposal, question.group, speaker)
        attribution.write_speaker_file(self.proposal, question.chapter)
        self.questions = refresh_questions(self.proposal, self.questions)
        self.answers += 1

    # -- asking

    def _read_answer(self, choices: Sequence[tuple[str, float | None]]) -> str | None:
        """A name, NOBODY, _SKIP or _BACK; None to quit."""
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
        """A name of the cast, of which enough is typed; None where it is given up."""
        typed = ""
        while True:
            fitting = self._matching_names(typed)
            candidates = ", ".join(fitting[:5]) + (" …" if len(fitting) > 5 else "")
            self.console.print(f"name: {typed}    {candidates or 'nobody of the cast'}")
            key = self.keys()
            if not key or key in _ESCAPE_KEY + "\x04":
                return None
            if key in _ENTER_KEYS + _TAB_KEY:
                if key in _ENTER_KEYS and (exact := self._find_name(typed)):
                    return exact
                if len(fitting) == 1 or (typed and fitting and key in _ENTER_KEYS):
                    return fitting[0]
                typed = _common_beginning(typed, fitting)
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
        """Names that begin so, then names with a word or an alias that does."""
        start = typed.casefold()
        lines = self.proposal.lines
        cast = [character.name for character in self.proposal.characters]
        cast.sort(key=lambda name: -lines[name])
        aliases = {character.name: character.aliases for character in self.proposal.characters}
        first = [name for name in cast if name.casefold().startswith(start)]
        return first + [
            name
            for name in cast
            if name not in first
            and any(
                part.casefold().startswith(start)
                for known_name in (name, *aliases[name])
                for part in (known_name, *known_name.split())
            )
        ]

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
        """The paragraph with what is asked about marked, by colour or by signs."""
        text, spans = question.paragraph, question.spans
        begin = max(0, spans[0][0] - _CONTEXT_CHARS)
        end = min(len(text), spans[-1][1] + _CONTEXT_CHARS)
        paragraph = Text("… " if begin else "")
        plain = self.console.color_system is None or self.console.no_color
        position = begin
        for start, stop in spans:
            paragraph.append(text[position:start])
            words = text[start:stop]
            paragraph.append(f">>{words}<<" if plain else words, None if plain else "reverse")
            position = stop
        paragraph.append(text[position:end])
        return paragraph.append(" …") if end < len(text) else paragraph


def _common_beginning(typed: str, names: Sequence[str]) -> str:
    """The typed text, extended by the letters that all matching names share."""
    while True:
        following = {name[: len(typed) + 1].casefold() for name in names}
        if len(following) != 1 or len(next_letters := following.pop()) <= len(typed):
            return typed
        typed = next_letters


_SKIP, _BACK = "skip", "back"
"""Answers that are no name: nobody of a cast is called so but in capitals."""
