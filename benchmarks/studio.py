"""A made book of 20 hours and 15,000 chunks in the studio: times, and the server's memory.

    python -m benchmarks.studio [--chunks 15000] [--chapters 60] [--folder FOLDER]

Its takes are made, not spoken: bursts of noise of the expected length. Times of the page are
measured in a browser (`make pages`): from the key to what is seen or heard. The last line is JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator import files  # noqa: E402
from narrator.pipeline import book_engines, book_plan  # noqa: E402
from narrator.pipeline.book_plan import Selection  # noqa: E402
from narrator.pipeline.manuscript import read_manuscript  # noqa: E402
from narrator.speech.reasons import make_ledger  # noqa: E402
from narrator.speech.store import Record, Store  # noqa: E402
from tests.studio import browsers  # noqa: E402

RATE = 22050
WORDS = (
    "river lamp walked over under the a of and with quiet stone morning she he they said went "
    "window road letter house garden winter slowly once again never always small great old new "
    "harbour ship captain storm night day light dark hand voice door table bread water"
).split()


def sentence(draw: random.Random) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.randint(6, 18))]
    return f"{' '.join(words).capitalize()}."


def write(folder: Path, chapters: int, chunks: int) -> Path:
    """A project of about so many chunks."""
    draw = random.Random(1)
    each = chunks // chapters
    rows = []
    for number in range(1, chapters + 1):
        lines = []
        for place in range(each):
            line_text = " ".join(sentence(draw) for _ in range(2))
            label = ("Ada: ", "Ben: ")[place % 4 - 2] if place % 4 > 1 else ""
            lines.append(f"{label}{line_text}")
        (folder / f"{number:03}.md").write_text("\n\n".join(lines) + "\n")
        rows.append(f"  - {{title: Chapter {number}, file: {number:03}.md}}")
    (folder / "book.yaml").write_text(
        "title: A Long Book\nauthor: Nobody\nlanguage: en-GB\nengine: {name: draft}\n"
        "output: {formats: [m4b]}\nspeakers: {narrator: {}, Ada: {}, Ben: {}}\nchapters:\n"
        + "\n".join(rows)
        + "\n"
    )
    return folder / "book.yaml"


def fill(path: Path) -> dict[str, Any]:
    """Takes for all of it."""
    began = time.perf_counter()
    manuscript = read_manuscript(path)
    reading = time.perf_counter() - began
    began = time.perf_counter()
    engine = book_engines.make_main_engine(manuscript.project)
    book = book_plan.plan(manuscript, engine, Selection())
    planning = time.perf_counter() - began
    store = Store.open(manuscript.project.build / "store", writing=True)
    draw = np.random.default_rng(1)
    noise = draw.normal(0, 0.05, 60 * RATE).astype(np.float32)
    before: dict[str, str] = {}
    for step in book.steps:
        length = round(step.expected * RATE)
        start = int(draw.integers(0, 30 * RATE))
        samples = np.round(noise[start : start + length] * 32768) / np.float32(32768)
        record = Record(
            key=step.key, content="", samples=length, sample_rate=RATE, start=0, stop=length,
            level=-26.0, peak=-12.0, engine=step.engine, text=step.text,
            prompted_by=before.get(step.parent or ""),
        )  # fmt: skip
        before[step.key] = store.put(record, samples.astype(np.float32)).content
    ledger = book_plan.ledger_path(manuscript.project, book.engines)
    files.save_json(ledger, [asdict(entry) for entry in make_ledger(book.steps)])
    return {
        "chunks": len(book.steps),
        "hours": round(sum(step.expected for step in book.steps) / 3600, 2),
        "read_s": round(reading, 2),
        "plan_s": round(planning, 2),
    }


class Browser:
    """Asks as a page does."""

    def __init__(self, link: str) -> None:
        address = link.split("/")[2]
        self.host = address
        self.cookie = ""
        answer = self.ask(link.split(address)[1])[2]
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def ask(self, path: str, **headers: str) -> tuple[float, bytes, http.client.HTTPResponse]:
        began = time.perf_counter()
        wire = http.client.HTTPConnection(self.host, timeout=60)
        wire.request("GET", path, headers={"cookie": self.cookie, **headers})
        answer = wire.getresponse()
        body = answer.read(200_000) if "sound" in path else answer.read()
        took = time.perf_counter() - began
        wire.close()
        return took, body, answer


_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((e) => e.duration)))
  .observe({ type: "longtask" });
"""
_UNTIL = """
([act, isDone]) => new Promise((resolve) => {
  const began = performance.now();
  const done = eval(isDone);
  const look = () => done() ? resolve(performance.now() - began) : requestAnimationFrame(look);
  eval(act)();
  look();
})
"""
"""Seconds of the page's own clock from an action to the frame in which it shows."""


class Page:
    """The page in a browser, timed by itself."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.figures: dict[str, Any] = {}

    def until(self, act: str, is_done: str) -> float:
        """Does something; returns the seconds until what it is to bring about can be seen."""
        milliseconds = self.page.evaluate(_UNTIL, [f"() => {{ {act} }}", f"() => {is_done}"])
        return round(float(milliseconds) / 1000, 3)

    def note(self, name: str, seconds: Sequence[float]) -> None:
        """Notes the fastest and the slowest of several times."""
        self.figures[name] = [min(seconds), max(seconds)]

    def measure(self, chapters: int) -> dict[str, Any]:
        self.page.locator(".chunk").first.wait_for()
        self.page.wait_for_timeout(3000)
        self.page.evaluate("longTasks.length = 0")
        numbers = list(dict.fromkeys([min(2, chapters), (chapters + 1) // 2, chapters, 1]))
        self.note("page_switch_s", [self._open(number) for number in numbers])
        playing = "!document.getElementById('sound').paused && sound.currentTime > 0"
        self.figures["page_first_sound_s"] = self.until("play.click()", playing)
        self.page.evaluate("play.click()")
        times = [self._edit(number) for number in range(5)]
        for index, name in enumerate(("shown", "answered", "planned")):
            self.note(f"page_edit_{name}_s", [seconds[index] for seconds in times])
        tasks = self.page.evaluate("longTasks")
        self.figures["page_long_tasks"] = [len(tasks), round(max(tasks, default=0.0))]
        return self.figures

    def _open(self, number: int) -> float:
        link = f"""document.querySelector('a[href="#{number}"]')"""
        shown = f"""document.querySelector('.chunk[data-chunk^="{number}."]')"""
        return self.until(f"{link}.click()", shown)

    def _edit(self, number: int) -> tuple[float, float, float]:
        """Adds a word to a paragraph; returns the seconds until it is shown, until the server has
        answered, and until the book is planned with it."""
        word = f"edited{number}x{time.time_ns():x}"
        chunk = "document.querySelector('.chunk[data-chunk=\"1.3\"]')"
        self.page.locator('.chunk[data-chunk="1.3"] .words').click()
        self.page.keyboard.press("Space")
        self.page.keyboard.press("e")
        text = self.page.locator("dialog textarea")
        text.fill(f"{text.input_value()} And {word}.")
        with self.page.expect_response("**/api/chapters/1", timeout=120_000):
            self.page.evaluate("performance.mark('saved')")
            seconds = self.until(
                "document.querySelector('dialog form').requestSubmit()",
                f"document.getElementById('prose').innerText.includes('{word}')",
            )
            since = "(performance.now() - performance.getEntriesByName('saved').at(-1).startTime)"
            self.page.wait_for_function(f"{chunk} && !document.querySelector('.chunk.pending')")
            answered = float(self.page.evaluate(since)) / 1000
        planned = float(self.page.evaluate(since)) / 1000
        self.page.wait_for_timeout(1500)
        return seconds, round(answered, 3), round(planned, 3)


def measured_page(known: Browser, chapters: int) -> dict[str, Any]:
    """Times in the page; none without a browser."""
    path = browsers.browser()
    if path is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=browsers.switches())
        context = browser.new_context(viewport={"width": 1400, "height": 900}, bypass_csp=True)
        name, _, value = known.cookie.partition("=")
        address = f"http://{known.host}/"
        context.add_cookies([{"name": name, "value": value, "url": address}])
        page = context.new_page()
        page.add_init_script(_LONG_TASKS)
        page.goto(address)
        figures = Page(page).measure(chapters)
        browser.close()
        return figures


def memory(pid: int) -> dict[str, float]:
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: round(int(rows[name].split()[0]) / 1000, 1) for name in ("VmRSS", "VmHWM")}


def measured(path: Path, chapters: int) -> dict[str, Any]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "narrator", "studio", str(path), "--no-open"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        figures: dict[str, Any] = {"start_s": round(time.perf_counter() - began, 2)}
        page = Browser(link)
        figures["at_start_mb"] = memory(process.pid)
        for name in ("first", "again"):
            took, body, _ = page.ask("/api/book")
            figures[f"book_{name}_s"], figures["book_kb"] = round(took, 3), len(body) // 1000
        times: list[float] = []
        sounds: list[float] = []
        for number in range(1, chapters + 1):
            took, body, _ = page.ask(f"/api/chapters/{number}")
            times.append(took)
            row = json.loads(body)
            took, _, _ = page.ask(row["sound"]["url"], Range="bytes=0-")
            sounds.append(took)
            middle = int(row["seconds"] / 2) * RATE * 2
            took, _, _ = page.ask(row["sound"]["url"], Range=f"bytes={middle}-")
            sounds.append(took)
        figures["chapter_s"] = [round(min(times), 3), round(max(times), 3)]
        figures["chapter_kb"] = len(body) // 1000
        figures["first_sound_s"] = [round(min(sounds), 3), round(max(sounds), 3)]
        took, _, _ = page.ask("/api/peaks/1")
        figures["peaks_s"] = [round(took, 2), round(page.ask("/api/peaks/1")[0], 2)]
        figures |= measured_page(page, chapters)
        figures["at_end_mb"] = memory(process.pid)
        return figures
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=15000)
    parser.add_argument("--chapters", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="Kept, and used again.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        fill_figures: dict[str, Any] = {}
        if not (folder / "book.yaml").exists():
            fill_figures = fill(write(folder, options.chapters, options.chunks))
        report = {**fill_figures, **measured(folder / "book.yaml", options.chapters)}
        for name, figure in report.items():
            print(f"{name:16} {figure}")
        print(json.dumps(report))


if __name__ == "__main__":
    main()
