"""The description of an engine that the manifest needs, before the engine is made or loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import PrivateAttr, ValidationError

from narrator.engines import Engine, LanguageSupport
from narrator.engines.models import Family, Model
from narrator.engines.voice import Cast, Voice
from narrator.errors import UsageError, nearest
from narrator.installation import install_command
from narrator.settings import Strict


class EngineSettings(Strict):
    """The key `engine` of a manifest: its settings of one engine."""

    name: str = ""
    _other_keys: tuple[str, ...] = PrivateAttr(())

    @property
    def other_keys(self) -> tuple[str, ...]:
        """Keys in the manifest that only other engines have."""
        return self._other_keys


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The places of a project that an engine uses."""

    root: Path | None
    """The folder that relative paths in its settings start from."""
    cache: Path
    """The folder of encoded references."""
    load_identity_record: Callable[[], object] = dict
    """Reads the `Engine.identity_record` of an earlier run."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineModel:
    """The model that an engine loads on this machine."""

    family: Family
    find: Callable[
        [EngineSettings, Path | None, Callable[[str], None]], Iterable[tuple[str, Model]]
    ]
    """Finds the models that an engine with these settings would load, each with the name of its
    setting; relative folders start from the path."""
    time_step: Callable[[Path], float] | None = None
    """Returns the seconds in which this machine prepares and runs one step of the model at a path,
    with its sizes but without its weights. Raises whatever stops it."""
    unguarded: Mapping[str, Any] = field(default_factory=dict)
    """Parameters with which the model alone decides where speech ends."""
    speed_limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Device -> speed that one chunk alone and eight side by side can reach at best, as a multiple
    of real time: arithmetic, not measured."""


class EngineSpec(LanguageSupport, ABC):
    """One kind of engine. The defaults are those of an engine without settings or voices."""

    title: ClassVar[str]
    """Its name in messages."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Modules that it needs besides the base installation; the extra of its name has them."""
    cpu_seconds: ClassVar[float | None] = None
    """Seconds that one processor core takes for a second of speech, as measured on some machine;
    None where a CPU is too slow, or none is needed."""
    settings: ClassVar[type[EngineSettings]] = EngineSettings
    """The model of `engine` in the manifest."""
    chapter_settings: ClassVar[tuple[str, ...]] = ()
    """Names of the settings that a chapter can override."""
    voice: ClassVar[type[Strict] | None] = None
    """The model of the key under a speaker that has the engine's name, if the engine has voices of
    its own."""
    voices: ClassVar[Mapping[str, Voice]] = MappingProxyType({})
    """Its built-in voices by name, as far as they are known without a model."""
    spelled_scripts: ClassVar[frozenset[str]] = frozenset()
    """Scripts whose characters it names one by one within text of another script."""
    can_design_voices: ClassVar[bool] = True
    """Whether it can cast a voice from a description alone."""
    runs_on_clusters: ClassVar[bool] = True
    """Whether a cluster can speak with it instead of this machine."""
    model: ClassVar[EngineModel | None] = None
    """None where it loads no model on this machine."""

    @abstractmethod
    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        """Makes an engine; reports slow steps to `tell`. Raises EngineUnavailable."""

    @abstractmethod
    def sample_rate(self, settings: EngineSettings) -> int:
        """Hz, unless a model turns out to have another rate."""

    def missing_packages(self, settings: EngineSettings) -> str:
        """Names the packages that are not installed, and the command that installs them; "" where
        none is missing."""
        missing = [name.replace("_", "-") for name in self.packages if find_spec(name) is None]
        if not missing:
            return ""
        return f"{self.title} needs {', '.join(missing)}: {install_command(self.name)}"

    def problems(self, settings: EngineSettings, voices: Cast) -> Iterable[str]:
        """Returns messages on what keeps it from speaking at all, or from speaking a cast."""
        return ()

    def cast(self, people: Sequence[Voice], language: str, cast: Cast) -> Mapping[str, Any]:
        """Chooses voices for new people of a cast, given in the order of how much they speak.

        Returns by name the value that the manifest gets under the engine's name; empty for an
        engine without voices of its own."""
        return {}

    def unsupported(self, settings: EngineSettings) -> Mapping[str, str]:
        """Returns advice on each part of a manifest that it cannot use: settings by their names,
        `style`, `reference` and `description` of voices, `chain.` with a mode that was chosen,
        `chain.mode` where none was."""
        return {}

    def imitates(self, settings: EngineSettings) -> bool:
        """Returns whether its voices imitate recordings."""
        return "reference" not in self.unsupported(settings)

    def cost(self, settings: EngineSettings, characters: int) -> str | None:
        """Describes the price of so many characters that are sent elsewhere; "" if it is unknown,
        None if none are sent."""
        return None

    def parse_overrides(self, assignments: Iterable[str]) -> dict[str, Any]:
        """Parses settings of a command line: "cfg=2.5". Raises UsageError."""
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
