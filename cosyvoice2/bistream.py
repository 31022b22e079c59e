"""Speech of a text that arrives in pieces: five ids of text, up to fifteen tokens, and so on.

Handles a single row. `generate.py` speaks texts that are complete from the start.
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
"""Ids of text and speech tokens that alternate, as Qwen2LM was trained."""


def generate_tokens_from_pieces(
    lm: Qwen2LM,
    tokenize: Callable[[str], list[int]],
    request: Request,
    pieces: Iterable[str],
) -> Iterator[int]:
    """Generates the tokens of a request whose text arrives in pieces, by `bistream`.

    Raises RequestError immediately for arguments that are invalid.
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
    """Yields tokens as soon as enough ids of the text have arrived.

    Raises RequestError when the model has no positions left. `compatible` imitates the official
    code, which
    - feeds the last token a second time when the text has ended,
    - drops the `prefix_tokens` that it has not read by then; otherwise they follow the text,
    - raises when it draws `unused`, or a fill after the text; otherwise the token is drawn again,
    - never stops if it does not draw the end; otherwise it stops at 20 tokens per id of text.
    """
    decoder = _PieceDecoder(lm, iter(uniforms), compatible)
    decoder.buffer, decoder.prefix = list(prompt_ids), list(prefix_tokens)
    decoder.next_fill = TOKENS_PER_TURN - len(decoder.prefix) % TOKENS_PER_TURN
    text_length = 0
    for text_id in ids:
        text_length += 1
        decoder.buffer.append(text_id)
        if decoder.queue_input():
            yield from decoder.generate_until_fill()
    if not text_length and not compatible:
        raise RequestError("the text has no ids; give a word to speak")
    yield from decoder.generate_until_end(MAX_TOKENS_PER_TEXT_ID * text_length)


class _PieceDecoder:
    """The state of one row whose text arrives in pieces."""

    def __init__(self, lm: Qwen2LM, uniforms: Iterator[float], compatible: bool) -> None:
        self._lm, self._uniforms, self._compatible = lm, uniforms, compatible
        self._cache = lm.empty_cache([1])
        self._pending = [lm.marker(SOS)]
        """Embeddings that the next call feeds to the model."""
        self._tokens: list[int] = []
        """Tokens so far, fills included."""
        self.buffer: list[int] = []
        """Ids of text that have not been fed."""
        self.prefix: list[int] = []
        """Tokens of the prompt that have not been fed."""
        self.next_fill = 0
        """The length of `_tokens` at which a fill is set instead of drawn."""

    def queue_input(self) -> bool:
        """Queues text and prefix tokens that can be fed; returns whether tokens can follow."""
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
        """Yields up to fifteen tokens, fewer if the model asks for text before."""
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
        """Feeds the remaining text, and yields tokens until the end of speech."""
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
        """Feeds the pending embeddings; returns logits of the next token, (1, vocabulary)."""
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
