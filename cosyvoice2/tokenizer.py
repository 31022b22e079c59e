"""Text -> ids, as the official tokenizer of `CosyVoice-BlankEN/` gives them.

Built with the `tokenizers` library from vocab.json, merges.txt and tokenizer_config.json, the way
transformers builds Qwen2's: NFC, a split into words, byte-level BPE; no BOS and no EOS. The tags
that CosyVoice2 adds are taken as they stand anywhere in a text. It does not normalise, and knows
nothing of prompts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex
from tokenizers import Tokenizer as Backend
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from speechbase.errors import CheckpointError, printable
from speechbase.sections import read_object

MAX_FILE_BYTES = 64 << 20
"""Bytes of a tokenizer file; the released vocabulary has 3 million."""
MAX_ADDED_TOKENS = 1 << 12

END_OF_PROMPT = "<|endofprompt|>"
"""Marker that ends an instruction; the text before it is not spoken."""
TAGS = (
    "<|im_start|>", "<|im_end|>", END_OF_PROMPT, "[breath]", "<strong>", "</strong>", "[noise]",
    "[laughter]", "[cough]", "[clucking]", "[accent]", "[quick_breath]", "<laughter>",
    "</laughter>", "[hissing]", "[sigh]", "[vocalized-noise]", "[lipsmack]", "[mn]",
)  # fmt: skip
"""Tags added to Qwen2's vocabulary; missing ones get the next free ids, in this order."""

WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen2's pattern of words; merges do not cross the borders of words."""


class Tokenizer:
    """`encode` gives the ids of a text; use `Tokenizer.load`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.end_of_prompt = backend.get_vocab()[END_OF_PROMPT]

    @classmethod
    def load(cls, directory: Path) -> Tokenizer:
        """Read vocab.json, merges.txt and tokenizer_config.json. Raises CheckpointError."""
        file = directory / "vocab.json"
        try:
            vocab = _check_vocabulary(_read_json(file))
            file = directory / "merges.txt"
            merges = _parse_merges(_read_lines(file), vocab)
            file = directory / "tokenizer_config.json"
            added = _added_tokens(_read_json(file) if file.exists() else {}, vocab)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"{file}: not of a tokenizer of CosyVoice2: {printable(str(error))}"
            ) from error
        backend = Backend(BPE(vocab=vocab, merges=merges))
        backend.normalizer = NFC()
        words = Split(Regex(WORDS), behavior="isolated")
        backend.pre_tokenizer = Sequence(
            [words, ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        backend.add_special_tokens(added)
        return cls(backend)

    def encode(self, text: str) -> list[int]:
        """The ids of `text` as it stands, tags included."""
        return list(self._backend.encode(text, add_special_tokens=False).ids)


# Everything is checked before the library reads it, as it raises bare Exceptions, or panics.


def _check_vocabulary(vocab: dict[str, Any]) -> dict[str, int]:
    """Returns a vocabulary whose ids are 0, 1, 2 and so on. Raises ValueError."""
    for entry, number in vocab.items():
        entry.encode()  # half a surrogate pair
        if type(number) is not int:
            raise ValueError(f"the id of {entry!r} is {number!r}")
    if set(vocab.values()) != set(range(len(vocab))):  # added tokens get the ids after
        raise ValueError("its ids are not 0, 1, 2 and so on")
    missing_bytes = set(ByteLevel.alphabet()) - vocab.keys()
    if missing_bytes:
        raise ValueError(f"{len(missing_bytes)} of the 256 bytes have no entry")
    return vocab


def _parse_merges(lines: list[str], vocab: dict[str, int]) -> list[tuple[str, str]]:
    """Parses merges.txt, and checks it against the vocabulary. Raises ValueError."""
    merges = []
    for line in lines[1 if lines and lines[0].startswith("#version:") else 0 :]:
        if not line:
            continue
        first, _, second = line.partition(" ")
        if not (first and second) or not {first, second, first + second} <= vocab.keys():
            raise ValueError(
                f"{printable(line)}: no merge of two entries of the vocabulary to a third"
            )
        merges.append((first, second))
    return merges


def _added_tokens(settings: dict[str, Any], vocab: dict[str, int]) -> list[AddedToken]:
    """Returns the tokens added to the vocabulary, in the order of their ids.

    Raises KeyError, TypeError, ValueError, AttributeError.
    """
    listed = settings.get("added_tokens_decoder", {})
    if len(listed) > MAX_ADDED_TOKENS:
        raise ValueError(f"added_tokens_decoder has {len(listed)} entries")
    ids, next_id = dict(vocab), len(vocab)
    tokens = []
    for token_id, entry in sorted((int(key), entry) for key, entry in listed.items()):
        content = entry["content"]
        content.encode()
        if not content or ids.get(content, next_id) != token_id:
            raise ValueError(f"{content!r} has the id {token_id}, and would get another")
        ids[content] = token_id
        next_id = max(next_id, token_id + 1)
        tokens.append(content)
    tokens += [tag for tag in TAGS if tag not in ids]
    return [AddedToken(content, normalized=False, special=True) for content in tokens]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_object(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise _missing_file(path) from None


def _read_lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES or not path.is_file():
            raise CheckpointError(f"{path}: no file, or one of more than {MAX_FILE_BYTES} bytes")
        return path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise _missing_file(path) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read: {printable(str(error))}") from error


def _missing_file(path: Path) -> CheckpointError:
    return CheckpointError(
        f"{path.parent}: {path.name} is missing; copy it from the model's repository"
    )
