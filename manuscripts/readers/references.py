"""Notes of an XHTML document: links that refer to notes, and elements that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from lxml import etree

from manuscripts.book import count_characters, count_words, word_set
from manuscripts.readers.archive import resolve
from manuscripts.readers.elements import (
    BLOCKS,
    OMISSION_ATTRIBUTE,
    body_of,
    element_name,
    level_of,
    texts_of,
    types_of,
)

_NOTE_REFERENCE = word_set("noteref doc-noteref annoref")
_NOTE_REFERENCE_CLASS = re.compile(
    r"\b(note-?ref|(foot|end)?note-?(ref(erence)?|call|link|anchor)|fn-?(ref|anchor|call)|"
    r"fnanchor)\b",
    re.IGNORECASE,
)
_NOT_NOTE_ELEMENTS = word_set("body html ol ul dl")
_MAX_NOTE_WORDS = 1000
"""A longer target of a reference is not a note."""
_NOTE_FRAGMENT = re.compile(r"(foot|end)?note|\bfn|^n\d|^en?\d|_ft[ne]", re.IGNORECASE)
_NOTE_MARK = re.compile(r"[\[({]?\s*(\d{1,6}|[a-z]|[ivxlc]{1,6}|[*†‡§¶‖#]{1,4})\s*[\])}]?", re.I)


def note_targets(
    root: etree._Element, path: str, called_targets: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yields document and id of each note reference's target.

    `called_targets` are the places of references so far: a link to one of them leads back from a
    note.
    """
    body = body_of(root)
    for link in body.iter("{*}a"):
        elements = (link, *link.iterancestors())
        is_omitted = any(element.get(OMISSION_ATTRIBUTE) is not None for element in elements)
        if not link.get("href") or is_omitted or not is_reference(link):
            continue
        target = resolve(path, link.get("href", ""))
        if target not in called_targets:
            # A back link may mean the element around the reference.
            parent = link.getparent()
            is_wrapped = parent is not None and element_name(parent) in ("sup", "span")
            for element in (*[parent] * is_wrapped, *link.iter("{*}*")):
                names = filter(None, (element.get("id"), element.get("name")))
                called_targets.update((path, name) for name in names)
            yield target


def note_keys(path: str, element: etree._Element) -> Iterator[str]:
    """Returns the keys by which references mean a note: the ids in it."""
    ids = {e.get("id") or e.get("name") for e in element.iter("{*}*")}
    holder = element.getparent()
    if holder is not None and element_name(holder) in ("li", "aside"):
        ids.add(holder.get("id"))
    return (f"{path}#{identifier}" for identifier in sorted(filter(None, ids)))


def referenced_note_keys(path: str, element: etree._Element) -> Iterator[str]:
    """Yields the keys of the notes that a reference leads to."""
    for link in element.iter("{*}a"):
        target, fragment = resolve(path, link.get("href", ""))
        yield f"{target or path}#{fragment}"


def is_reference(link: etree._Element) -> bool:
    """Returns whether a link leads to a note: its markup says so, or it is a raised or bracketed
    mark."""
    types, classes = types_of(link).split(), link.get("class", "")
    if not _NOTE_REFERENCE.isdisjoint(types) or _NOTE_REFERENCE_CLASS.search(classes):
        return True
    target, _, fragment = link.get("href", "").partition("#")
    text = "".join(link.itertext()).strip()
    if not fragment or "://" in target or not _NOTE_MARK.fullmatch(text):
        return False
    parent = link.getparent()
    is_raised = next(link.iter("{*}sup"), None) is not None or (
        parent is not None and element_name(parent) == "sup"
    )
    return is_raised or not text[0].isalnum() or bool(_NOTE_FRAGMENT.search(fragment))


def is_reference_around(element: etree._Element) -> bool:
    """Returns whether a raised element holds a note reference and nothing else."""
    links = list(element.iter("{*}a"))
    if not links or not all(map(is_reference, links)):
        return False
    link_size = sum(count_characters(text) for link in links for text in texts_of(link))
    return sum(map(count_characters, texts_of(element))) <= link_size + 2 * len(links)


def note_bodies(body: etree._Element, notes: frozenset[str]) -> set[etree._Element]:
    """Returns the elements that hold the notes with these ids, none larger than a note may be."""
    bodies: set[etree._Element] = set()
    holders: set[etree._Element] = set()
    for element in body.iter("{*}*") if notes else ():
        if notes.isdisjoint((element.get("id"), element.get("name"))):
            continue
        holder = _note_holder(element)
        name = "" if holder is None else element_name(holder)
        if holder is None or holder in holders or level_of(holder) or name in _NOT_NOTE_ELEMENTS:
            continue
        holders.add(holder)
        parts = [holder]
        if name == "dt":
            # A note's number and its text are siblings.
            parts += takewhile(lambda e: element_name(e) == "dd", holder.itersiblings("{*}*"))
        words = sum(count_words("".join(part.itertext())) for part in parts)
        if words <= _MAX_NOTE_WORDS and not any(map(holds_heading, parts)):
            bodies.update(parts)
    return bodies


def _note_holder(element: etree._Element) -> etree._Element | None:
    """Returns the block that contains an element, or the list item or the note's own element that
    this begins."""
    elements = (element, *element.iterancestors())
    holder = next((e for e in elements if element_name(e) in BLOCKS), None)
    parent = None if holder is None else holder.getparent()
    if holder is None or parent is None or element_name(holder) != "p":
        return holder
    begins_parent = parent[0] is holder and element_name(parent) in ("li", "aside", "dd")
    return parent if begins_parent else holder


def holds_heading(element: etree._Element) -> bool:
    return any(map(level_of, element.iter("{*}*")))
