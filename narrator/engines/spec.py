"""An engine as the manifest knows it, before it is made and without its code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from pydantic import PrivateAttr, ValidationError

from narrator.engines import Engine, LanguageSupport
from narrator.engines.models import Family, Model
from narrator.engines.voice import Cast, Voice
from narrator.errors import UsageError, nearest
from narrator.installation import install_command
from narrator.settings import Strict


class EngineSettings(Strict):
    """What speaks, and how."""

    name: str = ""
    _other_keys: tuple[str, ...] = PrivateAttr(())

    @property
    def other_keys(self) -> tuple[str, ...]:
        """Keys of the manifest that only other engines have."""
        return self._other_keys


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What an engine finds and keeps in a project."""

    root: Path | None
    """The folder that relative paths of its settings start from."""
    cache: Path
    """The folder of encoded references."""
    load_identity_record: Callable[[], object] = dict
    """Reads what `Engine.identity_record` returned in an earlier run."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineModel:
    """The model that an engine loads on this machine."""

    family: Family
    find: Callable[
        [EngineSettings, Path | None, Callable[[str], None]], Iterable[tuple[str, Model]]
    ]
    """The models that an engine of these settings would load, each with the name of its setting;
    relative folders start from the path."""
    time_step: Callable[[Path], float] | None = None
    """Seconds in which this machine prepares and runs one step of the model at a path, by its sizes
    and without its weights. Raises whatever stops it."""
    unguarded: Mapping[str, Any] = field(default_factory=dict)
    """Parameters with which speech ends where the model ends it."""
    speed_limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Device -> times real time that one chunk alone and eight side by side can reach at best:
    arithmetic, not measured."""


class EngineSpec(LanguageSupport, ABC):
    """One kind of engine. The defaults are those of an engine without settings or voices."""

    title: ClassVar[str]
    """Its name in messages."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Modules that it needs here beside those of the base installation; the extra of its name has
    them."""
    cpu_seconds: ClassVar[float | None] = None
    """Seconds in which one processor core makes a second of speech, as measured somewhere; None
    where a CPU is too slow, or none is needed."""
    settings: ClassVar[type[EngineSettings]] = EngineSettings
    """The model of `engine` in the manifest."""
    chapter_settings: ClassVar[tuple[str, ...]] = ()
    """Names of the settings that a chapter may have of its own."""
    voice: ClassVar[type[Strict] | None] = None
    """The model of the engine's name in a speaker, where the engine has voices of its own."""
    voice_names: ClassVar[Collection[str]] = ()
    """Names that `voice` can choose, as far as they are known without a model."""
    spelled_scripts: ClassVar[frozenset[str]] = frozenset()
    """Scripts whose characters it names one by one within text of another script."""
    can_design_voices: ClassVar[bool] = True
    """Whether it speaks from a description alone, and so can cast voices."""
    runs_on_clusters: ClassVar[bool] = True
    """Whether other machines can speak with it in place of this one."""
    model: ClassVar[EngineModel | None] = None
    """None where it loads none here."""

    @abstractmethod
    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        """Makes an engine, and tells what takes long. Raises EngineUnavailable."""

    @abstractmethod
    def sample_rate(self, settings: EngineSettings) -> int:
        """Hz, as long as no model says otherwise."""

    def missing_packages(self, settings: EngineSettings) -> str:
        """The packages that it needs here first, and the command that installs them; "" where
        nothing is missing."""
        missing = [name.replace("_", "-") for name in self.packages if find_spec(name) is None]
        if not missing:
            return ""
        return f"{self.title} needs {', '.join(missing)}: {install_command(self.name)}"

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        """What keeps it from speaking at all, or from speaking a cast."""
        return ()

    def cast(self, people: Sequence[Voice], language: str, cast: Cast) -> Mapping[str, Any]:
        """By name, what the manifest says under the engine's name of new people in a cast, those of
        whom most is heard first; nothing of an engine that has no voices to choose from."""
        return {}

    def unsupported(self, settings: EngineSettings) -> Mapping[str, str]:
        """What of a manifest it cannot use, and what happens or helps instead: settings by their
        names, `style`, `reference` and `description` of voices, `chain.` with a mode that was
        chosen, `chain.mode` where none was."""
        return {}

    def cost(self, settings: EngineSettings, characters: int) -> str | None:
        """What so many characters cost, in words, where they are sent elsewhere; "" where nobody
        knows. None where they are not sent."""
        return None

    def parse_overrides(self, assignments: Iterable[str]) -> dict[str, Any]:
        """Settings from a command line: "cfg=2.5". Raises UsageError."""
        names = self.chapter_settings
        values: dict[str, str] = {}
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            if name not in names or not value:
                guess = nearest(name, names)
                known = f"it has {', '.join(names)}" if names else "it has none to set"
                hint = f"did you mean '{guess}=…'?" if guess and guess != name else known
                raise UsageError(f"'{assignment}' sets nothing of the engine {self.name}; {hint}")
            values[name] = value
        try:
            settings = self.settings.model_validate_strings(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise UsageError(f"{name}={values[name]}: {first['msg'].lower()}") from None
        return settings.model_dump(exclude_unset=True)
