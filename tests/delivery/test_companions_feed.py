from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import feedparser
import pytest
from lxml import etree
from typer.testing import CliRunner

from narrator.cli import companions as commands
from narrator.delivery import companions, export
from narrator.delivery.companions import SpokenChapter, feed
from narrator.delivery.export import BookAudio
from narrator.delivery.provenance import VOCABULARY
from narrator.errors import UserError
from narrator.pipeline import book_engines
from narrator.project.facts import BookFacts
from narrator.project.profiles import PLAIN_PROFILE
from tests import books
from tests.fakes import HumEngine
from tests.sound_files import write
from tests.sounds import tone
from tests.spoken_books import spoken

NS = {
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "podcast": "https://podcastindex.org/namespace/1.0",
    "atom": "http://www.w3.org/2005/Atom",
}
SHOW = feed.Show(
    url="https://example.org/show/feed.xml",
    link="https://example.org/show/",
    title="Fish & <Chips> 🐟",
    description="Two people talk.",
    language="en-GB",
    author="A. Author",
    category=("Arts", "Books"),
    explicit=False,
    serial=False,
)


def deliver(
    out: Path, tags: BookFacts, *formats: str, titles: tuple[str, ...] = ("One", "Two")
) -> None:
    """Real files with tags, and their companions."""
    chapters: list[SpokenChapter] = [
        spoken("ann: Hello to you all.\n\nbob: Hello.\n", n, title=title)
        for n, title in enumerate(titles, 1)
    ]

    def sound(one: SpokenChapter) -> Iterator[Any]:
        yield tone(one.timeline.length / 8000, rate=8000)

    ready = [
        export.ChapterAudio(c.number, c.title, f"{c.number:040}", c.timeline, lambda c=c: sound(c))  # type: ignore[misc]
        for c in chapters
    ]
    way = export.OutputTarget(replace(PLAIN_PROFILE, formats=formats))
    done = export.export(
        BookAudio(ready, tags), [way], output_folder=out, cache_folder=out.parent / ".kept"
    )
    companions.write(
        chapters, done.files, ["vtt", "srt", "chapters"], tags=tags, book=out / "b.epub"
    )


def tags(title: str, part: str = "", date: str = "2026-11-01") -> BookFacts:
    return BookFacts(
        title=title, authors=("A. Author",), narrators=("N. Voice",), series="Fish & Chips",
        part=part, date=date, description=f"About {title}.", language="en-GB",
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes in folders of their own, with a space and letters in their names."""
    root = tmp_path_factory.mktemp("show")
    deliver(root / "ep 1", tags("Épisode 一", "1", "2026-11-01"), "mp3", "m4b")
    deliver(root / "ep 2", tags("Zwei & <drei>", "2", "2026-11-08"), "mp3")
    (root / "cover.jpg").write_bytes(b"picture")
    return root


def episodes(folder: Path, *, chapters: bool = False) -> list[feed.Episode]:
    files, _ = feed.find_sounds_and_manifests(folder)
    return feed.episodes(dict.fromkeys(files, feed.COMPANIONS), chapters=chapters)


def feed_of(folder: Path, show: feed.Show = SHOW, **more: Any) -> Any:
    found = episodes(folder)
    return etree.fromstring(
        feed.build_feed(show, found, folder, "https://example.org/show", **more)
    )


def test_an_episode_states_the_origin_of_its_sound(folder: Path) -> None:
    def texts(episode: feed.Episode) -> dict[str, str]:
        xml = feed.build_feed(SHOW, [episode], folder, "https://example.org/show")
        found = etree.fromstring(xml).iterfind(".//podcast:txt", namespaces=NS)
        return {element.get("purpose"): element.text for element in found}

    def marked(source_type: str) -> dict[str, str]:
        mark = {"digitalSourceType": VOCABULARY + source_type, "speechEngine": "A & B"}
        return texts(replace(episodes(folder)[0], mark=mark))

    assert texts(episodes(folder)[0]) == {}
    assert marked("trainedAlgorithmicMedia") == {
        "ai-content": "true",
        "digitalSourceType": f"{VOCABULARY}trainedAlgorithmicMedia",
        "speechEngine": "A & B",
    }
    assert "ai-content" in marked("compositeSynthetic")
    assert "ai-content" not in marked("algorithmicMedia")


def test_an_episode_is_marked_as_its_file_is(tmp_path: Path) -> None:
    path = books.brief(tmp_path, books.PLAIN + "output: {formats: [m4b, wav], files: book}\n")
    books.run(path, HumEngine())
    for file in (tmp_path / "build" / "book").iterdir():
        (episode,) = feed.episodes({file: ()}, chapters=False)
        assert episode.mark == {
            "digitalSourceType": f"{VOCABULARY}trainedAlgorithmicMedia",
            "speechEngine": "hum",
        }


def test_guids_are_those_of_the_podcast_namespace() -> None:
    # the examples of its documentation
    known = {
        "mp3s.nashownotes.com/pc20rss.xml": "917393e3-1b1e-5cef-ace4-edaa54e1f810",
        "podnews.net/rss": "9b024349-ccf0-5f69-a609-6b82873eab3c",
    }
    for address, guid in known.items():
        assert feed.feed_guid(f"https://{address}") == guid
        assert feed.feed_guid(f"http://{address}//") == guid


def test_each_episode_is_one_item_newest_first(folder: Path) -> None:
    items = feed_of(folder).findall("channel/item")
    assert [item.findtext("title") for item in items] == ["Zwei & <drei>", "Épisode 一"]
    assert [item.findtext("itunes:episode", namespaces=NS) for item in items] == ["2", "1"]
    dates = [item.findtext("pubDate") for item in items]
    assert dates == ["Sun, 08 Nov 2026 00:00:00 +0000", "Sun, 01 Nov 2026 00:00:00 +0000"]
    assert all(parsedate_to_datetime(date) for date in dates)


def test_enclosures_are_files_by_address_size_and_kind(folder: Path) -> None:
    for item in feed_of(folder).findall("channel/item"):
        enclosure = item.find("enclosure")
        url = enclosure.get("url")
        assert url.startswith("https://example.org/show/ep%20")
        assert url.isascii()
        path = folder / unquote(url.removeprefix("https://example.org/show/"))
        assert int(enclosure.get("length")) == path.stat().st_size
        assert enclosure.get("type") == "audio/mpeg"
        seconds = int(item.findtext("itunes:duration", namespaces=NS))
        assert 3 <= seconds <= 30


def test_what_apple_and_rss_ask_for_is_there(folder: Path) -> None:
    channel = feed_of(folder).find("channel")
    for name in ("title", "link", "description", "language", "pubDate"):
        assert channel.findtext(name)
    assert channel.findtext("title") == SHOW.title
    assert channel.findtext("itunes:author", namespaces=NS) == "A. Author"
    assert channel.findtext("itunes:explicit", namespaces=NS) == "false"
    assert channel.findtext("itunes:type", namespaces=NS) == "episodic"
    category = channel.find("itunes:category", NS)
    assert (category.get("text"), category[0].get("text")) == ("Arts", "Books")
    assert channel.find("atom:link", NS).get("href") == SHOW.url
    assert channel.findtext("podcast:guid", namespaces=NS) == feed.feed_guid(SHOW.url)
    for item in channel.findall("item"):
        for name in ("title", "description", "enclosure", "guid", "pubDate"):
            assert item.find(name) is not None
        assert item.find("guid").get("isPermaLink") == "false"


def test_transcripts_chapters_and_people_are_named(folder: Path) -> None:
    item = feed_of(folder, role="host", season=3).find("channel/item")
    found = {t.get("type"): t.get("url") for t in item.findall("podcast:transcript", NS)}
    assert set(found) == {"text/vtt", "application/x-subrip"}
    assert found["text/vtt"].endswith(".vtt")
    chapters = item.find("podcast:chapters", NS)
    assert chapters.get("type") == "application/json+chapters"
    people = [(p.text, p.get("role"), p.get("group")) for p in item.findall("podcast:person", NS)]
    assert people == [
        ("ann", "host", "cast"), ("bob", "host", "cast"),
        ("N. Voice", "narrator", "cast"), ("A. Author", "author", "writing"),
    ]  # fmt: skip
    assert item.findtext("itunes:season", namespaces=NS) == "3"


def test_companions_of_a_file_in_several_formats_are_its_own(folder: Path) -> None:
    item = feed_of(folder).findall("channel/item")[1]
    urls = [t.get("url") for t in item.findall("podcast:transcript", NS)]
    assert all("%28mp3%29" in url for url in urls)


def test_a_parser_of_others_takes_the_feed(folder: Path) -> None:
    address = "https://example.org/show"
    data = feed.build_feed(SHOW, episodes(folder), folder, address)
    assert data == feed.build_feed(SHOW, episodes(folder), folder, address)
    read = feedparser.parse(data)
    assert not read.bozo
    assert read.feed.title == SHOW.title
    assert read.feed.language == "en-GB"
    assert [entry.title for entry in read.entries] == ["Zwei & <drei>", "Épisode 一"]
    assert all(entry.enclosures[0].type == "audio/mpeg" for entry in read.entries)
    assert all(not entry.guidislink for entry in read.entries)


def test_guids_stay_when_a_file_is_made_anew_or_moved(folder: Path, tmp_path: Path) -> None:
    def guids(root: Path) -> set[str]:
        return {item.findtext("guid") for item in feed_of(root).findall("channel/item")}

    deliver(tmp_path / "all", tags("Épisode 一", "1"), "m4b", titles=("One", "Two", "Three"))
    assert guids(tmp_path) < guids(folder)
    assert all(uuid.UUID(guid).version == 5 for guid in guids(folder))


def test_chapters_can_be_the_episodes(folder: Path) -> None:
    found = episodes(folder / "ep 1", chapters=True)
    assert [(e.title, e.track) for e in found] == [("One", 1), ("Two", 2)]
    assert found[0].published < found[1].published


@pytest.mark.parametrize("date", ["2026", "2026-03", "2026-03-04"])
def test_a_year_or_month_is_its_first_day(tmp_path: Path, date: str) -> None:
    sound(tmp_path / "x.flac", codec="flac", title="One", date=date)  # ID3 knows no months
    (episode,) = episodes(tmp_path)
    assert episode.published.isoformat() == f"{date}-01-01"[:10] + "T00:00:00+00:00"
    assert episode.dated


@pytest.mark.slow
def test_without_a_date_the_file_says_when(tmp_path: Path) -> None:
    deliver(tmp_path / "out", tags("One", date=""), "mp3")
    (path,) = (tmp_path / "out").glob("*.mp3")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (episode,) = episodes(tmp_path)
    assert episode.published.timestamp() == 1_700_000_000
    assert not episode.dated


def test_chapters_keep_their_order_whenever_they_were_made(tmp_path: Path) -> None:
    deliver(tmp_path / "out", tags("A book", date=""), "mp3", titles=("One", "Two", "Three"))
    first, second, third = sorted((tmp_path / "out").glob("*/*.mp3"))
    for path, time in {first: 1_700_500_000, second: 1_700_000_000, third: 1_700_900_000}.items():
        os.utime(path, (time, time))  # the first and the last were made anew
    found = episodes(tmp_path, chapters=True)
    midnight = 1_699_920_000  # of the day of the oldest
    assert [(e.title, int(e.published.timestamp())) for e in found] == [
        ("One", midnight + 60), ("Two", midnight + 120), ("Three", midnight + 180),
    ]  # fmt: skip


def sound(path: Path, codec: str = "libmp3lame", **facts: str) -> Path:
    """A short file with any tags."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, tone(0.5, rate=44100), codec=codec, tags=facts)


def test_parts_of_a_book_are_no_chapters(tmp_path: Path) -> None:
    for n in (2, 1):
        title = f"Long, part {n}"
        sound(tmp_path / f"Long - part {n}.mp3", title=title, album="Long", track=f"{n}/2",
              date="2026")  # fmt: skip
    sound(tmp_path / "01 - One.mp3", title="One", album="Long", track="1/9", date="2026")
    assert [e.title for e in episodes(tmp_path, chapters=True)] == ["One"]
    found = episodes(tmp_path)
    assert [(e.title, e.section) for e in found] == [("Long, part 1", 1), ("Long, part 2", 2)]
    root = etree.fromstring(feed.build_feed(SHOW, found, tmp_path, "https://example.org/"))
    items = root.findall("channel/item")
    assert [item.findtext("itunes:episode", namespaces=NS) for item in items] == ["2", "1"]
    assert len({item.findtext("guid") for item in items}) == 2


def test_a_retail_sample_is_no_episode(tmp_path: Path) -> None:
    sound(tmp_path / "A book.mp3", title="A book", album="A book")
    sound(tmp_path / "A book - Retail sample.mp3", title="Retail sample", album="A book")
    assert [e.title for e in episodes(tmp_path)] == ["A book"]


def test_control_characters_of_foreign_tags_are_left_out(tmp_path: Path) -> None:
    path = sound(tmp_path / "x.mp3", title="A\x07 bell", artist="B\x01ob", comment="C\ufffe.")
    path.with_suffix(".vtt").write_text("WEBVTT\n\n<v An\x02n>Hello.\n", encoding="utf-8")
    (episode,) = episodes(tmp_path)
    assert (episode.title, episode.authors, episode.voices) == ("A bell", "Bob", ("Ann",))
    data = feed.build_feed(SHOW, [episode], tmp_path, "https://example.org/", role="host")
    assert etree.fromstring(data).findtext("channel/item/title") == "A bell"


def test_a_file_that_is_no_sound_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.mp3").write_bytes(b"no")
    with pytest.raises(UserError, match=r"x\.mp3: cannot be read as an episode"):
        episodes(tmp_path)


def test_files_of_a_project_are_left_to_its_manifests(tmp_path: Path) -> None:
    for name in ("ready/a.mp3", "book/voices/me.mp3", "book/build/book/b.mp3", ".hidden/c.mp3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"sound")
    for name in ("book/book.yaml", "book/other.yml"):
        (tmp_path / name).write_text("chapters: []", encoding="utf-8")
    (tmp_path / "ready" / "site.yaml").write_text("theme: plain", encoding="utf-8")
    files, manifests = feed.find_sounds_and_manifests(tmp_path)
    assert files == [tmp_path / "ready/a.mp3"]
    assert manifests == [tmp_path / "book/book.yaml", tmp_path / "book/other.yml"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"title": " "}, "no title.*--title"),
        ({"language": ""}, "no language.*--language"),
        ({"url": "ftp://x/feed.xml"}, "--base-url"),
        ({"link": "example.org"}, "--link"),
        ({"link": "https://[x"}, "--link"),
        ({"guid": "mine"}, "not a UUID"),
        ({"title": "A\x07 bell"}, "control character"),
    ],
)
def test_what_a_show_lacks_is_told(tmp_path: Path, facts: dict[str, str], message: str) -> None:
    show = feed.Show(**{name: getattr(SHOW, name) for name in SHOW.__slots__} | facts)
    with pytest.raises(UserError, match=message):
        feed.build_feed(show, [], tmp_path, "https://example.org/")


def test_three_letters_of_a_language_become_two() -> None:
    codes = {"eng": "en", "zho": "zh", "en-GB": "en-GB", "xyz": "xyz"}
    assert {code: feed.two_letters(code) for code in codes} == codes


# -- the command -----------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(commands.app, ["feed", *words])


def test_the_command_takes_what_the_files_agree_on(folder: Path) -> None:
    base = "https://example.org/show"
    result = run(str(folder), "--base-url", base, "--description", "Two people talk.")
    assert result.exit_code == 0, result.output
    assert "feed.xml  2 episodes" in result.output
    root = etree.fromstring((folder / "feed.xml").read_bytes())
    channel = root.find("channel")
    assert channel.findtext("title") == "Fish & Chips"
    assert channel.findtext("language") == "en"
    assert channel.findtext("link") == f"{base}/"
    assert channel.find("itunes:image", NS).get("href") == f"{base}/cover.jpg"


def test_the_command_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    for place, message in (
        (folder, "--description"), (tmp_path, "holds no finished books; try with --chapters"),
    ):  # fmt: skip
        result = run(str(place), "--base-url", "https://example.org/")
        assert isinstance(result.exception, UserError)
        assert message in str(result.exception)


def published(root: Path, *words: str) -> list[tuple[str, list[str]]]:
    """Addresses of the episodes that the command writes, with those of their companions."""
    result = run(
        str(root), "--base-url", "https://x.org", "--description", "D", "--chapters", *words
    )
    if result.exception is not None:
        raise result.exception
    items = etree.fromstring((root / "feed.xml").read_bytes()).findall("channel/item")
    return [
        (
            unquote(item.find("enclosure").get("url")).removeprefix("https://x.org/"),
            [Path(unquote(t.get("url"))).name for t in item.findall("podcast:transcript", NS)],
        )
        for item in items
    ]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = books.MANIFEST.replace("formats: [wav]", "companions: [vtt], formats: [mp3]")
    path = books.brief(tmp_path_factory.mktemp("rendered"), text)
    books.run(path, HumEngine())
    for name in ("voices/me.mp3", "music/theme.mp3"):
        sound(path.parent / name, title="Private", track="1")
    return path.parent


@pytest.fixture
def project(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rendered project with subtitles, and sound in it that is not the book."""
    monkeypatch.setattr(
        book_engines,
        "make_main_engine",
        lambda project, *_: HumEngine("draft" if project.engine.name == "draft" else "hum"),
    )
    return Path(shutil.copytree(rendered, tmp_path / "show")) / "book.yaml"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_of_a_project_nothing_but_finished_files_is_published(project: Path) -> None:
    root, out = project.parent, "build/book/A. Author - The Ferry (mp3)"
    assert published(root) == [
        (f"{out}/02 - Evening.mp3", ["02 - Evening.vtt"]),
        (f"{out}/01 - Morning.mp3", ["01 - Morning.vtt"]),
    ]
    assert len(published(root / "build")) == 2  # what lies within a project is still the project's


def test_files_that_are_not_current_are_left_out_and_told(project: Path) -> None:
    root = project.parent
    change(project, "title: Morning", "title: Dawn")
    result = run(str(root), "--base-url", "https://x.org", "--description", "D", "--chapters")
    assert "01 - Morning.mp3: left out: out of date" in result.output
    assert [name for name, _ in published(root)] == [
        "build/book/A. Author - The Ferry (mp3)/02 - Evening.mp3"
    ]
    books.run(project, HumEngine())
    names = [Path(name).name for name, _ in published(root / "build" / "book")]
    assert names == ["02 - Evening.mp3", "01 - Dawn.mp3"]


def test_companions_that_the_manifest_dropped_are_not_linked(project: Path) -> None:
    change(project, "companions: [vtt], ", "")
    (stem,) = project.parent.glob("build/book/*/01*.mp3")
    stem.with_suffix(".vtt").write_text("WEBVTT\n", encoding="utf-8")
    assert [links for _, links in published(project.parent)] == [[], []]


def test_a_draft_is_published_only_where_it_is_asked_for(project: Path) -> None:
    change(project, "formats: [mp3]", "formats: [opus]")  # all of the book's files are stale now
    books.run(project, HumEngine("draft"))
    with pytest.raises(UserError, match="try without --chapters; a draft's with --draft"):
        published(project.parent)
    names = [name for name, _ in published(project.parent, "--draft")]
    assert [name.split("/")[1] for name in names] == ["draft", "draft"]


def test_episodes_without_a_date_are_told(project: Path) -> None:
    result = run(str(project.parent), "--base-url", "https://x.org", "--description", "D",
                 "--chapters")  # fmt: skip
    assert "2 episodes without a date" in result.output
