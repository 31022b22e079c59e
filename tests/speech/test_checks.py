from __future__ import annotations

import json
from dataclasses import asdict, fields

import numpy as np
import pytest

from narrator.sound.timing import TimedWord
from narrator.speech.checks import (
    Fault,
    TakeFigures,
    concern_of,
    examine,
    is_suspicious,
    severity,
)
from narrator.speech.leaks import PromptSound
from tests import sounds

RATE = 16000
TEXT = "The ferry left at seven, and nobody had ever asked it to wait for them."


def noise(seconds: float, level: float = 0.1) -> np.ndarray:
    return np.random.default_rng(1).normal(0, level, round(seconds * RATE)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def tone(seconds: float, hertz: float, peak: float = -20) -> np.ndarray:
    return sounds.tone(seconds, hertz=hertz, peak=peak, rate=RATE)


def speech(seconds: float, seed: int = 0) -> np.ndarray:
    """Vowels, each with formants of its own, hisses, and short pauses: no two passages alike."""
    draw = np.random.default_rng(seed)
    pieces: list[np.ndarray] = []
    while sum(map(len, pieces)) < seconds * RATE:
        count = round(draw.uniform(0.08, 0.2) * RATE)
        kind = draw.random()
        if kind < 0.1:
            piece = np.zeros(count)
        elif kind < 0.25:
            hiss = np.diff(draw.standard_normal(count + 1)) * 0.03
            piece = hiss * np.hanning(count)
        else:
            pitch = np.linspace(draw.uniform(100, 160), draw.uniform(100, 160), count)
            phase = 2 * np.pi * np.cumsum(pitch) / RATE
            formants = draw.uniform((300, 900, 2200), (800, 2000, 3000))
            hertz = np.arange(1, 30) * float(pitch.mean())
            shape = sum(
                weight / (1 + ((hertz - formant) / 120) ** 2)
                for formant, weight in zip(formants, (1.0, 0.5, 0.2), strict=True)
            )
            waves = [a * np.sin(n * phase + n) for n, a in enumerate(shape, 1)]
            piece = 0.15 * np.sum(waves, axis=0) * np.hanning(count) ** 0.3
        pieces.append(piece)
    return np.concatenate(pieces)[: round(seconds * RATE)].astype(np.float32)


def take(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([silence(0.1), *parts, silence(0.2)])


def kinds(samples: np.ndarray, expected: float, **options: object) -> list[str]:
    return [fault.kind for fault in examine(samples, RATE, expected, **options).faults]  # type: ignore[arg-type]


def swelling() -> np.ndarray:
    return take(0.2 * speech(5), speech(5, 1))


def with_samples(samples: np.ndarray, place: slice | int, sample: float) -> np.ndarray:
    samples[place] = sample
    return samples


def whistled() -> np.ndarray:
    samples = speech(8)
    samples[40000:60000] += tone(1.25, 3150, -25)
    return take(samples)


def hissing() -> np.ndarray:
    samples = take(speech(4), silence(2.5), speech(2, 1))
    hiss = np.random.default_rng(2).normal(0, 1e-3, len(samples))
    return (samples + hiss).astype(np.float32)


def syllable() -> np.ndarray:
    """From the middle of a vowel on."""
    return np.concatenate([speech(0.15, 3)[1800:], silence(0.2), speech(8), silence(0.2)])


def twice(samples: np.ndarray, start: int, stop: int | None = None) -> np.ndarray:
    return take(np.concatenate([samples[:stop], samples[start:]]))


REFRAIN = "Row, row, row your boat, gently down the stream."


LONG_WORD = [TimedWord(0, 1, 0.0, 5.0)]


@pytest.mark.parametrize(
    ("make", "expected", "options", "faults"),
    [
        *((lambda seed=seed: take(speech(8, seed)), 8, {"text": TEXT}, "") for seed in range(5)),
        (lambda: take(noise(4), silence(0.5), noise(4)), 8, {}, ""),  # whispered
        # nothing to hear
        (lambda: np.zeros(0, np.float32), 1, {}, "silent"),
        (lambda: take(noise(4, 1e-5)), 4, {}, "silent"),
        (lambda: with_samples(silence(4), 30000, 0.9), 4, {}, "silent"),  # a click is no speech
        (lambda: np.full(3, 0.5, np.float32), 4, {}, "silent"),
        (lambda: with_samples(take(noise(4)), 5000, np.nan), 4, {}, "finite"),
        (lambda: with_samples(take(noise(4)), 5000, np.inf), 4, {}, "finite"),
        (lambda: take(speech(4)), 4, {"latents": np.full((25, 4, 64), np.nan)}, "finite"),
        # full scale
        (lambda: with_samples(take(noise(4)), slice(8000, 8020), 1.0), 4, {}, "clipped"),
        (lambda: with_samples(take(noise(4)), slice(8000, 12000, 50), 1.0), 4, {}, ""),
        (lambda: with_samples(take(noise(4)), 8000, 1.01), 4, {}, "clipped"),
        # length: short words may be short, a known speaker may stray less, a slow one may be slow
        (lambda: take(noise(30)), 8, {}, "long"),
        (lambda: take(noise(2)), 8, {}, "short"),
        (lambda: take(noise(0.15)), 0.6, {}, ""),
        (lambda: take(speech(13)), 8, {}, ""),
        (lambda: take(speech(13)), 8, {"median_ratio": 0.9}, "long"),
        (lambda: take(speech(5)), 8, {}, ""),
        (lambda: take(speech(5)), 8, {"median_ratio": 1.1}, "short"),
        (lambda: take(speech(16)), 8, {"median_ratio": 1.9}, ""),
        # silence inside, though there is noise in it; at the edges it is none
        (lambda: take(speech(4), silence(2.5), speech(2, 1)), 8, {}, "gap"),
        (hissing, 8, {}, "gap"),
        (lambda: take(silence(3), speech(8), silence(3)), 8, {}, ""),
        (lambda: np.concatenate([silence(0.1), noise(8)]), 8, {}, "cut"),
        (lambda: take(speech(8)), 8, {"is_capped": True}, "cut"),
        (swelling, 10, {}, "swing"),
        # before the speech
        (lambda: take(tone(0.08, 1500), silence(0.06), speech(8)), 8, {}, "chirp"),
        (lambda: take(tone(0.08, 6000), silence(0.06), speech(8)), 8, {}, "chirp"),
        (lambda: take(noise(0.08), silence(0.2), speech(8)), 8, {}, "chirp"),
        (lambda: take(np.diff(noise(0.1)), silence(0.08), speech(8)), 8, {}, ""),  # an s before a t
        (syllable, 8, {}, "chirp"),
        (lambda: np.concatenate([silence(0.1), syllable()]), 8, {}, ""),
        # through the speech, and after it
        (whistled, 8, {}, "whistle"),
        (lambda: take(speech(7), silence(0.4), 0.15 * speech(1, 2)), 8, {}, "tail"),
        (lambda: take(speech(4), 0.035 * speech(0.7, 2)), 4, {}, "tail"),
        (lambda: take(speech(4), 0.035 * speech(0.7, 2)), 4, {"words": LONG_WORD}, ""),
        (lambda: take(speech(7), silence(0.6), speech(0.5, 2)), 8, {}, ""),  # a last word
        # what comes twice, unless the text does; without one only long repeats are found
        (lambda: twice(speech(8), 40000, 80000), 8, {"text": TEXT}, "repeat"),
        (lambda: take(speech(4), silence(0.3), speech(4)), 8, {"text": TEXT}, "repeat"),
        (lambda: take(speech(4), silence(0.3), speech(4)), 8, {"text": f"{REFRAIN} " * 2}, ""),
        (lambda: twice(speech(10), -30000), 10, {"text": TEXT}, "repeat"),
        (lambda: twice(speech(10), -30000), 10, {}, ""),
        (lambda: twice(speech(10), -80000), 10, {}, "repeat"),
    ],
)  # fmt: skip
def test_a_take_has_the_faults_that_it_has(make, expected, options, faults):
    assert kinds(make(), expected, **options) == faults.split()


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_every_rate_will_do(rate):
    assert not examine(sounds.silence(1, rate), rate, 1)
    assert examine(np.pad(sounds.voice(0.6, rate=rate), rate // 10), rate, 0.6)


def test_a_take_far_from_its_speakers_loudness_is_found():
    samples = take(speech(8))
    level = examine(samples, RATE, 8).figures.level
    assert kinds(samples, 8, median_level=level + 6) == []
    assert kinds(samples, 8, median_level=level + 10) == ["level"]
    assert kinds(samples, 8, median_level=level - 10) == ["level"]
    assert kinds(samples, 8, median_level=level - 10, max_deviation=12.0) == []


def test_noise_that_goes_on_is_found_within_and_after_the_speech():
    assert "noise" in kinds(take(speech(6), noise(1.5), speech(1, 2)), 8)
    assert "tail" in kinds(take(speech(7), silence(0.3), noise(0.5)), 8)


def test_tokens_are_counted_and_not_taken_for_sound():
    samples = take(speech(6))
    tokens = np.zeros(round(len(samples) / RATE / 0.04), np.int32)
    verdict = examine(samples, RATE, 6, latents=tokens, tokens=10)
    assert verdict
    assert verdict.figures.per_token == len(tokens) / 10
    framed = examine(samples, RATE, 6, latents=tokens[:, None])
    assert framed.figures.repeat == verdict.figures.repeat


def test_what_an_engine_finds_wrong_is_a_fault():
    verdict = examine(take(speech(6)), RATE, 6, engine_fault="0.9 s are said a second time")
    assert [str(fault) for fault in verdict.faults] == ["engine: 0.9 s are said a second time"]


def test_latents_that_come_twice_are_a_repeat():
    latents = np.random.default_rng(1).standard_normal((50, 4, 64)).astype(np.float32)
    samples = take(speech(7.7))
    assert kinds(samples, 8, text=TEXT, latents=latents) == []
    latents[30:45] = latents[5:20]
    assert kinds(samples, 8, text=TEXT, latents=latents) == ["repeat"]


def test_figures_are_finite_and_go_into_json():
    for samples in (np.zeros(0, np.float32), silence(1), take(speech(3)), take(noise(0.05))):
        figures = examine(samples, RATE, 3, text=TEXT).figures
        read = TakeFigures(**json.loads(json.dumps(asdict(figures), allow_nan=False)))
        assert read == figures
        assert all(type(getattr(figures, field.name)) is float for field in fields(figures))


def test_an_exact_copy_counts_for_its_length():
    samples = speech(9)
    assert examine(twice(samples, -32000), RATE, 9).figures.repeat == pytest.approx(2.0, abs=0.4)


def test_the_worse_the_figure_the_worse_the_take():
    def bad(*parts: np.ndarray) -> float:
        return severity(examine(take(*parts), RATE, 8).faults)

    assert bad(speech(8)) == 0
    assert 0 < bad(speech(20)) < bad(speech(30)) < bad(silence(8))
    assert bad(tone(0.08, 3000), silence(0.06), speech(8)) < bad(speech(2.5)) < bad(speech(1))
    assert bad(speech(4), silence(2.2), speech(3)) < bad(speech(4), silence(5), speech(3))


def leftover(begin: int, pause_seconds: float = 0.25) -> np.ndarray:
    """A short vowel at once, a rest, and speech: what the draft voice makes of "Oh, …" when the
    vowel begins with its first wave, a leftover where that is broken."""
    wave = np.sin(2 * np.pi * 200 * (np.arange(round(0.18 * RATE)) + begin) / RATE + np.pi)
    pulses = np.where(wave > 0.5, wave, 0.02 * wave) * 0.3
    pulses[-800:] *= np.linspace(1, 0, 800)
    return np.concatenate([pulses, silence(pause_seconds), speech(8), silence(0.2)]).astype(
        np.float32
    )


@pytest.mark.parametrize("text", ["Oh, how simple it was.", "“Ah!” she said.", "Eh? What is it?"])
def test_a_word_alone_at_the_very_start_is_no_chirp_where_the_text_has_one(text):
    assert kinds(leftover(0), 8, text=text) == []
    assert kinds(leftover(0), 8, text=TEXT) == ["chirp"]
    assert kinds(leftover(0), 8, text="Unfortunately, it was not.") == ["chirp"]


def test_a_word_that_begins_in_the_middle_of_its_sound_is_a_leftover_whatever_the_text():
    assert kinds(leftover(50), 8, text="Oh, how simple it was.") == ["chirp"]
    assert kinds(leftover(50, pause_seconds=0.05), 8, text=TEXT) == ["chirp"]
    assert kinds(leftover(0, pause_seconds=0.05), 8, text=TEXT) == []


PROMPT_TEXT = "He had never seen the enemy."


def leaks(*parts: np.ndarray, prompt: np.ndarray, text: str = TEXT, before: str = PROMPT_TEXT):
    sound = PromptSound("the line before", before, lambda: prompt)
    verdict = examine(take(*parts), RATE, 8, text=text, prompt=sound)
    return [str(fault) for fault in verdict.faults if fault.kind == "leak"]


LEAK = round(0.2 * RATE)


def spoken_prompt() -> np.ndarray:
    """Speech that ends in a vowel."""
    samples = speech(4, seed=3)
    vowel = speech(20, seed=8)[: 2 * LEAK]
    return np.concatenate([samples, vowel, silence(0.25)])


@pytest.mark.parametrize("rest", [0.0, 0.06, 0.2])
@pytest.mark.parametrize("gain", [1.0, 0.6])
def test_the_end_of_the_prompt_at_the_start_is_a_leak(rest, gain):
    prompt = spoken_prompt()
    end = len(prompt) - round(0.25 * RATE)
    leak = (prompt[end - LEAK : end] * gain).astype(np.float32)
    (fault,) = leaks(leak, silence(rest), speech(8), prompt=prompt)
    assert fault.startswith("leak: begins with the end of the line before, 0.")
    assert not leaks(speech(8), prompt=prompt)
    assert not leaks(leak, silence(rest), speech(8), prompt=speech(4, seed=5))


def test_a_sound_from_the_middle_of_the_prompt_is_no_leak():
    prompt = spoken_prompt()
    assert not leaks(prompt[2 * RATE : 2 * RATE + LEAK], speech(8), prompt=prompt)


def test_a_drone_is_no_leak_of_a_prompt_that_drones():
    assert not leaks(tone(8, 200), prompt=tone(4, 200))


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("No, no, I will not.", "I will not have it, no."),
        ("My friend was there.", "He had never seen the enemy."),
    ],
)
def test_a_text_that_asks_for_the_sound_has_no_leak(text, before):
    prompt = spoken_prompt()
    end = len(prompt) - round(0.25 * RATE)
    parts = prompt[end - LEAK : end], silence(0.06), speech(8)
    assert leaks(*parts, prompt=prompt)
    assert not leaks(*parts, prompt=prompt, text=text, before=before)


def test_a_prompt_without_sound_leaks_nothing():
    assert not leaks(speech(8), prompt=np.zeros(0, np.float32))
    assert not leaks(speech(8), prompt=silence(2))


def test_a_take_that_begins_in_the_middle_of_a_sound_has_no_onset():
    vowel = tone(2, 200) * np.float32(2)
    begun = np.concatenate([vowel[round(RATE / 800) :], take(speech(4))])
    assert "onset" in kinds(begun, 6)
    assert "onset" not in kinds(np.concatenate([silence(0.1), begun]), 6)


def begun_at(phase: float, decibels: float) -> list[str]:
    """Kinds of fault of a take whose first sound, a vowel at once, begins at a phase of its wave,
    so many dB above the clear speech after it."""
    samples = take(speech(6))
    wave = np.sin(2 * np.pi * (150 * np.arange(round(0.05 * RATE)) / RATE + phase))
    height = 2**0.5 * 10 ** ((examine(samples, RATE, 6).figures.level + decibels) / 20)
    return kinds(
        np.concatenate([height * wave.astype(np.float32), samples[round(0.1 * RATE) :]]), 6
    )


def test_a_sound_that_begins_at_zero_is_whole_however_soon_it_is_loud():
    assert begun_at(0, 3) == []
    assert begun_at(0.12, 3) == ["onset"]


def test_a_cut_where_the_wave_crosses_zero_is_found_by_its_loudness():
    assert begun_at(0, 8) == ["onset"]


def test_clicks_and_torn_breaths_at_its_edges_are_faults_of_a_take():
    clicked = take(speech(8))
    clicked[np.flatnonzero(np.abs(clicked) > 0.01)[-1] + round(0.03 * RATE)] = 0.2
    assert kinds(clicked, 8) == ["click"]
    half = np.convolve(noise(0.15, 0.03), np.hanning(7) / 3, "same").astype(np.float32)
    assert kinds(np.concatenate([half, silence(0.05), take(speech(8))[:-1]]), 8) == ["torn"]


def test_a_fault_reads_as_its_kind_and_figure():
    assert str(Fault("gap", "2.4 s of silence inside")) == "gap: 2.4 s of silence inside"


def test_takes_near_a_limit_are_suspicious():
    assert not is_suspicious(examine(take(speech(8)), RATE, 8).figures)
    assert is_suspicious(examine(take(speech(8)), RATE, 5).figures)
    assert is_suspicious(examine(take(speech(4), silence(1.2), speech(4)), RATE, 8).figures)


def test_a_word_that_the_text_says_over_and_over_is_no_repeat() -> None:
    word = sounds.voice(0.45, rate=RATE, seed=5)
    pause_seconds = sounds.voice(3.0, rate=RATE, seed=6)
    pause = sounds.silence(0.25, RATE)
    samples = np.concatenate([*(word, pause) * 3, pause_seconds, pause])
    text = "You, you, you... So far from cooling him it seemed to warm him."
    kinds = [fault.kind for fault in examine(samples, RATE, 5.0, text=text).faults]
    assert "repeat" not in kinds
    other_text = "Now then, sir... So far from cooling him it seemed to warm him."
    kinds = [fault.kind for fault in examine(samples, RATE, 5.0, text=other_text).faults]
    assert "repeat" in kinds


@pytest.mark.parametrize(
    ("fault", "concern"),
    [
        ("click: a click at an edge, 29 dB above what is around it", "edge"),
        ("level: -19.6 dB where the speaker has -41.2 dB", "speaker"),
        ("text: 30% of it heard otherwise", "words"),
        ("no kind of ours: at all", ""),
    ],
)
def test_a_fault_tells_what_it_concerns(fault, concern):
    assert concern_of(fault) == concern
