"""The loop over rows: what each is asked to say, what it draws, when it ends.

A `TokenBatch` holds up to `slots` rows. Each step feeds the token of every row that goes on, admits
waiting ones, draws a token for each row, and lets go of those that have ended. What is drawn
belongs to the row, so that its company changes no more than last bits of its logits. It makes
tokens; what they sound like is not known here.
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

from cosyvoice2.arrays import ids
from cosyvoice2.config import LMConfig
from cosyvoice2.lm import ENDS, Lines, Qwen2LM
from cosyvoice2.sampler import Head, Heads, choose
from cosyvoice2.speech import StopReason
from cosyvoice2.tokenizer import END_OF_PROMPT
from speechbase.device import settle
from speechbase.errors import RequestError

LEAST, MOST = 2, 20
"""Tokens for each id of the text, officially."""


class Cancel(Protocol):
    """What `cancel` must offer; threading.Event does."""

    def is_set(self) -> bool: ...


class Voice(Protocol):
    """What is asked of a reference here."""

    @property
    def tokens(self) -> np.ndarray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What one row is asked to say.

    reference      whose voice it is; its tokens lead where `prompt_text` is their transcript
    prompt_text    what is said in the tokens that lead, or its ids
    prefix_tokens  tokens that lead in place of the reference's: those of the take before, say
    instruction    how to speak; `<|endofprompt|>` is appended where it is missing, without which it
                   would be read aloud
    speaker        a stored speaker by name, or a vector (192,) in place of the reference's; the
                   language model does not hear it
    uniforms       numbers in [0, 1), used in order; else they follow from the seed
    seed           0 to 2**32 - 1; drawn if not given
    min_len        no end before so many tokens; 2 for each id of the text
    max_len        at most so many; 20 for each
    tokens         what is said already, in place of a text
    speed          1.25 is a quarter faster: the mel is resized
    noise          of the vocoder, (480 * frames, 9); else drawn from the seed
    cancel         polled every step
    compatible     as the official code, whose two ids after the end stop speech before `min_len`.
                   Else such an id, which says nothing of the text, is drawn once more, among speech
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
    """A request on its way. `TokenBatch.add` returns it to recognise the result by."""

    def __init__(
        self,
        request: Request,
        config: LMConfig,
        tokenize: Callable[[str], list[int]],
        most: int | None = None,
    ) -> None:
        """Checks everything that can be checked before work begins. Raises RequestError.

        `most` tokens are what can be spoken, whatever is asked for.
        """
        check_numbers(request)
        self.request = request
        self.seed = secrets.randbits(32) if request.seed is None else int(request.seed)
        self.stop_reason: StopReason | None = None
        self.token_count = 0
        """Ids of the text, without prompt and instruction."""
        self.text_ids: list[int] = []
        """All of them, the prompt's or instruction's first."""
        self.prefix: list[int] = []
        """Tokens before the new ones."""
        self._config, self._tokens = config, list[int]()
        self._least = self._cap = 0
        self._uniforms = numbers_of(self.seed, request.uniforms)
        if request.tokens is None:
            self._read(tokenize)
            self._cap = min(self._cap, most or self._cap)
        else:
            self._given()
            if most is not None and len(self._tokens) > most:
                raise RequestError(
                    f"{len(self._tokens)} tokens are more than the {most} that the flow takes at "
                    "once beside this reference; give fewer"
                )

    def _given(self) -> None:
        request = self.request
        if request.text or any(
            part is not None
            for part in (request.prompt_text, request.prefix_tokens, request.instruction)
        ):
            raise RequestError("tokens are what is said: they take no text, prompt or instruction")
        self._tokens = checked_tokens("tokens", request.tokens, self._config)
        self.stop_reason = "stop"

    def _read(self, tokenize: Callable[[str], list[int]]) -> None:
        request, config = self.request, self._config
        prompt, self.prefix = lead(request, tokenize, config)
        text = text_ids(tokenize(_text("text", request.text)), config)
        self.token_count = len(text)
        if not text:
            raise RequestError(f"text {request.text!r} has no tokens; give a word to speak")
        self.text_ids = prompt + text
        self._least = LEAST * len(text) if request.min_len is None else int(request.min_len)
        self._cap = MOST * len(text) if request.max_len is None else int(request.max_len)
        length = 2 + len(self.text_ids) + len(self.prefix)
        if length + self._cap > config.max_positions:
            raise RequestError(
                f"text and prompt take {length} positions and up to {self._cap} tokens follow; "
                f"the model has {config.max_positions}; split the text, or lower max_len"
            )

    @property
    def tokens(self) -> np.ndarray:
        """(n,) int32: those that have been made, without prompt and end."""
        return np.array(self._tokens, np.int32)

    def after(self, count: int) -> list[int]:
        """Those after the first `count`."""
        return self._tokens[count:]

    @property
    def last(self) -> int:
        """The last of them."""
        return self._tokens[-1]

    @property
    def closed(self) -> bool:
        """Whether it is too early to end."""
        return len(self._tokens) < self._least

    @property
    def cancelled(self) -> bool:
        return self.request.cancel is not None and self.request.cancel.is_set()

    def choose(self, head: Head) -> None:
        """Draw the next token, and see whether it is the last. Raises RequestError."""
        config = self._config
        token = choose(head, self._tokens, self._draw, config)
        if token >= config.end and self.closed and not self.request.compatible:
            speech = head.without(*range(config.end, config.end + ENDS))
            token = choose(speech, self._tokens, self._draw, config)
        if token >= config.end:
            self.stop_reason = "stop"
            return
        self._tokens.append(token)
        if len(self._tokens) >= self._cap:
            self.stop_reason = "cap"

    def _draw(self) -> float:
        return drawn(self._uniforms)


def drawn(uniforms: Iterator[float]) -> float:
    """The next of them. Raises RequestError where there is none, or none in [0, 1)."""
    number: Any = next(uniforms, None)
    if number is None:
        raise RequestError("the uniforms given have ended before the speech; give more")
    if not isinstance(number, int | float | np.number) or not 0 <= number < 1:
        raise RequestError(f"uniforms holds {number!r}; they must be numbers from 0, below 1")
    return float(number)


def numbers_of(seed: int, given: Iterable[float] | None) -> Iterator[float]:
    """The numbers given, or those of a seed: the same on every machine."""
    if given is None:
        return _philox(seed)
    try:
        return iter(given)
    except TypeError:
        raise RequestError("uniforms must be an iterator of numbers in [0, 1)") from None


def _philox(seed: int) -> Iterator[float]:
    bits = np.random.Philox(key=seed)
    while True:
        yield from ((bits.random_raw(64) >> np.uint64(11)) * 2.0**-53).tolist()


class TokenBatch:
    """Rows that are spoken side by side. `len` counts those that have not been returned."""

    def __init__(self, lm: Qwen2LM, tokenize: Callable[[str], list[int]], slots: int) -> None:
        if not isinstance(slots, int) or slots < 1:
            raise RequestError(f"slots is {slots!r}; a batch needs a whole number from 1")
        self.slots = slots
        self._lm, self._tokenize = lm, tokenize
        self._waiting: deque[Row] = deque()
        self._running: list[Row] = []  # row b of the lines
        self._lines: Lines | None = None
        self._undecided: deque[tuple[Row, Head]] = deque()  # more than none after an error alone
        self._ended: list[Row] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running) + len(self._ended)

    @property
    def running(self) -> int:
        """Rows that have a slot. `slots` may be set at any time: rows that run go on."""
        return len(self._running)

    def add(self, request: Request, most: int | None = None) -> Row:
        """Queue a request; it runs as soon as a slot is free. `most` as for `Row`. Raises
        RequestError."""
        check_request(request)
        row = Row(request, self._lm.config, self._tokenize, most)
        self._waiting.append(row)
        return row

    def step(self) -> list[Row]:
        """One token for all rows; returns those that ended.

        Where a caller's numbers raise, their row leaves the batch, and the next step goes on with
        the others.
        """
        self._drop_ended()
        if not self._undecided:
            self._ask()
        while self._undecided:
            row, head = self._undecided.popleft()
            try:
                row.choose(head)
            except Exception:
                self._keep([other for other in self._running if other is not row])
                raise
        self._drop_ended()
        ended, self._ended = self._ended, []
        if ended:
            settle()
        return ended

    def _ask(self) -> None:
        """Feed what was drawn, read waiting rows, and ask for what comes next in each."""
        if self._lines is not None:
            self._lm.step(self._lines, [row.last for row in self._running])
        self._admit()
        if self._lines is None:
            return
        closed = [row.closed for row in self._running]
        heads = Heads.of(self._lm.decode(self._lines.last), closed, self._lm.config).rows()
        self._undecided.extend(zip(self._running, heads, strict=True))

    def _admit(self) -> None:
        """Read waiting rows into the free slots."""
        new = list(islice(self._waiting, max(0, self.slots - len(self._running))))
        if not new:
            return
        lines = self._lm.prefill([self._lm.lead(row.text_ids, row.prefix) for row in new])
        if self._lines is None:
            self._lines = lines
        else:
            self._lines.extend(lines)
        for _ in new:
            self._waiting.popleft()
        self._running = self._running + new

    def _drop_ended(self) -> None:
        """Let go of rows that are cancelled, have drawn their last, or never had to run."""
        rows = [*self._running, *self._waiting]
        for row in rows:
            if row.stop_reason is None and row.cancelled:
                row.stop_reason = "cancelled"
        self._ended += [row for row in rows if row.stop_reason is not None]
        self._waiting = deque(row for row in self._waiting if row.stop_reason is None)
        self._keep([row for row in self._running if row.stop_reason is None])

    def _keep(self, rows: list[Row]) -> None:
        if len(rows) == len(self._running):
            return
        if not rows or self._lines is None:
            self._lines = None
        else:
            self._lines.filter([self._running.index(row) for row in rows])
        self._running = rows
        self._undecided = deque(pair for pair in self._undecided if pair[0] in rows)


def tokens_of(
    lm: Qwen2LM, tokenize: Callable[[str], list[int]], request: Request, most: int | None = None
) -> Iterator[int]:
    """A request's tokens, one after another; `most` as for `Row`. Raises RequestError, for what can
    be checked at once."""
    batch = TokenBatch(lm, tokenize, 1)
    return _one_by_one(batch, batch.add(request, most))


def _one_by_one(batch: TokenBatch, row: Row) -> Iterator[int]:
    given = 0
    while len(batch):
        batch.step()
        new = row.after(given)
        given += len(new)
        yield from new


def lead(
    request: Request, tokenize: Callable[[str], list[int]], config: LMConfig
) -> tuple[list[int], list[int]]:
    """The ids that stand before the text's, and the tokens that lead. Raises RequestError."""
    return text_ids(_prompt(request, tokenize), config), _prefix(request, config)


def text_ids(found: list[int], config: LMConfig) -> list[int]:
    """Ids that the model has a row for. Raises RequestError."""
    if found and max(found) >= config.vocab_size:
        raise RequestError("text or prompt holds a marker that this model has no row for")
    return found


def _prompt(request: Request, tokenize: Callable[[str], list[int]]) -> list[int]:
    """The ids that stand before the text's. Raises RequestError."""
    instruction, said = request.instruction, request.prompt_text
    if instruction is not None and said is not None:
        raise RequestError("instruction and prompt_text exclude each other: both lead the text")
    if instruction is not None:
        instruction = _text("instruction", instruction)
        ended = END_OF_PROMPT in instruction
        return tokenize(instruction if ended else instruction + END_OF_PROMPT)
    if said is None:
        return []
    return tokenize(_text("prompt_text", said)) if isinstance(said, str) else _ids(said)


def _ids(given: Any) -> list[int]:
    found = ids("prompt_text", given)
    if not len(found):
        raise RequestError("prompt_text has no ids; give the exact transcript")
    return [int(each) for each in found]


def _prefix(request: Request, config: LMConfig) -> list[int]:
    """The tokens that lead. Raises RequestError."""
    if request.prompt_text is None:
        if request.prefix_tokens is not None:
            raise RequestError("prefix_tokens need prompt_text: what is said in them")
        return []
    if request.prefix_tokens is not None:
        return checked_tokens("prefix_tokens", request.prefix_tokens, config)
    if request.reference is None:
        raise RequestError("prompt_text needs tokens that say it: a reference, or prefix_tokens")
    return checked_tokens("the reference's tokens", request.reference.tokens, config)


def _text(name: str, value: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{name} is empty; give at least one word")
    return characters(name, value)


def characters(name: str, value: str) -> str:
    """A text that can be tokenized, an empty one too. Raises RequestError."""
    if not isinstance(value, str):
        raise RequestError(f"{name} must be text, not {type(value).__name__}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise RequestError(f"{name} holds half of a surrogate pair, which is no character")
    return value


def checked_tokens(name: str, given: Any, config: LMConfig) -> list[int]:
    """Speech tokens, one or more. Raises RequestError."""
    found = ids(name, given)
    if not len(found):
        raise RequestError(f"{name} must be whole numbers in a row, one or more")
    if found.max() >= config.speech_tokens:
        raise RequestError(f"{name} must be from 0 to {config.speech_tokens - 1}")
    return [int(each) for each in found]


def check_request(given: Any) -> None:
    """Raises RequestError for what is none."""
    if not isinstance(given, Request):
        raise RequestError(f"a batch takes a Request, not {type(given).__name__}")


def check_numbers(request: Request) -> None:
    """Raises RequestError for a seed, a length or a `cancel` that is none."""

    def whole(name: str, value: Any, least: int, most: float = math.inf) -> None:
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (is_whole and least <= value <= most):
            span = f"from {least}" if most == math.inf else f"from {least} to {most}"
            raise RequestError(f"{name} is {value!r}; it must be a whole number {span}")

    if request.cancel is not None and not hasattr(request.cancel, "is_set"):
        raise RequestError("cancel must have is_set(), as threading.Event has")
    whole("seed", request.seed, 0, 2**32 - 1)
    whole("min_len", request.min_len, 1)
    whole("max_len", request.max_len, 1)
