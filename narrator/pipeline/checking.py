"""What a render would refuse or say of a book, found without an engine.

Writes nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from narrator.cast import presets
from narrator.characters import quoted
from narrator.delivery import demands, layout
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSettings, EngineSpec
from narrator.errors import (
    EngineUnavailable,
    ManifestError,
    Problem,
    UserError,
)
from narrator.importers.doubts import Shape, doubts
from narrator.importers.project import waiting
from narrator.pipeline.bookengines import is_here, kinds_of, settings_of
from narrator.pipeline.bookplan import chain_rules
from narrator.pipeline.manuscript import (
    Manuscript,
    Speaks,
    main_language,
    oddities,
    spoken_by,
    unspoken,
)
from narrator.project.project import Project
from narrator.speech.hearing import choosing
from narrator.speech.plan import Utterance
from narrator.text.sentences import primary

_MOST_SILENT = 20
"""Parts without a sound that are named."""


def check(manuscript: Manuscript, tell: Callable[[str], None]) -> Manuscript:
    """All that a render would refuse and that no engine is needed to see; what a render would say
    of the manuscript.

    What is odd about text, languages or a voice's clip is told. Raises ManifestError (output),
    UserError (clips).
    """
    project = manuscript.project
    draft, drafts = ENGINES["draft"], kinds_of(project, draft=True)
    kinds = kinds_of(project, draft=False)
    texts = (*oddities(manuscript, draft.spelled_scripts), *doubts(_shapes(manuscript)))
    for odd in (*project.remarks, *texts, *waiting(project.path)):
        tell(str(odd))
    if kinds != drafts:
        for lacking in _lacking(manuscript, kinds, "`narrator render`"):
            tell(str(lacking))
    for lacking in _lacking(manuscript, drafts, "`narrator render --draft`"):
        tell(str(lacking))
    for silent in without_sound(manuscript, draft=False):
        tell(str(silent))
    shapes = demands.shapes(project, manuscript.spoken)
    for unasked in (*not_asked(manuscript, draft=False), *unheard(manuscript)):
        tell(str(unasked))
    rate = _rate_before(manuscript)
    demands.check_output(project, rate, shapes)
    if cost := stereo_cost(manuscript, rate):
        tell(cost)
    if refused := list(_refused(manuscript)):
        raise ManifestError(refused)
    problems: list[Problem] = []
    for voice in manuscript.cast.values():
        try:
            presets.reference_of(voice, project.manifest.language, tell)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return spoken_by(manuscript, _asked(kinds))


def _refused(manuscript: Manuscript) -> Iterator[Problem]:
    """What keeps engines from speaking their parts of the cast."""
    project = manuscript.project
    for settings, names in _parts(project).items():
        voices = {name: manuscript.cast[name] for name in names}
        others = all(project.speakers[name].engine is not None for name in names)
        loc = ("speakers", project.voice_of(names[0]), "engine") if others else ("engine",)
        for said in ENGINES[settings.name].problems(settings, voices):
            whose = next((name for name in names if said.startswith(f"{name}: ")), None)
            place = ("speakers", project.voice_of(whose)) if whose else loc
            yield Problem(project.path, project.line(*place), said)


def _parts(project: Project) -> Mapping[EngineSettings, Sequence[str]]:
    """Who of the cast is spoken by engines of the same settings."""
    found: dict[EngineSettings, list[str]] = {}
    for name, settings in settings_of(project, draft=False).items():
        found.setdefault(settings, []).append(name)
    return found


def _rate_before(manuscript: Manuscript) -> int:
    """Hz of a book, as long as no model says otherwise."""
    settings = settings_of(manuscript.project, draft=False)
    saying = {one.chunk.speaker for one in manuscript.spoken} or settings.keys()
    return max(ENGINES[settings[name].name].sample_rate(settings[name]) for name in saying)


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An engine that cannot be asked here: it may speak anything."""

    name: str

    def speaks(self, language: str) -> bool:
        return True

    def language_advice(self, language: str) -> str:
        return ""

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        return True


def _asked(kinds: Mapping[str, EngineSpec]) -> Mapping[str, Speaks]:
    here = {kind.name: kind for kind in kinds.values() if is_here(kind)}
    return {name: here.get(kind.name, _Unknown(kind.name)) for name, kind in kinds.items()}


def _lacking(
    manuscript: Manuscript, kinds: Mapping[str, EngineSpec], way: str
) -> Iterator[Problem]:
    """What engines, by speaker, would leave out or refuse for its language; `way` asks them."""
    main, asked = main_language(manuscript), _asked(kinds)
    saying = {u.chunk.speaker for u in manuscript.spoken if primary(u.language) == primary(main)}
    silent = {asked[s].name: asked[s] for s in saying if not asked[s].speaks(main)}
    for name, engine in silent.items():
        yield Problem(
            manuscript.project.path,
            manuscript.project.line("language"),
            f"{way} will refuse this book: its main language, “{main}”, is none of the engine's "
            f"({name}){engine.language_advice(main)}",
        )
    for problem in unspoken(spoken_by(manuscript, asked)):
        yield replace(problem, message=f"{way}: {problem.message}")


def without_sound(manuscript: Manuscript, *, draft: bool) -> Iterator[Problem]:
    """What of a text has no sound in an engine that speaks it, each once, at its first place."""
    kinds = kinds_of(manuscript.project, draft=draft)
    first: dict[tuple[str, str], Utterance] = {}
    places: Counter[tuple[str, str]] = Counter()
    for one in manuscript.spoken:
        kind = kinds[one.chunk.speaker]
        for text in kind.silent_parts(one.spoken.text, one.language, one.spoken.pronunciations):
            first.setdefault((kind.title, text), one)
            places[kind.title, text] += 1
    for (title, text), count in places.most_common(_MOST_SILENT):
        chunk = first[title, text].chunk
        piece = next((piece for piece in chunk.pieces if text in piece.text), chunk.pieces[0])
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        yield Problem(
            piece.line.path,
            piece.line.number_at(piece.start + max(0, piece.text.find(text))),
            f"“{quoted(text, 30)}” is left out{more}: {title} has no sound for it; "
            "{written|spoken} says what to say instead",
        )


def not_asked(manuscript: Manuscript, *, draft: bool) -> Iterator[Problem]:
    """What the manifest asks for that its engines cannot be asked, each once, with what to do."""
    project, parts = manuscript.project, _parts(manuscript.project)
    # neither a draft nor another engine is what the manifest speaks of
    if project.other_engine or (draft and project.has_draft):
        return
    cannot = {settings: ENGINES[settings.name].unsupported(settings) for settings in parts}
    found: dict[str, Problem] = {}
    for settings, names in parts.items():
        for name, wish in _wishes(manuscript, settings, names).items():
            if said := _why_not(settings, name, cannot[settings]):
                found.setdefault(f"{wish.said}: {said}", wish.problem(project, said))
    for name, wish in _chapters_wishes(project).items():
        why = [_why_not(settings, name, cannot[settings]) for settings in parts]
        if (said := why[0]) and all(why):
            found.setdefault(f"{wish.said}: {said}", wish.problem(project, said))
    yield from found.values()


def unheard(manuscript: Manuscript) -> Iterator[Problem]:
    """Languages of a book that is to be heard which what listens does not know; nothing where that
    is not here, as whoever needs it says."""
    project = manuscript.project
    with contextlib.suppress(EngineUnavailable):
        ear = choosing.ear_of(project.manifest.checks, project.root)
        said = Counter(primary(one.language) for one in manuscript.spoken)
        lost = {tongue: count for tongue, count in said.items() if ear and not ear.hears(tongue)}
        if ear and ear.recogniser and lost:
            names, count = ", ".join(sorted(lost)), sum(lost.values())
            yield Problem(
                project.path,
                project.line("checks"),
                f"checks: {ear.recogniser.title} does not know {names}: {count} of {said.total()} "
                "chunks pass unheard; name another `recogniser`",
            )


def _why_not(settings: EngineSettings, name: str, cannot: Mapping[str, str]) -> str | None:
    """Why an engine cannot be asked for something, and what is done or to do; None where it can."""
    if name in cannot or "." in name or name in _OF_VOICES:
        return cannot.get(name)
    if name in type(settings).model_fields:
        return None
    others = [kind.name for kind in ENGINES.values() if name in kind.settings.model_fields]
    has = "has" if len(others) == 1 else "have"
    return (
        f"the engine {settings.name} has no such setting, and goes without; "
        f"{' and '.join(others)} {has} it"
    )


_OF_VOICES = ("style", "reference", "description")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a manifest sets, as it is spelled there, and its first line where that is known."""

    said: str
    line: int | None

    def problem(self, project: Project, why: str) -> Problem:
        return Problem(project.path, self.line, f"{self.said}: {why}")


def _wishes(
    manuscript: Manuscript, settings: EngineSettings, names: Sequence[str]
) -> dict[str, _Wish]:
    """What a manifest sets of an engine, by the names of `EngineSpec.unsupported`, for its part of
    the cast."""
    project = manuscript.project
    found: dict[str, _Wish] = {}
    if settings.name == project.engine.name:
        for name in _keys_set(project.engine):
            found[name] = _Wish(f"engine.{name}", project.line("engine", name))
    for speaker in names:
        own, loc = project.speakers[speaker].engine, ("speakers", project.voice_of(speaker))
        for name in _keys_set(own) if own else ():
            said = f"speakers.{loc[1]}.engine.{name}"
            found.setdefault(name, _Wish(said, project.line(*loc, "engine", name)))
    for speaker in names:
        voice = manuscript.cast[speaker]
        for name in _OF_VOICES:
            if getattr(voice, name):
                line = project.line("speakers", voice.speaker)
                found.setdefault(name, _Wish(name, line))
    for name, wish in _wishes_of_chunks(manuscript, names):
        found.setdefault(name, wish)
    return found


def _keys_set(settings: EngineSettings) -> list[str]:
    """What a manifest sets of an engine, and of others beside it."""
    return sorted({*settings.model_fields_set, *settings.other_keys} - {"name"})


def _wishes_of_chunks(manuscript: Manuscript, names: Sequence[str]) -> Iterator[tuple[str, _Wish]]:
    """Styles, and how takes carry over, where these have anything to say."""
    project = manuscript.project
    own = [one for one in manuscript.spoken if one.chunk.speaker in names]
    if any(one.chunk.style for one in own):
        yield "style", _Wish("style", None)
    for place in sorted({(one.chapter, one.chunk.speaker) for one in own}):
        mode = chain_rules(project, *place).mode if _sets_mode(project, *place) else "mode"
        yield f"chain.{mode}", _Wish(f"chain.{mode}", project.line("chain", "mode"))


def _chapters_wishes(project: Project) -> dict[str, _Wish]:
    """What chapters set of engines; what some engine of the book can be asked is for that one."""
    found: dict[str, _Wish] = {}
    for number in project.numbered:
        loc = project.chapter_loc(number)
        for name in sorted(project.chapters[number].engine.keys):
            found.setdefault(name, _Wish(f"engine.{name}", project.line(*loc, "engine", name)))
    return found


def _sets_mode(project: Project, chapter: int, speaker: str) -> bool:
    """Whether the author chose how takes carry over there."""
    own = project.chapters[chapter].chain.mode or project.speakers[speaker].chain.mode
    return own is not None or "mode" in project.manifest.chain.model_fields_set


def _shapes(manuscript: Manuscript) -> list[Shape]:
    """The chapters that the manifest lists, as a listener meets them."""
    seconds = dict.fromkeys(range(len(manuscript.chapters)), 0.0)
    for one in manuscript.spoken:
        seconds[one.chapter] += 0.0 if one.with_before else one.expected
    shapes = []
    for number in manuscript.project.numbered:
        chapter = manuscript.chapters[number]
        lines = (line for scene in chapter.scenes for line in scene.lines)
        first = takewhile(lambda line: line.heading, lines)
        headings = sum(not (line.goes_on or line.with_before) for line in first)
        shapes.append(Shape(chapter.title, seconds[number], headings))
    return shapes


def stereo_cost(manuscript: Manuscript, rate: int) -> str | None:
    """What it costs that music makes a book stereo, in words; None where nothing does.

    Raises ManifestError, StorageError.
    """
    project = manuscript.project
    channels = layout.channels_of(project, [one.chunk for one in manuscript.spoken])
    seconds = demands.seconds_of(project, demands.shapes(project, manuscript.spoken))
    return demands.stereo_cost(project, rate, channels, seconds)
