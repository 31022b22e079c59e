"""Reads Final Draft scripts (.fdx), XML with paragraphs of named types.

Knows Final Draft's paragraphs and styles; `script.py` converts the elements.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from lxml import etree

from manuscripts.book import Book, Choices, file_name
from manuscripts.directions import match_transition
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.readers.markup import BadMarkup, check_depth, decode_markup, xml_of
from manuscripts.readers.scripts.script import (
    ItemKind,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    omit_runs,
    omitted_item,
    parse_title_page,
    read_items,
    text_of,
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
    """Reads the book in a Final Draft script. Raises ImportFailed, SlowPattern."""
    try:
        text, encoding_remark = decode_markup(read_data(path))
        source = xml_of(text)
        check_depth(source)
    except BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    name = file_name(path)
    title_paragraphs = list(_paragraphs(source.find("TitlePage/Content")))
    body = list(_paragraphs(source.find("Content")))
    title_runs = [_read_runs(paragraph) for paragraph in title_paragraphs]
    title_items = [
        ScriptItem("omitted", omit_runs(runs, "title page"), name) for runs in title_runs if runs
    ]
    texts = [text.text or "" for p in (*title_paragraphs, *body) for text in p.iter("{*}Text")]
    return read_items(
        path,
        [*title_items, *_read_items(body, name)],
        parse_title_page(list(map(text_of, title_runs))),
        " ".join(texts),
        [f"{name} {encoding_remark}" if encoding_remark else None],
        choices,
    )


def _paragraphs(content: etree._Element | None) -> Iterator[etree._Element]:
    """Iterates over the paragraphs of a part of a script, which may be missing."""
    return content.iterchildren("Paragraph") if content is not None else iter(())


def _read_items(
    paragraphs: Sequence[etree._Element], name: str, is_dual: bool = False
) -> Iterator[ScriptItem]:
    """Yields the elements of paragraphs; a name is joined with the speech below it."""
    remaining = deque(paragraphs)
    has_name = False
    while remaining:
        paragraph = remaining.popleft()
        role, reason = _paragraph_role(paragraph)
        group, runs = [paragraph], _read_runs(paragraph)
        if role == "cue":
            while remaining and _paragraph_role(remaining[0])[0] in ("aside", "dialogue"):
                group.append(remaining.popleft())
            parts = [
                SpeechPart(part_runs, _paragraph_role(member)[0] == "aside")
                for member in group[1:]
                if (part_runs := _read_runs(member))
            ]
            # The program shows names in capitals.
            cue = [replace(r, text=r.text.upper() if r.text.islower() else r.text) for r in runs]
            yield ScriptItem("speech", cue, name, parts=parts, is_dual=is_dual and has_name)
            has_name = True
        elif runs:
            if role == "action" and match_transition(text_of(runs)):
                role, reason = "omitted", "transition"
            runs = omit_runs(runs, reason) if role == "omitted" else runs
            yield ScriptItem(_ITEM_KINDS.get(role, "action"), runs, name, level=1)
        for member in group:
            yield from _nested_items(member, name)


def _nested_items(paragraph: etree._Element, name: str) -> Iterator[ScriptItem]:
    """Yields the elements nested in a paragraph: simultaneous speeches, notes, a synopsis."""
    for child in paragraph.iterchildren("*"):
        if child.tag == "DualDialogue":
            yield from _read_items(list(_paragraphs(child)), name, is_dual=True)
        elif child.tag != "Text":
            reason = _NESTED_REASONS.get(str(child.tag), "not printed")
            for text_element in child.iter("Text"):
                yield omitted_item(text_element.text or "", reason, name)


def _paragraph_role(paragraph: etree._Element) -> tuple[_Role, str]:
    paragraph_type = " ".join(paragraph.get("Type", "").lower().split())
    matches = (
        (role, reason) for pattern, role, reason in _ROLES if re.fullmatch(pattern, paragraph_type)
    )
    return next(matches, ("action", ""))


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
