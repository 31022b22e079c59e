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

from narrator.cli.shared import counted, near, out, short
from narrator.errors import UsageError

if TYPE_CHECKING:
    from narrator.pipeline.attribution import Proposal, Quote

Keys = Callable[[], str]
"""The next key: a character; "" when no more will come."""

_CHOICES = 9
_CONTEXT = 300
"""Characters of a paragraph before or after that are shown, and of what is around a quotation."""
_HELP = "1-9 who says it, o another, n nobody (the narrator), s skip, b back, q quit"
_ENTER, _ESCAPE, _TAB, _RUBOUT = "\r\n", "\x1b", "\t", "\x7f\b"
_END = "q\x04"
_SOON = 0.05
"""Seconds after Escape, within which what comes is the rest of a function key."""


def require_terminal() -> None:
    """Raises UsageError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--review asks in a terminal, and this is none: `narrator cast` lists all")


def review(proposal: Proposal, *, in_order: bool = False) -> None:
    """Ask about all that is doubtful. Raises UsageError while the cast is not in the manifest."""
    from narrator.pipeline.newcomers import newcomers

    if newcomers(proposal):
        raise UsageError("the cast is not in book.yaml yet: narrator cast --write, then --review")
    with keys_of(sys.stdin.fileno()) as keys:
        answers, left = Review(proposal, keys, out, in_order=in_order).run()
    said = f"{counted(answers, 'answer')} written"
    out.print(f"{said}; {left:,} left" if left else f"{said}; nothing is left to ask")


@contextlib.contextmanager
def keys_of(stream: int) -> Iterator[Keys]:
    """Single keys of a terminal, without Enter; it is as it was afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(stream)

    def read() -> str:
        data = os.read(stream, 1)
        while data == b"\x1b" and select.select([stream], [], [], _SOON)[0]:
            data = _after_function_key(stream)
        more = max(0, f"{data[0]:08b}".find("0") - 1) if data else 0  # of a letter in UTF-8
        if more:
            data += os.read(stream, more)
        return data.decode("utf-8", "replace")

    def stop(number: int, frame: object) -> NoReturn:
        sys.exit(128 + number)

    held = {name: signal.signal(name, stop) for name in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(stream)
        yield read
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
        for name, handler in held.items():
            signal.signal(name, handler)


def _after_function_key(stream: int) -> bytes:
    """What follows a key that sends several characters after Escape, which answers nothing."""
    data = os.read(stream, 1)
    if data not in (b"[", b"O"):  # with Alt
        return os.read(stream, 1)
    while (data := os.read(stream, 1)) and not 0x40 <= data[0] <= 0x7E:
        pass
    return os.read(stream, 1) if data else data


class Review:
    """Questions in their order, and the answers so far."""

    def __init__(
        self, proposal: Proposal, keys: Keys, console: Console, *, in_order: bool = False
    ) -> None:
        self.proposal = proposal
        self.keys = keys
        self.console = console
        questions = proposal.doubtful
        if in_order:
            questions.sort(key=lambda group: (group[0].chapter, group[0].number))
        places = {id(one): place for place, one in enumerate(proposal.quotes)}
        self.questions = [[places[id(one)] for one in group] for group in questions]
        self.answers = 0

    def run(self) -> tuple[int, int]:
        """Ask until the last question or the wish to quit: how many answers, how many are left."""
        at = 0
        while at < len(self.questions):
            group = tuple(self.proposal.quotes[place] for place in self.questions[at])
            choices = self._choices(group[0])
            self._show(at, group, choices)
            answer = self._answer(choices)
            if answer is None:
                break
            if answer in (_SKIP, _BACK):
                at = max(0, at - 1) if answer == _BACK else at + 1
                continue
            self._write(group, answer)
            at += 1
        left = sum(not self.proposal.quotes[group[0]].row.is_yours for group in self.questions)
        return self.answers, left

    def _write(self, group: Sequence[Quote], speaker: str) -> None:
        from narrator.pipeline import attribution

        self.proposal = attribution.answered(self.proposal, group, speaker)
        attribution.write_chapter(self.proposal, group[0].chapter)
        self.answers += 1

    # -- asking

    def _choices(self, one: Quote) -> list[tuple[str, float | None]]:
        """Who may say it, the first with how sure that is: who is proposed, then who is likely by
        this place alone, then whoever says most."""
        sure = one.row.sure if one.row.by != "you" else None
        likely: dict[str, float | None] = {one.speaker: sure} if one.speaker else {}
        for name, _ in one.others:
            likely.setdefault(name, None)
        for name, _ in self._most_lines():
            if len(likely) >= _CHOICES:
                break
            likely.setdefault(name, None)
        return list(likely.items())[:_CHOICES]

    def _most_lines(self) -> list[tuple[str, int]]:
        lines = self.proposal.lines
        ranked = sorted(self.proposal.characters, key=lambda one: -lines[one.name])
        return [(one.name, lines[one.name]) for one in ranked]

    def _answer(self, choices: Sequence[tuple[str, float | None]]) -> str | None:
        """A name, NOBODY, _SKIP or _BACK; None to quit."""
        from narrator.text.decided import NOBODY

        while True:
            key = self.keys()
            if not key or key in _END:
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
                name = self._typed()
                if name is not None:
                    return name
            self.console.print(_HELP)

    def _typed(self) -> str | None:
        """A name of the cast, of which enough is typed; None where it is given up."""
        typed = ""
        while True:
            fitting = self._fitting(typed)
            shown = ", ".join(fitting[:5]) + (" …" if len(fitting) > 5 else "")
            self.console.print(f"name: {typed}    {shown or 'nobody of the cast'}")
            key = self.keys()
            if not key or key in _ESCAPE + "\x04":
                return None
            if key in _ENTER + _TAB:
                if key in _ENTER and (exact := self._called(typed)):
                    return exact
                if len(fitting) == 1 or (typed and fitting and key in _ENTER):
                    return fitting[0]
                typed = _shared(typed, fitting)
            elif key in _RUBOUT:
                typed = typed[:-1]
            elif key.isprintable():
                typed += key

    def _called(self, typed: str) -> str | None:
        """Who is called just so, by name rather than by an alias."""
        cast = self.proposal.characters
        names = {alias.casefold(): one.name for one in reversed(cast) for alias in one.aliases}
        names |= {one.name.casefold(): one.name for one in reversed(cast)}
        return names.get(typed.strip().casefold())

    def _fitting(self, typed: str) -> list[str]:
        """Names that begin so, then names with a word or an alias that does."""
        start = typed.casefold()
        cast = [name for name, _ in self._most_lines()]
        aliases = {one.name: one.aliases for one in self.proposal.characters}
        first = [name for name in cast if name.casefold().startswith(start)]
        return first + [
            name
            for name in cast
            if name not in first
            and any(
                part.casefold().startswith(start)
                for called in (name, *aliases[name])
                for part in (called, *called.split())
            )
        ]

    # -- showing

    def _show(
        self, at: int, group: Sequence[Quote], choices: Sequence[tuple[str, float | None]]
    ) -> None:
        one = group[0]
        title = self.proposal.chapters[one.chapter].title
        place = f"{at + 1:,} of {len(self.questions):,}  {near(one.path)}:{one.number}  {title}"
        self.console.print(Text(f"\n{place}", style="bold"))
        before, after = self._around(one)
        if before:
            self._say(Text(before, style="dim"))
        self._say(self._paragraph(group))
        if after:
            self._say(Text(after, style="dim"))
        for number, (name, sure) in enumerate(choices, 1):
            self._say(Text(f" {number} {name}" + (f"  {sure:.0%}" if sure is not None else "")))
        if one.row.is_yours:
            self._say(Text(f"you said: {one.row.speaker}"))
        self._say(Text(_HELP, style="dim"))

    def _say(self, text: Text) -> None:
        self.console.print(text, soft_wrap=False)

    def _around(self, one: Quote) -> tuple[str, str]:
        """The paragraphs before and after, with those who speak in them."""
        lines = self.proposal.chapters[one.chapter].scenes[one.quoted.scene].lines
        said: dict[int, dict[str, None]] = {}
        for other in self.proposal.quotes:
            if (other.chapter, other.quoted.scene) == (one.chapter, one.quoted.scene):
                names = {other.speaker: None} if other.speaker else {}
                said.setdefault(other.quoted.place, {}).update(names)

        def named(place: int, text: str) -> str:
            names = " & ".join(said.get(place, ()))
            return f"({names}) {text}" if names else text

        before, after = one.quoted.place - 1, one.quoted.place + 1
        end = lines[before].text if before >= 0 else ""
        end = end if len(end) <= _CONTEXT else f"… {end[-_CONTEXT:]}"
        begin = short(lines[after].text, _CONTEXT) if after < len(lines) else ""
        return named(before, end), named(after, begin)

    def _paragraph(self, group: Sequence[Quote]) -> Text:
        """The paragraph with what is asked about marked, by colour or by signs."""
        line = group[0].quoted.line
        pieces = [one.quoted for one in group if one.quoted.line == line]
        begin = max(0, pieces[0].start - _CONTEXT)
        end = min(len(line.text), pieces[-1].stop + _CONTEXT)
        shown = Text("… " if begin else "")
        plain = self.console.color_system is None or self.console.no_color
        at = begin
        for piece in pieces:
            shown.append(line.text[at : piece.start])
            words = line.text[piece.start : piece.stop]
            shown.append(f">>{words}<<" if plain else words, None if plain else "reverse")
            at = piece.stop
        shown.append(line.text[at:end])
        return shown.append(" …") if end < len(line.text) else shown


def _shared(typed: str, names: Sequence[str]) -> str:
    """What is typed, with the letters that all names go on with."""
    while True:
        following = {name[: len(typed) + 1].casefold() for name in names}
        if len(following) != 1 or len(found := following.pop()) <= len(typed):
            return typed
        typed = found


_SKIP, _BACK = "skip", "back"
"""Answers that are no name: nobody of a cast is called so but in capitals."""
