"""Documents that print who speaks, and documents that only look as if they did.

Both are of our own writing: `dialogues.txt` has plays, interviews, podcasts, chats and hearings in
seventeen languages, and each is set here in the ways in which such texts are printed;
`documents.txt` has forms, handbooks, minutes, glossaries and the like. Half of both was not looked
at while the rules were made: `is_held_out` says which.
"""

from __future__ import annotations

import hashlib
import html
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.build_docx import CENTRED, build_docx, p, r
from tests.build_pdf import Shown, build_pdf, column

_HERE = Path(__file__).parent
EAST = ("zh", "ja")


@dataclass(frozen=True, slots=True)
class Turn:
    """A speech, or a direction, whose name is empty."""

    name: str
    style: str
    text: str
    """Lines of verse are parted by newlines."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A text in which several speak."""

    name: str
    language: str
    kind: str
    """play, verse, talk, qa, diarised, chat."""
    title: str
    act: str
    turns: tuple[Turn, ...]

    @property
    def speakers(self) -> frozenset[str]:
        return frozenset(turn.name for turn in self.turns if turn.name)


@dataclass(frozen=True, slots=True)
class Sample:
    """A file to import."""

    name: str
    suffix: str
    write: Callable[[Path], object]
    speakers: frozenset[str] = frozenset()
    """None where the document is no dialogue."""

    @property
    def is_held_out(self) -> bool:
        return is_held_out(self.name.partition("/")[0])


def is_held_out(name: str) -> bool:
    """Whether a text was not looked at while the rules were made."""
    return hashlib.sha1(name.encode()).digest()[0] % 2 == 1


def _sections(name: str) -> Iterator[tuple[list[str], str]]:
    text = (_HERE / name).read_text("utf-8")
    for section in text.split("=== ")[1:]:
        head, _, body = section.partition("\n")
        yield head.split(), body.strip()


# -- what is a dialogue ----------------------------------------------------------------------------


def dialogues() -> list[Dialogue]:
    """All dialogues, not yet set in any way."""
    made = []
    for (name, language, kind), body in _sections("dialogues.txt"):
        title, *rows = body.split("\n")
        act = rows.pop(0) if "|" not in rows[0] else ""
        turns = tuple(map(_turn, rows))
        made.append(Dialogue(f"{name}-{language}", language, kind, title, act, turns))
    return made


def _turn(row: str) -> Turn:
    if "|" not in row:
        return Turn("", "", row)
    name, _, text = row.partition("|")
    styled = re.match(r"[(（]([^()（）]+)[)）]\s*", text)
    said = text[styled.end() :] if styled else text
    return Turn(name, styled[1] if styled else "", said.replace("/", "\n"))


Setter = Callable[[Dialogue, Path], object]


def _plain(
    pattern: str, between: str = "\n\n", shout: bool | None = None, wrap: int = 76
) -> Setter:
    """Speeches in lines of text: `pattern` has the fields name, style, text, time and number."""

    def write(dialogue: Dialogue, path: Path) -> None:
        rows = []
        for number, turn in enumerate(dialogue.turns):
            if not turn.name:
                rows.append(turn.text)
                continue
            row = pattern.format(
                name=_cased(turn.name, shout, dialogue.language),
                style=f" ({turn.style})" if turn.style else "",
                text=turn.text,
                time=f"{number // 60 + 1:02}:{7 * number % 60:02}",
                number=number,
            )
            rows.append("\n".join(_wrapped(row, wrap)))
        head = "\n\n".join(filter(None, [dialogue.title, dialogue.act]))
        path.write_text(f"{head}\n\n\n{between.join(rows)}\n", "utf-8")

    return write


def _wrapped(text: str, width: int) -> Iterator[str]:
    for row in text.split("\n"):
        indent = row[: len(row) - len(row.lstrip())]
        yield from textwrap.wrap(row, width, subsequent_indent=indent) if width else [row]


def _cased(name: str, shout: bool | None, language: str) -> str:
    if shout is None or language == "tr" or "_" in name or len(name) == 1:
        return name
    return name.upper() if shout else " ".join(word.capitalize() for word in name.split())


def _screenplay(dialogue: Dialogue, path: Path) -> None:
    rows = [dialogue.title.upper(), "", "INT. A ROOM - DAY", "", "A table, chairs. Somebody waits."]
    for turn in dialogue.turns:
        if not turn.name:
            rows += ["", turn.text]
            continue
        rows += ["", " " * 22 + turn.name.upper()]
        rows += [" " * 16 + f"({turn.style})"] if turn.style else []
        rows += [" " * 10 + row for row in textwrap.wrap(turn.text, 35)]
    path.write_text("\n".join(rows) + "\n", "utf-8")


def _markdown(pattern: str) -> Setter:
    def write(dialogue: Dialogue, path: Path) -> None:
        rows = [f"# {dialogue.title}"] + [f"## {dialogue.act}"] * bool(dialogue.act)
        for turn in dialogue.turns:
            style = f" *({turn.style})*" if turn.style else ""
            text = turn.text.replace("\n", "\\\n")
            filled = pattern.format(name=turn.name, style=style, text=text)
            rows.append(filled if turn.name else f"*{turn.text}*")
        path.write_text("\n\n".join(rows) + "\n", "utf-8")

    return write


def _html(pattern: str, around: str = "{}", shout: bool | None = None) -> Setter:
    def write(dialogue: Dialogue, path: Path) -> None:
        body = ""
        for turn in dialogue.turns:
            text = html.escape(turn.text).replace("\n", "<br>")
            style = f" <i>({turn.style})</i>" if turn.style else ""
            name = _cased(turn.name, shout, dialogue.language)
            row = pattern.format(name=name, style=style, text=text)
            is_inside = around != "{}"
            body += row if turn.name else "" if is_inside else f"<p><i>{text}</i></p>"
        act = f"<h2>{dialogue.act}</h2>" if dialogue.act else ""
        title = html.escape(dialogue.title)
        path.write_text(
            f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head>'
            f"<body><h1>{title}</h1>{act}{around.format(body)}</body></html>",
            "utf-8",
        )

    return write


def _docx(look: str) -> Setter:
    bold = "<w:b/>"

    def paragraphs(turn: Turn) -> str:
        style = f" ({turn.style})" if turn.style else ""
        if not turn.name:
            return p(turn.text, run="<w:i/>")
        if look == "centred":
            return p(f"{turn.name}{style}", CENTRED) + p(turn.text)
        runs = r(f"{turn.name}:", bold if look == "bold" else "") + r(f"{style} {turn.text}")
        return f"<w:p>{runs}</w:p>"

    def write(dialogue: Dialogue, path: Path) -> None:
        act = p(dialogue.act, CENTRED, bold) if dialogue.act else ""
        title = p(dialogue.title, CENTRED, f'{bold}<w:sz w:val="36"/>')
        build_docx(path, title + act + "".join(map(paragraphs, dialogue.turns)))

    return write


def _pdf(pattern: str) -> Setter:
    def write(dialogue: Dialogue, path: Path) -> None:
        page: list[Shown] = [Shown(150, 540, dialogue.title, 18, 1)]
        pages, y = [page], 500.0
        for turn in dialogue.turns:
            style = f" ({turn.style})" if turn.style else ""
            text = turn.text.replace("\n", " ")
            row = pattern.format(name=turn.name, style=style, text=text) if turn.name else text
            shown = column(row, y, width=75, indent=0)
            if shown[-1].y < 50:
                page = []
                pages.append(page)
                y = 540.0
                shown = column(row, y, width=75, indent=0)
            page += shown
            y = shown[-1].y - 22
        build_pdf(path, pages, info=f"/Title ({dialogue.title})", catalog="")

    return write


_TABLE = "<table>{}</table>"
_SETTINGS: dict[str, tuple[str, Setter]] = {
    "point": (".txt", _plain("{name}{style}. {text}")),
    "colon": (".txt", _plain("{name}{style}: {text}")),
    "dash": (".txt", _plain("{name}{style}. — {text}")),
    "alone": (".txt", _plain("{name}{style}\n{text}")),
    "centred": (".txt", _plain("                    {name}{style}\n{text}")),
    "ordinary-colon": (".txt", _plain("{name}{style}: {text}", shout=False)),
    "ordinary-point": (".txt", _plain("{name}{style}. {text}", shout=False)),
    "close": (".txt", _plain("{name}{style}: {text}", "\n", wrap=0)),
    "italic": (".txt", _plain("_{name}_{style}. {text}", shout=False)),
    "time-before": (".txt", _plain("[00:{time}] {name}: {text}")),
    "time-behind": (".txt", _plain("{name} (00:{time}): {text}")),
    "time-above": (".txt", _plain("{name}  00:{time}\n{text}")),
    "clock": (".txt", _plain("10:{number:02} - {name}: {text}", "\n", wrap=0)),
    "messenger": (".txt", _plain("[03.05.24, 10:{number:02}:12] {name}: {text}", "\n", wrap=0)),
    "phone": (".txt", _plain("5/3/24, 10:{number:02} - {name}: {text}", "\n", wrap=0)),
    "screenplay": (".txt", _screenplay),
    "bold": (".md", _markdown("**{name}:**{style} {text}")),
    "bold-name": (".md", _markdown("**{name}**{style}: {text}")),
    "bold-above": (".md", _markdown("**{name}**\n\n{text}")),
    "plain": (".md", _markdown("{name}: {text}")),
    "web-bold": (".html", _html("<p><b>{name}.</b>{style} {text}</p>")),
    "web-class": (".html", _html('<p class="speaker">{name}</p><p>{text}</p>')),
    "web-colon": (".html", _html("<p><strong>{name}:</strong>{style} {text}</p>")),
    "web-plain": (".html", _html("<p>{name}: {text}</p>")),
    "web-table": (".html", _html("<tr><td>{name}</td><td>{text}</td></tr>", _TABLE)),
    "web-list": (".html", _html("<dt>{name}</dt><dd>{text}</dd>", "<dl>{}</dl>")),
    "word-bold": (".docx", _docx("bold")),
    "word-plain": (".docx", _docx("plain")),
    "word-centred": (".docx", _docx("centred")),
    "page": (".pdf", _pdf("{name}{style}. {text}")),
    "page-colon": (".pdf", _pdf("{name}{style}: {text}")),
}
_PLAYS = (
    "point colon dash alone centred ordinary-colon ordinary-point close italic screenplay bold "
    "bold-name bold-above web-bold web-class web-colon web-table web-list word-bold word-centred "
    "page page-colon"
).split()
_TALKS = (
    "colon ordinary-colon close time-before time-behind time-above bold bold-name plain web-colon "
    "web-plain web-list word-bold word-plain page-colon"
).split()
_WAYS = {
    "play": _PLAYS,
    "verse": [way for way in _PLAYS if way not in ("close", "page", "page-colon", "screenplay")],
    "talk": _TALKS,
    "qa": "point colon close bold web-colon web-plain word-bold word-plain page page-colon".split(),
    "diarised": "colon close time-before time-behind bold web-plain word-plain page-colon".split(),
    "chat": "colon close clock messenger phone time-before plain web-plain".split(),
}
_CASED = "en de fr es it ru pl pt nl sv el tr cs".split()
_OF_CASE = "point dash alone centred ordinary-point italic web-bold page screenplay".split()
"""Ways in which only scripts with capitals are printed."""
_LATIN = "en de fr es it pt nl sv".split()
"""Languages whose letters the fonts of a small PDF have."""


def scripts() -> Iterator[Sample]:
    """Each dialogue in each way of setting that fits it."""
    for dialogue in dialogues():
        for way in _WAYS[dialogue.kind]:
            suffix, write = _SETTINGS[way]
            if suffix == ".pdf" and dialogue.language not in _LATIN:
                continue
            if way in _OF_CASE and dialogue.language not in _CASED:
                continue
            yield Sample(
                f"{dialogue.name}/{way}",
                suffix,
                lambda path, dialogue=dialogue, write=write: write(dialogue, path),
                dialogue.speakers,
            )


# -- what is none ----------------------------------------------------------------------------------


def documents() -> Iterator[Sample]:
    """Each document that is no dialogue, in several formats."""
    for (name, language), body in _sections("documents.txt"):
        blocks = body.split("\n\n")
        for way, (suffix, write) in _FORMATS.items():
            if suffix == ".pdf" and language not in _LATIN:
                continue
            title = f"{name}-{language}/{way}"
            yield Sample(
                title, suffix, lambda path, write=write, blocks=blocks: write(blocks, path)
            )


def _parted(block: str) -> tuple[str, str]:
    """What stands before the first colon or full stop of a block, and all from there."""
    found = re.match(r"[^:.：\n]{1,30}(?=[:.：])", block)
    return (found[0], block[found.end() :]) if found else ("", block)


def _as_text(blocks: Sequence[str], path: Path) -> None:
    rows = [block.lstrip("# ") if block[0] == "#" else block for block in blocks]
    path.write_text("\n\n".join(rows) + "\n", "utf-8")


def _as_close_text(blocks: Sequence[str], path: Path) -> None:
    rows = [f"\n{block.lstrip('# ')}\n" if block[0] == "#" else block for block in blocks]
    path.write_text("\n".join(rows).strip() + "\n", "utf-8")


def _as_markdown(blocks: Sequence[str], path: Path) -> None:
    path.write_text("\n\n".join(blocks) + "\n", "utf-8")


def _as_bold(blocks: Sequence[str], path: Path) -> None:
    rows = []
    for block in blocks:
        head, rest = _parted(block)
        rows.append(f"**{head}{rest[:1]}**{rest[1:]}" if head and block[0] != "#" else block)
    path.write_text("\n\n".join(rows) + "\n", "utf-8")


def _as_html(row: str) -> Callable[[Sequence[str], Path], None]:
    def write(blocks: Sequence[str], path: Path) -> None:
        body = []
        for block in blocks:
            head, rest = map(html.escape, _parted(block))
            level = len(block) - len(block.lstrip("#"))
            if level:
                body.append(f"<h{level}>{html.escape(block[level:].strip())}</h{level}>")
            elif head:
                body.append(row.format(head, rest, rest[1:].strip()))
            else:
                body.append(f"<p>{html.escape(block)}</p>")
        path.write_text(
            '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Document</title></head>'
            f"<body>{''.join(body)}</body></html>",
            "utf-8",
        )

    return write


def _as_docx(blocks: Sequence[str], path: Path) -> None:
    body = ""
    for block in blocks:
        head, rest = _parted(block)
        if block[0] == "#":
            body += p(block.lstrip("# "), run='<w:b/><w:sz w:val="32"/>')
        else:
            body += f"<w:p>{r(head, '<w:b/>') if head else ''}{r(rest)}</w:p>"
    build_docx(path, body)


def _as_pdf(blocks: Sequence[str], path: Path) -> None:
    page: list[Shown] = []
    pages, y = [page], 540.0
    for block in blocks:
        shown = column(block.lstrip("# "), y, width=75, indent=0)
        if shown[-1].y < 50:
            page = []
            pages.append(page)
            y = 540.0
            shown = column(block.lstrip("# "), y, width=75, indent=0)
        page += shown
        y = shown[-1].y - 22
    build_pdf(path, pages, info="/Title (Document)", catalog="")


_FORMATS: dict[str, tuple[str, Callable[[Sequence[str], Path], None]]] = {
    "text": (".txt", _as_text),
    "close": (".txt", _as_close_text),
    "markdown": (".md", _as_markdown),
    "bold": (".md", _as_bold),
    "web": (".html", _as_html("<p><b>{0}</b>{1}</p>")),
    "items": (".html", _as_html("<ul><li><b>{0}</b>{1}</li></ul>")),
    "cells": (".html", _as_html("<table><tr><td>{0}</td><td>{2}</td></tr></table>")),
    "terms": (".html", _as_html("<dl><dt>{0}</dt><dd>{2}</dd></dl>")),
    "word": (".docx", _as_docx),
    "page": (".pdf", _as_pdf),
}
