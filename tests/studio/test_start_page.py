"""The first hour on the start page: in a browser, from a manuscript to a file, by mouse and keys.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import av
import pytest

from tests import studios
from tests.build_epub import build_epub
from tests.sound_files import png
from tests.studio.test_import_routes import novel
from tests.studio.test_page import SOON, chromium, expect, is_wrong, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["chromium"]  # a fixture

pytestmark = pytest.mark.browser


@contextmanager
def start_page(chromium: Browser, folder: Path) -> Iterator[Page]:
    """The start page of a folder, on which nothing went wrong."""
    with served(folder) as link:
        context = chromium.new_context(
            base_url=link.partition("?")[0],
            viewport={"width": 1200, "height": 900},
            accept_downloads=True,
        )
        page = context.new_page()
        page.set_default_timeout(SOON)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if is_wrong(said) else None)
        try:
            page.goto(link)
            expect(page.locator("#projects")).not_to_have_attribute("aria-busy", "true")
            yield page
            assert not wrong
        finally:
            context.close()


@pytest.fixture
def walks(tmp_path: Path) -> None:
    """A book in the folder of the start page."""
    (tmp_path / "walks").mkdir()
    studios.write(tmp_path / "walks")


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """The start page of a folder without books."""
    (tmp_path / "shelf").mkdir()
    with start_page(chromium, tmp_path / "shelf") as found:
        yield found


def drop(page: Page, path: Path) -> None:
    """Drops a file on the page, as from a window of the system."""
    transfer = page.evaluate_handle(
        """([bytes, name]) => {
            const transfer = new DataTransfer();
            const data = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
            transfer.items.add(new File([data], name));
            return transfer;
        }""",
        [base64.b64encode(path.read_bytes()).decode(), path.name],
    )
    for event in ("dragover", "drop"):
        page.dispatch_event("main", event, {"dataTransfer": transfer})


def test_a_dropped_manuscript_becomes_a_file_that_is_heard_and_downloaded(
    page: Page, tmp_path: Path
) -> None:
    expect(page.locator("#no-projects")).to_be_visible()
    drop(page, novel(tmp_path))
    expect(page.get_by_role("heading", name="New book from novel.docx")).to_be_focused()
    expect(page.get_by_label("Title")).to_have_value("The Sea Door")
    expect(page.locator(".parts li")).to_have_count(4)
    expect(page.locator(".parts li").first).to_contain_text("Left out: copyright page")
    page.get_by_role("checkbox", name="The Morning").uncheck()
    expect(page.locator("#making")).to_contain_text("2 chapters")
    page.get_by_label("Title").fill("The Sea and the Door")
    page.get_by_role("button", name="Make the book").click()
    hear = page.get_by_role("button", name="Hear Draft voice")
    hear.click()
    expect(hear.locator("use")).to_have_attribute("href", "#i-pause")
    page.get_by_role("radio", name="Draft voice").check()
    expect(page.locator("#making")).to_contain_text("of disk")
    page.get_by_role("button", name="Render the book").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    link = page.get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=4 * SOON)
    sound = page.locator(".files audio")
    sound.evaluate("sound => sound.play()")
    assert sound.evaluate("sound => sound.duration") > 20
    with page.expect_download() as download:
        link.click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    with av.open(str(path)) as book:
        assert book.metadata["title"] == "The Sea and the Door"
        titles = [chapter["metadata"]["title"] for chapter in book.chapters()]
    assert titles == ["The Sea", "The Door"]
    manifest = tmp_path / "shelf" / "the-sea-and-the-door" / "book.yaml"
    assert "name: draft" in manifest.read_text()
    page.get_by_role("button", name="All books").click()
    expect(page.locator(".book")).to_contain_text("Rendered")
    page.get_by_role("link", name="The Sea and the Door", exact=True).click()
    expect(page.locator(".chunk").first).to_be_visible()
    page.get_by_role("link", name="All books").click()
    expect(page.locator(".book")).to_have_count(1)


def focused(page: Page) -> str:
    """The kind and the name of what has the focus."""
    name = page.evaluate(
        """() => {
            const now = document.activeElement;
            if (now === document.body) return "";
            const label = now.labels?.[0]?.textContent;
            return `${now.type} ${now.getAttribute("aria-label") ?? label ?? now.textContent}`;
        }"""
    )
    return str(name)


def reach(page: Page, name: str, key: str = "Tab") -> None:
    """Presses a key until what has this name is reached."""
    for _ in range(60):
        if name in focused(page):
            return
        page.keyboard.press(key)
    raise AssertionError(f"no key leads to {name}")


def test_the_keyboard_alone_leads_from_a_manuscript_to_a_file(page: Page, tmp_path: Path) -> None:
    path = novel(tmp_path)
    page.on("filechooser", lambda chooser: chooser.set_files(path))
    reach(page, "Drop a manuscript here, or choose a file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="New book from novel.docx")).to_be_focused()
    reach(page, "The Door")
    page.keyboard.press("Space")
    expect(page.locator("#making")).to_contain_text("2 chapters")
    reach(page, "Make the book")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The Sea Door")).to_be_focused()
    reach(page, "Hear Draft voice")
    page.keyboard.press("Enter")
    expect(page.locator(".voices use")).to_have_attribute("href", "#i-pause")
    page.keyboard.press("Enter")
    reach(page, "Render the book")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    expect(page.get_by_role("link", name="Download")).to_be_focused(timeout=4 * SOON)
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith("The Sea Door.m4b")


def test_people_who_speak_get_voices(page: Page, tmp_path: Path) -> None:
    talk = "“Who is it?” said Ann Ferris. “It is I,” said Tom Hale, and came in from the rain.\n\n"
    (tmp_path / "talk.md").write_text(f"# Talk\n\n{9 * talk}")
    page.locator("#file").set_input_files(tmp_path / "talk.md")
    page.get_by_role("button", name="Make the book").click()
    expect(page.locator("#making")).to_contain_text("One voice reads everything")
    page.get_by_role("button", name="Find who speaks").click()
    expect(page.locator("#making")).to_contain_text("3 voices: narrator, Ann Ferris, Tom Hale")


def test_what_cannot_be_read_is_said_in_a_line_and_another_chosen(
    page: Page, tmp_path: Path
) -> None:
    bomb = build_epub(
        tmp_path / "bomb.epub", {"one.xhtml": "<p>One.</p>"}, files={"two.xhtml": b" " * 5_000_000}
    )
    page.locator("#file").set_input_files(bomb)
    trouble = page.locator("#making .trouble")
    expect(trouble).to_contain_text("bomb.epub: ")
    expect(trouble).to_contain_text("zip bomb")
    page.get_by_role("button", name="Choose another file").click()
    expect(page.locator("#file")).to_be_focused()
    assert not [path for path in (tmp_path / "shelf").iterdir() if path.is_dir()]


def test_an_import_is_stopped(page: Page, tmp_path: Path) -> None:
    page.route(
        re.compile("/api/manuscripts/[0-9a-f]+$"),
        lambda route: (
            route.fulfill(json={"id": "1", "state": "reading", "error": "", "seconds": 99.0})
            if route.request.method == "GET"
            else route.continue_()
        ),
    )
    page.locator("#file").set_input_files(novel(tmp_path))
    expect(page.locator("#making")).to_contain_text("For 2 min")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#drop")).to_be_visible()
    assert not [path for path in (tmp_path / "shelf").iterdir() if path.is_dir()]


@pytest.mark.usefixtures("walks")
def test_books_are_found_again(chromium: Browser, tmp_path: Path) -> None:
    with start_page(chromium, tmp_path) as page:
        expect(page.locator(".book")).to_contain_text("Two <b>Walks</b>")
        page.get_by_role("link", name="Voice and files").click()
        expect(page.get_by_role("radio", name="Draft voice")).to_be_checked()
        page.go_back()
        page.locator(".book .title").click()
        expect(page.locator(".chunk").first).to_be_visible()
        address = page.url
        page.reload()
        assert page.url == address
        expect(page.locator(".chunk").first).to_be_visible()


@pytest.mark.usefixtures("walks")
def test_other_jobs_make_no_book_ready(chromium: Browser, tmp_path: Path) -> None:
    with start_page(chromium, tmp_path) as page:
        page.add_init_script(
            """const { EventSource: Source } = window;
            window.EventSource = class extends Source {
                constructor(address) { super(address); window.events = this; }
            };"""
        )
        page.reload()
        page.get_by_role("link", name="Voice and files").click()
        expect(page.get_by_role("radio", name="Draft voice")).to_be_checked()
        end = """([kind, job]) => {
            const event = { type: "job", event: "ended", exit: 0, kind, job, summary: {} };
            window.events.onmessage({ data: JSON.stringify(event) });
            return document.getElementById("said").textContent;
        }"""
        start = """() => window.events.onmessage({ data: JSON.stringify(
            { type: "job", event: "started", job: { kind: "retake", id: "a" } }) })"""
        page.evaluate(start)
        assert page.evaluate(end, ["pin", "b"]) == ""
        assert page.evaluate(end, ["retake", "a"]) == ""
        assert page.evaluate(end, ["render", "c"]).startswith("The book is ready")


def test_what_is_counted_is_said_meanwhile(chromium: Browser, spoken: Path, tmp_path: Path) -> None:
    shutil.copytree(spoken, tmp_path / "walks")
    with start_page(chromium, tmp_path) as page:
        waiting: list[Route] = []
        page.route("**/progress", lambda route: waiting.append(route))
        with page.expect_request("**/progress"):
            page.reload()
        expect(page.locator(".book .progress")).to_have_text("Counting what is rendered …")
        with page.expect_response("**/progress"):
            waiting[0].continue_()
        expect(page.locator(".book .progress")).to_have_text("Rendered")


@pytest.mark.usefixtures("walks")
def test_a_books_studio_leads_to_its_voice_and_files(chromium: Browser, tmp_path: Path) -> None:
    with start_page(chromium, tmp_path) as page:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.locator(".book .title").click()
        expect(page.get_by_role("link", name="All books")).to_have_text("All books")
        page.get_by_role("link", name="Voice and files").click()
        expect(page.get_by_role("radio", name="Draft voice")).to_be_checked()
        page.go_back()
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_role("button", name="Panels").click()
        page.get_by_role("tab", name="Render").click()
        page.get_by_role("link", name="Voice, title, cover and files of this book").click()
        expect(page.get_by_role("radio", name="Draft voice")).to_be_checked()


@pytest.mark.usefixtures("walks")
def test_a_phone_reviews_beside_the_player(chromium: Browser, tmp_path: Path) -> None:
    with start_page(chromium, tmp_path) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        page.locator(".book .title").click()
        page.locator(".chunk .words").first.click()
        reviewed = page.locator("#to-review")
        expect(reviewed).to_have_attribute("aria-pressed", "false")
        reviewed.click()
        expect(reviewed).to_have_attribute("aria-pressed", "true")
        play, mark = page.locator("#play").bounding_box(), reviewed.bounding_box()
        assert play
        assert mark
        assert play["y"] < mark["y"] + mark["height"] / 2 < play["y"] + play["height"]


@pytest.mark.usefixtures("walks")
def test_the_people_window_asks_for_ones_own_name_first(chromium: Browser, tmp_path: Path) -> None:
    with start_page(chromium, tmp_path) as page:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.locator(".book .title").click()
        expect(page.locator(".chunk").first).to_be_visible()
        page.get_by_role("button", name="People").click()
        expect(page.get_by_label("Your name")).to_be_focused()
        page.keyboard.type("Jo")
        page.get_by_role("button", name="Save the name").click()
        expect(page.get_by_role("button", name="Saved")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="People").click()
        expect(page.get_by_label("Guest’s name")).to_be_focused()
        expect(page.get_by_label("Your name")).to_have_value("Jo")
        expect(page.locator("dialog")).to_contain_text(f"narrator studio {tmp_path} --listen")


@pytest.mark.usefixtures("walks")
def test_title_and_cover_of_a_book_are_changed_and_undone(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "front.png").write_bytes(png(20, 30))
    with start_page(chromium, tmp_path) as page:
        page.get_by_role("link", name="Voice and files").click()
        page.get_by_text("Title, author, language, cover").click()
        page.get_by_role("textbox", name="Title").fill("Three Walks")
        page.get_by_role("textbox", name="Author").fill("Ann Lee; Ben Roe")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#making h2")).to_have_text("Three Walks Ann Lee, Ben Roe")
        page.locator(".cover-form input").set_input_files(tmp_path / "front.png")
        expect(page.get_by_alt_text("The cover")).to_be_visible()
        page.locator("#said .message", has_text="The cover is saved").get_by_role(
            "button", name="Undo"
        ).click()
        expect(page.get_by_text("No cover")).to_be_visible()
        expect(page.get_by_role("textbox", name="Title")).to_have_value("Three Walks")
        assert 'title: "Three Walks"' in (tmp_path / "walks" / "book.yaml").read_text()
