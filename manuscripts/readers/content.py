"""Detects the format of a file from its content: signature, XML root, or conventions of its text.

The name decides only between texts with the same look: whether a text with tags is HTML or only
contains some. Knows how formats look, not how they are read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from manuscripts.encoding import NoText, decode
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import MAX_FILE_SIZE
from textbase import files
from textbase.errors import Problem

Kind = Literal[
    "epub", "text", "markdown", "docx", "odt", "rtf", "pdf", "html", "html-archive", "fb2",
    "fb2-archive", "fountain", "fdx", "srt", "vtt", "sbv", "feed", "mobi",
]  # fmt: skip
"""Formats that can be read."""

_RTF = re.compile(rb"\s*\{\\rtf[\d\\{]")
_HEAD_SIZE = 200_000
"""Bytes at the beginning of a file that are inspected."""

_UNPACK_ADVICE = "unpack it and import the folder or the file in it"
_WORD_ADVICE = "save it as .docx (or .odt, .rtf) first"
_OLE = b"\xd0\xcf\x11\xe0"
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a picture; its text has to be recognised first (OCR), then import that"),
    (b"\xff\xd8\xff", "a picture; its text has to be recognised first (OCR), then import that"),
    (b"II*\0", "a picture; its text has to be recognised first (OCR), then import that"),
    (b"MM\0*", "a picture; its text has to be recognised first (OCR), then import that"),
    (b"AT&TFORM", "a DjVu, which is pictures of pages; find the EPUB or a PDF with text"),
    (_OLE, f"an old Word or Office file (.doc); {_WORD_ADVICE}"),
    (b"\xdb\xa5-\0", f"an old Word file (.doc); {_WORD_ADVICE}"),
    (b"\xffWPC", f"a WordPerfect file; {_WORD_ADVICE}"),
    (b"CONT\x02\0", "a Kindle file of the kind KFX; get it as EPUB or AZW3"),
    (b"\xeaDRMION", "a Kindle file with DRM; import a copy without"),
    (b"TPZ", "a Kindle file of the kind Topaz; get it as EPUB or AZW3"),
    (b"ITOLITLS", "a Microsoft Reader book (.lit); Calibre makes EPUB of it"),
    (b"%!PS", "PostScript; make a PDF of it (ps2pdf)"),
    (b"\x1f\x8b", f"packed (gzip); {_UNPACK_ADVICE}"),
    (b"7z\xbc\xaf", f"packed (7z); {_UNPACK_ADVICE}"),
    (b"Rar!", f"packed (rar); {_UNPACK_ADVICE}"),
    (b"BZh", f"packed (bzip2); {_UNPACK_ADVICE}"),
    (b"\xfd7zXZ", f"packed (xz); {_UNPACK_ADVICE}"),
    (b"ID3", "a recording, not a text; `narrator hear` holds recordings against their texts"),
    (b"fLaC", "a recording, not a text; `narrator hear` holds recordings against their texts"),
    (b"OggS", "a recording, not a text; `narrator hear` holds recordings against their texts"),
    (b"RIFF", "a recording or a picture, not a text"),
    (b"bplist00", "a web archive of Safari; save the page as its source (HTML)"),
    (b"SQLite format 3", "a database, not a text"),
    (b"\x7fELF", "a program, not a text"),
    (b"MZ\x90", "a program, not a text"),
)
"""First bytes of files that are not manuscripts, with advice."""

_ROOTS: Mapping[str, Kind | str] = {
    "FictionBook": "fb2",
    "FinalDraft": "fdx",
    "rss": "feed",
    "feed": "feed",
    "RDF": "feed",
    "document": "odt",  # the flat kind, .fodt
    "package": f"a Word file or an EPUB's package as one XML; {_WORD_ADVICE}",
    "wordDocument": f"a Word file of 2003 as XML; {_WORD_ADVICE}",
    "TEI": "TEI, which has no reader here; make EPUB or HTML of it",
    "article": "DocBook or JATS, which has no reader here; make EPUB or HTML of it",
    "book": "DocBook, which has no reader here; make EPUB or HTML of it (pandoc -f docbook)",
    "dtbook": "DAISY, which has no reader here; make EPUB of it",
    "opml": "an outline (OPML), which has no reader here; export it as Markdown",
    "ncx": "an EPUB's table of contents; import the EPUB itself",
    "container": "a part of an EPUB; import the EPUB itself",
    "svg": "a picture",
}
"""Root elements of XML -> the format, or why it is not read, with advice."""

_UNSUPPORTED_SUFFIXES: Mapping[str, str] = {
    ".tex": "LaTeX, whose commands would be read aloud; `pandoc book.tex -o book.epub` first",
    ".rst": "reStructuredText; `pandoc book.rst -o book.epub` first",
    ".adoc": "AsciiDoc; make HTML or EPUB of it first",
    ".org": "Org; `pandoc book.org -o book.epub` first",
    ".typ": "Typst; make a PDF or HTML of it first",
    ".csv": "a table, not a manuscript",
    ".tsv": "a table, not a manuscript",
    ".ass": "subtitles with effects; save them as .srt or .vtt",
    ".ssa": "subtitles with effects; save them as .srt or .vtt",
    ".py": "a program, not a manuscript",
}
"""Texts whose markup would be read aloud, with advice."""

_TEXT_SUFFIXES: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mkd": "markdown",
    ".fountain": "fountain",
    ".spmd": "fountain",
}
"""Suffixes that say what the signs of a text mean."""

SUFFIXES: Mapping[str, Kind] = _TEXT_SUFFIXES | {
    ".txt": "text", ".text": "text", ".epub": "epub", ".docx": "docx", ".docm": "docx",
    ".dotx": "docx", ".odt": "odt", ".ott": "odt", ".fodt": "odt", ".rtf": "rtf", ".pdf": "pdf",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".fb2": "fb2", ".fdx": "fdx", ".srt": "srt",
    ".vtt": "vtt", ".sbv": "sbv", ".rss": "feed", ".atom": "feed", ".mobi": "mobi", ".azw": "mobi",
    ".azw3": "mobi", ".prc": "mobi",
}  # fmt: skip
"""Formats by suffix."""

SUPPORTED_FORMATS = (
    "EPUB, Word (.docx), OpenDocument (.odt), RTF, PDF with text, HTML, FB2, Markdown, plain text, "
    "Fountain, Final Draft (.fdx), subtitles (.srt, .vtt, .sbv), feeds (RSS, Atom, JSON), "
    "and MOBI or AZW3 by Calibre"
)


def kind_of(path: Path) -> Kind:
    """Returns the format of a file. Raises ImportFailed for one that cannot be read, with
    advice."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_SIZE)
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    kind = _kind_by_signature(path, head)
    if kind is None:
        kind = _kind_of_text(path, head)
    if kind in _READABLE:
        return kind  # type: ignore[return-value]
    raise ImportFailed(Problem(path, None, kind))


def _kind_by_signature(path: Path, head: bytes) -> Kind | str | None:
    """Returns the format by signature, or why the file is refused; None for a possible text."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_archive(path)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if _RTF.match(head):
        return "rtf"
    if head[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        return "mobi"
    if head.startswith(_OLE) and "EncryptedPackage".encode("utf-16-le") in _read_all(path, head):
        return "is locked with a password; unlock it first (in Word: File, Info, Protect Document)"
    return next(
        (
            f"is {description}"
            for signature, description in _SIGNATURES
            if head.startswith(signature)
        ),
        None,
    )


def _read_all(path: Path, head: bytes) -> bytes:
    """Returns the bytes of a file, or only its head if it is too large."""
    try:
        return files.read_bounded(path, MAX_FILE_SIZE)
    except (files.TooLarge, OSError):
        return head


# -- archives --------------------------------------------------------------------------------------


def _kind_of_archive(path: Path) -> Kind | str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:20_000]
            mime = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        return _kind_of_broken_archive(path, error)
    return next((kind for matches, kind in _ARCHIVES if matches(names, mime)), None) or (
        f"is an archive without a manuscript that can be told; {_UNPACK_ADVICE}"
    )


def _kind_of_broken_archive(path: Path, error: Exception) -> Kind | str:
    """Returns the likely format, so that its reader explains the fault."""
    kind_by_suffix: Mapping[str, Kind] = {".docx": "docx", ".odt": "odt"}
    return kind_by_suffix.get(path.suffix.lower(), "epub")


def _has_ending(*endings: str) -> Callable[[list[str], bytes], bool]:
    return lambda names, _: any(name.lower().endswith(endings) for name in names)


_ARCHIVES: tuple[tuple[Callable[[list[str], bytes], bool], Kind | str], ...] = (
    (lambda n, m: m.startswith(b"application/epub") or "META-INF/container.xml" in n, "epub"),
    (lambda n, m: m.startswith(b"application/vnd.oasis.opendocument.text"), "odt"),
    (
        lambda n, m: m.startswith(b"application/vnd.oasis.opendocument"),
        "is a spreadsheet or a presentation of OpenDocument, not a manuscript",
    ),
    (
        lambda n, _: any(name.startswith("word/") for name in n) and "[Content_Types].xml" in n,
        "docx",
    ),
    (
        lambda n, _: "[Content_Types].xml" in n,
        "is a spreadsheet or a presentation of Office, not a manuscript",
    ),
    (
        lambda n, _: any(name.startswith("Index/") and name.endswith(".iwa") for name in n)
        or "index.apxl" in n,
        "is a Pages document; export it as Word or EPUB (File, Export To)",
    ),
    (_has_ending(".fb2"), "fb2-archive"),
    (_has_ending(".scrivx"), "is a Scrivener project; compile it to Word, or to EPUB"),
    (_has_ending(".html", ".htm", ".xhtml"), "html-archive"),
)  # fmt: skip
"""Formats of archives, by the names in them and their `mimetype`."""


# -- texts -----------------------------------------------------------------------------------------

_XML = re.compile(
    r"\s*(?:(?:<\?[^>]*>|<!--[^-]*(?:-(?!->)[^-]*)*-->|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)\s*)*"
    r"<(?:[\w.-]+:)?(?P<root>[A-Za-z][\w.-]*)(?=[\s/>])",
    re.DOTALL | re.IGNORECASE,
)
_BLOCK_TAG = (
    r"</?(?:html|head|body|title|meta|link|base|article|main|section|div|p|h[1-6]|ul|ol|li|dl|dt|dd|"
    r"table|tr|td|th|blockquote|center|pre|br|hr|nav|header|footer|aside|figure|form|noscript)"
    r"(?:\s[^<>]*)?/?>"
)
_HTML = re.compile(
    rf"\s*(?:{_BLOCK_TAG}|<(?:a|img|span|font|iframe|svg|input|button)\b[^<>]*>)", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"\s*<(?:!doctype\s+html\b|(?:[\w.-]+:)?(?:html|head|body)\b[^<>]*>(?=\s*<|.*?</[a-z]))",
    re.I | re.S,
)
"""Beginning of a whole page; `<html> is the first tag` is not one."""
_TAGS = re.compile(
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
_TIMES = r"\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}[ \t]*-->[ \t]*\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}"
_SCENE_HEADING = re.compile(
    r"(?:\A|\n[ \t]*\n)[ \t]*(?:\d+[A-Z]?\.?[ \t]+)?(?:INT|EXT|EST|INT\.?/EXT|EXT\.?/INT|I/E)[. ]"
    r"(?=[^\na-z]*[A-Z]{2})[^\n]*"
)
_PARAGRAPH_START = re.compile(r"(?:\A|\n)[ \t]*\n(?=[ \t]*\S)")
_CUE = re.compile(r"\n[ \t]*\n[ \t]*[A-Z][A-Z0-9 .'’#-]+(?:\([^()\n]*\))?[ \t]*\^?\n[ \t]*\S")
_TITLE_PAGE = re.compile(r"\s*(?:Title|Credit|Author|Source|Draft date|Contact):", re.IGNORECASE)
_ATX = re.compile(r"(?:^|\n[ \t]*\n)#{1,3} +\S[^\n]*\n")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[\w-]+[ \t]*:.*\n)+", re.MULTILINE)
_SIGNS: tuple[tuple[re.Pattern[str], Kind | str], ...] = (
    (re.compile(r"\A\s*WEBVTT(?=[ \t\n]).*-->", re.DOTALL), "vtt"),
    (re.compile(rf"\A\s*(?:\d+[ \t]*\n[ \t]*)?{_TIMES}"), "srt"),
    (re.compile(r"\A\s*\d{1,3}:\d{2}:\d{2}\.\d{3},\d{1,3}:\d{2}:\d{2}\.\d{3}\s"), "sbv"),
    (re.compile(r'\A\s*\{.*?"version"\s*:\s*"https?://jsonfeed\.org/', re.DOTALL), "feed"),
    (
        re.compile(r"^Content-Type:\s*multipart/related;", re.MULTILINE | re.IGNORECASE),
        "is a web archive (MHTML); save the page as HTML instead",
    ),
)
"""Formats by the first characters of a text."""
_LATEX = re.compile(r"\\documentclass|\\begin\{document\}")
_SIGN_SEARCH_LENGTH = 2000
"""Characters in which such signs are searched for."""


def _kind_of_text(path: Path, head: bytes) -> Kind | str:
    """Returns the format of a text by its signs, else by its name."""
    suffix = path.suffix.lower()
    try:
        text = decode(head).text.replace("\r\n", "\n").replace("\r", "\n")
    except NoText:
        kind_by_name = _TEXT_SUFFIXES.get(suffix) or (
            "text" if suffix in (".txt", ".text") else None
        )
        return (
            kind_by_name
            or f"is no manuscript that can be told; what can be imported: {SUPPORTED_FORMATS}"
        )
    kind = _kind_by_first_words(text, suffix)
    if kind is not None:
        return kind
    if suffix in _UNSUPPORTED_SUFFIXES:
        return f"is {_UNSUPPORTED_SUFFIXES[suffix]}"
    return _TEXT_SUFFIXES.get(suffix) or _kind_by_conventions(text)


def _kind_by_first_words(text: str, suffix: str) -> Kind | str | None:
    """Returns the format that a text's first words or tags reveal."""
    sign_kind = next(
        (kind for sign, kind in _SIGNS if sign.search(text, 0, _SIGN_SEARCH_LENGTH)), None
    )
    if sign_kind is not None:
        return sign_kind
    root_match = _XML.match(text)
    root = next(
        (r for r in _ROOTS if root_match and r.casefold() == root_match["root"].casefold()), None
    )
    if root is not None and not (root in ("document", "article") and _TAGS.search(text)):
        kind = _ROOTS[root]
        return kind if kind in _READABLE else f"is {kind}"
    if _is_html(text, suffix):
        return "html"
    if text.lstrip().startswith("<?xml"):
        return "is XML of a kind that has no reader here; make EPUB or HTML of it"
    return f"is {_UNSUPPORTED_SUFFIXES['.tex']}" if _LATEX.search(text) else None


def _is_html(text: str, suffix: str) -> bool:
    """Returns whether a text is HTML: by its beginning below comments and scripts, by tags at line
    ends, and in doubt by its name."""
    text = text.lstrip("\ufeff")
    visible_text = _visible_part(text)
    if _DOCUMENT.match(visible_text):
        return True
    if suffix in _TEXT_SUFFIXES:  # Markdown may begin with tags, and have any number of them
        return False
    if SUFFIXES.get(suffix) == "html":
        return visible_text != text or _ANY_TAG.search(text) is not None
    groups = "".join(_FENCE.split(visible_text)[::2]).split("\n\n")
    tagged_length = sum(len(group) for group in groups if _EDGE_TAG.search(group))
    tagged_share = tagged_length / max(1, sum(map(len, groups)))
    if _HTML.match(visible_text) and _TAGS.search(visible_text):
        return tagged_share > _MIN_TAGGED_SHARE or "<pre" in visible_text.lower()
    is_xml = text.lstrip().startswith("<?xml")
    return (
        tagged_share > _MIN_TAGGED_SHARE_ELSEWHERE
        and not is_xml
        and len(_EDGE_TAG.findall(visible_text)) >= _MIN_EDGE_TAGS
    )


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
        return "fountain"
    has_headings = len(_ATX.findall(text)) > 1 or (
        _ATX.search(text[:400]) and _FRONT_MATTER.match(text)
    )
    return "markdown" if has_headings or _FRONT_MATTER.match(text) else "text"


def is_fountain(text: str) -> bool:
    """Returns whether a text is a screenplay: two or more scene headings, and names above speeches,
    on a sixth of its paragraphs."""
    scene_heading_count, cue_count = len(_SCENE_HEADING.findall(text)), len(_CUE.findall(text))
    has_enough = 6 * (scene_heading_count + cue_count) >= len(_PARAGRAPH_START.findall(text))
    return (
        scene_heading_count > 1 and has_enough and (cue_count > 1 or bool(_TITLE_PAGE.match(text)))
    )


_READABLE = frozenset(Kind.__args__)  # type: ignore[attr-defined]
