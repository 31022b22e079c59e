"""A Whisper of a few thousand random weights, in the real layout: what it hears is nothing, but all
that finds, loads, runs and times with one is the program's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

WIDTH, HEADS, MELS, WINDOW, MEMORY = 16, 2, 80, 1500, 448


def make(folder: Path, seed: int = 0) -> Path:
    """An English model at a path that is not there yet."""
    folder.mkdir(parents=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>"]
    special += ["<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>"]
    special += ["<|notimestamps|>", *(f"<|{n * 0.02:.2f}|>" for n in range(1501))]
    tokenizer = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special[:9]])
    tokenizer.save(str(folder / "tokenizer.json"))
    _spec([*letters, *special], np.random.default_rng(seed)).save(str(folder))
    facts = json.loads((folder / "config.json").read_text())
    facts |= {"alignment_heads": [[0, 0], [0, 1]], "suppress_ids": [], "suppress_ids_begin": []}
    (folder / "config.json").write_text(json.dumps(facts))
    return folder


def _spec(tokens: list[str], dice: np.random.Generator):  # ctranslate2's types say nothing
    from ctranslate2.specs import whisper_spec

    spec = whisper_spec.WhisperSpec(1, HEADS, 1, HEADS)

    def random_array(*shape: int) -> np.ndarray:
        return dice.normal(0, 0.3, shape).astype(np.float32)

    def norm(layer) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def linear(layer, rows: int, columns: int) -> None:
        layer.weight, layer.bias = random_array(rows, columns), np.zeros(rows, np.float32)

    def attention(layer, *, crossed: bool = False) -> None:
        norm(layer.layer_norm)
        sizes = (1, 2, 1) if crossed else (3, 1)
        for part, size in zip(layer.linear, sizes, strict=True):
            linear(part, size * WIDTH, WIDTH)

    def feed(layer) -> None:
        norm(layer.layer_norm)
        linear(layer.linear_0, 4 * WIDTH, WIDTH)
        linear(layer.linear_1, WIDTH, 4 * WIDTH)

    encoder, decoder = spec.encoder, spec.decoder
    encoder.conv1.weight, encoder.conv1.bias = random_array(WIDTH, MELS, 3), random_array(WIDTH)
    encoder.conv2.weight, encoder.conv2.bias = random_array(WIDTH, WIDTH, 3), random_array(WIDTH)
    encoder.position_encodings.encodings = random_array(WINDOW, WIDTH)
    norm(encoder.layer_norm)
    for layer in encoder.layer:
        attention(layer.self_attention)
        feed(layer.ffn)
    decoder.embeddings.weight = random_array(len(tokens), WIDTH)
    decoder.position_encodings.encodings = random_array(MEMORY, WIDTH)
    norm(decoder.layer_norm)
    for layer in decoder.layer:
        attention(layer.self_attention)
        attention(layer.attention, crossed=True)
        feed(layer.ffn)
    decoder.projection.weight = decoder.embeddings.weight
    spec.register_vocabulary(tokens)
    spec.validate()
    return spec
