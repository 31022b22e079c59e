"""A language model that reads: how likely each of a few answers is after a prompt, or a line that
it writes.

mlx-lm has the networks; it and MLX are loaded by `load`, and used on the thread that called it.
Knows tokens and memory, nothing of books: its caller says what is asked and what an answer means.
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

from narrator.engines import models, quiet
from narrator.engines.mlx.loaded import line_of
from narrator.engines.mlx.memory import MemoryLimits, device_memory, is_out_of_memory, prepare
from narrator.errors import EngineUnavailable
from narrator.installation import install_command

ROWS = 4
"""Questions side by side, where memory allows: of a network of experts, more than one question's
few tokens read nearly all weights anyway."""
_SHARE = 8
"""The part of the device's memory that copies of a prompt's cache may take: one in so many."""
_AT_ONCE = 512
"""Tokens of a prompt that are read at once: more take memory and are no faster."""
_NO_CONTEXT = 32_768
"""Tokens, where a model does not say how many it was made for."""

_THINKING = {
    "<think>": "\n\n</think>\n\n",
    "<|start|>assistant": "<|channel|>final<|message|>",
}
"""Ends of templates whose models think first, whatever they are told -> how an answer begins."""

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Suffix:
    """What is read after a prompt's common part, for one question."""

    question: int
    tokens: Tokens
    """The rest of the prompt, and all but the last token of some answers."""
    answers: tuple[tuple[int, Tokens], ...]
    """Their places, and their tokens, alike but for the last."""


class LanguageModel:
    """A language model of mlx-lm in memory, with what it has read and written so far."""

    def __init__(self, found: models.Model, network: Any, tokenizer: Any, rows: int = ROWS) -> None:
        path = found.path or Path()
        facts = models.config(path)
        facts = {**facts, **(facts.get("text_config") or {})}
        own = found.spec.split("@")[0].rstrip("/").rpartition("/")[2]
        self.name = "-".join(own.split()) or "model"
        """For people and rows: without spaces."""
        self.identity = found.weights
        """Names its bytes."""
        self.longest = int(facts.get("max_position_embeddings") or _NO_CONTEXT)
        """Tokens that a prompt and its answer may have together."""
        self.read = 0
        """Tokens so far."""
        self.written = 0
        """Tokens so far."""
        self._network, self._tokenizer = network, tokenizer
        self._rows = rows
        self._limits = MemoryLimits()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back."""
        import mlx.core as mx

        self._network = None
        mx.clear_cache()
        self._limits.restore()

    # -- what is asked

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def likelihoods(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        """For each question, how likely the options are as its answer: they sum to 1.

        A message is `shared` and a question; what messages have in common is read once. No option
        may begin another: then an option's probability is that of all its tokens, however many
        they are. Raises EngineUnavailable, out of memory too.
        """
        tails, drop = self._tails(options)
        whole = [self._encoded(self._prompt(shared + question)) for question in questions]
        prompts = [tokens[: len(tokens) - drop] for tokens in whole]
        common = min((_common(prompts[0], one) for one in prompts), default=0)
        common = min([common, *(len(one) - 1 for one in prompts)])
        rows = [
            _Suffix(place, (*prompt[common:], *head), answers)
            for place, prompt in enumerate(prompts)
            for head, answers in _by_head(tails)
        ]
        scores = np.full((len(questions), len(options)), -np.inf)
        with _in_words(self.name):
            cache = self._filled(prompts[0][:common]) if prompts else []
            beside = self._side_by_side(cache)
            for start in range(0, len(rows), beside):
                some = rows[start : start + beside]
                for row, logs in zip(some, self._logs(some, cache), strict=True):
                    for place, tail in row.answers:
                        steps = zip(logs[-len(tail) :], tail, strict=True)
                        scores[row.question, place] = sum(float(log[one]) for log, one in steps)
        self._spare()
        if not np.isfinite(scores).all():
            raise EngineUnavailable(f"{self.name}: gives no numbers; its weights may be damaged")
        odds = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        return (odds / odds.sum(axis=1, keepdims=True)).tolist()

    def write(self, message: str, most: int) -> str:
        """The likeliest line after a message, of so many tokens at most.

        Raises EngineUnavailable.
        """
        import mlx.core as mx

        prompt = self._encoded(self._prompt(message))
        text = self._tokenizer.detokenizer
        with _in_words(self.name):
            cache = self._filled(prompt[:-1])
            token = prompt[-1]
            self.read += 1
            for _ in range(most):
                logits = self._network(mx.array([[token]]), cache=cache)[0, -1]
                token = int(mx.argmax(logits))
                if token in self._tokenizer.eos_token_ids:
                    break
                self.written += 1
                text.add_token(token)
                if "\n" in text.text.lstrip():
                    break
        text.finalize()
        self._spare()
        return str(text.text)

    # -- tokens

    def _prompt(self, message: str) -> str:
        """A message as the model was taught to answer one."""
        if not self._tokenizer.has_chat_template:
            return f"{message}\nAnswer:"
        said = [{"role": "user", "content": message}]
        prompt = str(
            self._tokenizer.apply_chat_template(
                said, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        )
        for ending, more in _THINKING.items():
            if prompt.rstrip().endswith(ending):
                return prompt.rstrip() + more
        return prompt

    def _encoded(self, prompt: str) -> Tokens:
        """The tokens of a prompt; a template has what stands at a text's beginning by itself."""
        special = not self._tokenizer.has_chat_template
        return tuple(self._tokenizer.encode(prompt, add_special_tokens=special))

    def _tails(self, options: Sequence[str]) -> tuple[list[Tokens], int]:
        """The tokens of each option as an answer, and how many at a prompt's end they replace.

        Of a tokenizer that joins the end of a prompt with what follows, they hold that, too.
        """
        prompt = self._prompt("?")
        lead = "" if self._tokenizer.has_chat_template else " "
        head = self._encoded(prompt)
        whole = [self._encoded(prompt + lead + option) for option in options]
        common = min(_common(head, one) for one in whole)
        return [one[common:] for one in whole], len(head) - common

    # -- the network

    def _filled(self, tokens: Tokens) -> list[Any]:
        """A cache that has read tokens."""
        import mlx.core as mx
        from mlx_lm.models.cache import make_prompt_cache

        cache = make_prompt_cache(self._network)
        for start in range(0, len(tokens), _AT_ONCE):
            self._network(mx.array([tokens[start : start + _AT_ONCE]]), cache=cache)
            mx.eval([one.state for one in cache])
            mx.clear_cache()
        self.read += len(tokens)
        return list(cache)

    def _side_by_side(self, cache: Sequence[Any]) -> int:
        """How many rows may go on from a cache at once."""
        if not _is_plain(cache):
            return 1
        size = sum(one.nbytes for one in cache)
        return max(1, min(self._rows, int(device_memory() / _SHARE / max(1, size))))

    def _logs(self, rows: Sequence[_Suffix], cache: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """For each row, the log probabilities of all tokens (steps, vocabulary) for as many last
        steps as its answers have tokens."""
        import mlx.core as mx

        longest = max(len(row.tokens) for row in rows)
        # what stands to the right of a row is never looked at from within it
        padded = [(*row.tokens, *(0,) * (longest - len(row.tokens))) for row in rows]
        found = []
        with _branched(cache, len(rows)) as branch:
            out = self._network(mx.array(padded), cache=branch)
            for place, row in enumerate(rows):
                steps = len(row.answers[0][1])
                last = out[place, len(row.tokens) - steps : len(row.tokens)].astype(mx.float32)
                found.append(last - mx.logsumexp(last, axis=-1, keepdims=True))
            mx.eval(found)
        self.read += sum(len(row.tokens) for row in rows)
        return [np.array(one) for one in found]

    def _spare(self) -> None:
        """Give back what MLX keeps of a prompt that is done with."""
        import mlx.core as mx

        mx.clear_cache()


def load(
    found: models.Model, tell: Callable[[str], None] = quiet, *, rows: int = ROWS
) -> LanguageModel:
    """A language model that `models.find_language` found, loaded.

    Raises EngineUnavailable in a line: no mlx-lm, no weights, weights that it cannot load.
    """
    # before what takes minutes is fetched
    loader = _mlx_lm()
    if found.path is None:
        raise EngineUnavailable(found.note)
    tell(f"loading {found.spec} ({found.bytes / 1e9:.1f} GB)")
    with _in_words(found.spec, _STRANGE):
        # never with code from a checkpoint, and nobody is asked whether
        network, tokenizer = loader.load(
            str(found.path), tokenizer_config={"trust_remote_code": False}
        )
        model = LanguageModel(found, network, tokenizer, rows)
        _try_template(model)
    return model


def _try_template(model: LanguageModel) -> None:
    """Raises ValueError where a checkpoint's template takes no plain message."""
    from jinja2 import TemplateError

    try:
        model.likelihoods("", ["?"], "AB")
    except TemplateError as error:
        raise ValueError(f"its chat template fails: {line_of(error)}") from error


def version() -> str:
    """Of mlx-lm; "" where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version("mlx-lm")
    except metadata.PackageNotFoundError:
        return ""


def _mlx_lm() -> Any:
    # it says at length that there is no PyTorch, which nobody needs here
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        prepare()
        import mlx_lm
    except (ImportError, ValueError, OSError) as error:  # it also sets a limit of open files
        name = error.name if isinstance(error, ImportError) else None
        missing = (name or "").split(".")[0] in ("mlx_lm", "transformers")
        raise EngineUnavailable(
            f"the language model needs mlx-lm: {install_command('casting')}"
            if missing
            else f"mlx-lm cannot be loaded: {line_of(error)}"
        ) from error
    return mlx_lm


_FAILURES: tuple[type[Exception], ...] = (RuntimeError, MemoryError, ValueError)
_STRANGE = (*_FAILURES, KeyError, TypeError, AttributeError, OSError, ImportError)
"""What loading a checkpoint may raise that is not as its type says."""


@contextlib.contextmanager
def _in_words(name: str, failures: tuple[type[Exception], ...] = _FAILURES) -> Iterator[None]:
    """What a network fails on, in a line."""
    try:
        yield
    except failures as error:
        if is_out_of_memory(error):
            what = "out of memory: close other programs, or name a smaller model (`--model`)"
            raise EngineUnavailable(f"{name}: {what}") from error
        raise EngineUnavailable(f"{name}: mlx-lm fails with it: {line_of(error)}") from error


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two begin with alike."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _by_head(tails: Sequence[Tokens]) -> list[tuple[Tokens, tuple[tuple[int, Tokens], ...]]]:
    """Answers by all of their tokens but the last: those of one head take one row."""
    heads: dict[Tokens, list[tuple[int, Tokens]]] = {}
    for place, tail in enumerate(tails):
        heads.setdefault(tail[:-1], []).append((place, tail))
    return [(head, tuple(answers)) for head, answers in heads.items()]


def _is_plain(cache: Sequence[Any]) -> bool:
    """Whether a cache is keys and values of every token, which can be cut off and repeated."""
    from mlx_lm.models.cache import KVCache

    return all(type(one) is KVCache for one in cache)


@contextlib.contextmanager
def _branched(cache: Sequence[Any], rows: int) -> Iterator[list[Any]]:
    """A cache for so many rows to go on from; the cache itself stays as it is."""
    if not _is_plain(cache):
        yield [copy.deepcopy(one) for one in cache]
    elif rows > 1:
        yield [_repeated(one, rows) for one in cache]
    else:
        before = [one.offset for one in cache]
        yield list(cache)
        for one, offset in zip(cache, before, strict=True):
            one.trim(one.offset - offset)


def _repeated(cache: Any, rows: int) -> Any:
    import mlx.core as mx
    from mlx_lm.models.cache import KVCache

    made = KVCache()
    if not cache.empty():
        made.keys, made.values = (
            mx.broadcast_to(part, (rows, *part.shape[1:])) for part in cache.keys_and_values()
        )
        made.offset = cache.offset
    return made
