"""The report in a browser: in the studio, by mouse and keys, and as the file that is handed on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from narrator.studio import saved_report
from tests.report.test_report import rendered
from tests.serve.test_speech import until
from tests.studio.test_page import chromium, expect, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
__all__ = ["chromium"]


def charts_in(page: Page) -> int:
    """Charts that are drawn; none reaches over the edge."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return page.locator("#report .chart svg path, #report .chart svg rect").count()


def test_the_report_is_opened_measured_and_leads_to_its_chunks(
    chromium: Browser, spoken: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(spoken, tmp_path / "book")
    with opened(chromium, folder) as studio:
        report = studio.page.locator("#report")
        studio.press("b")
        expect(report.get_by_role("heading", level=1)).to_contain_text("Walks")
        expect(report.locator(".key")).to_contain_text("stick out")
        words = report.inner_text()
        assert words.count("loudness units relative to full scale") == 1
        assert not re.search("zero-shot|sampler", words)
        assert "Lines are rendered side by side" in words
        expect(studio.page.locator("#chapters .name")).to_contain_text(["1 · Out", "2 · Home"])
        expect(report.get_by_role("heading", name="Loudness")).to_have_count(0)
        report.get_by_role("button", name="Measure loudness and pitch").press("Enter")
        expect(report.get_by_role("heading", name="Loudness")).to_be_visible()
        assert charts_in(studio.page) > 20
        table = report.get_by_role("region", name="Loudness by chapter")
        report.get_by_text("The numbers").first.press("Enter")
        expect(table).to_contain_text("Home")
        longest = report.get_by_text(re.compile("The . longest"))
        longest.press("Enter")
        report.get_by_role("region", name="Longest pauses").get_by_role("button").first.click()
        expect(studio.page.locator("#play")).to_have_attribute("aria-label", "Pause")
        studio.press("Space")
        studio.press("Escape")
        expect(report).to_be_hidden()
        expect(studio.page.locator(".chunk.chosen")).to_be_focused()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_saved_report_draws_itself_and_plays_a_take(
    chromium: Browser, tmp_path: Path, width: int
) -> None:
    book = rendered(tmp_path)
    saved_report.write(book, tmp_path / "page.html", lambda what, share: None)
    context = chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text(book.project.manifest.title)
    page.get_by_role("link", name="Chapter by chapter").click()
    expect(page.locator("article svg").first).to_be_visible()
    assert charts_in(page) > 20
    page.get_by_role("button", name="1.5").first.click()
    until(lambda: page.evaluate("document.querySelector('#player-1').currentTime > 0"))
    assert not wrong
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tmp_path / "page.html", alone)
    page.goto((alone / "page.html").as_uri())
    page.locator("#player-1").evaluate("player => player.load()")
    expect(page.locator("article").first).to_contain_text("was not handed on with this page")
    context.close()


PICKUPS = """\
done,chapter,time,chunk,speaker,source,text,note,who
,2,00:00:01.0,2.2,Ada,home.md:3,At last.,Slower here; the walk is a long one,Ann
x,1,,1.2,Ada,out.md:5,Not far now.,Tired,
,2,00:00:03.0,2.9,narrator,chapters/02-the-arrival-of-the-stranger-at-the-inn.md:145,Zebras.,“oo”,Ben
"""


def test_pickups_in_the_report_name_people_and_lead_to_their_lines(
    chromium: Browser, spoken: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(spoken, tmp_path / "book")
    (folder / "book.pickups.csv").write_text(PICKUPS, encoding="utf-8")
    (folder / "import-report.md").write_text("# Import of a.docx\n", encoding="utf-8")
    with opened(chromium, folder) as studio:
        studio.page.set_viewport_size({"width": 1440, "height": 900})
        studio.press("b")
        table = studio.page.get_by_role("region", name="Table: Pickups")
        expect(table.locator("tbody tr")).to_have_count(3)
        cells = table.locator("tbody tr").nth(0).locator("td")
        heads = table.locator("th").all_inner_texts()
        expect(cells.nth(heads.index("noted by"))).to_have_text("Ann")
        states = table.locator(f"td:nth-child({heads.index('state') + 1})")
        expect(states).to_have_text(["to do", "done", "its text is gone"])
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
        left_out = studio.page.locator("section[aria-labelledby=report-unspoken]")
        expect(left_out).to_contain_text("import-report.md")
        cells.get_by_role("button", name="2.2").click()
        expect(studio.page.locator("#pane-chunk .number")).to_have_text("2.2")
        expect(studio.page.locator("#play")).to_have_attribute("aria-label", "Pause")
        studio.press("Space")
