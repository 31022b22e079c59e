"""The kinds of manuscripts: what people call them, how they are recognised, and what reads them.

One table, used for detection, reading, help, suggestions and messages. A kind with advice cannot be
read: the advice says what to do instead. Loads no reader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from textbase.extensions import Registry

if TYPE_CHECKING:
    from manuscripts.book import Book, Choices

ArchiveTest = Callable[[Collection[str], bytes], bool]
"""Returns whether an archive with members of these names and this `mimetype` is of a kind."""

Reader = Callable[[Path, "Choices"], "Book"]
"""Reads a file of one kind, or of any."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of file. All its signs are optional; content is tried before the name."""

    name: str
    """For people: "was read as EPUB", or "is a picture"."""
    reader: str | Reader = ""
    """Module below `manuscripts.readers`, and function: `ebook.epub:read_epub`; of another package
    the function itself."""
    advice: str = ""
    """Advice for a kind that has no reader."""
    suffixes: tuple[str, ...] = ()
    listed_as: str = ""
    """Its entry in the list of what can be imported, if not the name."""
    signature: bytes = b""
    """Pattern of the first bytes of a binary file."""
    is_archive: ArchiveTest | None = None
    roots: tuple[str, ...] = ()
    """Names of the root elements of XML."""
    beginning: str = ""
    """Pattern near the beginning of a text, which `re.search` finds."""
    is_named: bool = False
    """True if the suffix says what the signs of a text mean, as that of Markdown does."""
    writes_languages: bool = False
    """True if its programs write a language that nobody has chosen."""

    @property
    def refusal(self) -> str:
        return f"is {self.name}; {self.advice}" if self.advice else f"is {self.name}"

    def load_reader(self) -> Reader:
        if not isinstance(self.reader, str):
            return self.reader
        module, _, function = self.reader.partition(":")
        reader: Reader = getattr(import_module(f"manuscripts.readers.{module}"), function)
        return reader


def _has_member(*endings: str) -> ArchiveTest:
    return lambda names, _: any(name.lower().endswith(endings) for name in names)


def _has_mimetype(prefix: bytes) -> ArchiveTest:
    return lambda _, mimetype: mimetype.startswith(prefix)


_OFFICE_LIST = "[Content_Types].xml"
_TIMES = r"\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}[ \t]*-->[ \t]*\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}"

EPUB = Kind(
    "EPUB",
    "ebook.epub:read_epub",
    suffixes=(".epub",),
    is_archive=lambda names, mimetype: (
        mimetype.startswith(b"application/epub") or "META-INF/container.xml" in names
    ),
)
WORD = Kind(
    "Word",
    "office.docx:read_docx",
    suffixes=(".docx", ".docm", ".dotx"),
    listed_as="Word (.docx)",
    is_archive=lambda names, _: (
        _OFFICE_LIST in names and any(name.startswith("word/") for name in names)
    ),
    writes_languages=True,
)
OPENDOCUMENT = Kind(
    "OpenDocument",
    "office.odt:read_odt",
    suffixes=(".odt", ".ott", ".fodt"),
    listed_as="OpenDocument (.odt)",
    is_archive=_has_mimetype(b"application/vnd.oasis.opendocument.text"),
    roots=("document",),  # the flat kind, .fodt
    writes_languages=True,
)
RTF = Kind(
    "RTF", "office.rtf:read_rtf", suffixes=(".rtf",),
    signature=rb"\s*\{\\rtf[\d\\{]", writes_languages=True,
)  # fmt: skip
PDF = Kind(
    "PDF",
    "pdf:read_pdf",
    suffixes=(".pdf",),
    listed_as="PDF with text",
    signature=rb"(?s).{0,1019}?%PDF-",
)
HTML = Kind("HTML", "web.html:read_html", suffixes=(".html", ".htm", ".xhtml"))
FB2 = Kind("FB2", "web.fictionbook:read_fictionbook", suffixes=(".fb2",), roots=("FictionBook",))
FB2_ARCHIVE = Kind(
    "FB2", "web.fictionbook:read_fictionbook_archive", is_archive=_has_member(".fb2")
)
MARKDOWN = Kind(
    "Markdown", "markdown:read_markdown", suffixes=(".md", ".markdown", ".mkd"), is_named=True
)
TEXT = Kind("plain text", "text:read_plain_text", suffixes=(".txt", ".text"))
FOUNTAIN = Kind(
    "Fountain",
    "scripts.fountain:read_fountain",
    suffixes=(".fountain", ".spmd"),
    is_named=True,
)
FINAL_DRAFT = Kind(
    "Final Draft",
    "scripts.finaldraft:read_finaldraft",
    suffixes=(".fdx",),
    listed_as="Final Draft (.fdx)",
    roots=("FinalDraft",),
)
VTT = Kind(
    "subtitles (WebVTT)",
    "scripts.subtitles:read_subtitles",
    suffixes=(".vtt",),
    listed_as="subtitles (.srt, .vtt, .sbv)",
    beginning=r"\A\s*WEBVTT(?=[ \t\n])(?s:.*)-->",
)
SRT = Kind(
    "subtitles (SRT)",
    "scripts.subtitles:read_subtitles",
    suffixes=(".srt",),
    listed_as=VTT.listed_as,
    beginning=rf"\A\s*(?:\d+[ \t]*\n[ \t]*)?{_TIMES}",
)
SBV = Kind(
    "subtitles (SBV)",
    "scripts.subtitles:read_subtitles",
    suffixes=(".sbv",),
    listed_as=VTT.listed_as,
    beginning=r"\A\s*\d{1,3}:\d{2}:\d{2}\.\d{3},\d{1,3}:\d{2}:\d{2}\.\d{3}\s",
)
FEED = Kind(
    "a feed",
    "web.feed:read_feed",
    suffixes=(".rss", ".atom"),
    listed_as="feeds (RSS, Atom, JSON)",
    roots=("rss", "feed", "RDF"),
    beginning=r'\A\s*\{(?s:.*?)"version"\s*:\s*"https?://jsonfeed\.org/',
)
MOBI = Kind(
    "MOBI or AZW3",
    "ebook.calibre:read_by_calibre",
    suffixes=(".mobi", ".azw", ".azw3", ".prc"),
    listed_as="MOBI or AZW3 by Calibre",
    signature=rb"(?s).{60}(?:BOOKMOBI|TEXtREAd)",
)
HTML_ARCHIVE = Kind(
    "an archive of HTML",
    "web.html:read_html_archive",
    listed_as="HTML",
    is_archive=_has_member(*HTML.suffixes),
)

_WORD_ADVICE = "save it as .docx (or .odt, .rtf) first"
_EPUB_ADVICE = "which has no reader here; make EPUB or HTML of it"
_UNPACK_ADVICE = "unpack it and import the folder or the file in it"
_OCR_ADVICE = "its text has to be recognised first (OCR), then import that"
_RECORDING_ADVICE = "`narrator hear` holds recordings against their texts"
PAGES = Kind(
    "a Pages document",
    advice="export it as Word or EPUB (File, Export To)",
    suffixes=(".pages",),
    is_archive=lambda names, _: (
        "index.apxl" in names
        or any(name.startswith("Index/") and name.endswith(".iwa") for name in names)
    ),
)
SCRIVENER = Kind(
    "a Scrivener project",
    advice="compile it to Word, or to EPUB",
    is_archive=_has_member(".scrivx"),
)
OLD_OFFICE = Kind(
    "an old Word or Office file (.doc)",
    advice=_WORD_ADVICE,
    suffixes=(".doc", ".wps"),
    signature=rb"\xd0\xcf\x11\xe0",
)
LOCKED = Kind(
    "locked with a password",
    advice="unlock it first (in Word: File, Info, Protect Document)",
)
ARCHIVE = Kind("an archive without a manuscript of a known kind", advice=_UNPACK_ADVICE)
LATEX = Kind(
    "LaTeX, whose commands would be read aloud",
    advice="`pandoc book.tex -o book.epub` first",
    suffixes=(".tex",),
    is_named=True,
)
XML = Kind("XML of a kind that has no reader here", advice="make EPUB or HTML of it")

KINDS: tuple[Kind, ...] = (
    EPUB,
    WORD,
    Kind("a spreadsheet or a presentation of Office, not a manuscript",
         is_archive=lambda names, _: _OFFICE_LIST in names),
    OPENDOCUMENT,
    Kind("a spreadsheet or a presentation of OpenDocument, not a manuscript",
         is_archive=_has_mimetype(b"application/vnd.oasis.opendocument")),
    RTF, PDF, HTML, FB2, PAGES, FB2_ARCHIVE, SCRIVENER, HTML_ARCHIVE,
    MARKDOWN, TEXT, FOUNTAIN, FINAL_DRAFT, VTT, SRT, SBV, FEED, MOBI,
    # -- what cannot be read, known by its first bytes
    Kind("a picture", advice=_OCR_ADVICE,
         signature=rb"\x89PNG|\xff\xd8\xff|II\*\0|MM\0\*"),
    Kind("a DjVu, which is pictures of pages", advice="find the EPUB or a PDF with text",
         signature=rb"AT&TFORM"),
    OLD_OFFICE,
    Kind("an old Word file (.doc)", advice=_WORD_ADVICE, signature=rb"\xdb\xa5-\0"),
    Kind("a WordPerfect file", advice=_WORD_ADVICE, suffixes=(".wpd",), signature=rb"\xffWPC"),
    Kind("a Kindle file of the kind KFX", advice="get it as EPUB or AZW3", suffixes=(".kfx",),
         signature=rb"CONT\x02\0"),
    Kind("a Kindle file with DRM", advice="import a copy without", signature=rb"\xeaDRMION"),
    Kind("a Kindle file of the kind Topaz", advice="get it as EPUB or AZW3", signature=rb"TPZ"),
    Kind("a Microsoft Reader book (.lit)", advice="Calibre makes EPUB of it", suffixes=(".lit",),
         signature=rb"ITOLITLS"),
    Kind("PostScript", advice="make a PDF of it (ps2pdf)", signature=rb"%!PS"),
    Kind("packed (gzip)", advice=_UNPACK_ADVICE, signature=rb"\x1f\x8b"),
    Kind("packed (7z)", advice=_UNPACK_ADVICE, signature=rb"7z\xbc\xaf"),
    Kind("packed (rar)", advice=_UNPACK_ADVICE, signature=rb"Rar!"),
    Kind("packed (bzip2)", advice=_UNPACK_ADVICE, signature=rb"BZh"),
    Kind("packed (xz)", advice=_UNPACK_ADVICE, signature=rb"\xfd7zXZ"),
    Kind("a recording, not a text", advice=_RECORDING_ADVICE,
         signature=rb"ID3|fLaC|OggS"),
    Kind("a recording or a picture, not a text", signature=rb"RIFF"),
    Kind("a web archive of Safari", advice="save the page as its source (HTML)",
         signature=rb"bplist00"),
    Kind("a database, not a text", signature=rb"SQLite format 3"),
    Kind("a program, not a text", signature=rb"\x7fELF|MZ\x90"),
    # -- by the root of their XML
    Kind("a Word file or an EPUB's package as one XML", advice=_WORD_ADVICE, roots=("package",)),
    Kind("a Word file of 2003 as XML", advice=_WORD_ADVICE, roots=("wordDocument",)),
    Kind(f"TEI, {_EPUB_ADVICE}", roots=("TEI",)),
    Kind(f"DocBook or JATS, {_EPUB_ADVICE}", roots=("article",)),
    Kind(f"DocBook, {_EPUB_ADVICE} (pandoc -f docbook)", roots=("book",)),
    Kind("DAISY, which has no reader here", advice="make EPUB of it", roots=("dtbook",)),
    Kind("an outline (OPML), which has no reader here", advice="export it as Markdown",
         roots=("opml",)),
    Kind("an EPUB's table of contents", advice="import the EPUB itself", roots=("ncx",)),
    Kind("a part of an EPUB", advice="import the EPUB itself", roots=("container",)),
    Kind("a picture", roots=("svg",)),
    # -- texts whose markup would be read aloud
    Kind("a web archive (MHTML)", advice="save the page as HTML instead",
         beginning=r"(?im)^Content-Type:\s*multipart/related;"),
    LATEX,
    Kind("reStructuredText", advice="`pandoc book.rst -o book.epub` first", suffixes=(".rst",),
         is_named=True),
    Kind("AsciiDoc", advice="make HTML or EPUB of it first", suffixes=(".adoc",), is_named=True),
    Kind("Org", advice="`pandoc book.org -o book.epub` first", suffixes=(".org",), is_named=True),
    Kind("Typst", advice="make a PDF or HTML of it first", suffixes=(".typ",), is_named=True),
    Kind("a table, not a manuscript", suffixes=(".csv", ".tsv"), is_named=True),
    Kind("subtitles with effects", advice="save them as .srt or .vtt", suffixes=(".ass", ".ssa"),
         is_named=True),
    Kind("a program, not a manuscript", suffixes=(".py",), is_named=True),
)  # fmt: skip
"""All kinds; of several whose signs fit, the first counts."""

READABLE = tuple(kind for kind in KINDS if kind.reader)
SUFFIXES = {suffix: kind for kind in READABLE for suffix in kind.suffixes}
"""Kinds that can be read, by suffix."""
READERS = Registry(
    "narrator.manuscripts",
    "reader",
    Kind,
    READABLE,
    lambda kind: [suffix.removeprefix(".") for suffix in kind.suffixes],
)
"""Kinds that can be read, by suffix without its dot: these, and those of other packages."""
UNREADABLE_SUFFIXES = tuple(
    suffix for kind in KINDS if not kind.reader and not kind.is_named for suffix in kind.suffixes
)
"""Suffixes of manuscripts that only other programs read."""
*_LISTED, _LAST_LISTED = dict.fromkeys(kind.listed_as or kind.name for kind in READABLE)
IMPORTABLE = f"{', '.join(_LISTED)} and {_LAST_LISTED}"
"""List of what can be imported, for people."""
