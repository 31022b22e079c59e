"""How English words of books are pronounced, and how right letters alone are.

    python -m benchmarks.pronunciation [BOOK ...] [--language en-US]

A BOOK is a text in UTF-8 or an EPUB. For each: words that stand in the dictionary as they are, and
what decided the others, as shares of the running words (tokens) and of the different ones (types).
Then how right letters alone are, on words of tests/golden/pronunciation, which the network was not
trained on. Ends with the same numbers as one line of JSON.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from narrator.pronunciation import english, letters, pronounce
from narrator.pronunciation.english import Source
from narrator.pronunciation.tokens import plain_form, tokens

HELD_OUT = Path(__file__).resolve().parents[1] / "tests/golden/pronunciation/letters.txt"


@dataclass(frozen=True, slots=True)
class BookCounts:
    """Words of a book by what decided their pronunciation."""

    book: str
    tokens: dict[str, int]
    types: dict[str, int]
    frequent: list[str]
    """Words that letters alone decide, the most frequent first."""
    seconds: float
    """Of one core, to pronounce the whole book."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of letters alone."""

    kind: str
    words: int
    exact: float
    """Share of words that are right in every phoneme and stress."""
    without_stress: float
    phoneme_errors: float
    """Insertions, deletions and substitutions, by the phonemes that are right; no stresses."""


def book_text(path: Path) -> str:
    if path.suffix != ".epub":
        return path.read_text("utf-8")
    with zipfile.ZipFile(path) as archive:
        pages = sorted(name for name in archive.namelist() if name.endswith(("html", "htm")))
        bodies = (archive.read(name).decode().partition("<body")[2] for name in pages)
        return "\n\n".join(html.unescape(re.sub("<[^>]+>", "", f"<{body}")) for body in bodies)


def count_words(path: Path, language: str) -> BookCounts:
    rules = english.load_english(british=language == "en-GB")
    text = book_text(path).replace("_", "")
    words = Counter(plain_form(token.text) for token in tokens(text, ()) if token.kind == "word")
    by_token, by_type, frequent = Counter[str](), Counter[str](), Counter[str]()
    for word, count in words.items():
        _, source = rules.word(word, (), False)
        by_token[source] += count
        by_type[source] += 1
        if source == Source.LETTERS:
            frequent[word] += count
    start = time.process_time()
    for paragraph in re.split("\n\n+", text):
        pronounce(paragraph, language)
    seconds = round(time.process_time() - start, 2)
    names = [f"{word} {count}" for word, count in frequent.most_common(8)]
    return BookCounts(path.stem, dict(by_token), dict(by_type), names, seconds)


def held_out_words() -> Iterator[tuple[str, str, str]]:
    """Language, word, phonemes."""
    for line in HELD_OUT.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            language, word, phonemes = line.split("\t")
            yield language, word, phonemes


def accuracies() -> Iterator[Accuracy]:
    rows = list(held_out_words())
    for language in ("en-US", "en-GB"):
        for kind, is_name in (("words", False), ("names", True)):
            pairs = [
                (letters.pronounce(word, language), phonemes)
                for tag, word, phonemes in rows
                if tag == language and word[0].isupper() == is_name
            ]
            yield accuracy(f"{language} {kind}", pairs)


def accuracy(kind: str, pairs: Sequence[tuple[str, str]]) -> Accuracy:
    """Of pairs of what was said and what is right."""
    plain_pairs = [
        (re.sub("[ˈˌ]", "", pronunciation), re.sub("[ˈˌ]", "", right))
        for pronunciation, right in pairs
    ]
    errors = sum(distance(pronunciation, right) for pronunciation, right in plain_pairs)
    return Accuracy(
        kind,
        len(pairs),
        round(sum(pronunciation == right for pronunciation, right in pairs) / len(pairs), 3),
        round(sum(pronunciation == right for pronunciation, right in plain_pairs) / len(pairs), 3),
        round(errors / sum(len(right) for _, right in plain_pairs), 3),
    )


def distance(first: str, second: str) -> int:
    """Edits that lead from one to the other."""
    row = list(range(len(second) + 1))
    for i, symbol in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, second_symbol in enumerate(second, 1):
            before, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, before + (symbol != second_symbol)),
            )
    return row[-1]


def percent(part: int, total: int) -> str:
    return f"{100 * part / total:.2f}" if total else "–"


def print_books(books: Sequence[BookCounts]) -> None:
    print("| book | words | seconds |", " | ".join(Source), "|")
    print("|---|--:|--:|", "--:|" * len(Source), sep="")
    for book in books:
        for kind, counts in (("tokens", book.tokens), ("types", book.types)):
            total = sum(counts.values())
            shares = (percent(counts.get(source, 0), total) for source in Source)
            print(f"| {book.book}, {kind} | {total:,} | {book.seconds} |", " | ".join(shares), "|")
    for book in books:
        print(f"{book.book}: {', '.join(book.frequent)}")


def print_accuracies(rows: Sequence[Accuracy]) -> None:
    print("\n| letters alone | words | exact | without stress | phoneme errors |")
    print("|---|--:|--:|--:|--:|")
    for row in rows:
        shares = f"{row.exact:.1%} | {row.without_stress:.1%} | {row.phoneme_errors:.1%}"
        print(f"| {row.kind} | {row.words} | {shares} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="*", type=Path)
    parser.add_argument("--language", default="en-US", choices=["en-US", "en-GB"])
    arguments = parser.parse_args()
    books = [count_words(path, arguments.language) for path in arguments.books]
    rows = list(accuracies())
    if books:
        print_books(books)
    print_accuracies(rows)
    shares = {"books": list(map(asdict, books)), "letters": list(map(asdict, rows))}
    print(json.dumps(shares, ensure_ascii=False))


if __name__ == "__main__":
    main()
