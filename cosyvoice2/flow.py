"""The flow: speech tokens -> mel, whole or as a stream.

Tokens of a reference and new ones stand in one row; the encoder makes frames of them, and Euler
steps of a guided velocity lead from noise that is always the same to a mel. Float32 throughout. It
draws nothing: the same row gives the same mel. It knows no texts and no samples.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from cosyvoice2.config import LOOK_AHEAD, MELS, EstimatorConfig, FlowConfig
from cosyvoice2.encoder import Encoder
from cosyvoice2.estimator import Estimator, Known
from cosyvoice2.layers import SCORES, Past, Sight, sight
from speechbase.device import MadeOnce, elementwise, on_gpu, settle
from speechbase.errors import RequestError

FRAMES = 15_000
"""Of the fixed noise, so of a mel with its reference's: 300 s."""
STEPS = 10
TOKEN_FRAMES = 2
WRITTEN = 5
"""Times that scores of a head, each query's for each key, are there at once: 3.5 to 5 by MLX's
count on a CPU, where the rest is little beside them. A GPU's attention writes fewer."""

K = TypeVar("K")
V = TypeVar("V")


@functools.cache
def noise() -> mx.array:
    """What every mel begins as: (15000, 80), frame 0 the reference's first.

    torch's normal numbers after `manual_seed(0)` on a CPU, (80, 15000), to 2e-6: uniform numbers of
    24 bits, turned in groups of 16 as Box and Muller have it.
    """
    bits = np.frombuffer(np.random.RandomState(0).bytes(4 * MELS * FRAMES), "<u4")
    uniform = ((bits & 0xFFFFFF) * 2.0**-24).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - uniform[:, 0])), 2 * np.pi * uniform[:, 1]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return mx.array(np.ascontiguousarray(normal.reshape(MELS, FRAMES).T, np.float32))


def schedule(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The moments t (K,) and widths (K,) of Euler's steps from 0 to 1, float32 in upstream's order:
    narrow ones first, as 1 - cos is."""
    even = np.linspace(0, 1, steps + 1, dtype=np.float32)
    quarter = (even * np.float32(0.5) * np.float32(np.pi)).astype(np.float64)
    grid = np.float32(1) - np.cos(quarter).astype(np.float32)
    moments, widths = [], []
    t = grid[0]
    for target in grid[1:]:
        moments.append(t)
        widths.append(target - t)
        t = t + widths[-1]
    return np.array(moments, np.float32), np.array(widths, np.float32)


@dataclass(frozen=True, slots=True)
class FlowRow:
    """New tokens (n,), and what speaks them: a reference's tokens (p,) and mel (2 p, 80), p = 0
    where there is none, and a speaker (192,)."""

    tokens: np.ndarray
    prompt_tokens: np.ndarray
    prompt_mel: np.ndarray
    speaker: np.ndarray

    @property
    def ids(self) -> np.ndarray:
        """All tokens; upstream takes negative ones for 0."""
        both = [np.asarray(ids, np.int32) for ids in (self.prompt_tokens, self.tokens)]
        return np.maximum(np.concatenate(both), 0)


@elementwise
def _moved(
    x: mx.array, width: mx.array, given: mx.array, nothing: mx.array, guidance: float
) -> mx.array:
    return x + width * ((1.0 + guidance) * given - guidance * nothing)


class Solver(nn.Module):
    """Euler's steps around the estimator, `decoder` in flow.pt."""

    KEPT = 8

    def __init__(self, config: EstimatorConfig, guidance: float) -> None:
        super().__init__()
        self.estimator = Estimator(config)
        self._guidance = guidance
        self._plans: OrderedDict[int, tuple[mx.array, mx.array]] = OrderedDict()
        # A step by the shapes of what it is given, traced once and run for each moment. On a GPU
        # only, see `cfm.CFM`; for the shapes used last, since every length is one.
        self._compiled: OrderedDict[tuple[object, ...], Callable[..., mx.array]] = OrderedDict()

    def __call__(
        self, x: mx.array, known: Known, seen: Sight, steps: int, pasts: Sequence[Past] = ()
    ) -> mx.array:
        """Noise (B, T, 80) -> mel (B, T, 80), by a condition with what nothing gives below it.

        `pasts` are those of the steps, where the frames follow others.
        """
        moments, widths = self._plan(steps)
        step = self._step if pasts or not on_gpu() else self._traced(x, seen)
        for index in range(steps):
            past = pasts[index] if pasts else None
            x = step(x, known, moments[index], widths[index], seen, past)
            if past is not None:  # what is kept would keep all that it is made of
                mx.async_eval(x, *past.kept)
            elif on_gpu():  # begun while the next step is built
                mx.async_eval(x)
        return x

    def _step(
        self,
        x: mx.array,
        known: Known,
        moment: mx.array,
        width: mx.array,
        seen: Sight,
        past: Past | None = None,
    ) -> mx.array:
        velocity = self.estimator.velocity(x, known, moment, seen, past)
        given, nothing = mx.split(velocity, 2)
        return _moved(x, width, given, nothing, self._guidance)

    def _traced(self, x: mx.array, seen: Sight) -> Callable[..., mx.array]:
        # What is traced takes arrays alone: no mask is no array.
        masks = [] if seen.mask is None else [seen.mask]

        def traced(
            x: mx.array, condition: list[mx.array], moment: mx.array, width: mx.array,
            masks: list[mx.array],
        ) -> mx.array:  # fmt: skip
            seen = Sight(masks[0] if masks else None)
            return self._step(x, Known(*condition), moment, width, seen)

        step = _recent(
            self._compiled,
            (x.shape, *(mask.shape for mask in masks)),
            self.KEPT,
            lambda: mx.compile(traced, inputs=self.estimator.state),
        )

        def call(x: mx.array, known: Known, moment: mx.array, width: mx.array, *_: Any) -> mx.array:
            return step(x, [known.conv, known.residual], moment, width, masks)

        return call

    def _plan(self, steps: int) -> tuple[mx.array, mx.array]:
        """What the moments give to the stages, and the widths."""

        def made() -> tuple[mx.array, mx.array]:
            moments, widths = schedule(steps)
            given = self.estimator.moments(moments), mx.array(widths)
            mx.eval(given)
            settle()
            return given

        return _recent(self._plans, steps, self.KEPT, made)


@dataclass(slots=True)
class State:
    """Where a stream stands: so many tokens are frames, and what all layers keep of them."""

    steps: int
    tokens: int = 0
    encoder: Past = field(default_factory=Past)
    condition: Past = field(default_factory=Past)
    solver: list[Past] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solver = self.solver or [Past() for _ in range(self.steps)]

    def copy(self) -> State:
        pasts = [past.copy() for past in self.solver]
        return State(self.steps, self.tokens, self.encoder.copy(), self.condition.copy(), pasts)

    @property
    def pasts(self) -> list[Past]:
        return [self.encoder, self.condition, *self.solver]

    @property
    def nbytes(self) -> int:
        """Memory that it takes: 57 MB for a second of sound in the released sizes."""
        return sum(past.nbytes for past in self.pasts)


class Flow(nn.Module):
    """flow.pt."""

    KEPT = 4
    """References whose streams' beginnings are kept: 57 MB each for a second of it."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        self.config = config
        width = config.encoder.width
        self.input_embedding = nn.Embedding(config.vocab_size, width)
        self.spk_embed_affine_layer = nn.Linear(config.speaker_dim, MELS)
        self.encoder = Encoder(config.encoder)
        self.encoder_proj = nn.Linear(width, MELS)
        self.decoder = Solver(config.estimator, config.guidance)
        self._made = MadeOnce()
        self._beginnings: OrderedDict[tuple[object, ...], State] = OrderedDict()

    def join(self) -> None:
        """Join products of one input, once. The weights may not change afterwards."""
        self._made(lambda: [*self.encoder.join(), *self.decoder.estimator.join()])

    def forget(self) -> None:
        """Give back what is kept of references and lengths: it is made again when it is needed."""
        for kept in (self._beginnings, self.encoder._tables, self.decoder._compiled):
            kept.clear()

    def needs(self, rows: int, frames: int) -> int:
        """Bytes beside the weights that rows of so many frames take side by side, about."""
        heads = max(self.config.encoder.heads, self.config.estimator.heads)
        return 4 * WRITTEN * min(SCORES, rows * heads * frames**2)

    def mel(
        self,
        rows: Sequence[FlowRow],
        *,
        streaming: bool = False,
        finalize: bool = True,
        steps: int = STEPS,
    ) -> list[mx.array]:
        """The new frames of each row, (2 n, 80) each, side by side.

        `streaming`: frames see their own chunk of a second and those before it, counted from the
        reference's first, so that later tokens change nothing; else all see all. Without `finalize`
        the last three tokens are looked at only, and give no frames. A row that has no new frame to
        give is empty. Raises RequestError where a row has more than 15000 frames with its
        reference's.
        """
        self.join()
        held = 0 if finalize else LOOK_AHEAD
        ids = [row.ids for row in rows]
        for each in ids:
            _check_frames(len(each) - held)
        mels = [mx.zeros((0, MELS)) for _ in rows]
        going = [n for n, row in enumerate(rows) if len(row.tokens) > held]
        if not going:
            return mels
        counts = [len(ids[n]) for n in going]
        padded = np.zeros((len(going), max(counts)), np.int32)
        for place, n in enumerate(going):
            padded[place, : counts[place]] = ids[n]
        h = self.encoder(
            self.input_embedding(mx.array(padded)), counts, streaming=streaming, finalize=finalize
        )
        ends = [TOKEN_FRAMES * (count - held) for count in counts]
        chosen = [rows[n] for n in going]
        known = self._known(h, chosen, 0, None)
        chunk = self.config.estimator.chunk if streaming else None
        x = mx.broadcast_to(noise()[: h.shape[1]], (len(going), h.shape[1], MELS))
        x = self.decoder(x, known, sight(ends * 2, h.shape[1], chunk), steps)
        for place, n in enumerate(going):
            mels[n] = x[place, len(rows[n].prompt_mel) : ends[place]]
        return mels

    def stream(self, row: FlowRow, *, steps: int = STEPS) -> FlowStream:
        """A stream of frames, which begins with the row's tokens, if there are any."""
        return FlowStream(self, row, steps)

    def beginning(self, row: FlowRow, steps: int) -> State:
        """What a stream knows of a row's reference before any new token: of those of its whole
        chunks whose three tokens to look at are there. Computed if it is not known. To be copied.
        """
        self.join()
        reference = FlowRow(row.tokens[:0], row.prompt_tokens, row.prompt_mel, row.speaker)
        key = (steps, *(np.asarray(each).tobytes() for each in _contents(reference)))

        def made() -> State:
            state, whole = State(steps), self._whole(len(reference.ids))
            if whole:
                self.push(state, reference, reference.ids[: whole + LOOK_AHEAD], finalize=False)
                mx.eval([past.kept for past in state.pasts])
                settle()
            return state

        return _recent(self._beginnings, key, self.KEPT, made)

    def push(self, state: State, row: FlowRow, ids: np.ndarray, *, finalize: bool) -> mx.array:
        """Frames (2 n, 80) of the next tokens, whole chunks of them unless `finalize`; `state` goes
        on. `ids` (n,), or without `finalize` (n + 3,), the last ones being looked at."""
        start = TOKEN_FRAMES * state.tokens
        h = self.encoder(
            self.input_embedding(mx.array(ids)[None]),
            [len(ids)],
            streaming=True,
            finalize=finalize,
            past=state.encoder,
            start=state.tokens,
        )
        end = start + h.shape[1]
        known = self._known(h, [row], start, state.condition)
        seen = sight([end], end, self.config.estimator.chunk, start)
        x = self.decoder(noise()[None, start:end], known, seen, state.steps, state.solver)
        state.tokens += h.shape[1] // TOKEN_FRAMES
        return x[0]

    def _whole(self, tokens: int) -> int:
        """Tokens of the whole chunks that can be computed when so many are there."""
        chunk = self.config.encoder.chunk
        return max(0, (tokens - LOOK_AHEAD) // chunk * chunk)

    def _known(self, h: mx.array, rows: Sequence[FlowRow], start: int, past: Past | None) -> Known:
        """The condition of encoded frames (B, T, width), of which the first is frame `start`."""
        cond = np.zeros((len(rows), h.shape[1], MELS), np.float32)
        for place, row in enumerate(rows):
            heard = np.asarray(row.prompt_mel, np.float32)[start : start + h.shape[1]]
            cond[place, : len(heard)] = heard
        mu, speaker = self.encoder_proj(h), self.speaker(rows)
        return self.decoder.estimator.known(mu, speaker, mx.array(cond), guided=True, past=past)

    def speaker(self, rows: Sequence[FlowRow]) -> mx.array:
        """What the estimator is told of the rows' speakers, (B, 80): of their direction alone."""
        vectors = np.stack([np.asarray(row.speaker, np.float32) for row in rows])
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return self.spk_embed_affine_layer(mx.array(vectors / np.maximum(length, 1e-12)))


class FlowStream:
    """Frames of one row as its tokens come; together they are `Flow.mel(streaming=True)`.

    Nothing is computed twice: every layer keeps what it needs of the frames before, for each step
    (`State.nbytes`), and begins with what is kept of the reference. Unlike upstream's, the last
    chunk sees what the others do, and fits them.
    """

    def __init__(self, flow: Flow, row: FlowRow, steps: int = STEPS) -> None:
        self._flow, self._row = flow, row
        self._state = flow.beginning(row, steps).copy()
        self._heard = len(row.prompt_tokens)
        self._waiting = row.ids[self._state.tokens :]
        self._ended = False

    @property
    def nbytes(self) -> int:
        """Memory that is kept of the frames before."""
        return self._state.nbytes

    @property
    def lacking(self) -> int:
        """New tokens after which `feed` gives frames: 0 where it would at once."""
        least = self._flow.config.encoder.chunk + LOOK_AHEAD
        # A chunk of the reference alone has no new frames.
        behind = max(0, self._heard - self._state.tokens) // self._flow.config.encoder.chunk
        return max(0, behind * self._flow.config.encoder.chunk + least - len(self._waiting))

    def feed(self, tokens: Sequence[int] | np.ndarray = (), *, finalize: bool = False) -> mx.array:
        """Take tokens; returns the new frames (2 n, 80) that they made final, often none.

        Frames come by whole chunks of 25 tokens, counted from the reference's first, as soon as the
        three tokens after the chunk are there: the first ones are those that fill the chunk in
        which the reference ends. With `finalize` the row ends here, and all that is left comes.
        Raises RequestError for more than 15000 frames with the reference's, and after the end;
        then nothing has changed.
        """
        if self._ended:
            raise RequestError("this stream of frames has ended; begin another")
        more = np.maximum(np.asarray(tokens, np.int32).reshape(-1), 0)
        waiting = np.concatenate([self._waiting, more])
        _check_frames(self._state.tokens + len(waiting))
        self._waiting, self._ended = waiting, finalize
        begun = self._state.tokens
        nothing_new = begun + len(waiting) <= self._heard
        count = len(waiting) if finalize else self._flow._whole(len(waiting))
        if nothing_new or not count:
            return mx.zeros((0, MELS))
        ids = waiting[: count if finalize else count + LOOK_AHEAD]
        frames = self._flow.push(self._state, self._row, ids, finalize=finalize)
        self._waiting = waiting[count:]
        return frames[max(0, TOKEN_FRAMES * (self._heard - begun)) :]


def _contents(row: FlowRow) -> tuple[np.ndarray, ...]:
    return row.prompt_tokens, row.prompt_mel, row.speaker


def _recent(known: OrderedDict[K, V], key: K, most: int, make: Callable[[], V]) -> V:
    """The value of a key, made if it is not known; those used last are kept."""
    if key not in known:
        known[key] = make()
        if len(known) > most:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


def _check_frames(tokens: int) -> None:
    frames = TOKEN_FRAMES * tokens
    if frames > FRAMES:
        raise RequestError(
            f"{frames} frames of mel with the reference's ({frames / 50:.0f} s) are more than the "
            f"flow's {FRAMES} ({FRAMES / 50:.0f} s); give it fewer tokens at once"
        )
