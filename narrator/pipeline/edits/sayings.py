"""Edits of how a word is spoken, in one place or everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from narrator.errors import UsageError
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import append_entry, manifest_text, set_value
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.project import rewriting
from narrator.project.project import Project
from narrator.project.rewriting import UnsupportedLayout
from narrator.speech.plan import Step
from narrator.text.chunks import Piece
from narrator.text.markup import squeeze
from textbase.characters import strip_invisible

_MAX_WORD_LENGTH = 100
"""Longest word in the lexicon, in characters, since YAML limits the length of keys."""


def say_edit(project: Project, word: str, spoken: str, *, chunk: Step | None = None) -> Edit:
    """The edit that gives a word another spoken form, in a chunk or everywhere by the lexicon.

    Raises FileChanged, ManifestError, ScriptError, StorageError, UsageError.
    """
    word, spoken = (squeeze(strip_invisible(one_line(argument))) for argument in (word, spoken))
    if not (word and spoken):
        raise UsageError("which word, and how is it spoken? Neither may be empty")
    if not any(map(str.isalnum, word)):
        raise UsageError(f"a word needs a letter or a digit, and “{shorten(word)}” has none")
    if chunk is None and len(word) > _MAX_WORD_LENGTH:
        message = (
            f"a word of the lexicon has {_MAX_WORD_LENGTH} characters at most, this one {len(word)}"
        )
        raise UsageError(message)
    summary = f"“{shorten(word)}” is said “{shorten(spoken)}”"
    if chunk is None:
        change = _change_lexicon(project, word, spoken)
        return require_readable(project, Edit(summary, (change,)))
    text = chapter_text(project, chunk.chapter)
    occurrences = [place for piece in chunk.chunk.pieces for place in _find_word(text, piece, word)]
    if not occurrences:
        raise UsageError(f"“{shorten(word)}” does not stand in chunk {chunk.id}")
    for place, span in occurrences:
        text = marking.set_spoken_form(text, place, span, spoken)
    return require_readable(
        project, Edit(f"chapter {chunk.chapter + 1}: {summary}", (text.change,))
    )


def _find_word(
    text: ChapterText, piece: Piece, word: str
) -> Iterator[tuple[Place, tuple[int, int]]]:
    """Yields the places of a word in the part of a line that a chunk says."""
    place, begin = text.find(piece.line), piece.line.paragraph_offset
    pattern = re.escape(word).replace(r"\ ", r"\s+")
    if word[0].isalnum():
        pattern = r"(?<!\w)" + pattern
    if word[-1].isalnum():
        pattern += r"(?!\w)"
    for flags in (0, re.IGNORECASE):
        matches = [
            match
            for match in re.finditer(pattern, piece.line.text, flags)
            if piece.start <= match.start() and match.end() <= piece.stop
        ]
        if matches:
            break
    for match in matches:
        yield place, (begin + match.start(), begin + match.end())


def _change_lexicon(project: Project, word: str, spoken_form: str) -> FileChange:
    """The change of book.yaml that adds a lexicon entry for a word or changes its entry.

    Raises ManifestError.
    """
    old_text = manifest_text(project)
    lexicon = project.manifest.lexicon
    if not isinstance(lexicon, tuple):
        existing_keys = [key for key in lexicon if key.casefold() == word.casefold()]
        new_text = set_value(
            old_text, ("lexicon", next(iter(existing_keys), word)), spoken_form, project
        )
    elif lexicon:
        unconditional_entries = [
            index
            for index, entry in enumerate(lexicon)
            if (entry.word or "").casefold() == word.casefold()
            and entry.speaker is entry.language is None
            and not entry.case
        ]
        new_text = (
            set_value(old_text, ("lexicon", unconditional_entries[0], "say"), spoken_form, project)
            if unconditional_entries
            else append_entry(old_text, ("lexicon",), {"word": word, "say": spoken_form}, project)
        )
    else:
        new_text = _add_first_entry(old_text, word, spoken_form, project)
    return FileChange(project.path, old_text, new_text)


def _add_first_entry(old_text: str, word: str, spoken_form: str, project: Project) -> str:
    """The text of book.yaml with a first lexicon entry."""
    try:
        return rewriting.set_value(old_text, ("lexicon", word), spoken_form)
    except UnsupportedLayout:
        return append_entry(old_text, ("lexicon",), {"word": word, "say": spoken_form}, project)
