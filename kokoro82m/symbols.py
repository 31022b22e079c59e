"""Phonemes -> token ids. Loads no MLX."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from speechbase.errors import RequestError, printable

PAD = 0
"""Id at both ends of every request."""
MAX_SYMBOLS = 510
"""Symbols of a request, without the pads: the model has 512 positions, a voice 510 rows."""

# First id -> symbols with this id and those that follow it.
_RUNS = {
    1: ";:,.!?", 9: "—…\"()“” ̃ʣʥʦʨᵝꭧAI", 31: "O", 33: "Q", 35: "ST", 39: "W", 41: "Yᵊabcdef",
    50: "hijklmnopqrstuvwxyzɑɐɒæ", 75: "βɔɕç", 80: "ɖðʤə", 85: "ɚɛɜ", 90: "ɟ", 92: "ɡ", 99: "ɥ",
    101: "ɨɪʝ", 110: "ɯɰŋɳɲɴø", 118: "ɸθœ", 123: "ɹ", 125: "ɾɻ", 128: "ʁɽʂʃʈʧ", 135: "ʊʋ",
    138: "ʌɣɤ", 142: "χʎ", 147: "ʒʔ", 156: "ˈˌː", 162: "ʰ", 164: "ʲ", 169: "↓", 171: "→↗↘",
    177: "ᵻ",
}  # fmt: skip
VOCABULARY: Mapping[str, int] = MappingProxyType(
    {symbol: start + n for start, run in _RUNS.items() for n, symbol in enumerate(run)}
)
"""Symbol to id of Kokoro-82M v1.0, as its config.json has it; the 15th is a combining tilde."""


def unknown_symbols(phonemes: str, vocabulary: Mapping[str, int] = VOCABULARY) -> list[str]:
    """Returns the characters without an id, each once, in order."""
    return [symbol for symbol in dict.fromkeys(phonemes) if symbol not in vocabulary]


def tokenize(phonemes: str, vocabulary: Mapping[str, int] = VOCABULARY) -> list[int]:
    """Returns the ids of phonemes between two pads: 3 to 512 ids.

    Give the checkpoint's own `Config.vocabulary` if it may differ from the published one.

    Officially unknown characters vanish; here they raise RequestError, as do too many symbols.
    """
    if unknown := unknown_symbols(phonemes, vocabulary):
        names = " ".join(printable(symbol) for symbol in unknown)
        raise RequestError(f"phonemes that the model does not know: {names}")
    if not 0 < len(phonemes) <= MAX_SYMBOLS:
        raise RequestError(
            f"{len(phonemes)} phonemes; a request has 1 to {MAX_SYMBOLS}, so split the text"
        )
    return [PAD, *(vocabulary[symbol] for symbol in phonemes), PAD]
