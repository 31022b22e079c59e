"""Counts the keystrokes of `narrator cast --review` until a novel is 95 % right.

    python -m benchmarks.review FOLDER [NOVEL …]

FOLDER has annotated novels and `score.py`, as for `benchmarks.speakers`; their texts are no part of
this project. Casts are given by main names and aliases. The review itself runs; a person who is
simulated from the annotation sees an exchange and presses the keys that put most of its turns right
for each keystroke. Two orders of single questions are counted for comparison, with a key for each:
that of the book, and the least certain first.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from benchmarks.speakers import annotation_of, cast_of, chapters_of, load_score
from narrator.cli.review import TURN_KEYS, Review
from narrator.pipeline.attribution import Proposal, Quote, Turn, group_turns
from narrator.pipeline.exchanges import (
    MAX_NAMES,
    Decision,
    Exchange,
    decided_speakers,
    speakers_to_swap,
)
from narrator.pipeline.new_characters import propose
from narrator.project import load

TARGET = 0.95
NAME_KEYS = 4
"""Keystrokes for a name without a number: `o`, two letters, Enter."""


Place = tuple[int, int, int, int]
"""Chapter, scene, paragraph, and start of a quotation in it."""


@dataclass
class Sheet:
    """The speakers of a book's annotated turns, and how many quotations are right."""

    gold_speakers: Mapping[Place, str]
    """Turn -> its speaker in the annotation."""
    weights: Counter[Place]
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

    def gold_of(self, turn: Turn, default: str) -> str:
        """The right speaker of a turn, `default` if it is not annotated."""
        return self.gold_speakers.get(place_of(turn[0]), default)

    def right_in(self, turns: Iterable[Turn], speakers: Iterable[str]) -> int:
        """The number of annotated quotations that have the right speaker."""
        return sum(
            self.weights[place_of(turn[0])]
            for turn, speaker in zip(turns, speakers, strict=True)
            if self.gold_of(turn, "") == speaker
        )

    def count(self, turns: Iterable[Turn]) -> None:
        """Counts what is right in a whole book."""
        turns = list(turns)
        self.right = self.right_in(turns, [turn[0].speaker or "?" for turn in turns])


def place_of(quote: Quote) -> Place:
    return quote.chapter, quote.quotation.scene, quote.quotation.place, quote.quotation.start


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
    texts = (quote.quotation.text for quote in proposal.quotes)
    annotation = annotation_of(score, folder, proposal.characters, texts)
    names = {annotated_name: name for name, annotated_name in annotation.names.items()}
    turn_of_quote = {place_of(quote): place_of(turn[0]) for turn in turns for quote in turn}
    answers: dict[Place, Counter[str]] = {}
    total = 0
    for number, _, _, speaker, _ in annotation.quotes:
        if speaker not in annotation.cast or speaker.startswith("_"):
            continue
        total += 1
        if annotation.votes[number]:
            quote = proposal.quotes[annotation.votes[number].most_common(1)[0][0]]
            if speaker in names:
                turn = turn_of_quote[place_of(quote)]
                answers.setdefault(turn, Counter())[names[speaker]] += 1
    gold_speakers = {turn: counts.most_common(1)[0][0] for turn, counts in answers.items()}
    weights = Counter({turn: counts.most_common(1)[0][1] for turn, counts in answers.items()})
    sheet = Sheet(gold_speakers, weights, total)
    sheet.count(turns)
    return sheet


# -- one question after the other ------------------------------------------------------------------


def ask_singly(sheet: Sheet, turns: Iterable[Turn], names_by_lines: Sequence[str]) -> None:
    """Answers questions about single quotations until enough are right."""
    for turn in turns:
        if sheet.is_done:
            return
        quote = turn[0]
        gold = sheet.gold_speakers.get(place_of(quote), quote.speaker)
        choices = dict.fromkeys((quote.speaker, *(name for name, _ in quote.alternatives)))
        choices |= dict.fromkeys(names_by_lines)
        is_near = gold in list(choices)[:MAX_NAMES]
        sheet.keystrokes += 1 if is_near or gold is None else NAME_KEYS
        if gold is not None:
            sheet.right += sheet.right_in([turn], [gold]) - sheet.right_in(
                [turn], [quote.speaker or ""]
            )


# -- whole exchanges -------------------------------------------------------------------------------


class Person:
    """A person who presses the keys of a review: sees an exchange, and knows who speaks."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.review: Review | None = None
        self.pressed: Counter[str] = Counter()
        """Numbers of decisions by their kind."""
        self.pending = ""
        """Keys that were chosen and not pressed yet."""

    def __call__(self) -> str:
        """The next key; "" once enough of the book is right."""
        assert self.review is not None
        if not self.pending:
            self.sheet.count(group_turns(self.review.proposal.quotes))
            if self.sheet.is_done:
                return ""
            title, self.pending = self._choose(self.review)
            self.pressed[title] += 1
        key, self.pending = self.pending[0], self.pending[1:]
        self.sheet.keystrokes += 1
        return key

    def _choose(self, review: Review) -> tuple[str, str]:
        """The keys that put most turns right for each of them, and what they are."""
        exchange, cursor = review.exchange, review.cursor
        speakers = list(exchange.speakers)
        wrong_turns = [
            index
            for index, turn in enumerate(exchange.turns)
            if self.sheet.gold_of(turn, speakers[index]) != speakers[index]
        ]
        if not wrong_turns:
            return "as shown", "\n"
        right = self.sheet.right_in(exchange.turns, speakers)
        moves = []
        for title, keys, after in self._moves(review, exchange, speakers, cursor, wrong_turns):
            gain = self.sheet.right_in(exchange.turns, after) - right
            moves.append((gain / len(keys), -len(keys), title, keys))
        best_gain, _, title, keys = max(moves, key=lambda move: move[:2])
        return (title, keys) if best_gain > 0 else ("skip", "s")

    def _moves(
        self,
        review: Review,
        exchange: Exchange,
        speakers: list[str],
        cursor: int,
        wrong_turns: list[int],
    ) -> Iterator[tuple[str, str, list[str]]]:
        """Yields decisions from the cursor on, and on the first wrong turn: their kind, their keys,
        and the speakers after them."""
        turn = wrong_turns[0]
        gold = self.sheet.gold_of(exchange.turns[turn], "")
        name_keys = _name_keys(review, exchange, gold)
        corrected = [*speakers[:turn], gold, *speakers[turn + 1 :]]
        # after a name the review goes to the next exchange if nothing else in this one is doubtful
        is_left = not set(exchange.doubtful_turns) - {turn} and len(wrong_turns) > 1
        if turn == cursor and not is_left:
            yield "number", name_keys, corrected
        letters, attempt = "", speakers
        while attempt != corrected and len(letters) < MAX_NAMES:
            attempt = decided_speakers(exchange, attempt, turn, Decision.NEXT_CANDIDATE)
            letters += TURN_KEYS[turn]
        is_single = len(exchange.turns) == 1  # which a letter leaves
        if attempt == corrected and not (is_single and len(letters) > 1):
            yield "letter", letters, corrected
            if speakers_to_swap(corrected, turn) and not is_single:
                after = decided_speakers(exchange, corrected, turn, Decision.ALTERNATE)
                yield "letter, alternate", f"{letters}t", after
        if not is_single and (not is_left or attempt != corrected):
            yield "letter, number", f"{TURN_KEYS[turn]}{name_keys}", corrected
        yield (
            "rest",
            f"r{name_keys}",
            decided_speakers(exchange, speakers, cursor, Decision.REMAINING_TURNS, gold),
        )
        if speakers_to_swap(speakers, cursor):
            for key, decision in (("x", Decision.SWAP), ("t", Decision.ALTERNATE)):
                yield decision, key, decided_speakers(exchange, speakers, cursor, decision)


def _name_keys(review: Review, exchange: Exchange, name: str) -> str:
    """The keys for a name: its number, or as many of its letters as tell it apart."""
    if name in exchange.names:
        return str(exchange.names.index(name) + 1)
    lengths = range(1, len(name) + 1)
    typed = next((name[:n] for n in lengths if review.matching_names(name[:n])[:1] == [name]), name)
    return f"w{typed}\n"


def ask_exchanges(sheet: Sheet, proposal: Proposal) -> Counter[str]:
    """Reviews a book until enough of it is right. Returns how often each kind was decided."""
    person = Person(sheet)
    person.review = Review(proposal, person, Console(file=io.StringIO(), width=100))
    person.review.run()
    sheet.count(group_turns(person.review.proposal.quotes))
    return person.pressed


# -- all orders ------------------------------------------------------------------------------------


def measure(folder: Path, score: Any) -> dict[str, Any]:
    """Keystrokes by order, the share that was right before, and the share that was reached."""
    with tempfile.TemporaryDirectory() as root:
        proposal = propose(load.load(project_of(folder, Path(root))))
        doubtful_turns = proposal.doubtful_turns
        names_by_lines = [character.name for character in proposal.characters_by_lines]
        in_order = sorted(doubtful_turns, key=lambda turn: (turn[0].chapter, turn[0].line_number))
        turns = list(group_turns(proposal.quotes))
        start, book_order, weakest_first, exchanges = (
            sheet_of(folder, score, proposal, turns) for _ in range(4)
        )
        ask_singly(book_order, in_order, names_by_lines)
        ask_singly(weakest_first, doubtful_turns, names_by_lines)
        decisions = ask_exchanges(exchanges, proposal)
    sheets = {"in_order": book_order, "weakest_first": weakest_first, "exchanges": exchanges}
    return {
        "quotations": start.total,
        "right_before": round(start.share, 4),
        "questions": len(doubtful_turns),
        **{
            name: {"keystrokes": sheet.keystrokes, "reached": round(sheet.share, 4)}
            for name, sheet in sheets.items()
        },
        "decisions": dict(decisions.most_common()),
    }


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
