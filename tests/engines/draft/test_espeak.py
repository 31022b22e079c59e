"""The draft voice: real eSpeak NG throughout, but for a worker that goes wrong on demand."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import espeakng_loader
import numpy as np
import pytest

from narrator.engines import Engine, Outcome, Speech
from narrator.engines.draft import espeak
from narrator.engines.draft.espeak import DraftEngine, DraftProgram
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.voice import Voice
from narrator.engines.workers import REQUESTS_PER_WORKER, Worker, WorkerSession
from narrator.errors import EngineUnavailable
from narrator.speech import checks
from tests.effort import quick
from tests.engines.builders import outcomes_of, request

FAULTY = Path(__file__).parent / "faulty_worker.py"
SENTENCE = "The rain fell in torrents, and nobody came to the door."


def run_added(session: WorkerSession, count: int) -> list[Outcome]:
    """The next `count` outcomes of what was added before."""
    outcomes: list[Outcome] = []
    while len(outcomes) < count:
        outcomes += session.advance()
    return outcomes


def say(
    session: WorkerSession,
    text: str,
    voice: Voice | None = None,
    language: str = "en-GB",
    pronunciations: Mapping[str, str] = {},
) -> Speech:
    asked = request(
        text, voice=voice or Voice("narrator"), language=language, pronunciations=pronunciations
    )
    (outcome,) = outcomes_of(session, [asked]).values()
    assert outcome.speech is not None, outcome.failure
    return outcome.speech


def seconds(speech: Speech) -> float:
    return len(speech.samples) / DraftEngine.sample_rate


def processes(session: WorkerSession) -> list[int]:
    return [worker.process.pid for worker in session._workers]


@pytest.fixture(scope="module")
def session() -> Iterator[WorkerSession]:
    with closing(DraftEngine(workers=1).start()) as session:
        yield session


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerSession]:
    monkeypatch.setattr(espeak, "WORKER", FAULTY)
    with closing(DraftEngine(workers=1).start()) as session:
        yield session


# -- what it says ----------------------------------------------------------------------------------


def test_the_same_text_gives_the_same_samples_in_every_session_and_order():
    cast = [Voice("x", own={"draft": DraftVoice(variant=variant)}) for variant in espeak.VARIANTS]
    lines = [
        request(
            text,
            voice=voice,
            language=language,
            key=f"{text} {voice.own['draft'].variant} {language}",
        )
        for text in ("Yes.", "Who goes there? asked the captain, 42 times.")
        for voice in cast
        for language in ("en-GB", "fr")
    ]
    orders = (lines, lines[::-1], lines[1::2] + lines[::2])
    runs = []
    for workers, order in enumerate(orders, 1):
        with closing(DraftEngine(workers).start()) as session:
            runs.append(outcomes_of(session, order))
    for line in lines:
        first, *others = (outcomes[line.key].speech for outcomes in runs)
        assert first is not None
        for other in others:
            assert other is not None
            assert first.samples.tobytes() == other.samples.tobytes(), line.key


@pytest.mark.slow
def test_breath_is_the_same_noise_whatever_the_time(session):
    voice = Voice("x", own={"draft": DraftVoice(variant="f5")})
    breathed = say(session, SENTENCE, voice).samples
    began = int(time.time())
    while int(time.time()) == began:  # the library's own seed is the second it was started in
        say(session, "Yes.")
    with closing(DraftEngine(workers=1).start()) as fresh:
        assert np.array_equal(say(fresh, SENTENCE, voice).samples, breathed)


def test_samples_are_float32_of_16_bits_and_pass_the_checks(session):
    samples = say(session, SENTENCE).samples
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert np.array_equal(samples * 32768, np.round(samples * 32768))
    assert 0.1 < np.abs(samples).max() <= 1
    assert checks.examine(samples, DraftEngine.sample_rate, len(SENTENCE) / 15)


def test_a_take_that_begins_with_a_full_voiced_sound_passes_the_checks(session):
    """Chunk 3.2 of projects/small-machines: its first millisecond is 5.6 dB under clear speech."""
    voice = Voice("Ines", own={"draft": DraftVoice(variant="f3", pitch=58, rate=185)})
    text = (
        "Nobody ever does. The flame burns steadily all night. It's the lens that turns. Each "
        "bull's-eye throws one beam, like the spoke of a wheel, and when a spoke sweeps over your "
        "ship, you see a flash."
    )
    samples = say(session, text, voice).samples
    rate = DraftEngine.sample_rate
    assert checks.examine(samples, rate, len(text) / 15, text=text)
    begun = samples[int(np.abs(samples[: round(0.05 * rate)]).argmax()) :]
    faults = checks.examine(begun, rate, len(text) / 15, text=text).faults
    assert [fault.kind for fault in faults] == ["onset"]


@pytest.mark.parametrize("variant", espeak.VARIANTS)
def test_a_text_that_ends_in_full_sound_ends_in_silence(session, variant):
    text = "So I said to Mr."
    voice = Voice("x", own={"draft": DraftVoice(variant=variant)})
    samples = say(session, text, voice).samples
    assert checks.examine(samples, DraftEngine.sample_rate, len(text) / 15)


def test_half_a_minute_is_spoken_whole(session):
    one = seconds(say(session, SENTENCE))
    ten = say(session, " ".join([SENTENCE] * 10))
    assert ten.stop == "stop"
    assert seconds(ten) == pytest.approx(10 * one, rel=0.2)


def test_markup_is_spoken_as_text(session):
    assert seconds(say(session, "so <b>bold</b>")) > seconds(say(session, "so bold")) + 0.5
    assert seconds(say(session, '<mark name="x"/>')) > 1
    assert not np.array_equal(say(session, "x &lt; y").samples, say(session, "x < y").samples)
    assert seconds(say(session, "[[h@l@U]]")) > seconds(say(session, "hello")) + 0.5


IPA = {
    "Care": "kɛə", "thought": "θɔːt", "happy": "ˈhæpi", "goat": "ɡəʊt", "bird": "bɜːd",
    "jam": "dʒæm", "water": "ˈwɔːtə", "measure": "ˈmɛʒə", "thing": "θɪŋ", "fleece": "fliːs",
    "near": "nɪə",
}  # fmt: skip
RHOTIC_IPA = {
    "Care": "kɛr", "north": "nɔrθ", "start": "stɑrt", "bird": "bɜrd", "goat": "ɡoʊt",
    "chip": "tʃɪp", "father": "ˈfɑðər", "near": "nɪr", "Sarah": "ˈsɛrə",
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "words"),
    [("en-GB", IPA), ("en-US", RHOTIC_IPA)],
)
def test_the_ipa_of_a_word_sounds_as_the_word(session, language, words):
    for word, ipa in words.items():
        heard = say(session, f"{word}.", language=language)
        spelled = say(session, "Zork.", language=language, pronunciations={"Zork": ipa})
        assert np.array_equal(spelled.samples, heard.samples), (word, ipa)


def test_words_of_ipa_are_timed_as_they_are_written(session):
    text = "Then Siobhan [[ Ó Cléirigh came, and Siobhan left."
    ipa = {"Siobhan": "ʃɪˈvɔːn", "Ó Cléirigh": "oʊ ˈkliːri"}
    words = say(session, text, pronunciations=ipa).words
    assert [text[word.first : word.last] for word in words] == [
        "Then", "Siobhan", "Ó Cléirigh", "came", "and", "Siobhan", "left",
    ]  # fmt: skip


def test_only_texts_with_ipa_have_sounds_in_their_keys():
    content = DraftEngine().text_content
    narrator = Voice("narrator")
    assert content("Siobhan came.", "en", narrator, {"Siobhan": "ʃɪˈvɔːn"}) == {
        "sounds": "[[S|I|v|'O:|n]] came."
    }
    for text, language in (("Siobhan's dog", "en"), ("Siobhan kam.", "de")):
        assert content(text, language, narrator, {"Siobhan": "ʃɪˈvɔːn"}) == {}


def test_control_characters_are_no_commands(session):
    commanded = say(session, "Hello \x0190P there, \x00 you").samples
    assert np.array_equal(commanded, say(session, "Hello  90P there,   you").samples)


def test_decomposed_letters_are_read_like_composed_ones(session):
    composed = say(session, "un été très long", language="fr").samples
    decomposed = say(session, "un e\u0301te\u0301 tre\u0300s long", language="fr").samples
    assert np.array_equal(composed, decomposed)


def test_it_tells_when_it_says_each_word(session):
    speech = say(session, SENTENCE)
    said = [SENTENCE[word.first : word.last] for word in speech.words]
    assert said == "The rain fell in torrents and nobody came to the door".split()
    assert all(word.start < word.stop for word in speech.words)
    assert speech.words[-1].stop == pytest.approx(seconds(speech) - espeak.TAIL_SECONDS, abs=0.3)


@pytest.mark.parametrize("text", ["", " ", "—", "…", "..", "“”", "[["])
def test_a_text_without_sound_is_a_failure(session, text):
    (outcome,) = outcomes_of(session, [request(text)]).values()
    assert outcome.speech is None
    assert "no sound came of it" in str(outcome.failure)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The old house by the river."),
        ("en-US", "The old house by the river."),
        ("en-AU", "The old house by the river."),
        ("fr", "La vieille maison au bord de la rivière."),
        ("de-AT", "Das alte Haus am Fluss."),
        ("es-MX", "La casa vieja junto al río."),
        ("it", "La vecchia casa sul fiume."),
        ("pt-BR", "A velha casa perto do rio."),
        ("zh", "河边的老房子里没有人。"),
        ("zh-Hant-TW", "河邊的老房子裡沒有人。"),
        ("yue", "河邊嘅老屋入面冇人。"),
        ("ru", "Старый дом у реки."),
        ("hi", "नदी के किनारे पुराना घर।"),
        ("ar-EG", "البيت القديم بجانب النهر."),
        ("ko", "강가의 오래된 집."),
    ],
)
def test_a_language_is_spoken(session, language, text):
    assert not DraftEngine().problems({}, [language])
    assert 1 < seconds(say(session, text, language=language)) < 4


def test_chinese_is_read_and_not_spelled(session):
    readings = {say(session, text, language="zh").samples.tobytes() for text in "河房子里没有人"}
    assert len(readings) == 7


# -- who speaks ------------------------------------------------------------------------------------


FANCY_ALICE = Voice(
    "Alice", reference=Path("a.wav"), transcript="a", description="b", seed=3, style="sad",
    gain=2.0, speed=1.2,
)  # fmt: skip
SET_ALICE = Voice("Alice", own={"draft": DraftVoice(variant="f2", pitch=0, rate=150)})


@pytest.mark.parametrize(
    ("voice", "language", "content"),
    [
        (Voice("Alice"), "en-GB", ("gmw/en+Diogo", 50, 179)),
        (FANCY_ALICE, "en-GB", ("gmw/en+Diogo", 50, 179)),
        (SET_ALICE, "en-US", ("gmw/en-US+f2", 0, 150)),
        (Voice("narrator"), "fr", ("roa/fr+f3", 36, 172)),
    ],
)
def test_a_voice_follows_from_what_the_author_sets_or_from_the_name(voice, language, content):
    found = DraftEngine().voice_content(voice, language)
    assert found == dict(zip(("voice", "pitch", "rate"), content, strict=True))


def test_names_spread_over_all_variants_pitches_and_rates():
    contents = [DraftEngine().voice_content(Voice(f"speaker {n}"), "en") for n in range(300)]
    assert {c["voice"].partition("+")[2] for c in contents} == set(espeak.VARIANTS)
    assert {c["rate"] for c in contents} == set(range(espeak.RATES[0], espeak.RATES[1] + 1))
    for content in contents:
        low, high = espeak.VARIANTS[content["voice"].partition("+")[2]]
        assert low <= content["pitch"] <= high
    assert len({tuple(c.values()) for c in contents}) > 280


def test_a_pronoun_chooses_among_voices():
    def variants(pronoun: str | None) -> set[str]:
        voices = [Voice(f"speaker {n}", pronoun=pronoun) for n in range(200)]
        contents = [DraftEngine().voice_content(voice, "en") for voice in voices]
        return {content["voice"].partition("+")[2] for content in contents}

    assert variants("she") == {"f1", "f2", "f3", "f5"}
    assert variants("He") == set(espeak.VARIANTS) - variants("she")
    assert variants("they") == set(espeak.VARIANTS)


def test_pitch_and_rate_are_heard(session):
    def voice(pitch: int, rate: int) -> Voice:
        return Voice("x", own={"draft": DraftVoice(variant="m6", pitch=pitch, rate=rate)})

    plain = say(session, SENTENCE, voice(50, 170))
    assert seconds(say(session, SENTENCE, voice(50, 120))) > 1.2 * seconds(plain)
    assert not np.array_equal(plain.samples, say(session, SENTENCE, voice(60, 170)).samples)


def test_every_variant_given_to_speakers_is_in_the_package():
    voices = {v: Voice(v, own={"draft": DraftVoice(variant=v)}) for v in espeak.VARIANTS}
    assert not DraftEngine().problems(voices, ["en"])


# -- what it cannot do -----------------------------------------------------------------------------


def test_an_unknown_variant_is_a_problem_that_names_the_nearest():
    voices = {"Alice": Voice("Alice", own={"draft": DraftVoice(variant="F2")})}
    (problem,) = DraftEngine().problems(voices, [])
    assert problem.message == (
        'the draft voice has no variant "F2" (speaker "Alice"): did you mean "f2"?'
    )


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("frr", 'the draft voice does not speak "frr"; the nearest it has is "fr"'),
        ("fo", 'does not speak "fo"'),  # listed by the package, but without rules
        ("ja-JP", "kanji"),
    ],
)
def test_a_language_that_it_cannot_speak_is_a_problem(language, message):
    (problem,) = DraftEngine().problems({}, ["en", language])
    assert message in problem.message


@pytest.mark.parametrize(
    "ask",
    [DraftEngine.identity, DraftEngine.start, lambda engine: engine.problems({}, ["en"])],
    ids=["identity", "start", "problems"],
)
def test_without_the_package_it_says_how_to_get_it(monkeypatch, ask):
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(EngineUnavailable, match=r"pip install .*\[draft\]"):
        ask(DraftEngine())


def test_a_package_without_the_library_is_unavailable(monkeypatch, tmp_path):
    monkeypatch.setattr(espeakng_loader, "get_library_path", lambda: str(tmp_path / "lib.so"))
    with pytest.raises(EngineUnavailable, match="carries no library for this machine"):
        DraftEngine().start()


def test_a_library_that_does_not_load_is_unavailable(monkeypatch, tmp_path):
    library = tmp_path / "libespeak-ng.so"
    library.write_text("no library")
    monkeypatch.setattr(espeak, "_package", lambda: (library, tmp_path))
    with pytest.raises(EngineUnavailable, match="does not start"):
        DraftEngine().start()


def test_a_package_at_a_long_path_works(monkeypatch, tmp_path):
    library, folder = espeak._package()
    deep = tmp_path / "/".join(["a folder with a long name"] * 10)
    data = deep / "espeak-ng-data"
    shutil.copytree(
        folder / "espeak-ng-data",
        data,
        ignore=lambda _, names: [n for n in names if n.endswith("_dict") and n != "en_dict"],
    )
    assert len(str(data)) > 200
    monkeypatch.setattr(espeak, "_package", lambda: (library, deep))
    with closing(DraftEngine(workers=1).start()) as session:
        assert seconds(say(session, SENTENCE)) > 2


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("crash", "espeak-ng crashed (SIGSEGV)"),
        ("raise", "the draft voice's process failed (exit code 1)"),
        ("vanish", "its worker was killed (SIGKILL)"),
    ],
)
def test_what_goes_wrong_fails_one_request_and_the_run_goes_on(faulty, text, why):
    good = ["One.", "Two.", "Three."]
    outcomes = outcomes_of(faulty, [request(line) for line in (good[0], text, *good[1:])])
    failed = outcomes.pop(text)
    assert failed.speech is None
    assert str(failed.failure) == f"draft voice: {why}: {text!r}"
    assert all(outcome.speech for outcome in outcomes.values())
    assert len(outcomes) == 3


@pytest.mark.parametrize("text", quick(["hang", "vanish and hang"], "vanish and hang"))
def test_a_hang_ends_at_the_watchdog(faulty, monkeypatch, text):
    faulty.add(request(text))
    faulty.add(request("Yes."))
    with monkeypatch.context() as hasty:
        hasty.setattr(DraftProgram, "timeout", 0.2)
        (hung,) = run_added(faulty, 1)
    assert hung.key == text
    assert "took more than" in str(hung.failure)
    (spoken,) = run_added(faulty, 1)
    assert spoken.speech


def test_speech_without_end_is_cut_off_and_says_so(faulty):
    speech = say(faulty, SENTENCE)
    assert speech.stop == "cap"
    assert 1 < seconds(speech) <= 2 + espeak.TAIL_SECONDS


def test_texts_larger_than_a_pipe_block_nothing(faulty):
    lines = [request(SENTENCE * 5000, key=str(n)) for n in range(faulty.slots)]
    began = time.monotonic()
    for line in lines:
        faulty.add(line)
    assert time.monotonic() - began < 5
    outcomes = run_added(faulty, len(lines))
    assert [outcome.speech.stop for outcome in outcomes if outcome.speech] == ["cap"] * len(lines)


def test_a_worker_killed_while_idle_is_replaced(faulty):
    (pid,) = processes(faulty)
    os.kill(pid, signal.SIGKILL)
    outcomes_of(faulty, [request("One.")])  # may be lost with the worker
    assert say(faulty, "Two.")
    assert processes(faulty) != [pid]


def test_a_worker_that_cannot_be_replaced_ends_the_run(faulty, monkeypatch, tmp_path):
    monkeypatch.setattr(espeak, "WORKER", tmp_path / "gone.py")
    faulty.add(request("vanish"))
    with pytest.raises(EngineUnavailable, match="does not start: its worker ended with code 2"):
        run_added(faulty, 2)


def test_ctrl_c_is_left_to_the_parent(session):
    before = processes(session)
    for pid in before:
        os.kill(pid, signal.SIGINT)
    assert say(session, "Yes.")
    assert processes(session) == before


def test_a_worker_ends_with_its_parent():
    worker = Worker(DraftProgram(DraftEngine()))
    worker.stdin.close()  # what the end of this process would do
    assert worker.process.wait(10) == 0
    worker.end()


def test_closing_leaves_no_process_even_in_the_middle_of_a_line(faulty):
    faulty.add(request("hang"))
    groups = processes(faulty)
    faulty.close()
    for group in groups:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)


# -- the seam --------------------------------------------------------------------------------------


def test_it_is_an_engine():
    engine: Engine = DraftEngine(workers=3)
    assert engine.identity() == {
        "name": "draft",
        "sampler": espeak.SAMPLER,
        "espeakng-loader": importlib.metadata.version("espeakng-loader"),
    }
    version = importlib.metadata.version("espeakng-loader")
    assert (engine.public_name, engine.is_trained) == (
        f"eSpeak NG (espeakng-loader {version})",
        False,
    )
    assert (engine.sample_rate, engine.continues, list(engine.sound_parameters)) == (
        22050,
        False,
        [],
    )
    assert DraftEngine(workers=3).slots > 3
    assert DraftEngine(workers=3, slots=5).slots == 5


def test_nothing_in_flight_is_nothing_to_wait_for(session):
    began = time.monotonic()
    for _ in range(10):
        assert session.advance() == []
    assert time.monotonic() - began < 4  # one that waits does so for half a second


def test_a_full_session_keeps_every_worker_busy():
    with closing(DraftEngine(workers=2).start()) as session:
        for number in range(session.slots):
            session.add(request("Yes.", key=str(number)))
        assert all(len(worker.requests) == REQUESTS_PER_WORKER for worker in session._workers)
        assert len(run_added(session, session.slots)) == session.slots
