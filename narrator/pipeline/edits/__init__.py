"""Edits of a project's own files: made whole or not at all, kept, undone and redone.

    edits.apply(project, edits.text_edit(project, edits.paragraph(book, step), "…"))

What makes an edit, changes of texts, files of speakers and book.yaml and their history, belongs
here; builders write nothing, and an edit after which a project could not be read is refused.
"""

from __future__ import annotations

from narrator.pipeline.edits.edit import Change, Edit
from narrator.pipeline.edits.history import Past, apply, history, redo, undo
from narrator.pipeline.edits.sayings import say_edit
from narrator.pipeline.edits.speakers import speaker_edit
from narrator.pipeline.edits.voices import clip_added, voice_edit
from narrator.pipeline.edits.words import Paragraph, paragraph, text_edit

__all__ = [
    "Change",
    "Edit",
    "Paragraph",
    "Past",
    "apply",
    "clip_added",
    "history",
    "paragraph",
    "redo",
    "say_edit",
    "speaker_edit",
    "text_edit",
    "undo",
    "voice_edit",
]
