"""Removes active content from a book's pages; their words stay.

Active are scripts, handlers, forms, frames, plug-ins, and anything fetched from a network. Pages
without any of it stay as they are, byte for byte. Works on the text of pages, which are other
people's and need not be well-formed. Knows nothing of sound and overlays.
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
"""Matches markup, entities and text of a page."""

SCRIPTS = frozenset(
    "application/javascript text/javascript application/ecmascript text/ecmascript "
    "application/x-javascript application/x-ecmascript".split()
)
"""Media types of scripts."""

_UNWRAPPED_TAGS = frozenset(
    "applet base bgsound button datalist embed form frame frameset handler iframe input isindex "
    "keygen listener object optgroup option output param portal select textarea trigger".split()
)
"""Active elements: their tags are removed, their content stays."""
_SPACED_TAGS = frozenset("button option select textarea".split())
"""Those of them that separate words without a space."""
_ANIMATION_TAGS = frozenset("animate animatecolor animatemotion animatetransform set".split())
_LINK_TAGS = frozenset(("a", "area"))
"""Elements whose `href` readers follow, but that fetch nothing by themselves."""
_FETCHED_ATTRIBUTES = frozenset(
    "src srcset imagesrcset poster data background lowsrc dynsrc href base longdesc".split()
)
_ACTIVE_ATTRIBUTES = frozenset(
    "srcdoc formaction action ping manifest archive codebase classid".split()
)
_ATTRIBUTE = re.compile(
    r"(?<!\s)\s+(?P<name>[^\s=/>\"']+)(?:\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s>\"']+))?"
)
_SCRIPT_ADDRESS = re.compile(
    r"(?:javascript|vbscript|livescript|mocha):|data:[^,]*?(?:html|script|(?<!svg\+)xml)"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


def page(text: str) -> str:
    """Returns a page, XHTML or SVG, without active content; the same text where there is none."""
    inert_page = "".join(_InertPage(text).parts())
    return text if inert_page == text else inert_page


class _InertPage:
    """Cleans one page, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[tuple[str, str]] = []
        """Open elements whose tags are removed, each with the replacement of its closing tag."""
        self.style = False
        """True within a style element."""

    def parts(self) -> list[str]:
        """Returns the cleaned text in parts."""
        parts: list[str] = []
        position, skipped_tag, depth = 0, "", 0
        for token in TOKEN.finditer(self.text):
            name = (token["name"] or "").rpartition(":")[2].lower()
            if skipped_tag:
                if name == skipped_tag and not token["empty"]:
                    depth += -1 if token["close"] else 1
                    skipped_tag = skipped_tag if depth else ""
            else:
                parts.append(self.text[position : token.start()])
                if name == "script":
                    skipped_tag, depth = ("", 0) if token["empty"] or token["close"] else (name, 1)
                else:
                    parts.append(
                        self._clean_markup(name, token) if name else self._clean_other(token)
                    )
            position = token.end()
        return [*parts, "" if skipped_tag else self.text[position:]]

    def _clean_other(self, token: re.Match[str]) -> str:
        """Cleans text, comments and instructions."""
        markup = token[0]
        if markup.startswith("<!--"):
            return "" if "<" in markup[4:] else markup  # old browsers interpret markup in comments
        if markup.startswith("<?xml-stylesheet"):
            link = re.search(r"href\s*=\s*[\"']([^\"']*)", markup)
            return markup if link and "text/css" in markup and not _is_remote(link[1]) else ""
        if markup.startswith("<!") and "[" in markup and not markup.startswith("<![CDATA["):
            return f"{markup.partition('[')[0].rstrip()}>"
        return style(markup) if self.style else markup

    def _clean_markup(self, name: str, token: re.Match[str]) -> str:
        """Cleans an opening or closing tag."""
        markup = token[0]
        if token["close"]:
            if self.open and self.open[-1][0] == name:
                return self.open.pop()[1]
            self.style = self.style and name != "style"
            return "" if name in _UNWRAPPED_TAGS else markup
        attributes = _attributes(markup, token)
        replacement = self._replacement(name, attributes)
        if replacement is not None:
            if not token["empty"]:
                self.open.append((name, " " if name in _SPACED_TAGS else ""))
            return replacement
        if any(name == open_name for open_name, _ in self.open) and not token["empty"]:
            self.open.append((name, f"</{token['name']}>"))  # keep its own closing tag
        self.style |= name == "style" and not token["empty"]
        return _clean_tag(name, markup, token)

    def _replacement(self, name: str, attributes: dict[str, str]) -> str | None:
        """Returns the replacement of a tag that is removed; None for one that stays."""
        is_remote = _is_remote(attributes.get("src", "") or attributes.get("href", ""))
        if name in _UNWRAPPED_TAGS:
            return " " if name in _SPACED_TAGS else ""
        if name in _ANIMATION_TAGS:
            animated_attribute = attributes.get("attributename", "").rpartition(":")[2].lower()
            return (
                "" if animated_attribute == "href" or animated_attribute.startswith("on") else None
            )
        if name == "meta":
            return "" if attributes.get("http-equiv", "").strip().lower() == "refresh" else None
        if name == "img" and is_remote:
            return html.escape(attributes.get("alt", ""), quote=False)
        fetching_tags = ("link", "source", "track", "image", "use", "feimage", "img")
        return "" if is_remote and name in fetching_tags else None


def _attributes(markup: str, token: re.Match[str]) -> dict[str, str]:
    """Returns attributes by name without prefix."""
    return {
        match["name"].rpartition(":")[2].lower(): _attribute_value(match)
        for match in _ATTRIBUTE.finditer(markup, len(token["name"]) + 1)
    }


def _attribute_value(match: re.Match[str]) -> str:
    """Returns an attribute's unescaped value."""
    return html.unescape((match["value"] or "").strip("\"'"))


def _clean_tag(name: str, markup: str, token: re.Match[str]) -> str:
    """Removes attributes that are active or fetch something."""

    def clean_attribute(match: re.Match[str]) -> str:
        prefix, _, attribute = match["name"].lower().rpartition(":")
        content = _attribute_value(match)
        if _is_active(name, prefix, attribute, content):
            return ""
        if attribute == "style" or "url" in content.lower() or "image-set" in content.lower():
            clean_style = style(content)
            if clean_style != content:
                return match[0].replace(match["value"], f'"{html.escape(clean_style)}"')
        return match[0]

    name_end = len(token["name"]) + 1
    return markup[:name_end] + _ATTRIBUTE.sub(clean_attribute, markup[name_end:])


def _is_active(name: str, prefix: str, attribute: str, content: str) -> bool:
    """Returns whether an attribute runs or fetches something."""
    address = _normalize_address(content)
    if prefix == "ev" or attribute in _ACTIVE_ATTRIBUTES or re.fullmatch(r"on[a-z]+", attribute):
        return True
    if _SCRIPT_ADDRESS.match(address) or (name in _ANIMATION_TAGS and "script:" in address):
        return True
    if attribute not in _FETCHED_ATTRIBUTES or prefix == "xmlns" or name in _LINK_TAGS:
        return False
    is_list = attribute.endswith("srcset")
    return any(_is_remote(part) for part in (content.split(",") if is_list else [content]))


def _normalize_address(raw_address: str) -> str:
    """Returns an address as browsers read it, without characters that they skip."""
    return re.sub(r"[\x00-\x20\x7f-\xa0]+", "", raw_address).replace("\\", "/").lower()


def _is_remote(address: str) -> bool:
    """Returns whether an address is on a network."""
    normalized = _normalize_address(address)
    return normalized.startswith("//") or bool(
        _SCHEME.match(normalized) and not normalized.startswith("data:")
    )


# -- styles ----------------------------------------------------------------------------------------

_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\r\n\f]?|([g-zG-Z:/.()@-]))")
_FETCHING_RULE = re.compile(
    r"(?P<namespace>@namespace\b[^;{}]*)"
    r"|(?P<import>@import\b(?:[^;\"']|\"[^\"]*\"|'[^']*')*;?)"
    r"|(?P<bound>(?<![\w-])(?:behavior|-moz-binding)\s*:[^;}]*)"
    r"|(?:-webkit-)?image-set\((?:[^()]|\([^()]*\))*\)"
    r"|(?:url|src)\((?:\s*(?:\"[^\"]*\"|'[^']*')\s*|[^()]*)\)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\"([^\"]*)\"|'([^']*)'|url\(\s*([^\"')]*)", re.IGNORECASE)


def style(text: str) -> str:
    """Returns a style sheet that fetches nothing from a network; the same text where it did not."""
    unescaped = _ESCAPE.sub(_unescape, text)
    clean_style = re.sub(
        r"expression\s*\(", "(", _FETCHING_RULE.sub(_remove_remote, unescaped), flags=re.IGNORECASE
    )
    return text if clean_style == unescaped else clean_style


def _unescape(match: re.Match[str]) -> str:
    """Replaces a CSS escape by its character, if that is harmless."""
    code = int(match[1], 16) if match[1] else ord(match[2])
    is_harmless = 0x20 < code < 0x7F and (chr(code).isalnum() or chr(code) in ":/.()@-")
    return chr(code) if is_harmless else match[0]


def _remove_remote(match: re.Match[str]) -> str:
    """Removes a CSS rule or address that fetches from a network."""
    if match["namespace"]:
        return match[0]
    if match["bound"]:
        return ""
    addresses = [
        double_quoted or single_quoted or unquoted
        for double_quoted, single_quoted, unquoted in _ADDRESS.findall(match[0])
    ]
    if not any(
        _is_remote(address) or _SCRIPT_ADDRESS.match(_normalize_address(address))
        for address in addresses
    ):
        return match[0]
    return "" if match["import"] else "none"


# -- the package -----------------------------------------------------------------------------------


def is_script(media_type: str, name: str) -> bool:
    """Returns whether a file is a script, by its media type or name."""
    return media_type.partition(";")[0].strip().lower() in SCRIPTS or name.endswith((".js", ".mjs"))


def package(opf: Any) -> None:
    """Removes scripts and remote resources from a package document."""
    namespace = "{http://www.idpf.org/2007/opf}"
    removed_ids: set[str] = set()
    for manifest_item in list(opf.iter(f"{namespace}item")):
        href = manifest_item.get("href", "")
        if _is_remote(href) or is_script(manifest_item.get("media-type", ""), href):
            removed_ids.add(manifest_item.get("id", ""))
            manifest_item.getparent().remove(manifest_item)
            continue
        properties = manifest_item.get("properties", "").split()
        kept_properties = [
            name for name in properties if name not in ("scripted", "remote-resources")
        ]
        if kept_properties:
            manifest_item.set("properties", " ".join(kept_properties))
        elif properties:
            del manifest_item.attrib["properties"]
    for element in list(opf.iter(f"{namespace}itemref", f"{namespace}bindings")):
        if element.tag == f"{namespace}bindings" or element.get("idref") in removed_ids:
            element.getparent().remove(element)
    for manifest_item in opf.iter(f"{namespace}item"):
        if manifest_item.get("fallback") in removed_ids:
            del manifest_item.attrib["fallback"]
