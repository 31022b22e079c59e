"""An edited book is what it would be if it were read anew, though only its changes are read."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from narrator.errors import NarratorError
from narrator.pipeline import edits, new_characters, pickups, places, retakes, reviews
from narrator.speech import plan
from narrator.speech.plan import Step
from narrator.studio import rows
from narrator.studio.events import Events
from narrator.studio.session import ProjectSession
from tests import studios

BOOK = """\
title: Four Walks
author: Nobody
language: en-GB
engine: {name: draft}
output: {formats: [m4b]}
speakers: {narrator: {}, Ada: {}, Ben: {speed: 1.2}}
chapters:
  - {title: Out, file: out.md}
  - {title: Home, file: home.md}
  - {title: Again, file: out.md}
  - {title: A Tale, file: tale.md}
"""
TALE = """\
“We are late,” said Ada. “Come along, Dr Smith.”

“I am coming,” said Ben, and he shut the door.

The road was long.

Ada: Not far now.
"""
WORDS = "road Dr far wet home 1859 lamp Doctor".split()


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walks")
    (folder / "tale.md").write_text(TALE)
    studios.render(studios.write(folder, book=BOOK))
    return folder


def opened(folder: Path) -> ProjectSession:
    session = ProjectSession(folder / "book.yaml", Events())
    session.read()
    return session


def everything(session: ProjectSession) -> dict[str, Any]:
    """All that a page shows of a book, and what a render would go by."""
    view = session.view
    chapters = [
        rows.chapter(view, number, session.sound(number), session.chunk_states(number))
        for number in range(len(view.book.chapters))
    ]
    for row in (shown := rows.book(view, session.chunk_states, session.lengths), *chapters):
        del row["version"]
    return {
        "manuscript": view.book.manuscript,
        "steps": view.book.steps,
        "why": dict(view.book.why),
        "sound": view.book_sound,
        "notes": replace(view.notes, trouble=""),
        "trouble": view.trouble,
        "book": shown,
        "chapters": chapters,
    }


class Editor:
    """Somebody who does anything to a book, in an order that a seed decides."""

    def __init__(self, folder: Path, session: ProjectSession, seed: int) -> None:
        self.folder, self.session, self.draw = folder, session, random.Random(seed)

    def act(self) -> None:
        actions: list[Callable[[], object]] = [
            self.change_words,
            self.change_words,
            self.add_paragraph,
            self.remove_paragraph,
            self.give_to_other,
            self.say_as,
            self.say_here,
            self.write_by_hand,
            self.pin,
            self.note,
            lambda: edits.undo(self.session.view.project),
            lambda: edits.redo(self.session.view.project),
            self.find_speakers,
            self.rename,
            self.reorder,
        ]
        with contextlib.suppress(NarratorError):  # refused: nothing has changed
            self.draw.choice(actions)()

    def step(self) -> Step:
        return self.draw.choice(self.session.view.book.steps)

    def apply(self, edit: edits.Edit | None) -> None:
        if edit is not None:
            edits.apply(self.session.view.project, edit)

    def rewrite(self, change: Callable[[str], str]) -> None:
        paragraph = edits.paragraph(self.session.view.book, self.step())
        project = self.session.view.project
        self.apply(edits.text_edit(project, paragraph, change(paragraph.text), paragraph.sha))

    def change_words(self) -> None:
        self.rewrite(lambda text: f"{text} And the {self.draw.choice(WORDS)} was there.")

    def add_paragraph(self) -> None:
        self.rewrite(lambda text: f"{text}\n\nBen: I am cold.")

    def remove_paragraph(self) -> None:
        self.rewrite(lambda text: "")

    def give_to_other(self) -> None:
        speaker = self.draw.choice(["Ada", "Ben", "narrator", "Ada & Ben"])
        self.apply(edits.speaker_edit(self.session.view.book, self.step(), speaker))

    def say_as(self) -> None:
        spoken = self.draw.choice(["one", "two"])
        self.apply(edits.say_edit(self.session.view.project, self.draw.choice(WORDS), spoken))

    def say_here(self) -> None:
        step = self.step()
        word = self.draw.choice(step.chunk.text.split()).strip(".,")
        self.apply(edits.say_edit(self.session.view.project, word, "three", chunk=step))

    def write_by_hand(self) -> None:
        file = self.folder / self.draw.choice(["out.md", "home.md", "tale.md"])
        file.write_text(f"***\n\n{file.read_text()}\n\nMore of it, on the wet road.\n")

    def pin(self) -> None:
        book, step = self.session.view.book, self.step()
        if not retakes.unpin(book, [step]):
            retakes.pin(book, step, 1)

    def note(self) -> None:
        book, step = self.session.view.book, self.step()
        reviews.mark_reviewed(book, [step], True)
        (passage,) = places.passages_of(book, [step])
        pickups.add(book, [pickups.new_pickup(passage, "too fast")])

    def find_speakers(self) -> None:
        self.apply(new_characters.cast_edit(self.session.view.project))

    def rename(self) -> None:
        project = self.session.view.project
        name = self.draw.choice([name for name in project.speakers if name != project.narrator])
        self.apply(edits.rename_edit(project, name, self.draw.choice(["Eve", "Tom", "Zoë"])))

    def reorder(self) -> None:
        manifest = self.folder / "book.yaml"
        *rest, last = manifest.read_text().splitlines(keepends=True)
        if last.startswith("  - {title"):
            manifest.write_text("".join([*rest[:-1], last, rest[-1]]))


@pytest.mark.parametrize("seed", range(4))
def test_an_edited_book_equals_one_that_is_read_anew(
    walks: Path, tmp_path: Path, seed: int
) -> None:
    folder = tmp_path / "book"
    shutil.copytree(walks, folder)
    session = opened(folder)
    editor = Editor(folder, session, seed)
    for _ in range(14):
        editor.act()
        is_shown = session.show_edit()
        glance = session.view.book
        everything(session)  # can be shown
        session.refresh()
        anew = opened(folder)
        assert everything(session) == everything(anew)
        if is_shown:
            assert glance.manuscript == anew.view.book.manuscript
            assert [step.text for step in glance.steps] == [s.text for s in anew.view.book.steps]
            assert glance.why.keys() == {step.key for step in glance.steps}


def test_only_what_an_edit_touches_is_read_again(
    walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "book"
    shutil.copytree(walks, folder)
    session = opened(folder)
    read: list[str] = []
    normalize = plan.normalize
    monkeypatch.setattr(
        plan, "normalize", lambda text, **rest: (read.append(text), normalize(text, **rest))[1]
    )
    before = session.view.chapters
    home = folder / "home.md"
    home.write_text(home.read_text().replace("At last.", "At long last."))
    assert session.show_edit()
    assert read == ["At long last."]
    assert session.view.chapters[0][0] is before[0][0]
    manifest = folder / "book.yaml"
    manifest.write_text(f"{manifest.read_text()}lexicon: {{Doctor: Dok}}\n")
    read.clear()
    session.refresh()
    assert read
    assert all("Dr" in text for text in read)
