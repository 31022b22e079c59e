"""Speech of a text that arrives in pieces: five ids of text, up to fifteen tokens, and so on.

It knows one row; a text that is known as a whole is `generate.py`'s.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import mlx.core as mx

from cosyvoice2.generate import (
    MAX_TOKENS_PER_TEXT_ID,
    Request,
    check_numbers,
    checked_text,
    checked_text_ids,
    iterate_uniforms,
    next_uniform,
    read_prompt,
)
from cosyvoice2.lm import SOS, TASK, Qwen2LM
from cosyvoice2.sampler import Heads, choose
from speechbase.errors import ModelError, RequestError

TEXT_IDS_PER_TURN, TOKENS_PER_TURN = 5, 15
"""Of each, in turn; Qwen2LM was trained so."""


def generate_tokens_from_pieces(
    lm: Qwen2LM,
    tokenize: Callable[[str], list[int]],
    request: Request,
    pieces: Iterable[str],
) -> Iterator[int]:
    """The tokens of a request whose text comes in pieces, by `bistream`.

    Raises RequestError, for what can be checked at once.
    """
    if any(
        part is not None
        for part in (request.instruction, request.tokens, request.min_len, request.max_len)
    ):
        raise RequestError(
            "a text in pieces takes no instruction, tokens, min_len or max_len; give it whole"
        )
    check_numbers(request)
    if not isinstance(pieces, Iterable):
        raise RequestError(f"text must be text, or pieces of it, not {type(pieces).__name__}")
    prompt, prefix = read_prompt(request, tokenize, lm.config)
    seed = secrets.randbits(32) if request.seed is None else int(request.seed)
    ids = (
        number
        for piece in pieces
        for number in checked_text_ids(tokenize(checked_text("a piece of text", piece)), lm.config)
    )
    tokens = bistream(
        lm,
        ids,
        iterate_uniforms(seed, request.uniforms),
        prompt_ids=prompt,
        prefix_tokens=prefix,
        compatible=request.compatible,
    )
    cancel = request.cancel
    return takewhile(lambda _: cancel is None or not cancel.is_set(), tokens)


def bistream(
    lm: Qwen2LM,
    ids: Iterable[int],
    uniforms: Iterable[float],
    *,
    prompt_ids: Sequence[int] = (),
    prefix_tokens: Sequence[int] = (),
    compatible: bool = False,
) -> Iterator[int]:
    """Tokens as soon as enough of the text's ids are there; RequestError where it takes no more.

    `compatible` does as the official code, which
    - feeds the last token a second time when the text has ended,
    - forgets what it has not read of `prefix_tokens` by then; else that follows the text,
    - raises where a token is `unused`, or a fill after the text; else it is drawn once more,
    - speaks without end where the end is not drawn; else 20 tokens at most for an id of text.
    """
    decoder = _PieceDecoder(lm, iter(uniforms), compatible)
    decoder.buffer, decoder.prefix = list(prompt_ids), list(prefix_tokens)
    decoder.next_fill = (len(decoder.prefix) // TOKENS_PER_TURN + 1) * TOKENS_PER_TURN - len(
        decoder.prefix
    )
    count = 0
    for number in ids:
        count += 1
        decoder.buffer.append(number)
        if decoder.queue_input():
            yield from decoder.generate_until_fill()
    if not count and not compatible:
        raise RequestError("the text has no ids; give a word to speak")
    yield from decoder.generate_until_end(MAX_TOKENS_PER_TEXT_ID * count)


class _PieceDecoder:
    def __init__(self, lm: Qwen2LM, uniforms: Iterator[float], compatible: bool) -> None:
        self._lm, self._uniforms, self._compatible = lm, uniforms, compatible
        self._cache = lm.empty_cache([1])
        self._pending = [lm.marker(SOS)]
        """What the next call gets; of what it got there is no record."""
        self._tokens: list[int] = []
        """With fills."""
        self.buffer: list[int] = []
        """Ids of text that are not fed yet."""
        self.prefix: list[int] = []
        """Tokens of the prompt that are not fed yet."""
        self.next_fill = 0
        """The length of `_tokens` at which a fill is not drawn but set."""

    def queue_input(self) -> bool:
        """Move what can be fed to what is pending; whether tokens can be made of it."""
        while self.prefix and len(self.buffer) >= TEXT_IDS_PER_TURN:
            self._queue_text_ids()
            self._pending.append(self._lm.speech(self.prefix[:TOKENS_PER_TURN]))
            del self.prefix[:TOKENS_PER_TURN]
        if self.prefix:
            return False
        if self._tokens or len(self._pending) == 1:
            if len(self.buffer) < TEXT_IDS_PER_TURN:
                return False
            if self._tokens:
                self._pending = []  # has been fed; the fill itself never is
            self._queue_text_ids()
        return True

    def _queue_text_ids(self) -> None:
        self._pending.append(self._lm.text(self.buffer[:TEXT_IDS_PER_TURN]))
        del self.buffer[:TEXT_IDS_PER_TURN]

    def generate_until_fill(self) -> Iterator[int]:
        """Tokens until the model asks for text, or has had fifteen."""
        end = self._lm.config.end
        unused, fill = end + 1, end + 2
        while True:
            logits = self._compute_logits()
            token = fill
            if len(self._tokens) != self.next_fill:
                token = self._draw(logits, closed=True, forbidden=(unused,))
            self._tokens.append(token)
            if token == fill:
                self.next_fill = len(self._tokens) + TOKENS_PER_TURN
                return
            yield token
            self._pending = [self._lm.speech([token])]

    def generate_until_end(self, max_tokens: int) -> Iterator[int]:
        """The rest of the text, and tokens to its end."""
        lm, end = self._lm, self._lm.config.end
        if self._tokens and not self._compatible:
            self._pending = []
        self._pending += [lm.text(self.buffer), lm.marker(TASK)]
        if not self._compatible:
            self._pending.append(lm.speech(self.prefix))
        while self._compatible or len(self._tokens) < max_tokens:
            token = self._draw(self._compute_logits(), closed=False, forbidden=(end + 1, end + 2))
            if token == end:
                return
            self._tokens.append(token)
            yield token
            self._pending = [lm.speech([token])]

    def _compute_logits(self) -> mx.array:
        """Feed what is pending; logits of what follows, (1, vocabulary)."""
        x = mx.concatenate(self._pending)
        if self._cache.length + len(x) > self._lm.config.max_positions:
            raise RequestError(
                f"text and speech take more than the model's {self._lm.config.max_positions} "
                "positions; split the text"
            )
        return self._lm.decode(self._lm.hidden(x[None], self._cache)[:, -1])

    def _draw(self, logits: mx.array, *, closed: bool, forbidden: tuple[int, ...]) -> int:
        config = self._lm.config
        [head] = Heads.from_logits(logits, [closed], config).rows()
        token = choose(head, self._tokens, lambda: next_uniform(self._uniforms), config)
        if token not in forbidden:
            return token
        if self._compatible:
            raise ModelError(f"the id {token} was drawn, where the official code raises ValueError")
        return choose(
            head.without(*forbidden), self._tokens, lambda: next_uniform(self._uniforms), config
        )
