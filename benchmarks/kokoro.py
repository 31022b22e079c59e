"""Kokoro-82M on processor cores: ours, the export as kokoro-onnx runs it, and the official PyTorch.

    python -m benchmarks.kokoro WEIGHTS [--export FILE ...] [--torch PYTHON] [--rounds 3]

Each is a process of its own and speaks the same phonemes in the same voice, one after another
within every round, so that other work on the machine slows all of them alike. WEIGHTS is the folder
of the checkpoint; --export takes ONNX files with the inputs of the public exports; --torch is a
Python that has the package `kokoro`. Exports and ours have one thread, PyTorch one and two. Two of
ours side by side show what a second core adds.

Prints a table, then one line of JSON. Numbers are medians over all sentences and rounds: seconds of
processor time, and of the clock, for a second of speech; seconds from the process's start until it
can speak; megabytes resident at most, of which our workers share `shared`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = ROOT / "tests" / "kokoro82m" / "sentences.json"
CHOSEN = (0, 2, 4, 16, 29)
"""Sentences of one to seven seconds."""
VOICE = "af_heart"
RATE = 24_000

Speak = Callable[[list[int], list[float]], int]
"""Token ids and style row -> the number of samples."""


# ---- a contender's own process, which needs no package of this repository but for ours


def prepare_ours(weights: str, cache: str) -> Speak:
    import numpy as np

    import kokoro82m
    from kokoro82m.onnx_network import load_onnx

    network = load_onnx(Path(weights), Path(cache))

    def speak(ids: list[int], style: list[float]) -> int:
        return len(network.speak(kokoro82m.Request(ids, np.array(style, np.float32))).samples)

    return speak


def prepare_export(file: str) -> Speak:
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def speak(ids: list[int], style: list[float]) -> int:
        arrays = ([ids], [style], [1.0])
        kinds = (np.int64, np.float32, np.float32)
        inputs = {n: np.array(a, k) for n, a, k in zip(names, arrays, kinds, strict=True)}
        return int(session.run(None, inputs)[0].size)

    return speak


def prepare_torch(weights: str, threads: str) -> Speak:
    import torch
    from kokoro.model import KModel

    torch.set_num_threads(int(threads))
    folder = Path(weights)
    config, file = str(folder / "config.json"), str(folder / "kokoro-v1_0.pth")
    model = KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=file).eval()

    def speak(ids: list[int], style: list[float]) -> int:
        with torch.no_grad():
            samples, _ = model.forward_with_tokens(torch.tensor([ids]), torch.tensor([style]), 1.0)
        return int(samples.numel())

    return speak


PREPARE: dict[str, Callable[..., Speak]] = {
    "ours": prepare_ours, "export": prepare_export, "torch": prepare_torch
}  # fmt: skip


def run_contender(kind: str, arguments: Sequence[str]) -> None:
    """Speak what stdin asks for, and answer with seconds."""
    del sys.path[0]  # where this file would be taken for the package kokoro
    speak = PREPARE[kind](*arguments)
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        wall, processor = time.perf_counter(), time.process_time()
        samples = speak(request["ids"], request["style"])
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        memory = resident()
        print(json.dumps([samples / RATE, processor, wall, *memory]), flush=True)


def resident() -> tuple[float, float]:
    """Megabytes that this process holds, and those of them that are files' and can be shared."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.partition(":")[0]: line.split() for line in lines}
    return int(sizes["VmRSS"][1]) / 1024, int(sizes["RssFile"][1]) / 1024


# ---- the comparison


@dataclass
class Contender:
    """A process that speaks, and its numbers."""

    name: str
    process: subprocess.Popen[str]
    load: float
    rows: list[list[float]] = field(default_factory=list)

    @classmethod
    def start(
        cls, name: str, kind: str, *arguments: str, python: str = sys.executable, threads: int = 1
    ) -> Contender:
        environment = os.environ | {"LOGURU_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
        if kind == "ours":
            environment["PYTHONPATH"] = str(ROOT)
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        began = time.perf_counter()
        process = subprocess.Popen(
            [python, __file__, "--contender", kind, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            if not line:
                raise SystemExit(f"{name} ended before it could speak")
        return cls(name, process, time.perf_counter() - began)

    def ask(self, request: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self) -> list[float]:
        """Seconds of speech, of processor time, of the clock; megabytes, and shared ones."""
        assert self.process.stdout is not None
        row: list[float] = json.loads(self.process.stdout.readline())
        return row

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "load_s": round(self.load, 2),
            "processor_s": round(statistics.median(row[1] / row[0] for row in self.rows), 3),
            "wall_s": round(statistics.median(row[2] / row[0] for row in self.rows), 3),
            "resident_mb": round(max(row[3] for row in self.rows)),
            "shared_mb": round(max(row[4] for row in self.rows)),
        }


def read_requests(weights: Path) -> list[dict[str, Any]]:
    import kokoro82m

    voice = kokoro82m.load_voice(weights, VOICE)
    sentences = json.loads(SENTENCES.read_text("utf-8"))
    return [
        {
            "ids": kokoro82m.tokenize(sentences[n]["phonemes"]),
            "style": kokoro82m.style_row(voice, sentences[n]["phonemes"]).tolist(),
        }
        for n in CHOSEN
    ]


def start_contenders(options: argparse.Namespace, cache: str) -> list[Contender]:
    weights = str(options.weights)
    contenders = [Contender.start("ours", "ours", weights, cache)]
    for file in options.export:
        contenders.append(Contender.start(f"onnxruntime, {file.name}", "export", str(file)))
    if options.torch:
        for threads in (1, 2):
            name = f"PyTorch, {threads} thread{'s' * (threads > 1)}"
            arguments = ("torch", weights, str(threads))
            contenders.append(
                Contender.start(name, *arguments, python=options.torch, threads=threads)
            )
    return contenders


def compare(
    contenders: Sequence[Contender], requests: Sequence[dict[str, Any]], rounds: int
) -> None:
    """In turns; what each says first is not counted."""
    for number in range(rounds + 1):
        for request in requests[: len(requests) if number else 1]:
            for contender in contenders:
                contender.ask(request)
                row = contender.answer()
                if number:
                    contender.rows.append(row)


def side_by_side(
    workers: Sequence[Contender], requests: Sequence[dict[str, Any]], rounds: int
) -> float:
    """How much more speech two workers give in the same time than one."""
    ratios = []
    for _ in range(rounds):
        for request in requests:
            began = time.perf_counter()
            workers[0].ask(request)
            workers[0].answer()
            alone = time.perf_counter() - began
            began = time.perf_counter()
            for worker in workers:
                worker.ask(request)
            for worker in workers:
                worker.answer()
            ratios.append(len(workers) * alone / (time.perf_counter() - began))
    return statistics.median(ratios)


def main() -> None:
    if sys.argv[1:2] == ["--contender"]:
        run_contender(sys.argv[2], sys.argv[3:])
        return
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("weights", type=Path, help="the folder of the checkpoint")
    parser.add_argument("--export", type=Path, nargs="+", default=[], help="public ONNX files")
    parser.add_argument("--torch", help="a Python that has the package kokoro")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    requests = read_requests(options.weights)
    with tempfile.TemporaryDirectory() as cache:
        Contender.start("ours", "ours", str(options.weights), cache).end()  # makes the graphs
        contenders = start_contenders(options, cache)
        compare(contenders, requests, options.rounds)
        for contender in contenders[1:]:
            contender.end()
        second = Contender.start("ours", "ours", str(options.weights), cache)
        ratio = side_by_side([contenders[0], second], requests, options.rounds)
        for contender in (contenders[0], second):
            contender.end()
    rows = [contender.summary() for contender in contenders]
    print(f"{'':<32} {'load s':>7} {'cpu s/s':>8} {'wall s/s':>9} {'MB':>6} {'shared':>7}")
    for row in rows:
        print(
            f"{row['name']:<32} {row['load_s']:7.2f} {row['processor_s']:8.3f} "
            f"{row['wall_s']:9.3f} {row['resident_mb']:6} {row['shared_mb']:7}"
        )
    print(f"two of ours side by side: {ratio:.2f} times the speech of one")
    speech = round(sum(row[0] for row in contenders[0].rows) / options.rounds, 1)
    print(json.dumps({
        "bench": "kokoro", "cores": os.cpu_count(), "speech_s": speech, "rounds": options.rounds,
        "rows": rows, "two_workers": round(ratio, 2),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
