"""Final Draft scripts (.fdx) -> a book: XML whose paragraphs say what they are.

Knows Final Draft's paragraphs and styles; what becomes of elements, `script.py` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Literal

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices, file_name
from narrator.importers.chapters import SCRIPT
from narrator.importers.directions import transition
from narrator.importers.plaintext import read_data
from narrator.importers.readers.markup import (
    BadMarkup,
    check_depth,
    xml_of,
)
from narrator.importers.readers.markup import (
    text_of as decoded_text,
)
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.scripts.script import (
    ItemKind,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    counted_apart,
    document_of_script,
    facts_of,
    left,
    text_of,
)

_Role = Literal["cue", "aside", "said", "left", "section", "scene", "told"]

_ROLES: tuple[tuple[str, _Role, str], ...] = (
    (r"character", "cue", ""),
    (r"parenthetical", "aside", ""),
    (r"dialogue|dialog|lyrics?|singing", "said", ""),
    (r"transition", "left", "transition"),
    (r"cast list", "left", "cast list"),
    (r"outline.*|.*summary", "left", "heading of an outline, which is not printed"),
    (r"new act|act(?: break)?|cold open(?:ing)?|teaser|new episode", "section", ""),
    (r"scene heading|scene|slug(?:line)?", "scene", ""),
)
"""What types of paragraphs are, by their names, and why some are left out; others are told."""
_INSIDE = {"ScriptNote": "note of the author", "SceneProperties": "synopsis"}
_KINDS: Mapping[str, ItemKind] = {"left": "left", "section": "section", "scene": "scene"}
"""Roles that paragraphs have by themselves; others need a name above them."""
_SUNG = re.compile(r"lyric|singing", re.IGNORECASE)
_WRAPPED = re.compile(r"\n(?=[a-zß-ÿ])")
_STRUCK = re.compile(r"strike-?(?:out|through)", re.IGNORECASE)


def read_finaldraft(path: Path, choices: Choices) -> Book:
    """The book in a Final Draft script. Raises ImportFailed, Slow."""
    try:
        text, told = decoded_text(read_data(path))
        source = xml_of(text)
        check_depth(source)
    except BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    name = file_name(path)
    titles = list(_paragraphs(source.find("TitlePage/Content")))
    body = list(_paragraphs(source.find("Content")))
    front = [_item("left", _runs(one), name, "title page") for one in titles if _runs(one)]
    root, remarks = document_of_script([*front, *_items(body, name)])
    said = [run.text or "" for paragraph in (*titles, *body) for run in paragraph.iter("{*}Text")]
    pages = Pages(
        [SourcePage(path.name, root)],
        facts_of([text_of(_runs(paragraph)) for paragraph in titles]),
        rules=SCRIPT,
        is_script=True,
        characters=counted_apart(root, " ".join(said)),
        remarks=[*([f"{name} {told}"] if told else []), *remarks],
    )
    return read_pages(path, pages, choices)


def _paragraphs(content: etree._Element | None) -> Iterator[etree._Element]:
    """The paragraphs of a part of a script."""
    return content.iterchildren("Paragraph") if content is not None else iter(())


def _items(
    paragraphs: Sequence[etree._Element], name: str, is_dual: bool = False
) -> Iterator[ScriptItem]:
    """The elements that paragraphs are; a name takes what is said under it."""
    names = at = 0
    while at < len(paragraphs):
        first = paragraphs[at]
        role, why = _role(first)
        group = [first]
        if role == "cue":
            below = (paragraphs[n] for n in range(at + 1, len(paragraphs)))
            group += takewhile(lambda one: _role(one)[0] in ("aside", "said"), below)
            yield _speech(group, name, is_dual and names > 0)
            names += 1
        elif runs := _runs(first):
            if role == "told" and transition(text_of(runs)):
                role, why = "left", "transition"
            yield _item(_KINDS.get(role, "told"), runs, name, why)
        for one in group:
            yield from _inside(one, name)
        at += len(group)


def _inside(paragraph: etree._Element, name: str) -> Iterator[ScriptItem]:
    """What stands in a paragraph besides its words: two speeches side by side, notes, a summary."""
    for child in paragraph.iterchildren("*"):
        if child.tag == "DualDialogue":
            yield from _items(list(_paragraphs(child)), name, is_dual=True)
        elif child.tag != "Text":
            why = _INSIDE.get(str(child.tag), "not printed")
            for one in child.iter("Text"):
                yield left(one.text or "", why, name)


def _speech(group: Sequence[etree._Element], name: str, is_dual: bool) -> ScriptItem:
    parts = [SpeechPart(_runs(one), _role(one)[0] == "aside") for one in group[1:] if _runs(one)]
    cue = [
        replace(run, text=run.text.upper() if run.text.islower() else run.text)
        for run in _runs(group[0])
    ]  # which the program shows in capitals
    return ScriptItem("speech", cue, name, parts=parts, is_dual=is_dual)


def _role(paragraph: etree._Element) -> tuple[_Role, str]:
    kind = " ".join(paragraph.get("Type", "").lower().split())
    found = ((role, why) for names, role, why in _ROLES if re.fullmatch(names, kind))
    return next(found, ("told", ""))


def _item(kind: ItemKind, runs: Sequence[ScriptRun], name: str, why: str = "") -> ScriptItem:
    shown = [replace(run, left=run.left or why) for run in runs] if kind == "left" else runs
    return ScriptItem(kind, shown, name, level=1)


def _runs(paragraph: etree._Element) -> list[ScriptRun]:
    """The words of a paragraph, with their styles; none where there are only spaces."""
    made = []
    for run in paragraph.iterchildren("Text"):
        styles = run.get("Style", "").split("+")
        em = "Italic" in styles or "Underline" in styles
        struck = "struck out" if any(map(_STRUCK.fullmatch, styles)) else None
        text = run.text or ""
        if not _SUNG.search(paragraph.get("Type", "")):
            text = _WRAPPED.sub(" ", text)
        made.append(ScriptRun(text, em, "Bold" in styles, struck))
    return made if any(run.text.strip() for run in made) else []
