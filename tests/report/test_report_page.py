"""The page in a browser: at a desk and on a phone, by day and by night; and its command."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from importlib import resources
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from narrator import cli, report
from tests import books
from tests.fakes import HumEngine
from tests.report.test_report import rendered

image = pytest.importorskip("matplotlib.image", reason="the extra `report` is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TALL = 6000


# -- colours ---------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def themes() -> dict[str, dict[str, str]]:
    style = resources.files("narrator.report").joinpath("style.css").read_text("utf-8")
    sets = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    return {"light": sets[0], "dark": sets[1]}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [*product(["ink", "muted", "accent", "warn"], ["paper", "card"]), ("accent", "soft"),
     ("warn", "blush")],
)  # fmt: skip
def test_text_stands_out_from_its_ground(theme, text, ground):
    colours = themes()[theme]
    dark, light = sorted(luminance(colours[name]) for name in (text, ground))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


# -- a browser -------------------------------------------------------------------------------------

PROBE = """<script>addEventListener("load", () => {
  const boxes = [...document.querySelectorAll("figure svg")]
    .map((svg) => svg.getBoundingClientRect()).filter((box) => box.width)
    .map((box) => [box.left, box.top, box.right, box.bottom]);
  const wide = [...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll"))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML);
  parent.postMessage({ boxes, width: innerWidth, scroll: document.documentElement.scrollWidth,
    high: document.documentElement.scrollHeight, wide: wide.slice(0, 3) }, "*");
});</script>"""
FRAME = """<!doctype html><body style="margin:0"><pre id="told" style="display:none"></pre>
<script>addEventListener("message", (event) => {{
  document.getElementById("told").textContent = JSON.stringify(event.data);
}});</script>
<iframe src="page.html" style="border:0;display:block;width:{width}px;height:{height}px"></iframe>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """A page with pictures of every kind, its spectrogram open, and a script that measures it."""
    folder = tmp_path_factory.mktemp("page")
    book = rendered(folder)
    path = folder / "page.html"
    report.write(book, path, spectrograms=[0], on_progress=lambda what, share: None)
    text = path.read_text("utf-8").replace("<details>", "<details open>")
    path.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    return path


def browsed(page: Path, width: int, dark: bool) -> tuple[dict[str, list], np.ndarray]:
    """Returns the measurements of a page in a frame so wide, and its picture (height, width, 3)."""
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.format(width=width, height=TALL), encoding="utf-8")
    shot = page.with_name(f"{width}-{'dark' if dark else 'light'}.png")
    profile = page.with_name(f"profile-{shot.stem}")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--virtual-time-budget=4000", f"--window-size={max(width, 600)},{TALL}",
            f"--screenshot={shot}", "--dump-dom", frame.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = re.search(r'<pre id="told"[^>]*>(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stdout[-2000:]
    return json.loads(html.unescape(told[1])), image.imread(shot)[:, :width, :3]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian's package chromium)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [375, 390, 1280])
def test_the_page_fits_and_its_pictures_have_ink(page, width, dark):
    told, seen = browsed(page, width, dark)
    assert told["width"] == width
    assert told["scroll"] <= width, told["wide"]
    assert not told["wide"]
    assert told["high"] <= TALL
    ground = seen[5, 5]
    assert (ground.max() < 0.2) if dark else (ground.min() > 0.9)
    assert len(told["boxes"]) == 4  # pace, pauses, chapter, spectrogram
    for (left, top, right, bottom), share in zip(told["boxes"], (0.1, 0.1, 0.8, 0.8), strict=True):
        picture = seen[int(top) : int(bottom), int(left) : int(right)]
        assert picture.shape[1] > 0.75 * min(width, 992)
        drawn = np.abs(picture - picture[2, 2]).max(axis=2) > 0.15
        assert 0.005 < drawn.mean() < 0.95
        assert drawn.any(axis=0).mean() > share


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def narrator(monkeypatch, capsys):
    from narrator.cli import report as command

    assert command.report

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["narrator", *map(str, arguments)])
        monkeypatch.setattr(
            "narrator.pipeline.book_engines.make_main_engine", lambda *_: HumEngine()
        )
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run


@pytest.fixture(scope="module")
def delivered(tmp_path_factory) -> Path:
    path = books.brief(tmp_path_factory.mktemp("delivered"))
    books.run(path, HumEngine())
    return path.parent


@pytest.fixture
def book(delivered, tmp_path) -> Path:
    """A book that is finished."""
    return shutil.copytree(delivered, tmp_path / "book") / "book.yaml"


def test_the_command_writes_a_page_and_says_where(narrator, book):
    code, said, errors = narrator("report", book, "--chapter", "2")
    assert (code, errors) == (0, "")
    assert "report.html" in said
    text = (book.parent / "build" / "report.html").read_text("utf-8")
    assert "Spectrogram of chapter 2" in text
    assert "Spectrogram of chapter 1" not in text


@pytest.mark.slow
def test_a_page_lies_where_it_is_asked_to_and_links_from_there(narrator, book, tmp_path):
    out = tmp_path / "elsewhere" / "page.html"
    code, _, _ = narrator("report", book, "--out", out)
    assert code == 0
    assert 'href="../book/build/book/' in out.read_text("utf-8")
    assert narrator("report", book, "--out", out)[0] == 0  # a page replaces a page


def test_a_page_replaces_no_file_that_is_none(narrator, book, tmp_path):
    text = (book.parent / "text" / "one.md").read_bytes()
    code, _, errors = narrator("report", book, "--out", book.parent / "text" / "one.md")
    assert code == 2
    assert "one.md is there and is not a report: name another file, or remove it" in errors
    assert (book.parent / "text" / "one.md").read_bytes() == text


def test_an_incomplete_book_has_a_page_that_says_so(narrator, tmp_path):
    code, said, errors = narrator("report", books.brief(tmp_path))
    assert code == 0
    assert "report.html" in said
    assert "missing" in errors


def test_a_page_says_which_engine_speaks_whom(tmp_path):
    path, own = books.brief(tmp_path), {"ann": HumEngine("drone", version=2)}
    book, out = books.plan(path, HumEngine(), own), tmp_path / "page.html"
    report.write(book, out, on_progress=lambda what, share: None)
    said = re.sub(r"<[^>]*>", " ", out.read_text("utf-8"))
    said = " ".join(said.split())
    assert "Engine of narrator : hum, version 1. Engine of ann : drone, version 2." in said


def test_a_chapter_that_is_not_there_is_an_error(narrator, tmp_path):
    code, _, errors = narrator("report", books.write(tmp_path), "--chapter", "7")
    assert code == 2
    assert "no chapter '7'" in errors


def test_manifests_and_drafts_have_pages_of_their_own(tmp_path):
    path, other = books.write(tmp_path), tmp_path / "second.yaml"
    other.write_text(path.read_text("utf-8"), encoding="utf-8")
    for manifest, engine, name in (
        (path, HumEngine(), "report.html"),
        (path, HumEngine("draft"), "report-draft.html"),
        (other, HumEngine(), "report-second.html"),
    ):
        assert report.page_path(books.plan(manifest, engine)).name == name
