"""Detects the kind of a file from its content: signature, XML root, or conventions of its text.

The name decides only between texts with the same look: whether a text with tags is HTML or only
contains some. The signs that are plain are in `kinds.py`; here is what takes judgement.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from manuscripts import kinds
from manuscripts.encoding import NoText, decode
from manuscripts.errors import ImportFailed
from manuscripts.kinds import KINDS, READERS, SUFFIXES, Kind
from manuscripts.plaintext import MAX_FILE_SIZE
from textbase import files
from textbase.errors import Problem

_HEAD_SIZE = 200_000
"""Bytes at the beginning of a file that are inspected."""
_LOCKED = "EncryptedPackage".encode("utf-16-le")
_FLAT_SUFFIXES = (".fodt",)
"""Suffixes of files that are XML, of a kind whose other files are archives."""
_KIND_BY_NAME: Mapping[str, Kind] = {
    suffix: kind for kind in KINDS if kind.is_named for suffix in kind.suffixes
}
"""Kinds of texts that are known by suffix."""
_KIND_BY_ROOT: Mapping[str, Kind] = {root.casefold(): kind for kind in KINDS for root in kind.roots}


def kind_of(path: Path) -> Kind:
    """Returns the kind of a file. Raises ImportFailed for one that cannot be read, with advice, and
    UsageError for a damaged reader of another package."""
    suffix = path.suffix.lower().removeprefix(".")
    if not READERS.is_own(suffix) and READERS.knows(suffix):
        return READERS[suffix]
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_SIZE)
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    kind = _kind_by_signature(path, head) or _kind_of_text(path, head)
    if kind is None:
        raise ImportFailed(Problem(path, None, _unknown_message(path)))
    if not kind.reader:
        raise ImportFailed(Problem(path, None, kind.refusal))
    return kind


def _unknown_message(path: Path) -> str:
    """Says why a file of no known kind cannot be read: by suffix it may be a damaged archive."""
    suffix = path.suffix.lower()
    kind = SUFFIXES.get(suffix)
    if kind is not None and kind.is_archive and suffix not in _FLAT_SUFFIXES:
        return (
            f"this {kind.name} file is damaged (not a zip archive); open it in the program that "
            "made it and save it again, or get another copy"
        )
    return f"is not a manuscript of a known kind; what can be imported: {kinds.IMPORTABLE}"


def _kind_by_signature(path: Path, head: bytes) -> Kind | None:
    """Returns the kind of an archive or a binary file; None for a possible text."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_archive(path)
    kind = next((kind for kind in KINDS if kind.signature and re.match(kind.signature, head)), None)
    return kinds.LOCKED if kind is kinds.OLD_OFFICE and _is_locked(path) else kind


def _is_locked(path: Path) -> bool:
    """Returns whether a file of Office is encrypted."""
    try:
        return _LOCKED in files.read_bounded(path, MAX_FILE_SIZE)
    except (files.TooLarge, OSError):
        return False


def _kind_of_archive(path: Path) -> Kind:
    """Returns the kind of a zip by its members; the likeliest kind of a broken one."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:20_000]
            mime = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError):
        # Its reader explains the fault.
        kind = SUFFIXES.get(path.suffix.lower())
        return kind if kind is not None and kind.is_archive else kinds.EPUB
    matching = (kind for kind in KINDS if kind.is_archive and kind.is_archive(names, mime))
    return next(matching, kinds.ARCHIVE)


# -- texts -----------------------------------------------------------------------------------------

_XML_ROOT = re.compile(
    r"\s*(?:(?:<\?[^>]*>|<!--[^-]*(?:-(?!->)[^-]*)*-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)\s*)*"
    r"<(?:[\w.-]+:)?(?P<root>[A-Za-z][\w.-]*)(?=[\s/>])",
    re.DOTALL | re.IGNORECASE,
)
_BLOCK_TAG = (
    r"</?(?:html|head|body|title|meta|link|base|article|main|section|div|p|h[1-6]|ul|ol|li|dl|dt|dd|"
    r"table|tr|td|th|blockquote|center|pre|br|hr|nav|header|footer|aside|figure|form|noscript)"
    r"(?:\s[^<>]*)?/?>"
)
_HTML_START = re.compile(
    rf"\s*(?:{_BLOCK_TAG}|<(?:a|img|span|font|iframe|svg|input|button)\b[^<>]*>)", re.IGNORECASE
)
_PAGE_START = re.compile(
    r"\s*<(?:!doctype\s+html\b|(?:[\w.-]+:)?(?:html|head|body)\b[^<>]*>(?=\s*<|.*?</[a-z]))",
    re.I | re.S,
)
"""Beginning of a whole page; `<html> is the first tag` is not one."""
_CONFIRMING_TAGS = re.compile(
    r"</[a-z][a-z0-9]*\s*>|<(?:p|br|hr|div)\b[^<>]*>.*<(?:p|br|hr|div)\b", re.I | re.S
)
"""Tags that confirm that a text which begins like HTML is HTML."""
_ANY_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|&(?:#\d+|[a-z]{2,8});", re.IGNORECASE)
_EDGE_TAG = re.compile(rf"^[ \t]*{_BLOCK_TAG}|{_BLOCK_TAG}[ \t]*$", re.IGNORECASE | re.MULTILINE)
_MIN_EDGE_TAGS = 3
_MIN_TAGGED_SHARE, _MIN_TAGGED_SHARE_ELSEWHERE = 0.25, 0.67
"""Least shares of a text in paragraphs with tags at line ends, if it begins with a tag and if it
does not."""
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
"""Encloses an example in Markdown."""
_INVISIBLE_START = re.compile(
    r"<(?:(?P<comment>!--)|(?P<instruction>\?)|(?P<condition>!\[)|(?P<code>script|style)\b)", re.I
)
_INVISIBLE_ENDS = {
    "comment": re.compile("-->"),
    "instruction": re.compile(r"\?>"),
    "condition": re.compile(r"\]-*>"),
    "code": re.compile(r"</(?:script|style)\s*>", re.IGNORECASE),
}
"""Ends of the invisible parts of a page, by the groups of `_INVISIBLE_START`."""
_SCENE_HEADING = re.compile(
    r"(?:\A|\n[ \t]*\n)[ \t]*(?:\d+[A-Z]?\.?[ \t]+)?(?:INT|EXT|EST|INT\.?/EXT|EXT\.?/INT|I/E)[. ]"
    r"(?=[^\na-z]*[A-Z]{2})[^\n]*"
)
_PARAGRAPH_START = re.compile(r"(?:\A|\n)[ \t]*\n(?=[ \t]*\S)")
_NAME_ABOVE_SPEECH = re.compile(
    r"\n[ \t]*\n[ \t]*[A-Z][A-Z0-9 .'’#-]+(?:\([^()\n]*\))?[ \t]*\^?\n[ \t]*\S"
)
_TITLE_PAGE = re.compile(r"\s*(?:Title|Credit|Author|Source|Draft date|Contact):", re.IGNORECASE)
_MARKDOWN_HEADING = re.compile(r"(?:^|\n[ \t]*\n)#{1,3} +\S[^\n]*\n")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[\w-]+[ \t]*:.*\n)+", re.MULTILINE)
_LATEX = re.compile(r"\\documentclass|\\begin\{document\}")
_SIGN_SEARCH_LENGTH = 2000
"""Characters in which such signs are searched for."""


def _kind_of_text(path: Path, head: bytes) -> Kind | None:
    """Returns the kind of a text by its signs, else by its name; None if it is no text."""
    suffix = path.suffix.lower()
    try:
        text = decode(head).text.replace("\r\n", "\n").replace("\r", "\n")
    except NoText:
        kind = SUFFIXES.get(suffix)
        return kind if kind in (kinds.MARKDOWN, kinds.FOUNTAIN, kinds.TEXT) else None
    kind = _kind_by_first_words(text, suffix) or _KIND_BY_NAME.get(suffix)
    return kind or _kind_by_conventions(text)


def _kind_by_first_words(text: str, suffix: str) -> Kind | None:
    """Returns the kind that a text's first words or tags reveal."""
    beginning = text[:_SIGN_SEARCH_LENGTH]
    for kind in KINDS:
        if kind.beginning and re.search(kind.beginning, beginning):
            return kind
    root_match = _XML_ROOT.match(text)
    root = root_match["root"].casefold() if root_match else ""
    if root in _KIND_BY_ROOT and not (
        root in ("document", "article") and _CONFIRMING_TAGS.search(text)
    ):
        return _KIND_BY_ROOT[root]
    if _is_html(text, suffix):
        return kinds.HTML
    if text.lstrip().startswith("<?xml"):
        return kinds.XML
    return kinds.LATEX if _LATEX.search(text) else None


def _is_html(text: str, suffix: str) -> bool:
    """Returns whether a text is HTML: by its beginning below comments and scripts, by tags at line
    ends, and in doubt by its name."""
    text = text.lstrip("\ufeff")
    visible_text = _visible_part(text)
    if _PAGE_START.match(visible_text):
        return True
    kind = SUFFIXES.get(suffix)
    if kind in (kinds.MARKDOWN, kinds.FOUNTAIN):  # they may have any number of tags
        return False
    if kind is kinds.HTML:
        return visible_text != text or _ANY_TAG.search(text) is not None
    text_outside_examples = "".join(_FENCE.split(visible_text)[::2])
    paragraphs = text_outside_examples.split("\n\n")
    tagged_length = sum(len(paragraph) for paragraph in paragraphs if _EDGE_TAG.search(paragraph))
    tagged_share = tagged_length / max(1, sum(map(len, paragraphs)))
    if _HTML_START.match(visible_text) and _CONFIRMING_TAGS.search(visible_text):
        return tagged_share > _MIN_TAGGED_SHARE or "<pre" in visible_text.lower()
    has_enough_tags = len(_EDGE_TAG.findall(visible_text)) >= _MIN_EDGE_TAGS
    is_xml = text.lstrip().startswith("<?xml")
    return tagged_share > _MIN_TAGGED_SHARE_ELSEWHERE and has_enough_tags and not is_xml


def _visible_part(text: str) -> str:
    """Returns a page without comments, scripts, styles and instructions."""
    visible_parts: list[str] = []
    offset = 0
    unclosed_kinds: set[str] = set()
    for start_match in _INVISIBLE_START.finditer(text):
        kind = start_match.lastgroup or ""
        if start_match.start() < offset or kind in unclosed_kinds:
            continue
        end_match = _INVISIBLE_ENDS[kind].search(text, start_match.end())
        if end_match is None:
            unclosed_kinds.add(kind)
            continue
        visible_parts.append(text[offset : start_match.start()])
        offset = end_match.end()
    return "".join((*visible_parts, text[offset:]))


def _kind_by_conventions(text: str) -> Kind:
    """Returns the format of a text whose name is missing or says only that it is a text."""
    if is_fountain(text):
        return kinds.FOUNTAIN
    has_headings = len(_MARKDOWN_HEADING.findall(text)) > 1
    return kinds.MARKDOWN if has_headings or _FRONT_MATTER.match(text) else kinds.TEXT


def is_fountain(text: str) -> bool:
    """Returns whether a text is a screenplay: two or more scene headings, and names above speeches,
    on a sixth of its paragraphs."""
    scene_heading_count, name_count, paragraph_count = (
        len(pattern.findall(text))
        for pattern in (_SCENE_HEADING, _NAME_ABOVE_SPEECH, _PARAGRAPH_START)
    )
    has_enough = 6 * (scene_heading_count + name_count) >= paragraph_count
    has_speakers = name_count > 1 or _TITLE_PAGE.match(text) is not None
    return scene_heading_count > 1 and has_enough and has_speakers
