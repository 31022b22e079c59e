"""Markdown with the additions of scripts: pauses, music, languages, spoken forms, footnotes.

Produces tokens with their lines; `script.py` decides what they mean.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline import escape as escape_rule
from markdown_it.rules_inline import newline as newline_rule
from markdown_it.token import Token

from narrator.text import slips
from textbase.alphabets import is_language
from textbase.characters import strip_invisible


class CastNames(Protocol):
    """Looks up the speakers that a text names."""

    def find_speakers(self, text: str) -> tuple[str, ...]:
        """Returns the speakers that a text names exactly, several in unison."""
        ...

    def nearest_label(self, label: str) -> str | None:
        """Returns the name that a mistyped one is nearest to, or None."""
        ...


MAX_PAUSE_S = 60.0
"""Seconds that one `[pause …]` may last."""


def squeeze(text: str) -> str:
    """Replaces each run of white space by a single space, and strips the ends."""
    return " ".join(text.split())


def visible(text: str) -> bool:
    """Returns whether a text has any character that readers see."""
    return any(
        not character.isspace() and unicodedata.category(character) != "Cf"
        for character in strip_invisible(text)
    )


_MAX_DEPTH = 40
"""Levels of quotes and lists; a list takes two. The parser gives up at 50 and drops the rest."""

_PAUSE = re.compile(r"\[pause\b(?:([^\[\]]*)\])?", re.IGNORECASE)
_MUSIC = re.compile(r"\[music:([^\[\]\n]*)(\])?", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"\[(?P<close>[^\S\n]*/|[^\S\n]*end\b(?:[^\S\n]+of\b)?)?[^\S\n]*(?P<name>[a-z]{4,12})"
    r"[^\S\n]*(?P<sign>[:=;：]?)"
    r"(?P<tag>[^\[\]\n]*\]|[^\S\n]*off?[^\S\n]*(?=\n|\Z))?",
    re.IGNORECASE,
)
_WELL_FORMED = re.compile(r"\[[^\S\n]*language[^\S\n]*:[^\[\]\n]*\]", re.IGNORECASE)
_END_WORDS = frozenset("off of end".split())
"""Words that mean the end of a language in a mistyped mark."""
_SECONDS = re.compile(r"\s+([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?(s|ms)\s*")
_SPOKEN_FORM = re.compile(r"\{((?:\\.|[^{}|\\])*)\|((?:\\.|[^{}|\\])*)\}", re.DOTALL)
_ATTRIBUTION = re.compile(
    r"\{[^\S\n]*(?P<names>[^\s\\{}|:：(（][^\\{}|:：(（\n]{0,199}?)[^\S\n]*"
    r"(?:[(（](?P<style>[^(){}（）\n]{0,200})[)）][^\S\n]*)?[:：][^\S\n]*"
)
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\[\s]+\]|\^\[(?:[^\[\]]|\[[^\[\]]*\])*\]")
_FOOTNOTE = re.compile(r"\[\^[^\]\[\s]+\]:")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@functools.cache
def markdown_parser() -> MarkdownIt:
    """Returns the parser; its environment needs `cast`, a CastNames."""
    parser = MarkdownIt("commonmark", {"maxNesting": 50, "inline_definitions": True})
    parser.enable("table")
    # Manuscripts indent paragraphs; tags around a paragraph are not a reason to leave it out; and
    # text_join would hide what was escaped.
    parser.disable(["code", "html_block", "text_join"])
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    parser.block.ruler.before("table", "depth", _depth_rule)
    parser.block.ruler.before("reference", "comment", _comment_rule, interrupts)
    parser.block.ruler.before("reference", "footnote", _footnote_rule, interrupts)
    parser.inline.ruler.at("newline", _newline_rule)
    parser.inline.ruler.at("escape", _escape_rule)
    parser.inline.ruler.before("link", "pause", _pause_rule)
    parser.inline.ruler.before("link", "music", _music_rule)
    parser.inline.ruler.before("link", "language", _language_rule)
    parser.inline.ruler.before("link", "footnote_mark", _footnote_mark_rule)
    parser.inline.ruler.before("link", "spoken_form", _spoken_form_rule)
    parser.inline.ruler.before("link", "attribution_close", _closing_brace_rule)
    return parser


class _NoNames:
    """A cast without names."""

    def find_speakers(self, text: str) -> tuple[str, ...]:
        return ()

    def nearest_label(self, label: str) -> str | None:
        return None


def plain_text(markdown: str) -> str:
    """Returns the words of a text in one line, without its marks."""
    tokens = markdown_parser().parse(markdown, {"cast": _NoNames()})
    words = [
        "".join(
            " " if child.type in ("softbreak", "hardbreak") else child.content
            for child in token.children or ()
            if child.type in ("text", "text_special", "code_inline", "softbreak", "hardbreak")
        )
        for token in tokens
        if token.type == "inline"
    ]
    return squeeze(" ".join(words))


def _depth_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reports quotes and lists that are nested too deep."""
    if silent or state.level < _MAX_DEPTH:
        return False
    token = state.push("problem", "", 0)
    token.content = "quotes and lists are nested too deep to be meant so"
    token.map = [start, end]
    state.line = end
    return True


def _comment_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reads a comment on lines of its own; a comment next to text is read in its paragraph."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<!--", position):
        return False
    for last in range(start, end):
        if last > start:
            position = state.bMarks[last] + state.tShift[last]
        close = state.src.find("-->", position + 4 * (last == start), state.eMarks[last])
        if close >= 0:
            if state.src[close + 3 : state.eMarks[last]].strip():
                return False
            break
    else:
        return False
    if silent:
        return True
    token = state.push("left_out", "", 0)
    token.info = "comment"
    token.map = [start, last + 1]
    state.line = last + 1
    return True


def _footnote_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reads a footnote's text: its paragraph, and the indented paragraphs after it."""

    def is_footnote(line: int) -> bool:
        return bool(_FOOTNOTE.match(state.src, state.bMarks[line] + state.tShift[line]))

    if not is_footnote(start):
        return False
    if silent:
        return True
    last = start + 1
    while last < end and state.sCount[last] >= state.blkIndent:
        if state.isEmpty(last):
            following = state.skipEmptyLines(last)
            if following >= end or state.sCount[following] - state.blkIndent < 4:
                break
            last = following
        elif is_footnote(last):
            break
        last += 1
    token = state.push("left_out", "", 0)
    token.info = "footnote"
    token.map = [start, last]
    state.line = last
    return True


def _newline_rule(state: StateInline, silent: bool) -> bool:
    """Applies the parser's own rule, and keeps the position for line numbers."""
    start = state.pos
    is_read = newline_rule(state, silent)
    if is_read and not silent:
        state.tokens[-1].meta = {"pos": start}
    return is_read


def _escape_rule(state: StateInline, silent: bool) -> bool:
    """Applies the parser's own rule, also to `\\：`, and keeps the position for line numbers."""
    start = state.pos
    if state.src.startswith("\\：", start):
        if not silent:
            token = state.push("text_special", "", 0)
            token.content, token.markup, token.info = "：", "\\：", "escape"
        state.pos += 2
        is_read = True
    else:
        is_read = escape_rule(state, silent)
    if is_read and not silent:
        state.tokens[-1].meta = {"pos": start + 1}
    return is_read


def _push(
    state: StateInline, kind: str, content: str = "", meta: Mapping[str, object] | None = None
) -> Token:
    """Adds a token at the current position."""
    token = state.push(kind, "", 0)
    token.content = content
    token.meta = {"pos": state.pos, **(meta or {})}
    return token


def _pause_rule(state: StateInline, silent: bool) -> bool:
    """Reads `[pause 1.5s]`."""
    match = _PAUSE.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    argument = squeeze(match[1] or "")
    duration = _SECONDS.fullmatch(match[1] or "")
    if duration is None and len(argument.split()) > 1 and not re.search(r"\d", argument):
        return False  # [pause for applause]
    if not silent:
        seconds = float(duration[1]) / (1000 if duration[2] == "ms" else 1) if duration else 0.0
        if duration is None:
            problem = (
                f"is not a pause; did you mean {slips.pause_of(argument)}? Write {slips.AS_TEXT}"
            )
            _push_slip(state, match[0], problem, is_spoken=match[1] is None)
        else:
            if seconds > MAX_PAUSE_S:
                problem = f"lasts {MAX_PAUSE_S:g} s, for a pause lasts {MAX_PAUSE_S:g} s at most"
                _push_slip(state, match[0], problem, is_spoken=None)
            _push(state, "pause", meta={"seconds": min(seconds, MAX_PAUSE_S)})
    state.pos = match.end()
    return True


def _music_rule(state: StateInline, silent: bool) -> bool:
    """Reads `[music: name]` and `[music: off]`."""
    match = _MUSIC.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        name = squeeze(match[1])
        if not name or not match[2]:
            problem = f"names no music: write [music: name] or [music: off], or {slips.AS_TEXT}"
            _push_slip(state, match[0], problem, is_spoken=not match[2])
        else:
            _push(state, "music", meta={"name": None if name.casefold() == "off" else name})
    state.pos = match.end()
    return True


def _language_rule(state: StateInline, silent: bool) -> bool:
    """Reads `[language: el]` and `[language: off]`, also mistyped ones.

    Brackets that only begin with the word are text. A mistyped end still ends the language, or
    all the text that follows would be spoken in it.
    """
    match = _LANGUAGE.match(state.src, state.pos, state.posMax)
    if not match or not slips.is_language_word(match["name"]):
        return False
    tag = squeeze(match["tag"] or "").rstrip("] ")
    is_known = tag.casefold() == "off" or is_language(tag)
    is_exact = match["name"].casefold() == "language"
    is_end = _means_end(match, tag.casefold(), state.src)
    is_meant = (match["sign"] and is_exact) or is_known or is_end
    if not is_meant or not (is_exact or match["tag"]):
        return False
    if not silent:
        if match["tag"] is None:  # the rest of the line does not belong to it
            token = state.push("text", "", 0)
            token.content = match[0]
        is_well_formed = is_known and bool(_WELL_FORMED.fullmatch(match[0]))
        meta = {"tag": None if is_end else tag, "is_well_formed": is_well_formed, "is_end": is_end}
        _push(state, "language", match[0].rstrip(), meta)
    state.pos = match.end()
    return True


def _means_end(match: re.Match[str], tag: str, source: str) -> bool:
    """Returns whether a mark, perhaps mistyped, means the end of a language."""
    if match["close"]:
        return bool(match["tag"]) and (not tag or tag in _END_WORDS or is_language(tag))
    if tag not in _END_WORDS or tag == "off" or match["sign"]:
        return tag in _END_WORDS
    # an editor's words, "the [language of] birds", stand within a line
    row_before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
    row_after, newline, _ = source[match.end() :].partition("\n")
    return not row_after.strip() and not (row_before and newline)


def _spoken_form_rule(state: StateInline, silent: bool) -> bool:
    """Reads `{written|spoken}`, or the beginning of `{Ada: …}`."""
    if state.src[state.pos] != "{":
        return False
    match = _SPOKEN_FORM.match(state.src, state.pos, state.posMax)
    written, spoken = (
        (squeeze(_ESCAPED.sub(r"\1", part)) for part in match.groups()) if match else ("", "")
    )
    if not (visible(written) and spoken):
        return _attribution_rule(state, silent)
    if not silent:
        names = _ATTRIBUTION.match(state.src, state.pos, state.posMax)
        if names and state.env["cast"].find_speakers(names["names"]):
            _push_slip(state, state.src[state.pos : state.pos + 60], slips.SAID_OTHERWISE)
        _push(state, "spoken_form", written, {"spoken": spoken})
    assert match is not None
    state.pos = match.end()
    return True


def _attribution_rule(state: StateInline, silent: bool) -> bool:
    """Reads the beginning of `{Ada (softly): …}`, if the cast has exactly that name.

    Otherwise the brace is text. `unpaired_braces` finds braces without an end once the whole
    paragraph has been parsed.
    """
    cast: CastNames = state.env["cast"]
    match = _ATTRIBUTION.match(state.src, state.pos, state.posMax)
    speakers = cast.find_speakers(match["names"]) if match else ()
    if not silent:
        written = state.src[state.pos : min(state.pos + 60, state.posMax)].partition("\n")[0]
        meta = {"written": written, "nearest_name": None}
        token = _push(state, "attribution_open" if speakers else "brace", "{", meta)
        if match and speakers:
            token.content = match[0]
            token.meta |= {"speakers": speakers, "style": squeeze(match["style"] or "") or None}
        elif match:
            token.meta["nearest_name"] = _nearest_speaker(match["names"], cast)
    state.pos = match.end() if match and speakers else state.pos + 1
    return True


def _nearest_speaker(names: str, cast: CastNames) -> str | None:
    """Returns the name nearest to one that is not in the cast.

    Empty where only some of several names are known, None where nothing is near.
    """
    names_cast_member = "&" in names and any(map(cast.find_speakers, names.split("&")))
    return cast.nearest_label(names) or ("" if names_cast_member else None)


def _closing_brace_rule(state: StateInline, silent: bool) -> bool:
    """Reads a closing brace."""
    if state.src[state.pos] != "}":
        return False
    if not silent:
        _push(state, "attribution_close", "}")
    state.pos += 1
    return True


def unpaired_braces(tokens: Sequence[Token]) -> frozenset[int]:
    """Returns the indices of brace tokens without a partner."""
    open_places: list[int] = []
    unpaired_places: set[int] = set()
    for index, token in enumerate(tokens):
        if token.type == "attribution_open":
            open_places.append(index)
        elif token.type == "attribution_close" and open_places:
            open_places.pop()
        elif token.type == "attribution_close":
            unpaired_places.add(index)
    return frozenset((*unpaired_places, *open_places))


def _footnote_mark_rule(state: StateInline, silent: bool) -> bool:
    """Reads `[^1]`, or an inline footnote: `^[text]`."""
    match = _FOOTNOTE_MARK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = _push(state, "left_out", match[0])
        token.info = "footnote mark" if match[0].startswith("[") else "footnote"
    state.pos = match.end()
    return True


def _push_slip(
    state: StateInline, written: str, problem: str, *, is_spoken: bool | None = None
) -> None:
    """Records `written` as nearly a mark; it is spoken as text, or left out and listed.

    With `is_spoken` None it is read as a mark in spite of the slip.
    """
    _push(state, "slip", written).info = problem
    if is_spoken is not None:
        kind = "text_special" if is_spoken else "left_out"
        _push(state, kind, written).info = "mark that is none"
