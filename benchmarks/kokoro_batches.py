"""Kokoro-82M in MLX: seconds of speech a second by requests at a time, in each decoder's dtype.

    python -m benchmarks.kokoro_batches WEIGHTS [--batches 1 8 32] [--dtypes float32 bfloat16]

WEIGHTS is the folder of the checkpoint. The sentences of `tests/kokoro82m/sentences.json` are
spoken in turn until a batch is full; the first run of a batch, which compiles, is told apart. Peak
memory is MLX's own count, weights included. The last line is JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import kokoro82m

# isort: split
import mlx.core as mx

from benchmarks.kokoro import RATE, SENTENCES, VOICE


def measure(model: kokoro82m.Kokoro82M, requests: list[kokoro82m.Request], rounds: int) -> dict:
    """Times whole batches, as fast as the fastest of some rounds."""
    mx.clear_cache()
    mx.reset_peak_memory()
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        speech = model.speak(requests)
        times.append(time.perf_counter() - began)
    spoken_s = sum(len(each.samples) for each in speech) / RATE
    return {
        "requests": len(requests),
        "speech_s": round(spoken_s, 1),
        "first_s": round(times[0], 2),
        "seconds": round(min(times[1:]), 4),
        "speech_a_second": round(spoken_s / min(times[1:]), 1),
        "peak_mb": round(mx.get_peak_memory() / 1e6),
    }


def read_requests(weights: Path, count: int) -> list[kokoro82m.Request]:
    voice = kokoro82m.load_voice(weights, VOICE)
    phonemes = [each["phonemes"] for each in json.loads(SENTENCES.read_text("utf-8"))]
    return [
        kokoro82m.Request(kokoro82m.tokenize(text), kokoro82m.style_row(voice, text), seed=seed)
        for seed, text in enumerate(itertools.islice(itertools.cycle(phonemes), count))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("weights", type=Path, help="the folder of the checkpoint")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    print(f"{'':10} {'requests':>8} {'speech s':>8} {'first s':>8} {'s':>8} {'x':>7} {'MB':>7}")
    for dtype in options.dtypes:
        model = kokoro82m.load(options.weights, dtype)
        for count in options.batches:
            row = measure(model, read_requests(options.weights, count), options.rounds)
            rows.append({"dtype": dtype, **row})
            print(
                f"{dtype:10} {row['requests']:8} {row['speech_s']:8.1f} {row['first_s']:8.2f} "
                f"{row['seconds']:8.3f} {row['speech_a_second']:7.1f} {row['peak_mb']:7}"
            )
    print(json.dumps({"bench": "kokoro_batches", "device": str(mx.default_device()), "rows": rows}))


if __name__ == "__main__":
    main()
