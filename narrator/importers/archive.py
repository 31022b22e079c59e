"""The zip side of an EPUB: opened with suspicion, its XML parsed without entities and network.

Refuses what is broken, locked, or made to harm: names that leave the archive, bombs, encryption
other than of fonts. Knows nothing of packages, spines and chapters.
"""

from __future__ import annotations

import codecs
import html.entities
import posixpath
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from lxml import etree

from narrator.errors import ImportFailed, Problem

MEMBER_LIMIT = 32_000_000
"""Bytes of one document or picture, unpacked. A long novel is 2 MB."""
TOTAL_LIMIT = 400_000_000
"""Bytes of all that is read from one archive."""
COUNT_LIMIT = 20_000
RATIO_LIMIT = 200
"""Unpacked to packed size, for members above 1 MB; XHTML packs 3 to 20 times."""
DEPTH_LIMIT = 100
"""Elements inside each other. Books have 10 to 20."""

_FONT_MANGLING = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
_LOCKS = {
    "META-INF/rights.xml": "Adobe or Barnes & Noble",
    "META-INF/sinf.xml": "Apple",
    "META-INF/license.lcpl": "Readium LCP",
}
_DECLARATION = re.compile(r"<\?xml[^>]*>")
_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_META = re.compile(rb"<meta\s[^<>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._-]+)", re.IGNORECASE)
_ENCODINGS = re.compile(
    r"iso8859-\d+|cp(?!037|273|424|500|1026|1140)\d+|koi8-[rtu]|kz1048|mac-[a-z]+|tis-620|ptcp154|gb2312|gbk|gb18030|"
    r"hz|big5(hkscs)?|shift_jis\w*|euc_\w+|iso2022_\w+|johab"
)
"""Python's names of encodings in which books are written; it also knows "punycode" and "zlib". What
declares itself in ASCII is neither UTF-16 nor EBCDIC."""
_DOCTYPE = re.compile(r"<!DOCTYPE\s[^>\[]*(\[[^\]]*\]\s*)?>", re.IGNORECASE)
_PROLOG = 10_000
"""Characters within which a document type is looked for."""
_ENTITY = re.compile(r"&(?:#(1[2-5]\d)|([A-Za-z][A-Za-z0-9]*));")
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)"
    r"([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*?)?)/>"
)
_XML_ENTITIES = {"amp", "lt", "gt", "quot", "apos"}


class Archive:
    """An EPUB's files, by name. A context manager; raises ImportFailed for all that is wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.remarks: list[str] = []
        """What was read in an unusual way."""
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise self.failed(f"not an EPUB, or broken: {_short(error)}") from None
        except OSError as error:
            raise self.failed(f"cannot be read: {error.strerror or error}") from None
        except (NotImplementedError, ValueError, UnicodeError) as error:
            raise self.failed(f"a zip archive of a kind that cannot be read: {error}") from None
        self._read = 0
        try:
            self._members = self._checked_members()
            self._folded = {_fold(name): name for name in self._members}
            self._check_locks()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def failed(self, message: str, member: str | None = None) -> ImportFailed:
        """The error to raise, with the archive's path in front."""
        return ImportFailed(Problem(self.path, None, f"{member}: {message}" if member else message))

    def find(self, name: str) -> str | None:
        """The member that a reference means: as written, percent-decoded, or in another case."""
        for choice in (name, unquote(name)):
            if choice in self._members:
                return choice
        return self._folded.get(_fold(unquote(name)))

    def read(self, name: str) -> bytes:
        """A member's bytes, within the limits. `name` as `find` gives it."""
        info = self._members[name]
        self._read += info.file_size
        if info.file_size > MEMBER_LIMIT or self._read > TOTAL_LIMIT:
            raise self.failed(f"unpacks to {info.file_size:,} bytes, more than a book needs", name)
        try:
            # No more than is promised: `ZipFile.read` unpacks all there is before it cuts it.
            with self._zip.open(info) as member:
                return member.read(info.file_size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise self.failed(f"broken, the archive is damaged: {_short(error)}", name) from None
        except RuntimeError:
            raise self.failed("locked with a password; unlock the book first", name) from None
        except NotImplementedError as error:
            raise self.failed(f"packed in a way that cannot be read: {error}", name) from None

    def text(self, name: str) -> str:
        """A member as text: by its byte order mark, as it declares, or as UTF-8.

        What declares an encoding that it is not in is read as UTF-8, and that is remarked.
        """
        data = self.read(name)
        first = error = None
        for said, encoding in self._encodings(data):
            first = first or said
            if encoding is None:
                continue
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as found:
                error = error or (encoding, found.start)
                continue
            if said != first:
                self._remark(f"{name} is not in {first}, as it says; it was read as {said}.")
            return text
        assert error is not None
        what = f"not {error[0].removesuffix('-sig').upper()} at byte {error[1]}"
        raise self.failed(what, name)

    def _encodings(self, data: bytes) -> Iterator[tuple[str, str | None]]:
        """Encodings that a document may be in, the likeliest first: for people, and for Python."""
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            yield "UTF-16", "utf-16"
            return
        if data.startswith((b"<\0", b"\0<")):
            yield "UTF-16", "utf-16-le" if data.startswith(b"<") else "utf-16-be"
            return
        declared = _ENCODING.match(data[:_PROLOG].lstrip())
        if declared and not data.startswith(b"\xef\xbb\xbf"):
            yield from _named(declared[1])
        yield "UTF-8", "utf-8-sig"
        if meta := _META.search(data, 0, _PROLOG):
            yield from _named(meta[1])

    def _remark(self, what: str) -> None:
        if what not in self.remarks:
            self.remarks.append(what)

    def xml(self, name: str) -> etree._Element:
        """A member as XML. Raises ImportFailed where it is not well-formed."""
        try:
            return parse_xml(self.safe(name))
        except (etree.XMLSyntaxError, ValueError) as error:
            raise self.failed(f"not well-formed XML: {_short(error)}", name) from None

    def document(self, name: str) -> tuple[etree._Element, bool]:
        """A member as XHTML, and whether it is well-formed; what is not is read as HTML."""
        text = self.safe(name)
        try:
            root, well_formed = parse_xml(text), True
        except (etree.XMLSyntaxError, ValueError):
            root, well_formed = self._html(name, text), False
        depth = 0
        for event, _ in etree.iterwalk(root, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if depth > DEPTH_LIMIT:
                raise self.failed(f"has elements nested more than {DEPTH_LIMIT} deep", name)
        return root, well_formed

    def _html(self, name: str, text: str) -> etree._Element:
        # <a id="x"/> opens an element in HTML that nothing closes.
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text.replace("\0", ""))
        parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
        try:
            root = etree.fromstring(text, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise self.failed(f"neither XHTML nor HTML: {_short(error)}", name) from None
        if root is None:
            raise self.failed("neither XHTML nor HTML: it is empty", name)
        return root

    def safe(self, name: str) -> str:
        """A member's text without a declaration; HTML's entities are replaced, others refused."""
        text = self.text(name).lstrip()
        if declaration := _DECLARATION.match(text):
            text = text[declaration.end() :]
        if "<!ENTITY" in text:
            raise self.failed("declares XML entities, which books have no need of", name)
        doctype = _DOCTYPE.search(text, 0, _PROLOG)
        if doctype is not None:
            text = text[: doctype.start()] + text[doctype.end() :]
        return _ENTITY.sub(_entity, text)

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        if len(infos) > COUNT_LIMIT:
            raise self.failed(f"holds {len(infos):,} files, more than a book needs")
        members = {}
        for info in infos:
            name = info.filename.replace("\\", "/")
            if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in name.split("/"):
                raise self.failed(f"unsafe: a file in it is named {name!r}, outside of the archive")
            if info.file_size > max(1_000_000, RATIO_LIMIT * info.compress_size):
                sizes = f"{info.compress_size:,} bytes that unpack to {info.file_size:,}"
                raise self.failed(f"unsafe: {sizes}, like a zip bomb", name)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.failed("packed in a way that EPUB does not know", name)
            if info.flag_bits & 1:
                raise self.failed("locked with a password; unlock the book first", name)
            members[name] = info
        return members

    def _check_locks(self) -> None:
        advice = "it cannot be read; import a copy without DRM"
        for name, maker in _LOCKS.items():
            if name in self._members:
                raise self.failed(f"protected by DRM ({maker}): {advice}")
        if "META-INF/encryption.xml" in self._members:
            root = self.xml("META-INF/encryption.xml")
            for method in root.iter("{*}EncryptedData"):
                algorithms = {m.get("Algorithm") for m in method.iterfind("{*}EncryptionMethod")}
                if not algorithms or not algorithms <= _FONT_MANGLING:
                    raise self.failed(f"protected by DRM (encrypted files): {advice}")


def _named(declared: bytes) -> Iterator[tuple[str, str | None]]:
    """A declared encoding for people, and for Python: None where it is none of texts."""
    said = declared.decode("ascii")
    try:
        name = codecs.lookup(said).name
    except (LookupError, ValueError):
        name = ""
    if name in ("utf-8", "ascii"):
        yield "UTF-8", "utf-8-sig"
        return
    if name == "iso8859-1":  # as browsers do: who says so has the quotation marks of Windows too
        yield said, "cp1252"
    yield said[:40], name if _ENCODINGS.fullmatch(name) else None


def resolve(base: str, href: str) -> tuple[str, str]:
    """The member and fragment that `href` in the document `base` means."""
    target, _, fragment = href.strip().partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), target)) if target else base
    return path, unquote(fragment)


def types_of(element: etree._Element) -> str:
    """The `epub:type` and `role` of an element, as words."""
    epub_type = element.get("{http://www.idpf.org/2007/ops}type") or element.get("epub:type", "")
    return f"{epub_type} {element.get('role', '')}"


def parse_xml(text: str) -> etree._Element:
    """Text without a declaration as XML; raises etree.XMLSyntaxError."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True,
        remove_comments=True,
    )  # fmt: skip
    return etree.fromstring(text, parser)


def _entity(match: re.Match[str]) -> str:
    code, name = match.groups()
    if code:
        # As in HTML: &#146; means Windows-1252, since U+0092 is a control character.
        return bytes([int(code)]).decode("cp1252", "replace") if int(code) >= 128 else match[0]
    if name in _XML_ENTITIES:
        return match[0]
    return html.entities.html5.get(f"{name};", match[0])


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
