"""Edits of how a word is said: where it stands, or everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from narrator.characters import seen
from narrator.errors import UsageError
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shown
from narrator.pipeline.edits.manifest import appended, changed, manifest_text
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.project import rewriting
from narrator.project.project import Project
from narrator.project.rewriting import NotWritten
from narrator.speech.plan import Step
from narrator.text.chunks import Piece
from narrator.text.markup import squeeze

_LONGEST = 100
"""Characters of a word in the lexicon: keys of YAML end somewhere."""


def say_edit(project: Project, word: str, spoken: str, *, chunk: Step | None = None) -> Edit:
    """A word said otherwise: wherever it stands in a chunk, else everywhere, by the lexicon.

    Raises Changed, ManifestError, ScriptError, StorageError, UsageError.
    """
    word, spoken = (squeeze(seen(one_line(one))) for one in (word, spoken))
    if not (word and spoken):
        raise UsageError("which word, and how is it spoken? Neither may be empty")
    if not any(map(str.isalnum, word)):
        raise UsageError(f"a word needs a letter or a digit, and “{shown(word)}” has none")
    if chunk is None and len(word) > _LONGEST:
        what = f"a word of the lexicon has {_LONGEST} characters at most, this one {len(word)}"
        raise UsageError(what)
    said = f"“{shown(word)}” is said “{shown(spoken)}”"
    if chunk is None:
        change = _in_lexicon(project, word, spoken)
        return checked(project, Edit(said, (change,)))
    text = chapter_text(project, chunk.chapter)
    found = [place for piece in chunk.chunk.pieces for place in _places(text, piece, word)]
    if not found:
        raise UsageError(f"“{shown(word)}” does not stand in chunk {chunk.id}")
    for place, span in found:
        text = marking.said(text, place, span, spoken)
    return checked(project, Edit(f"chapter {chunk.chapter + 1}: {said}", (text.change,)))


def _places(text: ChapterText, piece: Piece, word: str) -> Iterator[tuple[Place, tuple[int, int]]]:
    """Where a word stands in what a chunk says of a line."""
    place, begin = text.find(piece.line), piece.line.begin
    before, after = (r"(?<!\w)" * word[0].isalnum(), r"(?!\w)" * word[-1].isalnum())
    pattern = before + re.escape(word).replace(r"\ ", r"\s+") + after
    for flags in (0, re.IGNORECASE):
        found = [
            mark
            for mark in re.finditer(pattern, piece.line.text, flags)
            if piece.start <= mark.start() and mark.end() <= piece.stop
        ]
        if found:
            break
    for mark in found:
        yield place, (begin + mark.start(), begin + mark.end())


def _in_lexicon(project: Project, word: str, spoken: str) -> FileChange:
    """book.yaml with an entry for a word, its own where it has one. Raises ManifestError."""
    before = manifest_text(project)
    lexicon = project.manifest.lexicon
    if not isinstance(lexicon, tuple):
        known = [one for one in lexicon if one.casefold() == word.casefold()]
        after = changed(before, ("lexicon", next(iter(known), word)), spoken, project)
    elif lexicon:
        plain = [
            n
            for n, entry in enumerate(lexicon)
            if (entry.word or "").casefold() == word.casefold()
            and entry.speaker is entry.language is None
            and not entry.case
        ]
        after = (
            changed(before, ("lexicon", plain[0], "say"), spoken, project)
            if plain
            else appended(before, ("lexicon",), {"word": word, "say": spoken}, project)
        )
    else:
        after = _first_entry(before, word, spoken, project)
    return FileChange(project.path, before, after)


def _first_entry(before: str, word: str, spoken: str, project: Project) -> str:
    """book.yaml with a lexicon where it has none, or an empty list."""
    try:
        return rewriting.changed(before, ("lexicon", word), spoken)
    except NotWritten:
        return appended(before, ("lexicon",), {"word": word, "say": spoken}, project)
