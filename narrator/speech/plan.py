"""Chunks -> chains of steps, with the reason each will or will not be rendered; pure.

A step is one take to be had. Its key is the hash of its recipe: everything that can change its
samples, and its parent's key. File names, titles, positions, pauses and loudness are not in it.
Starts no engine and knows no disk: it is given a way to look takes up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeVar

from narrator import keys
from narrator.engines import Engine
from narrator.engines.voice import Cast, Mode, Voice
from narrator.errors import UserError
from narrator.text import chunks, pace
from narrator.text.chunks import Chunk
from narrator.text.kept import Kept
from narrator.text.lines import Chapter, LeftOut, Scene
from narrator.text.normalize import Lexicon, SpokenText, normalize

SILENT = "nothing to speak"
"""Why a line of marks alone is left out."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A chunk in its place, with the text that an engine is to speak."""

    id: str
    """Chapter and place in it, "3.12": for people; it changes when text is inserted."""
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
    """One take to be had."""

    key: str
    utterance: Utterance
    engine: str
    """Name of the engine that speaks it."""
    voice: Voice
    style: str | None
    parameters: Mapping[str, Any]
    seed: int
    mode: Mode
    """What the engine is given, as long as its parent's take is there."""
    parent: str | None
    """Key of the step whose take this one continues."""
    recipe: Mapping[str, Any]
    """What the key is the hash of."""
    place: str
    """Names engine, speaker, spoken text and the text before it: what a pin holds."""
    words: str
    """Likewise without the text before it: the place of what is said once in the book."""
    pinned: bool = False
    """Its take was chosen by the author: the key names that take."""
    after_pinned: bool = False
    """So was its parent's."""
    take_speed: float = 1.0
    """The part of the voice's speed that the engine speaks at."""

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
        """How much faster than its take it is heard."""
        return self.voice.speed / self.take_speed


@dataclass(frozen=True, slots=True)
class ChainRules:
    """`mode` is "anchored", "continuation" or "reference" (no prompts)."""

    mode: str = "anchored"
    max_chunks: int = 8


@dataclass(frozen=True, slots=True)
class EngineParameters:
    """A chapter's engine parameters, as far as the engine's sound depends on them."""

    parameters: Mapping[str, Any]
    seed: int


def parameters_of(engine: Engine, settings: Mapping[str, Any]) -> EngineParameters:
    """Those settings of an engine that change its sound."""
    values = {name: settings[name] for name in engine.sound_parameters if name in settings}
    seed = values.pop("seed", 0)
    return EngineParameters(values, seed)


Divided = tuple[list["Utterance"], list[LeftOut]]
"""What of a chapter is spoken, and what is left out."""


@dataclass(frozen=True, slots=True)
class CutChapter:
    """What the scenes of a chapter are spoken as."""

    scenes: tuple[Scene, ...]
    """Those that the chunks were cut from, their lines the same objects."""
    spoken: Sequence[Utterance]
    """Before they have ids and a chapter; their scenes are counted in the chapter."""
    left_out: Sequence[LeftOut]


class TooLong(UserError):
    """A text takes more seconds to speak than may be."""


def utterances(
    chapters: Sequence[Chapter],
    *,
    lexicon: Lexicon,
    apart: bool = False,
    kept: Kept[CutChapter] | None = None,
    longest: float = math.inf,
) -> tuple[tuple[Utterance, ...], tuple[Chapter, ...]]:
    """All chunks of a book in reading order, with their spoken text; `apart` as in `chunks.cut`,
    `kept` what equal scenes were cut to before.

    Second, the chapters that they were cut from, with those left out that have nothing to say ("…"
    between two speakers).

    Raises TooLong for a chapter of more than `longest` seconds of speech, before all of it is
    normalised.
    """
    found: list[Utterance] = []
    whole: list[Chapter] = []
    before = 0
    kept = Kept() if kept is None else kept
    for number, chapter in enumerate(chapters):
        lasts = tuple(line.last for scene in chapter.scenes for line in scene.lines)
        own = kept.get(
            (chapter.scenes, lasts), partial(_cut, chapter.scenes, lexicon, apart, longest)
        )
        found += (
            replace(one, id=f"{number + 1}.{n}", chapter=number, scene=before + one.scene)
            for n, one in enumerate(own.spoken, 1)
        )
        before += len(chapter.scenes)
        left_out = (*chapter.left_out, *own.left_out)
        whole.append(replace(chapter, scenes=own.scenes, left_out=left_out))
    return tuple(found), tuple(whole)


def _cut(scenes: tuple[Scene, ...], lexicon: Lexicon, apart: bool, longest: float) -> CutChapter:
    own: list[Utterance] = []
    seconds = 0.0
    for number, scene in enumerate(scenes):
        for chunk in chunks.cut(scene, apart=apart):
            own.append(_utterance(number, chunk, lexicon))
            seconds += own[-1].expected
            if seconds > longest:
                raise TooLong("this would take too long to speak")
    return CutChapter(scenes, *divided(own, _silent))


def _utterance(scene: int, chunk: Chunk, lexicon: Lexicon) -> Utterance:
    """A chunk with its spoken text, before it has an id and a chapter."""
    spoken = normalize(
        chunk.text,
        language=chunk.language,
        speaker=chunk.speaker,
        lexicon=lexicon,
        says=[(say.start, say.stop, say.spoken) for say in chunk.says],
        heading=bool(chunk.pieces[0].line.heading),
    )
    expected = pace.expected_seconds(spoken.text, chunk.language)
    return Utterance("", 0, scene, chunk, spoken, expected)


def _silent(one: Utterance) -> str | None:
    return None if any(map(str.isalnum, one.spoken.text)) else SILENT


def divided(chapter: Sequence[Utterance], why: Callable[[Utterance], str | None]) -> Divided:
    """What of a chapter is spoken, and what is left out for the reason that `why` gives."""
    reasons = {place: reason for place, one in enumerate(chapter) if (reason := why(one))}
    if not reasons:
        return list(chapter), []
    spoken = [one for place, one in enumerate(chapter) if place not in reasons]
    kept = chunks.without([one.chunk for one in chapter], reasons.keys())
    own = [replace(one, chunk=chunk) for one, chunk in zip(spoken, kept, strict=True)]
    return own, _left_out(chapter, reasons)


def _left_out(chapter: Sequence[Utterance], reasons: Mapping[int, str]) -> list[LeftOut]:
    """What is left out for these reasons, by places: what stands in a line together, and what
    several were to say in unison once."""
    found: dict[tuple[int, str], LeftOut] = {}
    places = iter(range(len(chapter)))
    for group in chunks.together(chapter):
        gone = [(one, why) for one in group if (why := reasons.get(next(places)))]
        if len(gone) == len(group):
            whole = "; ".join(dict.fromkeys(why for _, why in gone))
            rows = [(group[0].chunk, whole)]
        else:
            rows = [
                (one.chunk, f"{why} ({one.chunk.speaker}'s voice; others say it)")
                for one, why in gone
            ]
        for chunk, reason in rows:
            for piece in chunk.pieces:
                at, row = piece.line, (id(piece.line), reason)
                text = found[row].text + piece.text if row in found else piece.text
                in_part = len(gone) < len(group)
                found[row] = LeftOut(at.path, at.line, text, reason, of_line=True, in_part=in_part)
    return list(found.values())


def link(
    spoken: Sequence[Utterance],
    *,
    cast: Cast,
    engines: Mapping[str, Engine],
    rules: Callable[[int, str], ChainRules],
    parameters: Callable[[int, str], EngineParameters],
    pins: Mapping[str, str],
) -> tuple[Step, ...]:
    """Utterances -> steps, in chains.

    `engines` go by speaker, `rules` and `parameters` by chapter and speaker; `pins` are keys of
    chosen takes by `Step.place`, and by `Step.words` for what the book says once.
    """
    said = Counter((utterance.chunk.speaker, utterance.spoken.text) for utterance in spoken)
    once = frozenset(words for words, count in said.items() if count == 1)
    linker = _Linker(cast, engines, rules, parameters, pins, once)
    return tuple(
        step
        for _, scene in groupby(spoken, key=lambda utterance: utterance.scene)
        for step in linker.scene(list(scene))
    )


@dataclass(slots=True)
class _Linker:
    """Makes the steps of a book, scene by scene."""

    cast: Cast
    engines: Mapping[str, Engine]
    rules: Callable[[int, str], ChainRules]
    parameters: Callable[[int, str], EngineParameters]
    pins: Mapping[str, str]
    once: Collection[tuple[str, str]]
    """What a speaker says once in the book."""
    identities: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Of each engine: two may be of one name."""
    contents: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    places: Counter[str] = field(default_factory=Counter)
    before: str = ""
    """Text of the step before, whoever says it."""
    beside: list[tuple[Any, ...]] = field(default_factory=list)
    """What the voices are that say this in unison, as far as they come before."""

    def scene(self, scene: Sequence[Utterance]) -> Iterator[Step]:
        own_rules = {u.chunk.speaker: self.rules(u.chapter, u.chunk.speaker) for u in scene}
        heads = _chain_heads(scene, own_rules, self.engines)
        last: dict[tuple[str, str], Step] = {}
        seen: Counter[tuple[str, str | None, str]] = Counter()
        for number, utterance in enumerate(scene):
            speaker, text = utterance.chunk.speaker, utterance.spoken.text
            engine = self.engines[speaker]
            tongue = speaker, utterance.language
            parent = None if number in heads else last[tongue]
            if parent and parent.expected + utterance.expected > engine.max_context_seconds:
                parent = None
            style = None if parent else utterance.chunk.style or self.cast[speaker].style
            seen[speaker, style, text] += 1 + self._alike(utterance)
            mode = _mode(engine, own_rules[speaker], parent is not None, style)
            last[tongue] = self._step(utterance, parent, style, mode, seen[speaker, style, text])
            yield last[tongue]

    def _alike(self, utterance: Utterance) -> int:
        """How many who say this with it, and come before, have the same voice: theirs is another
        take of it, or several would sound as one."""
        speaker = utterance.chunk.speaker
        engine = self.engines[speaker]
        voice = (id(engine), dict(self._voice(engine, speaker, utterance.language)))
        if not utterance.with_before:
            self.beside.clear()
        self.beside.append(voice)
        return self.beside.count(voice) - 1

    def _step(
        self, utterance: Utterance, parent: Step | None, style: str | None, mode: Mode, nth: int
    ) -> Step:
        """A step, the `nth` of its words in its scene."""
        speaker, text = utterance.chunk.speaker, utterance.spoken.text
        engine, voice = self.engines[speaker], self.cast[speaker]
        own = self.parameters(utterance.chapter, speaker)
        recipe: dict[str, Any] = {
            "format": 1,
            "engine": self._identity(engine),
            "voice": self._voice(engine, speaker, utterance.language),
            "language": utterance.language.lower(),
            "style": style,
            "text": text,
            "parameters": own.parameters,
            "seed": own.seed,
            "occurrence": nth,
            "parent": parent.key if parent else None,
        }
        recipe |= engine.text_content(
            text, utterance.language, voice, utterance.spoken.pronunciations
        )
        if engine.clones:
            recipe["mode"] = mode
            if voice.content is None:
                recipe["cast_in"] = voice.language
        place, words = self._place(engine, speaker, text)
        pin = self.pins.get(place)
        if pin is None and (speaker, text) in self.once:
            pin = self.pins.get(words)
        if pin is not None:
            parent, recipe = None, {"format": 1, "pinned": pin}
        return Step(
            key=pin or keys.key(recipe),
            utterance=utterance,
            engine=engine.name,
            voice=voice,
            style=style,
            parameters=own.parameters,
            seed=own.seed,
            mode=mode,
            parent=parent.key if parent else None,
            recipe=recipe,
            place=place,
            words=words,
            pinned=pin is not None,
            after_pinned=parent is not None and parent.pinned,
            take_speed=voice.speed if engine.has_speed else 1.0,
        )

    def _identity(self, engine: Engine) -> Mapping[str, Any]:
        if id(engine) not in self.identities:
            self.identities[id(engine)] = engine.identity()
        return self.identities[id(engine)]

    def _voice(self, engine: Engine, speaker: str, language: str) -> Mapping[str, Any]:
        who = (speaker, language)
        if who not in self.contents:
            self.contents[who] = engine.voice_content(self.cast[speaker], language)
        return self.contents[who]

    def _place(self, engine: Engine, speaker: str, text: str) -> tuple[str, str]:
        """`Step.place` and `Step.words` of what is said next."""
        where: dict[str, Any] = {"engine": engine.name, "speaker": speaker, "text": text}
        words = keys.key(where)
        self.places[words + self.before] += 1
        nth = self.places[words + self.before]
        place = keys.key({**where, "before": self.before, "nth": nth})
        self.before = text
        return place, words


def _mode(engine: Engine, rules: ChainRules, continues: bool, style: str | None) -> Mode:
    """What a step is given. A style is read aloud in a continuation: its line has a reference."""
    if not engine.clones:
        return "continuation" if continues else "zero-shot"
    if rules.mode == "continuation" and style is None:
        return "continuation"
    return "anchored" if continues else "reference"


def _chain_heads(
    scene: Sequence[Utterance], rules: Mapping[str, ChainRules], engines: Mapping[str, Engine]
) -> frozenset[int]:
    """Places in a scene where a chain starts.

    A chain is cut where the text says so, not where a count does: before a chunk whose hash is
    lowest among its neighbours', and after `max_chunks` at the latest. So a paragraph that is
    inserted moves no cut beyond its neighbourhood, and an edit stays small. What a speaker says in
    another language is no part of it, and no prompt, whose accent would be copied.
    """
    heads: set[int] = set()
    chains: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(scene):
        chains.setdefault((one.chunk.speaker, one.language), []).append(place)
    for (speaker, _), places in chains.items():
        rule = rules[speaker]
        alone = rule.mode == "reference" or not takes_prompt(engines[speaker], rule.mode)
        most = 1 if alone else rule.max_chunks
        lowest = _lowest([keys.number(scene[i].spoken.text) for i in places], max(1, most // 4))
        styled = [bool(scene[i].chunk.style) for i in places]
        length = 0
        for n, i in enumerate(places):
            if n == 0 or styled[n] or styled[n - 1] or lowest[n] or length >= most:
                heads.add(i)
                length = 0
            length += 1
    return frozenset(heads)


def takes_prompt(engine: Engine, mode: str) -> bool:
    """Whether an engine can be given the take before, with what else a mode gives. One that
    imitates nobody has nothing else to be given."""
    return engine.continues and (mode == "continuation" or engine.anchors or not engine.clones)


def _lowest(weights: Sequence[int], reach: int) -> list[bool]:
    """Of each weight, whether it is lower than those within reach of it."""
    return [
        all(
            weight < other
            for other in (*weights[max(0, n - reach) : n], *weights[n + 1 : n + 1 + reach])
        )
        for n, weight in enumerate(weights)
    ]


# -- why -------------------------------------------------------------------------------------------


class Reason(StrEnum):
    """Why a step will, or will not, be rendered."""

    CACHED = "cached"
    NEW = "new"
    PENDING = "pending"
    CHANGED = "changed"
    CASCADE = "cascade"
    DAMAGED = "damaged"
    RETRY = "retry"
    FORCED = "forced"
    PINNED = "pinned"
    DOUBTFUL = "doubtful"


EXPLAINED = {
    Reason.CACHED: "its take is in the store",
    Reason.NEW: "never planned before",
    Reason.PENDING: "planned before, not rendered yet",
    Reason.CHANGED: "words, voice or settings changed",
    Reason.CASCADE: "the take it continues, or its voice, changed",
    Reason.DAMAGED: "its take was torn or altered on disk",
    Reason.RETRY: "given up in an earlier run",
    Reason.FORCED: "asked for",
    Reason.PINNED: "its take was chosen by hand",
    Reason.DOUBTFUL: "no try of it is free of faults; the least bad is used",
}

_RENDERED = frozenset((Reason.CACHED, Reason.PINNED, Reason.DOUBTFUL))


@dataclass(frozen=True, slots=True)
class Why:
    """A reason, and what exactly changed where that is known."""

    reason: Reason
    changes: tuple[str, ...] = ()

    @property
    def render(self) -> bool:
        return self.reason not in _RENDERED

    def __str__(self) -> str:
        detail = "; ".join(self.changes)
        return f"{self.reason}: {EXPLAINED[self.reason]}" + (f" ({detail})" if detail else "")


class Take(Protocol):
    """What a plan looks at in a take's record."""

    @property
    def content(self) -> str: ...

    @property
    def prompted_by(self) -> str | None: ...

    @property
    def voiced_by(self) -> str | None: ...

    @property
    def faults(self) -> tuple[str, ...]: ...


_Take = TypeVar("_Take", bound=Take)
Find = Callable[[str], _Take | None]
"""Looks a take up by its step's key."""


def is_doubtful(take: Take, step: Step) -> bool:
    """Whether a take is delivered though it failed its checks, and no author chose it."""
    return bool(take.faults) and not step.pinned


def prompting(step: Step, find: Find[_Take]) -> _Take | None:
    """The take that a step continues; None where there is none yet, or a doubtful one: after that
    a step begins as a chain does."""
    parent = find(step.parent) if step.parent else None
    return None if parent is None or (parent.faults and not step.after_pinned) else parent


def fits(step: Step, find: Find[Take], voice: str | None) -> bool:
    """Whether the take that is there is the one that its step would get now.

    The parent's take must be the one that it continued, the reference the one that it heard: keys
    name recipes, not sounds. `voice` is the content of the voice's reference, None where it is not
    cast, or the engine imitates nobody.
    """
    take = find(step.key)
    if take is None or step.pinned:
        return take is not None
    parent = prompting(step, find)
    heard = voice is None or take.voiced_by == voice
    return heard and take.prompted_by == (parent.content if parent else None)


class TakeLookup(Protocol):
    """What a plan asks of the store."""

    def take(self, key: str) -> Take | None: ...

    def voice(self, speaker: str) -> str | None:
        """Content of the reference that a speaker has now; None where it is not cast yet."""
        ...

    def is_damaged(self, key: str) -> bool: ...

    def faults(self, key: str) -> tuple[str, ...] | None:
        """Why a step was given up, if it was."""
        ...


Ledger = Sequence[Mapping[str, Any]]
"""The steps of the last render: `{"id", "chapter", "text", "key", "recipe"}` each."""


def survey(
    steps: Iterable[Step], takes: TakeLookup, ledger: Ledger, forced: Callable[[Step], bool]
) -> dict[str, Why]:
    """The reason of every step, by key. Two steps with one key share one take."""
    steps = list(steps)
    past = _Past(steps, ledger)
    why: dict[str, Why] = {}
    for step in steps:
        if step.key not in why or forced(step):
            why[step.key] = _why(step, takes, why, past, forced)
    return why


def _why(
    step: Step,
    takes: TakeLookup,
    known: Mapping[str, Why],
    past: _Past,
    forced: Callable[[Step], bool],
) -> Why:
    """The reason of one step, when those before it are known."""
    take = takes.take(step.key)
    if step.pinned and take:
        return Why(Reason.PINNED)
    if forced(step):
        return Why(Reason.FORCED)
    if take:
        return _why_of(take, step, takes, known)
    if takes.is_damaged(step.key):
        return Why(Reason.DAMAGED)
    if (faults := takes.faults(step.key)) is not None:
        return Why(Reason.RETRY, faults)
    return Why(Reason.PENDING) if step.key in past.keys else _changed(step, past.counterpart(step))


def _why_of(take: Take, step: Step, takes: TakeLookup, known: Mapping[str, Why]) -> Why:
    """The reason of a step that has a take, fitting or not."""
    voice = takes.voice(step.chunk.speaker)
    if not fits(step, takes.take, voice):
        recast = voice not in (None, take.voiced_by)
        return Why(Reason.CASCADE, ("its voice was cast anew",) if recast else ())
    if step.parent and known[step.parent].render and takes.take(step.parent):
        return Why(Reason.CASCADE)
    return Why(Reason.DOUBTFUL, take.faults) if is_doubtful(take, step) else Why(Reason.CACHED)


class _Past:
    """The last render, as far as it is asked for."""

    def __init__(self, steps: Sequence[Step], ledger: Ledger) -> None:
        self._steps, self._ledger = steps, ledger
        self._known: Mapping[str, Mapping[str, Any]] | None = None
        self.keys = frozenset(entry["key"] for entry in ledger)

    def counterpart(self, step: Step) -> Mapping[str, Any] | None:
        """The entry that stood where a step stands now."""
        if self._known is None:
            self._known = _counterparts(self._steps, self._ledger)
        return self._known.get(step.id)


def _counterparts(steps: Sequence[Step], ledger: Ledger) -> dict[str, Mapping[str, Any]]:
    """The entry of the last render that stood where a step stands now, by the step's id."""
    old = [(entry["text"], entry["speaker"]) for entry in ledger]
    new = [(step.chunk.text, step.chunk.speaker) for step in steps]
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    most -= head
    tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    found = {steps[i].id: ledger[i] for i in range(head)}
    found |= {steps[-1 - i].id: ledger[-1 - i] for i in range(tail)}
    # What is equal at both ends is set aside: the matcher is slow on text that repeats itself.
    middle = SequenceMatcher(
        None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False
    )
    for kind, a, a_end, b, b_end in middle.get_opcodes():
        if kind == "equal" or (kind == "replace" and a_end - a == b_end - b):
            found |= {steps[head + b + i].id: ledger[head + a + i] for i in range(b_end - b)}
    return found


def _changed(step: Step, entry: Mapping[str, Any] | None) -> Why:
    if entry is None:
        return Why(Reason.NEW)
    old, new = entry["recipe"], step.recipe
    if "pinned" in old:
        return Why(Reason.CHANGED, ("it was pinned",))
    changes = [
        change
        for part in new
        if part not in ("format", "parent", "occurrence") and old.get(part) != new[part]
        for change in _differences(part, old.get(part), new[part])
    ]
    if changes:
        return Why(Reason.CHANGED, tuple(changes))
    return Why(Reason.CASCADE)


def _differences(part: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            f"{part} {name}: {old.get(name)!r} -> {new.get(name)!r}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
    return [f"{part}: {old!r} -> {new!r}"]


def ledger_of(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """What the next `survey` needs to say what changed since."""
    return [
        {
            "id": step.id,
            "speaker": step.chunk.speaker,
            "text": step.chunk.text,
            "key": step.key,
            "recipe": dict(step.recipe),
        }
        for step in steps
    ]
