"""The page, as a person uses it: in a browser, by mouse and keys, with a studio of its own process.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import pytest

from tests import small_model
from tests.conftest import ROOT
from tests.serve.test_speech import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

pytestmark = pytest.mark.browser

DEMO = ROOT.parent / "projects" / "eleven-minutes-fast"
SOON = 60_000.0
"""Milliseconds after which a test has failed."""
BOOK = """\
title: Two Walks
author: Nobody
language: en-GB
engine: {name: draft}
output: {formats: [m4b]}
speakers: {narrator: {}, Ada: {}, Ben: {}} # the cast
chapters:
  - {title: Out, file: out.md}
  - {title: Home, file: home.md}
"""
OUT = """\
# Out

The road to Kirkcudbright was long. It was wet, and the wind blew from the sea.

Ada: Not far now.

Somebody stumbled over the very last stone of the long way, and said nothing.

Ben: I am cold.
"""
HOME = "They came home.\n\nAda: At last, and with dry feet. Never again to Kirkcudbright!\n"


@dataclass
class Studio:
    """A studio and the page of it."""

    folder: Path
    page: Page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def chunk(self, name: str) -> Locator:
        return self.page.locator(f'.chunk[data-chunk="{name}"]')

    def choose(self, name: str) -> None:
        """By a click, which plays it too: quiet again."""
        self.chunk(name).locator(".words").click()
        expect(self.page.locator("#pane-chunk .number")).to_have_text(name)
        if self.page.locator("#play").get_attribute("aria-label") == "Pause":
            self.press("Space")

    def render(self) -> None:
        """All that is to be rendered, by the button that the key leads to."""
        self.press("Shift+R")
        with self.page.expect_response("**/api/jobs"):
            self.page.locator("#render-now").click()
        until(lambda: not self.has_jobs(), SOON / 1000)
        expect(self.page.locator("#to-render")).to_have_text("Render…")
        expect(self.page.locator("#status")).to_have_text("Everything is rendered")
        self.press("Escape")

    def has_jobs(self) -> bool:
        jobs = self.asked("/api/book")["jobs"]
        return bool(jobs["running"] or jobs["queue"])

    def time(self) -> float:
        """Seconds that are heard of the chapter."""
        return float(self.page.evaluate("document.getElementById('sound').currentTime"))

    def asked(self, path: str) -> Any:
        return self.page.request.get(path).json()


def expect(what: Any) -> Any:
    from playwright.sync_api import expect as expected

    return expected(what)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright: make pages")
    from tests.studio import browsers

    path = browsers.browser()
    if path is None:
        pytest.skip("no browser here: make pages")
    sync.expect.set_options(timeout=SOON)
    with sync.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=browsers.switches())
        yield found
        found.close()


def is_wrong(said: ConsoleMessage) -> bool:
    """A sound that has just changed is not there any more; the page asks for the new one. An edit
    that is refused is said by the page."""
    address = said.location["url"]
    is_late = "404" in said.text and re.search("/(chunks|peaks|sound|words)/", address)
    is_refused = re.search("409|422", said.text) and address.endswith("/api/edits")
    return said.type == "error" and not is_late and not is_refused


@contextmanager
def served(folder: Path, *options: str, fake: str = "readings") -> Iterator[str]:
    """The link of a studio in a process of its own, where `fake` takes an engine's place."""
    command = [sys.executable, "-m", "narrator", "studio", str(folder), *options, "--no-open"]
    own = os.pathsep.join([str(ROOT / "studio" / fake), str(ROOT.parent)])
    surroundings = {**os.environ, "PYTHONPATH": own, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    with (folder / "studio.log").open("w") as log:
        studio = subprocess.Popen(
            command, env=surroundings, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert studio.stdout is not None
        try:
            yield studio.stdout.readline().strip()
        finally:
            studio.terminate()
            studio.wait(60)
            studio.stdout.close()


@contextmanager
def opened(chromium: Browser, folder: Path, *, model: bool = False) -> Iterator[Studio]:
    """The page of a book's studio, on which nothing went wrong."""
    options = [] if model else ["--draft"]
    with served(folder, *options, fake="noise" if model else "readings") as link:
        context = chromium.new_context(
            base_url=link.partition("?")[0], viewport={"width": 1400, "height": 900}
        )
        page = context.new_page()
        page.set_default_timeout(SOON)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda said: wrong.append(f"{said.text} {said.location}") if is_wrong(said) else None,
        )
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        try:
            page.goto(link)
            page.locator(".chunk").first.wait_for()
            yield Studio(folder, page)
            assert not wrong
            assert not page.locator("#errors > *").all_inner_texts()
        finally:
            context.close()


@pytest.fixture
def studio(chromium: Browser, tmp_path: Path) -> Iterator[Studio]:
    """A book that nobody has rendered."""
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text(OUT)
    (tmp_path / "home.md").write_text(HOME)
    with opened(chromium, tmp_path) as found:
        yield found


# -- what a person does ----------------------------------------------------------------------------


def find_the_doubtful_one(studio: Studio) -> None:
    # the chapter is asked for again after the book
    studio.page.locator(".chunk.doubtful").first.wait_for()
    studio.press("n")
    expect(studio.page.locator(".chunk.chosen")).to_contain_text("stumbled")
    expect(studio.page.locator("#pane-chunk .why")).to_contain_text("silence")


def speak_again_and_choose(studio: Studio) -> int:
    """Two more takes, compared by their keys; the number of the one that is pinned."""
    takes = studio.page.locator("#pane-chunk .take")
    takes.first.wait_for()
    before = takes.count()
    for more in (1, 2):
        studio.press("s")
        expect(takes).to_have_count(before + more)
    for newest in (0, 1):
        studio.press(takes.nth(newest).get_attribute("data-number") or "")
        expect(takes.nth(newest)).to_have_class(re.compile("heard"))
    studio.press("p")
    chosen = int(takes.nth(1).get_attribute("data-number") or -1)

    def pinned() -> list[int]:
        tries = studio.asked("/api/chunks/1.4")["tries"]
        return [one["number"] for one in tries if one["pinned"] and one["in_use"]]

    until(lambda: pinned() == [chosen], SOON / 1000)
    expect(takes.nth(1).get_by_role("button", name="Pinned")).to_be_visible()
    expect(studio.page.locator(".chunk.chosen")).not_to_have_class(re.compile("doubtful|given-up"))
    return chosen


def say_it_otherwise(studio: Studio, word: str, spoken: str) -> None:
    studio.press("w")
    studio.page.get_by_role("button", name=word, exact=True).click()
    studio.page.keyboard.type(spoken)
    studio.page.get_by_role("button", name="Hear it").click()
    expect(studio.page.get_by_role("button", name="Hear it")).to_be_enabled()
    studio.page.get_by_role("button", name="Save").click()
    expect(studio.page.locator("#said")).to_contain_text(word)


def give_to(studio: Studio, chunk: str, speaker: str) -> None:
    studio.choose(chunk)
    studio.press("v")
    studio.page.get_by_role("radio", name=speaker).check()
    studio.press("Enter")
    expect(studio.chunk(chunk)).to_contain_text(f"{speaker}: ")
    expect(studio.chunk(chunk)).not_to_contain_text("being saved")


# -- five stories ----------------------------------------------------------------------------------


def test_a_demo_book_is_rendered_from_the_page_and_plays(chromium: Browser, tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns("build"))
    with opened(chromium, tmp_path / "demo") as studio:
        page = studio.page
        expect(page.locator("#label")).to_contain_text("nothing is rendered yet")
        page.get_by_role("button", name="Render…", exact=True).click()
        expect(page.locator("#pane-render")).to_contain_text("min of speech")
        expect(page.locator("#pane-render")).to_contain_text("lines of the book must be spoken")
        expect(page.locator("#export-now")).to_be_disabled()
        page.get_by_role("radio", name="Chapter 1 alone").check()
        page.get_by_role("button", name="Render chapter 1").click()
        expect(page.get_by_role("progressbar").first).to_be_visible()
        expect(page.locator(".chapter").first.locator(".tally")).to_have_text(
            "rendered", timeout=4 * SOON
        )
        expect(page.locator("#label")).to_contain_text("the draft voice")
        studio.chunk("1.3").locator(".words").click()
        expect(studio.chunk("1.3")).to_have_attribute("aria-current", "true")
        expect(studio.chunk("1.4")).to_have_attribute("aria-current", "true")
        start = studio.asked("/api/chapters/1")["chunks"][3]["start"]
        assert studio.time() > start - 0.1


def test_finished_files_are_linked_beside_the_render(studio: Studio) -> None:
    studio.render()
    studio.press("Shift+R")
    page = studio.page
    link = page.get_by_role("link", name="Download Nobody - Two Walks.m4b")
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "Nobody - Two Walks.m4b"
    expect(page.get_by_role("button", name="Make M4B again")).to_be_enabled()
    expect(page.locator("#pane-render .main")).to_have_count(0)
    studio.press("Escape")


def test_a_flagged_sentence_is_found_spoken_again_compared_and_pinned(studio: Studio) -> None:
    studio.render()
    find_the_doubtful_one(studio)
    studio.press("f")
    studio.page.keyboard.type("a hole in the middle")
    studio.press("Enter")
    expect(studio.page.locator("#pane-chunk .flags")).to_contain_text("a hole in the middle")
    chosen = speak_again_and_choose(studio)
    tries = studio.asked("/api/chunks/1.4")["tries"]
    assert [one["number"] for one in tries if one["pinned"] and one["in_use"]] == [chosen]
    flagged = studio.page.locator(".chapter").first
    studio.page.get_by_role("checkbox", name="a hole in the middle").check()
    expect(flagged).not_to_contain_text("flagged")
    studio.press("r")
    expect(flagged).to_contain_text("reviewed")
    undone_one_by_one(studio, chosen)


def undone_one_by_one(studio: Studio, chosen: int) -> None:
    """What was done of a flagged sentence, from the last: also what is no edit of a file."""
    chapter = studio.page.locator(".chapter").first
    said = studio.page.locator("#said")
    studio.press("u")
    expect(said).to_contain_text("Undone: 1.4 is reviewed")
    expect(chapter).not_to_contain_text("reviewed")
    studio.press("u")
    expect(chapter).to_contain_text("1 flagged")
    studio.press("u")
    expect(said).to_contain_text(f"Undone: Pinning take {chosen} of 1.4")
    for take in (chosen + 1, chosen):  # pinned as they were spoken
        studio.press("u")
        expect(said).to_contain_text(f"Undone: Take {take} of 1.4 is pinned")
    studio.press("u")
    expect(said).to_contain_text("Undone: 1.4 is flagged")
    expect(chapter).not_to_contain_text("flagged")
    assert studio.asked("/api/pickups")["rows"] == []
    studio.press("Shift+U")
    expect(chapter).to_contain_text("1 flagged")


def test_a_slower_take_is_asked_for_and_pinned_by_a_blind_verdict(studio: Studio) -> None:
    page = studio.page
    studio.render()
    studio.press("j")
    expect(page.locator("#pane-chunk .number")).to_have_text("1.2")
    studio.press("Space")
    until(lambda: page.evaluate("CSS.highlights.has('spoken')"))  # the word that is said
    studio.press("Space")
    until(lambda: not page.evaluate("CSS.highlights.has('spoken')"))
    studio.press("g")  # it may have played into the next one
    page.keyboard.type("1.2")
    studio.press("Enter")
    expect(page.locator("#pane-chunk .number")).to_have_text("1.2")
    studio.press("d")  # the first field is the speed: the draft voice has no styles
    expect(page.locator("[name=speed]")).to_be_focused()
    page.keyboard.type("0.8")
    studio.press("Enter")
    expect(page.locator("#said")).to_contain_text("1.2: take 2 is used now; take 1 is kept")
    expect(page.locator(".take .figures").first).to_contain_text("speed 0.8")
    expect(page.locator("#undo")).to_have_attribute("aria-label", "Undo: Take 2 of 1.2 is pinned")
    page.evaluate("document.activeElement.blur()")
    studio.press("x")
    page.get_by_role("checkbox", name="Blind").check()
    expect(page.locator(".side small")).to_have_text(["", ""])
    studio.press("a")
    expect(page.get_by_role("button", name="Hear A")).to_have_attribute("aria-pressed", "true")
    studio.press("x")
    expect(page.get_by_role("button", name="Hear B")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="B is better").press("Enter")
    expect(page.locator(".outcome")).to_contain_text(re.compile("A was take .*; B was take"))
    expect(page.locator(".outcome")).to_contain_text(
        re.compile("Better: take .. It (is|stays) pinned")
    )
    studio.press("Enter")  # closes it
    expect(page.locator("dialog")).to_have_count(0)


def test_a_sound_that_the_browser_cannot_play_is_told_with_what_helps(studio: Studio) -> None:
    page = studio.page
    page.route("**/sound/chapters/**", lambda route: route.fulfill(content_type="audio/mp4"))
    studio.render()
    studio.press("Space")
    expect(page.locator("#errors")).to_contain_text("libraries of FFmpeg")
    page.unroute("**/sound/chapters/**")
    page.reload()
    expect(studio.chunk("1.2")).to_be_visible()


def test_what_was_heard_is_listed_and_a_word_that_is_right_is_learnt(studio: Studio) -> None:
    page, heard = studio.page, studio.page.locator("#pane-heard")
    studio.render()
    studio.press("t")
    heard.get_by_role("button", name="Listen to all takes of chapter 1").press("Enter")
    others = heard.get_by_role("button", name=re.compile("^Listen to the other . takes of"))
    expect(others).to_have_text(["Listen to the other 2 takes of the book"])
    others.press("Enter")
    expect(heard).to_contain_text(re.compile(r"^\s*(\d+) of \1 takes listened to"))
    expect(others).to_have_count(0)
    row = heard.locator(".heard-rows li", has_text="kitchen")
    expect(row.locator(".written mark")).to_have_text("stone")
    row.get_by_role("button", name="Hear these words").press("Enter")
    until(lambda: page.evaluate("document.getElementById('sample').duration < 3"))
    row.get_by_role("button", name="Right as it is").press("Enter")
    expect(page.locator("#said")).to_contain_text("“stone” may be heard as “kitchen”")
    expect(row).to_have_count(0)
    until(lambda: studio.asked("/api/heard")["count"] == 0)
    assert "heard_as: {stone: kitchen}" in (studio.folder / "book.yaml").read_text()
    page.evaluate("document.activeElement.blur()")
    studio.press("u")
    expect(row).to_have_count(1)


def test_a_name_is_put_right_everywhere(studio: Studio) -> None:
    lexicon = studio.page.locator("#pane-lexicon")
    names, entries = (lexicon.locator("details").nth(place) for place in (1, 0))
    studio.render()
    studio.press("m")
    expect(names).to_contain_text("Kirkcudbright")
    studio.choose("1.2")
    say_it_otherwise(studio, "Kirkcudbright", "Kur-koo-bree")
    expect(names).not_to_contain_text("Kirkcudbright")
    expect(entries).to_contain_text("Kirkcudbright is said Kur-koo-bree2× in chapters 1 2")
    studio.press("i")
    expect(studio.page.locator("#status")).to_contain_text("2 lines to speak")
    assert "Kirkcudbright: Kur-koo-bree" in (studio.folder / "book.yaml").read_text()
    studio.render()
    for chunk in ("1.2", "2.2"):
        studio.page.locator(f'a[href="#{chunk[0]}"]').click()
        studio.choose(chunk)
        expect(studio.page.locator("#pane-chunk .spoken")).to_contain_text("Kur-koo-bree")
        expect(studio.page.locator("#pane-chunk .state")).to_have_text("good")


def test_a_voice_that_was_given_is_what_its_form_shows(studio: Studio) -> None:
    page, low = studio.page, "A woman, low and dry"
    studio.press("c")
    ada = page.locator(".person", has_text="Ada")
    ada.click()
    form = page.get_by_role("textbox", name="What it is like")
    form.fill(low)
    page.get_by_role("button", name="Give this voice").click()
    expect(page.locator("#undo")).to_have_attribute("aria-label", re.compile("Ada has the voice"))
    expect(ada).to_contain_text(low)
    expect(form).to_have_value(low)
    page.locator("#undo").click()
    expect(page.locator("#undo")).to_have_attribute("aria-label", "Nothing to undo")
    expect(ada).not_to_contain_text(low)
    expect(form).to_have_value("")


def test_a_preset_where_there_is_none_is_asked_for(studio: Studio) -> None:
    studio.press("c")
    studio.page.locator(".person", has_text="Ada").click()
    studio.page.get_by_role("radio", name="Preset").check()
    studio.page.get_by_role("button", name="Give this voice").click()
    expect(studio.page.locator("#said")).to_contain_text(
        "There are no presets (voices kept for all books) yet"
    )


def test_a_list_is_brought_in_and_what_is_no_note_is_told(studio: Studio) -> None:
    page = studio.page
    studio.press("l")
    page.get_by_role("button", name="Import").click()
    page.locator("dialog textarea").fill("Dear Ada,\n1.3 too fast\n2.1 too slow\nyours, Ben\n")
    page.locator("dialog").get_by_role("button", name="Import").click()
    expect(page.locator("#errors")).to_contain_text("2 lines of the list were not understood")
    expect(page.locator("#errors")).to_contain_text("yours, Ben")
    expect(page.locator("#pane-lists .what")).to_have_text(["too fast", "too slow"])
    studio.press("Escape", "u")
    expect(page.locator("#pane-lists .what")).to_have_count(0)


def test_the_whole_book_is_searched_by_words_speaker_and_state(studio: Studio) -> None:
    page = studio.page
    hits = page.locator(".hit")
    studio.press("/")
    page.keyboard.type("kirkcudbright")
    expect(hits).to_have_count(2)
    studio.press("Enter")
    expect(studio.chunk("1.2")).to_have_class(re.compile("chosen"))
    studio.press("Escape", "o")
    expect(studio.chunk("2.2")).to_have_class(re.compile("chosen"))
    studio.press("Shift+O")
    expect(studio.chunk("1.2")).to_have_class(re.compile("chosen"))
    studio.press("/")
    page.keyboard.type(" ")  # over the words
    page.locator("#pane-find").get_by_label("Speaker", exact=True).select_option("Ben")
    expect(hits).to_have_count(1)
    page.get_by_role("button", name="Doubtful").press("Enter")
    expect(page.locator("#pane-find [role=status]")).to_have_text("Nothing found")
    page.get_by_role("button", name="Doubtful").press("Enter")
    page.get_by_role("searchbox", name="Words in the book").press("ArrowDown")
    studio.press("Enter")
    expect(studio.chunk("1.5")).to_have_class(re.compile("chosen"))


def test_chapters_are_queued_reordered_paused_and_resumed(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "book.yaml").write_text(BOOK)
    for name in ("out", "home"):
        lines = [f"Stone {number} of the long way {name} was passed." for number in range(120)]
        (tmp_path / f"{name}.md").write_text("\n\n".join(lines))
    with opened(chromium, tmp_path) as studio:
        page, opener = studio.page, studio.page.locator("#to-render")
        pane, rows = page.locator("#pane-render"), page.locator(".queue li")
        studio.press("Shift+R")
        pane.get_by_role("radio", name="The book").press("ArrowRight")
        studio.press("ArrowRight")
        expect(pane.get_by_role("radio", name="Some chapters")).to_be_focused()
        pane.get_by_role("checkbox", name="1. Out").press("Space")
        pane.get_by_role("button", name="Render chapter 1").press("Enter")
        expect(opener).to_have_text("Pause")
        pane.get_by_role("checkbox", name="2. Home").press("Space")
        pane.get_by_role("button", name="Add to the queue: chapter 2").press("Enter")
        expect(rows).to_contain_text(["Chapter 2: Home"])
        opener.press("Enter")
        expect(opener).to_have_text("Resume")
        expect(rows).to_contain_text(["Chapter 1: Out", "Chapter 2: Home"])
        expect(page.locator("#status")).to_contain_text("Paused")
        rows.nth(1).get_by_role("button", name="Earlier").press("Enter")
        expect(rows).to_contain_text(["Chapter 2: Home", "Chapter 1: Out"])
        page.reload()  # another page sees the same queue
        expect(rows).to_contain_text(["Chapter 2: Home", "Chapter 1: Out"])
        rows.nth(1).get_by_role("button", name="Remove from the queue").press("Enter")
        expect(rows).to_have_count(1)
        opener.press("Enter")
        expect(pane.locator(".at-work")).to_contain_text("Chapter 2: Home")
        home, out = page.locator(".chapter").nth(1), page.locator(".chapter").nth(0)
        expect(home.locator(".tally")).to_have_text("rendered")
        expect(opener).to_have_text("Render…")
        expect(out.locator(".tally")).to_contain_text("of 120 rendered")


def test_a_render_that_was_not_finished_is_offered_and_goes_on(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "home.md").write_text(HOME)
    (tmp_path / "out.md").write_text("\n\n".join(f"Stone {n} was passed." for n in range(120)))
    with opened(chromium, tmp_path) as studio:
        opener = studio.page.locator("#to-render")
        studio.press("Shift+R")
        studio.page.locator("#render-now").press("Enter")
        expect(opener).to_have_text("Pause")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        expect(page.locator("#status")).to_have_text("1 job not finished last time")
        page.locator("#to-render").press("Enter")
        section = page.get_by_role("region", name="Not finished last time")
        expect(section.locator("li")).to_contain_text(["The book"])
        section.get_by_role("button", name="Continue").press("Enter")
        expect(section).to_have_count(0)
        expect(page.locator("#status")).to_have_text("Everything is rendered")


def test_pickups_are_filtered_by_words_chapter_speaker_and_done(studio: Studio) -> None:
    page = studio.page
    pane = page.locator("#pane-lists")
    notes = pane.locator(".what")
    studio.press("l")
    page.get_by_role("button", name="Import").click()
    page.locator("dialog textarea").fill("1.3 too fast\n2.1 too slow\n2.2 a click\n")
    page.locator("dialog").get_by_role("button", name="Import").click()
    expect(notes).to_have_count(3)
    page.get_by_role("searchbox", name="Words of note or text").fill("TOO")
    expect(notes).to_have_text(["too fast", "too slow"])
    pane.get_by_label("Chapter", exact=True).select_option("2")
    expect(notes).to_have_text(["too slow"])
    pane.get_by_label("Speaker").select_option("Ada")
    expect(notes).to_have_count(0)
    page.get_by_role("searchbox", name="Words of note or text").fill("")
    expect(notes).to_have_text(["a click"])
    page.get_by_role("checkbox", name="a click").check()
    expect(notes).to_have_count(0)
    pane.get_by_label("Done or not").select_option("done")
    expect(notes).to_have_text(["a click"])


def test_a_line_is_given_to_another_speaker_undone_and_done_again(studio: Studio) -> None:
    text = studio.folder / "out.md"
    give_to(studio, "1.3", "Ben")
    assert "Ben: Not far now." in text.read_text()
    studio.press("u")
    expect(studio.chunk("1.3")).to_contain_text("Ada: ")
    assert text.read_text() == OUT
    studio.press("Shift+U")
    expect(studio.chunk("1.3")).to_contain_text("Ben: ")
    assert "Ben: Not far now." in text.read_text()
    assert (studio.folder / "book.yaml").read_text() == BOOK


def test_people_of_the_cast_are_renamed_merged_and_given_voices(
    chromium: Browser, tmp_path: Path
) -> None:
    cast = "speakers: {narrator: {}, Ada: {}, Ben: {}, others: {plays: [Tom, Jim]}}"
    (tmp_path / "book.yaml").write_text(re.sub("speakers: .*", cast, BOOK))
    (tmp_path / "out.md").write_text("Ada: I see.\n\nBen: And I.\n\nTom: And I.\n\nJim: I, too.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    manifest = tmp_path / "book.yaml"
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        people = page.locator(".person .name")
        page.locator(".person", has_text="Tom").click()
        expect(page.locator("#pane-cast")).to_contain_text("Has the voice of “others”")
        page.get_by_role("textbox", name="What it is like").fill("An old man")
        page.get_by_role("button", name="Give this voice").click()
        expect(page.locator(".person", has_text="Tom")).to_contain_text("An old man")
        page.get_by_text("Rename, merge, pronoun").click()
        page.get_by_label("Pronoun").first.select_option("he")
        page.get_by_role("button", name="Set pronoun").click()
        expect(page.locator("#said")).to_contain_text("Tom is “he”")
        page.get_by_role("textbox", name="Name").fill("Thomas")
        page.get_by_role("button", name="Rename").click()
        expect(people.filter(has_text="Thomas")).to_have_count(1)
        page.get_by_label("Merge Thomas into").select_option("Ben")
        page.get_by_role("button", name="Merge").click()
        expect(people.filter(has_text="Thomas")).to_have_count(0)
        assert "Ben: {aliases: [Thomas, Tom]}" in manifest.read_text()
        expect(page.locator("#said")).to_contain_text("Thomas is Ben")
        page.get_by_role("button", name="Tom is somebody else").click()
        expect(page.locator("#said")).to_contain_text("Tom is not Ben")
        expect(people.filter(has_text="Tom")).to_have_count(1)
        for undone in (
            "Tom is not Ben",
            "Thomas is Ben",
            "Tom is called Thomas",
            "Tom is “he”",
            "Tom has the voice",
        ):
            page.locator("#undo").click()
            expect(page.locator("#said")).to_contain_text(f"Undone: {undone}")
        until(lambda: cast in manifest.read_text())


def test_a_guest_listens_and_flags_until_removed(chromium: Browser, studio: Studio) -> None:
    owner = studio.page
    owner.locator("#to-people").press("Enter")
    window = owner.locator("dialog")
    own_name, guest = window.get_by_label("Your name"), window.get_by_label("Guest’s name")
    expect(own_name).to_be_focused()
    owner.keyboard.type("Mia")
    owner.keyboard.press("Enter")
    guest.fill("Ann")
    guest.press("Enter")
    link = window.get_by_label("Link", exact=True)
    expect(window.get_by_role("status")).to_contain_text("A link for Ann")
    expect(window.get_by_role("status")).to_contain_text(
        f"works on this machine alone. For other machines, close the studio, start it with "
        f"narrator studio {studio.folder} --listen 0.0.0.0"
    )
    context = chromium.new_context(base_url=owner.url.partition("#")[0])
    with contextlib.closing(context):
        page = context.new_page()
        page.goto(link.input_value())
        page.locator(".chunk").first.wait_for()
        assert "token" not in page.url
        tabs = page.locator("[role=tab]:visible")
        assert tabs.evaluate_all("tabs => tabs.map((tab) => tab.dataset.pane)") == [
            "chunk", "find", "lists",
        ]  # fmt: skip
        for gone in ("#to-people", "#to-render", "#voice"):
            expect(page.locator(gone)).to_be_hidden()
        for key in ("s", "d", "r", "e", "w", "v", "R", "c", "q", "m", "p"):
            page.keyboard.press(key)
        expect(page.locator("dialog")).to_have_count(0)
        page.keyboard.press("j")
        expect(page.locator("#pane-chunk .number")).to_have_text("1.2")
        page.keyboard.press("f")
        page.keyboard.type("too <b>slow</b>")
        page.keyboard.press("Enter")
        expect(page.locator("#pane-chunk .flags")).to_contain_text("too <b>slow</b>")
        expect(page.locator("#errors > *")).to_have_count(0)

        expect(window.locator(".guests")).to_contain_text("opened today in 1 browser")
        studio.press("Escape", "l")
        expect(owner.locator("#pane-lists .pickups")).to_contain_text("noted by Ann")
        owner.locator("#to-people").press("Enter")
        window.get_by_role("button", name="Remove Ann").press("Enter")
        expect(window.get_by_role("status")).to_contain_text("Ann is removed")
        expect(window.locator(".guests")).to_contain_text("Nobody is invited yet")
        expect(page.locator("#banner")).to_contain_text("ask who invited you")
        studio.press("Escape")


TALK = """\
Ada and Ben stood at the door.

“Nobody but me is here.”

“Then I shall go.”

“Go, then.”

The rain fell.

It fell all night.

“Is it morning?”
"""


def test_who_says_it_is_decided_by_keys(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text("It rained.\n")
    (tmp_path / "home.md").write_text(TALK)
    file = tmp_path / "home.speakers.txt"

    def decided() -> list[str]:
        rows = file.read_text().splitlines()[1:] if file.exists() else []
        return [row.partition(" |")[0] for row in rows if "| you |" in row]

    with opened(chromium, tmp_path) as studio:
        turns = studio.page.locator("#pane-doubts .turn")
        numbers = studio.page.locator("#pane-doubts .candidates button")
        studio.press("q")
        expect(turns).to_have_count(3)
        first, second = (numbers.nth(place).locator("span").inner_text() for place in (0, 1))
        studio.press("1")
        expect(turns.nth(0)).to_contain_text(first)
        expect(turns.nth(1)).to_have_attribute("aria-current", "true")
        studio.press("2")
        expect(turns.nth(2)).to_have_attribute("aria-current", "true")
        studio.press("1")  # the last doubtful one: the next exchange
        expect(turns).to_have_count(1)
        until(lambda: decided() == [first, second, first])
        for left in (2, 1, 0):
            studio.press("u")
            until(lambda left=left: len(decided()) == left)
        expect(turns).to_have_count(3)
        expect(turns.nth(0)).to_have_attribute("aria-current", "true")
        studio.press("a", "t")
        until(lambda: decided() == [second, first, second])
        studio.press("r", "2")
        until(lambda: decided() == [second, second, second])
        expect(turns.nth(2)).to_contain_text(second)
        studio.press("Enter")
        expect(turns).to_have_count(1)
        studio.press("Enter")
        expect(studio.page.locator("#pane-doubts .empty")).to_be_visible()
        until(lambda: len(decided()) == 4)
        studio.press("q")
        expect(studio.page.locator("#pane-chunk")).to_be_visible()


def test_the_finished_book_has_it_all(studio: Studio) -> None:
    studio.render()
    find_the_doubtful_one(studio)
    pinned = speak_again_and_choose(studio)
    say_it_otherwise(studio, "stone", "boulder")
    studio.press("Control+z")
    expect(studio.page.locator("#said")).to_contain_text("Undone")
    give_to(studio, "1.3", "Ben")
    studio.render()
    row = next(one for one in studio.asked("/api/chapters/1")["chunks"] if one["id"] == "1.4")
    tries = {one["number"]: one for one in studio.asked("/api/chunks/1.4")["tries"]}
    (file,) = studio.folder.glob("build/book/*.m4b")
    with av.open(str(file)) as book:
        titles = [chapter["metadata"]["title"] for chapter in book.chapters()]
    assert titles == ["Out", "Home"]
    heard = spoken_in(file, row["start"], row["stop"])
    likeness = {number: alike(heard, sound_of(studio, one["url"])) for number, one in tries.items()}
    assert max(likeness, key=likeness.__getitem__) == pinned, likeness
    assert likeness[pinned] > 0.9


# -- sound -----------------------------------------------------------------------------------------

RATE = 22_050


def spoken_in(file: Path, start: float, stop: float) -> np.ndarray[Any, Any]:
    """Samples of a file between two of its times."""
    return decoded(file)[int(start * RATE) : int(stop * RATE)]


def sound_of(studio: Studio, url: str) -> np.ndarray[Any, Any]:
    path = studio.folder / "try.wav"
    path.write_bytes(studio.page.request.get(url).body())
    return decoded(path)


def decoded(file: Path) -> np.ndarray[Any, Any]:
    with av.open(str(file)) as sound:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        frames = [
            part.to_ndarray()[0]
            for frame in (*sound.decode(audio=0), None)
            for part in resampler.resample(frame)
        ]
    return np.concatenate(frames)


def alike(heard: np.ndarray[Any, Any], take: np.ndarray[Any, Any]) -> float:
    """The greatest correlation of two sounds, over all shifts of them."""
    size = 1 << (heard.size + take.size).bit_length()
    both = np.fft.irfft(np.fft.rfft(heard, size) * np.fft.rfft(take, size).conj(), size)
    return float(np.abs(both).max() / (np.linalg.norm(heard) * np.linalg.norm(take)))


def casting(studio: Studio, speaker: str) -> str:
    speakers = studio.asked("/api/cast")["speakers"]
    return str(next(one["casting"] for one in speakers if one["name"] == speaker))


def test_a_voice_is_heard_on_a_line_before_it_is_given(chromium: Browser, tmp_path: Path) -> None:
    book = small_model.write(tmp_path / "book", small_model.checkpoint(tmp_path))
    before = book.read_text()
    with opened(chromium, book.parent, model=True) as studio:
        studio.page.get_by_role("tab", name="Cast").click()
        studio.page.locator(".person", has_text="cy").click()
        hear = studio.page.get_by_role("button", name="Hear the line")
        tried = studio.page.locator("form.voice-form [role=status]")
        hear.click()
        expect(tried).to_contain_text("no faults found")
        until(lambda: casting(studio, "cy") == "cast")  # once the book is planned again
        studio.page.get_by_role("radio", name="Preset").check()
        hear.click()
        expect(tried).to_contain_text("no faults found")
        sample = studio.page.locator("#sample")
        until(lambda: sample.evaluate("sound => sound.duration") > 0.1)  # NaN until it is loaded
    assert book.read_text() == before
    assert len(list((book.parent / "build" / "auditions").iterdir())) == 2
