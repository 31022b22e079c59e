"""Who speaks is found on the page, and one of the minor cast gets a voice of their own.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.test_edits_voices import WORDS, wav
from tests.serve.test_speech import until
from tests.studio.test_edit_routes import NOVEL
from tests.studio.test_page import BOOK, chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["chromium"]


def test_a_cast_is_found_and_taken_back(chromium: Browser, tmp_path: Path) -> None:
    manifest, book = tmp_path / "book.yaml", BOOK.replace(
        "speakers: {narrator: {}, Ada: {}, Ben: {}} # the cast\n", ""
    )  # fmt: skip
    manifest.write_text(book)
    (tmp_path / "out.md").write_text(NOVEL)
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        page.evaluate(
            """new MutationObserver(() => {
                const bar = document.querySelector("#pane-cast progress");
                if (bar) (window.stages ??= new Set()).add(bar.parentElement.textContent);
            }).observe(document.getElementById("pane-cast"), { childList: true, subtree: true })"""
        )
        page.get_by_role("button", name="Find who speaks").press("Enter")
        people = page.locator(".person .name")
        expect(people.filter(has_text="Ada")).to_have_count(1)
        expect(page.locator("#pane-cast [role=status]").first).to_contain_text(
            "Next: look at the names"
        )
        stages = " ".join(page.evaluate("[...window.stages]"))
        assert "Deciding who says what" in stages
        studio.press("Escape", "u")
        until(lambda: manifest.read_text() == book)


def test_a_minor_one_gets_a_voice_of_their_own(chromium: Browser, tmp_path: Path) -> None:
    manifest = tmp_path / "book.yaml"
    book = BOOK.replace("Ben: {}", "men: {pronoun: he, plays: [Ben, Tom]}")
    manifest.write_text(book)
    (tmp_path / "out.md").write_text("Ada: I see.\n\nBen: And I.\n\nTom: And I.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        tom = page.locator(".person", has_text="Tom")
        tom.press("Enter")
        page.get_by_role("button", name="Give a voice of their own").press("Enter")
        expect(tom).to_contain_text("A man, ")
        expect(page.get_by_role("textbox", name="What it is like")).to_have_value(
            re.compile("A man, ")
        )
        studio.press("Control+z")
        until(lambda: manifest.read_text() == book)


def test_what_a_merge_costs_is_said_before_it_and_after(chromium: Browser, tmp_path: Path) -> None:
    manifest = tmp_path / "book.yaml"
    manifest.write_text(BOOK)
    (tmp_path / "out.md").write_text(
        "Ada: I see.\n\nnarrator: Rain.\n\nBen: And I.\n\nnarrator: Snow.\n\nAda: No more.\n"
    )
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.render()
        studio.press("c")
        page.locator(".person", has_text="Ada").press("Enter")
        page.get_by_text("Rename, merge, pronoun").click()
        page.get_by_label("Merge Ada into").select_option("Ben")
        outcome = "All lines of Ada go to Ben, with the voice of Ben; “Ada” becomes another name of"
        expect(page.locator("#pane-cast")).to_contain_text(outcome)
        cost = "2 lines of Ada must then be spoken again, in the voice of Ben."
        expect(page.locator("#pane-cast")).to_contain_text(cost)
        page.get_by_role("button", name="Merge into Ben").press("Enter")
        told = page.locator("#said .message", has_text="Ada is Ben")
        expect(told).to_have_text([re.compile("Ada is Ben. 2 lines must be spoken again")])
        expect(told.get_by_role("button", name="Undo")).to_be_visible()
        studio.press("Escape", "u")
        expect(told).to_have_text([re.compile("^Undone: Ada is Ben")])
        until(lambda: manifest.read_text() == BOOK)


def test_a_part_of_somebody_s_lines_is_given_to_somebody_new(
    chromium: Browser, tmp_path: Path
) -> None:
    manifest = tmp_path / "book.yaml"
    manifest.write_text(BOOK)
    out = "Ada: I see.\n\nBen: And I.\n\nAda: So am I.\n\nBen: Yes.\n\nAda: No more.\n"
    (tmp_path / "out.md").write_text(out)
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        page.locator(".person", has_text="Ada").press("Enter")
        page.get_by_text("Rename, merge, pronoun").click()
        page.get_by_role("button", name="Some lines are somebody else").press("Enter")
        page.get_by_label("to line").select_option("2")
        expect(page.get_by_label("Which of these lines")).to_have_value("Ada")
        page.get_by_role("dialog").get_by_label("Or somebody new").fill("Eve")
        page.get_by_role("button", name="Save").press("Enter")
        expect(page.locator("#said")).to_contain_text("Eve says 2 parts")
        given = "Eve: I see.\n\nBen: And I.\n\nEve: So am I.\n\nBen: Yes.\n\nAda: No more.\n"
        assert (tmp_path / "out.md").read_text() == given
        assert "Eve" in manifest.read_text()


def test_a_name_of_two_words_is_found_in_a_large_cast(chromium: Browser, tmp_path: Path) -> None:
    names = [f"Ann {letter}ell" for letter in "ABCDEFGHIJKLM"]
    cast = ", ".join(f"{name}: {{}}" for name in names)
    manifest = BOOK.replace("Ada: {}, Ben: {}", cast)
    (tmp_path / "book.yaml").write_text(manifest)
    (tmp_path / "out.md").write_text("".join(f"{name}: I see.\n\n" for name in names))
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        studio.press("c")
        studio.page.get_by_role("searchbox", name="Find a name").press_sequentially("ann b")
        expect(studio.page.locator(".person .name")).to_have_text(["Ann Bell"])


def test_the_settings_of_a_person_come_into_view(chromium: Browser, tmp_path: Path) -> None:
    names = [f"Ann {letter}ell" for letter in "ABCDEFGHIJ"]
    (tmp_path / "book.yaml").write_text(
        BOOK.replace("Ada: {}, Ben: {}", ", ".join(f"{name}: {{}}" for name in names))
    )
    lines = [f"{name}: I see.\n\n***\n\n" for name in names]
    (tmp_path / "out.md").write_text("".join(lines) + lines[-1] * 3)
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        page.set_viewport_size({"width": 1440, "height": 800})
        studio.press("c")
        pane, person = page.locator("#pane-cast"), page.locator(".person", has_text="Ann Aell")
        person.evaluate(
            """person => {
                const pane = document.querySelector("#pane-cast");
                pane.scrollTop += person.getBoundingClientRect().bottom
                    - pane.getBoundingClientRect().bottom;
            }"""
        )
        person.press("Enter")
        summary = page.get_by_text("Rename, merge, pronoun")
        expect(summary).to_be_in_viewport(ratio=1)
        assert pane.evaluate("pane => pane.scrollTop") > 0
        summary.click()
        expect(page.get_by_label("Merge Ann Aell into")).to_be_in_viewport()


def test_more_lines_than_are_listed_are_counted(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text("Ada: I see.\n\nBen: And I.\n\n" * 4)
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        studio.press("c")
        studio.page.locator(".person", has_text="Ada").press("Enter")
        expect(studio.page.locator("#pane-cast")).to_contain_text("3 of 4 lines, to try voices on")


def test_an_undone_merge_is_seen_at_once_in_the_cast_and_the_text(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "out.md").write_text("Ada: I see.\n\nBen: And I.\n\nAda: No more.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page, names = studio.page, studio.page.locator(".person .name")
        page.route("**/api/book", lambda route: None)  # before the book is planned
        studio.press("c")
        page.locator(".person", has_text="Ada").press("Enter")
        page.get_by_text("Rename, merge, pronoun").click()
        page.get_by_label("Merge Ada into").select_option("Ben")
        page.get_by_role("button", name="Merge into Ben").press("Enter")
        expect(names.filter(has_text="Ada")).to_have_count(0)
        expect(studio.chunk("1.1")).to_contain_text("Ben: ")
        page.get_by_role("button", name="Ada is somebody else").press("Enter")
        expect(names.filter(has_text="Ada")).to_have_count(1)
        for count in (0, 1):
            studio.press("Control+z")
            expect(names.filter(has_text="Ada")).to_have_count(count)
        expect(studio.chunk("1.1")).to_contain_text("Ada: ")


def test_the_rights_in_a_recording_are_noted_below_it(chromium: Browser, tmp_path: Path) -> None:
    manifest = tmp_path / "book.yaml"
    clip = f"{{reference: ada.wav, transcript: '{WORDS}', rights: {{origin: Ann Smith}}}}"
    manifest.write_text(BOOK.replace("Ada: {}", f"Ada: {{voice: {clip}}}"))
    (tmp_path / "ada.wav").write_bytes(wav())
    (tmp_path / "out.md").write_text("Ada: I see.\n")
    (tmp_path / "home.md").write_text("They came home.\n")
    with opened(chromium, tmp_path) as studio:
        page = studio.page
        studio.press("c")
        page.locator(".person", has_text="Ada").click()
        expect(page.get_by_role("textbox", name="Whose voice it is")).to_have_value("Ann Smith")
        page.get_by_role("textbox", name="Who agreed to its use").fill("by letter")
        page.get_by_role("button", name="Give this voice").click()
        until(lambda: "rights: {origin: Ann Smith, consent: by letter}" in manifest.read_text())
