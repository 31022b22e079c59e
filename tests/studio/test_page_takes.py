"""Takes on the page: compared, pinned, and what is undone of that; and the sound around windows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import small_model
from tests.serve.test_speech import until
from tests.studio.test_page import SOON, Studio, chromium, expect, opened, studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

pytestmark = pytest.mark.browser
__all__ = ["chromium", "studio"]


def pinned(studio: Studio, chunk: str = "1.2") -> list[int]:
    tries = studio.asked(f"/api/chunks/{chunk}")["tries"]
    return [one["number"] for one in tries if one["pinned"]]


def travels(studio: Studio, undo: str, redo: str = "") -> None:
    """The two buttons say what they would do."""
    for name, what, word in (("undo", undo, "Undo"), ("redo", redo, "Redo")):
        words = f"{word}: {what}" if what else f"Nothing to {word.lower()}"
        expect(studio.page.locator(f"#{name}")).to_have_attribute("aria-label", re.compile(words))


def speak_slower(studio: Studio, speed: str, take: int) -> None:
    """By the desk of the chosen chunk."""
    studio.press("d")
    expect(studio.page.locator("[name=speed]")).to_be_focused()
    studio.page.keyboard.type(speed)
    studio.press("Enter")
    expect(studio.page.locator(f".take[data-number='{take}'] .figures")).to_contain_text("pinned")
    studio.page.evaluate("document.activeElement.blur()")


@pytest.fixture
def slow(studio: Studio) -> Studio:
    """A rendered book, of which a slower take of 1.2 was asked for."""
    studio.render()
    studio.press("j")
    expect(studio.page.locator("#pane-chunk .number")).to_have_text("1.2")
    speak_slower(studio, "0.8", 2)
    return studio


# -- comparing -------------------------------------------------------------------------------------

LOUDEST = """canvas => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const ink = (from, to) => {
    let sum = 0;
    for (let i = from * width * 4 + 3; i < to * width * 4; i += 4) sum += data[i];
    return sum;
  };
  return ink(0, height / 2) < ink(height / 2, height);
}"""


def loudest_parts(page: Page) -> list[bool]:
    """Whether each spectrogram is drawn, with more in its lower half: speech is low."""
    return [bool(one.evaluate(LOUDEST)) for one in page.locator(".spectrogram").all()]


def test_the_better_take_is_pinned_by_the_verdict_alone(slow: Studio) -> None:
    page, said = slow.page, slow.page.locator("#said")
    slow.press("x")
    page.get_by_role("button", name="B is better").press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(said).to_contain_text("Take 1 of 1.2 is pinned")
    until(lambda: pinned(slow) == [1])
    said.get_by_role("button", name="Undo").click()
    expect(said).to_contain_text("Undone: Take 1 of 1.2 is pinned")
    expect(page.locator(".take[data-number='2'] .figures")).to_contain_text("pinned")
    slow.press("x")
    until(lambda: loudest_parts(page) == [True, True])
    page.get_by_role("button", name="A is better").press("Enter")
    expect(said).to_contain_text("Better: take 2. It stays pinned")
    travels(slow, "Take 2 of 1.2 is pinned", "Take 1 of 1.2 is pinned")


def test_a_blind_verdict_says_which_was_which_and_is_undone_there(slow: Studio) -> None:
    page, outcome = slow.page, slow.page.locator(".outcome")
    slow.press("x")
    page.get_by_role("checkbox", name="Blind").check()
    for telling in (".spectrogram", ".compare select", "#pane-chunk .figures"):
        expect(page.locator(telling).first).to_be_hidden()
    page.get_by_role("button", name="No difference").press("Enter")
    expect(outcome).to_contain_text("both takes stay as they are")
    told = outcome.inner_text()
    for telling in (".spectrogram", ".compare select", "#pane-chunk .figures"):
        expect(page.locator(telling).first).to_be_visible()
    page.get_by_role("checkbox", name="Blind").uncheck()
    page.get_by_role("checkbox", name="Blind").check()  # another round, another order
    first = re.search("A was take 1", told)
    # the order is drawn anew: the take that is not pinned is found by its length
    lengths = []
    for side in ("A", "B"):
        slow.press(side.lower())
        expect(page.get_by_role("button", name=f"Hear {side}")).to_have_attribute(
            "aria-pressed", "true"
        )
        until(lambda: page.evaluate("document.getElementById('sample').duration > 0"))
        lengths.append(page.evaluate("document.getElementById('sample').duration"))
    assert first or "B was take 1" in told
    quick = "A" if lengths[0] < lengths[1] else "B"
    page.get_by_role("button", name=f"{quick} is better").press("Enter")
    expect(outcome).to_contain_text("Better: take 1. It is pinned.")
    expect(outcome).to_contain_text(f"{quick} was take 1")
    until(lambda: pinned(slow) == [1])
    outcome.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    until(lambda: pinned(slow) == [2])


def test_a_voice_without_a_take_speaks_the_line_beside_the_others(
    chromium: Browser, tmp_path: Path
) -> None:
    book = small_model.write(tmp_path / "book", small_model.checkpoint(tmp_path))
    before = book.read_text()
    with opened(chromium, book.parent, model=True) as studio:
        page = studio.page
        page.get_by_role("button", name="Other voices").press("Enter")
        others = page.locator(".others")
        expect(others).to_contain_text("The draft voice")
        others.get_by_role("button", name="Speak this line").press("Enter")
        expect(others.locator(".take")).to_have_count(1)
        expect(page.locator("#said")).to_contain_text("The draft voice has spoken 1.1")
        travels(studio, "")
    assert book.read_text() == before


def test_a_retake_says_what_is_used_now_and_leads_to_the_comparison(slow: Studio) -> None:
    page, messages = slow.page, slow.page.locator("#said .message")
    told = messages.filter(has_text="1.2: take 2 is used now; take 1 is kept")
    expect(messages).to_have_count(1)
    expect(told.get_by_role("button", name="Undo")).to_be_visible()
    told.get_by_role("button", name="Compare").click()
    chosen = page.locator(".compare select option:checked")
    expect(chosen).to_have_text(["Take 2, pinned", "Take 1"])
    slow.press("Escape")
    expect(page.locator("#pane-chunk")).to_contain_text("Pinned: this take is used until you unpin")


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ([[], []], "the best by its score of 2 that passed their checks"),
        ([[], ["hole: 3 s"]], "the only one of 2 that passed its checks"),
    ],
)
def test_of_several_new_takes_the_message_says_why_one_is_used(
    faults: list[list[str]], reason: str, studio: Studio
) -> None:
    tries = [{"number": n, "faults": faults[n - 2]} for n in (2, 3)]
    row = {"id": "1.2", "pinned": 2, "replaced": None, "tries": tries, "failures": []}
    describe = "rows => import('/static/desk.js').then(({ retaken }) => retaken(rows))"
    said = studio.page.evaluate(describe, [row])
    assert said == f"1.2: take 2 is used now, {reason}; take 1 is kept"


def test_what_was_said_of_a_deed_goes_when_it_is_undone(slow: Studio) -> None:
    messages = slow.page.locator("#said .message")
    expect(messages).to_contain_text(["take 2 is used now"])
    slow.press("u")
    expect(messages).to_have_text([re.compile("^Undone: Take 2 of 1.2 is pinned")])
    slow.press("f")
    slow.page.keyboard.type("too fast")
    slow.press("Enter")
    expect(messages).to_have_text([re.compile("^1.2 is flagged")])
    messages.get_by_role("button", name="Undo").click()
    expect(messages).to_have_text([re.compile("^Undone: 1.2 is flagged")])


# -- undo ------------------------------------------------------------------------------------------


def test_pins_retakes_and_edits_are_undone_and_done_again_in_order(slow: Studio) -> None:
    page = slow.page
    retaken, pinning = "Take 2 of 1.2 is pinned", "Pinning take 1 of 1.2"
    travels(slow, retaken)
    slow.press("1", "p")
    travels(slow, pinning)
    until(lambda: pinned(slow) == [1])
    expect(page.locator(".take[data-number='1'] .figures")).to_contain_text("pinned")
    slow.press("Shift+P")
    travels(slow, "Unpinning 1.2")
    until(lambda: pinned(slow) == [])
    slow.press("w")
    page.get_by_role("button", name="Kirkcudbright", exact=True).click()
    page.keyboard.type("Kur-koo-bree")
    slow.press("Enter")
    travels(slow, "“Kirkcudbright”")
    slow.press("u")
    travels(slow, "Unpinning 1.2", "“Kirkcudbright”")
    slow.press("u")
    travels(slow, pinning, "Unpinning 1.2")
    until(lambda: pinned(slow) == [1])
    speak_slower(slow, "0.7", 3)
    travels(slow, "Take 3 of 1.2 is pinned")  # nothing from before is to be done again
    slow.press("Shift+U")
    expect(page.locator("#said")).to_contain_text("Nothing to redo")
    slow.press("u")
    travels(slow, pinning, "Take 3 of 1.2 is pinned")
    until(lambda: pinned(slow) == [1])
    slow.press("u", "u")
    travels(slow, "", retaken)
    until(lambda: pinned(slow) == [])
    slow.press("Shift+U", "Shift+U", "Shift+U")
    travels(slow, "Take 3 of 1.2 is pinned")
    until(lambda: pinned(slow) == [3])


def test_a_retake_that_ends_before_its_answer_can_be_undone(slow: Studio) -> None:
    def answer_late(route: Route) -> None:
        answer = route.fetch()
        until(lambda: not slow.has_jobs(), SOON / 1000)
        route.fulfill(response=answer)

    slow.page.route("**/api/jobs", answer_late)
    speak_slower(slow, "0.7", 3)
    travels(slow, "Take 3 of 1.2 is pinned")
    slow.page.unroute("**/api/jobs")
    slow.press("u")
    until(lambda: pinned(slow) == [2])


def test_what_was_pinned_already_is_no_step_of_undo(slow: Studio) -> None:
    slow.press("2", "p")
    expect(slow.page.locator("#said")).to_contain_text("Take 2 of 1.2 is pinned already")
    travels(slow, "Take 2 of 1.2 is pinned")
    slow.press("u")
    until(lambda: pinned(slow) == [])
    slow.press("Shift+P")
    expect(slow.page.locator("#said")).to_contain_text("No take of 1.2 is pinned")
    travels(slow, "")


def test_a_pin_that_failed_is_not_on_the_list(slow: Studio) -> None:
    page = slow.page

    def ask_wrong(route: Route) -> None:
        job = {**route.request.post_data_json, "number": 77}
        route.continue_(post_data=job)

    page.route("**/api/jobs", ask_wrong)
    slow.press("1", "p")
    expect(page.locator("#errors")).to_contain_text("chunk 1.2 has no try 77")
    travels(slow, "Take 2 of 1.2 is pinned")
    page.unroute("**/api/jobs")
    slow.press("Escape")  # the error


def test_the_button_undo_of_a_pin_waits_for_the_edits_after_it(slow: Studio) -> None:
    page, said = slow.page, slow.page.locator("#said")
    slow.press("1", "p")
    until(lambda: pinned(slow) == [1])
    message = said.locator(".message", has_text="Pinning take 1")
    undo = message.get_by_role("button", name="Undo").element_handle()
    slow.press("w")
    page.get_by_role("button", name="Kirkcudbright", exact=True).click()
    page.keyboard.type("Kur-koo-bree")
    slow.press("Enter")
    travels(slow, "“Kirkcudbright”")
    undo.evaluate("button => button.click()")  # the message may be gone by itself by now
    expect(said).to_contain_text("Edits came after it")
    travels(slow, "“Kirkcudbright”")


def test_a_voice_that_the_book_does_not_have_is_said_with_where_to_get_one(studio: Studio) -> None:
    studio.page.get_by_role("radio", name="Model").click()
    expect(studio.page.locator("#said")).to_contain_text("Only the draft voice speaks this book")
    expect(studio.page.get_by_role("radio", name="Draft")).to_be_checked()


# -- the panel while somebody writes in it ---------------------------------------------------------


def play_until(studio: Studio, chunk: str) -> None:
    """The sound goes on to a line and rests; by a script, which leaves the focus alone."""
    studio.page.evaluate("document.getElementById('play').click()")
    expect(studio.chunk(chunk)).to_have_attribute("aria-current", "true")
    studio.page.evaluate("document.getElementById('sound').pause()")


def test_the_panel_stays_while_somebody_writes_in_it_and_follows_afterwards(
    studio: Studio,
) -> None:
    page, number = studio.page, studio.page.locator("#pane-chunk .number")
    page.locator("#slower").click(click_count=5)
    studio.render()
    studio.press("d")
    speed = page.locator("[name=speed]")
    expect(speed).to_be_focused()
    play_until(studio, "1.2")
    expect(number).to_have_text("1.1")
    expect(speed).to_be_focused()
    page.keyboard.type("0.85")
    page.evaluate("document.activeElement.blur()")
    play_until(studio, "1.3")
    expect(number).to_have_text("1.1")
    studio.press("j", "k")  # what was written is there again
    expect(number).to_have_text("1.1")
    expect(speed).to_have_value("0.85")
    page.get_by_role("button", name="Reset").click()
    expect(speed).to_have_value("1")
    page.evaluate("document.activeElement.blur()")
    play_until(studio, "1.2")
    expect(number).to_have_text("1.2")


# -- the sound around windows ----------------------------------------------------------------------


def test_the_sound_goes_on_after_a_flag_and_not_after_an_edit(studio: Studio) -> None:
    page, play = studio.page, studio.page.locator("#play")
    page.locator("#slower").click(click_count=5)
    studio.render()

    def is_heard(yes: bool) -> None:
        expect(play).to_have_attribute("aria-label", "Pause" if yes else "Play")

    def begin() -> str:
        studio.chunk("1.2").locator(".words").click()
        is_heard(True)
        return "1.2"

    begin()
    studio.press("f")
    is_heard(False)
    page.keyboard.type("too fast")
    studio.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    is_heard(True)
    begin()
    studio.press("e")
    text = page.locator("dialog textarea")
    text.wait_for()
    is_heard(False)
    studio.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    is_heard(True)
    studio.press("Space")
    begin()
    studio.press("e")
    text.wait_for()
    text.fill(text.input_value().replace("wet", "dry"))
    studio.press("Control+Enter")
    expect(studio.chunk("1.2")).to_contain_text("dry")
    expect(studio.chunk("1.2")).not_to_contain_text("being saved")
    is_heard(False)
    expect(page.locator("#pane-chunk .number")).to_have_text("1.2")


def test_a_window_that_closes_leaves_the_choice_alone(studio: Studio) -> None:
    page = studio.page
    studio.press("j")
    expect(studio.chunk("1.2")).to_be_focused()
    studio.press("?")
    page.locator("dialog").wait_for()
    page.evaluate("import('/static/store.js').then((store) => store.choose(3))")
    expect(studio.chunk("1.4")).to_have_class(re.compile("chosen"))
    studio.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(studio.chunk("1.4")).to_be_focused()
    expect(studio.chunk("1.4")).to_have_class(re.compile("chosen"))


# -- time left -------------------------------------------------------------------------------------


def test_the_time_left_is_said_in_steps_and_of_the_stage_that_is_named(studio: Studio) -> None:
    page, status = studio.page, studio.page.locator("#status")

    def tell(**event: object) -> None:
        page.evaluate(
            "event => import('/static/store.js').then((store) => store.emit('event:job', event))",
            event,
        )

    job = {"id": "x", "kind": "render", "pausable": True, "chapters": [], "chunks": []}
    tell(event="started", job=job)
    for phase, left, words in (
        ("render", None, "Rendering 50 %"),
        ("render", 8000, "Rendering 50 %, 2 h 10 min left"),
        ("render", 1400, "Rendering 50 %, 25 min left"),
        ("render", 176, "Rendering 50 %, 3 min left"),
        ("render", 89, "Rendering 50 %, 1 min left"),
        ("encode", 33, "Encoding 50 %, 40 s left"),
        ("check", 4, "Checking the files 50 %, a few seconds left"),
    ):
        tell(event="progress", job="x", phase=phase, what="", done=1, of=2, left=left)
        expect(status).to_have_text(words)
    tell(event="ended", job="x", kind="render", exit=0, error="", summary={})


# -- what is said ----------------------------------------------------------------------------------


def test_messages_cover_neither_the_text_nor_the_player(studio: Studio) -> None:
    page = studio.page
    for width in (1400, 1000, 700):
        page.set_viewport_size({"width": width, "height": 900})
        for words in ("First", "Second"):
            page.evaluate(
                "words => import('/static/messages.js').then(({ say }) => say(words))", words
            )
        message = page.locator("#said .message", has_text="First")
        message.wait_for()
        boxes = [page.locator(name).bounding_box() for name in ("#text", "#said", "#transport")]
        text, said, transport = (box or {} for box in boxes)
        assert text["y"] + text["height"] <= said["y"] + 1
        assert said["y"] + said["height"] <= transport["y"] + 1
        assert transport["y"] + transport["height"] <= 901


def test_a_file_that_is_older_than_the_book_is_said_until_it_is_exported(studio: Studio) -> None:
    page, status = studio.page, studio.page.locator("#status")
    studio.render()
    book = studio.folder / "book.yaml"
    book.write_text(book.read_text() + "pauses: {speaker: 2.5}\n")
    expect(status).to_have_text("Everything is spoken; the file is older: Export")
    studio.press("Shift+R")
    page.locator("#export-now").click()
    expect(status).to_have_text("Everything is rendered")


def test_a_book_whose_files_are_being_written_is_not_all_rendered(studio: Studio) -> None:
    studio.render()
    studio.press("Shift+R")
    studio.page.evaluate("""() => import('/static/store.js').then(({ emit }) => {
      const job = { id: "made-up", kind: "export", chapters: [], chunks: [], engine: "draft" };
      emit("event:job", { event: "started", job });
      emit("event:job", { event: "progress", phase: "encode", done: 22, of: 100 });
    })""")
    big = studio.page.locator("#pane-render .big")
    expect(big).to_have_text(
        [re.compile("^Encoding 22 %"), "Everything is spoken; the files are being written"]
    )


def test_a_click_counts_though_what_was_pressed_is_drawn_anew(studio: Studio) -> None:
    page = studio.page

    def press(target: Locator, redraw: str) -> None:
        target.hover()
        page.mouse.down()
        pressed = target.element_handle()
        target.evaluate(redraw)
        assert not pressed.evaluate("pressed => pressed.isConnected")
        page.mouse.up()

    studio.press("Shift+R")
    with page.expect_response("**/api/jobs"):
        draw = "() => import('/static/store.js').then(({ emit }) => emit('jobs'))"
        press(page.locator("#render-now"), draw)
    until(lambda: not studio.has_jobs(), SOON / 1000)
    expect(page.locator("#status")).to_have_text("Everything is rendered")
    studio.press("Escape")
    studio.choose("1.1")
    copy = "words => words.parentElement.replaceWith(words.parentElement.cloneNode(true))"
    press(studio.chunk("1.3").locator(".words"), copy)
    expect(page.locator("#pane-chunk .number")).to_have_text("1.3")
