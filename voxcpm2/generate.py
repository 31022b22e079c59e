"""The loop over rows: which rows run, their noise, when they stop, and their speech.

A `Batch` holds up to `slots` rows. Each step feeds the running rows, admits waiting rows, makes one
patch for every row, and removes the rows that have finished. Random numbers and counters belong to
the row, so that other rows of the batch change no more than the last bits: the number of rows and
their padding determine kernels and the order of their sums. On a GPU in half precision a changed
rounding can alter everything after it; in batches of the same shape, the same request gives the
same speech. Knows no layers.
"""

from __future__ import annotations

import math
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, Protocol

import mlx.core as mx
import numpy as np

from speechbase.device import settle
from speechbase.errors import RequestError
from speechbase.functions import normal
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.cfm import Plan
from voxcpm2.config import Config
from voxcpm2.model import Network, Prefix, State
from voxcpm2.prompt import (
    Continuation,
    Prompt,
    Reference,
    build_segments,
    build_tokens,
    spoken_text,
)
from voxcpm2.rehearsal import Rehearsals
from voxcpm2.speech import Speech, StopReason

# As upstream, a text gets at most MAX_PATCHES, and PATCHES_PER_TOKEN per token plus EXTRA_PATCHES;
# an attempt that reaches PATCHES_PER_TOKEN per token is too long for its text.
MAX_PATCHES, PATCHES_PER_TOKEN, EXTRA_PATCHES = 4096, 6, 10
MAX_NUMBER = 1000
"""Limit of guidance and temperature, far above sensible values and far below overflow."""

Noise = Callable[[int, tuple[int, int]], np.ndarray]


class Cancel(Protocol):
    """The interface of `cancel`, which threading.Event has."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request to speak one row.

    voice       description of a voice or style; not together with a prompt
    reference   latents of a voice to imitate, from `encode(pad="right")`
    prompt      speech to continue
    steps, cfg  solver steps and guidance
    seed        0 to 2**32 - 1; drawn by default; attempt a uses seed + a
    min_len     a stop counts only after more than min_len + 1 patches, as upstream
    max_len     most patches; tokens * 6 + 10 and the model's length are limits too
    retries     further attempts after one that is too long for its text
    temperature scale of the noise
    noise       (step, shape) -> array in place of the normal draw, shape (latent_dim, patch_size)
    cancel      polled every step
    """

    text: str
    _: KW_ONLY
    voice: str | None = None
    reference: np.ndarray | None = None
    prompt: Prompt | None = None
    steps: int = 10
    cfg: float = 2.0
    seed: int | None = None
    min_len: int = 2
    max_len: int | None = None
    retries: int = 0
    temperature: float = 1.0
    noise: Noise | None = None
    cancel: Cancel | None = None


class Row:
    """A request and its patches so far. `Batch.add` returns it to identify the result."""

    def __init__(
        self, request: Request, config: Config, tokenize: Callable[[str], list[int]]
    ) -> None:
        """Checks everything that can be checked before work begins. Raises RequestError."""
        _check_numbers(request)
        shape = (config.patch_size, config.feat_dim)
        reference, prompt = _checked_reference(request, config), _checked_prompt(request, shape)
        target = spoken_text(request.text, request.voice)
        self.token_count = len(tokenize(target))
        if self.token_count == 0:
            raise RequestError(f"text {target!r} has no tokens; give at least one word to speak")

        self.request = request
        self.text = spoken_text(request.text, None)
        parts = build_segments(target, reference, prompt, tokenize)
        # A reference comes first, so its keys and values can be computed once for all rows.
        self.reference = reference
        self.tokens = build_tokens(parts[1:] if isinstance(parts[0], Reference) else parts, shape)
        length = len(build_tokens(parts, shape))
        if self.tokens.ids.max() >= config.vocab_size:
            # A spelling of tokenizer_config.json that the embedding has no row for.
            raise RequestError(f"text {target!r} holds a marker that this model has no token for")
        max_patches = min(
            self.token_count * PATCHES_PER_TOKEN + EXTRA_PATCHES, request.max_len or MAX_PATCHES
        )
        free_positions = config.max_length - length
        if free_positions < min(max_patches, request.min_len + 2):
            raise RequestError(
                f"text, prompt and reference take {length} positions, the model has "
                f"{config.max_length}; split the text"
            )
        self.cap = min(max_patches, free_positions)
        self.context = np.zeros((0, *shape), np.float32)
        if isinstance(parts[-1], Continuation):
            # The patches before the new ones, including a reference's if the prompt is short.
            self.context = build_tokens(parts, shape).latents[-config.context_patches :]
        self.seed = secrets.randbits(32) if request.seed is None else int(request.seed)
        self.attempt = 0
        self.patches: list[mx.array] = []
        self.stop_reason: StopReason | None = None

    @property
    def is_cancelled(self) -> bool:
        return self.request.cancel is not None and self.request.cancel.is_set()

    @property
    def attempt_seed(self) -> int:
        return (self.seed + self.attempt) % 2**32

    def draw(self, shape: tuple[int, int]) -> mx.array:
        """Draws the noise of the next patch, (latent_dim, patch_size) float32."""
        step = len(self.patches)
        if self.request.noise is None:
            # Seed and step are the two words of the generator's key.
            noise = normal(shape)(mx.random.key(self.attempt_seed << 32 | step))
        else:
            noise = mx.array(np.asarray(self.request.noise(step, shape), np.float32))
            if noise.shape != shape:
                raise RequestError(f"noise of step {step} has shape {noise.shape}, not {shape}")
            if not mx.isfinite(noise).all().item():
                raise RequestError(f"noise of step {step} has values that are not finite")
        return noise if self.request.temperature == 1 else noise * self.request.temperature

    def add_patch(self, patch: mx.array, is_stop: bool) -> None:
        """Adds a patch, and sets the stop reason if it is the last."""
        self.patches.append(patch)
        if is_stop and len(self.patches) - 1 > self.request.min_len:
            self.stop_reason = "stop"
        elif len(self.patches) >= self.cap:
            self.stop_reason = "cap"

    def to_speech(self, latents: np.ndarray, samples: np.ndarray) -> Speech:
        """Returns the row's speech with the latents and samples of its patches."""
        assert self.stop_reason is not None
        return Speech(
            text=self.text,
            samples=samples,
            latents=latents,
            stop_reason=self.stop_reason,
            token_count=self.token_count,
            seed=self.attempt_seed,
            attempts=self.attempt + 1,
        )

    def retry(self) -> bool:
        """Restarts the row if its speech is too long for its text and a retry is left.

        Returns True if it restarts.
        """
        is_too_long = len(self.patches) >= self.token_count * PATCHES_PER_TOKEN
        if (
            not is_too_long
            or self.stop_reason == "cancelled"
            or self.attempt == self.request.retries
        ):
            return False
        self.attempt += 1
        self.patches, self.stop_reason = [], None
        return True


class Prefixes:
    """A cache of keys and values of the references used last."""

    MAX_CACHED = 8

    def __init__(self, network: Network) -> None:
        self._network = network
        self._cached: OrderedDict[bytes, Prefix] = OrderedDict()

    def get(self, reference: np.ndarray) -> Prefix:
        """Returns the prefix of latents (n, patch_size, latent_dim), computed if not cached."""
        key = reference.tobytes()
        if key not in self._cached:
            tokens = build_tokens([Reference(reference)], reference.shape[1:])
            state = self._network.prefill([tokens], [None])
            self._cached[key] = Prefix(state.base.snapshot(), state.residual.snapshot())
            if len(self._cached) > self.MAX_CACHED:
                self._cached.popitem(last=False)
        self._cached.move_to_end(key)
        return self._cached[key]


class Batch:
    """Rows that are spoken at once. `len` counts running and waiting rows."""

    def __init__(
        self,
        network: Network,
        vae: AudioVAE,
        tokenize: Callable[[str], list[int]],
        prefixes: Prefixes,
        *,
        slots: int,
    ) -> None:
        if not isinstance(slots, int) or slots < 1:
            raise RequestError(f"slots is {slots!r}; a batch needs a whole number from 1")
        self.slots = slots
        self.vae = vae
        self._network, self._tokenize = network, tokenize
        self._prefixes = prefixes
        self._waiting: deque[Row] = deque()
        self._running: list[Row] = []  # in the order of the arrays below
        self._state: State | None = None
        self._patch: mx.array | None = None  # of the previous step, not yet fed
        self._plan: Plan | None = None  # None after rows came or went
        self._rehearsals = Rehearsals(network)
        self.steps = 0  # completed steps

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    @property
    def running(self) -> int:
        """Number of rows that have a slot. `slots` may be set at any time: running rows go on."""
        return len(self._running)

    def add(self, request: Request) -> Row:
        """Queues a request; it runs as soon as a slot is free. Raises RequestError."""
        if not isinstance(request, Request):
            raise RequestError(f"a batch takes a Request, not {type(request).__name__}")
        row = Row(request, self._network.config, self._tokenize)
        self._waiting.append(row)
        return row

    def advance(self) -> list[tuple[Row, Speech]]:
        """Makes one step of all rows; returns the rows that finished, with their speech."""
        return [(row, self._decode_speech(row)) for row in self.step()]

    def decoding(self, row: Row, stream: Any = None) -> Decoding:
        """Returns the decoding of a row that `step` returned, to run on an MLX stream."""
        return Decoding(self, row, stream)

    def step(self) -> list[Row]:
        """Makes one step of all rows; returns the rows that finished, not decoded."""
        ended = self._drop_cancelled()
        config = self._network.config
        shape = (config.feat_dim, config.patch_size)
        # A caller's noise may raise: it is drawn before anything changes, so the batch stays valid.
        noise = [row.draw(shape) for row in self._running]
        if self._state is not None and self._patch is not None:
            self._network.feed(self._state, self._patch)
            self._patch = None
        noise += [row.draw(shape) for row in self._admit()]
        if self._state is None:
            return ended
        if self._plan is None:
            rows = [(row.request.steps, row.request.cfg) for row in self._running]
            self._plan = self._network.feat_decoder.plan(rows)
        # The stop flags are known before the last patch is computed. They are evaluated separately
        # and read while the solver runs, so that the one read per step costs no idle time. The
        # solver's graph is built first, while a GPU still works on the step before: evaluation
        # waits for the queue, and a graph built afterwards would keep the GPU idle.
        stops = self._network.stops(self._state)
        self._patch = self._network.sample(self._state, mx.stack(noise), self._plan)
        mx.async_eval(stops)
        mx.async_eval(self._patch)
        self._rehearsals.trace_next(self.slots, max(row.request.steps for row in self._running))
        flags: Any = stops.tolist()
        for row, patch, stop in zip(self._running, self._patch, flags, strict=True):
            row.add_patch(patch, stop)
        stopped = [row for row in self._running if row.stop_reason is not None]
        self._keep_running([row for row in self._running if row.stop_reason is None])
        for row in stopped:
            if row.retry():
                self._waiting.appendleft(row)
            else:
                ended.append(row)
        self.steps += 1
        return ended

    def _drop_cancelled(self) -> list[Row]:
        """Removes and returns the rows that are cancelled."""
        cancelled = [row for row in (*self._running, *self._waiting) if row.is_cancelled]
        for row in cancelled:
            row.stop_reason = "cancelled"
        self._waiting = deque(row for row in self._waiting if row.stop_reason is None)
        self._keep_running([row for row in self._running if row.stop_reason is None])
        return cancelled

    def _keep_running(self, rows: list[Row]) -> None:
        """Keeps these of the running rows, and their part of the state."""
        if len(rows) == len(self._running):
            return
        self._plan = None
        if not rows or self._state is None:
            self._state = self._patch = None
        else:
            indices = [self._running.index(row) for row in rows]
            self._state.filter(indices)
            if self._patch is not None:
                self._patch = self._patch[mx.array(indices)]
        self._running = rows

    def _admit(self) -> list[Row]:
        """Prefills waiting rows into the free slots; returns these rows."""
        new_rows = list(islice(self._waiting, max(0, self.slots - len(self._running))))
        if not new_rows:
            return []
        prefixes = [
            None if row.reference is None else self._prefixes.get(row.reference) for row in new_rows
        ]
        state = self._network.prefill([row.tokens for row in new_rows], prefixes)
        if self._state is None:
            self._state = state
        else:
            self._state.extend(state)
        for _ in new_rows:
            self._waiting.popleft()
        self._running = self._running + new_rows
        self._plan = None
        return new_rows

    def _decode_speech(self, row: Row) -> Speech:
        shape = (0, self._network.config.patch_size, self._network.config.feat_dim)
        latents = np.array(mx.stack(row.patches)) if row.patches else np.zeros(shape, np.float32)
        row.patches = []  # callers may keep the row
        samples = decode(self.vae, latents, row.context)
        return row.to_speech(latents, samples)


class Decoding:
    """Decodes a finished row to samples, window by window.

    Windows are started, not awaited: on a stream of its own, a window runs during the batch's next
    step, and one window per step bounds the memory. `DECODINGS` of these should run at once;
    windows are as large as free memory allows (`AudioVAE.frames`). The samples equal those of
    `Batch.advance`, but for the last bits.
    """

    def __init__(self, batch: Batch, row: Row, stream: Any = None) -> None:
        vae = batch.vae
        self._main_stream = mx.default_stream(mx.default_device())
        self._stream = self._main_stream if stream is None else stream
        self._batch, self._last_step = batch, batch.steps
        self._row = row
        shape = row.context.shape[1:]
        self._context_samples = len(row.context) * shape[0] * vae.config.out_hop
        self._decoder = vae.stream()
        self._windows: list[mx.array] = []
        with mx.stream(self._stream):
            self._latents = mx.stack(row.patches) if row.patches else mx.zeros((0, *shape))
            patches = mx.concatenate([mx.array(row.context), self._latents])
            self._frames = patches.reshape(1, -1, shape[1])
        if not row.patches:
            self._frames = self._frames[:, :0]
        row.patches = []  # callers may keep the row

    @property
    def is_pending(self) -> bool:
        """True while there are windows to start."""
        return self._frames.shape[1] > 0

    def push(self) -> None:
        """Starts the next window, if there is one."""
        if not self.is_pending:
            return
        frames = self._batch.vae.frames()
        with mx.stream(self._stream):
            self._windows.append(self._decoder.push(self._frames[:, :frames]))
            self._frames = self._frames[:, frames:]
        mx.async_eval(self._windows[-1], self._latents, *self._decoder.tails.arrays)

    def speech(self) -> Speech:
        """Starts and awaits the remaining windows; returns the row's speech.

        Raises RuntimeError if a GPU failed to compute the patches or the windows.
        """
        while self.is_pending:
            self.push()
        settle(self._stream)
        # The step after the row's last one waits for its patches, and the next step reports their
        # failures; after both there is nothing to wait for.
        if self._batch.steps < self._last_step + 2:
            settle(self._main_stream)
        parts = [np.array(part)[0] for part in self._windows]
        samples = (
            np.concatenate(parts)[self._context_samples :] if parts else np.zeros(0, np.float32)
        )
        return self._row.to_speech(np.array(self._latents), samples)


def stream(batch: Batch, row: Row) -> Iterator[np.ndarray]:
    """Yields the samples of each patch as it is made. `row` must be alone in `batch`.

    The decoder first decodes the patches before the new ones, so that a continuation starts without
    a seam; upstream's stream starts from silence.
    """
    decoder = batch.vae.stream()
    if len(row.context):
        decoder.push(_frames(row.context))
    decoded_count = 0
    while row.stop_reason is None:
        batch.step()
        for patch in row.patches[decoded_count:]:
            samples = np.array(decoder.push(patch[None]))[0]
            settle()
            yield samples
        decoded_count = len(row.patches)


def decode(
    vae: AudioVAE, latents: np.ndarray, context: np.ndarray, sample_rate: int | None = None
) -> np.ndarray:
    """Decodes `latents` (n, patch_size, latent_dim) that follow `context` to samples."""
    if not len(latents):
        return np.zeros(0, np.float32)
    frames = np.concatenate([context, latents])
    samples = np.array(vae.decode(_frames(frames), sample_rate))[0]
    settle()
    return samples[len(context) * latents.shape[1] * vae.config.out_hop :]


def _frames(patches: np.ndarray) -> mx.array:
    """(n, patch_size, latent_dim) -> (1, n * patch_size, latent_dim)."""
    return mx.array(patches.reshape(1, -1, patches.shape[-1]))


def checked_latents(name: str, array_like: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Returns `array_like` as finite float32 (n, *shape), n > 0. Raises RequestError."""
    try:
        latents = np.asarray(array_like, np.float32)
    except (TypeError, ValueError):
        raise RequestError(
            f"{name} must be latents, as `encode` returns them, not {type(array_like).__name__}"
        ) from None
    if latents.ndim != 3 or latents.shape[1:] != shape or not len(latents):
        raise RequestError(
            f"{name} has shape {latents.shape}; latents of this model are (n, {shape[0]}, "
            f"{shape[1]}) with n > 0, as `encode` returns them"
        )
    if not np.isfinite(latents).all():
        raise RequestError(f"{name} has values that are not finite")
    return latents


def _checked_reference(request: Request, config: Config) -> np.ndarray | None:
    """Returns the reference's latents. Raises RequestError."""
    if request.reference is None:
        return None
    if config.first_generation:
        raise RequestError(
            "this checkpoint is VoxCPM 1.x, which knows no reference; give a prompt, or use VoxCPM2"
        )
    return checked_latents("reference", request.reference, (config.patch_size, config.feat_dim))


def _checked_prompt(request: Request, shape: tuple[int, int]) -> Prompt | None:
    """Returns the prompt with its latents as an array. Raises RequestError."""
    prompt = request.prompt
    if prompt is None:
        return None
    if request.voice is not None:
        raise RequestError(
            "voice and prompt exclude each other: in a continuation the description would be read "
            "aloud"
        )
    if not isinstance(prompt, Prompt):
        raise RequestError(f"prompt must be a Prompt, not {type(prompt).__name__}")
    if not isinstance(prompt.text, str) or not prompt.text.strip():
        raise RequestError("the prompt has no text; give its exact transcript")
    return Prompt(prompt.text, checked_latents("prompt", prompt.latents, shape))


def _check_numbers(request: Request) -> None:
    """Raises RequestError for a number out of its range, and for a noise or cancel of no use."""

    def check_whole(name: str, number: Any, minimum: int, maximum: float = math.inf) -> None:
        is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_whole or not minimum <= number <= maximum:
            span = f"from {minimum}" if maximum == math.inf else f"from {minimum} to {maximum}"
            raise RequestError(f"{name} is {number!r}; it must be a whole number {span}")

    if request.noise is not None and not callable(request.noise):
        raise RequestError("noise must be a function of (step, shape)")
    if request.cancel is not None and not hasattr(request.cancel, "is_set"):
        raise RequestError("cancel must have is_set(), as threading.Event has")
    check_whole("steps", request.steps, 1)
    check_whole("min_len", request.min_len, 0)
    check_whole("retries", request.retries, 0)
    if request.max_len is not None:
        check_whole("max_len", request.max_len, 1)
    if request.seed is not None:
        check_whole("seed", request.seed, 0, 2**32 - 1)
    for name, value in (("cfg", request.cfg), ("temperature", request.temperature)):
        if (
            not isinstance(value, int | float | np.floating)
            or not math.isfinite(value)
            or not 0 <= value <= MAX_NUMBER
        ):
            raise RequestError(f"{name} is {value!r}; it must be a number from 0 to {MAX_NUMBER}")
