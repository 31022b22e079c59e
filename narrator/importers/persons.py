"""The list of a play's persons, and the cast that its labels make.

Knows names and rows of text, not blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from narrator.importers.book import PrintedSpeaker
from narrator.importers.labels import is_capitals, key_of, may_name, ordinary

_LISTED = re.compile(
    r"(?:the )?(?:dramatis person(?:ae|æ|s)|persons? (?:in|of|represented in) the play|"
    r"persons? represented|(?:the )?characters(?: (?:in|of) the play)?|cast of characters|"
    r"list of characters|the cast|personen|die personen|personnages|les personnages|personaggi|"
    r"personas|personajes|personagens|personer|personerna|действующие лица|действующія лица|лица)",
    re.IGNORECASE,
)
_NAMED = re.compile(r",|[—–({}:;\[]| - |\.(?:\s*$|\s+(?=[a-z]))|\s{3,}")
"""What stands between a person's name and what is said of him."""
_NAME = re.compile(r"(?:(?:[^\W\d_]{1,4}\.|[\w’'&/-]+)(?:[^\S\n]+|$)){1,6}")
_TITLE = re.compile(
    r"(?:the\s+)?(?:(?P<she>lady|mrs|ms|miss|mme|madame|mlle|frau|fräulein|queen|princess|duchess|countess|"
    r"baroness|nurse)|mr|lord|sir|monsieur|herr|king|prince|duke|count|earl|baron)\b",
    re.IGNORECASE,
)
_SEX = re.compile(
    r"\b(?:(?P<she>wife|daughter|mother|sister|aunt|niece|widow|queen|princess|duchess|countess|"
    r"girl|maid|woman|lady|governess|grandmother|gattin|tochter|mutter|schwester|königin|magd|"
    r"femme|fille|mère|sœur|soeur|suivante|servante|жена|дочь|мать|сестра|служанка)|"
    r"husband|son|father|brother|uncle|nephew|king|prince|duke|earl|boy|man|gentleman|manservant|"
    r"butler|footman|grandfather|gatte|sohn|vater|bruder|könig|mari|fils|père|frère|valet|"
    r"муж|сын|отец|брат|слуга)\b(?![’']s)",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:to|of|for|with|and|de|des|du|von|und|et|и)\b|[’']s\b", re.IGNORECASE)
"""After it stands another person than the one who is described."""


def is_list(text: str) -> bool:
    """Whether a line heads a list of persons: `DRAMATIS PERSONÆ`, `Действующие лица`."""
    return bool(_LISTED.fullmatch(" ".join(text.split()).strip(" .:_*—-[]")))


@dataclass(frozen=True, slots=True)
class Persona:
    """One of a list of persons."""

    name: str
    pronoun: str | None = None


def listed(rows: Iterable[str]) -> Iterator[Persona]:
    """Those that the rows of such a list begin with: `Ophelia, daughter to Polonius`."""
    for row in rows:
        bare = row.strip(" _*")
        named = _NAMED.search(bare)
        begin = bare[: named.start()] if named else bare
        name = " ".join(begin.split()).strip(" _*")
        found = _NAME.fullmatch(name)
        if found and may_name(name) and not (name.isupper() and not is_capitals(name)):
            yield Persona(name, pronoun_of(name, bare[len(begin) :]))


def pronoun_of(name: str, described: str) -> str | None:
    """What a name's title or the first word of kinship or sex after it says: she, he."""
    title = _TITLE.match(name)
    found = title or next(
        (word for word in _SEX.finditer(described) if not _OF.search(described[: word.start()])),
        None,
    )
    if found is None:
        return None
    return "she" if found["she"] else "he"


def cast_of(printed: Mapping[str, str], persons: Iterable[Persona]) -> tuple[PrintedSpeaker, ...]:
    """The cast that labels make, in their order: key -> as printed.

    A label that shortens the name of one person of the list, and of no other, is an alias.
    """
    people = {key_of(person.name): person for person in persons}
    whole: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for key, name in printed.items():
        person = _shortened(key, people)
        main = key if person is None else person
        whole.setdefault(main, ordinary(name if person is None else people[person].name))
        if main != key:
            others.setdefault(main, []).append(ordinary(name.rstrip(" .")))
    return tuple(
        PrintedSpeaker(name, tuple(others.get(key, ())), _pronoun(key, people))
        for key, name in whole.items()
    )


def _pronoun(key: str, people: Mapping[str, Persona]) -> str | None:
    """That of the person with a name, or of the only one whose name it is a part of."""
    if key in people:
        return people[key].pronoun
    words = set(key.split())
    meant = [person for name, person in people.items() if words <= set(name.split())]
    return meant[0].pronoun if len(meant) == 1 else None


def _shortened(key: str, people: Iterable[str]) -> str | None:
    """The one person whose name a label shortens: `ham` is `hamlet`."""
    people = list(people)
    if any(key in (person, *person.split()) for person in people):
        return None
    meant = [person for person in people if _shortens(key.split(), person.split())]
    return meant[0] if len(meant) == 1 else None


def _shortens(short: Sequence[str], whole: Sequence[str]) -> bool:
    bare = [word.strip(".") for word in short]
    return (
        len(bare) == len(whole)
        and bare != list(whole)
        and all(len(b) > 1 and w.startswith(b) for b, w in zip(bare, whole, strict=True))
        and " ".join(whole) != f"{' '.join(bare)}s"
    )


def joined(casts: Iterable[PrintedSpeaker]) -> tuple[PrintedSpeaker, ...]:
    """The cast of several texts, each speaker once."""
    known: dict[str, PrintedSpeaker] = {}
    for speaker in casts:
        before = known.setdefault(key_of(speaker.name), speaker)
        names = tuple(dict.fromkeys((*before.aliases, *speaker.aliases)))
        pronoun = before.pronoun or speaker.pronoun
        known[key_of(speaker.name)] = PrintedSpeaker(before.name, names, pronoun)
    return tuple(known.values())
