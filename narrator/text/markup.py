"""Markdown with what scripts add to it: pauses, music, languages, said words, escapes, footnotes.

Gives tokens with their lines; what they mean is `script.py`'s.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline import escape as escape_rule
from markdown_it.rules_inline import newline as newline_rule
from markdown_it.token import Token

from narrator.characters import seen
from narrator.text import slips
from narrator.text.alphabets import is_language


class CastNames(Protocol):
    """Who may be named in a text."""

    def named(self, text: str) -> tuple[str, ...]:
        """Whom a text names exactly, several in unison."""
        ...

    def meant(self, label: str) -> str | None:
        """The name that a mistyped one was most likely meant to be."""
        ...


LONGEST_PAUSE = 60.0
"""Seconds that one `[pause …]` may last."""


def squeeze(text: str) -> str:
    return " ".join(text.split())


def visible(text: str) -> bool:
    return any(not c.isspace() and unicodedata.category(c) != "Cf" for c in seen(text))


_DEEPEST = 40
"""Levels of quotes and lists; a list takes two. The parser gives up at 50 and drops the rest."""

_PAUSE = re.compile(r"\[pause\b(?:([^\[\]]*)\])?", re.IGNORECASE)
_MUSIC = re.compile(r"\[music:([^\[\]\n]*)(\])?", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"\[(?P<close>[^\S\n]*/|[^\S\n]*end\b(?:[^\S\n]+of\b)?)?[^\S\n]*(?P<name>[a-z]{4,12})"
    r"[^\S\n]*(?P<sign>[:=;：]?)"
    r"(?P<tag>[^\[\]\n]*\]|[^\S\n]*off?[^\S\n]*(?=\n|\Z))?",
    re.IGNORECASE,
)
_RIGHT = re.compile(r"\[[^\S\n]*language[^\S\n]*:[^\[\]\n]*\]", re.IGNORECASE)
_ENDS = frozenset("off of end".split())
"""What plainly means the end of a language, where its mark is mistyped."""
_SECONDS = re.compile(r"\s+([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?(s|ms)\s*")
_SAY = re.compile(r"\{((?:\\.|[^{}|\\])*)\|((?:\\.|[^{}|\\])*)\}", re.DOTALL)
_GIVEN = re.compile(
    r"\{[^\S\n]*(?P<names>[^\s\\{}|:：(（][^\\{}|:：(（\n]{0,199}?)[^\S\n]*"
    r"(?:[(（](?P<style>[^(){}（）\n]{0,200})[)）][^\S\n]*)?[:：][^\S\n]*"
)
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\[\s]+\]|\^\[(?:[^\[\]]|\[[^\[\]]*\])*\]")
_FOOTNOTE = re.compile(r"\[\^[^\]\[\s]+\]:")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@functools.cache
def MARKDOWN() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"maxNesting": 50, "inline_definitions": True})
    md.enable("table")
    # Manuscripts indent paragraphs; tags around a paragraph are no reason to leave it out; and
    # text_join would hide what was escaped.
    md.disable(["code", "html_block", "text_join"])
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    md.block.ruler.before("table", "depth", _depth)
    md.block.ruler.before("reference", "comment", _comment, interrupts)
    md.block.ruler.before("reference", "footnote", _footnote, interrupts)
    md.inline.ruler.at("newline", _newline)
    md.inline.ruler.at("escape", _escape)
    md.inline.ruler.before("link", "pause", _pause)
    md.inline.ruler.before("link", "music", _music)
    md.inline.ruler.before("link", "language", _language)
    md.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    md.inline.ruler.before("link", "say", _say)
    md.inline.ruler.before("link", "given_end", _given_end)
    return md


def _depth(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent or state.level < _DEEPEST:
        return False
    token = state.push("problem", "", 0)
    token.content = "quotes and lists are nested too deep to be meant so"
    token.map = [start, end]
    state.line = end
    return True


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment on lines of its own; one with text beside it is read within its paragraph."""
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


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A footnote's text: its paragraph, and the paragraphs after it that are indented."""

    def begins(line: int) -> bool:
        return bool(_FOOTNOTE.match(state.src, state.bMarks[line] + state.tShift[line]))

    if not begins(start):
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
        elif begins(last):
            break
        last += 1
    token = state.push("left_out", "", 0)
    token.info = "footnote"
    token.map = [start, last]
    state.line = last
    return True


def _newline(state: StateInline, silent: bool) -> bool:
    """The parser's own rule; keeps where it was, for line numbers."""
    at = state.pos
    read = newline_rule(state, silent)
    if read and not silent:
        state.tokens[-1].meta = {"pos": at}
    return read


def _escape(state: StateInline, silent: bool) -> bool:
    """The parser's own rule, and `\\：`; keeps where it was, for line numbers."""
    at = state.pos
    if state.src.startswith("\\：", at):
        if not silent:
            token = state.push("text_special", "", 0)
            token.content, token.markup, token.info = "：", "\\：", "escape"
        state.pos += 2
        read = True
    else:
        read = escape_rule(state, silent)
    if read and not silent:
        state.tokens[-1].meta = {"pos": at + 1}
    return read


def _pause(state: StateInline, silent: bool) -> bool:
    """`[pause 1.5s]`"""
    mark = _PAUSE.match(state.src, state.pos, state.posMax)
    if not mark:
        return False
    inside = squeeze(mark[1] or "")
    value = _SECONDS.fullmatch(mark[1] or "")
    if value is None and len(inside.split()) > 1 and not re.search(r"\d", inside):
        return False  # [pause for applause]
    if not silent:
        seconds = float(value[1]) / (1000 if value[2] == "ms" else 1) if value else 0.0
        if value is None:
            what = f"is no pause; did you mean {slips.pause_of(inside)}? Write {slips.AS_TEXT}"
            _push_slip(state, mark[0], what, spoken=mark[1] is None)
        else:
            if seconds > LONGEST_PAUSE:
                what = f"lasts {LONGEST_PAUSE:g} s, for a pause lasts {LONGEST_PAUSE:g} s at most"
                _push_slip(state, mark[0], what, spoken=None)
            token = state.push("pause", "", 0)
            token.meta = {"pos": state.pos, "seconds": min(seconds, LONGEST_PAUSE)}
    state.pos = mark.end()
    return True


def _music(state: StateInline, silent: bool) -> bool:
    """`[music: name]` and `[music: off]`"""
    mark = _MUSIC.match(state.src, state.pos, state.posMax)
    if not mark:
        return False
    if not silent:
        name = squeeze(mark[1])
        if not name or not mark[2]:
            what = f"names no music: write [music: name] or [music: off], or {slips.AS_TEXT}"
            _push_slip(state, mark[0], what, spoken=not mark[2])
        else:
            token = state.push("music", "", 0)
            token.meta = {"pos": state.pos, "name": None if name.casefold() == "off" else name}
    state.pos = mark.end()
    return True


def _language(state: StateInline, silent: bool) -> bool:
    """`[language: el]` and `[language: off]`; what is like them, and none, is odd.

    Brackets that begin with the word alone are text. What means the end, ends a language even if
    it is mistyped: else all that follows would be said in it.
    """
    mark = _LANGUAGE.match(state.src, state.pos, state.posMax)
    if not mark or not slips.is_language_word(mark["name"]):
        return False
    tag = squeeze(mark["tag"] or "").rstrip("] ")
    known = tag.casefold() == "off" or is_language(tag)
    exact = mark["name"].casefold() == "language"
    ends = _ends(mark, tag.casefold(), state.src)
    meant = (mark["sign"] and exact) or known or ends
    if not meant or not (exact or mark["tag"]):
        return False
    if not silent:
        if mark["tag"] is None:  # the rest of the line is no part of it
            token = state.push("text", "", 0)
            token.content = mark[0]
        right = known and bool(_RIGHT.fullmatch(mark[0]))
        token = state.push("language", "", 0)
        token.content = mark[0].rstrip()
        token.meta = {"pos": state.pos, "tag": None if ends else tag, "right": right, "ends": ends}
    state.pos = mark.end()
    return True


def _ends(mark: re.Match[str], tag: str, source: str) -> bool:
    """Whether a mark, perhaps a mistyped one, means the end of a language."""
    if mark["close"]:
        return bool(mark["tag"]) and (not tag or tag in _ENDS or is_language(tag))
    if tag not in _ENDS or tag == "off" or mark["sign"]:
        return tag in _ENDS
    # an editor's words, "the [language of] birds", stand within a line
    before = source[source.rfind("\n", 0, mark.start()) + 1 : mark.start()].strip()
    after = source[mark.end() :].partition("\n")
    return not after[0].strip() and not (before and after[1])


def _say(state: StateInline, silent: bool) -> bool:
    """`{written|spoken}`, or the beginning of `{Ada: …}`"""
    if state.src[state.pos] != "{":
        return False
    mark = _SAY.match(state.src, state.pos, state.posMax)
    written, spoken = (
        (squeeze(_ESCAPED.sub(r"\1", part)) for part in mark.groups()) if mark else ("", "")
    )
    if not (visible(written) and spoken):
        return _given(state, silent)
    if not silent:
        names = _GIVEN.match(state.src, state.pos, state.posMax)
        if names and state.env["cast"].named(names["names"]):
            _push_slip(state, state.src[state.pos : state.pos + 60], slips.SAID_OTHERWISE)
        token = state.push("say", "", 0)
        token.content = written
        token.meta = {"pos": state.pos, "spoken": spoken}
    assert mark is not None
    state.pos = mark.end()
    return True


def _given(state: StateInline, silent: bool) -> bool:
    """The beginning of `{Ada (softly): …}`, if the cast has exactly that name; else a brace, which
    is text. Whether there is an end is seen when all of a paragraph is there."""
    cast: CastNames = state.env["cast"]
    mark = _GIVEN.match(state.src, state.pos, state.posMax)
    speakers = cast.named(mark["names"]) if mark else ()
    if not silent:
        written = state.src[state.pos : min(state.pos + 60, state.posMax)].partition("\n")[0]
        token = state.push("given" if speakers else "brace", "", 0)
        token.content = "{"
        token.meta = {"pos": state.pos, "written": written, "near": None}
        if mark and speakers:
            token.content = mark[0]
            token.meta |= {"speakers": speakers, "style": squeeze(mark["style"] or "") or None}
        elif mark:
            token.meta["near"] = _near(mark["names"], cast)
    state.pos = mark.end() if mark and speakers else state.pos + 1
    return True


def _near(names: str, cast: CastNames) -> str | None:
    """Who was meant by names that are not quite the cast's; empty where that is not known."""
    others = "&" in names and any(map(cast.named, names.split("&")))
    return cast.meant(names) or ("" if others else None)


def _given_end(state: StateInline, silent: bool) -> bool:
    """A brace that may end what one begins."""
    if state.src[state.pos] != "}":
        return False
    if not silent:
        token = state.push("given_end", "", 0)
        token.content = "}"
        token.meta = {"pos": state.pos}
    state.pos += 1
    return True


def unpaired(tokens: Sequence[Token]) -> frozenset[int]:
    """Places of the braces of a paragraph that begin or end nothing."""
    opened: list[int] = []
    alone: set[int] = set()
    for place, token in enumerate(tokens):
        if token.type == "given":
            opened.append(place)
        elif token.type == "given_end" and opened:
            opened.pop()
        elif token.type == "given_end":
            alone.add(place)
    return frozenset((*alone, *opened))


def _footnote_mark(state: StateInline, silent: bool) -> bool:
    """`[^1]`, or a footnote in place: `^[text]`"""
    found = _FOOTNOTE_MARK.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        token = state.push("left_out", "", 0)
        token.content = found[0]
        token.info = "footnote mark" if found[0].startswith("[") else "footnote"
        token.meta = {"pos": state.pos}
    state.pos = found.end()
    return True


def _push_slip(
    state: StateInline, written: str, matter: str, *, spoken: bool | None = None
) -> None:
    """What is `written` is nearly a mark: as text it is spoken, as none it is left out and listed.

    With None it is a mark all the same.
    """
    token = state.push("slip", "", 0)
    token.content = written
    token.info = matter
    token.meta = {"pos": state.pos}
    if spoken is None:
        return
    token = state.push("text_special" if spoken else "left_out", "", 0)
    token.content = written
    token.info = "mark that is none"
    token.meta = {"pos": state.pos}
