"""How often written English is spoken rightly, in the classes that are hardest: cases, right.

    python -m benchmarks.english

The cases and what would be right for each stand in tests/text/english.txt. Those that are not
reached are listed. The last line is JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.tables import read_cases  # noqa: E402
from tests.text.test_spoken import say  # noqa: E402


def main() -> None:
    every: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for case in read_cases(ROOT / "tests/text/english.txt"):
        every[case.kind] += 1
        spoken_text = say(case.text, case.language)
        right[case.kind] += spoken_text == case.expected
        if spoken_text != case.expected:
            print(f"{case.kind}: {case.text}\n    right: {case.expected}\n    said:  {spoken_text}")
    print(f"\n{'class':<24}{'cases':>7}{'right':>7}")
    for kind, count in every.items():
        print(f"{kind:<24}{count:>7}{right[kind]:>7}")
    print(json.dumps({kind: {"cases": n, "right": right[kind]} for kind, n in every.items()}))


if __name__ == "__main__":
    main()
