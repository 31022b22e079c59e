"""What a book's pages would do by themselves is taken out of them; their words stay.

Scripts, handlers, forms, frames, plug-ins, and whatever is fetched from a network. Pages without
any of it stay as they are, byte for byte. Works on the text of pages, which are other people's and
need not be well-formed. Knows nothing of sound and overlays.
"""

from __future__ import annotations

import html
import re
from typing import Any

TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>\[]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/)?(?P<name>[^\s/<>]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(?P<empty>/)?>"
    r"|&(?P<entity>#?\w+);|(?P<text>[^<&]+)",
    re.DOTALL,
)
"""Markup, entities and text of a page."""

SCRIPTS = frozenset(
    "application/javascript text/javascript application/ecmascript text/ecmascript "
    "application/x-javascript application/x-ecmascript".split()
)
"""Media types of what has no place in an inert book."""

_UNWRAPPED = frozenset(
    "applet base bgsound button datalist embed form frame frameset handler iframe input isindex "
    "keygen listener object optgroup option output param portal select textarea trigger".split()
)
"""Elements that do something: their tags go, what they hold stays."""
_APART = frozenset("button option select textarea".split())
"""Of those, what stands beside other words without a space."""
_ANIMATED = frozenset("animate animatecolor animatemotion animatetransform set".split())
_LINKS = frozenset(("a", "area"))
"""Elements whose `href` is followed by a reader, never fetched by itself."""
_FETCHED = frozenset(
    "src srcset imagesrcset poster data background lowsrc dynsrc href base longdesc".split()
)
_ACTING = frozenset("srcdoc formaction action ping manifest archive codebase classid".split())
_ATTRIBUTE = re.compile(
    r"(?<!\s)\s+(?P<name>[^\s=/>\"']+)(?:\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s>\"']+))?"
)
_SCRIPTED = re.compile(
    r"(?:javascript|vbscript|livescript|mocha):|data:[^,]*?(?:html|script|(?<!svg\+)xml)"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


def page(text: str) -> str:
    """A page, XHTML or SVG, without what acts; the same text where nothing does."""
    found = "".join(_InertPage(text).parts())
    return text if found == text else found


class _InertPage:
    """One page on its way out, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[tuple[str, str]] = []
        """Elements whose tags are taken out, each with what stands for its closing one."""
        self.style = False

    def parts(self) -> list[str]:
        parts: list[str] = []
        at, silent, depth = 0, "", 0
        for token in TOKEN.finditer(self.text):
            name = (token["name"] or "").rpartition(":")[2].lower()
            if silent:
                if name == silent and not token["empty"]:
                    depth += -1 if token["close"] else 1
                    silent = silent if depth else ""
            else:
                parts.append(self.text[at : token.start()])
                if name == "script":
                    silent, depth = ("", 0) if token["empty"] or token["close"] else (name, 1)
                else:
                    parts.append(self._tag(name, token) if name else self._other(token))
            at = token.end()
        return [*parts, "" if silent else self.text[at:]]

    def _other(self, token: re.Match[str]) -> str:
        """Text, comments and instructions."""
        raw = token[0]
        if raw.startswith("<!--"):
            return "" if "<" in raw[4:] else raw  # old browsers read markup in comments
        if raw.startswith("<?xml-stylesheet"):
            found = re.search(r"href\s*=\s*[\"']([^\"']*)", raw)
            return raw if found and "text/css" in raw and not _is_remote(found[1]) else ""
        if raw.startswith("<!") and "[" in raw and not raw.startswith("<![CDATA["):
            return f"{raw.partition('[')[0].rstrip()}>"
        return style(raw) if self.style else raw

    def _tag(self, name: str, token: re.Match[str]) -> str:
        raw = token[0]
        if token["close"]:
            if self.open and self.open[-1][0] == name:
                return self.open.pop()[1]
            self.style = self.style and name != "style"
            return "" if name in _UNWRAPPED else raw
        attributes = _attributes(raw, token)
        instead = self._instead(name, attributes)
        if instead is not None:
            if not token["empty"]:
                self.open.append((name, " " if name in _APART else ""))
            return instead
        if any(name == inner for inner, _ in self.open) and not token["empty"]:
            self.open.append((name, f"</{token['name']}>"))  # its closing tag is its own
        self.style |= name == "style" and not token["empty"]
        return _rewritten(name, raw, token)

    def _instead(self, name: str, attributes: dict[str, str]) -> str | None:
        """What stands for a tag that is taken out; None for one that stays."""
        remote = _is_remote(attributes.get("src", "") or attributes.get("href", ""))
        if name in _UNWRAPPED:
            return " " if name in _APART else ""
        if name in _ANIMATED:
            aim = attributes.get("attributename", "").rpartition(":")[2].lower()
            return "" if aim == "href" or aim.startswith("on") else None
        if name == "meta":
            return "" if attributes.get("http-equiv", "").strip().lower() == "refresh" else None
        if name == "img" and remote:
            return html.escape(attributes.get("alt", ""), quote=False)
        gone = ("link", "source", "track", "image", "use", "feimage", "img")
        return "" if remote and name in gone else None


def _attributes(raw: str, token: re.Match[str]) -> dict[str, str]:
    """Values by the names of attributes, without prefixes."""
    return {
        found["name"].rpartition(":")[2].lower(): _value(found)
        for found in _ATTRIBUTE.finditer(raw, len(token["name"]) + 1)
    }


def _value(found: re.Match[str]) -> str:
    return html.unescape((found["value"] or "").strip("\"'"))


def _rewritten(name: str, raw: str, token: re.Match[str]) -> str:
    """A tag without the attributes that act or fetch."""

    def kept(found: re.Match[str]) -> str:
        prefix, _, attribute = found["name"].lower().rpartition(":")
        value = _value(found)
        if _acts(name, prefix, attribute, value):
            return ""
        if attribute == "style" or "url" in value.lower() or "image-set" in value.lower():
            clean = style(value)
            if clean != value:
                return found[0].replace(found["value"], f'"{html.escape(clean)}"')
        return found[0]

    begin = len(token["name"]) + 1
    return raw[:begin] + _ATTRIBUTE.sub(kept, raw[begin:])


def _acts(name: str, prefix: str, attribute: str, value: str) -> bool:
    """Whether an attribute runs something, or has something fetched."""
    plain = _plain(value)
    if prefix == "ev" or attribute in _ACTING or re.fullmatch(r"on[a-z]+", attribute):
        return True
    if _SCRIPTED.match(plain) or (name in _ANIMATED and "script:" in plain):
        return True
    if attribute not in _FETCHED or prefix == "xmlns" or name in _LINKS:
        return False
    several = attribute.endswith("srcset")
    return any(_is_remote(part) for part in (value.split(",") if several else [value]))


def _plain(value: str) -> str:
    """An address as browsers read it: without what they skip."""
    return re.sub(r"[\x00-\x20\x7f-\xa0]+", "", value).replace("\\", "/").lower()


def _is_remote(address: str) -> bool:
    plain = _plain(address)
    return plain.startswith("//") or bool(_SCHEME.match(plain) and not plain.startswith("data:"))


# -- styles ----------------------------------------------------------------------------------------

_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\r\n\f]?|([g-zG-Z:/.()@-]))")
_FETCHING = re.compile(
    r"(?P<namespace>@namespace\b[^;{}]*)"
    r"|(?P<import>@import\b(?:[^;\"']|\"[^\"]*\"|'[^']*')*;?)"
    r"|(?P<bound>(?<![\w-])(?:behavior|-moz-binding)\s*:[^;}]*)"
    r"|(?:-webkit-)?image-set\((?:[^()]|\([^()]*\))*\)"
    r"|(?:url|src)\((?:\s*(?:\"[^\"]*\"|'[^']*')\s*|[^()]*)\)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\"([^\"]*)\"|'([^']*)'|url\(\s*([^\"')]*)", re.IGNORECASE)


def style(text: str) -> str:
    """A style sheet that fetches nothing from a network; the same where it did not."""
    plain = _ESCAPE.sub(_unescaped, text)
    found = re.sub(r"expression\s*\(", "(", _FETCHING.sub(_local, plain), flags=re.IGNORECASE)
    return text if found == plain else found


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1], 16) if found[1] else ord(found[2])
    plain = 0x20 < code < 0x7F and (chr(code).isalnum() or chr(code) in ":/.()@-")
    return chr(code) if plain else found[0]


def _local(found: re.Match[str]) -> str:
    if found["namespace"]:
        return found[0]
    if found["bound"]:
        return ""
    addresses = [one or two or three for one, two, three in _ADDRESS.findall(found[0])]
    if not any(_is_remote(a) or _SCRIPTED.match(_plain(a)) for a in addresses):
        return found[0]
    return "" if found["import"] else "none"


# -- the package -----------------------------------------------------------------------------------


def is_script(kind: str, name: str) -> bool:
    return kind.partition(";")[0].strip().lower() in SCRIPTS or name.endswith((".js", ".mjs"))


def package(opf: Any) -> None:
    """Take out of a package document what lists scripts and what lies on a network."""
    space = "{http://www.idpf.org/2007/opf}"
    gone: set[str] = set()
    for item in list(opf.iter(f"{space}item")):
        href = item.get("href", "")
        if _is_remote(href) or is_script(item.get("media-type", ""), href):
            gone.add(item.get("id", ""))
            item.getparent().remove(item)
            continue
        properties = item.get("properties", "").split()
        kept = [p for p in properties if p not in ("scripted", "remote-resources")]
        if kept:
            item.set("properties", " ".join(kept))
        elif properties:
            del item.attrib["properties"]
    for element in list(opf.iter(f"{space}itemref", f"{space}bindings")):
        if element.tag == f"{space}bindings" or element.get("idref") in gone:
            element.getparent().remove(element)
    for item in opf.iter(f"{space}item"):
        if item.get("fallback") in gone:
            del item.attrib["fallback"]
