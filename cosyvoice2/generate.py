"""The loop over rows that generates speech tokens: requests, draws, and when a row ends.

A `TokenBatch` holds up to `slots` rows. Each step feeds the last token of every running row, admits
waiting rows, draws a token for each row, and removes the rows that have ended. Random numbers
belong to the row, so that other rows of the batch change no more than the last bits of its logits.
Knows no flow and no vocoder.
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from cosyvoice2.arrays import id_array
from cosyvoice2.config import LMConfig
from cosyvoice2.lm import END_COUNT, Qwen2LM, RowStates
from cosyvoice2.sampler import Head, Heads, choose
from cosyvoice2.speech import StopReason
from cosyvoice2.tokenizer import END_OF_PROMPT
from speechbase.device import settle
from speechbase.errors import RequestError

MIN_TOKENS_PER_TEXT_ID, MAX_TOKENS_PER_TEXT_ID = 2, 20
"""Tokens for each id of the text, as in the official code."""


class Cancel(Protocol):
    """The interface of `cancel`, which threading.Event has."""

    def is_set(self) -> bool: ...


class Voice(Protocol):
    """The part of a reference that the language model uses."""

    @property
    def tokens(self) -> np.ndarray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request to speak one row.

    reference      the voice; with `prompt_text`, its tokens are the prefix of the speech
    prompt_text    transcript of the prefix tokens, or the ids of the transcript
    prefix_tokens  tokens to continue in place of the reference's, such as those of the take before
    instruction    how to speak; `<|endofprompt|>` is appended if it is missing, as the instruction
                   would be read aloud without it
    speaker        name of a stored speaker, or a vector (192,) in place of the reference's; the
                   language model does not use it
    uniforms       numbers in [0, 1), used in order; by default derived from the seed
    seed           0 to 2**32 - 1; drawn by default
    min_len        tokens before which speech may not end; by default 2 for each id of the text
    max_len        most tokens; by default 20 for each id of the text
    tokens         speech tokens to turn into sound, in place of a text
    speed          1.25 is a quarter faster: the mel is resized
    noise          the vocoder's noise, (480 * frames, 9); by default drawn from the seed
    cancel         polled every step
    compatible     imitates the official code, in which the two ids after the end id stop speech
                   even before `min_len`. Otherwise such an id is drawn again, among speech ids
    """

    text: str = ""
    reference: Voice | None = None
    prompt_text: str | Sequence[int] | None = None
    prefix_tokens: Any = None
    instruction: str | None = None
    speaker: Any = None
    uniforms: Iterable[float] | None = None
    seed: int | None = None
    _: KW_ONLY
    min_len: int | None = None
    max_len: int | None = None
    tokens: Any = None
    speed: float = 1.0
    noise: Any = None
    cancel: Cancel | None = None
    compatible: bool = False


class Row:
    """A request and its tokens so far. `TokenBatch.add` returns it to identify the result."""

    def __init__(
        self,
        request: Request,
        config: LMConfig,
        tokenize: Callable[[str], list[int]],
        max_tokens: int | None = None,
    ) -> None:
        """Checks everything that can be checked before work begins. Raises RequestError.

        `max_tokens` limits the tokens, whatever the request asks for.
        """
        check_numbers(request)
        self.request = request
        self.seed = secrets.randbits(32) if request.seed is None else int(request.seed)
        self.stop_reason: StopReason | None = None
        self.token_count = 0
        """Number of ids of the text, without prompt and instruction."""
        self.text_ids: list[int] = []
        """Ids of prompt or instruction, then of the text."""
        self.prefix: list[int] = []
        """Speech tokens before the new ones."""
        self._config, self._tokens = config, list[int]()
        self._min_tokens = self._max_tokens = 0
        self._uniforms = iterate_uniforms(self.seed, request.uniforms)
        if request.tokens is None:
            self._read_text(tokenize)
            self._max_tokens = min(self._max_tokens, max_tokens or self._max_tokens)
        else:
            self._set_tokens()
            if max_tokens is not None and len(self._tokens) > max_tokens:
                raise RequestError(
                    f"{len(self._tokens)} tokens are more than the {max_tokens} that the flow "
                    "takes at once beside this reference; give fewer"
                )

    def _set_tokens(self) -> None:
        request = self.request
        if request.text or any(
            part is not None
            for part in (request.prompt_text, request.prefix_tokens, request.instruction)
        ):
            raise RequestError("tokens are what is said: they take no text, prompt or instruction")
        self._tokens = checked_tokens("tokens", request.tokens, self._config)
        self.stop_reason = "stop"

    def _read_text(self, tokenize: Callable[[str], list[int]]) -> None:
        request, config = self.request, self._config
        prompt, self.prefix = read_prompt(request, tokenize, config)
        text = checked_text_ids(tokenize(_checked_spoken_text("text", request.text)), config)
        self.token_count = len(text)
        if not text:
            raise RequestError(f"text {request.text!r} has no tokens; give a word to speak")
        self.text_ids = prompt + text
        self._min_tokens = (
            MIN_TOKENS_PER_TEXT_ID * len(text) if request.min_len is None else int(request.min_len)
        )
        self._max_tokens = (
            MAX_TOKENS_PER_TEXT_ID * len(text) if request.max_len is None else int(request.max_len)
        )
        length = 2 + len(self.text_ids) + len(self.prefix)
        if length + self._max_tokens > config.max_positions:
            raise RequestError(
                f"text and prompt take {length} positions and up to {self._max_tokens} tokens "
                f"follow; the model has {config.max_positions}; split the text, or lower max_len"
            )

    @property
    def tokens(self) -> np.ndarray:
        """New tokens so far, (n,) int32, without prefix and end."""
        return np.array(self._tokens, np.int32)

    def tokens_after(self, count: int) -> list[int]:
        """Returns the new tokens after the first `count`."""
        return self._tokens[count:]

    @property
    def last(self) -> int:
        """The last new token."""
        return self._tokens[-1]

    @property
    def must_go_on(self) -> bool:
        """Returns whether the row has fewer tokens than its minimum, so that it may not end."""
        return len(self._tokens) < self._min_tokens

    @property
    def is_cancelled(self) -> bool:
        return self.request.cancel is not None and self.request.cancel.is_set()

    def choose(self, head: Head) -> None:
        """Draws the next token, and sets the stop reason if it is the last.

        Raises RequestError.
        """
        config = self._config
        token = choose(head, self._tokens, self._draw, config)
        if token >= config.end and self.must_go_on and not self.request.compatible:
            speech = head.without(*range(config.end, config.end + END_COUNT))
            token = choose(speech, self._tokens, self._draw, config)
        if token >= config.end:
            self.stop_reason = "stop"
            return
        self._tokens.append(token)
        if len(self._tokens) >= self._max_tokens:
            self.stop_reason = "cap"

    def _draw(self) -> float:
        return next_uniform(self._uniforms)


def next_uniform(uniforms: Iterator[float]) -> float:
    """Returns the next number. Raises RequestError if there is none, or none in [0, 1)."""
    number: Any = next(uniforms, None)
    if number is None:
        raise RequestError("the uniforms given have ended before the speech; give more")
    if not isinstance(number, int | float | np.number) or not 0 <= number < 1:
        raise RequestError(f"uniforms holds {number!r}; they must be numbers from 0, below 1")
    return float(number)


def iterate_uniforms(seed: int, uniforms: Iterable[float] | None) -> Iterator[float]:
    """Iterates over the caller's numbers, or over those of a seed, equal on every machine."""
    if uniforms is None:
        return _philox_uniforms(seed)
    try:
        return iter(uniforms)
    except TypeError:
        raise RequestError("uniforms must be an iterator of numbers in [0, 1)") from None


def _philox_uniforms(seed: int) -> Iterator[float]:
    bits = np.random.Philox(key=seed)
    while True:
        yield from ((bits.random_raw(64) >> np.uint64(11)) * 2.0**-53).tolist()


class TokenBatch:
    """Rows whose tokens are generated at once. `len` counts the rows not yet returned."""

    def __init__(self, lm: Qwen2LM, tokenize: Callable[[str], list[int]], slots: int) -> None:
        if not isinstance(slots, int) or slots < 1:
            raise RequestError(f"slots is {slots!r}; a batch needs a whole number from 1")
        self.slots = slots
        self._lm, self._tokenize = lm, tokenize
        self._waiting: deque[Row] = deque()
        self._running: list[Row] = []  # in the order of `_states`
        self._states: RowStates | None = None
        self._undecided: deque[tuple[Row, Head]] = deque()
        """Rows that have logits, but no token yet: empty between steps, except after an error."""
        self._ended: list[Row] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running) + len(self._ended)

    @property
    def running(self) -> int:
        """Number of rows that have a slot. `slots` may be set at any time: running rows go on."""
        return len(self._running)

    def add(self, request: Request, max_tokens: int | None = None) -> Row:
        """Queues a request; it runs as soon as a slot is free. `max_tokens` is as for `Row`.

        Raises RequestError.
        """
        check_request(request)
        row = Row(request, self._lm.config, self._tokenize, max_tokens)
        self._waiting.append(row)
        return row

    def step(self) -> list[Row]:
        """Draws one token for every row; returns the rows that ended.

        If a caller's iterator of numbers raises, its row leaves the batch, and the next step goes
        on with the other rows.
        """
        self._drop_ended()
        if not self._undecided:
            self._queue_heads()
        while self._undecided:
            row, head = self._undecided.popleft()
            try:
                row.choose(head)
            except Exception:
                self._keep_running([other for other in self._running if other is not row])
                raise
        self._drop_ended()
        ended, self._ended = self._ended, []
        if ended:
            settle()
        return ended

    def _queue_heads(self) -> None:
        """Feeds the last tokens, admits waiting rows, and computes each row's next logits."""
        if self._states is not None:
            self._lm.step(self._states, [row.last for row in self._running])
        self._admit()
        if self._states is None:
            return
        closed = [row.must_go_on for row in self._running]
        logits = self._lm.decode(self._states.last)
        heads = Heads.from_logits(logits, closed, self._lm.config).rows()
        self._undecided.extend(zip(self._running, heads, strict=True))

    def _admit(self) -> None:
        """Prefills waiting rows into the free slots."""
        new_rows = list(islice(self._waiting, max(0, self.slots - len(self._running))))
        if not new_rows:
            return
        states = self._lm.prefill([self._lm.lead(row.text_ids, row.prefix) for row in new_rows])
        if self._states is None:
            self._states = states
        else:
            self._states.extend(states)
        for _ in new_rows:
            self._waiting.popleft()
        self._running = self._running + new_rows

    def _drop_ended(self) -> None:
        """Removes rows that are cancelled, have ended, or were given tokens and need not run."""
        rows = [*self._running, *self._waiting]
        for row in rows:
            if row.stop_reason is None and row.is_cancelled:
                row.stop_reason = "cancelled"
        self._ended += [row for row in rows if row.stop_reason is not None]
        self._waiting = deque(row for row in self._waiting if row.stop_reason is None)
        self._keep_running([row for row in self._running if row.stop_reason is None])

    def _keep_running(self, rows: list[Row]) -> None:
        """Keeps these of the running rows, and their states and logits."""
        if len(rows) == len(self._running):
            return
        if not rows or self._states is None:
            self._states = None
        else:
            self._states.filter([self._running.index(row) for row in rows])
        self._running = rows
        self._undecided = deque(undecided for undecided in self._undecided if undecided[0] in rows)


def generate_tokens(
    lm: Qwen2LM,
    tokenize: Callable[[str], list[int]],
    request: Request,
    max_tokens: int | None = None,
) -> Iterator[int]:
    """Generates a request's tokens one by one; `max_tokens` is as for `Row`.

    Raises RequestError immediately for arguments that are invalid.
    """
    batch = TokenBatch(lm, tokenize, 1)
    return _iterate_tokens(batch, batch.add(request, max_tokens))


def _iterate_tokens(batch: TokenBatch, row: Row) -> Iterator[int]:
    count = 0
    while len(batch):
        batch.step()
        new_tokens = row.tokens_after(count)
        count += len(new_tokens)
        yield from new_tokens


def read_prompt(
    request: Request, tokenize: Callable[[str], list[int]], config: LMConfig
) -> tuple[list[int], list[int]]:
    """Returns the ids before those of the text, and the prefix tokens. Raises RequestError."""
    prompt_ids = checked_text_ids(_read_prompt_ids(request, tokenize), config)
    return prompt_ids, _read_prefix_tokens(request, config)


def checked_text_ids(ids: list[int], config: LMConfig) -> list[int]:
    """Checks that the model has an embedding for each id. Raises RequestError."""
    if ids and max(ids) >= config.vocab_size:
        raise RequestError("text or prompt holds a marker that this model has no row for")
    return ids


def _read_prompt_ids(request: Request, tokenize: Callable[[str], list[int]]) -> list[int]:
    """Returns the ids before those of the text. Raises RequestError."""
    instruction, prompt_text = request.instruction, request.prompt_text
    if instruction is not None and prompt_text is not None:
        raise RequestError("instruction and prompt_text exclude each other: both lead the text")
    if instruction is not None:
        instruction = _checked_spoken_text("instruction", instruction)
        has_end = END_OF_PROMPT in instruction
        return tokenize(instruction if has_end else instruction + END_OF_PROMPT)
    if prompt_text is None:
        return []
    return (
        tokenize(_checked_spoken_text("prompt_text", prompt_text))
        if isinstance(prompt_text, str)
        else _checked_prompt_ids(prompt_text)
    )


def _checked_prompt_ids(prompt_text: Any) -> list[int]:
    prompt_ids = id_array("prompt_text", prompt_text)
    if not len(prompt_ids):
        raise RequestError("prompt_text has no ids; give the exact transcript")
    return [int(prompt_id) for prompt_id in prompt_ids]


def _read_prefix_tokens(request: Request, config: LMConfig) -> list[int]:
    """Returns the prefix tokens. Raises RequestError."""
    if request.prompt_text is None:
        if request.prefix_tokens is not None:
            raise RequestError("prefix_tokens need prompt_text: what is said in them")
        return []
    if request.prefix_tokens is not None:
        return checked_tokens("prefix_tokens", request.prefix_tokens, config)
    if request.reference is None:
        raise RequestError("prompt_text needs tokens that say it: a reference, or prefix_tokens")
    return checked_tokens("the reference's tokens", request.reference.tokens, config)


def _checked_spoken_text(name: str, text: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise RequestError(f"{name} is empty; give at least one word")
    return checked_text(name, text)


def checked_text(name: str, text: str) -> str:
    """Returns a text that can be tokenized; it may be empty. Raises RequestError."""
    if not isinstance(text, str):
        raise RequestError(f"{name} must be text, not {type(text).__name__}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise RequestError(f"{name} holds half of a surrogate pair, which is not a character")
    return text


def checked_tokens(name: str, array_like: Any, config: LMConfig) -> list[int]:
    """Returns one or more speech tokens as a list. Raises RequestError."""
    tokens = id_array(name, array_like)
    if not len(tokens):
        raise RequestError(f"{name} must be whole numbers in a row, one or more")
    if tokens.max() >= config.speech_tokens:
        raise RequestError(f"{name} must be from 0 to {config.speech_tokens - 1}")
    return [int(token) for token in tokens]


def check_request(request: Any) -> None:
    """Raises RequestError unless `request` is a Request."""
    if not isinstance(request, Request):
        raise RequestError(f"a batch takes a Request, not {type(request).__name__}")


def check_numbers(request: Request) -> None:
    """Raises RequestError for an invalid seed, length or `cancel`."""

    def check_whole(name: str, number: Any, minimum: int, maximum: float = math.inf) -> None:
        is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if number is not None and not (is_whole and minimum <= number <= maximum):
            span = f"from {minimum}" if maximum == math.inf else f"from {minimum} to {maximum}"
            raise RequestError(f"{name} is {number!r}; it must be a whole number {span}")

    if request.cancel is not None and not hasattr(request.cancel, "is_set"):
        raise RequestError("cancel must have is_set(), as threading.Event has")
    check_whole("seed", request.seed, 0, 2**32 - 1)
    check_whole("min_len", request.min_len, 1)
    check_whole("max_len", request.max_len, 1)
