"""English words by their letters alone: names, dialect, whatever no dictionary has.

A network of 487,000 weights reads the word in both directions and decides for each letter which
phonemes it stands for: none, one, two or three. The likeliest phonemes with one main stress win.
`benchmarks/letters.py` trains it on the dictionaries; `data/letters.npz` holds the weights, in
float16. Knows no dictionary and no sentence.

After Cho et al. 2014 (the gated recurrent unit), as torch.nn.GRU computes it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

COMMON, NAME = 1, 2
"""Ids that stand before and after the letters of a word: a common one, or a name."""
LETTERS = {letter: number for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz'", 3)}
MAX_LETTERS = 60
"""Letters that are read together; a longer word is read in pieces."""

_LATIN = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "th", "þ": "th", "ı": "i",
    "ŋ": "ng", "ə": "a",
}  # fmt: skip
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "a v g d e z i th i k l m n x o p r s s t y f ch ps o".split(),
        strict=True,
    )
)
_CYRILLIC = dict(
    zip(
        "абвгдежзийклмнопрстуфхцчшщъыьэюяіє",
        "a b v g d e zh z i y k l m n o p r s t u f kh ts ch sh shch ' y ' e yu ya i ye".split(),
        strict=True,
    )
)
_SPELLINGS = _LATIN | _GREEK | _CYRILLIC


def pronounce(word: str, language: str) -> str:
    """Returns the phonemes of a word in "en-US" or "en-GB"; a capital at its start makes it a name.

    Accents are left out; Greek and Cyrillic letters are spelled in Latin ones. Empty for a word of
    other scripts, and for one without a letter.
    """
    letters = to_known_letters(word)
    mark = NAME if word[:1].isupper() else COMMON
    pieces = (letters[start : start + MAX_LETTERS] for start in range(0, len(letters), MAX_LETTERS))
    return "".join(_pronounce_piece(piece, mark, language) for piece in pieces)


def to_known_letters(word: str) -> str:
    """Returns a word in the letters that the network knows, a to z and apostrophes inside."""
    lower = re.sub("é(?='|$)", "ay", unicodedata.normalize("NFC", word.lower()))
    composed = "".join(_SPELLINGS.get(letter, letter) for letter in lower)
    decomposed = unicodedata.normalize("NFKD", composed)
    plain = "".join(_SPELLINGS.get(letter, letter) for letter in decomposed)
    return "".join(letter for letter in plain if letter in LETTERS).strip("'")


@dataclass(frozen=True, slots=True)
class _Layer:
    """A gated recurrent unit in two directions, each with its weights for input and state.

    Gates are in the order of PyTorch: reset, update, new.
    """

    input_weights: Floats  # (2, 3 x width, inputs)
    input_biases: Floats  # (2, 3 x width)
    state_weights: Floats  # (2, 3 x width, width)
    state_biases: Floats  # (2, 3 x width)

    def __call__(self, inputs: Floats) -> Floats:
        """(letters, inputs) -> (letters, 2 x width)."""
        gates = _multiply(self.input_weights, inputs.T) + self.input_biases[..., None]
        gates[1] = gates[1, :, ::-1]
        length, width = len(inputs), self.state_weights.shape[-1]
        states = np.zeros((length + 1, 2, width), np.float32)
        for i in range(length):
            state = states[i]
            input_gates = gates[..., i]
            recurrent = _multiply(self.state_weights, state[..., None])[..., 0] + self.state_biases
            switches = _sigmoid(input_gates[:, : 2 * width] + recurrent[:, : 2 * width])
            reset, update = switches[:, :width], switches[:, width:]
            candidates = np.tanh(input_gates[:, 2 * width :] + reset * recurrent[:, 2 * width :])
            states[i + 1] = candidates + update * (state - candidates)
        return np.concatenate((states[1:, 0], states[:0:-1, 1]), axis=1)


@dataclass(frozen=True, slots=True)
class _Network:
    embeddings: Floats  # (ids, inputs of the first layer)
    layers: tuple[_Layer, ...]
    outputs: dict[str, tuple[Floats, Floats, tuple[str, ...]]]
    """By language: weights (labels, 2 x width), biases, and the phonemes of each label."""


@cache
def _load_network() -> _Network:
    """Reads the weights from `data/letters.npz`, once."""
    with (
        resources.as_file(resources.files(__package__) / "data" / "letters.npz") as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        arrays = {name: stored[name] for name in stored.files}
    weights = {
        name: array.astype(np.float32) for name, array in arrays.items() if array.dtype.kind == "f"
    }
    parts = ("input_weights", "input_biases", "state_weights", "state_biases")
    layers = tuple(_Layer(*(weights[f"{part}.{i}"] for part in parts)) for i in (0, 1))
    outputs = {
        language: (
            weights[f"{language}.weights"],
            weights[f"{language}.biases"],
            tuple(str(arrays[f"{language}.labels"]).split("|")),
        )
        for language in ("en-US", "en-GB")
    }
    return _Network(weights["embeddings"], layers, outputs)


@lru_cache(maxsize=20_000)
def _pronounce_piece(letters: str, mark: int, language: str) -> str:
    """Returns the phonemes of up to `MAX_LETTERS` letters; `mark` is COMMON or NAME."""
    network = _load_network()
    states = network.embeddings[[mark, *(LETTERS[letter] for letter in letters), mark]]
    for layer in network.layers:
        states = layer(states)
    weights, biases, labels = network.outputs[language]
    label_indices = _likeliest_labels(_log_softmax(states[1:-1] @ weights.T + biases), labels)
    return "".join(labels[number] for number in label_indices)


def _likeliest_labels(scores: Floats, labels: tuple[str, ...]) -> list[int]:
    """Returns the likeliest label of each letter, if one of them has the main stress of the word.

    `scores` (letters, labels) are logarithms of probabilities.
    """
    is_stressed = np.array(["ˈ" in label for label in labels])
    unstressed_scores = np.where(is_stressed, -np.inf, scores)
    stressed_scores = np.where(is_stressed, scores, -np.inf)
    label_indices = unstressed_scores.argmax(axis=1)
    position = (stressed_scores.max(axis=1) - unstressed_scores.max(axis=1)).argmax()
    label_indices[position] = stressed_scores[position].argmax()
    return [int(number) for number in label_indices]


BLOCK_ROWS = 64
"""Rows of a matrix that are multiplied at once, a divisor of all: so few that BLAS leaves its
threads asleep, which take longer to wake than a word takes."""


def _multiply(weights: Floats, vectors: Floats) -> Floats:
    """Multiplies (directions, rows, inputs) by (directions, inputs, n) or (inputs, n), in blocks of
    ROWS rows -> (directions, rows, n)."""
    directions, rows, inputs = weights.shape
    blocks = weights.reshape(directions, rows // BLOCK_ROWS, BLOCK_ROWS, inputs)
    products = blocks @ (vectors if vectors.ndim == 2 else vectors[:, None])
    return products.reshape(directions, rows, -1)


def _sigmoid(values: Floats) -> Floats:
    return 0.5 + 0.5 * np.tanh(0.5 * values)


def _log_softmax(scores: Floats) -> Floats:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
