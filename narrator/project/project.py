"""A project: a validated manifest, with its folder and everything that follows from its values.

Knows the shape of a project and the paths of its files, nothing of the text of chapters.
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
from narrator.project.other_engine import require_known_engine
from narrator.project.place import manifest_stem
from narrator.project.profiles import Profile
from narrator.project.schema import (
    ChapterSettings,
    Manifest,
    Speaker,
)
from narrator.project.yaml import Loc, line_of
from narrator.text.normalize.lexicon import LexiconEntry

SHARED_VOICE_NAME = re.compile(r"(other )*(women|men|others)( [2-9])?")
"""Matches the names of shared voices, which play characters with names."""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a valid manifest."""

    path: Path
    """The manifest's file."""
    build: Path
    """The folder of renders, ignored by git."""
    manifest: Manifest
    lines: Mapping[Loc, int]
    """Line numbers of the manifest's values, by location."""
    unseen: tuple[tuple[str, Path, int, int], ...] = ()
    """Invisible characters in texts of the manifest, each with the file, the line of its first
    place, and the number of places."""
    other_engine: str = ""
    """The engine that speaks in place of the manifest's, or ""."""
    own_manifest: Manifest | None = None
    """The manifest with its own engines, if another speaks."""
    remarks: tuple[Problem, ...] = ()
    """Valid values of the manifest that were perhaps meant otherwise."""
    _listed: list[tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """Cache of the chapters and their locations."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def takes(self) -> Path:
        """The folder of the store."""
        return self.build / "store"

    @property
    def stem(self) -> str:
        """As `place.manifest_stem` of its manifest."""
        return manifest_stem(self.path)

    def spoken_by(self, engine: str) -> Project:
        """The project with everything spoken by this engine, or by its own if the name is "".

        Raises UsageError for an unknown engine.
        """
        own = self.own_manifest or self.manifest
        if engine:
            require_known_engine(engine)
        manifest = own.spoken_by(engine) if engine else own
        if manifest is own:
            return dataclasses.replace(self, manifest=own, own_manifest=None, other_engine="")
        return dataclasses.replace(self, manifest=manifest, own_manifest=own, other_engine=engine)

    @property
    def engine(self) -> EngineSettings:
        return self.manifest.engine

    def engine_of(self, speaker: str) -> EngineSettings:
        """The engine settings of a speaker: its own or the book's, with the speaker's overrides."""
        speaker_engine = self.speakers[speaker].engine
        if speaker_engine is None:
            return self.engine
        if speaker_engine.name != self.engine.name:
            return speaker_engine
        return self.engine.model_copy(update=speaker_engine.model_dump(exclude_unset=True))

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """The cast and the characters that it plays.

        A manifest without speakers has a single one, "narrator".
        """
        return self.manifest.cast or {"narrator": Speaker()}

    def voice_of(self, name: str) -> str:
        """The speaker with the voice of somebody in the cast: themselves, or who plays them."""
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
        names = list(self.manifest.speakers)
        return names[0] if len(names) == 1 else None

    @property
    def has_nested_voices(self) -> bool:
        """True if those who speak within a tale have their own voices."""
        return self.manifest.dialogue.nested == "voices"

    @property
    def first_person(self) -> str | None:
        """The speaker who says "I" in the narration, if there is one."""
        configured_name = self.manifest.dialogue.first_person
        if configured_name is None and self.manifest.speakers and self.narrator != "narrator":
            return self.narrator
        return self.main_name(configured_name)

    @property
    def chapter_first_persons(self) -> Mapping[int, str]:
        """The speakers who say "I" in the narration of chapters that name one, by the chapter's
        index in `chapters`."""
        names = ((n, self.main_name(c.first_person)) for n, c in enumerate(self.chapters))
        return {number: name for number, name in names if name is not None}

    def main_name(self, name: str | None) -> str | None:
        """The name in the cast of a speaker given by name or alias; if there is none, as given."""
        cast = self.manifest.cast
        names_with_alias = (main for main, speaker in cast.items() if name in speaker.aliases)
        return name if name in cast else next(names_with_alias, name)

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
        """The manifest's chapters, between the spoken credits if there are any."""
        return self._chapters()[0]

    @property
    def numbered(self) -> list[int]:
        """The indices in `chapters` of the chapters in the manifest, without credits."""
        return [index for index, loc in enumerate(self._chapters()[1]) if loc[0] == "chapters"]

    def chapter_loc(self, number: int) -> Loc:
        """The location of a chapter in the manifest."""
        return self._chapters()[1][number]

    def _chapters(self) -> tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]:
        if not self._listed:
            located_chapters = self._with_credits()
            chapters, places = zip(*located_chapters, strict=True)
            self._listed.append((chapters, places))
        return self._listed[0]

    def _with_credits(self) -> list[tuple[ChapterSettings, Loc]]:
        """The chapters and the spoken credits around them, with their places in the manifest."""
        located_chapters: list[tuple[ChapterSettings, Loc]] = [
            (chapter, ("chapters", index)) for index, chapter in enumerate(self.manifest.chapters)
        ]
        credit_settings = self.manifest.credits
        if credit_settings is None:
            return located_chapters
        speaker = credit_settings.speaker or self.narrator or ""
        opening, closing = credits(self)
        if opening is not None:
            lines = ({speaker: opening},)
            opening_chapter = ChapterSettings(title=credit_settings.opening_title, lines=lines)
            located_chapters.insert(0, (opening_chapter, ("credits", "opening")))
        if closing is not None:
            lines = ({speaker: closing},)
            closing_chapter = ChapterSettings(title=credit_settings.closing_title, lines=lines)
            located_chapters.append((closing_chapter, ("credits", "closing")))
        return located_chapters

    @property
    def deliveries(self) -> tuple[Profile, ...]:
        """The profiles to deliver: each in its own folder, or one made from `output`."""
        output = self.manifest.output
        if output.profile is not None:
            return tuple(map(self.profile, output.profile))
        if isinstance(output.loudness, str):
            base_profile = profiles.LOUDNESS[output.loudness]
        else:
            base_profile = dataclasses.replace(profiles.PLAIN_PROFILE, loudness=output.loudness)
        output_profile = dataclasses.replace(
            base_profile,
            formats=output.formats,
            files=output.files,
            true_peak=base_profile.true_peak if output.true_peak is None else output.true_peak,
            bitrate=output.bitrate,
            sample_rate=output.sample_rate,
            channels=output.channels,
            room_tone=output.room_tone,
            book_name=output.name,
        )
        return (output_profile,)

    def profile(self, name: str) -> Profile:
        """A profile by name, the project's own or a platform's. Raises KeyError."""
        settings = self.manifest.profiles.get(name)
        if settings is None:
            return profiles.PROFILES[name]
        return profiles.custom_profile(name, settings.base, settings.changes)

    def line(self, *loc: str | int) -> int | None:
        """The line of a value in the manifest, or of the nearest one around it."""
        return line_of(self.lines, loc)


def credits(project: Project) -> tuple[str | None, str | None]:
    """The opening and closing credits as script text, with facts filled in and escaped.

    None for credits that are not spoken. Raises KeyError for an unknown fact, and LookupError with
    its name for one that the manifest does not have.
    """
    credit_settings = project.manifest.credits
    if credit_settings is None:
        return None, None
    facts = project.facts.in_credits()

    def format_fact(match: re.Match[str]) -> str:
        if not facts[match[1]]:
            raise LookupError(match[1])
        return re.sub(r"([\\`*_{}\[\]<>#:|&~])", r"\\\1", facts[match[1]])

    def fill_template(template: str | None) -> str | None:
        if template is None:
            return None
        text = re.sub(r"\{(\w+)\}", format_fact, template)
        return re.sub(r"^(\d+)([.)])|^([-+])", r"\1\\\2\3", text)  # no list begins here

    return fill_template(credit_settings.opening), fill_template(credit_settings.closing)
