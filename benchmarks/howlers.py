"""Counts howlers, the mistakes in who speaks that every listener hears, over whole books.

    python -m benchmarks.howlers BOOK … [--thing NAME …] [--sample N --seed S]

A BOOK is a manuscript in English of any format, or a folder of an annotated novel as for
`benchmarks.speakers`. The cast is found. A quotation, or a piece of one, is a howler if its speaker

    absent   is not named in the chapter, nor its "I"
    sex      is a man and its tag says "said she", "said the girl" or "said Miss …"; or the reverse
    thing    is a place or a thing, which a person has decided: `--thing NAME`; names that mostly
             stand next to "in", "at" or "Street" are listed as suspects

In annotated novels, `swapped` counts exchanges in which three or more quotations running are given
to the other one of their two speakers. All of this is told from the text by the patterns below,
not by the rules that decide who speaks, so that two versions of these can be compared. The last
line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.speakers import annotation_of, chapters_of, load_score
from manuscripts.reading import read_book
from narrator.text.speakers import AttributedQuotation, Attribution, Character, attribute

MIN_SWAPPED = 3
"""Quotations of an exchange with its speakers swapped."""
MIN_PRONOUNS, MIN_PRONOUN_SHARE = 5, 0.8
"""Pronouns after a name, and the share that agrees, that tell the sex of its bearer."""
MIN_PLACE_SHARE = 0.5
MIN_FIRST_PERSON_SHARE = 0.01
"""Share of "I" among the words of a chapter's narration from which a narrator is present."""

SEX_OF_WORD = dict.fromkeys(
    "he him his himself mr mister sir lord uncle father brother king man boy gentleman".split(),
    "he",
) | dict.fromkeys(
    "she her hers herself mrs miss lady aunt mother sister queen madam woman girl".split(), "she"
)
VERB = (
    "(?:said|cried|asked|answered|replied|returned|exclaimed|whispered|observed|remarked|added"
    "|continued|murmured|called|shouted|repeated|inquired|demanded|rejoined)"
)
SUBJECT = (
    r"(?P<subject>he|she|I|(?:the|an?) (?:\w+ )?(?:man|woman|girl|boy|lady|gentleman)"
    r"|(?:Mr|Mrs|Miss|Lady|Sir|Aunt|Uncle)\b\.?)"
)
TAG_AFTER = re.compile(
    rf"[\s,—-]*(?:{VERB} {SUBJECT}|{SUBJECT.replace('P<', 'P<early_')} {VERB})\b"
)
TAG_BEFORE = re.compile(rf"(?:^|[.!?]\s+)(?i:{SUBJECT}) {VERB}\b[^.;?!]{{0,40}}[,:]\s*$")
PLACE_BEFORE = r"\b(?:in|at|near|into|through|towards?|across|outside)\s+(?:the\s+)?"
PLACE_AFTER = (
    r"(?:\s|-)+(?:Street|Road|Lane|Square|House|Hall|Park|Place|Court|Hotel|Inn|Bridge|Station"
    r"|Town|Bay|Hill|Island|River|Church|Bank|Company|Farm|Manor|Abbey|Terrace|Row)\b"
)
TITLES_BEFORE = ("Mr.", "Mrs.", "Miss", "Lady", "Sir", "Dr.")
TITLES = set("mr mrs miss ms dr sir lady lord the a an of old young little poor captain".split())


@dataclass(frozen=True)
class Howler:
    """A quotation in a voice that cannot be its own."""

    kind: str
    row: AttributedQuotation
    speaker_sex: str | None


@dataclass
class Book:
    """A book's text, with the speakers that were decided."""

    name: str
    titles: Sequence[str]
    chapters: Sequence[Sequence[str]]
    attribution: Attribution
    folder: Path | None = None
    """The folder of its annotation."""
    spoken: list[AttributedQuotation] = field(init=False)

    def __post_init__(self) -> None:
        self.spoken = [row for row in self.attribution.quotations if row.speaker is not None]

    def text(self, row: AttributedQuotation) -> str:
        return self.chapters[row.chapter][row.quotation.paragraph]

    def tag_subjects(self) -> Iterator[tuple[AttributedQuotation, str]]:
        """Yields rows with a tag next to them, and the last word of its subject."""
        bounds: dict[tuple[int, int], list[int]] = {}
        for row in self.attribution.quotations:
            place = bounds.setdefault((row.chapter, row.quotation.paragraph), [0])
            place += (row.quotation.start, row.quotation.stop)
        for row in self.spoken:
            text, quotation = self.text(row), row.quotation
            ends = bounds[row.chapter, quotation.paragraph]
            start = max(end for end in ends[::2] if end <= quotation.start)
            stop = min((end for end in ends[1::2] if end >= quotation.stop), default=len(text))
            tag = TAG_AFTER.match(text[quotation.stop : stop])
            tag = tag or TAG_BEFORE.search(text[start : quotation.start])
            if tag:
                subject = next(filter(None, tag.groups()))
                yield row, subject.split()[-1].rstrip(".").lower()


def read(path: Path) -> Book:
    """Reads a manuscript, or the folder of an annotated novel, and decides who speaks."""
    if path.is_dir():
        chapters = chapters_of((path / "novel_text.txt").read_text(encoding="utf-8"))
        titles, folder = [""] * len(chapters), path
    else:
        imported = read_book(path).chapters
        titles, folder = [chapter.title for chapter in imported], None
        plain_texts = (re.sub(r"[*_\\]|^#+ ", "", c.markdown, flags=re.M) for c in imported)
        chapters = [
            [" ".join(block.split()) for block in re.split(r"\n\s*\n", text) if block.strip()]
            for text in plain_texts
        ]
    attribution = attribute(chapters, language="en")
    return Book(path.stem, titles, chapters, attribution, folder)


def howlers(book: Book, things: Sequence[str]) -> list[Howler]:
    """Returns the rows in a wrong voice; a row that is wrong twice counts once."""
    sexes = {member.name: sex_of(member, book) for member in book.attribution.cast}
    tagged_sexes = {
        id(row): SEX_OF_WORD[subject]
        for row, subject in book.tag_subjects()
        if subject in SEX_OF_WORD
    }
    present = present_people(book)
    results = []
    for row in book.spoken:
        sex = sexes.get(row.speaker or "")
        if row.speaker in things:
            results.append(Howler("thing", row, sex))
        elif row.speaker not in present[row.chapter]:
            results.append(Howler("absent", row, sex))
        elif sex and tagged_sexes.get(id(row), sex) != sex:
            results.append(Howler("sex", row, sex))
    return results


def pattern_of(names: Sequence[str]) -> str:
    """A pattern that finds any of some names, whatever the spaces in them."""
    forms = sorted(names, key=len, reverse=True)
    alternatives = (r"\s+".join(re.escape(word) for word in name.split()) for name in forms)
    return rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)"


def sex_of(member: Character, book: Book) -> str | None:
    """Returns "he" or "she": by a title, or by the pronouns that follow the name."""
    for name in member.names:
        for word in name.lower().replace(".", "").split():
            if word in SEX_OF_WORD:
                return SEX_OF_WORD[word]
    pronouns = "|".join(word for word in SEX_OF_WORD if word.startswith(("h", "she")))
    pattern = re.compile(rf"{pattern_of(member.names)}[^.;:!?A-Z\"“”]{{0,60}}?\b({pronouns})\b")
    counts = Counter(
        SEX_OF_WORD[match[1]]
        for paragraphs in book.chapters
        for paragraph in paragraphs
        for match in pattern.finditer(paragraph)
    )
    [(sex, count)] = counts.most_common(1) or [("", 0)]
    is_plain = count >= max(MIN_PRONOUNS, MIN_PRONOUN_SHARE * counts.total())
    return sex if is_plain else None


def present_people(book: Book) -> list[set[str]]:
    """Returns for each chapter the names of those who are named in it, and of its "I".

    A person is named by any name of the cast's list; by that name without its title, or by a word
    that no other name of the cast has, unless a title that the person does not have stands before
    it. A street or house of the same name is none of these.
    """
    words_of = {
        member.name: {word for name in member.names for word in name.split() if word[:1].isupper()}
        for member in book.attribution.cast
    }
    shared = Counter(word for words in words_of.values() for word in words)
    patterns = {}
    for member in book.attribution.cast:
        titled = pattern_of(member.names)
        untitled = [
            " ".join(word for word in name.split() if word.lower().rstrip(".") not in TITLES)
            for name in member.names
        ]
        own_words = [
            word
            for word in words_of[member.name]
            if shared[word] == 1 and word.lower().rstrip(".") not in TITLES
        ]
        bare = pattern_of([name for name in (*untitled, *own_words) if name])
        titles = {title for title in TITLES_BEFORE if title in " ".join(member.names).split()}
        other_titles = set(TITLES_BEFORE) - titles if titles else set()
        no_other_title = "".join(rf"(?<!\b{re.escape(title)}\s)" for title in sorted(other_titles))
        flags = re.IGNORECASE if member.name[:1].islower() else 0
        named = rf"(?:{titled}|{no_other_title}{bare})(?!{PLACE_AFTER})"
        patterns[member.name] = re.compile(named, flags)
    first_persons: dict[int, Counter[str]] = {}
    for row, subject in book.tag_subjects():
        if subject == "i" and row.speaker:
            first_persons.setdefault(row.chapter, Counter())[row.speaker] += 1
    usual = sum(first_persons.values(), Counter[str]()).most_common(1)
    present = []
    for number, (title, paragraphs) in enumerate(zip(book.titles, book.chapters, strict=True)):
        text = "\n".join((title, *paragraphs))
        present.append({name for name, pattern in patterns.items() if pattern.search(text)})
        narration = re.sub(r"[\"“][^\"“”]*[\"”]?", "", text).split()
        if narration.count("I") >= MIN_FIRST_PERSON_SHARE * len(narration):
            chapter_first_person = first_persons.get(number, Counter()).most_common(1) or usual
            present[-1] |= {name for name, _ in chapter_first_person}
    return present


def suspects(book: Book) -> list[str]:
    """Returns the speakers whose names mostly stand where those of places do."""
    text = "\n".join(paragraph for paragraphs in book.chapters for paragraph in paragraphs)
    speakers = {row.speaker for row in book.spoken}
    results = []
    for member in book.attribution.cast:
        if member.name in speakers:
            name = pattern_of(member.names)
            uses = len(re.findall(name, text))
            as_place = len(re.findall(f"{PLACE_BEFORE}{name}|{name}{PLACE_AFTER}", text))
            if uses and as_place >= MIN_PLACE_SHARE * uses:
                results.append(member.name)
    return results


def swapped(book: Book) -> list[int]:
    """Returns the lengths of exchanges that have their two speakers swapped, in quotations."""
    assert book.folder is not None
    score = load_score(book.folder.parent)
    rows = book.attribution.quotations
    texts = [book.text(row)[row.quotation.start : row.quotation.stop] for row in rows]
    annotation = annotation_of(score, book.folder, book.attribution.cast, texts)
    turns = sorted(
        (annotation.votes[number].most_common(1)[0][0], speaker)
        for number, _, _, speaker, _ in annotation.quotes
        if annotation.votes[number]
    )
    runs: list[list[str]] = [[]]  # annotated speakers of quotations given to the other one
    pair: set[str] = set()
    for (index, speaker), (next_index, _) in pairwise([*turns, (len(rows) - 1, "")]):
        decided = annotation.names.get(rows[index].speaker or "")
        if (
            decided is None
            or decided == speaker
            or {speaker, decided} != (pair or {speaker, decided})
        ):
            runs.append([])
            pair = set()
        if decided not in (None, speaker):
            runs[-1].append(speaker)
            pair = {speaker, decided}
        here, after = rows[index], rows[next_index]
        gap = after.quotation.paragraph - here.quotation.paragraph
        if here.chapter != after.chapter or gap > 2:
            runs.append([])
            pair = set()
    return [len(run) for run in runs if len(run) >= MIN_SWAPPED and len(set(run)) == 2]


def describe(book: Book, howler: Howler) -> str:
    """A howler with its paragraph and the one before, to be read by a person."""
    row, paragraphs = howler.row, book.chapters[howler.row.chapter]
    number, quotation = row.quotation.paragraph, row.quotation
    text = paragraphs[number]
    marked = (
        f"{text[: quotation.start]}>>{text[quotation.start : quotation.stop]}<<"
        f"{text[quotation.stop :]}"
    )
    before = paragraphs[number - 1] if number else ""
    decision = (
        f"{howler.kind}: {row.speaker} ({howler.speaker_sex}; by {row.by}, {row.certainty:.2f})"
    )
    return (
        f"[{book.name}, chapter {row.chapter + 1}] {decision}\n"
        f"    {before[-300:]}\n    {marked[:900]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Lines in voices that cannot be theirs.")
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("--thing", action="append", default=[], help="one of the cast: no person")
    parser.add_argument("--sample", type=int, default=0, help="howlers to print")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    columns = ("absent", "sex", "thing")
    print(f"{'book':<34}{'cast':>6}{'pieces':>8}", *(f"{column:>8}" for column in columns), sep="")
    results: dict[str, dict[str, object]] = {}
    every: list[tuple[Book, Howler]] = []
    for path in options.books:
        book = read(path)
        book_howlers = howlers(book, options.thing)
        counts = Counter(howler.kind for howler in book_howlers)
        every += ((book, howler) for howler in book_howlers)
        figures = {column: counts[column] for column in columns}
        results[book.name] = {
            "cast": len(book.attribution.cast),
            "pieces": len(book.spoken),
            **figures,
        }
        cells = "".join(f"{count:>8}" for count in figures.values())
        print(f"{book.name:<34}{len(book.attribution.cast):>6}{len(book.spoken):>8}{cells}")
        print(f"    cast: {', '.join(member.name for member in book.attribution.cast)}")
        print(f"    suspects: {', '.join(suspects(book)) or 'none'}", flush=True)
        if book.folder:
            lengths = swapped(book)
            results[book.name]["swapped"] = lengths
            print(f"    swapped: {len(lengths)} exchanges, {sum(lengths)} quotations")
    for book, howler in random.Random(options.seed).sample(every, min(options.sample, len(every))):
        print(f"\n{describe(book, howler)}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
