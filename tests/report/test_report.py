"""A page about a small project: its facts are right, and nothing on it is lost or unsafe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from lxml import html

from narrator import report
from narrator.engines import Request, Speech
from narrator.errors import EnvironmentFailed
from narrator.pipeline import book_plan
from narrator.pipeline.manuscript import count_visible_characters
from narrator.report import ProjectFacts, facts, sound
from narrator.report.sound import ChapterSound, CurveCache
from narrator.sound.audio import SPEECH_LEAD, SPEECH_TAIL
from tests import books
from tests.effort import quick
from tests.fakes import RATE, HumEngine, hum

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MANIFEST = books.MANIFEST.replace("The Ferry", "'The <script>alert(1)</script> Ferry 🛶 & מעבורת'")
MANIFEST = MANIFEST.replace("formats: [wav]", "formats: [mp3]").replace("Morning", "'A & <b>'")
ONE = books.ONE.replace("***", "![A ferry](ferry.png)\n\n***", 1)
GIVEN_UP = "I shall come again tomorrow, if the weather holds and my aunt does not find out."
TWICE = "I have no money, but I can row."
SLOW = "The lamps were lit on both banks."


def faults(request: Request) -> Speech | None:
    """One chunk is never good, one only at its second try, and one is slow."""
    spoken = hum(request)
    silent = np.zeros_like(spoken.samples)
    if request.text.strip() in GIVEN_UP or GIVEN_UP in request.text:
        return replace(spoken, samples=silent)
    if TWICE in request.text and request.attempt == 0:
        return replace(spoken, samples=silent)
    if SLOW in request.text:
        return hum(replace(request, expected=request.expected * 1.55))
    return None


def rendered(
    folder: Path,
    fault: Callable[[Request], Speech | None] = faults,
    manifest: str = MANIFEST,
    one: str = ONE,
    two: str = books.TWO,
) -> book_plan.BookPlan:
    path = books.write(folder, manifest, one, two)
    engine = HumEngine(fault=fault)
    books.run(path, engine)
    return books.plan(path, engine)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> book_plan.BookPlan:
    """Two chapters, of which the second lacks a chunk."""
    return rendered(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def written(book) -> tuple[ProjectFacts, str]:
    path = report.page_path(book)
    found = report.write(
        book, path, spectrograms=[0], on_progress=lambda what, share: None, now=NOW
    )
    return found, path.read_text("utf-8")


def texts(page: str, section: str) -> str:
    """Returns the text of a section, marks of direction included."""
    tree = html.document_fromstring(page)
    return " ".join(tree.xpath(f"//section[h2[@id='{section}']]")[0].text_content().split())


def articles(page: str) -> list[str]:
    """The chapters that stand on a page, as they are called by links."""
    return re.findall(r'<article id="([^"]+)"', page)


# -- facts -----------------------------------------------------------------------------------------


def test_every_character_is_accounted_for(written):
    found = written[0].characters
    assert found.balanced
    assert found.left_out == count_visible_characters("![A ferry](ferry.png)")
    assert found.given_up == count_visible_characters(GIVEN_UP)
    assert found.not_rendered == 0
    assert found.source == found.spoken + found.left_out + found.given_up


def test_chapters_say_how_far_they_are(written):
    one, two = written[0].chapters
    assert (one.missing, one.given_up, one.current) == (0, 0, True)
    assert one.file is not None
    assert one.file.path.suffix == ".mp3"
    assert (two.missing, two.given_up, two.seconds, two.file) == (1, 1, None, None)
    assert not written[0].complete


def test_retries_and_flags_come_with_their_faults(written):
    up, again = written[0].troubles
    assert (up.given_up, up.place.text.strip(), up.place.speaker) == (True, GIVEN_UP, "ann")
    assert any("silent" in fault for fault in up.faults)
    assert re.fullmatch(r"text/two\.md:\d+", up.place.source)
    assert (again.given_up, again.tries, again.place.text.strip()) == (False, 2, TWICE)
    assert any("silent" in fault for fault in again.faults)
    assert written[0].retries == 1


@pytest.mark.parametrize("strict", quick([False, True], False))
def test_a_doubtful_chunk_is_shown_with_its_faults(strict, tmp_path):
    def fault(request: Request) -> Speech | None:
        is_bad = request.text.strip() in GIVEN_UP or GIVEN_UP in request.text
        return replace(hum(request), stop="cap") if is_bad else None

    manifest = books.MANIFEST + ("checks: {strict: true}\n" if strict else "")
    book = rendered(tmp_path, fault, manifest, books.BRIEF_ONE, f"# Evening\n\nann: {GIVEN_UP}\n")
    path = report.page_path(book)
    found = report.write(book, path, spectrograms=[], on_progress=lambda what, share: None, now=NOW)
    [trouble] = found.troubles
    assert (trouble.outcome, trouble.doubtful) == (
        "doubtful, held back" if strict else "doubtful",
        True,
    )
    assert trouble.faults == ("cut: stopped at its length limit",)
    assert (found.doubtful, found.missing) == (1, int(strict))
    assert found.characters.given_up == (count_visible_characters(GIVEN_UP) if strict else 0)
    assert found.characters.balanced
    page = path.read_text("utf-8")
    said = "Incomplete: 1 chunk of" if strict else "Delivered, with 1 doubtful chunk"
    assert said in page
    assert "0 chunks given up, 1 chunk doubtful" in texts(page, "retries")


def test_what_is_slow_for_its_speaker_is_an_outlier(written):
    slow = [pace for pace in written[0].paces if SLOW in pace.place.text]
    assert [pace.outlier for pace in slow] == [True]
    assert slow[0].against == pytest.approx(1.55, rel=0.1)
    assert written[0].outliers == slow


def test_pauses_are_those_of_the_manifest(book, written):
    pauses = book.manuscript.project.manifest.pauses
    kinds = {pause.kind: pause.seconds for pause in written[0].pauses}
    assert kinds["scene"] == pauses.scene
    assert kinds["speaker"] == pauses.speaker
    by_chapter = [sum(step.chapter == n for step in book.steps) for n in (0, 1)]
    assert len(written[0].pauses) == sum(count - 1 for count in by_chapter)


def test_pauses_equal_the_gaps_of_the_timeline(written):
    chapter = [pause for pause in written[0].pauses if pause.after.chapter == 0]
    places = [pace.place for pace in written[0].paces if pace.place.chapter == 0]
    gaps = [after.start - place.stop for place, after in pairwise(places)]
    heard = [gap + SPEECH_LEAD + SPEECH_TAIL for gap in gaps]  # with the quiet within takes
    assert [pause.heard for pause in chapter] == pytest.approx(heard, abs=1e-3)
    assert not any(pause.bad for pause in chapter)


def test_joins_are_bad_where_a_pause_is_longer_or_an_edge_at_fault(written):
    pause = written[0].pauses[0]
    assert replace(pause, seconds=0.05, heard=0.095).bad
    assert replace(pause, faults=("cut: ends in the middle of a sound",)).bad
    assert not replace(pause, heard=None).bad


def test_chains_are_counted_with_their_modes(book, written):
    chains = written[0].chains
    assert sum(length * number for length, number in chains.lengths.items()) == len(book.steps)
    assert max(chains.lengths) > 1
    assert sum(chains.modes.values()) == len(book.steps)


def test_shares_of_voices_sum_to_one(written):
    speakers = written[0].speakers
    assert [speaker.name for speaker in speakers] == ["narrator", "ann"]
    assert sum(speaker.share for speaker in speakers) == pytest.approx(1)


def test_a_file_of_other_text_is_said_to_be_out_of_date(tmp_path):
    path, engine = books.brief(tmp_path), HumEngine()
    books.run(path, engine)
    books.brief(tmp_path, one=books.BRIEF_ONE.replace("at seven", "at nine"))
    found = facts.gather(books.plan(path, engine), NOW)
    assert [file.note for file in found.files] == ["out of date", ""]
    assert [chapter.current for chapter in found.chapters] == [False, True]


def test_a_project_that_was_never_rendered_has_a_page_too(tmp_path):
    path = books.brief(tmp_path)
    book = books.plan(path, HumEngine())
    out = tmp_path / "page.html"
    found = report.write(book, out, on_progress=lambda what, share: None)
    assert found.characters.not_rendered == found.characters.source > 0
    page = out.read_text("utf-8")
    assert f"{len(book.steps)} chunks of {len(book.steps)} missing" in page
    assert "None has been made yet" in texts(page, "files")


# -- the page --------------------------------------------------------------------------------------


def test_the_page_is_well_formed(written):
    page = written[1]
    parser = html.HTMLParser(recover=False)
    tree = html.document_fromstring(re.sub(r"</?bdi[^>]*>|<svg.*?</svg>", "", page), parser)
    assert tree.xpath("//h1")
    whole = html.document_fromstring(page)
    ids = whole.xpath("//@id")
    assert len(ids) == len(set(ids))
    for target in whole.xpath("//@href[starts-with(., '#')]"):
        assert target[1:] in ids
    for name in re.findall(r"url\(#([^)]+)\)", page):
        assert name in ids


def test_nothing_is_fetched_from_anywhere(written):
    page = written[1]
    assert "http" not in page
    tree = html.document_fromstring(page)
    assert not tree.xpath("//link | //iframe | //script[@src]")
    for address in tree.xpath("//img/@src | //image/@href"):
        assert address.startswith("data:")
    assert "@import" not in page


def test_words_of_authors_are_text_and_nothing_else(written):
    tree = html.document_fromstring(written[1])
    assert len(tree.xpath("//script")) == 1
    assert "The <script>alert(1)</script> Ferry 🛶 & מעבורת" in tree.xpath("//h1")[0].text_content()
    assert "A & <b>" in texts(written[1], "chapters")


def test_outliers_faults_and_what_is_left_out_stand_on_the_page(written):
    found, page = written
    for pace in found.outliers:
        assert f"{pace.against:.2f}" in texts(page, "pace")
        assert pace.place.source in texts(page, "pace")
    for trouble in found.troubles:
        said = texts(page, "retries")
        assert trouble.place.source in said
        assert all(fault in said for fault in trouble.faults)
    for item in found.left_out:
        said = texts(page, "unspoken")
        assert item.text in said
        assert item.reason in said
        assert item.source in said


def test_links_lead_to_the_files_that_are_there(book, written):
    folder = report.page_path(book).parent
    tree = html.document_fromstring(written[1])
    links = [link for link in tree.xpath("//a/@href | //audio/@src") if link[0] != "#"]
    assert links
    for link in links:
        assert (folder / unquote(link.partition("#")[0])).is_file()


def test_a_chunk_is_linked_to_where_it_is_heard(written):
    tree = html.document_fromstring(written[1])
    again = written[0].troubles[1].place
    (link,) = tree.xpath(f"//section[h2[@id='retries']]//a[text()='{again.chunk}']")
    assert float(link.get("data-at")) == pytest.approx(again.start - 0.2, abs=0.01)
    assert tree.xpath(f"//audio[@id='{link.get('data-player')}']")


def test_pictures_have_words_and_the_colours_of_the_page(written):
    tree = html.document_fromstring(written[1])
    pictures = tree.xpath("//figure//svg")
    assert len(pictures) >= 6
    assert all(picture.get("aria-label") for picture in pictures)
    drawn = "".join(re.findall(r"<svg.*?</svg>", written[1]))
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) <= {"#000000"}
    assert {"var(--wave)", "var(--accent)", "var(--warn)"} <= set(
        re.findall(r"var\(--\w+\)", drawn)
    )


def test_a_chapter_is_written_before_the_next_one_is_drawn(written, tmp_path):
    from narrator.report import page  # needs the extra

    text: list[str] = []
    before: list[str] = []
    sounds = page.Sounds({}, {}, {}, CurveCache(tmp_path))
    for piece in page.pieces(
        written[0], sounds, tmp_path, lambda done, total: before.append("".join(text))
    ):
        text.append(piece)
    shown = [["chapter-1" in said, "chapter-2" in said] for said in map(articles, before)]
    assert shown == [[False, False], [True, False], [True, True]]


def test_the_same_project_gives_the_same_page_and_reads_no_sound(book, written, monkeypatch):
    def never(*arguments: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(sound, "_read_curves", never)
    monkeypatch.setattr(sound.postflight, "measure_sound_file", never)
    path = report.page_path(book)
    report.write(book, path, spectrograms=[0], on_progress=lambda what, share: None, now=NOW)
    assert path.read_text("utf-8") == written[1]


@pytest.mark.slow
def test_torn_curves_are_measured_again(book, written):
    folder = book.manuscript.project.build / "report-cache"
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:40])
    path = report.page_path(book)
    report.write(book, path, spectrograms=[0], on_progress=lambda what, share: None, now=NOW)
    assert path.read_text("utf-8") == written[1]


def test_without_the_extra_it_is_one_line(book, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFailed, match=r"pip install .*\[report\]"):
        report.write(book, tmp_path / "p.html", on_progress=lambda what, share: None)


def test_files_are_held_to_their_profiles_and_the_first_one_is_heard(tmp_path):
    output = "output: {profile: [audiobookshelf, ebu-r128]}"
    manifest = re.sub(r"output: .*", output, MANIFEST)
    book = rendered(tmp_path, lambda request: None, manifest, books.BRIEF_ONE, books.BRIEF_TWO)
    out = tmp_path / "page.html"
    found = report.write(book, out, on_progress=lambda what, share: None)
    assert found.complete
    page = out.read_text("utf-8")
    assert "Spectrogram" not in page  # it was not asked for
    said = texts(page, "files")
    assert "against ebu-r128" in said
    assert "-24 to -22 LUFS" in said
    assert "−23.0" in said
    one, two = found.chapters
    assert one.file == two.file is not None
    assert one.file.path.suffix == ".m4b"
    figures = html.document_fromstring(page).xpath("//figure[@data-from]")
    begins = [float(figure.get("data-from")) for figure in figures]
    assert begins == pytest.approx([0, one.seconds], abs=0.1)


# -- sound -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("cut", [(1000,), (3, 997), (64, 64, 872), (999, 1), (500, 0, 500)])
def test_an_envelope_does_not_depend_on_how_sound_is_cut(size, cut):
    draw = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    envelope = sound._Envelope(size)
    for block in np.split(draw, np.cumsum(cut)[:-1]):
        envelope.feed(block)
    low, high = envelope.finish()
    edges = np.arange(0, 1000, size)
    assert np.array_equal(low, np.minimum.reduceat(draw, edges))
    assert np.array_equal(high, np.maximum.reduceat(draw, edges))
    assert envelope.count == 1000


def test_a_spectrum_shows_a_tone_at_its_pitch():
    rate = 16000
    times = np.arange(rate * 4) / rate
    spectrum = sound._Spectrum(rate, len(times))
    for block in np.split(
        np.sin(2 * np.pi * 1000 * times).astype(np.float32), 7999 * np.arange(1, 8)
    ):
        spectrum.feed(block)
    image = spectrum.finish()
    assert image.shape[0] == sound.BANDS
    assert image.shape[1] <= sound.COLUMNS
    band = int(image.mean(axis=1).argmax())
    assert (band + 1) / (sound.BANDS + 1) == pytest.approx(
        sound.mel(1000) / sound.mel(spectrum.top), abs=0.02
    )


def test_chapters_of_one_file_are_cut_where_they_begin(tmp_path):
    import soundfile

    loud, soft = np.full(RATE * 5, 0.5, np.float32), np.full(RATE * 3, 0.1, np.float32)
    path = tmp_path / "book.wav"
    soundfile.write(path, np.concatenate([loud, soft, loud]), RATE, subtype="FLOAT")
    parts = [
        ChapterSound(0, 0, 5, False),
        ChapterSound(1, 5, 3, False),
        ChapterSound(2, 8, 5, False),
    ]
    kept = CurveCache(tmp_path / "kept")
    told: list[float] = []
    found = sound.curves({path: parts}, kept, told.append)
    assert [round(found[n].seconds, 3) for n in range(3)] == [5, 3, 5]
    assert [float(found[n].high.max()) for n in range(3)] == pytest.approx([0.5, 0.1, 0.5])
    assert [float(found[n].high.min()) for n in range(3)] == pytest.approx([0.5, 0.1, 0.5])
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    one = sound.curves({path: parts[1:2]}, CurveCache(tmp_path / "other"), told.append)
    assert np.array_equal(one[1].high, found[1].high)
