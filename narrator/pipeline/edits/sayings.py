"""Edits of how a word is spoken: in one place, everywhere, or by an entry of the lexicon."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from narrator.errors import ManifestError, UsageError
from narrator.pipeline.edits import marking
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import (
    append_entry,
    list_entries,
    manifest_text,
    remove_entry,
    rename_entry,
    set_value,
)
from narrator.pipeline.edits.texts import ChapterText, Place, chapter_text
from narrator.project import load, rewriting
from narrator.project.project import Project
from narrator.project.rewriting import UnsupportedLayout
from narrator.speech.plan import Step
from narrator.text.chunks import Piece
from narrator.text.markup import squeeze
from narrator.text.normalize import LexiconEntry
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
        raise UsageError(f"“{shorten(word)}” does not stand in line {chunk.id}")
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


# -- entries of the lexicon ------------------------------------------------------------------------


def parse_entry(fields: Mapping[str, object]) -> LexiconEntry:
    """The lexicon entry with these fields; empty ones are left out. Raises UsageError."""
    values = {
        key: one_line(value) if isinstance(value, str) and key != "pattern" else value
        for key, value in fields.items()
        if value not in (None, "", False)
    }
    word = values.get("word")
    if isinstance(word, str):
        values["word"] = word = squeeze(strip_invisible(word))
        if len(word) > _MAX_WORD_LENGTH:
            raise UsageError(f"a word of the lexicon has {_MAX_WORD_LENGTH} characters at most")
        if not any(map(str.isalnum, word)):
            raise UsageError(f"a word needs a letter or a digit, and “{shorten(word)}” has none")
    one_line(str(values.get("pattern", "")))
    try:
        return LexiconEntry.model_validate(values)
    except ValidationError as error:
        reasons = dict.fromkeys(
            detail["msg"].removeprefix("Value error, ") for detail in error.errors()
        )
        raise UsageError("; ".join(reasons)) from None


def entry_edit(project: Project, old: LexiconEntry | None, new: LexiconEntry | None) -> Edit:
    """The edit that adds an entry to the lexicon, changes one, or removes it.

    Nothing is `old` where one is added, or `new` where one is removed. A lexicon of words and their
    spoken forms becomes a list where an entry has conditions. Raises ManifestError, StorageError,
    UsageError.
    """
    old_text = manifest_text(project)
    project = load.load(project.path, old_text)
    if old is not None and old not in project.lexicon:
        raise UsageError(f"the entry for “{_shorten_entry(old)}” has been changed meanwhile")
    if new is None:
        if old is None:
            raise UsageError("which entry of the lexicon?")
        new_text = _without_entry(old_text, project, old)
        summary = f"“{_shorten_entry(old)}” is no longer in the lexicon"
    else:
        new_text = _with_entry(old_text, project, old, new)
        summary = f"“{_shorten_entry(new)}” is said “{shorten(new.say or f'/{new.ipa}/')}”"
    change = FileChange(project.path, old_text, new_text)
    return require_readable(project, Edit(summary, (change,)))


def _shorten_entry(entry: LexiconEntry) -> str:
    return shorten(entry.word or entry.pattern or "")


def _without_entry(text: str, project: Project, entry: LexiconEntry) -> str:
    """The text of book.yaml without an entry; without the lexicon if that was its only one."""
    lexicon = project.manifest.lexicon
    if len(lexicon) == 1:
        return remove_entry(text, ("lexicon",), project)
    is_list = isinstance(lexicon, tuple)
    key = project.lexicon.index(entry) if is_list else str(entry.word)
    return remove_entry(text, ("lexicon", key), project)


def _with_entry(text: str, project: Project, old: LexiconEntry | None, new: LexiconEntry) -> str:
    """The text of book.yaml with a new entry, or another one in the place of `old`."""
    fields = _entry_fields(new)
    lexicon = project.manifest.lexicon
    if not lexicon:
        return _with_first_entry(text, fields, project)
    if not isinstance(lexicon, tuple):
        if fields.keys() == {"word", "say"}:
            return _with_word(text, project, old, str(new.word), str(new.say))
        text = list_entries(text, ("lexicon",), "word", "say", project)
    if old is None:
        return append_entry(text, ("lexicon",), fields, project)
    place = ("lexicon", project.lexicon.index(old))
    old_fields = _entry_fields(old)
    try:
        changed = text
        for key in (key for key in fields if fields[key] != old_fields.get(key)):
            changed = set_value(changed, (*place, key), fields[key], project)
        for key in old_fields.keys() - fields.keys():
            changed = remove_entry(changed, (*place, key), project)
    except ManifestError:  # the first key of a block, which holds the dash of its entry
        changed = set_value(text, place, fields, project)
    return changed


def _entry_fields(entry: LexiconEntry) -> dict[str, object]:
    return entry.model_dump(exclude_defaults=True)


def _with_word(
    text: str, project: Project, old: LexiconEntry | None, word: str, spoken_form: str
) -> str:
    """The text of book.yaml with a word in a lexicon of words and their spoken forms."""
    old_word = None if old is None else str(old.word)
    if word != old_word and word in project.manifest.lexicon:
        raise UsageError(f"“{shorten(word)}” is in the lexicon already")
    if old_word is not None and word != old_word:
        text = rename_entry(text, ("lexicon", old_word), word, project)
    return set_value(text, ("lexicon", word), spoken_form, project)


def _with_first_entry(text: str, fields: Mapping[str, object], project: Project) -> str:
    """The text of book.yaml with the first entry of a lexicon, which is a list then if the entry
    has conditions."""
    (key_name, key), (value_name, value), *conditions = fields.items()
    if not conditions and (key_name, value_name) == ("word", "say"):
        return _add_first_entry(text, str(key), str(value), project)
    try:
        return append_entry(text, ("lexicon",), fields, project)
    except ManifestError:  # there is no list yet, not even an empty one
        text = set_value(text, ("lexicon", str(key)), value, project)
        text = list_entries(text, ("lexicon",), key_name, value_name, project)
        for name, condition in conditions:
            text = set_value(text, ("lexicon", 0, name), condition, project)
        return text
