"""Reads Final Draft scripts (.fdx), XML with paragraphs of named types.

Knows Final Draft's paragraphs and styles; `script.py` converts the elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Literal

from lxml import etree

from manuscripts.book import Book, Choices, file_name
from manuscripts.chapters import SCRIPT
from manuscripts.directions import match_transition
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.readers.markup import BadMarkup, check_depth, xml_of
from manuscripts.readers.markup import decode_markup as decoded_text
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.scripts.script import (
    ItemKind,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    expected_characters,
    omitted_item,
    parse_title_page,
    text_of,
    write_script,
)
from textbase.errors import Problem

_Role = Literal["cue", "aside", "dialogue", "omitted", "section", "scene", "action"]

_ROLES: tuple[tuple[str, _Role, str], ...] = (
    (r"character", "cue", ""),
    (r"parenthetical", "aside", ""),
    (r"dialogue|dialog|lyrics?|singing", "dialogue", ""),
    (r"transition", "omitted", "transition"),
    (r"cast list", "omitted", "cast list"),
    (r"outline.*|.*summary", "omitted", "heading of an outline, which is not printed"),
    (r"new act|act(?: break)?|cold open(?:ing)?|teaser|new episode", "section", ""),
    (r"scene heading|scene|slug(?:line)?", "scene", ""),
)
"""Patterns of paragraph types, their roles, and reasons to leave them out; others are action."""
_NESTED_REASONS = {"ScriptNote": "note of the author", "SceneProperties": "synopsis"}
_ITEM_KINDS: Mapping[str, ItemKind] = {"omitted": "omitted", "section": "section", "scene": "scene"}
"""Roles of paragraphs that are elements by themselves; other roles need a name above them."""
_LYRICS_TYPE = re.compile(r"lyric|singing", re.IGNORECASE)
_WRAPPED = re.compile(r"\n(?=[a-zß-ÿ])")
_STRIKEOUT = re.compile(r"strike-?(?:out|through)", re.IGNORECASE)


def read_finaldraft(path: Path, choices: Choices) -> Book:
    """Reads the book in a Final Draft script. Raises ImportFailed, Slow."""
    try:
        text, encoding_remark = decoded_text(read_data(path))
        source = xml_of(text)
        check_depth(source)
    except BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    name = file_name(path)
    title_paragraphs = list(_paragraphs(source.find("TitlePage/Content")))
    body = list(_paragraphs(source.find("Content")))
    title_page_items = [
        _make_item("omitted", _read_runs(paragraph), name, "title page")
        for paragraph in title_paragraphs
        if _read_runs(paragraph)
    ]
    root, remarks = write_script([*title_page_items, *_read_items(body, name)])
    source_texts = [
        run.text or ""
        for paragraph in (*title_paragraphs, *body)
        for run in paragraph.iter("{*}Text")
    ]
    pages = Pages(
        [SourcePage(path.name, root)],
        parse_title_page([text_of(_read_runs(paragraph)) for paragraph in title_paragraphs]),
        rules=SCRIPT,
        is_script=True,
        characters=expected_characters(root, " ".join(source_texts)),
        remarks=[*([f"{name} {encoding_remark}"] if encoding_remark else []), *remarks],
    )
    return read_pages(path, pages, choices)


def _paragraphs(content: etree._Element | None) -> Iterator[etree._Element]:
    """Iterates over the paragraphs of a part of a script, which may be missing."""
    return content.iterchildren("Paragraph") if content is not None else iter(())


def _read_items(
    paragraphs: Sequence[etree._Element], name: str, is_dual: bool = False
) -> Iterator[ScriptItem]:
    """Yields the elements of paragraphs; a name is joined with the speech below it."""
    name_count = index = 0
    while index < len(paragraphs):
        paragraph = paragraphs[index]
        role, reason = _paragraph_role(paragraph)
        group = [paragraph]
        if role == "cue":
            following = (paragraphs[number] for number in range(index + 1, len(paragraphs)))
            group += takewhile(
                lambda paragraph: _paragraph_role(paragraph)[0] in ("aside", "dialogue"), following
            )
            yield _read_speech(group, name, is_dual and name_count > 0)
            name_count += 1
        elif runs := _read_runs(paragraph):
            if role == "action" and match_transition(text_of(runs)):
                role, reason = "omitted", "transition"
            yield _make_item(_ITEM_KINDS.get(role, "action"), runs, name, reason)
        for member in group:
            yield from _nested_items(member, name)
        index += len(group)


def _nested_items(paragraph: etree._Element, name: str) -> Iterator[ScriptItem]:
    """Yields the elements nested in a paragraph: simultaneous speeches, notes, a synopsis."""
    for child in paragraph.iterchildren("*"):
        if child.tag == "DualDialogue":
            yield from _read_items(list(_paragraphs(child)), name, is_dual=True)
        elif child.tag != "Text":
            reason = _NESTED_REASONS.get(str(child.tag), "not printed")
            for text_element in child.iter("Text"):
                yield omitted_item(text_element.text or "", reason, name)


def _read_speech(group: Sequence[etree._Element], name: str, is_dual: bool) -> ScriptItem:
    """Builds a speech from the paragraphs of its name and its parts."""
    parts = [
        SpeechPart(_read_runs(paragraph), _paragraph_role(paragraph)[0] == "aside")
        for paragraph in group[1:]
        if _read_runs(paragraph)
    ]
    cue = [
        replace(run, text=run.text.upper() if run.text.islower() else run.text)
        for run in _read_runs(group[0])
    ]  # the program shows them in capitals
    return ScriptItem("speech", cue, name, parts=parts, is_dual=is_dual)


def _paragraph_role(paragraph: etree._Element) -> tuple[_Role, str]:
    paragraph_type = " ".join(paragraph.get("Type", "").lower().split())
    matches = (
        (role, reason) for pattern, role, reason in _ROLES if re.fullmatch(pattern, paragraph_type)
    )
    return next(matches, ("action", ""))


def _make_item(
    kind: ItemKind, runs: Sequence[ScriptRun], name: str, reason: str = ""
) -> ScriptItem:
    """Builds an element; the runs of an omitted one get the reason."""
    item_runs = (
        [replace(run, omission_reason=run.omission_reason or reason) for run in runs]
        if kind == "omitted"
        else runs
    )
    return ScriptItem(kind, item_runs, name, level=1)


def _read_runs(paragraph: etree._Element) -> list[ScriptRun]:
    """Returns the runs of a paragraph; [] where there are only spaces."""
    runs = []
    for run in paragraph.iterchildren("Text"):
        styles = run.get("Style", "").split("+")
        is_italic = "Italic" in styles or "Underline" in styles
        omission_reason = "struck out" if any(map(_STRIKEOUT.fullmatch, styles)) else None
        text = run.text or ""
        if not _LYRICS_TYPE.search(paragraph.get("Type", "")):
            text = _WRAPPED.sub(" ", text)
        runs.append(ScriptRun(text, is_italic, "Bold" in styles, omission_reason))
    return runs if any(run.text.strip() for run in runs) else []
