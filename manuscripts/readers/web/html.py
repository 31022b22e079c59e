"""Reads HTML: a file, an archive of files, or a folder of them.

Boilerplate of web pages is left out (`boilerplate`), style sheets are applied to elements
(`stylesheets`), and a page of links determines the order of the others. Opens only files that are
linked, in the folder or the archive, and nothing on the network.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from manuscripts import matter
from manuscripts.book import Book, Choices, count_characters, count_words, natural_key
from manuscripts.errors import ImportFailed
from manuscripts.kinds import HTML
from manuscripts.plaintext import read_data
from manuscripts.readers import markup
from manuscripts.readers.archive import TOTAL_LIMIT, Archive, resolve
from manuscripts.readers.ebook.cover import read_cover
from manuscripts.readers.ebook.package import metadata_of
from manuscripts.readers.elements import OMISSION_ATTRIBUTE, body_of
from manuscripts.readers.facts import Metadata, TocEntry
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.web.boilerplate import omit_boilerplate
from manuscripts.readers.web.stylesheets import apply_styles, collect_rules
from manuscripts.readers.web.web_metadata import page_metadata
from textbase.errors import Problem

_CONTENTS_NAME = re.compile(
    r"(index|toc|contents|default|table[-_ ]?of[-_ ]?contents|nav)", re.IGNORECASE
)
"""Names of pages that may be a table of contents of the others."""
_LINK_SEPARATORS = re.compile(r"[\s|·•←→↑«»<>\[\]()/:–—-]*")
"""Text between links from page to page."""
_FORMATTING_TAG = re.compile(
    r"</?(?:font|span|b|i|u|em|strong|big|small|center|nobr|tt|a)(?:\s[^<>]*)?>", re.IGNORECASE
)
"""Tags of formatting elements and links."""
_OFFICE_AUTHOR = re.compile(r"<o:Author>([^<>\0-\x1f\ufffe\uffff]{1,200})</o:Author>")
_MAX_LINK_WORDS = 12
"""Maximum words of a line of links from page to page."""
_ReadFile = Callable[[str], bytes]


def read_html(path: Path, choices: Choices) -> Book:
    """Reads the book in one HTML file. Raises ImportFailed, SlowPattern."""
    site = _Site(path, choices, (path.name,), lambda name: read_data(path))
    return read_pages(path, site.build_pages(), choices)


def read_html_archive(path: Path, choices: Choices) -> Book:
    """Reads the book in an archive of HTML, as Google Docs and Calibre (HTMLZ) write them.

    Raises ImportFailed, SlowPattern.
    """
    with Archive(path, "an archive of HTML") as archive:
        names = [
            name
            for name in archive.names
            if not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
        ]
        pages = _Site(path, choices, names, archive.read).build_pages()
        if package := archive.find("metadata.opf"):
            metadata, cover = metadata_of(archive.xml(package)), archive.find("cover.jpg")
            cover_image, cover_remarks = read_cover(archive, cover) if cover else (None, [])
            remarks = (*pages.remarks, *cover_remarks)
            pages = replace(pages, facts=metadata, cover=cover_image, remarks=remarks)
    return read_pages(path, pages, choices)


def read_html_folder(folder: Path, files: Sequence[Path], choices: Choices) -> Book:
    """Reads the book in HTML files in a folder. Raises ImportFailed, SlowPattern."""
    resolved_folder = folder.resolve()
    sheets = [
        path
        for path in folder.rglob("*.css")
        if path.is_file() and path.resolve().is_relative_to(resolved_folder)
    ]
    paths = {path.relative_to(folder).as_posix(): path for path in (*sheets, *files)}
    site = _Site(folder, choices, tuple(paths), lambda name: read_data(paths[name]))
    return read_pages(resolved_folder, site.build_pages(), choices)


class _Site:
    """The HTML pages of one book; `names` are the existing files, pages and style sheets."""

    def __init__(self, path: Path, choices: Choices, names: Sequence[str], read: _ReadFile) -> None:
        self.path = path
        self.choices = choices
        self.names = {name.casefold(): name for name in names}
        self.read = read
        self.total_bytes = 0
        self.remarks: list[str] = []
        self.sheets: dict[str, str] = {}
        """Texts of linked style sheets, by name."""
        page_names = [name for name in names if name.lower().endswith(HTML.suffixes)] or list(names)
        self.roots = {name: self._parse_page(name) for name in sorted(page_names, key=natural_key)}

    def build_pages(self) -> Pages:
        """Returns the pages in reading order, with their metadata."""
        contents_page = self._find_contents_page() if len(self.roots) > 1 else None
        contents = self._page_links(contents_page) if contents_page else []
        first_pages = [contents_page] if contents_page else []
        order = dict.fromkeys((*first_pages, *(entry.path for entry in contents), *self.roots))
        omitted_page = (
            contents_page if contents_page and self._is_mostly_links(contents_page) else None
        )
        metadata = [page_metadata(self.roots[name]) for name in order]
        for name, root in self.roots.items():
            self._clean_page(root, name)
        pages = [SourcePage(name, self.roots[name]) for name in order if name != omitted_page]
        if omitted_page is None:
            return Pages(pages, _merge_metadata(metadata, False), remarks=self.remarks)
        pages.append(SourcePage(omitted_page, self.roots[omitted_page], "table of contents"))
        return Pages(pages, _merge_metadata(metadata, True), contents, remarks=self.remarks)

    def _parse_page(self, name: str) -> etree._Element:
        """Parses a page; names of elements are in lower case."""
        try:
            text, remarks = markup.decode_document(
                self._read_bytes(name), self.choices.encoding, name
            )
            self.remarks += remarks
            try:
                root, _ = markup.document_of(text)
            except markup.TooDeep:
                # Old pages open <font> in every paragraph without closing it.
                root, _ = markup.document_of(_FORMATTING_TAG.sub("", text))
                self.remarks.append(f"{name} opens elements and closes none: emphasis was dropped.")
        except markup.BadMarkup as error:
            message = str(error) if name == self.path.name else f"{name}: {error}"
            raise ImportFailed(Problem(self.path, None, message)) from None
        if author := _OFFICE_AUTHOR.search(text):
            # Word writes the author in a comment, which the parser drops.
            etree.SubElement(root, "meta", name="author", content=html.unescape(author[1]))
        if any(map(str.isupper, str(root.tag).rpartition("}")[2])):
            _lower_names(root)
        return root

    def _read_bytes(self, name: str) -> bytes:
        content = self.read(name)
        self.total_bytes += len(content)
        if self.total_bytes > TOTAL_LIMIT:
            raise ImportFailed(Problem(self.path, None, "more than 400 MB, which no book has"))
        return content

    def _clean_page(self, root: etree._Element, name: str) -> None:
        sheets = ["".join(style.itertext()) for style in root.iter("{*}style")]
        apply_styles(root, collect_rules([*self._linked_sheets(root, name), *sheets]))
        omit_boilerplate(root, name)
        if len(self.roots) > 1:
            _omit_page_links(root, lambda href: self._linked_page(name, href) is not None)

    def _linked_sheets(self, root: etree._Element, name: str) -> Iterator[str]:
        """Yields the texts of the style sheets that a page links to."""
        for link in root.iter("{*}link"):
            target = resolve(name, unquote(link.get("href", "")))[0]
            sheet = self.names.get(target.casefold())
            if "stylesheet" in link.get("rel", "").lower() and sheet and sheet not in self.roots:
                if sheet not in self.sheets:
                    self.sheets[sheet] = self._read_bytes(sheet).decode("utf-8", "replace")
                yield self.sheets[sheet]

    # -- the table of contents ---------------------------------------------------------------------

    def _find_contents_page(self) -> str | None:
        """Returns the name of the page that links to most of the others; None for none."""
        for name in self.roots:
            if _CONTENTS_NAME.fullmatch(posixpath.splitext(posixpath.basename(name))[0]):
                linked = {entry.path for entry in self._page_links(name)} - {name}
                if 2 * len(linked) > len(self.roots) - 1:
                    return name
        return None

    def _page_links(self, name: str) -> list[TocEntry]:
        """Returns the links of a page to other pages, without duplicates."""
        entries: dict[tuple[str, str], TocEntry] = {}
        for link in self.roots[name].iter("{*}a"):
            target = self._linked_page(name, link.get("href", ""))
            title = " ".join("".join(link.itertext()).split())
            if target and title:
                fragment = resolve(name, link.get("href", ""))[1]
                entries.setdefault((target, fragment), TocEntry(title, target, fragment))
        return list(entries.values())

    def _linked_page(self, name: str, href: str) -> str | None:
        """Returns the other page that a link points to; None for other targets."""
        address = href.partition("#")[0]
        if not address or ":" in address:
            return None
        target = self.names.get(resolve(name, unquote(address))[0].casefold())
        return target if target in self.roots and target != name else None

    def _is_mostly_links(self, name: str) -> bool:
        body = body_of(self.roots[name])
        link_length = sum(count_characters("".join(link.itertext())) for link in body.iter("{*}a"))
        return 2 * link_length >= count_characters("".join(body.itertext()))


def _merge_metadata(facts_of_pages: Sequence[Metadata], has_contents_page: bool) -> Metadata:
    """Merges the metadata of pages; titles of pages are not the book's, unless all are equal.

    `has_contents_page`: the first page is the table of contents, whose metadata is the book's.
    """
    first_facts = facts_of_pages[0]
    if len(facts_of_pages) == 1:
        return first_facts
    is_book_title = has_contents_page or len({facts.title for facts in facts_of_pages}) == 1
    is_matter = matter.kind_of_title(first_facts.title or "") is not None
    return replace(
        first_facts if has_contents_page else Metadata(),
        title=first_facts.title if is_book_title and not is_matter else None,
        authors=next((facts.authors for facts in facts_of_pages if facts.authors), ()),
        language=next((facts.language for facts in facts_of_pages if facts.language), None),
    )


def _omit_page_links(root: etree._Element, is_page: Callable[[str], bool]) -> None:
    """Leaves out lines of links to other pages of the book: `Back`, `Contents`, `Next`."""
    for element in root.iter("{*}p", "{*}div", "{*}table", "{*}ul", "{*}center"):
        links = list(element.iter("{*}a"))
        if not links or not all(is_page(link.get("href", "")) for link in links):
            continue
        remaining_text = "".join(element.itertext())
        word_count = count_words(remaining_text)
        for link in links:
            remaining_text = remaining_text.replace("".join(link.itertext()), "", 1)
        if word_count <= _MAX_LINK_WORDS and _LINK_SEPARATORS.fullmatch(remaining_text):
            element.set(OMISSION_ATTRIBUTE, "links to other pages")


def _lower_names(root: etree._Element) -> None:
    """Changes names of elements and attributes to lower case."""
    for element in root.iter("{*}*"):
        attributes = {str(key).lower(): text for key, text in element.attrib.items()}
        element.tag = element.tag.lower()
        element.attrib.clear()
        element.attrib.update(attributes)
