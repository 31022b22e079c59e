"""A stream's chunks are the whole, spoken while its tokens come."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import cosyvoice2
from cosyvoice2 import CosyVoice2, Reference, RequestError
from cosyvoice2.flow import FlowRow
from cosyvoice2.hift import HiFT
from tests.cosyvoice2.conftest import TINY, CosyGolden

TOKENS = [int(n) for n in np.random.RandomState(3).randint(0, TINY.flow.vocab_size, 60)]


@pytest.fixture(scope="module")
def model(golden: CosyGolden, small: HiFT) -> CosyVoice2:
    """With one step of the flow's ten, and fewer channels: how chunks join is the same."""
    made = cosyvoice2.load(golden.checkpoint)
    made.vocoder = made._decoder.vocoder = small
    made.flow.stream = functools.partial(made.flow.stream, steps=1)
    made.flow.mel = functools.partial(made.flow.mel, steps=1)
    return made


@pytest.fixture(scope="module")
def voice(golden: CosyGolden) -> Reference:
    a = golden.arrays(f"prompt_{golden.clips[1]}")
    return Reference(a["tokens_used"][0], a["mel_used"][0], a["embedding"][0])


def masked(model: CosyVoice2, voice: Reference, tokens: list[int]) -> np.ndarray:
    """The whole mel, in which frames see their own second and those before it."""
    row = FlowRow(np.array(tokens, np.int32), voice.tokens, voice.mel, voice.speaker)
    [mel] = model.flow.mel([row], streaming=True)
    return np.array(mel)


@pytest.mark.slow
def test_chunks_are_the_whole_without_a_joint(model, voice):
    chunks = list(model.stream(reference=voice, tokens=TOKENS, seed=5))
    assert len(chunks) > 2
    whole = model.vocode(masked(model, voice, TOKENS), seed=5)
    found = np.concatenate(chunks)
    assert found.shape == whole.shape == (960 * len(TOKENS),)
    # pitch is made of windows of the mel, and phases gather its last bits
    assert np.linalg.norm(found - whole) <= 0.01 * np.linalg.norm(whole)


@pytest.mark.slow
def test_the_first_chunk_comes_before_the_last_token(model, voice):
    uniforms = np.random.RandomState(1).random(300)
    drawn: list[float] = []

    def counted() -> Any:
        for number in uniforms:
            drawn.append(number)
            yield number

    given: dict[str, Any] = {"reference": voice, "min_len": 60, "max_len": 60, "seed": 2}
    stream = model.stream("Hello world.", uniforms=counted(), **given)
    first = next(stream)
    begun = len(drawn)
    rest = list(stream)
    assert begun < 50 < len(drawn)
    tokens = model.generate("Hello world.", uniforms=iter(uniforms), **given)
    assert len(first) + sum(map(len, rest)) == 960 * len(tokens)


def test_a_seed_alone_says_the_same_again(model, voice):
    given: dict[str, Any] = {"reference": voice, "max_len": 10}
    one, other, another = (
        np.concatenate(list(model.stream("Hello.", seed=seed, **given))) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, other)
    assert len(another) != len(one) or not np.array_equal(one, another)


def test_a_text_in_pieces_is_spoken(model, voice):
    pieces = ["Oh, ", "no. ", "你好。"]
    uniforms = np.random.RandomState(4).random(800)
    tokens = model.generate(iter(pieces), voice, uniforms=iter(uniforms))
    chunks = list(model.stream(iter(pieces), voice, uniforms=iter(uniforms)))
    assert sum(map(len, chunks)) == 960 * len(tokens) > 0
    with pytest.raises(RequestError, match="no instruction"):
        model.generate(iter(pieces), voice, instruction="用四川话")


def test_what_nobody_can_speak_is_refused_before_the_first_chunk(model):
    with pytest.raises(RequestError, match="give a reference"):
        model.stream("Hello.")
    with pytest.raises(RequestError, match="no speaker 'Ada' is stored"):
        model.stream("Hello.", speaker="Ada")
