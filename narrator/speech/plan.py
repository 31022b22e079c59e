"""Turns chunks into chains of steps, and tells which takes fit them. Pure.

A step stands for one take. Its key is the hash of its recipe: everything that can change its
samples, and its parent's key. File names, titles, positions, pauses and loudness are not in it.
Starts no engine and reads no disk: takes are looked up by a function.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from narrator import keys
from narrator.engines import Engine
from narrator.engines.voice import Cast, Mode, Voice
from narrator.errors import UserError
from narrator.speech.store import Record
from narrator.text import chunks, pace
from narrator.text.chunks import Chunk, ChunkTargets
from narrator.text.lines import Chapter, OmittedText, Scene, SpokenForm, last_source_lines
from narrator.text.memo import LastValues
from narrator.text.normalize import AUTHORS_RULES, Lexicon, SpokenText, normalize

SILENT_REASON = "nothing to speak"
"""Reason for leaving out a line of punctuation alone."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A chunk at its place in the book, with the text for the engine."""

    id: str
    """Chapter and position in it, "3.12": for people; changes when text is inserted."""
    chapter: int
    scene: int
    """Counted through the book."""
    chunk: Chunk
    spoken: SpokenText
    expected: float
    """Seconds of speech."""

    @property
    def language(self) -> str:
        return self.chunk.language

    @property
    def with_before(self) -> bool:
        return self.chunk.with_before


@dataclass(frozen=True, slots=True)
class Step:
    """One take to render."""

    key: str
    utterance: Utterance
    engine: str
    """Name of the engine that speaks it."""
    voice: Voice
    style: str | None
    parameters: Mapping[str, Any]
    seed: int
    mode: Mode
    """The form of the request, provided that the parent's take exists."""
    parent: str | None
    """Key of the step whose take this take continues."""
    recipe: Mapping[str, Any]
    """Everything that the key hashes."""
    place_hash: str
    """Hash of engine, speaker, spoken text and the text before it. Pins refer to it."""
    text_hash: str
    """Hash of the same without the text before it: identifies text that occurs once in a book."""
    pinned: bool = False
    """True if the author chose the take; the key is then the key of that take."""
    after_pinned: bool = False
    """True if the author chose the parent's take."""
    take_speed: float = 1.0
    """The voice's speed if the engine applies it itself, else 1."""

    @property
    def id(self) -> str:
        return self.utterance.id

    @property
    def chapter(self) -> int:
        return self.utterance.chapter

    @property
    def chunk(self) -> Chunk:
        return self.utterance.chunk

    @property
    def text(self) -> str:
        """Spoken text."""
        return self.utterance.spoken.text

    @property
    def language(self) -> str:
        return self.utterance.language

    @property
    def with_before(self) -> bool:
        return self.chunk.with_before

    @property
    def expected(self) -> float:
        """Seconds of the take."""
        return self.utterance.expected / self.take_speed

    @property
    def stretch(self) -> float:
        """Factor by which the take is sped up for playback."""
        return self.voice.speed / self.take_speed

    def played_seconds(self, take: Record | None) -> float:
        """Seconds of its speech at its speaker's speed: of its take, or the expected ones."""
        return (take.seconds if take else self.expected) / self.stretch


@dataclass(frozen=True, slots=True)
class ChainRules:
    """Rules for the chains of a speaker."""

    mode: str = "anchored"
    """"anchored", "continuation" or "reference" (no prompts)."""
    max_chunks: int = 8


@dataclass(frozen=True, slots=True)
class EngineParameters:
    """A chapter's engine parameters, as far as the engine's sound depends on them."""

    parameters: Mapping[str, Any]
    seed: int


def sound_parameters_of(engine: Engine, settings: Mapping[str, Any]) -> EngineParameters:
    """Returns the settings of an engine that change its sound."""
    sound_settings = {name: settings[name] for name in engine.sound_parameters if name in settings}
    seed = sound_settings.pop("seed", 0)
    return EngineParameters(sound_settings, seed)


_ChunkFacts = tuple[str, str, str, tuple[SpokenForm, ...], bool]
"""Everything of a chunk that its spoken text depends on, besides the lexicon."""


@dataclass(frozen=True, slots=True)
class _ReadChunk:
    """The spoken text of a chunk, with what the lexicon had a part in."""

    spoken: SpokenText
    expected: float
    lexicon: Lexicon
    lexicon_texts: Sequence[str]
    """The texts that the lexicon was asked about."""


@dataclass(frozen=True, slots=True)
class _CutChapter:
    """The scenes of a chapter, cut into utterances."""

    scenes: tuple[Scene, ...]
    """The scenes that the chunks were cut from; the chunks refer to the same line objects."""
    spoken: Sequence[Utterance]
    """Without ids and chapter numbers yet; scenes are counted within the chapter."""
    left_out: Sequence[OmittedText]
    chunks: Mapping[_ChunkFacts, _ReadChunk] = field(compare=False)


_PlacedChapter = tuple[tuple[Utterance, ...], Chapter]
"""The utterances of a chapter at their place in the book, and the chapter with what is left out."""


@dataclass(frozen=True, slots=True)
class SpokenChapters:
    """What `make_utterances` made last of each chapter."""

    lexicon: LastValues[Lexicon] = field(default_factory=LastValues)
    cut: LastValues[_CutChapter] = field(default_factory=LastValues)
    placed: LastValues[_PlacedChapter] = field(default_factory=LastValues)


class TooLong(UserError):
    """A text takes longer to speak than allowed."""


def make_utterances(
    chapters: Sequence[Chapter],
    *,
    lexicon: Lexicon,
    separate_lines: bool = False,
    targets: ChunkTargets = ChunkTargets(),  # noqa: B008  # frozen
    known: SpokenChapters | None = None,
    max_seconds: float = math.inf,
) -> tuple[tuple[Utterance, ...], tuple[Chapter, ...]]:
    """Returns all chunks of a book in reading order with their spoken text, and the chapters.

    `separate_lines` and `targets` are passed to `chunks.cut_scene`; `known` holds what was made of
    the chapters last. The returned chapters list the lines that are left out because they have
    nothing to say ("…" between two speakers).

    Raises TooLong for a chapter of more than `max_seconds` seconds of speech, before it is fully
    normalised.
    """
    known = known or SpokenChapters()
    lexicon = known.lexicon.get("", lexicon.entries, lambda: lexicon)
    book_utterances: list[Utterance] = []
    book_chapters: list[Chapter] = []
    scene_count = 0
    reader = _ChunkReader(lexicon)
    for index, chapter in enumerate(chapters):
        last_cut = known.cut.last(index)
        known_chunks = {} if last_cut is None else last_cut.chunks
        if not all(map(reader.reads_alike, known_chunks.values())):
            known.cut.forget(index)
        cut_chapter = known.cut.get(
            index,
            (chapter.scenes, last_source_lines(chapter), separate_lines, targets, max_seconds),
            partial(
                _cut_scenes,
                chapter.scenes,
                reader,
                known_chunks,
                partial(chunks.cut_scene, separate_lines=separate_lines, targets=targets),
                max_seconds,
            ),
        )
        utterances, complete_chapter = known.placed.get(
            index,
            (cut_chapter, chapter, scene_count),
            partial(_place_chapter, index, scene_count, chapter, cut_chapter),
        )
        scene_count += len(chapter.scenes)
        book_utterances += utterances
        book_chapters.append(complete_chapter)
    return tuple(book_utterances), tuple(book_chapters)


def _place_chapter(
    index: int, scene_count: int, chapter: Chapter, cut_chapter: _CutChapter
) -> _PlacedChapter:
    """Returns the utterances of a chapter after `scene_count` scenes of earlier ones."""
    utterances = tuple(
        replace(
            utterance, id=f"{index + 1}.{n}", chapter=index, scene=scene_count + utterance.scene
        )
        for n, utterance in enumerate(cut_chapter.spoken, 1)
    )
    left_out = (*chapter.left_out, *cut_chapter.left_out)
    return utterances, replace(chapter, scenes=cut_chapter.scenes, left_out=left_out)


@dataclass(frozen=True, slots=True)
class _ChunkReader:
    """Normalises chunks."""

    lexicon: Lexicon
    _new_probes: dict[int, Sequence[str]] = field(default_factory=dict)
    """By the id of an earlier lexicon: letters of which each text has some that this lexicon may
    read in another way."""

    def read(self, chunk: Chunk, known_chunks: Mapping[_ChunkFacts, _ReadChunk]) -> _ReadChunk:
        """Returns the spoken text of a chunk, from `known_chunks` where it would be the same."""
        known_chunk = known_chunks.get(_chunk_facts(chunk))
        if known_chunk is not None and self.reads_alike(known_chunk):
            return known_chunk
        with self.lexicon.noting_texts() as lexicon_texts:
            spoken = normalize(
                chunk.text,
                language=chunk.language,
                speaker=chunk.speaker,
                lexicon=self.lexicon,
                says=[(say.start, say.stop, say.spoken) for say in chunk.spoken_forms],
                heading=bool(chunk.pieces[0].line.heading),
            )
        expected = pace.expected_seconds(spoken.text, chunk.language)
        return _ReadChunk(spoken, expected, self.lexicon, lexicon_texts)

    def reads_alike(self, chunk: _ReadChunk) -> bool:
        """Returns whether the present lexicon reads a chunk as it was read before."""
        if chunk.lexicon is self.lexicon:
            return True
        probes = self._new_probes.get(id(chunk.lexicon))
        if probes is None:
            probes = self._new_probes[id(chunk.lexicon)] = self.lexicon.new_probes(chunk.lexicon)
        return not any(probe in text for probe in probes for text in chunk.lexicon_texts)


def _chunk_facts(chunk: Chunk) -> _ChunkFacts:
    is_heading = bool(chunk.pieces[0].line.heading)
    return chunk.text, chunk.language, chunk.speaker, chunk.spoken_forms, is_heading


def _cut_scenes(
    scenes: tuple[Scene, ...],
    reader: _ChunkReader,
    known_chunks: Mapping[_ChunkFacts, _ReadChunk],
    cut_scene: Callable[[Scene], Sequence[Chunk]],
    max_seconds: float,
) -> _CutChapter:
    """Cuts the scenes of a chapter into utterances. Raises TooLong."""
    utterances: list[Utterance] = []
    read_chunks: dict[_ChunkFacts, _ReadChunk] = {}
    seconds = 0.0
    for scene_index, scene in enumerate(scenes):
        for chunk in cut_scene(scene):
            read_chunk = reader.read(chunk, known_chunks)
            read_chunks[_chunk_facts(chunk)] = read_chunk
            utterances.append(
                Utterance("", 0, scene_index, chunk, read_chunk.spoken, read_chunk.expected)
            )
            seconds += read_chunk.expected
            if seconds > max_seconds:
                raise TooLong("this would take too long to speak")
    return _CutChapter(scenes, *split_spoken(utterances, _silence_reason), read_chunks)


def _silence_reason(utterance: Utterance) -> str | None:
    """Returns the reason for leaving out an utterance without a letter or digit, or None."""
    return None if any(map(str.isalnum, utterance.spoken.text)) else SILENT_REASON


def split_spoken(
    utterances: Sequence[Utterance], reason_for: Callable[[Utterance], str | None]
) -> tuple[list[Utterance], list[OmittedText]]:
    """Separates the utterances of a chapter to speak from the lines that are left out.

    `reason_for` returns the reason for leaving an utterance out, or None.
    """
    reasons = {
        index: reason
        for index, utterance in enumerate(utterances)
        if (reason := reason_for(utterance))
    }
    if not reasons:
        return list(utterances), []
    kept_utterances = [
        utterance for index, utterance in enumerate(utterances) if index not in reasons
    ]
    kept_chunks = chunks.omit_chunks([utterance.chunk for utterance in utterances], reasons.keys())
    rejoined = [
        replace(utterance, chunk=chunk)
        for utterance, chunk in zip(kept_utterances, kept_chunks, strict=True)
    ]
    return rejoined, _left_out_entries(utterances, reasons)


def _left_out_entries(
    utterances: Sequence[Utterance], reasons: Mapping[int, str]
) -> list[OmittedText]:
    """Returns an entry for each line and reason; `reasons` are by index of the utterance.

    Text that several speakers say in unison is listed once.
    """
    entries: dict[tuple[int, str], OmittedText] = {}
    indices = iter(range(len(utterances)))
    for group in chunks.group_unison(utterances):
        left_out = [(utterance, why) for utterance in group if (why := reasons.get(next(indices)))]
        if len(left_out) == len(group):
            group_reason = "; ".join(dict.fromkeys(why for _, why in left_out))
            chunk_reasons = [(group[0].chunk, group_reason)]
        else:
            chunk_reasons = [
                (utterance.chunk, f"{why} ({utterance.chunk.speaker}'s voice; others say it)")
                for utterance, why in left_out
            ]
        for chunk, reason in chunk_reasons:
            for piece in chunk.pieces:
                line, entry_key = piece.line, (id(piece.line), reason)
                text = entries[entry_key].text + piece.text if entry_key in entries else piece.text
                is_partial = len(left_out) < len(group)
                entries[entry_key] = OmittedText(
                    line.path, line.line, text, reason, is_in_line=True, is_partial=is_partial
                )
    return list(entries.values())


@dataclass(frozen=True, slots=True)
class LinkedChapter:
    """The steps of a chapter, with everything that they depend on."""

    utterances: tuple[Utterance, ...]
    steps: tuple[Step, ...]
    speakers: Mapping[tuple[str, str], object]
    """What is set for each speaker, by name and language."""
    previous_text: str
    """Text of the step before the chapter."""
    earlier_counts: Mapping[str, int]
    """Steps before the chapter by text hash and previous text, for those that the chapter has."""
    counts: Mapping[str, int]
    """The same for the steps of the chapter."""
    with_pins: bool
    """True if the book had any pins."""
    hashes: frozenset[str]
    """The hashes by which pins may refer to its steps."""
    pins: Mapping[str, str]
    """The pins with these hashes."""
    unique_texts: Mapping[tuple[str, str], bool]
    """The pinned texts, with True for those that occur once in the book."""


def link_steps(
    utterances: Sequence[Utterance],
    *,
    cast: Cast,
    engines: Mapping[str, Engine],
    rules: Callable[[int, str], ChainRules],
    parameters: Callable[[int, str], EngineParameters],
    pins: Mapping[str, str],
    known: dict[int, LinkedChapter] | None = None,
) -> tuple[Step, ...]:
    """Links utterances into chains of steps.

    `engines` are by speaker, `rules` and `parameters` by chapter and speaker; `pins` are keys of
    chosen takes, by `Step.place_hash`, and for text that occurs once in a book by `Step.text_hash`
    and `written_text_hash`. `known` holds the chapters as they were linked last: those of which
    nothing has changed keep their steps.
    """
    text_counts = Counter(
        pair
        for utterance in (utterances if pins else ())
        for pair in {
            (utterance.chunk.speaker, utterance.spoken.text),
            (utterance.chunk.speaker, utterance.chunk.text),
        }
    )
    unique_texts = frozenset(pair for pair, count in text_counts.items() if count == 1)
    linker = _Linker(cast, engines, rules, parameters, pins, unique_texts)
    known = {} if known is None else known
    return tuple(
        step
        for number, chapter in groupby(utterances, key=attrgetter("chapter"))
        for step in linker.link_chapter(number, tuple(chapter), known)
    )


def written_text_hash(engine: str, speaker: str, written: str) -> str:
    """Returns a hash of the text of a chunk as written, whatever is spoken for it."""
    return keys.key({"engine": engine, "speaker": speaker, "written": written})


@dataclass(slots=True)
class _Linker:
    """Builds the steps of a book, scene by scene."""

    cast: Cast
    engines: Mapping[str, Engine]
    rules: Callable[[int, str], ChainRules]
    parameters: Callable[[int, str], EngineParameters]
    pins: Mapping[str, str]
    unique_texts: Collection[tuple[str, str]]
    """Pairs of speaker and text, spoken or written, that occur once in the book."""
    engine_identities: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """By the id of the engine object: two engines may share a name."""
    voice_contents: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """By speaker and language."""
    place_counts: Counter[str] = field(default_factory=Counter)
    """Steps of earlier chapters by text hash and previous text."""
    chapter_counts: Counter[str] = field(default_factory=Counter)
    """Steps of the chapter so far, likewise."""
    previous_text: str = ""
    """Text of the previous step, by any speaker."""
    previous_unison_voices: list[tuple[Any, ...]] = field(default_factory=list)
    """Voices of the current unison so far: the id of the engine, and its voice content."""
    written_hashes: set[str] = field(default_factory=set)
    """Hashes of the chapter's texts as they are written."""
    pinned_texts: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of speaker and text in the chapter that a pin refers to."""

    def link_chapter(
        self, number: int, utterances: tuple[Utterance, ...], known: dict[int, LinkedChapter]
    ) -> tuple[Step, ...]:
        """Returns the steps of a chapter: those in `known`, if nothing that they depend on has
        changed."""
        linked = known.get(number)
        if linked is None or not self._is_linked_alike(linked, number, utterances):
            linked = known[number] = self._link_chapter(number, utterances)
        self.place_counts.update(linked.counts)
        self.previous_text = linked.steps[-1].text
        return linked.steps

    def _link_chapter(self, number: int, utterances: tuple[Utterance, ...]) -> LinkedChapter:
        previous_text = self.previous_text
        self.chapter_counts = Counter()
        self.written_hashes.clear()
        self.pinned_texts.clear()
        steps = tuple(
            step
            for _, scene in groupby(utterances, key=attrgetter("scene"))
            for step in self.link_scene(list(scene))
        )
        hashes = {name for step in steps for name in (step.place_hash, step.text_hash)}
        all_hashes = frozenset(hashes | self.written_hashes)
        speakers = {(utterance.chunk.speaker, utterance.language) for utterance in utterances}
        return LinkedChapter(
            utterances,
            steps,
            self._speaker_facts(number, speakers),
            previous_text,
            {place: self.place_counts[place] for place in self.chapter_counts},
            self.chapter_counts,
            bool(self.pins),
            all_hashes,
            self._pins_among(all_hashes),
            {pair: pair in self.unique_texts for pair in self.pinned_texts},
        )

    def _is_linked_alike(
        self, last: LinkedChapter, number: int, utterances: tuple[Utterance, ...]
    ) -> bool:
        """Returns whether linking a chapter again would give the same steps."""
        return (
            last.utterances == utterances
            and last.previous_text == self.previous_text
            and all(self.place_counts[name] == n for name, n in last.earlier_counts.items())
            and (last.with_pins or not self.pins)
            and last.pins == self._pins_among(last.hashes)
            and all(
                (pair in self.unique_texts) == is_unique
                for pair, is_unique in last.unique_texts.items()
            )
            and last.speakers == self._speaker_facts(number, last.speakers)
        )

    def _pins_among(self, hashes: Collection[str]) -> dict[str, str]:
        return {name: take for name, take in self.pins.items() if name in hashes}

    def _speaker_facts(
        self, chapter: int, speakers: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], object]:
        """Returns everything that is set for speakers, by name and language."""
        return {
            (name, language): (
                engine := self.engines[name],
                self._engine_identity(engine),
                self.cast[name],
                self._voice_content(engine, name, language),
                self.rules(chapter, name),
                self.parameters(chapter, name),
            )
            for name, language in speakers
            if name in self.engines
        }

    def link_scene(self, scene: Sequence[Utterance]) -> Iterator[Step]:
        """Yields the steps of a scene in reading order."""
        rules_by_speaker = {u.chunk.speaker: self.rules(u.chapter, u.chunk.speaker) for u in scene}
        chain_heads = _chain_heads(scene, rules_by_speaker, self.engines)
        last_steps: dict[tuple[str, str], Step] = {}
        """By speaker and language."""
        occurrences: Counter[tuple[str, str | None, str]] = Counter()
        """By speaker, style and text."""
        for index, utterance in enumerate(scene):
            speaker, text = utterance.chunk.speaker, utterance.spoken.text
            engine = self.engines[speaker]
            chain_key = speaker, utterance.language
            parent = None if index in chain_heads else last_steps[chain_key]
            if parent and parent.expected + utterance.expected > engine.max_context_seconds:
                parent = None
            style = None if parent else utterance.chunk.style or self.cast[speaker].style
            occurrences[speaker, style, text] += 1 + self._count_same_voices(utterance)
            mode = _choose_mode(engine, rules_by_speaker[speaker], parent is not None, style)
            last_steps[chain_key] = self._make_step(
                utterance, parent, style, mode, occurrences[speaker, style, text]
            )
            yield last_steps[chain_key]

    def _count_same_voices(self, utterance: Utterance) -> int:
        """Counts the earlier speakers of the same unison who have the same voice, and notes this.

        Each of them needs a take of its own, or several would sound as one.
        """
        speaker = utterance.chunk.speaker
        engine = self.engines[speaker]
        voice = (id(engine), dict(self._voice_content(engine, speaker, utterance.language)))
        if not utterance.with_before:
            self.previous_unison_voices.clear()
        self.previous_unison_voices.append(voice)
        return self.previous_unison_voices.count(voice) - 1

    def _make_step(
        self,
        utterance: Utterance,
        parent: Step | None,
        style: str | None,
        mode: Mode,
        occurrence: int,
    ) -> Step:
        """Makes a step; `occurrence` counts the same text within the scene, from 1."""
        speaker, text = utterance.chunk.speaker, utterance.spoken.text
        engine, voice = self.engines[speaker], self.cast[speaker]
        engine_parameters = self.parameters(utterance.chapter, speaker)
        recipe: dict[str, Any] = {
            "format": 1,
            "engine": self._engine_identity(engine),
            "voice": self._voice_content(engine, speaker, utterance.language),
            "language": utterance.language.lower(),
            "style": style,
            "text": text,
            "parameters": engine_parameters.parameters,
            "seed": engine_parameters.seed,
            "occurrence": occurrence,
            "parent": parent.key if parent else None,
        }
        recipe |= engine.text_content(
            text, utterance.language, voice, utterance.spoken.pronunciations
        )
        if engine.clones:
            recipe["mode"] = mode
            if voice.content is None:
                recipe["cast_in"] = voice.language
        place_hash, text_hash = self._place_and_text_hash(engine, speaker, text)
        pinned_key = self.pins.get(place_hash) or self._pin_of_text(utterance, text_hash)
        if pinned_key is not None:
            parent, recipe = None, {"format": 1, "pinned": pinned_key}
        return Step(
            key=pinned_key or keys.key(recipe),
            utterance=utterance,
            engine=engine.name,
            voice=voice,
            style=style,
            parameters=engine_parameters.parameters,
            seed=engine_parameters.seed,
            mode=mode,
            parent=parent.key if parent else None,
            recipe=recipe,
            place_hash=place_hash,
            text_hash=text_hash,
            pinned=pinned_key is not None,
            after_pinned=parent is not None and parent.pinned,
            take_speed=voice.speed if engine.has_speed else 1.0,
        )

    def _pin_of_text(self, utterance: Utterance, text_hash: str) -> str | None:
        """Returns the key of the take pinned for a text that occurs once in the book.

        Its author chose it for what is written, so it stays if a newer narrator has other words for
        a figure; not if the lexicon has, which is the author's own.
        """
        if not self.pins:
            return None
        chunk, spoken = utterance.chunk, utterance.spoken
        written_hash = written_text_hash(
            self.engines[chunk.speaker].name, chunk.speaker, chunk.text
        )
        self.written_hashes.add(written_hash)
        for pinned_hash, text in ((text_hash, spoken.text), (written_hash, chunk.text)):
            if pinned_hash in self.pins:
                self.pinned_texts.add((chunk.speaker, text))
        if (chunk.speaker, spoken.text) in self.unique_texts and text_hash in self.pins:
            return self.pins[text_hash]
        if (chunk.speaker, chunk.text) not in self.unique_texts or any(
            change.rule in AUTHORS_RULES for change in spoken.changes
        ):
            return None
        return self.pins.get(written_hash)

    def _engine_identity(self, engine: Engine) -> Mapping[str, Any]:
        if id(engine) not in self.engine_identities:
            self.engine_identities[id(engine)] = engine.identity()
        return self.engine_identities[id(engine)]

    def _voice_content(self, engine: Engine, speaker: str, language: str) -> Mapping[str, Any]:
        cache_key = (speaker, language)
        if cache_key not in self.voice_contents:
            self.voice_contents[cache_key] = engine.voice_content(self.cast[speaker], language)
        return self.voice_contents[cache_key]

    def _place_and_text_hash(self, engine: Engine, speaker: str, text: str) -> tuple[str, str]:
        """Returns `Step.place_hash` and `Step.text_hash` of the next step, and notes its text."""
        text_fields: dict[str, Any] = {"engine": engine.name, "speaker": speaker, "text": text}
        text_hash = keys.key(text_fields)
        place = text_hash + self.previous_text
        self.chapter_counts[place] += 1
        nth = self.place_counts[place] + self.chapter_counts[place]
        place_hash = keys.key({**text_fields, "before": self.previous_text, "nth": nth})
        self.previous_text = text
        return place_hash, text_hash


def _choose_mode(engine: Engine, rules: ChainRules, has_parent: bool, style: str | None) -> Mode:
    """Chooses the mode of a step; never continuation with a style, which would be read aloud."""
    if not engine.clones:
        return "continuation" if has_parent else "zero-shot"
    if rules.mode == "continuation" and style is None:
        return "continuation"
    return "anchored" if has_parent else "reference"


def _chain_heads(
    scene: Sequence[Utterance],
    rules_by_speaker: Mapping[str, ChainRules],
    engines: Mapping[str, Engine],
) -> frozenset[int]:
    """Returns the indices of a scene's utterances that start a chain.

    The text decides where a chain is cut, not a count: before a chunk whose hash is the lowest
    among its neighbours, and after `max_chunks` at the latest. So an inserted paragraph moves no
    cut beyond its neighbourhood, and an edit stays small. Each language of a speaker has chains of
    its own: a prompt in another language would pass on its accent.
    """
    heads: set[int] = set()
    chains: dict[tuple[str, str], list[int]] = {}
    for index, utterance in enumerate(scene):
        chains.setdefault((utterance.chunk.speaker, utterance.language), []).append(index)
    for (speaker, _), indices in chains.items():
        chain_rules = rules_by_speaker[speaker]
        is_unchained = chain_rules.mode == "reference" or not takes_prompt(
            engines[speaker], chain_rules.mode
        )
        max_chunks = 1 if is_unchained else chain_rules.max_chunks
        is_lowest = _local_minima(
            [keys.number(scene[i].spoken.text) for i in indices], max(1, max_chunks // 4)
        )
        has_style = [bool(scene[i].chunk.style) for i in indices]
        chain_length = 0
        for n, i in enumerate(indices):
            if (
                n == 0
                or has_style[n]
                or has_style[n - 1]
                or is_lowest[n]
                or chain_length >= max_chunks
            ):
                heads.add(i)
                chain_length = 0
            chain_length += 1
    return frozenset(heads)


def takes_prompt(engine: Engine, mode: str) -> bool:
    """Returns whether an engine can take the previous take as a prompt in this mode.

    An engine that clones no voice is given nothing but the prompt.
    """
    return engine.continues and (mode == "continuation" or engine.anchors or not engine.clones)


def _local_minima(weights: Sequence[int], reach: int) -> list[bool]:
    """Returns for each weight whether it is lower than all others up to `reach` places away."""
    return [
        all(
            weight < neighbour
            for neighbour in (*weights[max(0, n - reach) : n], *weights[n + 1 : n + 1 + reach])
        )
        for n, weight in enumerate(weights)
    ]


# -- takes -----------------------------------------------------------------------------------------

FindTake = Callable[[str], Record | None]
"""Looks a take up by its step's key."""


def is_doubtful(take: Record, step: Step) -> bool:
    """Returns whether a take is delivered though it failed its checks, and no author chose it."""
    return bool(take.faults) and not step.pinned


def find_prompt_take(step: Step, find_take: FindTake) -> Record | None:
    """Returns the take that a step continues; None where it is missing or doubtful.

    Without it the step starts like a chain.
    """
    parent = find_take(step.parent) if step.parent else None
    return None if parent is None or (parent.faults and not step.after_pinned) else parent


def fits(step: Step, find_take: FindTake, reference_content: str | None) -> bool:
    """Returns whether the stored take of a step is the one that a render would make now.

    Keys name recipes, not sounds, so the parent's take and the reference must also be those that
    the take was made with. `reference_content` is that of the voice's reference, None where it is
    not cast or the engine clones no voice.
    """
    take = find_take(step.key)
    if take is None or step.pinned:
        return take is not None
    parent = find_prompt_take(step, find_take)
    has_current_voice = reference_content is None or take.voiced_by == reference_content
    return has_current_voice and take.prompted_by == (parent.content if parent else None)
