"""Who says what in languages other than English, by rules alone: a table, and one JSON line.

    python -m benchmarks.speakers_in_languages [--chapters]

The chapters are those of tests/text/speakers/chapters, annotated by hand. A row has the number of
quotations; the share that is right with the cast given, and with the cast found; and the share that
is called sure, with the share of it that is right. `--chapters` adds a row for each chapter, with
the found characters that the annotation does not know.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.text.speakers import annotated
from tests.text.speakers.annotated import Score

_NOTHING = Score(0, 0, 0, 0, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Who says what, in several languages.")
    parser.add_argument("--chapters", action="store_true", help="a row for each chapter too")
    options = parser.parse_args()
    print(f"{'':<30}{'quotations':>10}{'given':>8}{'found':>8}{'sure':>8}{'right':>8}{'narr.':>8}")
    given: dict[str, Score] = defaultdict(lambda: _NOTHING)
    found: dict[str, Score] = defaultdict(lambda: _NOTHING)
    for path in annotated.CHAPTERS:
        chapter = annotated.read_chapter(path)
        score = annotated.score(chapter, annotated.attributed(chapter, finds_cast=False))
        found_attribution = annotated.attributed(chapter, finds_cast=True)
        found_score = annotated.score(chapter, found_attribution)
        if options.chapters:
            _print_row(path.stem, score, found_score)
            strangers = [
                member.name
                for member in found_attribution.cast
                if annotated.match_character(member, chapter.cast) is None
            ]
            print("    " + ", ".join(strangers))
        for key in (chapter.language, "all"):
            given[key] += score
            found[key] += found_score
    figures = {
        language: _print_row(language, given[language], found[language])
        for language in sorted(given, key=lambda key: (key == "all", key))
    }
    print(json.dumps(figures))


def _print_row(name: str, given: Score, found: Score) -> dict[str, float]:
    """Prints a row of the table, and returns its figures."""
    figures = {
        "quotations": given.quotations,
        "given": _share(given.right, given.quotations),
        "found": _share(found.right, found.quotations),
        "sure": _share(given.sure, given.quotations),
        "sure_right": _share(given.sure_right, given.sure),
        "spoken_narration": _share(given.spoken_narration, given.narration),
    }
    cells = "".join(f"{100 * figure:>8.1f}" for figure in list(figures.values())[1:])
    print(f"{name:<30}{given.quotations:>10}{cells}", flush=True)
    return figures


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


if __name__ == "__main__":
    main()
