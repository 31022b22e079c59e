from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from narrator.engines.voice import Voice
from narrator.speech.plan import (
    ChainRules,
    EngineParameters,
    Utterance,
    link_steps,
    split_spoken,
)
from narrator.speech.reasons import LedgerEntry, Reason, explain_steps, make_ledger
from narrator.text.chunks import Chunk, Piece
from narrator.text.lines import Line
from narrator.text.normalize import SpokenText
from tests.fakes import HumEngine

CAST = {"ann": Voice("ann"), "bob": Voice("bob")}


def utterance(
    text, speaker="ann", *, scene=0, chapter=0, seconds=8.0, style=None, n=1, language="en"
):
    line = Line(speaker, text, Path("a.md"), 1, language, style)
    chunk = Chunk(speaker, style, (Piece(line, 0, len(text)),), "line")
    return Utterance(f"{chapter + 1}.{n}", chapter, scene, chunk, SpokenText(text, ()), seconds)


@dataclass
class Planned(HumEngine):
    known_as: dict = field(default_factory=dict)

    def identity(self):
        return self.known_as

    def voice_content(self, voice, language):
        return {"of": voice.speaker}


def steps(
    *utterances,
    mode="anchored",
    max_chunks=8,
    continues=True,
    clones=False,
    identity=None,
    modes=(),
    pins=(),
):
    """`modes` are those of single speakers, `pins` keys of takes by place."""
    identity = identity or {"name": "x"}
    engine = Planned(identity["name"], continues=continues, clones=clones, known_as=identity)
    return link_steps(
        utterances,
        cast=CAST,
        engines=dict.fromkeys(CAST, engine),
        rules=lambda _, speaker: ChainRules(dict(modes).get(speaker, mode), max_chunks),
        parameters=lambda chapter, speaker: EngineParameters({}, 0),
        pins=dict(pins),
    )


def many(count, seed=0):
    draw = random.Random(seed)
    return [utterance(f"Sentence {draw.random()}.", n=i) for i in range(count)]


def chains(linked):
    """Lengths of the chains, in order."""
    lengths, of = [], {}
    for step in linked:
        if step.parent is None:
            of[step.key] = len(lengths)
            lengths.append(1)
        else:
            of[step.key] = of[step.parent]
            lengths[of[step.parent]] += 1
    return lengths


def test_a_literal_step_key_is_pinned():
    [step] = steps(utterance("Hello there."))
    assert step.key == "3a4a6433833b1ff47328659a434f3c24008fed8f"


def test_each_chunk_continues_the_one_before_of_its_speaker():
    a, b, c = steps(utterance("One."), utterance("Two.", "bob"), utterance("Three."), max_chunks=64)
    assert (a.parent, b.parent) == (None, None)
    assert c.parent in (a.key, None)


def test_no_chain_is_longer_than_the_rule():
    for max_chunks in (1, 2, 5, 8):
        assert max(chains(steps(*many(300), max_chunks=max_chunks))) <= max_chunks


def test_chains_are_not_much_shorter_than_the_rule_either():
    lengths = chains(steps(*many(300), max_chunks=8))
    assert sum(lengths) / len(lengths) > 3


def test_an_inserted_chunk_moves_few_cuts():
    utterances = many(200)
    before = {s.key for s in steps(*utterances)}
    for place in range(20, 180, 10):
        after = steps(*utterances[:place], utterance("A new sentence."), *utterances[place:])
        assert len({s.key for s in after} - before) <= 16


def test_reference_mode_and_engines_that_do_not_continue_have_no_parents():
    assert all(s.parent is None for s in steps(*many(50), mode="reference"))
    assert all(s.parent is None for s in steps(*many(50), continues=False))


def test_a_prompt_and_its_continuation_stay_within_the_models_horizon():
    utterances = [utterance(f"Sentence {i}.", seconds=13.0) for i in range(50)]
    assert all(s.parent is None for s in steps(*utterances))


def test_a_styled_line_stands_alone():
    utterances = [utterance("a."), utterance("b.", style="soft"), utterance("c.")]
    assert [s.parent for s in steps(*utterances)] == [None, None, None]


def test_no_chain_crosses_a_scene():
    utterances = [utterance(f"{i}.", scene=i // 3) for i in range(30)]
    by_key = {s.key: s for s in steps(*utterances)}
    for step in by_key.values():
        if step.parent:
            assert by_key[step.parent].utterance.scene == step.utterance.scene


def test_equal_chunks_of_a_scene_are_told_apart_and_equal_scenes_share():
    a, b, c = steps(
        utterance("Yes."), utterance("Yes."), utterance("Yes.", scene=1), continues=False
    )
    assert a.key != b.key
    assert a.key == c.key


def test_places_titles_and_files_are_not_in_the_key():
    [a] = steps(utterance("Hello."))
    [b] = steps(utterance("Hello.", scene=4, n=9))
    assert a.key == b.key


@dataclass(frozen=True)
class Take:
    content: str
    prompted_by: str | None
    voiced_by: str | None = None
    faults: tuple[str, ...] = ()


class Shelf:
    """Takes by key: (content, prompted_by, voiced_by), and voices by speaker."""

    def __init__(self, takes=None, damaged=(), faults=None, voices=()):
        self.takes, self.damaged, self.flags = takes or {}, damaged, faults or {}
        self.voices = dict(voices)

    def take(self, key):
        return Take(*self.takes[key]) if key in self.takes else None

    def voice(self, speaker):
        return self.voices.get(speaker)

    def is_damaged(self, key):
        return key in self.damaged

    def faults(self, key):
        return self.flags.get(key)


def pair(**options):
    """Two steps in one chain, unless the mode has none."""
    for i in range(100):
        linked = steps(utterance(f"One {i}."), utterance(f"Two {i}."), max_chunks=64, **options)
        if linked[1].parent or options.get("mode") == "reference":
            return linked
    raise AssertionError("no chain of two")


def reasons(linked, shelf, ledger=(), forced=lambda s: False):
    why = explain_steps(linked, shelf, ledger, forced)
    return [why[s.key].reason.value for s in linked]


DOUBTFUL = ("A", None, None, ("chirp: x",))
GIVEN_UP = None


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [
        (("A", None), ("B", "A"), "cached cached"),
        (("A2", None), ("B", "A"), "cached cascade"),  # prompted by other sound
        (GIVEN_UP, ("B", None), "retry cached"),  # fits while there is no prompt
        (DOUBTFUL, ("B", None), "doubtful cached"),  # prompts nobody
        (DOUBTFUL, ("B", "A"), "doubtful cascade"),
        (("A2", None), ("B", None), "cached cascade"),  # there was no good take before
    ],
)
def test_a_take_fits_while_what_it_continues_is_the_take_that_is_there(parent, child, expected):
    a, b = pair()
    takes = {a.key: parent, b.key: child} if parent else {b.key: child}
    shelf = Shelf(takes, faults={} if parent else {a.key: ("cut: x",)})
    assert reasons((a, b), shelf) == expected.split()


def test_a_doubtful_take_says_why():
    a, _ = pair()
    why = explain_steps([a], Shelf({a.key: DOUBTFUL}), (), lambda s: False)
    assert str(why[a.key]).endswith("(chirp: x)")


def test_damage_and_flags_are_told_apart():
    a, b = steps(utterance("One."), utterance("Two.", "bob"))
    shelf = Shelf({}, damaged=[a.key], faults={b.key: ("cut: x",)})
    assert reasons((a, b), shelf) == ["damaged", "retry"]


def test_what_was_planned_but_not_rendered_is_pending():
    linked = steps(utterance("One."))
    ledger = [LedgerEntry("1.1", "ann", "One.", linked[0].key, {})]
    assert reasons(linked, Shelf(), ledger) == ["pending"]


def test_forced_is_forced_though_it_is_cached():
    linked = steps(utterance("One."))
    assert reasons(linked, Shelf({linked[0].key: ("A", None)}), forced=lambda s: True) == ["forced"]


# -- engines that clone ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "modes"),
    [
        ("anchored", ["reference", "anchored"]),
        ("continuation", ["continuation", "continuation"]),
        ("reference", ["reference", "reference"]),
    ],
)
def test_each_chain_mode_gives_its_steps_what_it_says(mode, modes):
    assert [step.mode for step in pair(mode=mode, clones=True)] == modes


def test_a_chains_mode_is_in_the_key_of_an_engine_that_clones_where_it_changes_what_is_given():
    modes = ("anchored", "continuation", "reference")
    anchored, continuation, reference = (pair(mode=mode, clones=True)[0] for mode in modes)
    assert anchored.key == reference.key
    assert anchored.key != continuation.key


def test_a_styled_line_has_a_reference_even_in_continuation():
    [step] = steps(utterance("Hush.", style="soft"), mode="continuation", clones=True)
    assert step.mode == "reference"


def test_a_speakers_own_mode_is_its_own():
    utterances = [u for i in range(40) for u in (utterance(f"A {i}."), utterance(f"B {i}.", "bob"))]
    linked = steps(*utterances, clones=True, modes=[("bob", "reference")])
    assert all(s.parent is None for s in linked if s.chunk.speaker == "bob")
    assert any(s.parent for s in linked if s.chunk.speaker == "ann")


def test_a_take_of_a_voice_that_was_cast_anew_is_stale():
    [a] = steps(utterance("One."), clones=True)
    shelf = Shelf({a.key: ("A", None, "old")}, voices={"ann": "new"})
    why = explain_steps([a], shelf, (), lambda s: False)
    assert str(why[a.key]) == (
        "cascade: the take it continues, or its voice, changed (its voice was cast anew)"
    )


def test_a_take_is_good_while_its_voice_is_not_cast():
    [a] = steps(utterance("One."), clones=True)
    assert reasons([a], Shelf({a.key: ("A", None, "old")})) == ["cached"]


# -- pins ------------------------------------------------------------------------------------------


def test_a_pinned_take_stays_whatever_the_recipe_and_force_say():
    [plain] = steps(utterance("One."))
    pinned = {plain.place_hash: "f" * 40}
    for identity in ({"name": "x"}, {"name": "x", "version": 2}):
        linked = steps(utterance("One."), identity=identity, pins=pinned)
        assert linked[0].key == "f" * 40
        shelf = Shelf({linked[0].key: ("A", "whatever", "whoever")})
        assert reasons(linked, shelf, forced=lambda s: True) == ["pinned"]


def test_what_continues_a_pinned_take_changes_with_it():
    a, b = pair()
    pinned = steps(a.utterance, b.utterance, max_chunks=64, pins={a.place_hash: "f" * 40})
    assert pinned[1].parent == "f" * 40
    assert pinned[1].key != b.key


def test_a_place_is_its_speaker_its_text_and_the_text_before_it():
    a, b, c, d = steps(
        utterance("Yes."), utterance("Yes."), utterance("Yes.", "bob"), utterance("No.")
    )
    assert len({step.place_hash for step in (a, b, c, d)}) == 4
    assert a.text_hash == b.text_hash != c.text_hash
    [moved] = steps(utterance("Yes.", scene=7, n=3), identity={"name": "x", "version": 2})
    assert moved.place_hash == a.place_hash
    [other_step] = steps(utterance("Yes."), identity={"name": "another engine"})
    assert other_step.place_hash != a.place_hash


def test_a_pin_stays_with_its_line_when_an_equal_one_is_put_before_it():
    utterances = [utterance("Are you there?", "bob"), utterance("Yes.")]
    plain = steps(*utterances)[1]
    pinned = dict.fromkeys((plain.place_hash, plain.text_hash), "f" * 40)
    options = [utterance("Ready?", "bob"), utterance("Yes."), *utterances]
    assert [step.pinned for step in steps(*options, pins=pinned)] == [False, False, False, True]


def test_a_pin_of_what_is_said_once_stays_when_the_text_before_it_changes():
    utterances = [utterance("Are you there?", "bob"), utterance("Yes.")]
    plain = steps(*utterances)[1]
    pinned = dict.fromkeys((plain.place_hash, plain.text_hash), "f" * 40)
    other_step = [utterance("Is it you?", "bob"), utterance("Yes.")]
    assert [step.pinned for step in steps(*other_step, pins=pinned)] == [False, True]


def test_a_step_that_is_pinned_no_more_says_so():
    [plain] = steps(utterance("One."))
    [pinned] = steps(utterance("One."), pins={plain.place_hash: "f" * 40})
    ledger = make_ledger([pinned])
    why = explain_steps([plain], Shelf(), ledger, lambda s: False)
    assert why[plain.key].changes == ("it was pinned",)


def test_a_step_whose_pinned_take_says_older_words_tells_them():
    [old], [plain] = (steps(utterance(text)) for text in ("Chapter 1.", "Chapter one."))
    [pinned] = steps(utterance("Chapter one."), pins={plain.place_hash: old.key})
    shelf = Shelf()
    shelf.take = {old.key: SimpleNamespace(text="Chapter 1.")}.get
    why = explain_steps([plain], shelf, make_ledger([pinned]), lambda s: False)
    assert (why[plain.key].reason, why[plain.key].changes) == (
        Reason.RESPOKEN, ("it was pinned", "text: 'Chapter 1.' -> 'Chapter one.'"),
    )  # fmt: skip


# -- unison


def choir(text, *speakers, seconds=8.0):
    """What several say in unison."""
    alone = [utterance(text, speaker, seconds=seconds) for speaker in speakers]
    return [
        replace(spoken_alone, chunk=replace(spoken_alone.chunk, unison_speakers=speakers))
        for spoken_alone in alone
    ]


def test_in_unison_each_has_the_key_and_the_chain_of_a_chunk_of_its_own():
    first, second = utterance("I do."), utterance("So do I.", "bob")
    apart = steps(first, second, utterance("We do!"), utterance("We do!", "bob"))
    joined = steps(first, second, *choir("We do!", "ann", "bob"))
    assert [s.key for s in joined] == [s.key for s in apart]
    assert [s.parent for s in joined] == [s.parent for s in apart]
    assert [s.with_before for s in joined] == [False, False, False, True]


def test_two_of_one_voice_have_takes_of_their_own_in_unison():
    class OneVoice(Planned):
        def voice_content(self, voice, language):
            return {"of": "all"}

    engine = OneVoice("x", continues=False, clones=False, known_as={"name": "x"})
    linked = link_steps(
        [*choir("We do!", "ann", "bob"), utterance("We do!", "bob", scene=1)],
        cast=CAST,
        engines=dict.fromkeys(CAST, engine),
        rules=lambda *_: ChainRules(),
        parameters=lambda *_: EngineParameters({}, 0),
        pins={},
    )
    assert linked[0].key != linked[1].key
    assert linked[0].key == linked[2].key  # of whose voice it is all the same alone


def test_what_one_of_several_cannot_say_is_left_out_of_that_voice_alone():
    utterances = [*choir("We do!", "ann", "bob"), utterance("Yes.")]
    kept_utterances, left_out = split_spoken(
        utterances, lambda one: "no" if one.chunk.speaker == "bob" else None
    )
    assert [
        (spoken_alone.chunk.speaker, spoken_alone.chunk.names) for spoken_alone in kept_utterances
    ] == [("ann", "ann")] * 2
    assert [
        (spoken_alone.text, spoken_alone.reason, spoken_alone.is_partial)
        for spoken_alone in left_out
    ] == [("We do!", "no (bob's voice; others say it)", True)]
    kept_utterances, left_out = split_spoken(
        utterances, lambda one: "no" if one.chunk.text == "We do!" else None
    )
    assert [spoken_alone.chunk.text for spoken_alone in kept_utterances] == ["Yes."]
    assert [
        (spoken_alone.text, spoken_alone.reason, spoken_alone.is_partial)
        for spoken_alone in left_out
    ] == [("We do!", "no", False)]
