from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from narrator.engines import models, reader
from narrator.engines.voxcpm2.checkpoint import FAMILY
from narrator.errors import EngineUnavailable
from tests import hubs, language_models

# looked for, not loaded: the worker that runs these tests alone has two seconds of it
pytestmark = pytest.mark.skipif(find_spec("mlx_lm") is None, reason="mlx-lm is not installed")

SHARED = "The ferry left at seven, and nobody asked it to wait. [1] “Is there room?”\n" * 4
QUESTIONS = ["Who says [1]?", "Who says [2], “There is room for two”?", "Who?"]
CODES = list("ABCDE")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return language_models.write(tmp_path_factory.mktemp("reader") / "tiny model")


@pytest.fixture(scope="module")
def model(folder):
    with reader.load(models.find_language(str(folder))) as made:
        yield made


def plainly(model, message, options):
    """Likelihoods from one pass over each whole prompt and answer, without any cache."""
    import mlx.core as mx

    prompt = model._encode(model._prompt(message))
    scores = []
    for option in options:
        tokens = (*prompt, *model._encode(option))
        out = model._network(mx.array([tokens[:-1]]))[0].astype(mx.float32)
        logs = np.array(out - mx.logsumexp(out, axis=-1, keepdims=True))
        places = range(len(prompt), len(tokens))
        scores.append(sum(float(logs[place - 1, tokens[place]]) for place in places))
    odds = np.exp(np.array(scores) - max(scores))
    return odds / odds.sum()


@pytest.mark.slow
def test_what_questions_share_is_read_once_and_changes_no_likelihood(model):
    before = model.tokens_read
    found = model.option_probabilities(SHARED, QUESTIONS, CODES)
    whole = sum(len(model._encode(model._prompt(SHARED + q))) for q in QUESTIONS)
    assert model.tokens_read - before < whole / 2
    for question, row in zip(QUESTIONS, found, strict=True):
        assert row == pytest.approx(plainly(model, SHARED + question, CODES), abs=1e-5)
        assert sum(row) == pytest.approx(1)


def test_questions_side_by_side_are_answered_as_alone(model, folder):
    alone = reader.load(models.find_language(str(folder)), rows=1)
    together = model.option_probabilities(SHARED, QUESTIONS, CODES)
    np.testing.assert_allclose(
        together, alone.option_probabilities(SHARED, QUESTIONS, CODES), atol=1e-5
    )
    one_by_one = [
        alone.option_probabilities(SHARED, [question], CODES)[0] for question in QUESTIONS
    ]
    np.testing.assert_allclose(together, one_by_one, atol=1e-5)


def test_an_answer_of_several_tokens_counts_whole(model):
    options = ["AB", "AC", "D", "EFG"]
    (found,) = model.option_probabilities(SHARED, QUESTIONS[:1], options)
    assert found == pytest.approx(plainly(model, SHARED + QUESTIONS[0], options), abs=1e-5)


def test_a_cache_that_cannot_be_cut_is_copied(model, monkeypatch):
    from mlx_lm.models import cache

    expected = model.option_probabilities(SHARED, QUESTIONS, CODES)
    monkeypatch.setattr(
        cache, "make_prompt_cache", lambda network: [cache.RotatingKVCache(2048) for _ in range(2)]
    )
    np.testing.assert_allclose(
        model.option_probabilities(SHARED, QUESTIONS, CODES), expected, atol=1e-5
    )


def test_a_network_without_a_cache_of_tokens_answers_alike(tmp_path):
    folder = language_models.write(tmp_path / "state", config=language_models.MAMBA)
    with reader.load(models.find_language(str(folder))) as model:
        shared = "Who was it? "  # it steps through every token
        found = model.option_probabilities(shared, QUESTIONS, CODES)
        for question, row in zip(QUESTIONS, found, strict=True):
            assert row == pytest.approx(plainly(model, shared + question, CODES), abs=1e-5)


def test_the_template_of_a_tokenizer_is_used(model):
    assert model._prompt("Who?") == "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    assert len(model._encode("<|im_start|>")) == 1


def test_a_model_without_a_template_goes_on_from_the_text(tmp_path):
    folder = language_models.write(tmp_path / "base", template=None)
    with reader.load(models.find_language(str(folder))) as model:
        assert model._prompt("Who?") == "Who?\nAnswer:"
        tails, drop = model._option_tails(CODES)
        assert (drop, {len(tail) for tail in tails}) == (0, {2})  # here the space is a token
        (found,) = model.option_probabilities(SHARED, ["Who?"], CODES)
        spaced = [f" {code}" for code in CODES]
        assert found == pytest.approx(plainly(model, SHARED + "Who?", spaced), abs=1e-5)


def test_a_model_that_thinks_first_is_told_that_it_has(tmp_path):
    template = language_models.TEMPLATE.replace("assistant\n", "assistant\n<think>\n")
    folder = language_models.write(tmp_path / "thinks", template=template)
    with reader.load(models.find_language(str(folder))) as model:
        assert model._prompt("Who?").endswith("assistant\n<think>\n\n</think>\n\n")


def test_a_template_that_fails_is_refused_in_a_line(tmp_path):
    template = "{{ raise_exception('only tools are served') }}"
    folder = language_models.write(tmp_path / "odd", template=template)
    with pytest.raises(EngineUnavailable, match="chat template fails: only tools are served"):
        reader.load(models.find_language(str(folder)))


def test_it_writes_one_line_within_a_limit_always_the_same(model):
    before = model.tokens_written
    line = model.write("Describe the ferryman's voice.", 12)
    assert "\n" not in line.strip()
    assert model.tokens_written - before <= 12
    assert model.write("Describe the ferryman's voice.", 12) == line


def test_it_is_known_by_its_bytes_and_by_a_name_without_spaces(model, folder):
    assert model.identity == models.find_language(str(folder)).weights
    assert model.name == "tiny-model"
    assert model.max_prompt_tokens == 4096


def test_without_mlx_lm_one_line_says_how_to_get_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx_lm", None)
    with pytest.raises(EngineUnavailable, match=r"^the language .*\[casting\]"):
        reader.load(models.find_language(str(folder)))


def test_weights_that_are_not_here_are_named_with_the_command_that_fetches_them(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(models, "_hub_cache", lambda: tmp_path)
    with pytest.raises(EngineUnavailable) as refused:
        reader.load(models.find_language("auto"))
    assert "\n" not in str(refused.value)
    assert "`narrator models pull mlx-community/Qwen3-" in str(refused.value)


def test_a_checkpoint_that_mlx_lm_does_not_know_is_refused_in_a_line(folder):
    found = models.find_language(str(folder))
    config = found.path / "config.json"
    text = config.read_text()
    config.write_text(text.replace("qwen2", "qwen99"))
    try:
        with pytest.raises(EngineUnavailable, match=r"Model type qwen99 not supported\.?$"):
            reader.load(found)
    finally:
        config.write_text(text)


def test_weights_that_give_no_numbers_are_refused(model, monkeypatch):
    import mlx.core as mx

    nothing = mx.full((1, 400, 320), float("nan"))
    monkeypatch.setattr(
        model, "_log_probabilities", lambda rows, cache: [np.array(nothing[0])] * len(rows)
    )
    with pytest.raises(EngineUnavailable, match="may be damaged"):
        model.option_probabilities(SHARED, QUESTIONS[:1], CODES)


def test_running_out_of_memory_is_said_with_the_mend(model, monkeypatch):
    def full(*arguments, **options):
        raise RuntimeError("[metal::malloc] Unable to allocate 123 bytes")

    monkeypatch.setattr(model, "_fill_cache", full)
    with pytest.raises(EngineUnavailable, match=r"out of memory.*--model"):
        model.option_probabilities(SHARED, QUESTIONS, CODES)


# -- which


@pytest.mark.parametrize(
    ("memory", "size"), [(8e9, "4B"), (16e9, "4B"), (24e9, "14B"), (36e9, "30B"), (128e9, "30B")]
)
def test_the_default_goes_by_memory(monkeypatch, tmp_path, memory, size):
    monkeypatch.setattr(models.machine, "memory", lambda: models.machine.Memory(int(memory), None))
    monkeypatch.setattr(models, "_hub_cache", lambda: tmp_path)
    assert f"-{size}" in models.find_language().spec


def test_a_hub_id_is_what_lies_in_the_cache(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(models, "_hub_cache", lambda: tmp_path)
    hubs.cached(tmp_path, folder, repo="mlx-community/tiny")
    found = models.find_language("mlx-community/tiny")
    assert (found.revision, found.note) == (hubs.COMMIT, "")
    assert found.weights == models.find_language(str(folder)).weights


def test_a_model_that_speaks_is_none_that_reads_and_the_other_way_round(tmp_path, folder):
    spoken = hubs.checkpoint(tmp_path / "spoken")
    assert "is not a language model" in models.find_language(str(spoken)).note
    assert models.find(FAMILY, str(folder)).path is None
    assert not replace(models.find_language(str(folder)), note="").note


def test_the_template_is_part_of_what_a_model_is_known_by(tmp_path, folder):
    import shutil

    other = shutil.copytree(folder, tmp_path / "other")
    (other / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert models.find_language(str(other)).weights != models.find_language(str(folder)).weights
