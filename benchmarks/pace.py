"""How long the same sentences are expected to take in each language, as a ratio to English.

    python -m benchmarks.pace FOLDER

FOLDER has the parallel treebanks of Universal Dependencies, `de_pud-ud-test.conllu` and so on.
Sentences with figures are left out. The last line is JSON.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from narrator.text.pace import expected_seconds

_SENTENCE = re.compile(r"^# sent_id = (.+)$|^# text = (.+)$", re.MULTILINE)


def sentences(path: Path) -> dict[str, str]:
    """Returns the sentences of a treebank by their identifiers, which all languages share."""
    lines = _SENTENCE.findall(path.read_text("utf-8"))
    return {lines[index][0]: lines[index + 1][1] for index in range(0, len(lines) - 1, 2)}


def main(folder: Path) -> None:
    by_language = {
        path.name.partition("_")[0]: sentences(path)
        for path in sorted(folder.glob("*_pud-ud-test.conllu"))
    }
    english = {name: text for name, text in by_language["en"].items() if not re.search(r"\d", text)}
    ratios = {}
    for language, texts in by_language.items():
        names = [name for name in english if name in texts]
        seconds = sum(expected_seconds(texts[name], language) for name in names)
        ratios[language] = seconds / sum(expected_seconds(english[name], "en") for name in names)
        print(f"{language:<4}{len(names):>6} sentences{ratios[language]:>8.2f}")
    print(json.dumps({language: round(ratio, 3) for language, ratio in ratios.items()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
