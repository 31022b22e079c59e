"""Voices told apart by our own figures, and by an encoder of speakers.

    python -m benchmarks.likeness FOLDER [--encoder COSYVOICE2 | --encoder MODULE:FUNCTION]

FOLDER has a folder of WAV or FLAC files for each voice, of 2 s or more, and a folder `VOICE+CHANGE`
for takes of a voice that was changed (`bf_emma+blend 30 %`). The encoder is that of a CosyVoice2
checkpoint, or a function from samples and their rate to an embedding. Printed are

- of all takes of voices with three or more, how many are recognised as their own voice's (the
  nearest mean of the others), and the equal error rate of "the same voice" over all pairs;
- of changed takes, how many are found at 1 % false alarms, by the figures of
  `narrator.speech.steadiness`: pitch and timbre, likeness, and either.

Ends with one line of JSON. `seconds` are of processor time for a second of speech.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from narrator.speech import checks
from narrator.speech.steadiness import (
    LIKENESS,
    MIN_SECONDS,
    PITCH,
    TIMBRE,
    UsualVoice,
    VoicedTake,
)
from narrator.speech.voice_figures import to_unit_length

Vectors = NDArray[np.float32]
Encoder = Callable[[NDArray[np.float32], int], Vectors]
FALSE_ALARMS = 0.01
MIN_RECOGNISED_TAKES = 3


def encoder_of(name: str) -> Encoder:
    module, colon, function = name.partition(":")
    if colon:
        encoder: Encoder = getattr(import_module(module), function)
        return encoder
    from cosyvoice2.config import read_config
    from cosyvoice2.reference import Encoders

    return Encoders(Path(name), read_config(Path(name))).speaker_vector


class Clock:
    """Processor time by what it was spent on."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)

    def time(self, name: str, call: Callable[[], object]) -> object:
        start = time.process_time()
        answer = call()
        self.spent[name] += time.process_time() - start
        return answer


def read_take(path: Path, encoder: Encoder | None, clock: Clock) -> VoicedTake | None:
    """Measures a take; None if it is short or has no voice."""
    samples, rate = soundfile.read(path, dtype="float32")
    seconds = len(samples) / rate
    if seconds < MIN_SECONDS:
        return None
    verdict = clock.time("figures", lambda: checks.examine(samples, rate, seconds))
    assert isinstance(verdict, checks.Verdict)
    if not verdict.voice.timbre:
        return None
    clock.spent["speech"] += seconds
    take = VoicedTake.measured(verdict.voice, seconds, verdict.figures.level)
    if encoder is None:
        return take
    embedding = clock.time("encoder", lambda: encoder(samples, rate))
    return replace(take, embedding=to_unit_length(np.asarray(embedding, np.float32)))


def recognised(vectors: Vectors, names: Sequence[str]) -> float:
    """Returns the share of takes that are nearest to the mean of the others of their voice."""
    labels = np.array(names)
    correct = 0
    for place, vector in enumerate(vectors):
        others = np.arange(len(vectors)) != place
        means = {name: vectors[others & (labels == name)].mean(axis=0) for name in set(names)}
        nearest = min(means, key=lambda name: float(np.square(vector - means[name]).sum()))
        correct += nearest == names[place]
    return correct / len(names)


def equal_error_rate(vectors: Vectors, names: Sequence[str]) -> float:
    """Returns the error at the distance where as many pairs of one voice lie beyond it as pairs of
    two voices lie below it."""
    first, second = np.triu_indices(len(vectors), 1)
    distances = np.square(vectors[first] - vectors[second]).sum(axis=1)
    labels = np.array(names)
    is_same = labels[first] == labels[second]
    order = np.argsort(distances)
    false_accepts = np.cumsum(~is_same[order]) / (~is_same).sum()
    false_rejects = 1 - np.cumsum(is_same[order]) / is_same.sum()
    place = int(np.argmin(np.abs(false_accepts - false_rejects)))
    return float(false_accepts[place] + false_rejects[place]) / 2


def heights(usual: UsualVoice, take: VoicedTake) -> tuple[float, float]:
    """Returns how far a take sticks out by pitch and timbre, and by likeness."""
    by_measure = {one.measure: one.height for one in usual.deviations(take)}
    figures = max(by_measure.get(PITCH, 0.0), by_measure[TIMBRE])
    return figures, by_measure.get(LIKENESS, 0.0)


def found_shares(takes: Mapping[str, Sequence[VoicedTake]]) -> dict[str, tuple[int, list[float]]]:
    """Returns for each change how many takes it has, and the shares found by figures, by likeness
    and by either, at `FALSE_ALARMS` over the takes of all voices that have changed ones."""
    plain: list[tuple[float, float]] = []
    changed: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for voice in sorted({name.partition("+")[0] for name in takes if "+" in name}):
        usual = UsualVoice.of(takes.get(voice, ()))
        if usual is None:
            continue
        plain += [heights(usual, take) for take in takes[voice]]
        for name in takes:
            if name.startswith(f"{voice}+"):
                change = name.partition("+")[2]
                changed[change] += [heights(usual, take) for take in takes[name]]
    if not plain:
        return {}
    limits = np.maximum(np.quantile(plain, 1 - FALSE_ALARMS, axis=0), 1e-6)
    joint_limit = np.quantile((np.array(plain) / limits).max(axis=1), 1 - FALSE_ALARMS)
    shares = {}
    for change, rows in changed.items():
        relative = np.array(rows) / limits
        is_found = [*(relative > 1).T, relative.max(axis=1) > joint_limit]
        shares[change] = len(rows), [round(100 * float(each.mean()), 1) for each in is_found]
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", help="a CosyVoice2 checkpoint, or MODULE:FUNCTION")
    options = parser.parse_args()
    encoder, clock = encoder_of(options.encoder) if options.encoder else None, Clock()
    takes: dict[str, list[VoicedTake]] = defaultdict(list)
    for path in sorted(options.folder.glob("*/*")):
        if path.suffix in (".wav", ".flac") and (take := read_take(path, encoder, clock)):
            takes[path.parent.name].append(take)
    pairs = [
        (name, take)
        for name, rows in takes.items()
        if "+" not in name and len(rows) >= MIN_RECOGNISED_TAKES
        for take in rows
    ]
    if not pairs:
        parser.error(f"{options.folder}: no folder has {MIN_RECOGNISED_TAKES} takes of 2 s or more")
    names = [name for name, _ in pairs]
    vectors = {"timbre": np.stack([take.bands for _, take in pairs])}
    if encoder is not None:
        vectors["encoder"] = np.stack(
            [take.embedding for _, take in pairs if take.embedding is not None]
        )
    voices = len(set(names))
    result: dict[str, object] = {"bench": "likeness", "takes": len(pairs), "voices": voices}
    print(f"{len(pairs)} takes of {voices} voices")
    print(f"{'':12}{'recognised':>12}{'equal error':>13}")
    for name, array in vectors.items():
        rates = [round(100 * rate(array, names), 1) for rate in (recognised, equal_error_rate)]
        print(f"{name:12}{rates[0]:>10} %{rates[1]:>11} %")
        result[name] = rates
    found = found_shares(takes)
    if found:
        print(f"\n{'change':32}{'takes':>6}{'figures':>9}{'encoder':>9}{'either':>9}")
    for change, (count, shares) in sorted(found.items()):
        print(f"{change:32}{count:>6}" + "".join(f"{share:>8.0f}%" for share in shares))
    speech = clock.spent.pop("speech")
    result["found"] = found
    result["seconds"] = {name: round(spent / speech, 4) for name, spent in clock.spent.items()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
