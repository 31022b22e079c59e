"""From text to samples as the official API goes, in every mode, given its random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import cosyvoice2
from cosyvoice2 import CosyVoice2, Reference, Speech
from tests.cosyvoice2.conftest import CosyGolden
from tests.effort import quick


@pytest.fixture(scope="module")
def model(golden: CosyGolden) -> CosyVoice2:
    return cosyvoice2.load(golden.checkpoint)


def reference(golden: CosyGolden, name: str) -> Reference:
    """As it was recorded of a clip."""
    a = golden.arrays(f"prompt_{name}")
    return Reference(a["tokens_used"][0], a["mel_used"][0], a["embedding"][0])


def asked(golden: CosyGolden, name: str) -> dict[str, Any]:
    """What a recorded call was given, but for its noise."""
    facts, arrays = golden.facts(name), golden.arrays(name)
    given: dict[str, Any] = {}
    if "tokens" in facts:
        given["tokens"] = facts["tokens"]
    else:
        given["text"] = facts["text"]
        given["uniforms"] = iter(arrays["u"].tolist())
    for key, ours in (("prompt_text", "prompt_text"), ("instruct", "instruction")):
        if key in facts:
            given[ours] = facts[key]
    if "prompt" in facts:
        given["reference"] = reference(golden, facts["prompt"])
    if "spk_id" in facts:
        given["speaker"] = facts["spk_id"]
    if "speed" in facts:
        given["speed"] = facts["speed"]
    return given


def noises(golden: CosyGolden, name: str) -> Iterator[np.ndarray]:
    """The vocoder's noise, call by call."""
    facts = golden.facts(name)
    for call, shape in enumerate(facts["hift_noise_shapes"]):
        seed = facts["hift_noise_seed"] + call
        yield np.random.RandomState(seed).standard_normal(shape).astype(np.float32)[0]


def alike(found: np.ndarray, expected: np.ndarray) -> None:
    """End to end: phases gather the last bits of pitch."""
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) <= 0.01 * np.linalg.norm(expected)
    assert np.abs(found - expected).max() <= 3e-2


WHOLE = ("zero_shot", "cross_lingual", "instruct2", "sft", "speed", "given_tokens")


@pytest.fixture(scope="module")
def spoken(golden: CosyGolden, model: CosyVoice2) -> Callable[[str], Speech]:
    """What a whole call said, by mode."""

    @cache
    def speak(mode: str) -> Speech:
        name = f"tts_{mode}"
        given = {"text": "", **asked(golden, name)}
        return model.speak(**given, noise=next(noises(golden, name)), seed=0)

    return speak


@pytest.mark.parametrize("mode", quick(WHOLE, "instruct2"))
def test_it_says_what_the_official_code_says(
    golden: CosyGolden, spoken: Callable[[str], Speech], mode: str
) -> None:
    arrays, speech = golden.arrays(f"tts_{mode}"), spoken(mode)
    mel = arrays["mel_0"][0].T
    assert speech.mel.shape == mel.shape
    assert len(mel) == 2 * len(speech.tokens)
    np.testing.assert_allclose(speech.mel, mel, atol=5e-5)
    alike(speech.samples, arrays["wav"][0])


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.slow
def test_its_parts_say_the_same_given_what_goes_in(
    golden: CosyGolden, model: CosyVoice2, spoken: Callable[[str], Speech], mode: str
) -> None:
    name = f"tts_{mode}"
    arrays, facts = golden.arrays(name), golden.facts(name)
    given = asked(golden, name)
    given.pop("speed", None)
    tokens = given.get("tokens") or model.generate(**given)
    assert list(tokens) == spoken(mode).tokens.tolist()
    mel = model.mel(tokens, given.get("reference"), given.get("speaker"))
    np.testing.assert_allclose(mel, arrays["mel_0"][0].T, atol=5e-5)
    samples = model.vocode(
        arrays["mel_0"][0].T,
        arrays["f0_0"][0],
        next(noises(golden, name)),
        facts.get("speed", 1.0),
    )
    assert np.abs(samples - arrays["wav"][0]).max() <= 2e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    ["given_tokens_stream", "given_tokens_stream_short", "zero_shot_stream"],
)
def test_a_compatible_stream_has_the_official_joints(
    golden: CosyGolden, model: CosyVoice2, mode: str
) -> None:
    name = f"tts_{mode}"
    arrays, given = golden.arrays(name), asked(golden, name)
    if "reference" not in given:
        given["speaker"] = reference(golden, golden.clips[0]).speaker
    chunks = list(model.stream(**given, noise=noises(golden, name), compatible=True))
    assert [len(chunk) for chunk in chunks] == arrays["chunk_lengths"].tolist()
    alike(np.concatenate(chunks), arrays["wav"][0])
