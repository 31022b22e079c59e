"""The origin of a sound, as its file states it: IPTC's digital source type, and the engines.

The one place that decides which type a sound has. Knows nothing of takes, files and formats.

https://cv.iptc.org/newscodes/digitalsourcetype/

IPTC's definitions since 2024: `compositeWithTrainedAlgorithmicMedia` is for media that a model
edited; a mix of which a model made a part is `compositeSynthetic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from narrator.engines import Engine

VOCABULARY = "http://cv.iptc.org/newscodes/digitalsourcetype/"
"""The URI of a type is this with the type's name; IPTC writes it with http."""
SYNTHETIC_TYPES = frozenset(
    "trainedAlgorithmicMedia compositeWithTrainedAlgorithmicMedia compositeSynthetic".split()
)
"""Types of sound that a trained model made, or had a part in."""
MARK_FORM = 2
"""The form in which files hold their mark. A higher number has all of them written again; files of
form 1 have neither XMP nor keywords."""
_TYPE_TAG = "digitalSourceType"
"""Name of the tag with the type, as schema.org and C2PA spell it."""
_ENGINE_TAG = "speechEngine"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a sound; by default unknown."""

    engines: tuple[str, ...] = ()
    """Public names of the engines that speak in it, in alphabetical order."""
    is_trained: bool = False
    """True where a trained model speaks in it."""
    is_ruled: bool = False
    """True where an engine without a model, which follows rules, speaks in it."""
    has_music: bool = False
    """True where music or another recording is mixed with its speech."""

    @property
    def source_type(self) -> str:
        """The name of IPTC's digital source type; "" for a sound of unknown origin."""
        if self.is_trained:
            is_mixed = self.has_music or self.is_ruled
            return "compositeSynthetic" if is_mixed else "trainedAlgorithmicMedia"
        if self.is_ruled:
            return "composite" if self.has_music else "algorithmicMedia"
        return ""

    @property
    def mark(self) -> dict[str, str]:
        """The tags that state it; empty for a sound of unknown origin."""
        if not self.source_type:
            return {}
        engines = ", ".join(self.engines)
        return {_TYPE_TAG: VOCABULARY + self.source_type, _ENGINE_TAG: engines}


def provenance(engines: Iterable[Engine], *, has_music: bool) -> Provenance:
    """Returns the origin of speech of these engines, with or without music."""
    speaking = tuple(engines)
    return Provenance(
        tuple(sorted({engine.public_name for engine in speaking})),
        any(engine.is_trained for engine in speaking),
        any(not engine.is_trained for engine in speaking),
        has_music,
    )


def combine(parts: Iterable[Provenance]) -> Provenance:
    """Returns the origin of a file with several sounds."""
    sounds = tuple(parts)
    return Provenance(
        tuple(sorted({name for sound in sounds for name in sound.engines})),
        any(sound.is_trained for sound in sounds),
        any(sound.is_ruled for sound in sounds),
        any(sound.has_music for sound in sounds),
    )


def as_comment(mark: Mapping[str, str]) -> str:
    """Returns a mark as one text, for formats whose tags have fixed names."""
    return "; ".join(f"{name}: {text}" for name, text in mark.items())


def as_xmp(mark: Mapping[str, str]) -> str:
    """Returns an XMP packet with the source type of a mark, in the property that IPTC defines for
    it."""
    return (
        '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about=""'
        ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"'
        f' Iptc4xmpExt:DigitalSourceType="{mark[_TYPE_TAG]}"/>'
        '</rdf:RDF></x:xmpmeta><?xpacket end="r"?>'
    )


def read_mark(tags: Mapping[str, str]) -> dict[str, str]:
    """Returns the mark in the tags of a file, whose names are in lower case; empty for none."""
    names = (_TYPE_TAG, _ENGINE_TAG)
    mark = {name: tags[name.casefold()] for name in names if tags.get(name.casefold())}
    for text in (tags.get("comment", ""), tags.get("keywords", "")):
        match = re.search(rf"\b{_TYPE_TAG}: (\S+); {_ENGINE_TAG}: (.+)", text)
        if not mark and match:
            return dict(zip(names, match.groups(), strict=True))
    return mark


def source_type(mark: Mapping[str, str]) -> str:
    """Returns the name of the digital source type in a mark; "" for none, and for what IPTC's
    vocabulary cannot hold."""
    uri = mark.get(_TYPE_TAG, "")
    # some write it with https
    match = re.fullmatch(rf"{VOCABULARY.replace('http:', 'https?:')}(\w+)", uri)
    return match[1] if match else ""


def engines_of(mark: Mapping[str, str]) -> str:
    """Returns the engines that a mark names, as one text."""
    return mark.get(_ENGINE_TAG, "")


def describe(mark: Mapping[str, str]) -> str:
    """Describes a mark for people; "none" for none."""
    if not mark:
        return "none"
    type_name = source_type(mark) or mark.get(_TYPE_TAG) or "no source type"
    return ", ".join(filter(None, (type_name, engines_of(mark))))
