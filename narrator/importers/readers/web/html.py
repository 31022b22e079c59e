"""HTML -> pages: a file, an archive of files, or a folder of them.

What is around the text of web pages is left out (`furniture`), what their style sheets say of
classes is written where it counts (`styles`), and a page of links says the order of the others.
Opens no file that is not named, below the folder or in the archive, and nothing on the network.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers import matter
from narrator.importers.book import Book, Choices, count_characters, count_words
from narrator.importers.encoding import NoText, decode
from narrator.importers.plaintext import read_data
from narrator.importers.readers import markup
from narrator.importers.readers.archive import TOTAL_LIMIT, Archive, resolve
from narrator.importers.readers.ebook.cover import read_cover
from narrator.importers.readers.ebook.package import metadata_of
from narrator.importers.readers.elements import LEFT
from narrator.importers.readers.facts import Metadata, TocEntry
from narrator.importers.readers.natural import natural
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.web.furniture import leave_furniture
from narrator.importers.readers.web.sheets import rules_of, write_styles
from narrator.importers.readers.web.webfacts import facts_of

ENDINGS = (".html", ".htm", ".xhtml")
_LISTS = re.compile(r"(index|toc|contents|default|table[-_ ]?of[-_ ]?contents|nav)", re.IGNORECASE)
"""Names of pages that may list the others."""
_BESIDE = re.compile(r"[\s|·•←→↑«»<>\[\]()/:–—-]*")
"""What stands between links from page to page."""
_LOOKS = re.compile(
    r"</?(?:font|span|b|i|u|em|strong|big|small|center|nobr|tt|a)(?:\s[^<>]*)?>", re.IGNORECASE
)
"""Elements that change looks, and links."""
_OFFICE_AUTHOR = re.compile(r"<o:Author>([^<>\0-\x1f\ufffe\uffff]{1,200})</o:Author>")
_FEW = 12
"""Words that links from page to page have at most."""
_Read = Callable[[str], bytes]


def read_html(path: Path, choices: Choices) -> Book:
    """The book in one file of HTML. Raises ImportFailed, Slow."""
    site = _Site(path, choices, (path.name,), lambda name: read_data(path))
    return read_pages(path, site.pages(), choices)


def read_html_archive(path: Path, choices: Choices) -> Book:
    """The book in an archive of HTML, as Google Docs and Calibre (HTMLZ) write them.

    Raises ImportFailed, Slow.
    """
    with Archive(path, "an archive of HTML") as archive:
        names = [name for name in archive.names if not _is_hidden(name)]
        pages = _Site(path, choices, names, archive.read).pages()
        if package := archive.find("metadata.opf"):
            facts, cover = metadata_of(archive.xml(package)), archive.find("cover.jpg")
            shown, told = read_cover(archive, cover) if cover else (None, None)
            remarks = (*pages.remarks, *filter(None, [told]))
            pages = replace(pages, facts=facts, cover=shown, remarks=remarks)
    return read_pages(path, pages, choices)


def read_html_folder(folder: Path, files: Sequence[Path], choices: Choices) -> Book:
    """The book in files of HTML in a folder. Raises ImportFailed, Slow."""
    names = {path.relative_to(folder).as_posix(): path for path in files}
    whole = folder.resolve()
    sheets = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*.css")
        if path.is_file() and path.resolve().is_relative_to(whole)
    }
    known = sheets | names
    site = _Site(folder, choices, tuple(known), lambda name: read_data(known[name]))
    return read_pages(whole, site.pages(), choices)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


class _Site:
    """Pages that are one book; `names` are the files that there are."""

    def __init__(self, path: Path, choices: Choices, names: Sequence[str], read: _Read) -> None:
        self.path = path
        self.choices = choices
        self.names = {name.casefold(): name for name in names}
        self.read = read
        self.total = 0
        self.remarks: list[str] = []
        self.sheets: dict[str, str] = {}
        """Style sheets that pages share, by name."""
        found = [name for name in names if name.lower().endswith(ENDINGS)] or list(names)
        self.roots = {name: self._root(name) for name in sorted(found, key=natural)}

    def pages(self) -> Pages:
        """The pages in reading order, and what they say."""
        listing = self._listing() if len(self.roots) > 1 else None
        contents = self._entries(listing) if listing else []
        first = [listing] if listing else []
        order = dict.fromkeys((*first, *(entry.path for entry in contents), *self.roots))
        aside = listing if listing and self._is_mostly_links(listing) else None
        facts = [facts_of(self.roots[name]) for name in order]
        for name, root in self.roots.items():
            self._mend(root, name)
        pages = [SourcePage(name, self.roots[name]) for name in order if name != aside]
        if aside is None:
            return Pages(pages, _joined(facts, False), remarks=self.remarks)
        pages.append(SourcePage(aside, self.roots[aside], "table of contents"))
        return Pages(pages, _joined(facts, True), contents, remarks=self.remarks)

    def _root(self, name: str) -> etree._Element:
        """A page as elements with names in small letters."""
        try:
            text = self._text(name, self._bytes(name))
            try:
                root, _ = markup.document_of(text)
            except markup.TooDeep:
                # Old pages open <font> in every paragraph and close none.
                root, _ = markup.document_of(_LOOKS.sub("", text))
                self.remarks.append(f"{name} opens elements and closes none: emphasis was dropped.")
        except markup.BadMarkup as error:
            what = str(error) if name == self.path.name else f"{name}: {error}"
            raise ImportFailed(Problem(self.path, None, what)) from None
        if found := _OFFICE_AUTHOR.search(text):
            # Word says it in a comment, which the tree has not.
            etree.SubElement(root, "meta", name="author", content=html.unescape(found[1]))
        if any(map(str.isupper, str(root.tag).rpartition("}")[2])):
            _lower(root)
        return root

    def _bytes(self, name: str) -> bytes:
        data = self.read(name)
        self.total += len(data)
        if self.total > TOTAL_LIMIT:
            raise ImportFailed(Problem(self.path, None, "more than 400 MB, which no book has"))
        return data

    def _text(self, name: str, data: bytes) -> str:
        """The text of a page: as it declares, or in the encoding that fits. Raises BadMarkup."""
        if self.choices.encoding is None:
            if b"\0" not in data and not data.isascii():
                # Whatever it declares: no other text reads as UTF-8 by chance.
                with suppress(UnicodeDecodeError):
                    return data.decode("utf-8-sig")
            try:
                text, told = markup.text_of(data)
            except markup.BadMarkup:
                pass
            else:
                # What XML does not declare, `meta` does.
                if told and data.lstrip().startswith(b"<?xml"):
                    self.remarks.append(f"{name} {told}")
                return text
        try:
            decoded = decode(data, self.choices.encoding)
        except NoText as error:
            raise markup.BadMarkup(str(error)) from None
        if decoded.remark:
            self.remarks.append(f"{name}: {decoded.remark}")
        return decoded.text

    def _mend(self, root: etree._Element, name: str) -> None:
        sheets = ["".join(style.itertext()) for style in root.iter("{*}style")]
        write_styles(root, rules_of([*self._linked_sheets(root, name), *sheets]))
        leave_furniture(root, name)
        if len(self.roots) > 1:
            _leave_links_beside(root, lambda href: self._target(name, href) is not None)

    def _linked_sheets(self, root: etree._Element, name: str) -> list[str]:
        sheets = []
        for link in root.iter("{*}link"):
            if "stylesheet" in link.get("rel", "").lower():
                target = resolve(name, unquote(link.get("href", "")))[0]
                found = self.names.get(target.casefold())
                if found and found not in self.roots:
                    if found not in self.sheets:
                        self.sheets[found] = self._bytes(found).decode("utf-8", "replace")
                    sheets.append(self.sheets[found])
        return sheets

    # -- the page that lists the others ------------------------------------------------------------

    def _listing(self) -> str | None:
        """The page that links most of the others."""
        may = [name for name in self.roots if _LISTS.fullmatch(posixpath.splitext(_last(name))[0])]
        for name in may:
            linked = {entry.path for entry in self._entries(name)} - {name}
            if 2 * len(linked) > len(self.roots) - 1:
                return name
        return None

    def _entries(self, name: str) -> list[TocEntry]:
        """The links of a page to other pages, each once."""
        entries: dict[tuple[str, str], TocEntry] = {}
        for link in self.roots[name].iter("{*}a"):
            target = self._target(name, link.get("href", ""))
            title = " ".join("".join(link.itertext()).split())
            if target and title:
                fragment = resolve(name, link.get("href", ""))[1]
                entries.setdefault((target, fragment), TocEntry(title, target, fragment))
        return list(entries.values())

    def _target(self, name: str, href: str) -> str | None:
        """The other page that a link leads to."""
        if not href.partition("#")[0] or ":" in href.partition("#")[0]:
            return None
        target = self.names.get(resolve(name, unquote(href.partition("#")[0]))[0].casefold())
        return target if target in self.roots and target != name else None

    def _is_mostly_links(self, name: str) -> bool:
        body = next(self.roots[name].iter("{*}body"), self.roots[name])
        whole = count_characters("".join(body.itertext()))
        linked = sum(count_characters("".join(link.itertext())) for link in body.iter("{*}a"))
        return 2 * linked >= whole


def _last(name: str) -> str:
    return posixpath.basename(name)


def _joined(facts: Sequence[Metadata], listed: bool) -> Metadata:
    """The facts of a book whose pages say these: titles of pages are not the book's."""
    if len(facts) == 1:
        return facts[0]
    same = listed or len({one.title for one in facts}) == 1
    title = facts[0].title if same and matter.kind_of_title(facts[0].title or "") is None else None
    return replace(
        facts[0] if listed else Metadata(),
        title=title,
        authors=next((one.authors for one in facts if one.authors), ()),
        language=next((one.language for one in facts if one.language), None),
    )


def _leave_links_beside(root: etree._Element, is_page: Callable[[str], bool]) -> None:
    """Mark what only leads to other pages of the book: `Back`, `Contents`, `Next`."""
    for element in root.iter("{*}p", "{*}div", "{*}table", "{*}ul", "{*}center"):
        links = list(element.iter("{*}a"))
        if not links or not all(is_page(link.get("href", "")) for link in links):
            continue
        rest = "".join(element.itertext())
        words = count_words(rest)
        for link in links:
            rest = rest.replace("".join(link.itertext()), "", 1)
        if words <= _FEW and _BESIDE.fullmatch(rest):
            element.set(LEFT, "links to other pages")


def _lower(root: etree._Element) -> None:
    """Names of elements and attributes in small letters, as HTML has them."""
    for element in root.iter("{*}*"):
        element.tag = element.tag.lower()
        said = [(str(key).lower(), value) for key, value in element.attrib.items()]
        element.attrib.clear()
        element.attrib.update(said)
