from __future__ import annotations

import html
import io
import re
from itertools import pairwise
from pathlib import Path

import av
import pytest
import webvtt
from hypothesis import given, settings
from hypothesis import strategies as st

from narrator.delivery import companions
from narrator.delivery.companions import SpokenChapter
from narrator.delivery.companions.captions import Caption, between_graphemes, captions, cut, measure
from narrator.project.facts import BookFacts
from tests.spoken_books import delivered, of_lines, spoken

TAGS = BookFacts(title="The Ferry", authors=("A. Author",), language="en-GB")
LONG = (
    "The ferry left at seven, as it had on every morning that anyone in the village could "
    "remember. Nobody had ever asked it to wait, and it had never once been asked to hurry; so "
    "it went slowly, with the mist around it and a light in the window of the inn behind it.\n\n"
    "ann: Is there room for one more?\n\nbob: There is.\n\nNo.\n"
)
CLUSTERS = (
    *("e\u0301", "👩\u200d👩\u200d👧\u200d👦", "👍🏽", "🇩🇪", "🇫🇷", "❤️", "1️⃣"),
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    *("क्\u200dष", "नि", "กำ", "각", "\u1112\u1161\u11ab", "한", "\uff8a\uff9e"),
)
"""Each is one character to its reader."""


def made(folder: Path, *chapters: SpokenChapter, wanted: str = "vtt", format: str = "wav") -> str:
    files = delivered(folder, chapters, format)
    (path,) = companions.write(chapters, files, [wanted], tags=TAGS, book=folder / "b.epub").paths
    return path.read_text("utf-8")


def restored(one: SpokenChapter, found: list[Caption]) -> list[str]:
    """Takes' texts from captions, with what was dropped between them; which must be white space."""
    takes = []
    for number, cue in enumerate(one.timeline.cues):
        own = [caption for caption in found if caption.cue_index == number]
        at = 0
        text = ""
        for caption in own:
            gap = cue.text[at : caption.first]
            assert not gap.strip()
            shown = cue.text[caption.first : caption.last]
            assert re.fullmatch(r"\s+".join(map(re.escape, caption.lines)), shown)
            text += gap + shown
            at = caption.last
        assert not cue.text[at:].strip()
        takes.append(text + cue.text[at:])
    return takes


def check(one: SpokenChapter, width: int, *, labels: bool = False) -> list[Caption]:
    found = captions(one, width, labels=labels)
    assert restored(one, found) == [cue.text for cue in one.timeline.cues]
    assert restored(one, found) == [chunk.text for chunk in one.chunks]
    for caption in found:
        assert 0 <= caption.start < caption.stop
        assert 1 <= len(caption.lines) <= (1 if caption.has_label_line else 2)
        assert all(line.strip() for line in caption.lines)
    for before, after in pairwise(found):
        assert before.stop <= after.start
    return found


# -- text ------------------------------------------------------------------------------------------

WORDS = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn"))),
        st.sampled_from(
            ("Mrs. Ada", "word", "Yes!”", "--> <v Bob>", "a & b", "—", "שלום", "w" * 80)
        ),
        st.sampled_from(("中文，没有空格。", "日本語の「はい」。", "ไม่มีช่องว่าง", *CLUSTERS)),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=50)
@given(
    lines=st.lists(WORDS, min_size=1, max_size=4),
    width=st.sampled_from([32, 65]),
    pace=st.sampled_from([0.01, 1.0]),
)
def test_captions_hold_the_text_character_by_character(
    lines: list[list[str]], width: int, pace: float
) -> None:
    said = [
        (name, re.sub(r"[^\S\u00a0\u202f]+", " ", f"Ann {' '.join(words)} end.").strip())
        for name, words in zip(("ann", "ann", "bob", "ann"), lines, strict=False)
    ]
    one = of_lines(*said, pace=pace)
    found = check(one, width, labels=True)
    source = "".join(text for _, text in said)
    joined = "".join(line for caption in found for line in caption.lines)
    assert "".join(joined.split()) == "".join(source.split())


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*CLUSTERS, "a", "中", "、"]), min_size=1, max_size=120))
def test_no_cut_parts_what_a_reader_sees_as_one_character(clusters: list[str]) -> None:
    edges, at = set(), 0
    for cluster in clusters:
        edges.add(at)
        at += len(cluster)
    for part in cut("".join(clusters), "ja", 20, 10.0):
        assert part.first in edges
        assert part.last in {*edges, at}


def test_characters_as_readers_see_them() -> None:
    for cluster in CLUSTERS:
        assert not any(between_graphemes(cluster, at) for at in range(1, len(cluster)))
        assert between_graphemes(cluster + "x", len(cluster))
    assert between_graphemes("🇩🇪🇫🇷", 2)
    assert not between_graphemes("a🇩🇪🇫🇷", 2)


@pytest.mark.parametrize("width", [32, 65])
@pytest.mark.parametrize("language", ["en", "ja", "th", "ar"])
def test_lines_keep_to_their_width(width: int, language: str) -> None:
    texts = {
        "en": LONG,
        "ja": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ、" * 4,
        "th": "วันนี้อากาศดีมากเราจึงออกไปเดินเล่นริมแม่น้ำและพบกับเพื่อนเก่า" * 3,
        "ar": "كان يا ما كان في قديم الزمان رجل يعيش على ضفة النهر، وكان له قارب. " * 3,
    }
    found = check(spoken(texts[language], language=language), width)
    assert len(found) > 2
    assert all(measure(line) <= width for caption in found for line in caption.lines)
    assert all(len(line) <= width for caption in found for line in caption.lines)


def test_captions_end_with_sentences_and_clauses_rather_than_within() -> None:
    found = check(spoken(LONG), 65)
    ends = [caption.lines[-1][-1] for caption in found]
    assert sum(end in ".?,;" for end in ends) >= len(ends) - 1


def test_a_line_does_not_end_with_an_abbreviation() -> None:
    text = "“A gentleman called to see you last night,” said kind old Mrs. Medley, my landlady."
    found = check(spoken(text), 32)
    assert not any(line.endswith("Mrs.") for caption in found for line in caption.lines)


def test_what_may_not_be_parted_is_not() -> None:
    text = "He paid exactly 10\u00a0000\u00a0francs, in coins, for the boat and the oars and all."
    found = check(of_lines(("ann", text)), 32)
    assert any("10\u00a0000\u00a0francs," in line for c in found for line in c.lines)
    marks = check(spoken("「" + "ああ" * 30 + "」。" + "「いい」。", language="ja"), 32)
    assert not any(c.lines[0][0] in "」。" or c.lines[0][-1] == "「" for c in marks)


# -- times -----------------------------------------------------------------------------------------


def test_a_take_begins_and_ends_its_captions() -> None:
    one = spoken(LONG)
    found = check(one, 65)
    for number, cue in enumerate(one.timeline.cues):
        own = [caption for caption in found if caption.cue_index == number]
        assert own[0].start == round(cue.start * 1000 / one.timeline.sample_rate)
        assert own[-1].stop >= round(cue.stop * 1000 / one.timeline.sample_rate)
        assert all(a.stop == b.start for a, b in pairwise(own))


def test_each_speaker_of_a_paragraph_has_captions_with_the_name() -> None:
    one = spoken("{ann: “I know,”} she said, {ann & bob: “but not now.”}")
    found = captions(one, 42, labels=True)
    assert [(c.speaker, c.label, *c.lines) for c in found] == [
        ("ann", "ann: ", "“I know,”"),
        ("narrator", "narrator: ", "she said,"),
        ("ann & bob", "ann & bob: ", "“but not now.”"),
    ]


def test_longer_text_has_more_of_the_time() -> None:
    one = spoken(f"Yes, we waited for a {'long, ' * 14}long while. But nobody came to us.")
    found = check(one, 32)
    assert found[-1].lines == ("But nobody came to us.",)
    first = found[0].stop - found[0].start
    assert first > 2 * (found[-1].stop - found[-1].start)


def test_short_captions_stay_into_the_silence_after_them() -> None:
    found = check(spoken("ann: No.\n\nbob: Yes.\n", pace=0.2), 65)
    assert found[0].stop == found[1].start
    assert found[1].stop - found[1].start <= 1000


def test_takes_far_too_short_for_their_text_still_run_forwards() -> None:
    check(spoken(LONG * 3, pace=0.0001, head=0.0), 32, labels=True)


def test_chunks_of_another_render_are_refused() -> None:
    one, other = spoken("One."), spoken("Two.")
    with pytest.raises(ValueError, match="not of one render"):
        SpokenChapter(1, one.chapter, one.chunks, other.timeline)
    with pytest.raises(ValueError, match="not cut from this chapter"):
        SpokenChapter(1, other.chapter, one.chunks, one.timeline)


# -- WebVTT ----------------------------------------------------------------------------------------

ODD = (("ann", "a --> b & <c> &amp; x"), ("bob", "Ünïcode 👩\u200d👩\u200d👧 שלום, היום נלך."))


def test_webvtt_is_read_back_by_a_library(tmp_path: Path) -> None:
    one = spoken(LONG)
    found = webvtt.from_buffer(io.StringIO(made(tmp_path, one)))
    own = captions(one, 65)
    assert [caption.text.split("\n") for caption in found] == [list(c.lines) for c in own]
    assert [caption.voice for caption in found] == [c.speaker for c in own]
    assert {"ann", "bob", "narrator"} == {caption.voice for caption in found}
    assert [caption.start for caption in found] == [_clock(c.start) for c in own]


def _clock(time: int) -> str:
    return f"{time // 3600000:02}:{time // 60000 % 60:02}:{time // 1000 % 60:02}.{time % 1000:03}"


@pytest.mark.parametrize("kind", ["vtt", "srt"])
def test_ffmpeg_reads_times_and_texts(tmp_path: Path, kind: str) -> None:
    one = spoken(LONG)
    made(tmp_path, one, wanted=kind)
    own = captions(one, 65 if kind == "vtt" else 32, labels=True)
    with av.open(str(tmp_path / f"Book.{kind}")) as container:
        stream = container.streams[0]
        packets = [packet for packet in container.demux(stream) if packet.size]
        times = [round(float(packet.pts * packet.time_base) * 1000) for packet in packets]
    assert times == [caption.start for caption in own]
    assert all(c.lines[-1] in bytes(p).decode() for c, p in zip(own, packets, strict=True))


def test_marks_of_webvtt_are_escaped(tmp_path: Path) -> None:
    text = made(tmp_path, of_lines(*ODD))
    assert "<v ann>a --&gt; b &amp; &lt;c&gt; &amp;amp; x" in text
    assert text.count("-->") == 2
    found = webvtt.from_buffer(io.StringIO(text))
    assert [html.unescape(caption.text) for caption in found] == [said for _, said in ODD]


def test_names_of_speakers_are_escaped(tmp_path: Path) -> None:
    name = "A. <b> & Co"
    text = made(tmp_path, spoken(f"{name}: Hello there.\n".replace("<", "\\<"), speakers=(name,)))
    assert "<v A. &lt;b&gt; &amp; Co>Hello there." in text


def test_webvtt_says_how_its_times_came_about(tmp_path: Path) -> None:
    assert "times within a take are estimated from the text" in made(tmp_path, spoken("One two."))


def test_a_title_cannot_break_out_of_its_note(tmp_path: Path) -> None:
    one = spoken("One.")
    files = delivered(tmp_path, [one], "wav")
    tags = BookFacts(title="A --> B\n\n00:00:00.000 --> 00:00:09.000\nno")
    (path,) = companions.write([one], files, ["vtt"], tags=tags, book=tmp_path / "b.epub").paths
    assert len(webvtt.read(path)) == 1


# -- SRT -------------------------------------------------------------------------------------------


def test_srt_names_the_speaker_where_another_one_speaks(tmp_path: Path) -> None:
    one = spoken("ann: Is there room?\n\nann: Or must I wait for the next one?\n\nbob: Yes.\n")
    text = made(tmp_path, one, wanted="srt")
    assert text.count("ann: ") == 1
    assert text.count("bob: ") == 1


def test_one_speaker_needs_no_name(tmp_path: Path) -> None:
    assert "narrator" not in made(tmp_path, spoken("One. Two."), wanted="srt")


UNISON = (("ann", "Will you?"), ("ann & bob", "We do! Of course we do."), ("ann", "Then go."))


def test_what_is_said_in_unison_is_shown_once_with_all_names(tmp_path: Path) -> None:
    one = of_lines(*UNISON)
    assert [n.group(1) for n in re.finditer(r"^(\w.*?): ", made(tmp_path, one, wanted="srt"), re.M)
            ] == ["ann", "ann & bob", "ann"]  # fmt: skip
    shown = made(tmp_path, one)
    assert shown.count("We do!") == 1
    assert "<v ann &amp; bob>" in shown
    whole = of_lines(("ann & bob", "We do!"))
    assert "ann" not in made(tmp_path, whole, wanted="srt")


def test_captions_of_a_unison_stay_until_the_last_voice_has_ended() -> None:
    one = of_lines(*UNISON)
    found = captions(one, 65)
    first, second = (cue for cue in one.timeline.cues if cue.text.startswith("We do!"))
    own = [caption for caption in found if caption.speaker == "ann & bob"]
    assert own[0].start == round(first.start / one.timeline.sample_rate * 1000)
    assert own[-1].stop == round(second.stop / one.timeline.sample_rate * 1000)
    assert second.stop > first.stop


def test_names_take_room_on_the_line(tmp_path: Path) -> None:
    name = "Professor Emerita Wilhelmina van Dyck"
    one = spoken(
        f"ann: {'Whatever happens, we go. ' * 6}\n\n{name}: {'Very well, then. ' * 4}\n\n"
        f"Bartholomew: {'Incomprehensibilities' * 2}.\n",
        speakers=("ann", name, "Bartholomew"),
    )  # fmt: skip
    rows = made(tmp_path, one, wanted="srt").splitlines()
    longest = max(len(row) for row in rows if row != f"{name}:")
    assert longest <= 32
    assert f"{name}:" in rows
    check(one, 32, labels=True)
