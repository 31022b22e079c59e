"""What a stranger gives to the model: used, or refused in words before anything is computed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import cosyvoice2
from benchmarks.cosyvoice import RELEASED
from cosyvoice2 import CosyVoice2, Reference, RequestError, Speaker
from cosyvoice2.generate import Request
from cosyvoice2.load import build_networks
from cosyvoice2.sounds import SpeechDecoder
from cosyvoice2.vocoder import estimate_bytes as vocoder_bytes
from tests.cosyvoice2.conftest import TINY, CosyGolden
from tests.effort import quick
from tests.voxcpm2 import gpu

VOICE = np.ones(192, np.float32)
SHORT: dict[str, Any] = {"min_len": 1, "max_len": 4, "seed": 1}


@pytest.fixture(scope="module")
def model(golden: CosyGolden) -> CosyVoice2:
    return cosyvoice2.load(golden.checkpoint)


def voice(tokens: Any = (1, 2, 3)) -> Reference:
    return Reference(tokens, np.zeros((2 * len(tokens), 80)), VOICE)


def set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def test_arguments_have_the_promised_order(model):
    given = ("Hello", voice(), "Hi.", [4, 5], None, VOICE, iter([0.5] * 99), 3)
    found = model.generate(*given, max_len=4)
    said = model.speak(
        "Hello",
        reference=voice(),
        prompt_text="Hi.",
        prefix_tokens=[4, 5],
        uniforms=iter([0.5] * 99),
        max_len=4,
    )
    assert found.tolist() == said.tokens.tolist()


@pytest.mark.parametrize("make", quick([list, np.array, mx.array], np.array))
def test_lists_and_arrays_are_one(model, make):
    ids, tokens = [1, 2], [3, 4]
    expected = model.logits(ids, [], tokens)
    np.testing.assert_array_equal(model.logits(make(ids), make([]), make(tokens)), expected)
    expected = model.mel(tokens, voice())
    np.testing.assert_array_equal(model.mel(make(tokens), voice(make([1, 2, 3]))), expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([999_999], [], []), "text_ids: ids are from 0 to 543"),
        (([-1], [], []), "text_ids"),
        (([1], [732], []), "prefix_tokens: ids are from 0 to 731"),
        (([1], [], [732]), "tokens: ids are from 0 to 731"),
        (([0.5], [], []), "whole numbers"),
        (([[1]], [[2]], [[3]]), "expected shape"),
        (([1], None, []), "prefix_tokens"),
        (([1] * 32_767, [], []), "the model has 32768"),
    ],
)
def test_logits_of_ids_that_are_none_are_refused(model, given, said):
    with pytest.raises(RequestError, match=said):
        model.logits(*given)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("a.wav", "as model.reference makes"),
        (voice([TINY.flow.vocab_size]), f"from 0 to {TINY.flow.vocab_size - 1}"),
    ],
)
def test_a_reference_that_is_none_of_this_model_is_refused(model, reference, said):
    with pytest.raises(RequestError, match=said):
        model.mel([1], reference, VOICE)
    with pytest.raises(RequestError, match=said):
        model.speak("Hello", reference, speaker=VOICE, **SHORT)
    with pytest.raises(RequestError, match=said):
        model.stream("Hello", reference, speaker=VOICE, **SHORT)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"text": 5}, "or pieces of it, not int"),
        ({"text": b"Hello"}, "a piece of text must be text, not int"),
        ({"text": ["Hello", 3]}, "a piece of text must be text, not int"),
        ({"text": ["\ud800"]}, "surrogate"),
        ({"text": ["Hello"], "seed": -1}, "seed"),
        ({"text": ["Hello"], "max_len": 4}, "takes no instruction, tokens, min_len or max_len"),
        ({"text": ["Hello"], "instruction": "Sing"}, "give it whole"),
        ({"text": ["Hello"], "prompt_text": ""}, "prompt_text is empty"),
        ({"text": ["Hello"], "prompt_text": [999_999]}, "no row for"),
        ({"text": ["Hello"], "prefix_tokens": [1]}, "need prompt_text"),
    ],
)
def test_a_text_in_pieces_is_looked_at_as_a_whole_one_is(model, call, said):
    with pytest.raises(RequestError, match=said):
        model.generate(reference=voice(), **call)


def test_a_text_in_pieces_can_be_cancelled(model):
    pieces = ["Hello there, my friend"]
    assert not list(model.stream(pieces, voice(), cancel=set_event(), seed=1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"seed": -1}, "seed"),
        ({"noise": np.zeros((480, 8))}, "noise"),
        ({"compatible": True, "noise": np.zeros((480, 9))}, "iterator of arrays"),
        ({"tokens": [1]}, "take no text"),
    ],
)
def test_a_stream_is_refused_when_it_is_asked_for(model, call, said):
    with pytest.raises(RequestError, match=said):
        model.stream("Hello", voice(), **call)


def test_noise_that_ends_before_a_compatible_stream_is_said(model):
    with pytest.raises(RequestError, match="noise given has ended"):
        list(model.stream("Hello", voice(), compatible=True, noise=iter([]), **SHORT))


def test_the_flow_s_room_is_the_longest_speech(model):
    long = Reference(np.zeros(7498, int), np.zeros((14_996, 80)), VOICE)
    batch = model.batch(1)
    row = batch.add(Request("Hello there, my friend", long, seed=1))
    while not batch.step():
        pass
    assert (len(row.tokens), row.stop_reason) == (2, "cap")
    with pytest.raises(RequestError, match="more than the 2 that the flow takes"):
        model.speak("", long, tokens=[1, 2, 3])
    with pytest.raises(RequestError, match="leaves no room"):
        model.speak("Hello", Reference(np.zeros(7500, int), np.zeros((15_000, 80)), VOICE))
    assert not len(model.batch(1))


@pytest.mark.parametrize("kind", quick([None, "cuda"], None))
def test_noise_that_does_not_fit_costs_its_row_alone(model, kind):
    batch = model.batch(3)
    rows = [
        batch.add(Request(tokens=[7], reference=voice(), seed=1, noise=noise))
        for noise in (None, np.zeros((480, 9)), None)
    ]
    said: list[Any] = []

    def advance() -> None:
        while len(batch):
            said.extend(batch.advance())

    with gpu.pretended(kind) if kind else nullcontext():
        with pytest.raises(RequestError, match="noise"):
            advance()
        advance()
    assert [row for row, _ in said] == [rows[0], rows[2]]


def test_a_speed_that_is_none_is_refused_beforehand(model):
    with pytest.raises(RequestError, match="speed"):
        model.batch(1).add(Request("Hello", voice(), speed=9))


def test_a_decoding_that_nobody_waits_for_is_not_made(model, monkeypatch):
    sounds: list[int] = []
    speech = model._decoder.speech
    monkeypatch.setattr(
        model._decoder, "speech", lambda rows: (sounds.append(len(rows)), speech(rows))[1]
    )
    batch = model.batch(3)
    for token in (5, 6, 7):
        batch.add(Request(tokens=[token], reference=voice(), seed=1))
    with gpu.pretended("cuda"):
        decodings = [batch.decoding(row) for row in batch.step()]
        del decodings[1]
        assert decodings[0].is_pending
        made = decodings[0].speech()
        assert sounds == [2]
        assert not decodings[1].is_pending
    assert made.tokens.tolist() == [5]
    assert decodings[1].speech().tokens.tolist() == [7]


@pytest.mark.slow
def test_the_memory_that_is_asked_for_is_what_sound_takes(model):
    row = model._decoder.row(Request(reference=voice()), [1] * 197)
    model.flow.join()
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    mx.eval(model.flow.mel([row], steps=1))
    taken = mx.get_peak_memory() - before
    assert 0.5 * taken < model.flow.estimate_bytes(1, 400) < 2 * taken


def test_the_memory_of_the_released_sizes():
    """Ten seconds of a reference and thirty of speech: their scores take more than their keys."""
    _, flow, hift = build_networks(RELEASED)
    with gpu.pretended("cpu"):
        assert 600e6 < flow.estimate_bytes(1, 2048) < 800e6
        assert 600e6 < vocoder_bytes(hift) < 700e6
    with gpu.pretended("cuda"):
        assert (
            SpeechDecoder(flow, hift).estimate_bytes(8, 2048) == flow.estimate_bytes(4, 2048) < 6e9
        )


def test_a_stored_clip_leads_only_where_nothing_else_is_said(model, monkeypatch):
    stored = {"Ada": Speaker(VOICE, np.array([300, 301], np.int32), voice())}
    monkeypatch.setitem(vars(model), "speakers", stored)

    def asked(**request: Any) -> Any:
        return model.batch(1).add(Request(speaker="Ada", **request))

    assert asked(text="Hello").prefix == [1, 2, 3]
    assert asked(text="Hello", instruction="Sing").prefix == []
    assert asked(tokens=[1]).tokens.tolist() == [1]
    rolling = asked(text="Hello", prompt_text="So.", prefix_tokens=[8])
    assert rolling.prefix == [8]
    with pytest.raises(RequestError, match="need prompt_text"):
        asked(text="Hello", prefix_tokens=[8])


def test_a_chunk_of_a_compatible_stream_has_noise_of_its_own(model, monkeypatch):
    seeds: list[int] = []

    def noted(hift: Any, seed: int, *rest: Any) -> Iterator[Any]:
        seeds.append(seed)
        return noise_of(hift, seed, *rest)

    noise_of = cosyvoice2._stream.make_noise
    monkeypatch.setattr(cosyvoice2._stream, "make_noise", noted)
    list(model.stream(tokens=[1] * 30, speaker=VOICE, seed=2**32 - 1, compatible=True))
    assert seeds == [2**32 - 1, 0]
