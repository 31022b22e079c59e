"""For each edit, exactly the takes that should be rendered again are, and the plan says so."""

from __future__ import annotations

import shutil

import pytest

from narrator.errors import UsageError
from narrator.pipeline import book_plan
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.options import RenderOptions
from narrator.speech.reasons import Reason
from tests import books
from tests.books import MANIFEST, ONE
from tests.fakes import HumEngine


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, marks=pytest.mark.slow, id="alone"),
        pytest.param(True, id="continuing"),
    ],
)
def spoken(request, tmp_path_factory):
    """The book as it was spoken, and whether chunks continue each other."""
    path = books.write(tmp_path_factory.mktemp("spoken"))
    books.speak(path, HumEngine(continues=request.param))
    return path.parent, request.param


@pytest.fixture
def engine(spoken):
    return HumEngine(continues=spoken[1])


@pytest.fixture
def book(spoken, tmp_path):
    """A copy of the spoken book, to be edited."""
    shutil.copytree(spoken[0], tmp_path / "book")
    return tmp_path / "book" / "book.yaml"


def edited(path, engine, **changes):
    """Edit what was rendered, plan, render: the plan's words and what was rendered must agree."""
    books.write(path.parent, **changes)
    planned = books.todo(path, engine)
    _, watcher = books.speak(path, engine)
    assert watcher.texts == set(planned)
    assert books.todo(path, engine) == {}
    return planned


MORNING, EVENING = MANIFEST.splitlines()[7:9]


@pytest.mark.parametrize(
    "manifest",
    {
        "nothing": MANIFEST,
        "a title": MANIFEST.replace("Evening", "Dusk"),
        "a pause": MANIFEST + "pauses: {sentence: 0.9}\n",
        "loudness and formats": MANIFEST.replace("[wav]", "[flac], loudness: -20"),
        "the order of chapters": MANIFEST.replace(f"{MORNING}\n{EVENING}", f"{EVENING}\n{MORNING}"),
        "a setting of other engines": MANIFEST + "engine: {steps: 20}\n",
        "the case of a language": MANIFEST.replace("en-GB", "en-gb"),
    }.items(),
    ids=lambda case: case[0],
)
def test_a_change_that_nobody_hears_in_a_take_renders_nothing(manifest, book, engine):
    name, changed = manifest
    assert (changed != MANIFEST) == (name != "nothing")
    assert edited(book, engine, manifest=changed) == {}


def test_a_renamed_file_renders_nothing(book, engine):
    text = book.parent / "text"
    (text / "one.md").rename(text / "première partie.md")
    book.write_text(MANIFEST.replace("one.md", "première partie.md"))
    assert books.todo(book, engine) == {}


def test_a_moved_folder_renders_nothing(book, engine, tmp_path):
    book.parent.rename(tmp_path / "ein anderer Ort")
    assert books.todo(tmp_path / "ein anderer Ort" / "book.yaml", engine) == {}


def test_a_changed_word_renders_its_chunk_alone_and_what_continues_it(book, engine):
    planned = edited(book, engine, one=ONE.replace("crossed three times", "crossed four times"))
    changed = {text for text, why in planned.items() if why.reason is Reason.CHANGED}
    assert len(changed) == 1
    assert "crossed four times" in changed.pop()
    assert all(why.reason in (Reason.CHANGED, Reason.CASCADE) for why in planned.values())
    assert len(planned) == 1 or engine.continues


def test_an_inserted_paragraph_renders_itself_and_what_continues_it(book, engine):
    new = (
        "A heron stood where it always stood, on the third post, and gave the whole "
        "business of crossing rivers in boats the look that it deserved."
    )
    planned = edited(book, engine, one=ONE.replace("***", f"{new}\n\n***"))
    assert planned.pop(new).reason is Reason.NEW
    assert all(why.reason is Reason.CASCADE for why in planned.values())
    assert not planned or engine.continues


def test_an_edit_does_not_reach_beyond_its_scene(book, engine):
    planned = edited(book, engine, one=ONE.replace("left at seven", "left at eight"))
    assert not any("By noon" in text or "lamps were lit" in text for text in planned)


def test_a_changed_voice_renders_that_speaker_alone(book, engine):
    changed = MANIFEST.replace("A girl, seed: 3", "A girl, seed: 4")
    planned = edited(book, engine, manifest=changed)
    assert len(planned) == 3
    assert {str(why) for why in planned.values()} <= {
        "changed: words, voice or settings changed (voice seed: 3 -> 4)"
    }


def test_a_lexicon_entry_renders_the_chunks_it_changes(book, engine):
    planned = edited(book, engine, manifest=MANIFEST + "lexicon: {aunts: ants}\n")
    respoken = [text for text, why in planned.items() if why.reason is Reason.RESPOKEN]
    assert len(respoken) == 1
    assert "aunts" in respoken[0]


def test_a_new_engine_version_renders_everything(book, engine):
    engine.version = 2
    planned = books.todo(book, engine)
    assert len(planned) == len(books.plan(book, engine).steps)
    assert all("engine version: 1 -> 2" in str(why) for why in planned.values())


def test_a_chapters_own_setting_renders_that_chapter(book, engine):
    book.write_text(MANIFEST.replace("one.md}", "one.md, engine: {cfg: 1.5}}"))
    planned = books.plan(book, engine)
    assert {step.chapter for step in planned.todo} == {0}
    assert len(planned.todo) == sum(step.chapter == 0 for step in planned.steps)


def test_going_back_to_an_earlier_text_renders_nothing(tmp_path):
    engine = HumEngine(continues=False)
    path = books.write(tmp_path)
    books.speak(path, engine)
    books.write(tmp_path, one=ONE.replace("seven", "eight"))
    books.speak(path, engine)
    books.write(tmp_path)
    assert books.todo(path, engine) == {}


def test_other_quotation_marks_render_nothing(tmp_path, engine):
    quoted = ONE.replace("Is there room for one more", "“Is there room for one more”")
    path = books.write(tmp_path, one=quoted)
    books.speak(path, engine)
    books.write(tmp_path, one=quoted.replace("“", '"').replace("”", '"'))
    assert books.todo(path, engine) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["2"], {1}),
        (["1-2"], {0, 1}),
        (["evening"], {1}),
        (["morn"], {0}),
        (["1", "Evening"], {0, 1}),
    ],
)
def test_chapters_are_chosen_by_number_range_title_or_a_part_of_it(tmp_path, given, found):
    manuscript = read_manuscript(books.write(tmp_path))
    assert book_plan.select(manuscript, RenderOptions(chapters=tuple(given))).chapters == found


@pytest.mark.parametrize("given", ["3", "2-1", "0", "1-3", "n", "1,2"])
def test_a_chapter_that_is_not_there_is_said(tmp_path, given):
    manuscript = read_manuscript(books.write(tmp_path))
    with pytest.raises(UsageError, match=f"no chapter '{given}'"):
        book_plan.select(manuscript, RenderOptions(chapters=(given,)))
