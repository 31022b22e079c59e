"""book.yaml -> frozen models, validated before anything runs.

All problems come in one report, each with file:line; an unknown key names the nearest valid one.
Knows the shape of a project and where its files lie, nothing of what chapter text says.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from narrator.engines.spec import EngineSettings
from narrator.errors import Problem
from narrator.project import profiles
from narrator.project.facts import BookFacts, facts_of
from narrator.project.profiles import Profile
from narrator.project.schema import (
    ChapterSettings,
    Manifest,
    Speaker,
)
from narrator.project.yaml import Loc, line_of
from narrator.text.normalize.lexicon import LexiconEntry


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a valid manifest."""

    path: Path
    """The manifest's file."""
    build: Path
    """Where renders go; git ignores it."""
    manifest: Manifest
    lines: Mapping[Loc, int]
    """Line numbers of the manifest's values, by where they stand."""
    unseen: tuple[tuple[str, Path, int, int], ...] = ()
    """Characters in texts of the manifest that cannot be seen: each with the file, the line of its
    first place, and in how many it stands."""
    other_engine: str = ""
    """The engine that speaks in place of the manifest's, or ""."""
    remarks: tuple[Problem, ...] = ()
    """What is valid in the manifest, but was perhaps meant otherwise."""
    _listed: list[tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """The chapters and their places, once they were asked for."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def takes(self) -> Path:
        """The folder of the store."""
        return self.build / "store"

    @property
    def stem(self) -> str:
        """What tells its files in `build` from those of other manifests of its folder: its name
        without an ending, unless there is one by that name that ends in .yaml."""
        twin = self.path.with_suffix(".yaml")
        alone = self.path.suffix == ".yaml" or not twin.is_file()
        return self.path.stem if alone else self.path.name

    @property
    def engine(self) -> EngineSettings:
        return self.manifest.engine

    def engine_of(self, speaker: str) -> EngineSettings:
        """What one of the cast is spoken by: the settings of its own engine, or the book's, with
        what the speaker sets over them."""
        own = self.speakers[speaker].engine
        if own is None:
            return self.engine
        if own.name != self.engine.name:
            return own
        return self.engine.model_copy(update=own.model_dump(exclude_unset=True))

    @property
    def has_draft(self) -> bool:
        """Whether a draft of it is another thing than the book: not all is spoken by the draft
        voice anyhow."""
        return any(self.engine_of(name).name != "draft" for name in self.speakers)

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """The cast, and whom it plays; a manifest without one has a single speaker, "narrator"."""
        return self.manifest.cast or {"narrator": Speaker()}

    def voice_of(self, name: str) -> str:
        """The speaker of the manifest whose voice one of the cast has: its own, or who plays it."""
        if name in self.manifest.speakers:
            return name
        players = self.manifest.speakers.items()
        return next((player for player, speaker in players if name in speaker.plays), name)

    @property
    def narrator(self) -> str | None:
        """The default speaker, if there is one."""
        if self.manifest.narrator is not None:
            return self.manifest.narrator
        if not self.manifest.speakers or "narrator" in self.manifest.speakers:
            return "narrator"
        only = list(self.manifest.speakers)
        return only[0] if len(only) == 1 else None

    @property
    def first_person(self) -> str | None:
        """Who says "I" in the narration, if anybody does."""
        told = self.manifest.dialogue.first_person
        if told is None and self.manifest.speakers and self.narrator != "narrator":
            return self.narrator
        cast = self.manifest.cast
        called = (name for name, who in cast.items() if told in who.aliases)
        return told if told in cast else next(called, told)

    @property
    def lexicon(self) -> tuple[LexiconEntry, ...]:
        lexicon = self.manifest.lexicon
        if isinstance(lexicon, tuple):
            return lexicon
        return tuple(LexiconEntry(word=word, say=say) for word, say in lexicon.items())

    @property
    def facts(self) -> BookFacts:
        return facts_of(self.manifest, self.root)

    @property
    def chapters(self) -> tuple[ChapterSettings, ...]:
        """The manifest's chapters, between the spoken credits where there are any."""
        return self._chapters()[0]

    @property
    def numbered(self) -> list[int]:
        """The places in `chapters` of those that the manifest lists: credits left out."""
        return [n for n, loc in enumerate(self._chapters()[1]) if loc[0] == "chapters"]

    def chapter_loc(self, number: int) -> Loc:
        """Where a chapter of `chapters` stands in the manifest."""
        return self._chapters()[1][number]

    def _chapters(self) -> tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]:
        if not self._listed:
            found = self._with_credits()
            chapters, places = zip(*found, strict=True)
            self._listed.append((chapters, places))
        return self._listed[0]

    def _with_credits(self) -> list[tuple[ChapterSettings, Loc]]:
        found: list[tuple[ChapterSettings, Loc]] = [
            (chapter, ("chapters", i)) for i, chapter in enumerate(self.manifest.chapters)
        ]
        spoken = self.manifest.credits
        if spoken is None:
            return found
        speaker = spoken.speaker or self.narrator or ""
        opening, closing = credits(self)
        if opening is not None:
            lines = ({speaker: opening},)
            first = ChapterSettings(title=spoken.opening_title, lines=lines)
            found.insert(0, (first, ("credits", "opening")))
        if closing is not None:
            lines = ({speaker: closing},)
            last = ChapterSettings(title=spoken.closing_title, lines=lines)
            found.append((last, ("credits", "closing")))
        return found

    @property
    def deliveries(self) -> tuple[Profile, ...]:
        """How the book is delivered: to each profile in its own folder, or as `output` says."""
        output = self.manifest.output
        if output.profile is not None:
            return tuple(map(self.profile, output.profile))
        if isinstance(output.loudness, str):
            plain = profiles.LOUDNESS[output.loudness]
        else:
            plain = dataclasses.replace(profiles.PLAIN, loudness=output.loudness)
        own = dataclasses.replace(
            plain,
            formats=output.formats,
            files=output.files,
            true_peak=plain.true_peak if output.true_peak is None else output.true_peak,
            bitrate=output.bitrate,
            sample_rate=output.sample_rate,
            channels=output.channels,
            room_tone=output.room_tone,
            book_name=output.name,
        )
        return (own,)

    def profile(self, name: str) -> Profile:
        """A profile by name, the project's own or a platform's. Raises KeyError."""
        own = self.manifest.profiles.get(name)
        if own is None:
            return profiles.PROFILES[name]
        return profiles.custom(name, own.base, own.changes)

    def line(self, *loc: str | int) -> int | None:
        """The line of a value, or of the nearest thing around it."""
        return line_of(self.lines, loc)


def credits(project: Project) -> tuple[str | None, str | None]:
    """The opening and closing credits as text of the script, facts filled in and escaped.

    None for those that are not spoken. Raises KeyError for a fact that does not exist, and
    LookupError with its name for one that the manifest does not tell.
    """
    spoken = project.manifest.credits
    if spoken is None:
        return None, None
    facts = project.facts.in_credits()

    def value(match: re.Match[str]) -> str:
        if not facts[match[1]]:
            raise LookupError(match[1])
        return re.sub(r"([\\`*_{}\[\]<>#:|&~])", r"\\\1", facts[match[1]])

    def filled(template: str | None) -> str | None:
        if template is None:
            return None
        text = re.sub(r"\{(\w+)\}", value, template)
        return re.sub(r"^(\d+)([.)])|^([-+])", r"\1\\\2\3", text)  # no list begins here

    return filled(spoken.opening), filled(spoken.closing)
