"""VoxCPM2 as an engine: requests become rows of one batch, rows become takes.

The one module that imports `voxcpm2`, and MLX with it; both are loaded by `start`, and used on the
thread that called it. A row that has finished is decoded beside the steps of those that go on, so
that the model never waits. Which requests share a batch changes no take: everything random or
counted belongs to the row.

Noise is drawn from the request's seed, its text and its attempt (`noise_seed`): equal texts of one
seed draw equal noise, and differ by what they continue. Prompts are taken as they are given: who
makes them ends them on a short pause.

Knows nothing of chapters, chains, checks and what becomes of a take.
"""

from __future__ import annotations

import io
import math
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from narrator import files, keys
from narrator.engines import Outcome, Prompt, Request, Speech, models, quiet
from narrator.engines.growth import Growth, recall, remember
from narrator.engines.mlx_memory import MemoryLimits, device_memory, is_out_of_memory
from narrator.engines.voice import CASTING, Reference, Voice
from narrator.engines.wording import before, closed, description, primary
from narrator.errors import EngineFailure, EngineUnavailable, Problem
from narrator.project.schema import EngineSettings

if TYPE_CHECKING:
    import voxcpm2

SAMPLER = 1
"""Raised when the same request would give other samples with the same weights."""
SLICE = 0.5
"""Seconds that `advance` works before it returns."""
HEAD = 8
"""Patches of a reference that are encoded to see whether latents that came with it are its own."""
ALIKE = 0.05
"""How far such latents may lie apart, as a share of the largest: devices round differently."""
HORIZON = 29.0
"""Seconds of prompt and speech together: the model was trained within about 30."""
LANGUAGES = frozenset(
    "ar da de el en es fi fr he hi id it ja km ko lo "
    "ms my nl no pl pt ru sv sw th tl tr vi zh".split()
)
"""What VoxCPM2 was trained on, as its authors list it."""
ALSO = frozenset("nb nn fil iw in cmn yue wuu nan".split())
"""Other tags of the same, and the Chinese languages that the authors call dialects."""
_T = TypeVar("_T")
Side = Literal["right", "left"]
Latents = NDArray[np.float32]


class VoxCPM2Engine:
    """VoxCPM2 in MLX; cheap until started, and loaded once for all its sessions.

    `root` is what a relative `model` or `lora` folder is looked for under, `cache` the folder of
    encoded references, `memory` the one of what was learnt of this machine (the user's library
    unless set). `remembered` is an identity of before, as read from a file: its weights stand for
    a model that is not here, as long as its `model`, if it has one, is the settings', and its LoRA
    for one that is not here if its `lora_spec` is. Naming the bytes of a model takes seconds the
    first time, and is told.
    """

    name = "voxcpm2"
    continues = True
    uses: Sequence[str] = ("steps", "cfg", "seed", "earliest_stop")

    def __init__(
        self,
        settings: EngineSettings,
        *,
        cache: Path,
        root: Path | None = None,
        memory: Path | None = None,
        remembered: object = MappingProxyType({}),
        tell: Callable[[str], None] = quiet,
    ) -> None:
        self.settings = settings
        self._found = models.find(settings.model, root=root, tell=tell)
        self._found_lora = (
            None if settings.lora is None else models.find_lora(settings.lora, root=root, tell=tell)
        )
        config = _config(self._found.path)
        self._first_generation = (
            bool(config) and str(config.get("architecture", "voxcpm")).lower() == "voxcpm"
        )
        self.clones = not self._first_generation  # 1.x speaks as it likes, and continues
        self.sample_rate = _sample_rate(config, self._first_generation)
        self._cache = cache
        self._memory = (memory or files.library()) / "slots.json"
        # a torn or altered file remembers nothing
        self._remembered = remembered if isinstance(remembered, Mapping) else {}
        self._model: voxcpm2.VoxCPM2 | None = None
        self._encoded: dict[tuple[str, Side], Latents] = {}
        self.beside: Any = None
        """The MLX stream that decodes while the model goes on; None until the model is loaded."""

    # -- what the plan asks

    def identity(self) -> Mapping[str, Any]:
        """Weights, precision, LoRA, and our sampler's version.

        Without the weights it is the remembered one's, else one that no take has.
        """
        found: dict[str, Any] = {
            "name": self.name,
            "sampler": SAMPLER,
            "weights": self._weights(),
            "dtype": self.settings.dtype,
        }
        if self._found_lora is not None:
            found["lora"] = self._lora(self._found_lora)
        return found

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """The reference's sound and transcript, or what it is cast from."""
        if voice.content is not None:
            return {"reference": voice.content}
        recipe = {"casting": CASTING, "description": voice.description, "seed": voice.seed}
        return recipe if voice.description else {**recipe, "speaker": voice.speaker}

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Languages that it does not speak, and references to a model that has none."""
        found = [
            f'VoxCPM2 was not trained on "{tag}"; its languages are {", ".join(sorted(LANGUAGES))}'
            for tag in languages
            if primary(tag) not in LANGUAGES | ALSO
        ]
        if self._first_generation:
            found += [
                f"{self.settings.model} is VoxCPM 1.x, which cannot imitate a reference "
                f'(speaker "{name}"): use VoxCPM2, or a voice without one'
                for name, voice in voices.items()
                if voice.reference is not None
            ]
        return [Problem(None, None, message) for message in found]

    def start(self, tell: Callable[[str], None] = quiet) -> VoxCPM2Session:
        """Load the model, unless it is loaded. Raises EngineUnavailable."""
        return VoxCPM2Session(self, self._load(tell), self._memory, tell)

    # -- voices

    @property
    def encoder_fingerprint(self) -> str:
        """Names what encodes: references encoded by it need not be encoded again.

        Loads the model. Raises EngineUnavailable.
        """
        return self._load(quiet).encoder_fingerprint

    def encoded(self, reference: Reference) -> Mapping[str, Latents]:
        """The latents of a clip to be imitated, by `encoder_fingerprint`.

        There is no chunk here that could be tried again: it raises EngineUnavailable for whatever
        `encode` fails on, and StorageError.
        """
        try:
            return {self.encoder_fingerprint: self.encode(reference)}
        except EngineFailure as error:
            raise EngineUnavailable(str(error)) from error

    def encode(
        self, reference: Reference, side: Side = "right", tell: Callable[[str], None] = quiet
    ) -> Latents:
        """Latents (n, patch, dim) of a clip: padded right to be imitated, left to be continued.

        Encoded once, and kept in the cache's folder; `reference.latents` are the right side's, and
        come from anywhere: those that are not of this sound are told, and not used. Loads the
        model. Raises EngineUnavailable, also out of memory, EngineFailure for a clip that it cannot
        take, StorageError.
        """
        import voxcpm2

        name = (reference.content, side)
        if name in self._encoded:
            return self._encoded[name]
        model = self._load(tell)
        path = self._cache / f"{reference.content}-{model.encoder_fingerprint[:16]}-{side}.npz"
        given = reference.latents.get(model.encoder_fingerprint) if side == "right" else None
        try:
            if given is not None and not _of_sound(model, reference, given):
                tell("a voice was kept with latents that are not of its sound: they are not used")
                given = None
            latents = _read_latents(path, model, reference) if given is None else given
            if latents is None:
                tell("encoding a voice …")
                latents = model.encode(
                    reference.samples, sample_rate=reference.rate, pad=side
                ).astype(np.float32)
                with files.replacing(path) as temporary, temporary.open("wb") as file:
                    np.savez(file, latents=latents)
        except (voxcpm2.VoxCPM2Error, RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                what = f"out of memory while a voice is encoded ({_line(error)}): {_TOO_BIG}"
                raise _OutOfMemory(what) from error
            raise EngineFailure(f"VoxCPM2 cannot read the reference: {_line(error)}") from error
        self._encoded[name] = latents
        return latents

    # -- the model

    def _weights(self) -> str:
        if self._found.path is not None:
            return self._found.weights
        spec = self.settings.model
        same = self._remembered.get("model", spec) == spec
        return self._recalled("weights", spec, same)

    def _lora(self, found: models.Model) -> str:
        if found.path is not None:
            return found.weights
        spec = str(self.settings.lora)
        return self._recalled("lora", spec, self._remembered.get("lora_spec") == spec)

    def _recalled(self, kind: str, spec: str, same: bool) -> str:
        remembered = self._remembered.get(kind) if same else None
        return remembered if isinstance(remembered, str) else f"absent:{spec}"

    def _load(self, tell: Callable[[str], None]) -> voxcpm2.VoxCPM2:
        if self._model is not None:
            return self._model
        for found in (self._found, self._found_lora):
            if found is not None and found.path is None:
                raise EngineUnavailable(_absent(found))
        tell(f"loading VoxCPM2 ({self._found.spec}) …")
        try:
            import mlx.core as mx

            import voxcpm2
        except ImportError as error:
            raise EngineUnavailable(f"MLX does not load here ({error}): {_ON_LINUX}") from error
        dtype: str | None = self.settings.dtype
        if dtype == "auto":
            # Half precision is slower on a CPU; None is the checkpoint's own.
            dtype = "float32" if mx.default_device() == mx.cpu else None
        lora = None if self._found_lora is None else self._found_lora.path
        assert self._found.path is not None
        limit = mx.set_cache_limit(voxcpm2.CACHE_LIMIT)
        try:
            self._model = voxcpm2.load(self._found.path, dtype=dtype, lora=lora)
        except voxcpm2.VoxCPM2Error as error:
            raise EngineUnavailable(f"{self._found.spec}: {error}") from error
        except (RuntimeError, MemoryError) as error:
            what = f"{self._found.spec}: the model does not load: {_line(error)}"
            raise EngineUnavailable(
                f"{what}; {_TOO_BIG}" if is_out_of_memory(error) else what
            ) from error
        finally:
            mx.set_cache_limit(limit)
        self.beside = mx.new_stream(mx.default_device())
        return self._model


class _OutOfMemory(EngineUnavailable):
    """Memory did not hold the encoding of a voice beside what else there was."""


_ON_LINUX = 'on Linux it needs `pip install "mlx[cpu]"`, or "mlx[cuda12]" for an NVIDIA GPU'
_TOO_BIG = (
    "close other programs, use the 8-bit model (`narrator models pull --8bit`), "
    "or make chunks shorter"
)


def _config(path: Path | None) -> Mapping[str, Any]:
    """A checkpoint's config.json; empty without one, or where loading will say what is wrong."""
    return {} if path is None else models.config(path)


def _sample_rate(config: Mapping[str, Any], first_generation: bool) -> int:
    """Hz of what the checkpoint speaks, with its authors' defaults."""
    codec = config.get("audio_vae_config")
    name, default = ("sample_rate", 16_000) if first_generation else ("out_sample_rate", 48_000)
    rate = codec.get(name) if isinstance(codec, dict) else None
    # what no model has is said by loading
    return rate if type(rate) is int and 1000 <= rate <= 768_000 else default


def _absent(model: models.Model) -> str:
    return (
        f"{model.note or f'{model.spec}: no model there'}\n"
        "Fetch it once with `narrator models pull`, name its folder in book.yaml "
        "(engine: {model: …}), or render with --draft"
    )


@dataclass(slots=True, eq=False)
class _RowJob:
    """A request on its way."""

    request: Request
    asked: voxcpm2.Request
    suspect: bool = False
    """It was there when a step failed: it is tried once more, alone."""
    cramped: bool = False
    """Memory did not hold it in the fewest rows: it is tried once more, alone."""

    @property
    def alone(self) -> bool:
        return self.suspect or self.cramped


class VoxCPM2Session:
    """The model's batch: its rows, those that have finished, and how many there should be."""

    def __init__(
        self,
        engine: VoxCPM2Engine,
        model: voxcpm2.VoxCPM2,
        memory: Path,
        tell: Callable[[str], None] = quiet,
    ) -> None:
        self._engine, self._model, self._tell = engine, model, tell
        self._limits = MemoryLimits()
        self._growth = _growth(engine, memory)
        self._fixed = engine.settings.slots != "auto"
        self._memory = memory
        self._batch = model.batch(self._growth.slots)
        self._jobs: dict[voxcpm2.Row, _RowJob] = {}
        self._decoding: list[tuple[_RowJob, voxcpm2.Decoding]] = []
        self._outcomes: list[Outcome] = []
        self._failed: set[str] = set()
        self._closed = False
        self._first: float | None = None
        self._worked = 0.0
        self._trouble = ""
        self.busy = 0.0
        self.note = ""
        self.slots = 0
        self._report()

    def add(self, request: Request) -> None:
        """Take a request on; what is wrong with it comes back as its outcome.

        Raises EngineUnavailable where memory does not hold the encoding of its voice, StorageError.
        """
        import voxcpm2

        if self._first is None:
            self._first = time.monotonic()
        try:
            self._enter(_RowJob(request, self._roomy(request)))
        except voxcpm2.VoxCPM2Error as error:
            self._fail(request, str(error))
        except EngineFailure as error:
            self._outcomes.append(Outcome(request.key, request.attempt, failure=error))

    def advance(self) -> list[Outcome]:
        """Steps of the batch, until a row has finished or half a second has passed.

        Returns with nothing as soon as a slot is free; its row's take follows a step or more later.
        Raises EngineUnavailable where memory does not hold one row, or nothing works.
        """
        until = time.monotonic() + SLICE
        while self._jobs or self._decoding:
            began = time.monotonic()
            try:
                freed = self._work(began)
            except (RuntimeError, ValueError, MemoryError) as error:
                self._recover(error)
                freed = True
            now = time.monotonic()
            self._worked += now - began
            # with slots to spare, a take that was judged meanwhile may have freed what fills them
            spare = len(self._jobs) < self._growth.slots
            if freed or spare or self._outcomes or now >= until:
                break
        outcomes, self._outcomes = self._outcomes, []
        self._report()
        return outcomes

    def close(self) -> None:
        """Drop what is in flight and give memory back; the model stays for the next session."""
        if self._closed:
            return
        self._closed = True
        self._jobs.clear()
        self._decoding.clear()
        self._outcomes.clear()
        self._batch = self._model.batch(1)
        self._model.forget()
        self._limits.restore()
        if not self._fixed:
            remember(self._memory, _machine(self._engine), self._growth)

    # -- the work

    def _work(self, began: float) -> bool:
        """One step, decoding beside it; returns whether a slot became free."""
        for _, decoding in self._decoding:
            decoding.push()
        done = [pair for pair in self._decoding if not pair[1].left or not self._jobs]
        ended: list[voxcpm2.Row] = []
        if self._jobs:
            ended = self._batch.step()
            self._growth.step(self._batch.running + len(ended), time.monotonic() - began)
        for job, decoding in done:
            self._finish(job, decoding)
        for row in ended:
            decoding = self._batch.decoding(row, self._engine.beside)
            job = self._jobs[row]
            self._decoding.append((job, decoding))
            del self._jobs[row]
            if job.alone:
                self._finish(job, decoding)
        self._resize()
        return bool(ended)

    def _finish(self, job: _RowJob, decoding: voxcpm2.Decoding) -> None:
        said = decoding.speech()
        self._decoding.remove((job, decoding))
        self._failed.clear()
        speech = Speech(
            said.samples,
            said.latents,
            stop="cap" if said.stop_reason == "cap" else "stop",
            patches=len(said.latents),
            tokens=said.token_count,
            seed=said.seed,
        )
        self._outcomes.append(Outcome(job.request.key, job.request.attempt, speech=speech))

    def _enter(self, job: _RowJob) -> None:
        self._jobs[self._batch.add(job.asked)] = job

    def _resize(self) -> None:
        alone = any(job.alone for job in self._jobs.values())
        self._batch.slots = 1 if alone else self._growth.slots

    def _report(self) -> None:
        # A row that is being decoded has left its slot.
        self.slots = self._growth.slots + len(self._decoding)
        if self._first is not None:
            self.busy = min(1.0, self._worked / max(1e-9, time.monotonic() - self._first))
        many = "1 slot" if self._growth.slots == 1 else f"{self._growth.slots} slots"
        self.note = self._trouble or (many if self._growth.settled else f"{many} so far")

    # -- when it fails

    def _recover(self, error: Exception) -> None:
        """Put everything in flight back at the start; the same seeds make the same takes.

        Out of memory: fewer slots, and where there is nothing to lower, what ran is tried once
        more, alone. Else it is not known which row is at fault: each is tried alone, and the ones
        that fail again have failed.
        """
        jobs = self._in_flight()
        if is_out_of_memory(error):
            # Rows that were about to join count, too: reading them takes memory.
            rows = max(self._batch.running, min(len(self._jobs), self._batch.slots))
            ran = rows + len(self._decoding)
            if not self._lower(ran):
                if jobs[0].cramped:
                    raise EngineUnavailable(
                        f"out of memory with a single chunk ({_line(error)}): {_TOO_BIG}"
                    ) from error
                for job in jobs[:ran]:
                    job.cramped = True
        elif jobs[0].suspect:
            failed = jobs.pop(0)
            self._fail(failed.request, _line(error))
            self._failed.add(failed.request.key)
            if len(self._failed) >= MOST_FAILED:
                raise EngineUnavailable(
                    f"MLX failed on {MOST_FAILED} chunks one after another, each alone: "
                    f"{_line(error)}; `narrator doctor` looks at this machine"
                ) from error
        else:
            for job in jobs:
                job.suspect = True
        self._restart(jobs)

    def _roomy(self, request: Request) -> voxcpm2.Request:
        """`_asked`; a voice that does not fit beside what runs is encoded alone."""
        try:
            return self._asked(request)
        except _OutOfMemory:
            self._lower(self._batch.running + len(self._decoding))
            self._restart(self._in_flight())
            return self._asked(request)

    def _in_flight(self) -> list[_RowJob]:
        """What runs comes before what waits."""
        return [job for job, _ in self._decoding] + list(self._jobs.values())

    def _lower(self, ran: int) -> bool:
        """Fewer slots, since memory did not hold what ran; False where that was one row, or there
        is one slot."""
        if ran < 2 or self._growth.slots == 1:
            return False
        self._growth.lower(ran)
        self._trouble = f"slots lowered to {self._growth.slots}: out of memory"
        if not self._fixed:
            remember(self._memory, _machine(self._engine), self._growth)
        return True

    def _restart(self, jobs: Sequence[_RowJob]) -> None:
        self._decoding.clear()
        self._jobs.clear()
        self._model.forget()
        self._batch = self._model.batch(self._growth.slots)
        for job in jobs:
            self._enter(job)
        self._resize()

    def _fail(self, request: Request, why: str) -> None:
        text = request.text if len(request.text) <= 60 else request.text[:59] + "…"
        failure = EngineFailure(f"VoxCPM2: {why}: {text!r}")
        self._outcomes.append(Outcome(request.key, request.attempt, failure=failure))

    # -- what the model is asked

    def _asked(self, request: Request) -> voxcpm2.Request:
        """Raises EngineFailure for what a mode lacks, VoxCPM2Error."""
        import voxcpm2

        reference = prompt = None
        if request.mode in ("reference", "anchored"):
            reference = self._engine.encode(_there(request, request.reference), "right", self._tell)
        if request.mode == "anchored":
            prompt = _there(request, request.prompt)
        elif request.mode == "continuation":
            prompt = request.prompt or self._continued(request)
        described = {
            "zero-shot": (request.voice.description, request.style),
            "reference": (request.style,),
        }.get(request.mode, ())
        config, settings = self._model.config, self._engine.settings
        patch = config.patch_size * config.vae.out_hop / config.vae.out_sample_rate
        least, most = lengths(
            request.expected,
            request.parameters.get("earliest_stop", settings.earliest_stop),
            0.0 if prompt is None else len(prompt.latents) * patch,
            patch,
        )
        return voxcpm2.Request(
            closed(request.text, request.language),
            voice=description(described),
            reference=reference,
            prompt=None
            if prompt is None
            else voxcpm2.Prompt(before(prompt.text, request.language), prompt.latents),
            steps=request.parameters.get("steps", settings.steps),
            cfg=request.parameters.get("cfg", settings.cfg),
            seed=noise_seed(request),
            min_len=least,
            max_len=most,
        )

    def _continued(self, request: Request) -> Prompt:
        """The reference clip itself, as the speech that goes on."""
        reference = _there(request, request.reference)
        return Prompt(reference.transcript, self._engine.encode(reference, "left", self._tell))


MOST_FAILED = 3
"""Chunks that may fail alone, none of the others speaking between, before it is the machine."""


def _there(request: Request, given: _T | None) -> _T:
    if given is None:
        raise EngineFailure(f"a request in the mode {request.mode} lacks its reference or prompt")
    return given


def lengths(expected: float, earliest: float, prompt: float, patch: float) -> tuple[int, int]:
    """Patches before which a stop is not heeded, and at most; all given in seconds but `earliest`,
    the share of `expected` that must be spoken.

    What is much too long is cut off, and prompt and speech stay within the model's horizon as far
    as the text can be spoken there.
    """
    longest = min(2.5 * expected + 1.5, max(HORIZON - prompt, 1.25 * expected + 1.5))
    least = max(2, math.floor(earliest * expected / patch))
    return least, max(least + 2, math.ceil(longest / patch))


def noise_seed(request: Request) -> int:
    """What an attempt draws its noise from, 32 bits of its seed, its number and its text.

    Chunks of one manifest seed must not share their noise, or they would share a melody.
    """
    return keys.number(f"{request.seed} {request.attempt} {request.text}") % 2**32


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _fits(model: voxcpm2.VoxCPM2, reference: Reference, latents: Latents) -> bool:
    """Whether latents are as many numbers as the sound has, and numbers."""
    config = model.config
    count = math.ceil(reference.seconds / _patch_seconds(model))
    return (
        latents.dtype == np.float32
        and latents.shape[1:] == (config.patch_size, config.feat_dim)
        and abs(len(latents) - count) <= 1
        and bool(np.isfinite(latents).all())
    )


def _of_sound(model: voxcpm2.VoxCPM2, reference: Reference, latents: Latents) -> bool:
    """Whether latents from elsewhere can be a reference's: they fit, and begin as its own do.

    The encoder hears nothing ahead of a patch, so the first ones need little of the sound.
    """
    import voxcpm2

    if not _fits(model, reference, latents):
        return False
    # one more patch: resampling looks ahead a little
    stop = round((HEAD + 1) * _patch_seconds(model) * reference.rate)
    try:
        head = model.encode(reference.samples[:stop], sample_rate=reference.rate)[:HEAD]
    except voxcpm2.VoxCPM2Error:  # nothing is heard there: it is encoded whole
        return False
    given = latents[: len(head)]
    apart = np.abs(given - head[: len(given)]).max()
    return bool(apart <= ALIKE * np.abs(head).max())


def _patch_seconds(model: voxcpm2.VoxCPM2) -> float:
    """Of sound that the encoder makes one patch of."""
    config = model.config
    return config.patch_size * config.vae.hop / config.vae.sample_rate


def _read_latents(path: Path, model: voxcpm2.VoxCPM2, reference: Reference) -> Latents | None:
    """What was encoded before; None where nothing is, or what is there is damaged."""
    try:
        with zipfile.ZipFile(path) as stored:
            if any(part.compress_type != zipfile.ZIP_STORED for part in stored.infolist()):
                return None  # a flipped bit says so: it was never compressed
            data = stored.read("latents.npy")  # its checksum is tested before it is looked at
        latents = np.load(io.BytesIO(data), allow_pickle=False)
    # RuntimeError: encrypted, or of a version to come
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None
    return latents if _fits(model, reference, latents) else None


def _growth(engine: VoxCPM2Engine, memory: Path) -> Growth:
    import mlx.core as mx

    slots = engine.settings.slots
    if slots != "auto":
        return Growth(slots, True, lambda now, then: True)
    mx.reset_peak_memory()
    model, limit = mx.get_active_memory(), 0.8 * device_memory()

    def fits(now: int, then: int) -> bool:
        return model + (mx.get_peak_memory() - model) * then / now < limit

    return recall(memory, _machine(engine), fits)


def _machine(engine: VoxCPM2Engine) -> str:
    """What a number of slots is the best for."""
    import mlx.core as mx

    identity = engine.identity()
    info = mx.device_info()
    device = info.get("device_name") or info.get("architecture") or "unknown"
    return f"{device}, {mx.default_device().type}, {identity['weights'][:24]}, {identity['dtype']}"
