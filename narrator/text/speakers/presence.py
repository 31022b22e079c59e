"""Tells who is present in each chapter: whoever is named in it, and its narrator who says "I".

Nobody else is a candidate there, so that people of one story do not speak in another. Knows nothing
of turns and tags; a tag names its speaker, who is then present.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from narrator.text.speakers.mentions import Passage

_MIN_FIRST_PERSON_SHARE = 0.01
"""Share of "I" among the words of a chapter's narration from which its narrator is present."""


def find_first_person_chapters(passages: Sequence[Passage]) -> frozenset[int]:
    """Returns the chapters in which the narrator says "I"."""
    first_person_counts, word_counts = Counter[int](), Counter[int]()
    for passage in passages:
        first_person_counts[passage.chapter] += sum(
            mention.kind == "self" for mention in passage.mentions
        )
        word_counts[passage.chapter] += len(passage.words) if not passage.pieces else 0
    return frozenset(
        chapter
        for chapter, count in first_person_counts.items()
        if count >= max(1, _MIN_FIRST_PERSON_SHARE * word_counts[chapter])
    )


def count_present(
    passages: Sequence[Passage], people: frozenset[int], narrators: Sequence[int | None]
) -> defaultdict[int, Counter[int]]:
    """Returns for each chapter those of the people who are present, with the number of their
    mentions. `narrators` are those of the passages."""
    present: defaultdict[int, Counter[int]] = defaultdict(Counter)
    ambiguous: list[tuple[int, frozenset[int]]] = []
    for passage in passages:
        for mention in passage.mentions:
            named = people.intersection(mention.characters)
            if len(named) > 1:
                ambiguous.append((passage.chapter, named))
            else:
                present[passage.chapter].update(named)
    first_person_chapters = find_first_person_chapters(passages)
    for chapter, narrator in dict.fromkeys(
        (passage.chapter, narrators[passage.number]) for passage in passages
    ):
        if narrator in people and chapter in first_person_chapters:
            present[chapter][narrator] += 1
    known = {chapter: frozenset(counts) for chapter, counts in present.items()}
    for chapter, named in ambiguous:
        # "Doctor" is the one who is named there otherwise, if anybody is
        present[chapter].update(named & known.get(chapter, frozenset()) or named)
    return present
