"""What is known of an engine before it is made, and without its code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from narrator.engines import Engine
from narrator.engines.models import Family, Model
from narrator.engines.voice import Cast
from narrator.errors import UsageError, nearest
from narrator.settings import Strict


class EngineSettings(Strict):
    """What speaks, and how. Parameters that an engine does not have are ignored by it."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class EngineHome:
    """Where an engine finds and keeps what belongs to a project."""

    root: Path | None
    """What relative paths of its settings are looked for under."""
    cache: Path
    """The folder of encoded references."""
    remembered: Callable[[], object] = dict
    """Gives what `Engine.identity_record` gave in an earlier run, as read from a file."""


Make = Callable[[EngineSettings, EngineHome, Callable[[str], None]], Engine]
"""Makes an engine; what takes long is told. Raises EngineUnavailable."""


def _nothing_refused(settings: EngineSettings, voices: Cast) -> Iterable[str]:
    return ()


def _nothing_unasked(settings: EngineSettings) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class EngineModel:
    """What an engine loads that speaks on this machine."""

    title: str
    """As people call it."""
    family: Family
    found: Callable[
        [EngineSettings, Path | None, Callable[[str], None]], Iterable[tuple[str, Model]]
    ]
    """What an engine of these settings would load, each with the name of its setting; a relative
    folder is looked for under the path."""
    tried: Callable[[Path], float]
    """Seconds in which this machine makes a step of the model at a path ready, and runs it: of its
    sizes, with no weights. Raises whatever stops it."""
    unguarded: Mapping[str, Any]
    """Parameters of speech that ends where the model ends it."""
    floor: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Device -> how many times faster than speech it can be at best, one chunk alone and eight side
    by side: arithmetic, not measured."""
    lacking: Callable[[], str] = lambda: ""
    """What must be installed for it first, in words."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine as the manifest knows it."""

    name: str
    settings: type[EngineSettings]
    """Of `engine` in the manifest."""
    overrides: type[Strict]
    """Of `engine` in a chapter: the settings that a chapter may have of its own."""
    voice: type[Strict] | None
    """Of the engine's name in a speaker, where the engine has voices of its own."""
    sample_rate: Callable[[EngineSettings], int]
    """Hz, as long as no model says otherwise."""
    speaks: Callable[[str], bool]
    """As `Engine.speaks`."""
    spells: frozenset[str]
    """Alphabets of which it names letter by letter what stands within lines of another."""
    make: Make
    refused: Callable[[EngineSettings, Cast], Iterable[str]] = _nothing_refused
    """What keeps it from speaking at all, or from speaking a cast, in words."""
    unasked: Callable[[EngineSettings], Mapping[str, str]] = _nothing_unasked
    """What of a manifest it cannot be asked for, and what is done or to do about it: settings by
    their names, `style`, `reference` and `description` of voices, `chain.` with a mode that was
    chosen, `chain.mode` where none was."""
    casts: bool = True
    """Whether a description is enough for it to speak: then it casts the voices that have one."""
    travels: bool = True
    """Whether other machines can speak with it in place of this one."""
    model: EngineModel | None = None
    """None where it is not MLX that speaks."""
    cost: Callable[[EngineSettings, int], str] | None = None
    """What so many characters cost, in words, where they are sent elsewhere; "" where nobody knows.
    """

    def own(self, settings: EngineSettings) -> EngineSettings:
        """Settings of a manifest as this engine has them: without those of others, and with its own
        defaults for what is not set."""
        names = settings.model_fields_set & self.settings.model_fields.keys()
        set_here = {name: getattr(settings, name) for name in names}
        return self.settings.model_validate({**set_here, "name": self.name})

    def typed(self, written: Iterable[str]) -> dict[str, Any]:
        """Overrides as a command line has them: "cfg=2.5". Raises UsageError."""
        names = list(self.overrides.model_fields)
        values: dict[str, str] = {}
        for setting in written:
            name, _, value = setting.partition("=")
            if name not in names or not value:
                guess = nearest(name, names)
                known = f"it has {', '.join(names)}" if names else "it has none to set"
                hint = f"did you mean '{guess}=…'?" if guess and guess != name else known
                raise UsageError(f"'{setting}' sets nothing of the engine {self.name}; {hint}")
            values[name] = value
        try:
            settings = self.overrides.model_validate_strings(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise UsageError(f"{name}={values[name]}: {first['msg'].lower()}") from None
        return settings.model_dump(exclude_unset=True)
