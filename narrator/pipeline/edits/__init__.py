"""Edits of a project's own files: made whole or not at all, kept, undone and redone.

    edits.apply(project, edits.text_edit(project, edits.paragraph(book, step), "…"))

    edit.py       a change of files, as whole texts
    history.py    applied, undone, redone; all or none, also after a kill
    likeness.py   which text of now is the one that was changed
    checked.py    whether the project can be read after it
    texts.py      where a chapter's paragraphs stand in its file or in book.yaml
    aligning.py   where a paragraph's characters stand among its marks
    marking.py    braces, labels and said words put there
    rows.py       a chapter's file of speakers
    manifest.py   book.yaml
    words.py, speakers.py, sayings.py, voices.py   what is edited

Changes of texts, files of speakers and book.yaml, and their history, belong here. Builders write
nothing, and an edit after which the project could not be read is refused.
"""

from __future__ import annotations

from narrator.pipeline.edits.edit import Edit, FileChange
from narrator.pipeline.edits.history import PastEdit, apply, history, path_of, redo, undo
from narrator.pipeline.edits.sayings import say_edit
from narrator.pipeline.edits.speakers import speaker_edit
from narrator.pipeline.edits.voices import clip_added, voice_edit
from narrator.pipeline.edits.words import WrittenParagraph, paragraph, text_edit

__all__ = [
    "Edit",
    "FileChange",
    "PastEdit",
    "WrittenParagraph",
    "apply",
    "clip_added",
    "history",
    "paragraph",
    "path_of",
    "redo",
    "say_edit",
    "speaker_edit",
    "text_edit",
    "undo",
    "voice_edit",
]
