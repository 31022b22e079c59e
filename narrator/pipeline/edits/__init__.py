"""Edits of a project's own files: applied completely or not at all, recorded, undone and redone.

    edits.apply(project, edits.text_edit(project, edits.paragraph(book, step), "…"))

    edit.py       a change of files, as full texts
    history.py    applies, undoes and redoes edits; all or nothing, even if killed
    checked.py    checks that the project can be read after an edit
    texts.py      where a chapter's paragraphs stand in its file or in book.yaml
    aligning.py   where a paragraph's characters stand among its marks
    marking.py    writes braces, labels and spoken forms
    rows.py       a chapter's file of speakers
    manifest.py   book.yaml
    words.py, speakers.py, stretches.py, sayings.py, hearings.py, voices.py, people.py,
    facts.py: the kinds

Changes of texts, files of speakers and book.yaml, and their history, belong here. Functions that
build an edit write nothing, and an edit after which the project could not be read is refused.
"""

from __future__ import annotations

from narrator.pipeline.edits.edit import Edit, FileChange
from narrator.pipeline.edits.facts import cover_edit, facts_edit
from narrator.pipeline.edits.hearings import heard_as_edit
from narrator.pipeline.edits.history import PastEdit, apply, history, path_of, redo, undo
from narrator.pipeline.edits.people import (
    NewPerson,
    add_edit,
    merge_edit,
    new_person,
    pronoun_edit,
    rename_edit,
    split_edit,
)
from narrator.pipeline.edits.sayings import entry_edit, parse_entry, say_edit
from narrator.pipeline.edits.speakers import speaker_edit
from narrator.pipeline.edits.stretches import EVERYTHING, QUOTED, Stretch, give_edit, swap_edit
from narrator.pipeline.edits.voices import add_clip, narration_edit, voice_edit
from narrator.pipeline.edits.words import WrittenParagraph, paragraph, text_edit

__all__ = [
    "EVERYTHING",
    "QUOTED",
    "Edit",
    "FileChange",
    "NewPerson",
    "PastEdit",
    "Stretch",
    "WrittenParagraph",
    "add_clip",
    "add_edit",
    "apply",
    "cover_edit",
    "entry_edit",
    "facts_edit",
    "give_edit",
    "heard_as_edit",
    "history",
    "merge_edit",
    "narration_edit",
    "new_person",
    "paragraph",
    "parse_entry",
    "path_of",
    "pronoun_edit",
    "redo",
    "rename_edit",
    "say_edit",
    "speaker_edit",
    "split_edit",
    "swap_edit",
    "text_edit",
    "undo",
    "voice_edit",
]
