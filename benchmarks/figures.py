"""What is said for figures of real sentences: a random sample to be judged by a reader.

    python -m benchmarks.figures LANGUAGE FILE... [--count 200] [--seed 34]

FILE is plain text, a sentence or paragraph in each line, or CoNLL-U. Prints the sentences of the
sample with what is said in place of what is written; then, of all sentences with figures, how many
figures stay as written, and how many look garbled: a figure or sign next to the letters that were
said for another part of the same token. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from narrator.text.normalize import TYPOGRAPHY, Lexicon, SpokenText, normalize

_TOKEN = re.compile(r"\S*\d\S*")
_GARBLED = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|[^\W\d_][%$€£§°]|[$€£§][^\W\d_]|\d[–-][^\W\d_]")


def sentences(path: Path) -> Iterator[str]:
    """Yields the sentences of a file that have figures."""
    for line in path.read_text("utf-8").splitlines():
        if path.suffix == ".conllu":
            if not line.startswith("# text = "):
                continue
            line = line.removeprefix("# text = ")
        if _TOKEN.search(line):
            yield line.strip()


def marked(text: str, spoken: SpokenText) -> str:
    """Returns a text with its changes in brackets: "[21 → twenty-one]"."""
    parts, position = [], 0
    for change in spoken.changes:
        if change.rule not in TYPOGRAPHY:
            parts += [text[position : change.start], f"[{change.written} → {change.spoken}]"]
            position = change.stop
    return "".join([*parts, text[position:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=34)
    options = parser.parse_args()
    lines = [line for path in options.files for line in sentences(path)]
    written = left = 0
    garbled = []
    spoken_texts = {}
    for line in lines:
        spoken = spoken_texts[line] = normalize(
            line, language=options.language, speaker="narrator", lexicon=Lexicon()
        )
        written += len(_TOKEN.findall(line))
        left += len(_TOKEN.findall(spoken.text))
        if _GARBLED.search(spoken.text) and not _GARBLED.search(line):
            garbled.append(line)
    random.Random(options.seed).shuffle(lines)
    shown = 0
    for line in lines:
        if shown >= options.count:
            break
        shown += len(_TOKEN.findall(line))
        print(marked(line, spoken_texts[line]))
    print(f"\nlooks garbled ({len(garbled)}):")
    for line in garbled[:40]:
        print(marked(line, spoken_texts[line]))
    result = {"language": options.language, "sentences": len(lines), "figures": written}
    print(json.dumps({**result, "left as written": left, "garbled": len(garbled)}))


if __name__ == "__main__":
    main()
