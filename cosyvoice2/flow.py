"""The flow: speech tokens -> mel, in one pass or as a stream.

A row holds the tokens of a reference, then new ones. The encoder turns them into frames, and Euler
steps of a guided velocity lead from a fixed noise to a mel, in float32 throughout. Nothing is
random: the same row gives the same mel. Knows no texts and no samples.
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
from cosyvoice2.estimator import ConditionTerms, Estimator
from cosyvoice2.layers import MAX_SCORES, Past, Sight, row_sight
from speechbase.device import RunOnce, elementwise, on_gpu, settle
from speechbase.errors import RequestError

MAX_FRAMES = 15_000
"""Frames of the fixed noise, and so of a mel including its reference's: 300 s."""
STEPS = 10
TOKEN_FRAMES = 2
SCORE_COPIES = 5
"""Copies of the attention scores in memory at once: 3.5 to 5 by MLX's count on a CPU, where all
other arrays are small. A GPU's attention writes fewer."""

K = TypeVar("K")
V = TypeVar("V")


@functools.cache
def noise() -> mx.array:
    """Returns the noise that every mel starts from, (15000, 80), frame 0 the reference's first.

    Equals torch's `randn(80, 15000)` after `manual_seed(0)` on a CPU, to 2e-6: uniform numbers of
    24 bits, turned into normal ones by Box and Muller's method in groups of 16.
    """
    bits = np.frombuffer(np.random.RandomState(0).bytes(4 * MELS * MAX_FRAMES), "<u4")
    uniforms = ((bits & 0xFFFFFF) * 2.0**-24).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - uniforms[:, 0])), 2 * np.pi * uniforms[:, 1]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return mx.array(np.ascontiguousarray(normal.reshape(MELS, MAX_FRAMES).T, np.float32))


def schedule(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns moments t (K,) and widths (K,) of the Euler steps from 0 to 1.

    float32, in upstream's order of operations; the grid is 1 - cos, so the first steps are narrow.
    """
    fractions = np.linspace(0, 1, steps + 1, dtype=np.float32)
    quarter = (fractions * np.float32(0.5) * np.float32(np.pi)).astype(np.float64)
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
    """New tokens (n,) and their voice: a reference's tokens (p,) and mel (2 p, 80), p = 0 without a
    reference, and a speaker's vector (192,)."""

    tokens: np.ndarray
    prompt_tokens: np.ndarray
    prompt_mel: np.ndarray
    speaker: np.ndarray

    @property
    def ids(self) -> np.ndarray:
        """All tokens, the reference's first; negative ones become 0, as upstream."""
        parts = [np.asarray(ids, np.int32) for ids in (self.prompt_tokens, self.tokens)]
        return np.maximum(np.concatenate(parts), 0)


@elementwise
def _euler_step(
    x: mx.array, width: mx.array, conditional: mx.array, unconditional: mx.array, guidance: float
) -> mx.array:
    return x + width * ((1.0 + guidance) * conditional - guidance * unconditional)


class Solver(nn.Module):
    """Euler steps of the estimator's velocity, `decoder` in flow.pt."""

    MAX_CACHED = 8

    def __init__(self, config: EstimatorConfig, guidance: float) -> None:
        super().__init__()
        self.estimator = Estimator(config)
        self._guidance = guidance
        self._plans: OrderedDict[int, tuple[mx.array, mx.array]] = OrderedDict()
        # Compiled steps by the shapes of their inputs, on a GPU only (see `voxcpm2.cfm.CFM`). Every
        # length is a new shape, so only the shapes used last are kept.
        self._compiled: OrderedDict[tuple[object, ...], Callable[..., mx.array]] = OrderedDict()

    def __call__(
        self,
        x: mx.array,
        condition: ConditionTerms,
        sight: Sight,
        steps: int,
        pasts: Sequence[Past] = (),
    ) -> mx.array:
        """Noise (B, T, 80) -> mel (B, T, 80), under a condition and the empty condition.

        `pasts` hold the earlier frames of a stream, one for each step.
        """
        moments, widths = self._plan_steps(steps)
        step = self._step if pasts or not on_gpu() else self._compile_step(x, sight)
        for index in range(steps):
            past = pasts[index] if pasts else None
            x = step(x, condition, moments[index], widths[index], sight, past)
            if past is not None:  # stored arrays that are not evaluated keep their inputs alive
                mx.async_eval(x, *past.arrays)
            elif on_gpu():  # starts while the next step is built
                mx.async_eval(x)
        return x

    def _step(
        self,
        x: mx.array,
        condition: ConditionTerms,
        moment: mx.array,
        width: mx.array,
        sight: Sight,
        past: Past | None = None,
    ) -> mx.array:
        velocity = self.estimator.velocity(x, condition, moment, sight, past)
        conditional, unconditional = mx.split(velocity, 2)
        return _euler_step(x, width, conditional, unconditional, self._guidance)

    def _compile_step(self, x: mx.array, row_mask: Sight) -> Callable[..., mx.array]:
        # Compiled functions take arrays only, so a missing mask becomes an empty list.
        masks = [] if row_mask.mask is None else [row_mask.mask]

        def traced_step(
            x: mx.array, condition: list[mx.array], moment: mx.array, width: mx.array,
            masks: list[mx.array],
        ) -> mx.array:  # fmt: skip
            sight = Sight(masks[0] if masks else None)
            return self._step(x, ConditionTerms(*condition), moment, width, sight)

        step = _get_or_make(
            self._compiled,
            (x.shape, *(mask.shape for mask in masks)),
            self.MAX_CACHED,
            lambda: mx.compile(traced_step, inputs=self.estimator.state),
        )

        def run_step(
            x: mx.array, condition: ConditionTerms, moment: mx.array, width: mx.array, *_: Any
        ) -> mx.array:
            return step(x, [condition.conv, condition.residual], moment, width, masks)

        return run_step

    def _plan_steps(self, steps: int) -> tuple[mx.array, mx.array]:
        """Returns the embedded moments of each stage, and the step widths."""

        def compute_plan() -> tuple[mx.array, mx.array]:
            moments, widths = schedule(steps)
            plan = self.estimator.moments(moments), mx.array(widths)
            mx.eval(plan)
            settle()
            return plan

        return _get_or_make(self._plans, steps, self.MAX_CACHED, compute_plan)


@dataclass(slots=True)
class FlowState:
    """The state of a stream: the tokens already turned into frames, and all layers' pasts."""

    steps: int
    tokens: int = 0
    encoder: Past = field(default_factory=Past)
    condition: Past = field(default_factory=Past)
    solver: list[Past] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solver = self.solver or [Past() for _ in range(self.steps)]

    def copy(self) -> FlowState:
        pasts = [past.copy() for past in self.solver]
        return FlowState(self.steps, self.tokens, self.encoder.copy(), self.condition.copy(), pasts)

    @property
    def pasts(self) -> list[Past]:
        return [self.encoder, self.condition, *self.solver]

    @property
    def nbytes(self) -> int:
        """Bytes of memory: 57 MB for a second of sound at the released sizes."""
        return sum(past.nbytes for past in self.pasts)


class Flow(nn.Module):
    """The network of flow.pt: encoder, speaker projection and solver."""

    MAX_CACHED = 4
    """References whose states are cached, 57 MB each for a second of the reference."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        self.config = config
        width = config.encoder.width
        self.input_embedding = nn.Embedding(config.vocab_size, width)
        self.spk_embed_affine_layer = nn.Linear(config.speaker_dim, MELS)
        self.encoder = Encoder(config.encoder)
        self.encoder_proj = nn.Linear(width, MELS)
        self.decoder = Solver(config.estimator, config.guidance)
        self._prepare_once = RunOnce()
        self._beginnings: OrderedDict[tuple[object, ...], FlowState] = OrderedDict()

    def join(self) -> None:
        """Joins projections of the same input, once. The weights may not change afterwards."""
        self._prepare_once(lambda: [*self.encoder.join(), *self.decoder.estimator.join()])

    def clear_caches(self) -> None:
        """Clears the caches of references and lengths; they are refilled on demand."""
        for cache in (self._beginnings, self.encoder._tables, self.decoder._compiled):
            cache.clear()

    def estimate_bytes(self, rows: int, frames: int) -> int:
        """Estimates the bytes, besides the weights, of `rows` rows of `frames` frames at once."""
        heads = max(self.config.encoder.heads, self.config.estimator.heads)
        return 4 * SCORE_COPIES * min(MAX_SCORES, rows * heads * frames**2)

    def mel(
        self,
        rows: Sequence[FlowRow],
        *,
        streaming: bool = False,
        finalize: bool = True,
        steps: int = STEPS,
    ) -> list[mx.array]:
        """Returns the new frames of each row, (2 n, 80) each; the rows are computed as one batch.

        With `streaming`, frames see their own chunk of a second and the chunks before it, counted
        from the start of the reference, so that later tokens change nothing; otherwise all frames
        see each other. Without `finalize` the last three tokens are looked at but give no frames.
        Rows without new frames give empty arrays. Raises RequestError where a row has more than
        15000 frames, including its reference's.
        """
        self.join()
        held_back = 0 if finalize else LOOK_AHEAD
        ids = [row.ids for row in rows]
        for row_ids in ids:
            _check_frames(len(row_ids) - held_back)
        mels = [mx.zeros((0, MELS)) for _ in rows]
        active = [n for n, row in enumerate(rows) if len(row.tokens) > held_back]
        if not active:
            return mels
        counts = [len(ids[n]) for n in active]
        padded = np.zeros((len(active), max(counts)), np.int32)
        for index, n in enumerate(active):
            padded[index, : counts[index]] = ids[n]
        encoded = self.encoder(
            self.input_embedding(mx.array(padded)), counts, streaming=streaming, finalize=finalize
        )
        ends = [TOKEN_FRAMES * (count - held_back) for count in counts]
        chosen = [rows[n] for n in active]
        condition = self._condition(encoded, chosen, 0, None)
        chunk = self.config.estimator.chunk if streaming else None
        x = mx.broadcast_to(noise()[: encoded.shape[1]], (len(active), encoded.shape[1], MELS))
        x = self.decoder(x, condition, row_sight(ends * 2, encoded.shape[1], chunk), steps)
        for index, n in enumerate(active):
            mels[n] = x[index, len(rows[n].prompt_mel) : ends[index]]
        return mels

    def stream(self, row: FlowRow, *, steps: int = STEPS) -> FlowStream:
        """Returns a stream of frames that starts with the row's tokens, if there are any."""
        return FlowStream(self, row, steps)

    def reference_state(self, row: FlowRow, steps: int) -> FlowState:
        """Returns the state of a stream after a row's reference, before any new token.

        Covers the complete chunks of the reference for which the three tokens after them are known.
        Cached; callers must copy it.
        """
        self.join()
        reference = FlowRow(row.tokens[:0], row.prompt_tokens, row.prompt_mel, row.speaker)
        key = (steps, *(np.asarray(array).tobytes() for array in _reference_arrays(reference)))

        def compute_state() -> FlowState:
            state, count = FlowState(steps), self._complete_tokens(len(reference.ids))
            if count:
                self.push(state, reference, reference.ids[: count + LOOK_AHEAD], finalize=False)
                mx.eval([past.arrays for past in state.pasts])
                settle()
            return state

        return _get_or_make(self._beginnings, key, self.MAX_CACHED, compute_state)

    def push(self, state: FlowState, row: FlowRow, ids: np.ndarray, *, finalize: bool) -> mx.array:
        """Returns the frames (2 n, 80) of the next tokens, and advances `state`.

        `ids` (n,) with `finalize`; without it (n + 3,), where n tokens are complete chunks and the
        last three are only looked at.
        """
        start = TOKEN_FRAMES * state.tokens
        encoded = self.encoder(
            self.input_embedding(mx.array(ids)[None]),
            [len(ids)],
            streaming=True,
            finalize=finalize,
            past=state.encoder,
            start=state.tokens,
        )
        end = start + encoded.shape[1]
        condition = self._condition(encoded, [row], start, state.condition)
        sight = row_sight([end], end, self.config.estimator.chunk, start)
        x = self.decoder(noise()[None, start:end], condition, sight, state.steps, state.solver)
        state.tokens += encoded.shape[1] // TOKEN_FRAMES
        return x[0]

    def _complete_tokens(self, tokens: int) -> int:
        """Counts the tokens of the complete chunks that `tokens` tokens suffice to compute."""
        chunk = self.config.encoder.chunk
        return max(0, (tokens - LOOK_AHEAD) // chunk * chunk)

    def _condition(
        self, encoded: mx.array, rows: Sequence[FlowRow], start: int, past: Past | None
    ) -> ConditionTerms:
        """Computes the condition of encoded frames (B, T, width) that begin at frame `start`."""
        cond = np.zeros((len(rows), encoded.shape[1], MELS), np.float32)
        for index, row in enumerate(rows):
            prompt_frames = np.asarray(row.prompt_mel, np.float32)[start : start + encoded.shape[1]]
            cond[index, : len(prompt_frames)] = prompt_frames
        mu, speaker = self.encoder_proj(encoded), self.speaker(rows)
        return self.decoder.estimator.condition_terms(
            mu, speaker, mx.array(cond), guided=True, past=past
        )

    def speaker(self, rows: Sequence[FlowRow]) -> mx.array:
        """Projects the rows' speaker vectors, normalised to length 1: (B, 80)."""
        vectors = np.stack([np.asarray(row.speaker, np.float32) for row in rows])
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return self.spk_embed_affine_layer(mx.array(vectors / np.maximum(length, 1e-12)))


class FlowStream:
    """Frames of one row as its tokens arrive; together they equal `Flow.mel(streaming=True)`.

    Nothing is computed twice: for each step, every layer stores what it needs of earlier frames
    (`FlowState.nbytes`), starting from the cached state of the reference. Unlike upstream, the last
    chunk uses the same masks as the others, and so continues them without a seam.
    """

    def __init__(self, flow: Flow, row: FlowRow, steps: int = STEPS) -> None:
        self._flow, self._row = flow, row
        self._state = flow.reference_state(row, steps).copy()
        self._prompt_length = len(row.prompt_tokens)
        self._waiting = row.ids[self._state.tokens :]
        self._ended = False

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the stored frames take."""
        return self._state.nbytes

    @property
    def missing_tokens(self) -> int:
        """New tokens that `feed` needs before it returns frames; 0 if it would return some now."""
        chunk_and_look_ahead = self._flow.config.encoder.chunk + LOOK_AHEAD
        # A chunk that lies entirely in the reference has no new frames.
        prompt_chunks = (
            max(0, self._prompt_length - self._state.tokens) // self._flow.config.encoder.chunk
        )
        return max(
            0,
            prompt_chunks * self._flow.config.encoder.chunk
            + chunk_and_look_ahead
            - len(self._waiting),
        )

    def feed(self, tokens: Sequence[int] | np.ndarray = (), *, finalize: bool = False) -> mx.array:
        """Takes tokens, and returns the new frames (2 n, 80) that they complete, often none.

        Frames come in chunks of 25 tokens, counted from the start of the reference, as soon as the
        three tokens after the chunk are known. The first frames fill the chunk in which the
        reference ends. `finalize` ends the row and returns all remaining frames. Raises
        RequestError, and changes nothing, after the end or for more than 15000 frames including the
        reference's.
        """
        if self._ended:
            raise RequestError("this stream of frames has ended; begin another")
        new_tokens = np.maximum(np.asarray(tokens, np.int32).reshape(-1), 0)
        waiting = np.concatenate([self._waiting, new_tokens])
        _check_frames(self._state.tokens + len(waiting))
        self._waiting, self._ended = waiting, finalize
        processed = self._state.tokens
        has_prompt_alone = processed + len(waiting) <= self._prompt_length
        count = len(waiting) if finalize else self._flow._complete_tokens(len(waiting))
        if has_prompt_alone or not count:
            return mx.zeros((0, MELS))
        ids = waiting[: count if finalize else count + LOOK_AHEAD]
        frames = self._flow.push(self._state, self._row, ids, finalize=finalize)
        self._waiting = waiting[count:]
        return frames[max(0, TOKEN_FRAMES * (self._prompt_length - processed)) :]


def _reference_arrays(row: FlowRow) -> tuple[np.ndarray, ...]:
    return row.prompt_tokens, row.prompt_mel, row.speaker


def _get_or_make(cache: OrderedDict[K, V], key: K, max_entries: int, make: Callable[[], V]) -> V:
    """Returns the entry of a key, made if it is missing; keeps the entries used last."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > max_entries:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]


def _check_frames(tokens: int) -> None:
    frames = TOKEN_FRAMES * tokens
    if frames > MAX_FRAMES:
        raise RequestError(
            f"{frames} frames of mel with the reference's ({frames / 50:.0f} s) are more than the "
            f"flow's {MAX_FRAMES} ({MAX_FRAMES / 50:.0f} s); give it fewer tokens at once"
        )
