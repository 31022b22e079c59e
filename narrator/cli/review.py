"""`narrator cast --review`: doubtful exchanges one after the other, decided by single keys.

Each decision is written before the next key. Keys come from a function, so that tests can press
them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from narrator.cli.shared import display_path, out
from narrator.errors import ManifestError, UsageError
from narrator.quantities import pluralize
from narrator.text.markup import squeeze

if TYPE_CHECKING:
    from narrator.pipeline.attribution import Proposal
    from narrator.pipeline.edits import Edit
    from narrator.pipeline.exchanges import Decision, Exchange, Passage

Keys = Callable[[], str]
"""Returns the next key as a character; "" after the last."""

TURN_KEYS = "abcdefghijklmnop"
"""Keys of the turns of an exchange."""
_CONTEXT_CHARS = 200
"""Characters of narration that are shown on each side of a quotation."""
_QUOTATION_START_CHARS, _QUOTATION_END_CHARS = 240, 120
"""Characters that are shown of the start and the end of a long quotation."""
_ENTER_KEYS, _ESCAPE_KEY, _TAB_KEY, _BACKSPACE_KEYS = "\r\n", "\x1b", "\t", "\x7f\b"
_QUIT_KEYS = "q\x04"
_PRONOUNS = {"h": "he", "s": "she", "o": ""}
"""Key -> pronoun of a new person."""
_FUNCTION_KEY_TIMEOUT_S = 0.05
"""Seconds after Escape within which further bytes belong to a function key."""


def require_terminal() -> None:
    """Raises UsageError unless input and output are a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--review asks in a terminal, and this is none: `narrator cast` lists all")


def review(proposal: Proposal, *, in_order: bool = False) -> None:
    """Asks about doubtful exchanges. Raises UsageError while the cast is not in the manifest."""
    if proposal.new_names:
        raise UsageError("the cast is not in book.yaml yet: narrator cast --write, then --review")
    with reading_keys(sys.stdin.fileno()) as keys:
        decision_count, open_count = Review(proposal, keys, out, in_order=in_order).run()
    rest = (
        f"{pluralize(open_count, 'doubtful quotation')} left"
        if open_count
        else "nothing is left to ask"
    )
    out.print(f"{pluralize(decision_count, 'decision')} saved; {rest}")


@contextlib.contextmanager
def reading_keys(stream: int) -> Iterator[Keys]:
    """Reads single keys from a terminal, without Enter; restores its settings afterwards.

    `stream` is its file descriptor.
    """
    import termios
    import tty

    old_settings = termios.tcgetattr(stream)

    def read() -> str:
        try:
            key_bytes = os.read(stream, 1)
        except OSError:  # the terminal is gone
            return ""
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
        with contextlib.suppress(termios.error):  # the terminal is gone
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


@dataclass(frozen=True, slots=True)
class _SavedDecision:
    """A decision of this review, and the state before it."""

    title: str
    proposal: Proposal
    position: int
    cursor: int


class Review:
    """Asks about the doubtful exchanges of a proposal, and writes each decision."""

    def __init__(
        self, proposal: Proposal, keys: Keys, console: Console, *, in_order: bool = False
    ) -> None:
        from narrator.pipeline.exchanges import doubtful_exchanges

        self.proposal = proposal
        self.keys = keys
        self.console = console
        self.exchanges = doubtful_exchanges(proposal, in_order=in_order)
        self.position = 0
        """Index of the exchange that is asked about."""
        self.cursor = self._first_turn()
        self.saved: list[_SavedDecision] = []

    def run(self) -> tuple[int, int]:
        """Asks until the last exchange, or until the user quits.

        Returns the numbers of decisions and of quotations that are still doubtful.
        """
        while self.position < len(self.exchanges):
            self._print_exchange()
            key = self.keys()
            if not key or key in _QUIT_KEYS:
                break
            try:
                self._press(key)
            except (ManifestError, UsageError) as error:
                self.console.print(Text(str(error), style="bold"))
        return len(self.saved), len(self.proposal.doubtful_turns)

    @property
    def exchange(self) -> Exchange:
        """The exchange that is asked about, with the numbers that its speakers had at first."""
        from narrator.pipeline.exchanges import find_exchange

        first_shown = self.exchanges[self.position]
        return replace(find_exchange(self.proposal, first_shown.id), names=first_shown.names)

    def _press(self, key: str) -> None:
        """Does what a key says. Raises UsageError, StorageError."""
        from narrator.pipeline.exchanges import Decision

        exchange = self.exchange
        if key in _ENTER_KEYS:
            self._decide(exchange, Decision.AS_SHOWN)
            self._go_to(self.position + 1)
        elif key == " ":
            self._decide(exchange, Decision.THIS_TURN, exchange.speakers[self.cursor])
            self._go_on()
        elif key in TURN_KEYS[: len(exchange.turns)]:
            self.cursor = TURN_KEYS.index(key)
            self._decide(exchange, Decision.NEXT_CANDIDATE)
            if len(exchange.turns) == 1:
                self._go_on()
        elif key in "xt":
            self._decide(exchange, Decision.SWAP if key == "x" else Decision.ALTERNATE)
        elif key == "r":
            self.console.print("the rest is said by: a number, 0 the narrator, w another")
            if name := self._read_name(self.keys(), exchange):
                self._decide(exchange, Decision.REMAINING_TURNS, name)
        elif key == "s":
            self._go_to(self.position + 1)
        elif key == "u":
            self._undo()
        elif name := self._read_name(key, exchange):
            self._decide(exchange, Decision.THIS_TURN, name)
            self._go_on()

    def _decide(self, exchange: Exchange, decision: Decision, speaker: str = "") -> None:
        """Writes a decision on the turn at the cursor. Raises UsageError, StorageError."""
        from narrator.pipeline.exchanges import apply_decision

        self._apply(*apply_decision(self.proposal, exchange.id, self.cursor, decision, speaker))

    def _apply(self, proposal: Proposal, edit: Edit) -> None:
        """Writes an edit, and goes on with the proposal after it. Raises UserError."""
        from narrator.pipeline import edits

        if edit.changes:
            edits.apply(self.proposal.project, edit)
            self.saved.append(_SavedDecision(edit.title, self.proposal, self.position, self.cursor))
            self.proposal = proposal

    def _undo(self) -> None:
        """Takes the last decision of this review back. Raises UsageError, StorageError."""
        from narrator.pipeline import edits

        if not self.saved:
            raise UsageError("there is nothing to undo")
        saved = self.saved[-1]
        project = saved.proposal.project
        last_edit = next(edit for edit in reversed(edits.history(project)) if not edit.undone)
        if last_edit.title != saved.title:
            raise UsageError(f"the last edit is another one: {last_edit.title}")
        edits.undo(project)
        self.saved.pop()
        self.proposal = saved.proposal
        self.position, self.cursor = saved.position, saved.cursor

    def _go_to(self, position: int) -> None:
        self.position = position
        if position < len(self.exchanges):
            self.cursor = self._first_turn()

    def _first_turn(self) -> int:
        """The first doubtful turn of the exchange that is asked about."""
        doubtful_turns = self.exchange.doubtful_turns if self.exchanges else []
        return doubtful_turns[0] if doubtful_turns else 0

    def _go_on(self) -> None:
        """Goes to the next doubtful turn, or to the next exchange if there is none."""
        from narrator.pipeline.exchanges import next_doubtful

        turn = next_doubtful(self.exchange, self.cursor)
        if turn is None:
            self._go_to(self.position + 1)
        else:
            self.cursor = turn

    # -- names

    def _read_name(self, key: str, exchange: Exchange) -> str | None:
        """Returns the speaker that a key stands for: a name or NOBODY; None for other keys."""
        from narrator.text.speaker_files import NOBODY

        if key.isdecimal() and 0 < int(key) <= len(exchange.names):
            return exchange.names[int(key) - 1]
        if key and key in "0-":
            return NOBODY
        return self._ask_for_name() if key == "w" else None

    def _ask_for_name(self) -> str | None:
        """Reads a name, which is completed as it is typed, and may be new; None after Escape."""
        self._print(
            Text(
                "type a name: Tab completes it, Enter takes it, Esc goes back; ctrl-C leaves, and "
                "what you decided is saved",
                style="dim",
            )
        )
        typed = ""
        while True:
            names = self.matching_names(typed)
            candidates = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
            self.console.print(f"name: {typed}    {candidates or 'nobody of the cast: Enter adds'}")
            key = self.keys()
            if not key or key in _ESCAPE_KEY + "\x04":
                return None
            if key in _ENTER_KEYS + _TAB_KEY:
                if key in _ENTER_KEYS and (exact := self._find_name(typed)):
                    return exact
                if len(names) == 1 or (typed and names and key in _ENTER_KEYS):
                    return names[0]
                if not names and key in _ENTER_KEYS and self._add_person(squeeze(typed)):
                    return squeeze(typed)
                typed = _common_beginning(typed, names)
            elif key in _BACKSPACE_KEYS:
                typed = typed[:-1]
            elif key.isprintable():
                typed += key

    def _add_person(self, name: str) -> bool:
        """Adds somebody to the cast after a question; returns False if that is not wanted.

        Raises ManifestError, StorageError, UsageError.
        """
        from narrator.pipeline.exchanges import add_person

        self.console.print(
            f"“{name}” is not in the cast. Add as: h he, s she, o another or no pronoun; Esc goes "
            "back"
        )
        key = self.keys()
        if key not in _PRONOUNS:
            return False
        self._apply(*add_person(self.proposal, name, _PRONOUNS[key]))
        return True

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

    def matching_names(self, typed: str) -> list[str]:
        """Returns names that begin with the text, then those with such a word or alias.

        Names with more lines come first.
        """
        beginning = typed.casefold()
        by_name, by_part = [], []
        for character in self.proposal.characters_by_lines:
            names = (character.name, *character.aliases)
            parts = (part for name in names for part in (name, *name.split()))
            if character.name.casefold().startswith(beginning):
                by_name.append(character.name)
            elif any(part.casefold().startswith(beginning) for part in parts):
                by_part.append(character.name)
        return by_name + by_part

    # -- showing

    def _print_exchange(self) -> None:
        from narrator.pipeline.exchanges import passages, speakers_to_swap

        exchange = self.exchange
        quote = exchange.turns[0][0]
        self.console.print()
        title = self.proposal.chapters[exchange.chapter].title
        position = f"{self.position + 1:,} of {len(self.exchanges):,}"
        place = f"{display_path(quote.path)}:{quote.line_number}"
        self._print(Text(f"{position}  {place}  {title}", style="bold"))
        previous_turn: int | None = None
        for passage in passages(self.proposal, exchange):
            is_continued = passage.turn is not None and passage.turn == previous_turn
            self._print(self._describe_passage(exchange, passage, is_continued=is_continued))
            previous_turn = passage.turn
        names = (f"{number} {name}" for number, name in enumerate(exchange.names, 1))
        self._print(Text("   ".join(names)))
        pair = speakers_to_swap(exchange.speakers, self.cursor)
        pair_keys = f"x swap {' and '.join(pair)}, t they alternate, " if pair else ""
        self._print(
            Text(
                f"Enter all as shown, a-{TURN_KEYS[len(exchange.turns) - 1]} another says it; from "
                f">: Space as shown, 1-9 who says it, 0 the narrator, w another, {pair_keys}"
                "r one says the rest; s skip, u undo, q quit",
                style="dim",
            )
        )

    def _print(self, text: Text) -> None:
        self.console.print(text, soft_wrap=False)

    def _describe_passage(
        self, exchange: Exchange, passage: Passage, *, is_continued: bool
    ) -> Text:
        """Returns a paragraph or a turn, with its key, speaker and certainty."""
        from narrator.text.speaker_files import NOBODY, UNKNOWN

        if passage.turn is None:
            return Text(f"    {passage.text}", style="dim")
        is_current = passage.turn == self.cursor
        if is_continued:
            return self._highlight(Text("    "), passage, is_current=is_current)
        turn = exchange.turns[passage.turn]
        speaker = exchange.speakers[passage.turn]
        name = {NOBODY: "(the narrator)", UNKNOWN: "unknown"}.get(speaker, speaker)
        marker = ">" if is_current else " "
        line = Text(f"{marker} {TURN_KEYS[passage.turn]} ")
        line.append(name, "bold" if turn[0].is_doubtful else "")
        if turn[0].is_doubtful:
            line.append(f"? {turn[0].certainty:.0%}")
        return self._highlight(line.append("  "), passage, is_current=is_current)

    def _highlight(self, line: Text, passage: Passage, *, is_current: bool) -> Text:
        """Appends the text of a turn, with the current quotation reversed, or between >> << without
        colours."""
        text, spans = passage.text, passage.spans
        first = max(0, spans[0][0] - _CONTEXT_CHARS)
        last = min(len(text), spans[-1][1] + _CONTEXT_CHARS)
        has_colors = self.console.color_system is not None and not self.console.no_color
        line.append("… " if first else "")
        position = first
        for start, stop in spans:
            line.append(text[position:start], "dim")
            quotation = text[start:stop]
            if len(quotation) > _QUOTATION_START_CHARS + _QUOTATION_END_CHARS:
                start_text = quotation[:_QUOTATION_START_CHARS]
                quotation = f"{start_text} … {quotation[-_QUOTATION_END_CHARS:]}"
            if is_current and not has_colors:
                quotation = f">>{quotation}<<"
            line.append(quotation, "reverse" if is_current and has_colors else "")
            position = stop
        line.append(text[position:last].rstrip(), "dim")
        return line.append(" …") if last < len(text) else line


def _common_beginning(typed: str, names: Sequence[str]) -> str:
    """Extends the typed text by the letters that all matching names share."""
    while True:
        beginnings = {name[: len(typed) + 1].casefold() for name in names}
        if len(beginnings) != 1 or len(beginning := beginnings.pop()) <= len(typed):
            return typed
        typed = beginning
