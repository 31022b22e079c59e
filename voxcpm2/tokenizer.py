"""Text -> ids, as the official pipeline's `LlamaTokenizerFast` and its Chinese split give them.

Built with the `tokenizers` library from tokenizer.json and tokenizer_config.json, the way
transformers 5 builds it: the vocabulary and merges of the file, and a Metaspace step in place of
its normalizer, which adds no second "▁" to a text that starts with a space or "▁" (transformers 4
does; only such texts differ). No BOS is added. `auto_map`, which names remote code, is not read.
It does not touch white space and knows nothing of prompts and their markers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as Backend
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Metaspace

from speechbase.errors import CheckpointError, printable
from speechbase.sections import read_object

MAX_FILE_BYTES = 64 << 20
"""Bytes of a tokenizer file; VoxCPM2's has 7 million."""
MAX_ID_COUNT = 1 << 21
_SPECIAL_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token")


class Tokenizer:
    """`encode` gives the ids of a text; use `Tokenizer.load`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        vocab = backend.get_vocab()
        unknown = vocab.get("<unk>", 0)
        # Entries of two or more Chinese characters are spoken character by character.
        self._split = {
            entry: [vocab.get(character, unknown) for character in entry]
            for entry in vocab
            if len(entry) >= 2 and all("\u4e00" <= character <= "\u9fff" for character in entry)
        }

    @classmethod
    def load(cls, directory: Path) -> Tokenizer:
        """Read tokenizer.json and tokenizer_config.json. Raises CheckpointError."""
        file, settings = directory / "tokenizer.json", directory / "tokenizer_config.json"
        document = _read_json(file)
        config = _read_json(settings) if settings.exists() else {}
        try:
            return cls(_build_backend(document, config))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"{file}: not a BPE tokenizer of VoxCPM: {printable(str(error))}"
            ) from error

    def encode(self, text: str) -> list[int]:
        """Returns the ids of `text`, unnormalised.

        An id may lie past the embedding: `<|audio_prompt_start|>` and its end are spelled in
        tokenizer_config.json but not in the vocabulary.
        """
        encoding = self._backend.encode(text, add_special_tokens=False)
        ids: list[int] = []
        for piece, number in zip(encoding.tokens, encoding.ids, strict=True):
            ids += self._split.get(piece.replace("▁", ""), (number,))
        return ids


def _build_backend(document: dict[str, Any], config: dict[str, Any]) -> Backend:
    """Builds the library's tokenizer.

    Raises KeyError, TypeError, ValueError, AttributeError for files of another tokenizer.

    Everything is checked before the library reads it, as it raises bare Exceptions, or panics.
    """
    vocab, merges = _parse_vocabulary(document["model"]), _parse_merges(document["model"])
    for first, second in merges:
        if not {first, second, first + second} <= vocab.keys():
            raise ValueError(f"merge of {first!r} and {second!r} is not in the vocabulary")
    backend = Backend(BPE(vocab=vocab, merges=merges, fuse_unk=True, byte_fallback=True))
    scheme = "always" if config.get("legacy", False) else "first"
    if config.get("add_prefix_space") is False:
        scheme = "never"
    backend.pre_tokenizer = Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    backend.add_tokens(
        [_parse_added_token(token) for token in _added_token_entries(document, config)]
    )
    return backend


def _parse_vocabulary(model: dict[str, Any]) -> dict[str, int]:
    vocab = model["vocab"]
    for entry, number in vocab.items():
        entry.encode()  # half a surrogate pair
        if type(number) is not int or not 0 <= number < MAX_ID_COUNT:
            raise ValueError(f"the id of {entry!r} is {number!r}")
    if len(set(vocab.values())) != len(vocab):
        raise ValueError("two entries have one id")
    return dict(vocab)


def _parse_merges(model: dict[str, Any]) -> list[tuple[str, str]]:
    merges = []
    for merge in model["merges"]:
        first, second = merge.split(" ") if isinstance(merge, str) else merge
        if not (isinstance(first, str) and isinstance(second, str)):
            raise ValueError("a merge is not of two entries")
        merges.append((first, second))
    return merges


def _added_token_entries(document: dict[str, Any], config: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the entries to add to the vocabulary, in order, as new ones get the next free ids."""
    listed = config.get("added_tokens_decoder")
    if listed is None:
        listed = {token["id"]: token for token in document.get("added_tokens", [])}
    tokens = [listed[number] for number in sorted(listed, key=int)]
    contents = {token["content"] for token in tokens}
    names = [config.get(name) for name in _SPECIAL_NAMES] + config.get(
        "additional_special_tokens", []
    )
    for name in names:
        content = name["content"] if isinstance(name, dict) else name
        if content is not None and content not in contents:
            tokens.append({"content": content, "special": True})
            contents.add(content)
    return tokens


def _parse_added_token(token: dict[str, Any]) -> AddedToken:
    content = token["content"]
    content.encode()
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    settings = {flag: token[flag] for flag in flags if flag in token}
    if not all(isinstance(setting, bool) for setting in settings.values()):
        raise ValueError(f"the flags of {content!r} are not true or false")
    return AddedToken(content, **settings)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_object(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: {path.name} is missing; copy it from the model's repository"
        ) from None
