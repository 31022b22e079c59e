"""Learn from LitBank how much each feature counts when it is decided who speaks.

    python -m benchmarks.learn_speakers LITBANK

LITBANK is a checkout of https://github.com/dbamman/litbank (annotations under CC BY 4.0): 1,765
quotations in 100 excerpts of novels, with their speakers as clusters of mentions. Novels that
`speakers.py` measures on are left out. Weights begin at those set by hand (`prior` in
learnt.json), and stay near them where the excerpts tell little. Each quotation counts twice: once
after the right speakers of the turns before, once after those that the weights of the round before
decide on, so that the weights learn to recover from errors. Writes learnt.json; prints how many
examples were learnt from, and the share that the weights get right there.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.speakers import chapters_of  # noqa: E402
from narrator.text.quotations import quotations  # noqa: E402
from narrator.text.speakers import Character, ranking  # noqa: E402
from narrator.text.speakers.names import tokens  # noqa: E402
from narrator.text.speakers.situations import Situation, Story, read_story  # noqa: E402

MEASURED = (
    "alices_adventures emma the_awakening the_man_who_was the_picture_of_dorian howards_end "
    "anne_of_green the_invisible_man hard_times sign_of"
).split()
NEAR = 4.0
"""How strongly weights are held to those set by hand."""
ROUNDS = 3
LONGEST = 4
"""Words of a mention that may be a name."""

Example = tuple[list[ranking.Features], int]
"""The features of all candidates, and the place of the right one."""


@dataclass(frozen=True)
class Excerpt:
    """An annotated text."""

    chapters: list[list[str]]
    cast: list[Character]
    quoted_words: list[tuple[list[str], int]]
    """Words of each quotation, in order, and its speaker's place in the cast."""


def excerpts(litbank: Path) -> Iterator[Excerpt]:
    for text in sorted((litbank / "original").glob("*.txt")):
        title = text.stem.partition("_")[2]
        clusters = litbank / "coref" / "tsv" / f"{text.stem}_brat.ann"
        quotation_file = next(iter((litbank / "quotations" / "tsv").glob(f"{text.stem}*")), None)
        if title.startswith(tuple(MEASURED)) or quotation_file is None or not clusters.is_file():
            continue
        rows = [row.split("\t") for row in quotation_file.read_text(encoding="utf-8").splitlines()]
        speakers = {row[1]: row[2] for row in rows if row[0] == "ATTRIB"}
        quoted = [row for row in rows if row[0] == "QUOTE" and row[1] in speakers]
        quoted.sort(key=lambda row: (int(row[2]), int(row[3])))
        cast = _cast(clusters, set(speakers.values()))
        places = {name: place for place, name in enumerate(cast)}
        quoted_words = [
            ([t.norm for t in tokens(row[6])], places[speakers[row[1]]]) for row in quoted
        ]
        chapters = chapters_of(text.read_text(encoding="utf-8"))
        yield Excerpt(chapters, list(cast.values()), quoted_words)


def _cast(path: Path, speakers: set[str]) -> dict[str, Character]:
    """Clusters with a proper name, and those that speak, by nouns where they have no name."""
    rows = [row.split("\t") for row in path.read_text(encoding="utf-8").splitlines()]
    mentions = {row[1]: row for row in rows if row[0] == "MENTION"}
    proper: dict[str, Counter[str]] = defaultdict(Counter)
    common: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row[0] != "COREF" or mentions[row[1]][7] != "PER":
            continue
        name, kind = (
            mentions[row[1]][6].replace(" .", ".").replace(" 's", "'s"),
            mentions[row[1]][8],
        )
        if len(name.split()) <= LONGEST and kind in ("PROP", "NOM"):
            (proper if kind == "PROP" else common)[row[2]][name] += 1
    cast = {}
    for cluster in sorted({*proper, *speakers}):
        names = [name for name, _ in proper[cluster].most_common()]
        names = names or [name for name, _ in common[cluster].most_common(3)]
        character_names = names or [f"~{cluster}"]
        cast[cluster] = Character(character_names[0], tuple(character_names[1:]))
    return cast


@dataclass(frozen=True)
class Reading:
    """What is known of an excerpt before any decision, and the right decisions."""

    story: Story
    situations: Sequence[Situation]
    right: Mapping[int, int]
    """Place of a turn -> its speaker."""


def read(excerpt: Excerpt) -> Reading:
    quoted = [quotations(paragraphs, "en") for paragraphs in excerpt.chapters]
    everybody = frozenset(range(len(excerpt.cast)))
    story, book_situations = read_story(
        excerpt.chapters, quoted, excerpt.cast, everybody, language="en"
    )
    return Reading(story, book_situations, _right(book_situations, excerpt))


def decide(reading: Reading) -> dict[int, int]:
    """Returns the speakers that the present weights decide on, by the place of their turn."""
    places = {id(s.turn): place for place, s in enumerate(reading.situations)}
    return {
        places[id(decision.turn)]: -1 if decision.character is None else decision.character
        for decision in ranking.decide(reading.situations, reading.story)
    }


def examples(reading: Reading, speakers: Mapping[int, int]) -> Iterator[Example]:
    """Yields the choice at each quotation, after these speakers of the turns before."""
    right, book_situations = reading.right, reading.situations
    for place, s in enumerate(book_situations):
        if place not in right or s.continues_previous:
            continue
        chapter = s.turn.passage.chapter
        neighbours = [n for n in range(place - 8, place + 7) if 0 <= n < len(book_situations)]
        neighbours = [n for n in neighbours if book_situations[n].turn.passage.chapter == chapter]
        history = [(speakers.get(n, -1), book_situations[n]) for n in neighbours if n < place]
        ahead = [book_situations[n] for n in neighbours if n > place]
        options = ranking.candidates(s, reading.story, history, ahead)
        if right[place] in options and len(options) > 1:
            candidate_features = [
                ranking.features(s, candidate, reading.story, history, ahead)
                for candidate in options
            ]
            yield candidate_features, options.index(right[place])


def _right(book_situations: Sequence[Situation], excerpt: Excerpt) -> dict[int, int]:
    """The speaker of each turn that holds words of an annotated quotation."""
    ours = [
        (token.norm, place)
        for place, s in enumerate(book_situations)
        for piece in s.turn.pieces
        for token in tokens(s.turn.passage.text[piece.start : piece.stop])
    ]
    theirs = [(word, speaker) for words, speaker in excerpt.quoted_words for word in words]
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    matcher = SequenceMatcher(None, [w for w, _ in ours], [w for w, _ in theirs], autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        for step in range(size):
            votes[ours[a + step][1]][theirs[b + step][1]] += 1
    return {place: count.most_common(1)[0][0] for place, count in votes.items()}


def learn_weights(examples: Sequence[Example], prior: Mapping[str, float]) -> dict[str, float]:
    """The likeliest weights near those set by hand."""
    names = sorted(
        {
            *prior,
            *(name for candidates, _ in examples for features in candidates for name in features),
        }
    )
    index = {name: place for place, name in enumerate(names)}
    begin = np.array([prior.get(name, 0.0) for name in names])
    rows, columns, feature_values, owner, right = [], [], [], [], []
    for number, (candidates, answer) in enumerate(examples):
        right.append(len(owner) + answer)
        for features in candidates:
            for name, amount in features.items():
                rows.append(len(owner))
                columns.append(index[name])
                feature_values.append(amount)
            owner.append(number)
    row, column, values = np.array(rows), np.array(columns), np.array(feature_values, dtype=float)
    group, answers = np.array(owner), np.array(right)
    starts = np.searchsorted(group, np.arange(len(examples)))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.bincount(row, values * weights[column], minlength=len(group))
        scores -= np.maximum.reduceat(scores, starts)[group]
        odds = np.exp(scores) / np.add.reduceat(np.exp(scores), starts)[group]
        slope = -odds
        slope[answers] += 1
        gradient = np.bincount(column, values * slope[row], minlength=len(names))
        distance = weights - begin
        likelihood = float(np.log(odds[answers]).sum())
        return NEAR * float(distance @ distance) / 2 - likelihood, NEAR * distance - gradient

    best = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    scores = np.bincount(row, values * best[column], minlength=len(group))
    hits = [int(np.argmax(features)) for features in np.split(scores, starts[1:])]
    print(
        f"{np.mean(np.array(hits) == answers - starts):.3f} of {len(examples)} quotations are right"
    )
    return {
        name: round(float(weight), 3)
        for name, weight in zip(names, best, strict=True)
        if abs(weight) > 0.005
    }


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "original").is_dir():
        sys.exit("python -m benchmarks.learn_speakers LITBANK")
    path = Path(ranking.__file__).with_name("learnt.json")
    table = json.loads(path.read_text(encoding="utf-8"))
    prior = table["prior"]
    readings = [read(excerpt) for excerpt in excerpts(Path(sys.argv[1]))]
    after_right = [example for one in readings for example in examples(one, one.right)]
    for number in range(ROUNDS):
        ranking.learnt_tables.cache_clear()
        after_decided = [example for one in readings for example in examples(one, decide(one))]
        print(f"round {number + 1}: ", end="")
        table["weights"] = learn_weights(after_right + after_decided, prior)
        path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
