"""Opens the zip archives of EPUBs and similar formats with suspicion.

Refuses archives that are broken, locked, or malicious: names that leave the archive, bombs,
encryption other than of fonts. Knows nothing of packages, spines and chapters.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import unquote

from lxml import etree

from manuscripts.errors import ImportFailed
from manuscripts.readers import markup
from manuscripts.readers.markup import summarize_error
from textbase.errors import Problem

MEMBER_LIMIT = 32_000_000
"""Bytes of one document or picture, unpacked. A long novel is 2 MB."""
TOTAL_LIMIT = 400_000_000
"""Bytes of everything that is read from one archive."""
MAX_MEMBERS = 20_000
MAX_COMPRESSION_RATIO = 200
"""Unpacked to packed size, for members above 1 MB; XHTML compresses 3 to 20 times."""

_FONT_OBFUSCATION = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
_DRM_FILES = {
    "META-INF/rights.xml": "Adobe or Barnes & Noble",
    "META-INF/sinf.xml": "Apple",
    "META-INF/license.lcpl": "Readium LCP",
}


_Parsed = TypeVar("_Parsed")


class Archive:
    """An archive's files, by name. A context manager; raises ImportFailed for every fault.

    `kind` is the expected format, for messages.
    """

    def __init__(self, path: Path, kind: str = "an EPUB") -> None:
        self.path = path
        self.remarks: list[str] = []
        """Remarks on what was read in an unusual way."""
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise self.failed(f"not {kind}, or broken: {summarize_error(error)}") from None
        except OSError as error:
            raise self.failed(f"cannot be read: {error.strerror or error}") from None
        except (NotImplementedError, ValueError, UnicodeError) as error:
            raise self.failed(f"a zip archive of a kind that cannot be read: {error}") from None
        self._bytes_read = 0
        try:
            self._members = self._check_members()
            self._name_by_folded_name = {_fold_name(name): name for name in self._members}
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
        """Returns the error to raise, with the archive's path."""
        return ImportFailed(Problem(self.path, None, f"{member}: {message}" if member else message))

    @property
    def names(self) -> list[str]:
        """The members' names, in the archive's order."""
        return list(self._members)

    def find(self, name: str) -> str | None:
        """Returns the member that a reference means: as written, percent-decoded, or in another
        case."""
        for candidate in (name, unquote(name)):
            if candidate in self._members:
                return candidate
        return self._name_by_folded_name.get(_fold_name(unquote(name)))

    def read(self, name: str) -> bytes:
        """Returns a member's bytes, within the limits; `name` as returned by `find`."""
        member_info = self._members[name]
        self._bytes_read += member_info.file_size
        if member_info.file_size > MEMBER_LIMIT or self._bytes_read > TOTAL_LIMIT:
            raise self.failed(
                f"unpacks to {member_info.file_size:,} bytes, more than a book needs", name
            )
        try:
            # Reads no more than promised; `ZipFile.read` would unpack everything first.
            with self._zip.open(member_info) as member:
                return member.read(member_info.file_size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, UnicodeError) as error:
            raise self.failed(
                f"broken, the archive is damaged: {summarize_error(error)}", name
            ) from None
        except RuntimeError:
            raise self.failed("locked with a password; unlock the book first", name) from None
        except (NotImplementedError, ValueError) as error:
            raise self.failed(f"packed in a way that cannot be read: {error}", name) from None

    def text(self, name: str) -> str:
        """Returns a member as text; adds a remark if it is not in its declared encoding."""
        try:
            text, encoding_remark = markup.decode_markup(self.read(name))
        except markup.BadMarkup as error:
            raise self.failed(str(error), name) from None
        if encoding_remark:
            remark = f"{name} {encoding_remark}"
            self.remarks += [remark] if remark not in self.remarks else []
        return text

    def xml(self, name: str) -> etree._Element:
        """Returns a member as XML. Raises ImportFailed if it is not well-formed."""
        return self._parse_member(name, markup.xml_of)

    def bounded_xml(self, name: str, old: str = "", new: str = "") -> etree._Element:
        """Returns a member of limited size and depth as XML, with `old` in it replaced by `new`."""
        return self._parse_member(name, lambda text: markup.bounded_xml(text, old, new))

    def document(self, name: str) -> tuple[etree._Element, bool]:
        """Returns a member as XHTML, and whether it is well-formed; if not, it is parsed as
        HTML."""
        return self._parse_member(name, markup.document_of)

    def _parse_member(self, name: str, parse: Callable[[str], _Parsed]) -> _Parsed:
        """Returns a member's text as parsed. Raises ImportFailed for faulty markup."""
        text = self.text(name)
        try:
            return parse(text)
        except markup.BadMarkup as error:
            raise self.failed(str(error), name) from None

    def _check_members(self) -> dict[str, zipfile.ZipInfo]:
        """Returns the members by name. Raises ImportFailed for unsafe names, bombs and locks."""
        infos = self._zip.infolist()
        if len(infos) > MAX_MEMBERS:
            raise self.failed(f"holds {len(infos):,} files, more than a book needs")
        members = {}
        for member_info in infos:
            name = member_info.filename.replace("\\", "/")
            if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in name.split("/"):
                raise self.failed(f"unsafe: a file in it is named {name!r}, outside of the archive")
            if member_info.file_size > max(
                1_000_000, MAX_COMPRESSION_RATIO * member_info.compress_size
            ):
                sizes = (
                    f"{member_info.compress_size:,} bytes that unpack to {member_info.file_size:,}"
                )
                raise self.failed(f"unsafe: {sizes}, like a zip bomb", name)
            if member_info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.failed("packed in a way that books do not know", name)
            if member_info.flag_bits & 1:
                raise self.failed("locked with a password; unlock the book first", name)
            members[name] = member_info
        return members

    def _check_locks(self) -> None:
        """Raises ImportFailed for DRM and for encryption of anything but fonts."""
        advice = "it cannot be read; import a copy without DRM"
        for name, maker in _DRM_FILES.items():
            if name in self._members:
                raise self.failed(f"protected by DRM ({maker}): {advice}")
        if "META-INF/encryption.xml" in self._members:
            root = self.xml("META-INF/encryption.xml")
            for method in root.iter("{*}EncryptedData"):
                algorithms = {m.get("Algorithm") for m in method.iterfind("{*}EncryptionMethod")}
                if not algorithms or not algorithms <= _FONT_OBFUSCATION:
                    raise self.failed(f"protected by DRM (encrypted files): {advice}")


def resolve(base: str, href: str) -> tuple[str, str]:
    """Returns the member and fragment that `href` means in the document `base`."""
    target, _, fragment = href.strip().partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), target)) if target else base
    return path, unquote(fragment)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
