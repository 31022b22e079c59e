"""A language model that rates given answers to a prompt, or writes a line.

The networks are mlx-lm's; it and MLX are imported by `load`, and used on the thread that called it.
Knows tokens and memory, nothing of books: callers choose the questions and interpret the answers.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from narrator.engines import ignore_message, models
from narrator.engines.mlx.loaded_model import line_of
from narrator.engines.mlx.memory import MemoryLimits, device_memory, is_out_of_memory, prepare
from narrator.errors import EngineUnavailable
from narrator.installation import install_command

DEFAULT_ROWS = 4
"""Questions side by side, if memory allows. More bring little: in a network of experts, the tokens
of a few questions read nearly all weights anyway."""
_CACHE_DIVISOR = 8
"""Copies of a prompt's cache may take the device's memory divided by this."""
_PREFILL_TOKENS = 512
"""Tokens of a prompt that are read at once; more take memory and are no faster."""
_DEFAULT_CONTEXT = 32_768
"""Tokens of context of a model whose config does not say."""

_ANSWER_STARTS = {
    "<think>": "\n\n</think>\n\n",
    "<|start|>assistant": "<|channel|>final<|message|>",
}
"""End of the templates of models that always think first -> text that starts the answer instead."""

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Suffix:
    """The tokens of one question after the common part of all prompts."""

    question: int
    tokens: Tokens
    """The rest of the prompt, and all but the last token of some answers."""
    answers: tuple[tuple[int, Tokens], ...]
    """(index of the option, tokens) of answers that differ in their last token alone."""


class LanguageModel:
    """A language model of mlx-lm in memory, with counts of tokens read and written."""

    def __init__(
        self, model: models.Model, network: Any, tokenizer: Any, rows: int = DEFAULT_ROWS
    ) -> None:
        path = model.path or Path()
        facts = models.load_config(path)
        facts = {**facts, **(facts.get("text_config") or {})}
        model_name = model.spec.split("@")[0].rstrip("/").rpartition("/")[2]
        self.name = "-".join(model_name.split()) or "model"
        """Its name for people and tables, without spaces."""
        self.identity = model.weights
        """Hash of its files."""
        self.max_prompt_tokens = int(facts.get("max_position_embeddings") or _DEFAULT_CONTEXT)
        """Limit of a prompt and its answer, in tokens."""
        self.tokens_read = 0
        """Tokens read so far."""
        self.tokens_written = 0
        """Tokens written so far."""
        self._network, self._tokenizer = network, tokenizer
        self._rows = rows
        self._limits = MemoryLimits()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the memory."""
        import mlx.core as mx

        self._network = None
        mx.clear_cache()
        self._limits.restore()

    # -- questions

    def count_tokens(self, text: str) -> int:
        """Counts the tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def option_probabilities(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        """Returns the probabilities of the options as the answer to each question; they sum to 1.

        A message is `shared` and a question; the tokens that all messages share are read once. No
        option may be a prefix of another, since an option's probability is that of all its tokens.
        Raises EngineUnavailable, also when out of memory.
        """
        tails, drop_count = self._option_tails(options)
        full_prompts = [self._encode(self._prompt(shared + question)) for question in questions]
        prompts = [tokens[: len(tokens) - drop_count] for tokens in full_prompts]
        # each suffix keeps a token to read
        common_length = min(
            (min(_common_prefix_length(prompts[0], prompt), len(prompt) - 1) for prompt in prompts),
            default=0,
        )
        suffixes = [
            _Suffix(index, (*prompt[common_length:], *head), answers)
            for index, prompt in enumerate(prompts)
            for head, answers in _group_by_head(tails)
        ]
        scores = np.full((len(questions), len(options)), -np.inf)
        with _translate_errors(self.name):
            cache = self._fill_cache(prompts[0][:common_length]) if prompts else []
            batch_size = self._max_rows(cache)
            for start in range(0, len(suffixes), batch_size):
                batch = suffixes[start : start + batch_size]
                log_probabilities = self._log_probabilities(batch, cache)
                for suffix, logs_by_step in zip(batch, log_probabilities, strict=True):
                    for option_index, tail in suffix.answers:
                        steps = zip(logs_by_step[-len(tail) :], tail, strict=True)
                        score = sum(float(logs[token]) for logs, token in steps)
                        scores[suffix.question, option_index] = score
        self._free_memory()
        if not np.isfinite(scores).all():
            raise EngineUnavailable(f"{self.name}: gives no numbers; its weights may be damaged")
        likelihoods = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        return (likelihoods / likelihoods.sum(axis=1, keepdims=True)).tolist()

    def write(self, message: str, max_tokens: int) -> str:
        """Writes the likeliest line after a message, greedily, of so many tokens at most.

        Raises EngineUnavailable.
        """
        import mlx.core as mx

        prompt = self._encode(self._prompt(message))
        detokenizer = self._tokenizer.detokenizer
        with _translate_errors(self.name):
            cache = self._fill_cache(prompt[:-1])
            token = prompt[-1]
            self.tokens_read += 1
            for _ in range(max_tokens):
                logits = self._network(mx.array([[token]]), cache=cache)[0, -1]
                token = int(mx.argmax(logits))
                if token in self._tokenizer.eos_token_ids:
                    break
                self.tokens_written += 1
                detokenizer.add_token(token)
                if "\n" in detokenizer.text.lstrip():
                    break
        detokenizer.finalize()
        self._free_memory()
        return str(detokenizer.text)

    # -- tokens

    def _prompt(self, message: str) -> str:
        """Formats a message with the model's chat template, if it has one."""
        if not self._tokenizer.has_chat_template:
            return f"{message}\nAnswer:"
        messages = [{"role": "user", "content": message}]
        prompt = str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        )
        for ending, answer_start in _ANSWER_STARTS.items():
            if prompt.rstrip().endswith(ending):
                return prompt.rstrip() + answer_start
        return prompt

    def _encode(self, prompt: str) -> Tokens:
        """Returns the tokens of a prompt; a chat template contains the special tokens already."""
        adds_special_tokens = not self._tokenizer.has_chat_template
        return tuple(self._tokenizer.encode(prompt, add_special_tokens=adds_special_tokens))

    def _option_tails(self, options: Sequence[str]) -> tuple[list[Tokens], int]:
        """Returns the tokens of each option as an answer, and the number of tokens at the prompt's
        end that they replace.

        It is above 0 for a tokenizer that joins the end of the prompt with the answer.
        """
        prompt = self._prompt("?")
        lead = "" if self._tokenizer.has_chat_template else " "
        prompt_tokens = self._encode(prompt)
        full_prompts = [self._encode(prompt + lead + option) for option in options]
        common_length = min(
            _common_prefix_length(prompt_tokens, answer_tokens) for answer_tokens in full_prompts
        )
        tails = [answer_tokens[common_length:] for answer_tokens in full_prompts]
        return tails, len(prompt_tokens) - common_length

    # -- the network

    def _fill_cache(self, tokens: Tokens) -> list[Any]:
        """Returns a cache of the network after these tokens."""
        import mlx.core as mx
        from mlx_lm.models.cache import make_prompt_cache

        cache = make_prompt_cache(self._network)
        for start in range(0, len(tokens), _PREFILL_TOKENS):
            self._network(mx.array([tokens[start : start + _PREFILL_TOKENS]]), cache=cache)
            mx.eval([layer.state for layer in cache])
            mx.clear_cache()
        self.tokens_read += len(tokens)
        return list(cache)

    def _max_rows(self, cache: Sequence[Any]) -> int:
        """Returns how many rows may continue from a cache at once."""
        if not _is_plain(cache):
            return 1
        cache_bytes = sum(layer.nbytes for layer in cache)
        fitting_rows = int(device_memory() / _CACHE_DIVISOR / max(1, cache_bytes))
        return max(1, min(self._rows, fitting_rows))

    def _log_probabilities(
        self, rows: Sequence[_Suffix], cache: Sequence[Any]
    ) -> list[np.ndarray[Any, Any]]:
        """Returns each row's log probabilities of all tokens (steps, vocabulary) at its last steps,
        as many as its answers have tokens."""
        import mlx.core as mx

        longest = max(len(row.tokens) for row in rows)
        # attention is causal: padding on the right changes nothing within a row
        padded = [(*row.tokens, *(0,) * (longest - len(row.tokens))) for row in rows]
        log_probabilities = []
        with _branch_cache(cache, len(rows)) as branch:
            logits = self._network(mx.array(padded), cache=branch)
            for index, row in enumerate(rows):
                steps = len(row.answers[0][1])
                answer_logits = logits[index, len(row.tokens) - steps : len(row.tokens)].astype(
                    mx.float32
                )
                log_probabilities.append(
                    answer_logits - mx.logsumexp(answer_logits, axis=-1, keepdims=True)
                )
            mx.eval(log_probabilities)
        self.tokens_read += sum(len(row.tokens) for row in rows)
        return [np.array(array) for array in log_probabilities]

    def _free_memory(self) -> None:
        """Frees the memory that MLX keeps for reuse."""
        import mlx.core as mx

        mx.clear_cache()


def load(
    model_files: models.Model,
    tell: Callable[[str], None] = ignore_message,
    *,
    rows: int = DEFAULT_ROWS,
) -> LanguageModel:
    """Loads a language model that `models.find_language` returned.

    Raises EngineUnavailable in one line: no mlx-lm, no weights, weights that it cannot load.
    """
    # first, since loading may take minutes
    loader = _import_mlx_lm()
    if model_files.path is None:
        raise EngineUnavailable(model_files.note)
    tell(f"loading {model_files.spec} ({model_files.bytes / 1e9:.1f} GB)")
    with _translate_errors(model_files.spec, _LOAD_FAILURES):
        # never run code from a checkpoint, and do not ask
        network, tokenizer = loader.load(
            str(model_files.path), tokenizer_config={"trust_remote_code": False}
        )
        model = LanguageModel(model_files, network, tokenizer, rows)
        _try_template(model)
    return model


def _try_template(model: LanguageModel) -> None:
    """Raises ValueError if a checkpoint's chat template rejects a plain message."""
    from jinja2 import TemplateError

    try:
        model.option_probabilities("", ["?"], "AB")
    except TemplateError as error:
        raise ValueError(f"its chat template fails: {line_of(error)}") from error


def version() -> str:
    """Returns the version of mlx-lm; "" if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version("mlx-lm")
    except metadata.PackageNotFoundError:
        return ""


def _import_mlx_lm() -> Any:
    # transformers warns at length that PyTorch is missing, which is not needed
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        prepare()
        import mlx_lm
    except (ImportError, ValueError, OSError) as error:  # it also sets a limit of open files
        name = error.name if isinstance(error, ImportError) else None
        is_missing = (name or "").split(".")[0] in ("mlx_lm", "transformers")
        raise EngineUnavailable(
            f"the language model needs mlx-lm: {install_command('casting')}"
            if is_missing
            else f"mlx-lm cannot be loaded: {line_of(error)}"
        ) from error
    return mlx_lm


_FAILURES: tuple[type[Exception], ...] = (RuntimeError, MemoryError, ValueError)
_LOAD_FAILURES = (*_FAILURES, KeyError, TypeError, AttributeError, OSError, ImportError)
"""Errors that loading a malformed checkpoint may raise."""


@contextlib.contextmanager
def _translate_errors(
    name: str, failures: tuple[type[Exception], ...] = _FAILURES
) -> Iterator[None]:
    """Turns a network's errors into EngineUnavailable, in one line."""
    try:
        yield
    except failures as error:
        if is_out_of_memory(error):
            message = "out of memory: close other programs, or name a smaller model (`--model`)"
            raise EngineUnavailable(f"{name}: {message}") from error
        raise EngineUnavailable(f"{name}: mlx-lm fails with it: {line_of(error)}") from error


def _common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Returns the length of the common prefix of two token sequences."""
    for index, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return index
    return min(len(first), len(second))


def _group_by_head(tails: Sequence[Tokens]) -> list[tuple[Tokens, tuple[tuple[int, Tokens], ...]]]:
    """Groups (index, answer) by all tokens but the last: each group takes one row."""
    heads: dict[Tokens, list[tuple[int, Tokens]]] = {}
    for index, tail in enumerate(tails):
        heads.setdefault(tail[:-1], []).append((index, tail))
    return [(head, tuple(answers)) for head, answers in heads.items()]


def _is_plain(cache: Sequence[Any]) -> bool:
    """Returns whether a cache holds keys and values of every token, so that it can be trimmed and
    repeated."""
    from mlx_lm.models.cache import KVCache

    return all(type(layer) is KVCache for layer in cache)


@contextlib.contextmanager
def _branch_cache(cache: Sequence[Any], rows: int) -> Iterator[list[Any]]:
    """Yields a cache for so many rows that continue from it; the cache itself does not change."""
    if not _is_plain(cache):
        yield [copy.deepcopy(layer) for layer in cache]
    elif rows > 1:
        yield [_repeat_rows(layer, rows) for layer in cache]
    else:
        offsets = [layer.offset for layer in cache]
        yield list(cache)
        for layer, offset in zip(cache, offsets, strict=True):
            layer.trim(layer.offset - offset)


def _repeat_rows(cache: Any, rows: int) -> Any:
    import mlx.core as mx
    from mlx_lm.models.cache import KVCache

    copy_ = KVCache()
    if not cache.empty():
        copy_.keys, copy_.values = (
            mx.broadcast_to(part, (rows, *part.shape[1:])) for part in cache.keys_and_values()
        )
        copy_.offset = cache.offset
    return copy_
