"""Photographs the studio for the site: `make site`.

    python -m docs.site.pictures FOLDER

The books are those of projects/, rendered by the draft voice, in a library of their own: no voice,
name or setting of whoever makes the site is seen.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docs.site import program
from docs.site.program import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

STORY = "eleven-minutes-fast"
BOOKS = (STORY, "small-machines")
LINE = "1.10"
"""A line of the story that takes some seconds to speak."""
MAX_BYTES = 150_000
TIMEOUT_MS = 120_000.0
"""A step may take long on a slow machine."""


def missing() -> str:
    """Returns what is missing for taking pictures, or ""."""
    packages = ("playwright", "starlette", "uvicorn", "jinja2", "espeakng_loader")
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    if absent:
        return f"the Python package {absent[0]}"
    from tests.studio import browsers

    return "" if browsers.browser() else "a browser (Chromium or Chrome)"


def lend_kokoro(home: Path) -> None:
    """Adds an installed Kokoro to a library, so that its voices are listed."""
    if model := program.find_kokoro():
        (home / "models").mkdir()
        (home / "models" / model.name).symlink_to(model)


def environment_of(home: Path) -> dict[str, str]:
    """Returns environment variables for a library of its own."""
    return {**os.environ, "NARRATOR_HOME": str(home), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def served(folder: Path, home: Path) -> Iterator[str]:
    """Runs a studio, and yields its link."""
    with (home / "studio.log").open("w+") as log:
        studio = subprocess.Popen(
            program.command("studio", folder, "--no-open"),
            env=environment_of(home), cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        assert studio.stdout is not None
        try:
            link = studio.stdout.readline().strip()
            if not link:
                log.seek(0)
                sys.exit(log.read())
            yield link
        finally:
            studio.terminate()
            studio.wait(60)
            studio.stdout.close()


@contextlib.contextmanager
def page(browser: Browser, link: str, width: int = 1280, height: int = 800) -> Iterator[Page]:
    """Opens a link in a light scheme, with more pixels than points."""
    context = browser.new_context(
        base_url=link.partition("?")[0],
        viewport={"width": width, "height": height},
        device_scale_factor=1.5,
        color_scheme="light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(TIMEOUT_MS)
    try:
        shown = context.new_page()
        shown.goto(link)
        yield shown
    finally:
        context.close()


class Camera:
    """Writes what a page shows as WebP into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, page: Page, name: str, part: Locator | None = None) -> None:
        """Playwright's own screenshots are PNG or JPEG, three times as large."""
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        settings: dict[str, object] = {"format": "webp", "quality": 80}
        if part is not None:
            box = part.bounding_box()
            assert box is not None
            settings["clip"] = {**box, "scale": 1}
        shot = page.context.new_cdp_session(page).send("Page.captureScreenshot", settings)
        data = base64.b64decode(shot["data"])
        assert len(data) <= MAX_BYTES, f"{name}: {len(data)} bytes"
        (self.folder / f"{name}.webp").write_bytes(data)


def photograph_start_page(page: Page, camera: Camera) -> None:
    page.locator("#projects:not([aria-busy=true])").wait_for()
    page.locator(".book", has_text=re.compile("Rendered")).wait_for()
    page.set_viewport_size({"width": 1280, "height": 500})
    camera.take(page, "start-page")
    page.set_viewport_size({"width": 1280, "height": 1150})
    page.get_by_role("link", name="Voice and files of Eleven Minutes Fast").click()
    page.get_by_role("link", name="Download").first.wait_for()
    camera.take(page, "voice-and-files")


def choose_line(page: Page, number: str) -> None:
    """Chooses a line by keys, since a click would play it."""
    page.locator(".chunk").first.wait_for()
    page.keyboard.press("g")
    page.keyboard.type(number)
    page.keyboard.press("Enter")
    page.locator("#pane-chunk .number", has_text=re.compile(f"^{re.escape(number)}$")).wait_for()
    page.locator("#pane-chunk .take").first.wait_for()


def photograph_book(page: Page, camera: Camera) -> None:
    choose_line(page, LINE)
    wait_until_drawn(page, "#wave-picture, #pane-chunk .take canvas")
    camera.take(page, "script")
    page.keyboard.press("c")
    page.locator(".person", has_text="Pascoe").wait_for()
    camera.take(page, "cast")
    page.keyboard.press("b")
    steadiness = page.get_by_role("heading", name="Steadiness")
    steadiness.evaluate("heading => heading.scrollIntoView()")
    camera.take(page, "report")
    page.keyboard.press("b")
    compare_takes(page)
    camera.take(page, "comparison", page.locator("dialog"))


def compare_takes(page: Page) -> None:
    """Opens the comparison of the chosen line with a slower take."""
    page.keyboard.press("d")
    page.locator("[name=speed]").fill("0.9")
    page.keyboard.press("Enter")
    page.locator(".take[data-number='2'] .figures", has_text="pinned").wait_for()
    page.locator("#said").get_by_role("button", name="Compare").click()
    wait_until_drawn(page, "dialog .spectrogram")
    # else its corners show the dark of the page behind it
    page.evaluate(
        "const [sheet] = document.styleSheets; "
        "sheet.insertRule('dialog::backdrop { background: none }', sheet.cssRules.length)"
    )


def wait_until_drawn(page: Page, canvases: str) -> None:
    """Until a twentieth of each canvas has ink: sound that is not loaded yet is a thin line."""
    page.locator(canvases).first.wait_for()
    page.wait_for_function(
        """(canvases) => [...document.querySelectorAll(canvases)].every((canvas) => {
            const { width, height } = canvas;
            if (!width || !height) return false;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return data.filter((value, n) => n % 4 === 3 && value).length > width * height / 20;
        })""",
        arg=canvases,
    )


def copy_books(folder: Path) -> None:
    """Copies the projects, for the draft voice."""
    for name in BOOKS:
        ignored = shutil.ignore_patterns("build")
        manifest = shutil.copytree(ROOT / "projects" / name, folder / name, ignore=ignored) / (
            "book.yaml"
        )
        text = re.sub("^engine: .*$", "engine: draft", manifest.read_text("utf-8"), flags=re.M)
        manifest.write_text(text, "utf-8")


def photograph(books: Path, home: Path, folder: Path) -> None:
    """Takes all pictures of the books of a folder, of which the story is rendered."""
    from playwright.sync_api import sync_playwright

    from tests.studio import browsers

    camera = Camera(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browsers.browser(), args=browsers.switches()
        )
        with served(books, home) as link, page(browser, link) as shown:
            photograph_start_page(shown, camera)
        with served(books / STORY, home) as link, page(browser, link) as shown:
            photograph_book(shown, camera)
        browser.close()


def main() -> None:
    folder = Path(sys.argv[1])
    if absent := missing():
        print(f"The site has no pictures of the studio: {absent} is missing.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        books, home = Path(temporary, "audiobooks"), Path(temporary, "library")
        home.mkdir()
        copy_books(books)
        lend_kokoro(home)
        program.render(books / STORY, environment=environment_of(home))
        photograph(books, home, folder)


if __name__ == "__main__":
    main()
