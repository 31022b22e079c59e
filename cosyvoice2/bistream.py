"""Speech of a text that arrives in pieces: five ids of text, up to fifteen tokens, and so on.

It knows one row; a text that is known as a whole is `generate.py`'s.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import mlx.core as mx

from cosyvoice2.generate import (
    MOST,
    Request,
    characters,
    check_numbers,
    drawn,
    lead,
    numbers_of,
    text_ids,
)
from cosyvoice2.lm import SOS, TASK, Qwen2LM
from cosyvoice2.sampler import Heads, choose
from speechbase.errors import ModelError, RequestError

TEXTS, TOKENS = 5, 15
"""Of each, in turn; Qwen2LM was trained so."""


def tokens_of_pieces(
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
    prompt, prefix = lead(request, tokenize, lm.config)
    seed = secrets.randbits(32) if request.seed is None else int(request.seed)
    ids = (
        number
        for piece in pieces
        for number in text_ids(tokenize(characters("a piece of text", piece)), lm.config)
    )
    tokens = bistream(
        lm,
        ids,
        numbers_of(seed, request.uniforms),
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
    row = _Pieces(lm, iter(uniforms), compatible)
    row.buffer, row.prefix = list(prompt_ids), list(prefix_tokens)
    row.next_fill = (len(row.prefix) // TOKENS + 1) * TOKENS - len(row.prefix)
    count = 0
    for number in ids:
        count += 1
        row.buffer.append(number)
        if row.ready():
            yield from row.until_fill()
    if not count and not compatible:
        raise RequestError("the text has no ids; give a word to speak")
    yield from row.until_end(MOST * count)


class _Pieces:
    def __init__(self, lm: Qwen2LM, uniforms: Iterator[float], compatible: bool) -> None:
        self._lm, self._uniforms, self._compatible = lm, uniforms, compatible
        self._cache = lm.space([1])
        self._pending = [lm.marker(SOS)]
        """What the next call gets; of what it got there is no record."""
        self._out: list[int] = []
        """With fills."""
        self.buffer: list[int] = []
        """Ids of text that are not fed yet."""
        self.prefix: list[int] = []
        """Tokens of the prompt that are not fed yet."""
        self.next_fill = 0
        """The length of `_out` at which a fill is not drawn but set."""

    def ready(self) -> bool:
        """Move what can be fed to what is pending; whether tokens can be made of it."""
        while self.prefix and len(self.buffer) >= TEXTS:
            self._take_texts()
            self._pending.append(self._lm.speech(self.prefix[:TOKENS]))
            del self.prefix[:TOKENS]
        if self.prefix:
            return False
        if self._out or len(self._pending) == 1:
            if len(self.buffer) < TEXTS:
                return False
            if self._out:
                self._pending = []  # has been fed; the fill itself never is
            self._take_texts()
        return True

    def _take_texts(self) -> None:
        self._pending.append(self._lm.text(self.buffer[:TEXTS]))
        del self.buffer[:TEXTS]

    def until_fill(self) -> Iterator[int]:
        """Tokens until the model asks for text, or has had fifteen."""
        end = self._lm.config.end
        unused, fill = end + 1, end + 2
        while True:
            logits = self._call()
            token = fill
            if len(self._out) != self.next_fill:
                token = self._draw(logits, closed=True, none_of=(unused,))
            self._out.append(token)
            if token == fill:
                self.next_fill = len(self._out) + TOKENS
                return
            yield token
            self._pending = [self._lm.speech([token])]

    def until_end(self, most: int) -> Iterator[int]:
        """The rest of the text, and tokens to its end."""
        lm, end = self._lm, self._lm.config.end
        if self._out and not self._compatible:
            self._pending = []
        self._pending += [lm.text(self.buffer), lm.marker(TASK)]
        if not self._compatible:
            self._pending.append(lm.speech(self.prefix))
        while self._compatible or len(self._out) < most:
            token = self._draw(self._call(), closed=False, none_of=(end + 1, end + 2))
            if token == end:
                return
            self._out.append(token)
            yield token
            self._pending = [lm.speech([token])]

    def _call(self) -> mx.array:
        """Feed what is pending; logits of what follows, (1, vocabulary)."""
        x = mx.concatenate(self._pending)
        if self._cache.length + len(x) > self._lm.config.max_positions:
            raise RequestError(
                f"text and speech take more than the model's {self._lm.config.max_positions} "
                "positions; split the text"
            )
        return self._lm.decode(self._lm.hidden(x[None], self._cache)[:, -1])

    def _draw(self, logits: mx.array, *, closed: bool, none_of: tuple[int, ...]) -> int:
        config = self._lm.config
        [head] = Heads.of(logits, [closed], config).rows()
        token = choose(head, self._out, lambda: drawn(self._uniforms), config)
        if token not in none_of:
            return token
        if self._compatible:
            raise ModelError(f"the id {token} was drawn, where the official code raises ValueError")
        return choose(head.without(*none_of), self._out, lambda: drawn(self._uniforms), config)
