"""Counts the keystrokes of `narrator cast --review` until a novel is 95 % right.

    python -m benchmarks.review FOLDER [NOVEL …]

FOLDER has annotated novels and `score.py`, as for `benchmarks.speakers`; their texts are no part of
this project. Casts are given by main names and aliases. A person is simulated from the annotation:
they see an exchange and press the key that puts most of its turns right; of keys that do equally
well, the one that takes fewest keystrokes. Two orders of single questions are counted for
comparison, with a key for each: that of the book, and the least certain first.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.speakers import cast_of, chapters_of, load_score
from narrator.errors import UsageError
from narrator.pipeline.attribution import Proposal, decide, group_pieces
from narrator.pipeline.exchanges import (
    MAX_NAMES,
    Decision,
    Exchange,
    Turn,
    decided_speakers,
    doubtful_exchanges,
    next_doubtful,
)
from narrator.project import load

TARGET = 0.95
NAME_KEYS = 4
"""Keystrokes for a name without a number: `o`, two letters, Enter."""


@dataclass
class Sheet:
    """The speakers of a book's annotated turns, and how many quotations are right."""

    gold_speakers: Mapping[int, str]
    """Turn (by the identity of its first piece) -> its speaker in the annotation."""
    weights: Counter[int]
    """Turn -> annotated quotations in it."""
    total: int
    """Annotated quotations, with those that were not found."""
    right: int = 0
    keystrokes: int = 0

    @property
    def share(self) -> float:
        return self.right / max(1, self.total)

    @property
    def is_done(self) -> bool:
        return self.share >= TARGET

    def right_in(self, turns: Sequence[Turn], speakers: Sequence[str]) -> int:
        """The number of annotated quotations that have the right speaker."""
        return sum(
            self.weights[id(turn[0])]
            for turn, speaker in zip(turns, speakers, strict=True)
            if self.gold_speakers.get(id(turn[0])) == speaker
        )


def project_of(folder: Path, root: Path) -> Path:
    """Writes a novel with its cast as a project. Returns the path of its book.yaml."""
    speakers: dict[str, Any] = {"narrator": {}}
    for character in cast_of(folder):
        if load.is_label(character.name):
            aliases = [alias for alias in character.aliases if load.is_label(alias)]
            speakers[character.name] = {"aliases": aliases}
    _remove_shared_aliases(speakers)
    chapters = []
    for number, paragraphs in enumerate(
        chapters_of((folder / "novel_text.txt").read_text(encoding="utf-8")), 1
    ):
        name = f"{number:03}.txt"
        (root / name).write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")
        chapters.append({"title": f"Chapter {number}", "file": name})
    book = {"title": folder.name, "author": "Nobody", "language": "en"}
    path = root / "book.yaml"
    text = yaml.safe_dump({**book, "speakers": speakers, "chapters": chapters}, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path


def _remove_shared_aliases(speakers: dict[str, Any]) -> None:
    """Removes names that two people have, which book.yaml does not allow."""
    counts = Counter(
        name.casefold()
        for main_name, entry in speakers.items()
        for name in {main_name, *entry.get("aliases", ())}
    )
    for entry in speakers.values():
        if "aliases" in entry:
            entry["aliases"] = [each for each in entry["aliases"] if counts[each.casefold()] == 1]


def sheet_of(folder: Path, score: Any, proposal: Proposal, turns: Sequence[Turn]) -> Sheet:
    """Aligns the turns of a proposal with the annotation."""
    gold_cast, annotated_quotes = score.gold(folder)
    members = [{"name": each.name, "aliases": each.aliases} for each in proposal.characters]
    gold_names = score.same_character(gold_cast, members)
    names = {gold_name: name for name, gold_name in gold_names.items()}
    pieces = sorted(
        (span[0], number, score.words(text))
        for number, spans, texts, _, _ in annotated_quotes
        for span, text in zip(spans, texts, strict=True)
        if score.words(text)
    )
    quote_words = [score.words(quote.quoted.text) for quote in proposal.quotes]
    votes = score.aligned(pieces, quote_words)
    turn_of_quote = {id(quote): id(turn[0]) for turn in turns for quote in turn}
    answers: dict[int, Counter[str]] = {}
    total = 0
    for number, _, _, speaker, _ in annotated_quotes:
        if speaker not in gold_cast or speaker.startswith("_"):
            continue
        total += 1
        if votes[number]:
            quote = proposal.quotes[votes[number].most_common(1)[0][0]]
            turn_id = turn_of_quote.get(id(quote))
            if turn_id is not None and speaker in names:
                answers.setdefault(turn_id, Counter())[names[speaker]] += 1
    gold_speakers = {turn_id: counts.most_common(1)[0][0] for turn_id, counts in answers.items()}
    weights = Counter({turn_id: counts.most_common(1)[0][1] for turn_id, counts in answers.items()})
    sheet = Sheet(gold_speakers, weights, total)
    sheet.right = sheet.right_in(turns, [turn[0].speaker or "" for turn in turns])
    return sheet


# -- one question after the other ------------------------------------------------------------------


def ask_singly(sheet: Sheet, turns: Iterable[Turn], names_by_lines: Sequence[str]) -> None:
    """Answers questions about single quotations until enough are right."""
    for turn in turns:
        if sheet.is_done:
            return
        quote = turn[0]
        gold = sheet.gold_speakers.get(id(quote), quote.speaker)
        choices = dict.fromkeys((quote.speaker, *(name for name, _ in quote.others)))
        choices |= dict.fromkeys(names_by_lines)
        is_near = gold in list(choices)[:MAX_NAMES]
        sheet.keystrokes += 1 if is_near or gold is None else NAME_KEYS
        if gold is not None:
            sheet.right += sheet.right_in([turn], [gold]) - sheet.right_in(
                [turn], [quote.speaker or ""]
            )


# -- whole exchanges -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """One or several keys that a person may press next, and what they do."""

    title: str
    keystrokes: int
    speakers: list[str]
    cursor: int
    decided_turns: range
    gain: int = 0
    """Annotated quotations that it puts right."""


@dataclass
class Reviewer:
    """A person who sees an exchange and knows who speaks."""

    sheet: Sheet
    pressed: Counter[str]

    def review(self, exchange: Exchange) -> None:
        """Presses keys until the exchange is right, or enough of the book is."""
        speakers = list(exchange.speakers)
        doubtful_turns = set(exchange.doubtful_turns)
        cursor = min(doubtful_turns)
        while not self.sheet.is_done:
            wrong_turns = self._wrong_turns(exchange, speakers)
            if not wrong_turns:
                self._press("as shown", 1)
                return
            moves = self._moves(exchange, speakers, cursor, wrong_turns[0])
            is_last = doubtful_turns == {cursor}  # a number would go on to the next exchange
            if cursor == wrong_turns[0] and (not is_last or len(wrong_turns) == 1):
                moves.append(self._number_move(exchange, speakers, cursor))
            right = self.sheet.right_in(exchange.turns, speakers)
            move = max(
                (
                    replace(each, gain=self.sheet.right_in(exchange.turns, each.speakers) - right)
                    for each in moves
                ),
                key=lambda each: (each.gain / each.keystrokes, -each.keystrokes),
            )
            self._press(move.title, move.keystrokes)
            self.sheet.right += move.gain
            speakers, cursor = move.speakers, move.cursor
            doubtful_turns -= set(move.decided_turns)
            is_single = move.title == "number" or len(exchange.turns) == 1
            if is_single and not doubtful_turns:
                return

    def _press(self, title: str, keystrokes: int) -> None:
        self.sheet.keystrokes += keystrokes
        self.pressed[title] += 1

    def _wrong_turns(self, exchange: Exchange, speakers: list[str]) -> list[int]:
        gold_speakers = self.sheet.gold_speakers
        return [
            index
            for index, turn in enumerate(exchange.turns)
            if gold_speakers.get(id(turn[0]), speakers[index]) != speakers[index]
        ]

    def _name(self, exchange: Exchange, turn: int) -> tuple[str, int]:
        """The right speaker of a turn, and the number of keys for the name."""
        name = self.sheet.gold_speakers[id(exchange.turns[turn][0])]
        return name, 1 if name in exchange.names else NAME_KEYS

    def _number_move(self, exchange: Exchange, speakers: list[str], turn: int) -> Move:
        """The number of the right speaker of the turn at the cursor, which goes on."""
        name, keystrokes = self._name(exchange, turn)
        after = decided_speakers(exchange, speakers, turn, Decision.ONE, name)
        cursor = next_doubtful(exchange, turn) or 0
        return Move("number", keystrokes, after, cursor, range(turn, turn + 1))

    def _moves(
        self, exchange: Exchange, speakers: list[str], cursor: int, wrong_turn: int
    ) -> list[Move]:
        """Keys for the turns from the cursor on, and for a turn that is wrong."""
        gold, name_keys = self._name(exchange, wrong_turn)
        last = len(speakers)
        moves: list[Move] = []

        def decide(before: list[str], turn: int, decision: Decision) -> list[str] | None:
            try:
                return decided_speakers(exchange, before, turn, decision, gold)
            except UsageError:
                return None

        corrected = decided_speakers(exchange, speakers, wrong_turn, Decision.ONE, gold)
        single = range(wrong_turn, wrong_turn + 1)
        letter_keys = 0
        attempt: list[str] | None = speakers
        while attempt is not None and attempt != corrected and letter_keys <= name_keys:
            attempt = decide(attempt, wrong_turn, Decision.OTHER)
            letter_keys += 1
        is_by_letter = attempt == corrected and letter_keys <= name_keys + 1
        keystrokes = letter_keys if is_by_letter else 1 + name_keys
        title = "letter" if is_by_letter else "letter, number"
        moves.append(Move(title, keystrokes, corrected, wrong_turn, single))
        alternating = decide(corrected, wrong_turn, Decision.ALTERNATE)
        if alternating:
            title, tail = f"{title}, alternate", range(wrong_turn, last)
            moves.append(Move(title, keystrokes + 1, alternating, wrong_turn, tail))
        for decision in (Decision.SWAP, Decision.ALTERNATE, Decision.REST):
            after = decide(speakers, cursor, decision)
            if after:
                count = 1 + name_keys if decision is Decision.REST else 1
                moves.append(Move(decision, count, after, cursor, range(cursor, last)))
        return moves


def ask_exchanges(sheet: Sheet, exchanges: Iterable[Exchange]) -> Counter[str]:
    """Reviews exchanges until enough of the book is right. Returns the keys that were pressed."""
    reviewer = Reviewer(sheet, Counter())
    for exchange in exchanges:
        if sheet.is_done:
            break
        reviewer.review(exchange)
    return reviewer.pressed


# -- all orders ------------------------------------------------------------------------------------


def measure(folder: Path, score: Any) -> dict[str, Any]:
    """Keystrokes by order, the share that was right before, and the most that was reached."""
    with tempfile.TemporaryDirectory() as root:
        proposal = decide(load.load(project_of(folder, Path(root))))
    doubtful = proposal.doubtful
    by_lines = sorted(
        (each.name for each in proposal.characters), key=lambda name: -proposal.lines[name]
    )
    exchanges = doubtful_exchanges(proposal)
    all_turns = list(group_pieces(proposal.quotes))

    def fresh_sheet() -> Sheet:
        return sheet_of(folder, score, proposal, all_turns)

    in_order = sorted(doubtful, key=lambda turn: (turn[0].chapter, turn[0].number))
    pressed: Counter[str] = Counter()

    def review_exchanges(sheet: Sheet) -> None:
        pressed.update(ask_exchanges(sheet, exchanges))

    orders: dict[str, Callable[[Sheet], None]] = {
        "in_order": lambda sheet: ask_singly(sheet, in_order, by_lines),
        "weakest_first": lambda sheet: ask_singly(sheet, doubtful, by_lines),
        "exchanges": review_exchanges,
    }
    figures: dict[str, Any] = {
        "quotations": fresh_sheet().total,
        "right_before": round(fresh_sheet().share, 4),
        "questions": len(doubtful),
        "exchanges_to_ask": len(exchanges),
    }
    for name, review in orders.items():
        sheet = fresh_sheet()
        review(sheet)
        figures[name] = {"keystrokes": sheet.keystrokes, "reached": round(sheet.share, 4)}
    figures["pressed"] = dict(pressed.most_common())
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Keystrokes until who speaks is right.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("novels", nargs="*", help="names of folders in it; all without any")
    options = parser.parse_args()
    score = load_score(options.folder)
    names = options.novels or [path.name for path in sorted(options.folder.iterdir())]
    titles = ("quotes", "right %", "asked", "in order", "weakest", "exchanges", "reached %")
    print(f"{'novel':<28}{''.join(f'{title:>11}' for title in titles)}")
    results = {}
    for name in names:
        if not (options.folder / name / "novel_text.txt").is_file():
            continue
        figures = results[name] = measure(options.folder / name, score)
        cells = (
            figures["quotations"],
            round(100 * figures["right_before"], 1),
            figures["questions"],
            *(_keystrokes(figures[order]) for order in ("in_order", "weakest_first", "exchanges")),
            round(100 * figures["exchanges"]["reached"], 1),
        )
        print(f"{name:<28}{''.join(f'{cell:>11}' for cell in cells)}", flush=True)
    print("keystrokes until 95 % are right; > where all questions were answered before")
    print(json.dumps({"target": TARGET, "novels": results}))


def _keystrokes(figures: Mapping[str, Any]) -> str:
    is_reached = figures["reached"] >= TARGET
    return f"{'' if is_reached else '>'}{figures['keystrokes']}"


if __name__ == "__main__":
    main()
