"""The list of a play's persons, and the cast that its labels make.

Knows names and rows of text, not blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from manuscripts.book import PrintedSpeaker
from manuscripts.labels import in_ordinary_case, is_capitals, key_of, may_name

_CAST_HEADING = re.compile(
    r"(?:the )?(?:dramatis person(?:ae|æ|s)|persons? (?:in|of|represented in) the play|"
    r"persons? represented|(?:the )?characters(?: (?:in|of) the play)?|cast of characters|"
    r"list of characters|the cast|personen|die personen|personnages|les personnages|personaggi|"
    r"personas|personajes|personagens|personer|personerna|действующие лица|действующія лица|лица)",
    re.IGNORECASE,
)
_NAME_END = re.compile(r",|[—–({}:;\[]| - |\.(?:\s*$|\s+(?=[a-z]))|\s{3,}")
"""Separates a person's name from the description."""
_NAME = re.compile(r"(?:(?:[^\W\d_]{1,4}\.|[\w’'&/-]+)(?:[^\S\n]+|$)){1,6}")
_TITLE = re.compile(
    r"(?:the\s+)?(?:(?P<she>lady|mrs|ms|miss|mme|madame|mlle|frau|fräulein|queen|princess|duchess|countess|"
    r"baroness|nurse)|mr|lord|sir|monsieur|herr|king|prince|duke|count|earl|baron)\b",
    re.IGNORECASE,
)
_GENDERED_WORD = re.compile(
    r"\b(?:(?P<she>wife|daughter|mother|sister|aunt|niece|widow|queen|princess|duchess|countess|"
    r"girl|maid|woman|lady|governess|grandmother|gattin|tochter|mutter|schwester|königin|magd|"
    r"femme|fille|mère|sœur|soeur|suivante|servante|жена|дочь|мать|сестра|служанка)|"
    r"husband|son|father|brother|uncle|nephew|king|prince|duke|earl|boy|man|gentleman|manservant|"
    r"butler|footman|grandfather|gatte|sohn|vater|bruder|könig|mari|fils|père|frère|valet|"
    r"муж|сын|отец|брат|слуга)\b(?![’']s)",
    re.IGNORECASE,
)
_RELATION = re.compile(r"\b(?:to|of|for|with|and|de|des|du|von|und|et|и)\b|[’']s\b", re.IGNORECASE)
"""Introduces a person other than the one described."""


def is_cast_heading(text: str) -> bool:
    """Returns whether a line heads a list of persons: `DRAMATIS PERSONÆ`, `Действующие лица`."""
    return bool(_CAST_HEADING.fullmatch(" ".join(text.split()).strip(" .:_*—-[]")))


@dataclass(frozen=True, slots=True)
class Persona:
    """An entry in a list of persons."""

    name: str
    pronoun: str | None = None


def parse_cast_list(rows: Iterable[str]) -> Iterator[Persona]:
    """Yields the persons that the rows of such a list begin with: `Ophelia, daughter to
    Polonius`."""
    for row in rows:
        bare_row = row.strip(" _*")
        name_part = _NAME_END.split(bare_row, maxsplit=1)[0]
        name = " ".join(name_part.split()).strip(" _*")
        is_shouted = name.isupper() and not is_capitals(name)
        if _NAME.fullmatch(name) and may_name(name) and not is_shouted:
            yield Persona(name, pronoun_of(name, bare_row[len(name_part) :]))


def pronoun_of(name: str, description: str) -> str | None:
    """Returns "she" or "he" by the title in a name or the first word of kinship or sex in its
    description."""
    words = _GENDERED_WORD.finditer(description)
    words_on_person = (w for w in words if not _RELATION.search(description[: w.start()]))
    gendered_match = _TITLE.match(name) or next(words_on_person, None)
    return gendered_match and ("she" if gendered_match["she"] else "he")


def build_cast(
    printed_names: Mapping[str, str], cast_list: Iterable[Persona]
) -> tuple[PrintedSpeaker, ...]:
    """Returns the cast of printed labels (key -> as printed), in their order.

    A label that abbreviates the name of exactly one listed person is an alias of that person.
    """
    persons_by_key = {key_of(person.name): person for person in cast_list}
    names: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for key, name in printed_names.items():
        person = _abbreviated_person(key, persons_by_key)
        main_key = key if person is None else key_of(person.name)
        names.setdefault(main_key, in_ordinary_case(name if person is None else person.name))
        aliases.setdefault(main_key, [])
        if main_key != key:
            aliases[main_key].append(in_ordinary_case(name.rstrip(" .")))
    return tuple(
        PrintedSpeaker(name, tuple(aliases[key]), _pronoun_of_key(key, persons_by_key))
        for key, name in names.items()
    )


def _pronoun_of_key(key: str, persons_by_key: Mapping[str, Persona]) -> str | None:
    """Returns the pronoun of the person with this name, or of the only one whose name contains
    it."""
    if key in persons_by_key:
        return persons_by_key[key].pronoun
    words = set(key.split())
    persons = [person for name, person in persons_by_key.items() if words <= set(name.split())]
    return persons[0].pronoun if len(persons) == 1 else None


def _abbreviated_person(key: str, persons_by_key: Mapping[str, Persona]) -> Persona | None:
    """Returns the only person whose name a label abbreviates: `ham` for `hamlet`."""
    if any(key in (name, *name.split()) for name in persons_by_key):
        return None
    short_words = [word.strip(".") for word in key.split()]
    persons = [
        person for name, person in persons_by_key.items() if _abbreviates(short_words, name.split())
    ]
    return persons[0] if len(persons) == 1 else None


def _abbreviates(short_words: Sequence[str], full_words: Sequence[str]) -> bool:
    is_plural = " ".join(full_words) == f"{' '.join(short_words)}s"
    if is_plural or len(short_words) != len(full_words) or short_words == full_words:
        return False
    pairs = zip(short_words, full_words, strict=True)
    return all(len(short) > 1 and full.startswith(short) for short, full in pairs)


def merge_casts(speakers: Iterable[PrintedSpeaker]) -> tuple[PrintedSpeaker, ...]:
    """Returns the cast of several texts, each speaker once."""
    speakers_by_key: dict[str, PrintedSpeaker] = {}
    for speaker in speakers:
        earlier = speakers_by_key.get(key_of(speaker.name), speaker)
        aliases = tuple(dict.fromkeys((*earlier.aliases, *speaker.aliases)))
        pronoun = earlier.pronoun or speaker.pronoun
        speakers_by_key[key_of(speaker.name)] = PrintedSpeaker(earlier.name, aliases, pronoun)
    return tuple(speakers_by_key.values())
