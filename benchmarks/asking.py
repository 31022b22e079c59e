"""Measures how much a language model reads to attribute speech, and how often it is right.

    python -m benchmarks.asking FOLDER... [--model SPEC] [--right 0.9] [--weak 0.9] [--window 4000]
    python -m benchmarks.asking FOLDER... --model NAME --url ADDRESS [--key VARIABLE]
        [--price '0.15 USD'] [--answers FILE]

Each folder, or each folder in it, has a `novel_text.txt`, and may have the annotations of the
Project Dialogism Novel Corpus (`quotation_info.csv`, `character_info.csv`): then the cast is given,
and right ones are counted. Without --model a stub answers: as annotated in so many of all cases,
else anybody. With --url a server with OpenAI's chat API is asked, in the exchanges of
`narrator cast --url`; --answers keeps what a model answers, so that the same command goes on after
a kill. Tokens are counted as 4.3 characters each, as Qwen's are of English prose, by the model's
own tokenizer, or as the server states them. The minutes are for a 4-bit model of 4 B parameters on
an M4 Max, which reads 1,600 tokens a second. Right shares: "rules" and "model" of the quotations
that were asked about, "before" and "after" of all. The last line is JSON.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.speakers import CHAPTER_HEADING  # noqa: E402
from narrator.engines import chat, models, reader  # noqa: E402
from narrator.text.speakers import AttributedQuotation, Attribution, Character, asking, attribute  # noqa: E402
from narrator.text.speakers.answers import Answers  # noqa: E402

CHARACTERS = 4.3
"""Of English prose to a token."""
TEMPLATE = 9
"""Tokens that a chat template puts around a message."""
SPEED = 1600
"""Tokens read in a second."""
csv.field_size_limit(10**9)


@dataclass(frozen=True)
class Novel:
    """A text, and who says what in it, where that is known."""

    name: str
    chapters: list[list[str]]
    """The paragraphs of each chapter."""
    starts: list[list[int]]
    """Offsets of the paragraphs of each chapter in the text."""
    cast: tuple[Character, ...]
    gold: list[tuple[int, int, str]]
    """Pieces of quotations with their speakers, in order."""

    @classmethod
    def read(cls, folder: Path) -> Novel:
        text = (folder / "novel_text.txt").read_text("utf-8")
        chapters, starts = list[list[str]]([[]]), list[list[int]]([[]])
        for match in re.finditer(r"\S(?:.|\n(?![ \t]*\n))*", text):
            paragraph = match[0].replace("\n", " ")
            if len(paragraph) < 70 and CHAPTER_HEADING.fullmatch(paragraph) and chapters[-1]:
                chapters.append([])
                starts.append([])
            chapters[-1].append(paragraph)
            starts[-1].append(match.start())
        cast, gold = [], []
        if (folder / "character_info.csv").is_file():
            for row in csv.DictReader((folder / "character_info.csv").open(encoding="utf-8")):
                name = row["Main Name"].strip()
                if not name.startswith("_"):
                    aliases = sorted({*ast.literal_eval(row["Aliases"])} - {name})
                    cast.append(Character(name, tuple(aliases)))
            by_name = {
                n: character.name
                for character in cast
                for n in (*character.aliases, character.name)
            }
            for row in csv.DictReader((folder / "quotation_info.csv").open(encoding="utf-8")):
                if speaker := by_name.get(row["speaker"].strip()):
                    spans = ast.literal_eval(row["quoteByteSpans"])
                    gold += [(start, stop, speaker) for start, stop in spans]
        return cls(folder.name, chapters, starts, tuple(cast), sorted(gold))

    def speaker(self, piece: AttributedQuotation) -> str | None:
        """Returns the speaker of a piece, as annotated."""
        start = self.starts[piece.chapter][piece.quotation.paragraph]
        a, b = start + piece.quotation.start, start + piece.quotation.stop
        return next((speaker for c, d, speaker in self.gold if c < b and a < d), None)


class Stub:
    """Answers as it is told to, and counts what a model would read."""

    name = identity = "stub"
    max_prompt_tokens = 32_768

    def __init__(self, right: float) -> None:
        self.right, self.choice = right, random.Random(1)
        self.tokens_read = self.plain = 0
        self.answers: Iterator[tuple[asking.Window, list[str | None]]] = iter(())

    def count_tokens(self, text: str) -> int:
        return round(len(text) / CHARACTERS)

    def option_probabilities(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        window, speakers = next(self.answers)
        assert window.shared == shared
        common, sizes = (
            self.count_tokens(shared),
            [self.count_tokens(q) + TEMPLATE for q in questions],
        )
        self.tokens_read += common + sum(sizes)
        self.plain += common * len(questions) + sum(sizes)
        all_odds = []
        for speaker in speakers:
            best = self.choice.randrange(len(window.names) or 1)
            if speaker in window.names and self.choice.random() < self.right:
                best = window.names.index(speaker)
            other_odds = 0.1 / (len(options) - 1)
            all_odds.append([0.9 if n == best else other_odds for n in range(len(options))])
        return all_odds

    def write(self, message: str, max_tokens: int) -> str:
        raise NotImplementedError


@dataclass
class Row:
    """Of one novel."""

    novel: str
    words: int = 0
    quotations: int = 0
    weak: int = 0
    windows: int = 0
    asked: int = 0
    read: int = 0
    """Tokens."""
    plain: int = 0
    """Tokens that would be read without a cache of what questions share."""
    seconds: float = 0
    """Of this program alone, or of the model too where one is asked."""
    known_count: int = 0
    """Weak pieces of which it is known who says them."""
    rules: int = 0
    """Of them, those that rules have right."""
    model: int = 0
    """Of them, those that are right after the model's word."""
    listed: int = 0
    """Of them, those whose speaker was in the list of people."""
    changed: int = 0
    """Pieces that were not weak and changed."""
    annotated: int = 0
    """Pieces of which it is known who says them, weak or not."""
    before: int = 0
    """Of them, those that rules have right."""
    after: int = 0
    """Of them, those that are right after the model's word."""
    unanswered: int = 0
    """Questions without a valid answer."""

    @property
    def minutes(self) -> float:
        return self.read / SPEED / 60


Model = chat.ChatModel | reader.LanguageModel


def measured(
    novel: Novel, model: Model | None, answers: Answers, options: argparse.Namespace
) -> Row:
    """Attributes the speech of a novel, and returns the figures."""
    rules = attribute(novel.chapters, novel.cast, language="en")
    base = asking.EXCHANGE_LIMITS if options.url else asking.DEFAULT_LIMITS
    limits = replace(
        base, weak_certainty=options.weak, window_tokens=options.window or base.window_tokens
    )
    stub = Stub(options.right)
    asked_model = model or stub
    before = model.tokens_read if model else 0
    began = time.monotonic()
    windows = asking.build_windows(novel.chapters, rules, asked_model, limits)
    truth = (
        [novel.speaker(piece) for piece in rules.quotations]
        if novel.gold
        else [None] * len(rules.quotations)
    )
    stub.answers = iter([(w, [truth[rows[0]] for rows in w.rows_by_question]) for w in windows])
    unanswered = getattr(model, "unanswered_count", 0)
    after = asking.ask(novel.chapters, rules, asked_model, limits=limits, answers=answers)
    row = Row(
        novel.name, sum(len(text.split()) for text in chain(*novel.chapters)), len(rules.quotations)
    )
    row.seconds = time.monotonic() - began
    row.windows, row.asked = len(windows), sum(len(window.rows_by_question) for window in windows)
    row.read, row.plain = (
        (model.tokens_read - before, 0) if model else (stub.tokens_read, stub.plain)
    )
    row.unanswered = getattr(model, "unanswered_count", 0) - unanswered
    count(row, windows, rules, after, truth)
    return row


def count(
    row: Row,
    windows: Sequence[asking.Window],
    rules: Attribution,
    after: Attribution,
    truth: Sequence[str | None],
) -> None:
    """Right ones among those that were asked, before and after."""
    names = {place: w.names for w in windows for rows in w.rows_by_question for place in rows}
    row.weak = len(names)
    for place, (old, new, speaker) in enumerate(
        zip(rules.quotations, after.quotations, truth, strict=True)
    ):
        row.annotated += speaker is not None
        row.before += speaker is not None and old.speaker == speaker
        row.after += speaker is not None and new.speaker == speaker
        if place not in names:
            row.changed += old != new
        elif speaker is not None:
            row.known_count += 1
            row.rules += old.speaker == speaker
            row.model += new.speaker == speaker
            row.listed += speaker in names[place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument(
        "--model", help="a folder or a hub id, instead of a stub; with --url a name"
    )
    parser.add_argument("--url", help="a server with OpenAI's chat API that has the model")
    parser.add_argument("--key", help="the environment variable that holds its key")
    parser.add_argument("--price", help="of a million tokens, as '0.15 USD'")
    parser.add_argument("--answers", type=Path, help="a file that keeps answers")
    parser.add_argument("--right", type=float, default=0.9, help="how often the stub is right")
    parser.add_argument("--weak", type=float, default=0.9)
    parser.add_argument("--window", type=int, help="tokens, by default those of `narrator cast`")
    options = parser.parse_args()
    texts = [path for folder in options.folders for path in folder.rglob("novel_text.txt")]
    model: Model | None = None
    if options.url:
        model = chat.connect(options.url, options.model or "", key_name=options.key)
    elif options.model:
        model = reader.load(models.find_language(options.model))
    answers = Answers(options.answers if model else None)
    print(f"{'novel':28}{'words':>8}{'pieces':>8}{'weak':>7}{'windows':>9}{'asked':>7}{'read':>10}"
          f"{'uncached':>11}{'minutes':>9}{'rules':>8}{'model':>8}{'listed':>8}"
          f"{'before':>8}{'after':>8}")  # fmt: skip
    rows = []
    for path in sorted(texts):
        rows.append(measured(Novel.read(path.parent), model, answers, options))
        show(rows[-1])
    total = Row("all")
    for name in ("words", "quotations", "weak", "windows", "asked", "read", "plain", "seconds",
                 "known_count", "rules", "model", "listed", "changed", "annotated", "before",
                 "after", "unanswered"):  # fmt: skip
        setattr(total, name, sum(getattr(row, name) for row in rows))
    show(total)
    figures = {**asdict(total), "minutes": round(total.minutes, 1), "novels": len(rows)}
    if options.price:
        figures["price"] = chat.describe_price(options.price, total.read)
    print(json.dumps({"name": model.name if model else Stub.name, **figures}))


def show(row: Row) -> None:
    divisor = max(1, row.known_count)
    shares = "".join(f"{n / divisor:8.1%}" for n in (row.rules, row.model, row.listed))
    shares += "".join(f"{n / max(1, row.annotated):8.1%}" for n in (row.before, row.after))
    counts = (row.words, row.quotations, row.weak, row.windows, row.asked, row.read, row.plain)
    widths = (8, 8, 7, 9, 7, 10, 11)
    figures = "".join(f"{n:{width},}" for n, width in zip(counts, widths, strict=True))
    print(f"{row.novel:28}{figures}{row.minutes:9.1f}{shares if row.known_count else ''}")


if __name__ == "__main__":
    main()
