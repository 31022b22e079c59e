"""Calls: lengths, retries, cancelling, prompts, and what is refused before any work."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import voxcpm2
from voxcpm2 import AudioError, Prompt, Request, RequestError, VoxCPM2
from voxcpm2.prompt import AUDIO_START, spoken_text

from .conftest import latents


@pytest.fixture
def model(models: Callable[[str], VoxCPM2]) -> VoxCPM2:
    return models("base")


class TestInterface:
    def test_everything_after_the_first_argument_goes_by_name(self):
        for function in (
            voxcpm2.load,
            VoxCPM2.encode,
            VoxCPM2.decode,
            VoxCPM2.generate,
            VoxCPM2.stream,
            Request,
        ):
            named = list(inspect.signature(function).parameters.values())
            named = named[2:] if named[0].name == "self" else named[1:]
            assert {parameter.kind for parameter in named} == {inspect.Parameter.KEYWORD_ONLY}

    def test_stream_and_request_take_what_generate_takes(self):
        def options(function: Any) -> dict[str, Any]:
            parameters = inspect.signature(function).parameters
            return {name: p.default for name, p in parameters.items() if name != "self"}

        whole = options(VoxCPM2.generate)
        assert options(Request) == whole
        assert options(VoxCPM2.stream) == {k: v for k, v in whole.items() if k != "retries"}

    def test_rates_and_tokens(self, model):
        assert (model.sample_rate, model.encode_sample_rate) == (48000, 16000)
        assert AUDIO_START not in model.tokenize("Hello world.")

    def test_encode_and_decode_go_together(self, model):
        sound = np.sin(np.arange(5000) / 20).astype(np.float32)
        encoded = model.encode(sound, sample_rate=16000)
        assert encoded.shape == (2, 4, 16)
        assert encoded.dtype == np.float32
        whole = model.decode(encoded)
        assert whole.shape == (2 * 4 * 1920,)
        second = model.decode(encoded[1:], context=encoded[:1])
        assert np.abs(whole[4 * 1920 :] - second).max() < 1e-5
        assert np.abs(whole - model.decode(encoded, sample_rate=16000)).max() > 1e-3


class TestText:
    def test_white_space_is_upstreams(self):
        assert spoken_text(" Hello \n\t world,\nyes. ", None) == " Hello world, yes. "

    def test_a_voice_stands_in_parentheses_before_the_text(self):
        assert spoken_text("Hello.", " warm and  slow ") == "(warm and slow)Hello."

    def test_the_description_counts_as_text_but_is_not_spoken(self, model):
        speech = model.generate("Hello.", voice="warm", max_len=2, steps=2)
        assert speech.token_count == len(model.tokenize("(warm)Hello."))
        assert speech.text == "Hello."


class TestLength:
    def test_no_text_gets_more_patches_than_its_tokens_allow(self, model):
        speech = model.generate("the lazy dog", min_len=1000, max_len=1000, steps=1)
        assert len(speech.latents) == 3 * 6 + 10
        assert speech.stop_reason == "cap"

    @pytest.mark.slow
    def test_the_models_length_bounds_it_too(self, model):
        voice = latents(model, 0, 380)
        speech = model.generate("the lazy dog", reference=voice, min_len=12, steps=1)
        assert len(speech.latents) == model.config.max_length - (380 + 2 + 3 + 1)

    @pytest.mark.slow
    def test_a_stop_is_heeded_only_after_min_len(self, model):
        lengths = [
            len(model.generate("Hello world, this is a test.", seed=1, min_len=n, steps=2).latents)
            for n in (0, 2, 8)
        ]
        assert lengths == sorted(lengths)
        assert lengths[2] > 9

    def test_a_temperature_of_zero_takes_the_noise_away(self, model):
        one, two = (
            model.generate("the lazy dog", seed=seed, temperature=0.0, max_len=2, steps=2)
            for seed in (1, 2)
        )
        np.testing.assert_array_equal(one.latents, two.latents)


class TestRetries:
    def test_too_long_a_speech_is_tried_again_with_the_next_seed(self, model):
        call = {"text": "dog", "min_len": 100, "steps": 1}
        speech = model.generate(seed=2**32 - 1, retries=2, **call)
        assert (speech.attempts, speech.seed) == (3, 1)
        alone = model.generate(seed=1, **call)
        np.testing.assert_array_equal(speech.latents, alone.latents)

    def test_a_good_speech_is_not_tried_again(self, model):
        speech = model.generate("the lazy dog", max_len=17, min_len=100, steps=1, retries=5)
        assert speech.attempts == 1
        assert len(speech.latents) == 17

    @pytest.mark.slow
    def test_a_row_that_is_tried_again_keeps_its_batch_going(self, model):
        batch = model.batch(slots=2)
        bad = batch.add(Request("dog", min_len=100, steps=1, retries=1, seed=1))
        good = batch.add(Request("the warm sun", max_len=4, steps=2, seed=2))
        speeches = {}
        while len(batch):
            speeches.update(batch.advance())
        assert speeches[bad].attempts == 2
        assert speeches[good].attempts == 1

    def test_an_unseeded_call_reports_the_seed_that_it_drew(self, model):
        speech = model.generate("the lazy dog", max_len=3, steps=2)
        again = model.generate("the lazy dog", max_len=3, steps=2, seed=speech.seed)
        np.testing.assert_array_equal(speech.latents, again.latents)


class TestCancel:
    def test_it_is_polled_every_step(self, model):
        class AtThird:
            polls = 0

            def is_set(self) -> bool:
                self.polls += 1
                return self.polls == 3

        cancel = AtThird()
        speech = model.generate("the lazy dog", min_len=20, steps=2, cancel=cancel, seed=1)
        assert speech.stop_reason == "cancelled"
        assert len(speech.latents) == 2
        assert cancel.polls == 3
        assert len(speech.samples) == 2 * 4 * 1920

    def test_a_row_that_never_ran_has_no_sound(self, model):
        cancel = threading.Event()
        cancel.set()
        speech = model.generate("the lazy dog", cancel=cancel)
        assert speech.stop_reason == "cancelled"
        assert speech.latents.shape == (0, 4, 16)
        assert speech.samples.shape == (0,)


def test_a_process_whose_other_thread_spoke_ends_cleanly(golden):
    """MLX aborts there if that thread ran a compiled function."""
    program = (
        "import sys, threading, voxcpm2\n"
        "model = voxcpm2.load(sys.argv[1])\n"
        "speak = lambda: model.generate('the lazy dog', max_len=2, steps=3)\n"
        "for _ in range(3):\n"
        "    thread = threading.Thread(target=speak)\n"
        "    thread.start()\n"
        "    thread.join()\n"
    )
    root = Path(voxcpm2.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program, str(golden("base").checkpoint)], cwd=root, check=False
    )
    assert done.returncode == 0


class TestPrompt:
    def test_extending_joins_text_and_latents_as_they_are(self, model):
        prompt = Prompt("It was said. ", latents(model, 0, 3))
        speech = model.generate("Then  this.", prompt=prompt, max_len=2, steps=2)
        longer = prompt.extend(speech)
        assert longer.text == "It was said. Then this."
        np.testing.assert_array_equal(longer.latents[:3], prompt.latents)
        np.testing.assert_array_equal(longer.latents[3:], speech.latents)


def noise_of_wrong_shape(step: int, shape: tuple[int, int]) -> np.ndarray:
    return np.zeros(shape[::-1], np.float32)


class TestBadInput:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            ({"text": ""}, "text is empty"),
            ({"text": " \n"}, "text is empty"),
            ({"text": None}, "text is empty"),
            ({"text": "x", "voice": " "}, "voice is empty"),
            ({"text": "Hello world. " * 100}, "the model has 400; split the text"),
            ({"text": "<|audio_prompt_start|>"}, "holds a marker that this model has no token for"),
            ({"text": "x", "steps": 0}, "steps is 0"),
            ({"text": "x", "steps": 2.5}, "steps is 2.5"),
            ({"text": "x", "cfg": float("nan")}, "cfg is nan"),
            ({"text": "x", "cfg": "2"}, "cfg is '2'"),
            ({"text": "x", "seed": -1}, "seed is -1"),
            ({"text": "x", "seed": 2**32}, "seed is 4294967296"),
            ({"text": "x", "min_len": -1}, "min_len is -1"),
            ({"text": "x", "max_len": 0}, "max_len is 0"),
            ({"text": "x", "retries": True}, "retries is True"),
            ({"text": "x", "temperature": -1.0}, "temperature is -1.0"),
            ({"text": "x", "noise": noise_of_wrong_shape}, "noise of step 0 has shape (4, 16)"),
        ],
    )
    def test_a_call_is_refused(self, model, call, message):
        with pytest.raises(RequestError, match=re.escape(message)):
            model.generate(**call)

    def test_text_without_tokens(self, model, monkeypatch):
        monkeypatch.setattr(model, "tokenize", lambda text: [])
        with pytest.raises(RequestError, match="'x' has no tokens"):
            model.generate("x")

    def test_a_prompt_needs_its_text(self, model):
        with pytest.raises(RequestError, match="the prompt has no text"):
            model.generate("Hello.", prompt=Prompt("", latents(model, 0, 2)))

    def test_a_voice_does_not_go_with_a_prompt(self, model):
        with pytest.raises(RequestError, match="voice and prompt exclude each other"):
            model.generate("Hello.", voice="warm", prompt=Prompt("Hi.", latents(model, 0, 2)))

    def test_the_first_generation_knows_no_reference(self, models):
        v1 = models("v1")
        with pytest.raises(RequestError, match="knows no reference"):
            v1.generate("Hello.", reference=latents(v1, 0, 2))

    @pytest.mark.parametrize("name", ["reference", "prompt"])
    def test_latents_of_another_shape_or_not_finite(self, model, name):
        good = latents(model, 0, 2)
        bad = good.copy()
        bad[1, 2, 3] = np.nan
        for wrong, message in (
            (good[0], "has shape (4, 16)"),
            (good[:0], "has shape (0, 4, 16)"),
            (good.transpose(0, 2, 1), "has shape (2, 16, 4)"),
            (bad, "not finite"),
        ):
            given = wrong if name == "reference" else Prompt("Hi.", wrong)
            with pytest.raises(RequestError, match=re.escape(message)):
                model.generate("Hello.", **{name: given})

    def test_audio_that_holds_no_voice(self, model):
        for audio in (np.zeros(16000), np.ones(320), np.full(16000, np.nan)):
            with pytest.raises(AudioError):
                model.encode(audio.astype(np.float32))
        with pytest.raises(RequestError, match="pad is 'both'"):
            model.encode(np.ones(16000, np.float32), pad="both")  # type: ignore[arg-type]

    def test_no_work_is_done_before_a_refusal(self, model, monkeypatch):
        monkeypatch.setattr(model.network, "prefill", lambda *_: pytest.fail("prefill ran"))
        with pytest.raises(RequestError):
            model.batch(slots=1).add(Request("Hello world. " * 100))


@pytest.mark.slow
def test_the_readmes_example_runs(golden):
    readme = (Path(voxcpm2.__file__).parent / "README.md").read_text()
    code = readme.partition("```python\n")[2].partition("```")[0]
    code = code.replace("openbmb/VoxCPM2", str(golden("base").checkpoint))
    code = code.replace("speaker.wav", str(golden("base").path("wav/ref.wav")))
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert len(scope["batch"]) == 0
    assert len(scope["samples"]) == 4 * 1920


def test_a_batch_goes_on_unharmed_after_a_callers_noise_raised(model):
    fails = iter([True])

    def noise(step: int, shape: tuple[int, int]) -> np.ndarray:
        if step == 3 and next(fails, False):
            raise OSError("once")
        return np.zeros(shape, np.float32)

    alone = model.generate("Hello there you.", seed=1, max_len=5, min_len=5, steps=3)
    batch = model.batch(slots=2)
    row = batch.add(Request("Hello there you.", seed=1, max_len=5, min_len=5, steps=3))
    batch.add(Request("Quite another text.", noise=noise, max_len=5, min_len=5, steps=3))
    found = {}
    raised = 0
    while len(batch):
        try:
            found |= dict(batch.advance())
        except OSError:
            raised += 1
    assert raised == 1
    np.testing.assert_allclose(found[row].latents, alone.latents, atol=1e-4)
