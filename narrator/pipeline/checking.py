"""Finds what a render would refuse or warn of, without an engine.

Writes nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile

from narrator.cast import presets, rights
from narrator.delivery import layout, preflight
from narrator.engines import LanguageSupport, SilentPart
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSettings, EngineSpec
from narrator.errors import (
    EngineUnavailable,
    ManifestError,
    Problem,
    UserError,
)
from narrator.importing.doubts import ChapterShape, chapter_oddities
from narrator.importing.project import pending_tasks
from narrator.installation import install_command
from narrator.pipeline.book_engines import is_available, settings_of, specs_of
from narrator.pipeline.book_plan import chain_rules
from narrator.pipeline.manuscript import (
    Manuscript,
    find_oddities,
    find_unspoken,
    leave_out_unspeakable,
    lexicon_of,
    main_language,
)
from narrator.project import shops
from narrator.project.project import Project
from narrator.quantities import list_first, pluralize
from narrator.speech.hearing import choosing
from narrator.speech.plan import Utterance
from narrator.text.lines import Line
from narrator.text.normalize import east_asian
from narrator.text.normalize.typography import silent_symbols
from textbase.characters import excerpt
from textbase.languages import primary
from textbase.recognise import foreign_language


def check_manuscript(manuscript: Manuscript, tell: Callable[[str], None]) -> Manuscript:
    """Check a manuscript as far as no engine is needed, and return it as a render would speak it.

    Oddities of texts, languages and voice clips go to `tell`. Raises ManifestError (refusals of
    output or engines), UserError (clips).
    """
    project = manuscript.project
    specs, draft_specs = specs_of(project), specs_of(project.spoken_by("draft"))
    commands = {"`narrator render`": specs, "`narrator render --draft`": draft_specs}
    if specs == draft_specs:
        del commands["`narrator render`"]
    for problem in chain(
        project.remarks,
        find_oddities(manuscript, specs.values()),
        chapter_oddities(_shapes(manuscript)),
        pending_tasks(project.path),
        *(_find_gaps(manuscript, command_specs, name) for name, command_specs in commands.items()),
        find_silent_parts(manuscript),
        find_unmatched_entries(manuscript),
        find_unsupported_settings(manuscript),
        find_unrecognised_languages(manuscript),
        find_unread_figures(manuscript),
        find_unspoken_symbols(manuscript),
        find_unmarked_languages(manuscript),
        find_shop_terms(manuscript),
        find_unknown_origins(manuscript),
    ):
        tell(str(problem))
    shapes = preflight.expected_shapes(project, manuscript.spoken)
    sample_rate = _expected_sample_rate(manuscript)
    preflight.check_output(project, sample_rate, shapes)
    if cost := stereo_cost(manuscript, sample_rate):
        tell(cost)
    if refusals := list(_find_refusals(manuscript)):
        raise ManifestError(refusals)
    problems: list[Problem] = []
    for voice in manuscript.cast.values():
        try:
            presets.load_reference(voice, project.manifest.language, tell)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return leave_out_unspeakable(manuscript, _available_specs(specs))


def _find_refusals(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields the problems that keep engines from speaking their parts of the cast."""
    project = manuscript.project
    for settings, names in _names_by_settings(project).items():
        voices = {name: manuscript.cast[name] for name in names}
        have_own_engine = all(project.speakers[name].engine is not None for name in names)
        engine_location = (
            ("speakers", project.voice_of(names[0]), "engine") if have_own_engine else ("engine",)
        )
        for message in ENGINES[settings.name].problems(settings, voices):
            named_speaker = next((name for name in names if message.startswith(f"{name}: ")), None)
            location = (
                ("speakers", project.voice_of(named_speaker)) if named_speaker else engine_location
            )
            yield Problem(project.path, project.line(*location), message)


def _names_by_settings(project: Project) -> Mapping[EngineSettings, Sequence[str]]:
    """The names of the speakers of each engine, by the engine's settings."""
    names_by_settings: dict[EngineSettings, list[str]] = {}
    for name, settings in settings_of(project).items():
        names_by_settings.setdefault(settings, []).append(name)
    return names_by_settings


def _expected_sample_rate(manuscript: Manuscript) -> int:
    """The sample rate of a book in Hz, unless a model turns out to have another."""
    settings = settings_of(manuscript.project)
    speaker_names = {utterance.chunk.speaker for utterance in manuscript.spoken} or settings.keys()
    return max(ENGINES[settings[name].name].sample_rate(settings[name]) for name in speaker_names)


@dataclass(frozen=True, slots=True)
class _UnavailableEngine(LanguageSupport):
    """An engine whose packages are missing, so that it is assumed to speak everything."""

    name: str


def _available_specs(specs: Mapping[str, EngineSpec]) -> Mapping[str, LanguageSupport]:
    """The engine spec of each speaker, or a stand-in if its packages are missing."""
    available_specs = {spec.name: spec for spec in specs.values() if is_available(spec)}
    return {
        name: available_specs.get(spec.name, _UnavailableEngine(spec.name))
        for name, spec in specs.items()
    }


def _find_gaps(
    manuscript: Manuscript, specs: Mapping[str, EngineSpec], command: str
) -> Iterator[Problem]:
    """Yields what engines would leave out, or refuse because of its language.

    `specs` go by speaker; `command` is the command that uses these engines.
    """
    main_tag, engines = main_language(manuscript), _available_specs(specs)
    main_speakers = {
        utterance.chunk.speaker
        for utterance in manuscript.spoken
        if primary(utterance.language) == primary(main_tag)
    }
    unable_engines = {
        engines[speaker].name: engines[speaker]
        for speaker in main_speakers
        if not engines[speaker].speaks(main_tag)
    }
    for name, engine in unable_engines.items():
        yield Problem(
            manuscript.project.path,
            manuscript.project.line("language"),
            f"{command} will refuse this book: {name} does not speak its main language, "
            f"“{main_tag}”{engine.language_advice(main_tag)}",
        )
    for problem in find_unspoken(leave_out_unspeakable(manuscript, engines)):
        yield replace(problem, message=f"{command}: {problem.message}")


def find_silent_parts(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields the parts of a text without a sound in their engine, each once, at its first place."""
    specs = specs_of(manuscript.project)
    first_utterances: dict[tuple[str, SilentPart], Utterance] = {}
    counts: Counter[tuple[str, SilentPart]] = Counter()
    for utterance in manuscript.spoken:
        spec = specs[utterance.chunk.speaker]
        for part in spec.silent_parts(
            utterance.spoken.text, utterance.language, utterance.spoken.pronunciations
        ):
            first_utterances.setdefault((spec.title, part), utterance)
            counts[spec.title, part] += 1
    for (title, part), count in counts.most_common():
        text, pieces = part.text, first_utterances[title, part].chunk.pieces
        piece = next((piece for piece in pieces if text in piece.text), pieces[0])
        more_note = f" (and {count - 1:,} more)" if count > 1 else ""
        if part.ipa_error:
            message = f"{part.ipa_error}: the word is read as it is written{more_note}"
        else:
            message = f"“{excerpt(text, 30)}” is left out{more_note}: {title} has no sound for it; "
            message += "{written|spoken} says what to say instead"
        line_number = piece.line.source_line_at(piece.start + max(0, piece.text.find(text)))
        yield Problem(piece.line.path, line_number, message)


def find_unmatched_entries(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields one warning that lists the entries of the lexicon that match nothing in the book."""
    project = manuscript.project
    texts = (utterance.chunk.text for utterance in manuscript.spoken)
    unmatched_entries = lexicon_of(project)[0].unmatched(texts)
    if unmatched_entries:
        names = [f"“{entry.word or entry.pattern}”" for entry in unmatched_entries]
        yield Problem(
            project.path,
            project.line("lexicon"),
            f"the lexicon matches nothing with {list_first(names)}",
        )


def find_unsupported_settings(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields the settings of the manifest that its engines lack, each once, with advice."""
    project, names_by_settings = manuscript.project, _names_by_settings(manuscript.project)
    if project.other_engine:  # for which the manifest's settings are not meant
        return
    unsupported_by_settings = {
        settings: ENGINES[settings.name].unsupported(settings) for settings in names_by_settings
    }
    problems: dict[str, Problem] = {}
    for settings, names in names_by_settings.items():
        for name, setting in _settings_of_engine(manuscript, settings, names).items():
            if reason := _explain_unsupported(settings, name, unsupported_by_settings[settings]):
                problems.setdefault(
                    f"{setting.spelling}: {reason}", setting.problem(project, reason)
                )
    for name, setting in _settings_of_chapters(project).items():
        reasons = [
            _explain_unsupported(settings, name, unsupported_by_settings[settings])
            for settings in names_by_settings
        ]
        if (reason := reasons[0]) and all(reasons):
            problems.setdefault(f"{setting.spelling}: {reason}", setting.problem(project, reason))
    yield from problems.values()


def find_unread_figures(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields a problem if figures stay as written for want of a package."""
    if east_asian.is_installed():
        return
    count = sum(
        primary(utterance.language) in east_asian.LANGUAGES
        and any(map(str.isdecimal, utterance.spoken.text))
        for utterance in manuscript.spoken
    )
    if count:
        yield Problem(
            manuscript.project.path,
            manuscript.project.line("language"),
            f"Chinese or Japanese figures stay as written in {pluralize(count, 'chunk')}; to have "
            f"them in words: {install_command('figures')}",
        )


def find_unspoken_symbols(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields one problem that lists the symbols for which nothing is said."""
    counts: Counter[str] = Counter()
    places: list[Problem] = []
    for utterance in manuscript.spoken:
        for change in utterance.spoken.changes:
            symbols = list(silent_symbols(change.written, change.spoken))
            counts.update(symbols)
            if symbols and not places:
                first_piece = utterance.chunk.pieces[0].line
                places.append(Problem(first_piece.path, first_piece.line, ""))
    if counts:
        listing = ", ".join(f"{symbol} ×{n:,}" if n > 1 else symbol for symbol, n in counts.items())
        symbol = next(iter(counts))
        yield replace(
            places[0],
            message=f"nothing is said for {excerpt(listing)}; {{{symbol}|…}} says what to say",
        )


def find_unmarked_languages(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields the prose that is surely in another language than it is spoken in, each language once,
    at its first place."""
    first_lines: dict[tuple[str, str], Line] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for chapter in manuscript.chapters:
        for line in (line for scene in chapter.scenes for line in scene.lines):
            if line.is_marked or line.heading or _is_verse(line):
                continue
            if language := foreign_language(line.text, primary(line.language)):
                first_lines.setdefault((language, line.language), line)
                counts[language, line.language] += 1
    for (language, spoken_language), line in first_lines.items():
        count = counts[language, spoken_language] - 1
        more_note = f" (and {pluralize(count, 'more line')})" if count else ""
        yield Problem(
            line.path,
            line.line,
            f"“{excerpt(line.text, 30)}”{more_note} seems to be in “{language}”, and is said in "
            f"“{spoken_language}”: write [language: {language}] before and [language: off] after "
            "such lines",
        )


def _is_verse(line: Line) -> bool:
    """Returns True for a paragraph of several short lines of the source."""
    row_count = len(line.source_lines) + 1
    return row_count > 2 and len(line.text) < 50 * row_count


def find_unrecognised_languages(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields a problem if the recogniser that checks a book does not know all its languages.

    Yields nothing if the recogniser is not installed, which is reported where it is needed.
    """
    project = manuscript.project
    with contextlib.suppress(EngineUnavailable):
        recogniser = choosing.make_render_listener(project.manifest.checks, project.root)
        language_counts = Counter(primary(utterance.language) for utterance in manuscript.spoken)
        unknown_counts = {
            language: count
            for language, count in language_counts.items()
            if recogniser and not recogniser.can_judge(language)
        }
        if recogniser and recogniser.recogniser and unknown_counts:
            names, count = ", ".join(sorted(unknown_counts)), sum(unknown_counts.values())
            yield Problem(
                project.path,
                project.line("checks"),
                f"checks: {recogniser.recogniser.title} does not know {names}: {count} of "
                f"{language_counts.total()} chunks pass unheard; name another `recogniser`",
            )


def find_shop_terms(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields one warning that lists the shops of the book's profiles with terms for synthetic
    voices, which speak in every book, unless the manifest allows it."""
    project = manuscript.project
    manifest, profile_names = project.manifest, project.manifest.output.profile or ()
    if "synthetic-narration" in manifest.allow:
        return
    own_profiles = manifest.profiles
    bases = [own_profiles[n].base if n in own_profiles else n for n in profile_names]
    if terms := [
        f"{shop.name} {shop.terms} ({shop.original or shop.source})"
        for shop in shops.reserved_shops(bases)
    ]:
        yield Problem(
            project.path,
            project.line("output", "profile"),
            f"the voices are synthetic, and as of {shops.READ_ON} {'; '.join(terms)}. `allow: "
            "[synthetic-narration]` hides this warning",
        )


def find_unknown_origins(manuscript: Manuscript) -> Iterator[Problem]:
    """Yields one remark that lists the speakers whose voices imitate recordings without a noted
    origin, unless the manifest allows it."""
    project = manuscript.project
    if "unknown-origin" in project.manifest.allow:
        return
    names = sorted({utterance.chunk.speaker for utterance in manuscript.spoken})
    try:
        voices = rights.recorded_voices(project, names)
    except UserError:  # a damaged preset, which is refused where it is loaded
        return
    if unknown := [name for name, voice_rights in voices.items() if voice_rights.origin is None]:
        yield Problem(
            project.path,
            project.line("speakers", project.voice_of(unknown[0]), "voice"),
            f"the voices of {list_first(unknown)} imitate recordings whose origin is not noted: "
            "`narrator voices rights NAME --origin …` notes it for a preset, `rights: {origin: …}` "
            "beside its `reference` for a clip; `allow: [unknown-origin]` hides this remark",
        )


def _explain_unsupported(
    settings: EngineSettings, name: str, unsupported: Mapping[str, str]
) -> str | None:
    """The reason why an engine lacks a setting, with the consequence or advice; None if it has
    it."""
    if name in unsupported or "." in name or name in _VOICE_SETTINGS:
        return unsupported.get(name)
    if name in type(settings).model_fields:
        return None
    engine_names = [spec.name for spec in ENGINES.values() if name in spec.settings.model_fields]
    verb = "has" if len(engine_names) == 1 else "have"
    return (
        f"the engine {settings.name} has no such setting and ignores it; "
        f"{' and '.join(engine_names)} {verb} it"
    )


_VOICE_SETTINGS = ("style", "reference", "description")


@dataclass(frozen=True, slots=True)
class _ManifestSetting:
    """A setting in a manifest, as it is spelled there, with its first line if known."""

    spelling: str
    line: int | None

    def problem(self, project: Project, why: str) -> Problem:
        return Problem(project.path, self.line, f"{self.spelling}: {why}")


def _settings_of_engine(
    manuscript: Manuscript, settings: EngineSettings, names: Sequence[str]
) -> dict[str, _ManifestSetting]:
    """The settings that a manifest has for an engine and its speakers, by setting name.

    The names are those of `EngineSpec.unsupported`.
    """
    project = manuscript.project
    settings_by_name: dict[str, _ManifestSetting] = {}
    if settings.name == project.engine.name:
        for name in _names_of_settings(project.engine):
            settings_by_name[name] = _ManifestSetting(
                f"engine.{name}", project.line("engine", name)
            )
    for speaker in names:
        speaker_engine = project.speakers[speaker].engine
        location = ("speakers", project.voice_of(speaker))
        for name in _names_of_settings(speaker_engine) if speaker_engine else ():
            key = f"speakers.{location[1]}.engine.{name}"
            settings_by_name.setdefault(
                name, _ManifestSetting(key, project.line(*location, "engine", name))
            )
    for speaker in names:
        voice = manuscript.cast[speaker]
        for name in _VOICE_SETTINGS:
            if getattr(voice, name):
                line = project.line("speakers", voice.speaker)
                settings_by_name.setdefault(name, _ManifestSetting(name, line))
    for name, setting in _settings_of_chunks(manuscript, names):
        settings_by_name.setdefault(name, setting)
    return settings_by_name


def _names_of_settings(settings: EngineSettings) -> list[str]:
    """Names of the settings that a manifest has for this engine and for others beside it."""
    return sorted({*settings.model_fields_set, *settings.other_keys} - {"name"})


def _settings_of_chunks(
    manuscript: Manuscript, names: Sequence[str]
) -> Iterator[tuple[str, _ManifestSetting]]:
    """Yields styles and chain modes that these speakers need."""
    project = manuscript.project
    utterances = [utterance for utterance in manuscript.spoken if utterance.chunk.speaker in names]
    if any(utterance.chunk.style for utterance in utterances):
        yield "style", _ManifestSetting("style", None)
    for chapter_speaker in sorted(
        {(utterance.chapter, utterance.chunk.speaker) for utterance in utterances}
    ):
        mode = (
            chain_rules(project, *chapter_speaker).mode
            if _sets_mode(project, *chapter_speaker)
            else "mode"
        )
        yield f"chain.{mode}", _ManifestSetting(f"chain.{mode}", project.line("chain", "mode"))


def _settings_of_chapters(project: Project) -> dict[str, _ManifestSetting]:
    """The engine settings of chapters, by setting name."""
    settings_by_name: dict[str, _ManifestSetting] = {}
    for number in project.numbered:
        location = project.chapter_loc(number)
        for name in sorted(project.chapters[number].engine.keys):
            settings_by_name.setdefault(
                name, _ManifestSetting(f"engine.{name}", project.line(*location, "engine", name))
            )
    return settings_by_name


def _sets_mode(project: Project, chapter: int, speaker: str) -> bool:
    """True if the author chose the chain mode of a speaker in a chapter."""
    mode = project.chapters[chapter].chain.mode or project.speakers[speaker].chain.mode
    return mode is not None or "mode" in project.manifest.chain.model_fields_set


def _shapes(manuscript: Manuscript) -> list[ChapterShape]:
    """The expected length and number of headings of each chapter in the manifest."""
    seconds = dict.fromkeys(range(len(manuscript.chapters)), 0.0)
    for utterance in manuscript.spoken:
        seconds[utterance.chapter] += 0.0 if utterance.with_before else utterance.expected
    shapes = []
    for number in manuscript.project.numbered:
        chapter = manuscript.chapters[number]
        lines = (line for scene in chapter.scenes for line in scene.lines)
        opening_headings = takewhile(lambda line: line.heading, lines)
        heading_count = sum(
            not (line.continues_previous or line.with_before) for line in opening_headings
        )
        shapes.append(ChapterShape(chapter.title, seconds[number], heading_count))
    return shapes


def stereo_cost(manuscript: Manuscript, sample_rate: int) -> str | None:
    """Says what it costs that music makes a book stereo; None if it does not.

    Raises ManifestError, StorageError.
    """
    project = manuscript.project
    channels = layout.book_channels(project, [utterance.chunk for utterance in manuscript.spoken])
    seconds = preflight.expected_book_seconds(
        project, preflight.expected_shapes(project, manuscript.spoken)
    )
    return preflight.stereo_cost(project, sample_rate, channels, seconds)
