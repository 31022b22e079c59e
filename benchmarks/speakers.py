"""Attributes speech by rules alone, on annotated novels: a table by novel and kind, and JSON.

    python -m benchmarks.speakers FOLDER [--found] [--calibrate]

FOLDER has a folder for each novel in the layout of the Project Dialogism Novel Corpus, and beside
them `score.py`, which compares. The cast is given by main names and aliases, or found with
--found. The certainty of a decision in a novel is the share of correct ones
among decisions like it in all other novels; --calibrate writes the shares in all novels to
learnt.json. Texts and annotations are not part of this
project; what is kept is how often each rule was right.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.util
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator.text.speakers import (  # noqa: E402
    SURE_CERTAINTY,
    Attribution,
    Character,
    attribute,
    ranking,
)

PUBLISHED = """\
published, on all 28 novels    BookNLP, end to end 40 %; BookNLP+, cast given 78 % (explicit 98.6);
                               Llama-3-8B, aliases given 90.6 %; ModernBERT, joint 94.5 %"""
BIN_STARTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)
MIN_BIN_SIZE = 25
"""Decisions that a bin has at least; smaller ones join the one below."""
PRIOR_SIZE = 15
"""Decisions, as often right as those of all novels, that are added to those of each in a bin."""

CHAPTER_HEADING = re.compile(r"((chapter|book|part|volume)\b.{0,60}|[IVXLC]+\.?)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One annotated quotation, and what was decided."""

    kind: str
    by: str
    probability: float
    is_right: bool


def load_score(folder: Path) -> Any:
    """Imports `score.py` of a folder of novels."""
    path = folder / "score.py"
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{folder}: has no score.py")
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    return score


def chapters_of(text: str) -> list[list[str]]:
    """Returns the paragraphs of each chapter."""
    chapters: list[list[str]] = [[]]
    for block in re.split(r"\n\s*\n", text):
        paragraph = " ".join(block.split())
        if len(paragraph) < 70 and CHAPTER_HEADING.fullmatch(paragraph):
            chapters.append([])
        elif paragraph:
            chapters[-1].append(paragraph)
    return [chapter for chapter in chapters if chapter]


def cast_of(folder: Path) -> list[Character]:
    """Reads the annotated characters of a novel."""
    cast = []
    for row in csv.DictReader((folder / "character_info.csv").open(encoding="utf-8")):
        name = row["Main Name"].strip()
        try:
            aliases = sorted(set(ast.literal_eval(row["Aliases"])) - {name})
        except (ValueError, SyntaxError):
            aliases = []
        if not name.startswith("_"):
            cast.append(Character(name, tuple(aliases)))
    return cast


@dataclass(frozen=True)
class Annotation:
    """The annotated quotations of a novel, beside those of an attribution."""

    cast: Mapping[str, Any]
    """The annotated characters by main name."""
    names: Mapping[str, str]
    """Attributed character -> annotated character."""
    quotes: Sequence[tuple[Any, ...]]
    """(number, spans, pieces, speaker, kind) of each annotated quotation."""
    votes: Mapping[int, Counter[int]]
    """Number of an annotated quotation -> places of attributed ones that share words with it."""


def annotation_of(
    score: Any, folder: Path, characters: Iterable[Character], texts: Iterable[str]
) -> Annotation:
    """Aligns an annotation with the `texts` of all attributed quotations, in order."""
    cast, quotes = score.gold(folder)
    members = [{"name": member.name, "aliases": member.aliases} for member in characters]
    pieces = sorted(
        (span[0], number, score.words(piece))
        for number, spans, quote_pieces, _, _ in quotes
        for span, piece in zip(spans, quote_pieces, strict=True)
        if score.words(piece)
    )
    votes = score.aligned(pieces, [score.words(text) for text in texts])
    return Annotation(cast, score.same_character(cast, members), quotes, votes)


def compare(
    score: Any, folder: Path, chapters: list[list[str]], attribution: Attribution
) -> list[Row]:
    """Compares each annotated quotation that has one speaker of the cast."""
    texts = [
        chapters[member.chapter][member.quotation.paragraph][
            member.quotation.start : member.quotation.stop
        ]
        for member in attribution.quotations
    ]
    annotation = annotation_of(score, folder, attribution.cast, texts)
    rows = []
    for number, _, _, speaker, kind in annotation.quotes:
        if speaker not in annotation.cast or speaker.startswith("_"):
            continue
        votes = annotation.votes[number]
        if not votes:
            rows.append(Row(kind, "not found", 0.0, False))
            continue
        decision = attribution.quotations[votes.most_common(1)[0][0]]
        right = annotation.names.get(decision.speaker or "") == speaker
        rows.append(Row(kind, decision.by, decision.probability, right))
    return rows


def calibrate(rows_by_novel: Sequence[Sequence[Row]]) -> dict[str, list[list[float]]]:
    """Returns for each rule the probabilities from which on a share is right, and the shares, which
    never fall.

    A share is that of the novel at the lower quartile, drawn towards that of all novels where it
    has few decisions: a decision that is called sure is to be right in nearly every book.
    """
    tables: dict[str, list[list[float]]] = {}
    by_rule: dict[str, list[list[Row]]] = {}
    for number, novel_rows in enumerate(rows_by_novel):
        for row in novel_rows:
            by_rule.setdefault(row.by, [[] for _ in rows_by_novel])[number].append(row)
    for rule, rule_rows in sorted(by_rule.items()):
        steps: list[list[float]] = []  # from, right, all
        for low, high in zip(BIN_STARTS, (*BIN_STARTS[1:], 2.0), strict=True):
            bin_hits = [
                row.is_right for rows in rule_rows for row in rows if low <= row.probability < high
            ]
            steps.append([low, float(sum(bin_hits)), float(len(bin_hits))])
            while len(steps) > 1 and (
                steps[-1][2] < MIN_BIN_SIZE or _share(steps[-2]) > _share(steps[-1])
            ):
                last = steps.pop()
                steps[-1][1] += last[1]
                steps[-1][2] += last[2]
        tables[rule] = []
        for (low, right, n), high in zip(steps, [*(s[0] for s in steps[1:]), 2.0], strict=True):
            share = (right + 0.5) / (n + 1)
            hits = [
                [row.is_right for row in rows if low <= row.probability < high]
                for rows in rule_rows
            ]
            shares = sorted((sum(h) + PRIOR_SIZE * share) / (len(h) + PRIOR_SIZE) for h in hits)
            low_share = max(shares[len(shares) // 4], *(s for _, s in tables[rule]), 0.0)
            tables[rule].append([low, round(low_share, 3)])
    return tables


def _share(step: Sequence[float]) -> float:
    return step[1] / step[2] if step[2] else 0.0


def print_row(
    name: str, rows: Sequence[Row], certainties: Sequence[float], seconds: float
) -> dict[str, Any]:
    """Prints a row of the table, and returns its figures."""
    kinds = Counter(row.kind for row in rows)
    right = Counter(row.kind for row in rows if row.is_right)
    figures: dict[str, Any] = {
        "quotations": len(rows),
        "accuracy": round(sum(right.values()) / max(1, len(rows)), 4),
    }
    for kind in ("explicit", "anaphoric", "implicit"):
        figures[kind] = round(right[kind] / max(1, kinds[kind]), 4)
    sure_hits = [
        row.is_right
        for row, certainty in zip(rows, certainties, strict=True)
        if certainty >= SURE_CERTAINTY
    ]
    figures["sure"] = round(len(sure_hits) / max(1, len(rows)), 4)
    figures["sure_right"] = round(sum(sure_hits) / max(1, len(sure_hits)), 4)
    cells = "".join(f"{100 * figure:>10.1f}" for figure in list(figures.values())[1:])
    print(f"{name[:26]:<26}{len(rows):>7}{cells}{seconds:>9.1f}", flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Who says what, on annotated novels.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--found", action="store_true", help="the cast is found, not given")
    parser.add_argument("--calibrate", action="store_true", help="write learnt.json")
    options = parser.parse_args()
    score = load_score(options.folder)
    novels: dict[str, tuple[list[Row], float]] = {}
    for text_path in sorted(options.folder.glob("*/novel_text.txt")):
        folder = text_path.parent
        chapters = chapters_of(text_path.read_text(encoding="utf-8"))
        begin = time.process_time()
        cast = [] if options.found else cast_of(folder)
        attribution = attribute(chapters, cast, language="en")
        seconds = time.process_time() - begin
        novels[folder.name] = compare(score, folder, chapters, attribution), seconds
    titles = ("accuracy", "explicit", "anaphoric", "implicit", "sure", "right")
    print(f"{'novel':<26}{'quotes':>7}{''.join(f'{title:>10}' for title in titles)}{'CPU s':>9}")
    all_rows: list[Row] = []
    all_certainties: list[float] = []
    figures = {}
    for name, (rows, seconds) in novels.items():
        tables = calibrate([rows for other, (rows, _) in novels.items() if other != name])
        certainties = [_certainty(tables, row) for row in rows]
        figures[name] = print_row(name, rows, certainties, seconds)
        all_rows += rows
        all_certainties += certainties
    total = sum(seconds for _, seconds in novels.values())
    figures["all"] = print_row("all", all_rows, all_certainties, total)
    print(PUBLISHED)
    _print_rules(all_rows, all_certainties)
    if options.calibrate:
        tables = calibrate([rows for rows, _ in novels.values()])
        _write(tables, "found" if options.found else "given")
    print(json.dumps({"cast": "found" if options.found else "given", **figures}))


def _certainty(tables: dict[str, list[list[float]]], row: Row) -> float:
    """Looks up the share of correct decisions among those like a row."""
    table = tables.get(row.by, [[0.0, 0.0]])
    return max(share for start, share in table if start <= max(row.probability, table[0][0]))


def _print_rules(rows: Sequence[Row], certainties: Sequence[float]) -> None:
    """Prints each rule's share of all decisions, the share of them that is right, and the mean of
    their certainties."""
    print(f"\n{'rule':<12}{'share':>8}{'right':>8}{'sure':>8}")
    for rule, count in Counter(row.by for row in rows).most_common():
        decisions = [
            (row.is_right, certainty)
            for row, certainty in zip(rows, certainties, strict=True)
            if row.by == rule
        ]
        right = sum(hit for hit, _ in decisions) / count
        mean_certainty = sum(certainty for _, certainty in decisions) / count
        shares = (count / len(rows), right, mean_certainty)
        print(f"{rule:<12}{''.join(f'{100 * share:>8.1f}' for share in shares)}")


def _write(tables: dict[str, list[list[float]]], cast: str) -> None:
    path = Path(ranking.__file__).with_name("learnt.json")
    learnt = json.loads(path.read_text(encoding="utf-8"))
    learnt["sure"][cast] = tables
    path.write_text(json.dumps(learnt, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
