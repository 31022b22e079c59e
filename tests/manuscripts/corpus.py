"""Faithful miniatures of the manuscripts that people have: headings, languages, encodings, formats.

Texts are openings of works in the public domain, said in turns, so that a chapter has a few
hundred words and the shape of the real one. `write` makes all of them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from tests.build_epub import build_epub

FOLDER = Path(__file__).parent
PASSAGES = {
    language: rows.strip().split("\n")
    for language, rows in re.findall(
        r"== (\S+) ==\n(.+?)(?=\n==|\Z)", (FOLDER / "passages.txt").read_text("utf-8"), re.DOTALL
    )
}
"""Sentences, or passages, by language."""

EAST = ("zh", "zh-Hant", "ja")


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A source, and what an import has to find in it."""

    name: str
    path: Path
    chapters: int
    language: str
    says: tuple[str, ...] = ()
    """Texts that its chapters must have."""


def prose(language: str, paragraphs: int = 3, begin: int = 0, sentences: int = 5) -> str:
    """Paragraphs with hard line ends, as plain texts have them."""
    sentences_in_turn = cycle(PASSAGES[language])
    made = []
    for _ in islice(sentences_in_turn, begin):
        pass
    for _ in range(paragraphs):
        if language in EAST:
            made.append("　　" + "".join(islice(sentences_in_turn, sentences)))
        else:
            text = " ".join(islice(sentences_in_turn, sentences))
            made.append(textwrap.fill(text, 72, break_on_hyphens=False))
    return "\n\n".join(made)


def chapters(headings: Iterable[str], language: str = "en", paragraphs: int = 3) -> str:
    return "\n\n\n".join(
        f"{heading}\n\n{prose(language, paragraphs, number)}"
        for number, heading in enumerate(headings)
    ) + "\n"  # fmt: skip


def gutenberg(body: str, title: str, author: str, language: str) -> str:
    return (
        f"The Project Gutenberg eBook of {title}\n\nTitle: {title}\n\nAuthor: {author}\n\n"
        f"Language: {language}\n\n*** START OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***\n\n"
        f"Produced by Several People\n\n\n{title.upper()}\n\nby {author}\n\n\n{body}\n\n"
        f"*** END OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***\n\nLicence, in many words.\n"
    )


def _roman(number: int) -> str:
    return ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"][number]


_ALICE = ("The Rabbit-Hole", "A Mad Tea-Party", "Who Stole the Tarts?", "Alice’s Evidence!")
_CONTENTS = "CONTENTS\n\n" + "\n".join(
    f" CHAPTER {_roman(n)}. {title}" for n, title in enumerate(_ALICE, 1)
)
_PLAY = (
    "LANE.\nI didn’t think it polite to listen, sir.\n\n"
    "ALGERNON.\nI’m sorry for that, for your sake. I don’t play accurately—any one can play "
    "accurately—but I play with wonderful expression.\n\n[Enter Jack.]\n\n"
) * 4
_POEM = "\n\n".join(
    "    Tiger Tiger, burning bright,\n    In the forests of the night;\n"
    "    What immortal hand or eye,\n    Could frame thy fearful symmetry?"
    for _ in range(4)
)
_BROKEN = textwrap.fill(" ".join(PASSAGES["en"]), 60).replace("conversations", "conver-\nsations")


def _technical(name: str, language: str) -> str:
    """A manual whose braces, tables and labels look like commands of a script."""
    return (FOLDER / name).read_text("utf-8").replace("{text}", prose(language))


def _file(name: str, text: str, encoding: str = "utf-8") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(text.encode(encoding))
        return path

    return make


def _folder(name: str, files: dict[str, str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for file, text in files.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return folder / name

    return make


def _epub(
    name: str, pages: dict[str, str], contents: Sequence[tuple] | None = None, **options: object
) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        return build_epub(folder / f"{name}.epub", pages, contents=contents, **options)  # type: ignore[arg-type]

    return make


def _p(language: str = "en", begin: int = 0) -> str:
    """The same prose in paragraphs of a page."""
    return "".join(f"<p>{part}</p>" for part in prose(language, 3, begin).split("\n\n"))


def _russian_metadata(tag: str) -> str:
    return (
        f"<dc:title>Анна</dc:title><dc:creator>Л. Т.</dc:creator><dc:language>{tag}</dc:language>"
    )


def manuscripts() -> dict[str, tuple[Callable[[Path], Path], int, str, tuple[str, ...]]]:
    """Name -> what writes it, chapters, language, what is said in it."""
    four = [f"CHAPTER {_roman(n)}" for n in range(1, 5)]
    made: dict[str, tuple[Callable[[Path], Path], int, str, tuple[str, ...]]] = {}

    def plain(
        name: str, text: str, count: int, language: str, encoding: str = "utf-8", *says: str
    ) -> None:
        made[name] = (_file(f"{name}.txt", text, encoding), count, language, says)

    def heads(name: str, headings: Sequence[str], language: str, encoding: str = "utf-8") -> None:
        plain(name, chapters(headings, language), len(headings), language.split("-")[0], encoding)

    alice = [f"CHAPTER {_roman(n)}. {title}" for n, title in enumerate(_ALICE, 1)]
    plain("gutenberg-en", gutenberg(chapters(alice), "Alice", "Lewis Carroll", "English"), 4, "en")
    heads("two-lines", [head.replace(". ", ".\n") for head in alice], "en")
    heads("two-lines-apart", [head.replace(". ", ".\n\n") for head in alice], "en")
    plain("contents-list", f"ALICE\n\n{_CONTENTS}\n\n\n{chapters(alice)}", 4, "en")
    body = chapters(["Erstes Kapitel", "Zweites Kapitel", "Drittes Kapitel. Wer da?"], "de")
    plain("gutenberg-de", gutenberg(body, "Wandlung", "Franz Kafka", "German"), 3, "de")
    body = chapters(["Chapitre premier", "Chapitre II. Qui vive ?", "Épilogue"], "fr")
    plain("gutenberg-fr", gutenberg(body, "Combray", "Marcel Proust", "French"), 3, "fr")
    body = "PRIMERA PARTE\n\n" + chapters(["Capítulo I.", "Capítulo II."], "es")
    body += "\n\nSEGUNDA PARTE\n\n" + chapters(["Capítulo I.", "Capítulo II. ¿Quién es?"], "es")
    plain("gutenberg-es", gutenberg(body, "Quijote", "Miguel de Cervantes", "Spanish"), 4, "es")
    russian = ["Глава первая", "Глава вторая", "Глава третья", "Эпилог"]
    heads("koi8-ru", russian, "ru", "koi8-r")
    two = chapters(["I", "II"], "ru")
    parts = f"ЧАСТЬ ПЕРВАЯ\n\n{two}\nЧАСТЬ ВТОРАЯ\n\n{two}"
    plain("windows-ru", parts, 4, "ru", "cp1251")
    heads("utf16-ru", russian, "ru", "utf-16-le")
    heads("chinese", ["第一回　甄士隐梦幻识通灵", "第二回　贾夫人仙逝", "第三回"], "zh")
    heads("gb18030-zh", ["第一章 海门", "第二章 风", "第三章", "尾声"], "zh", "gb18030")
    heads("big5-zh", ["第一回 甄士隱", "第二回 賈夫人"], "zh-Hant", "big5")
    heads("shift-jis-ja", ["第一章", "第二章", "第三章"], "ja", "cp932")
    heads("greek", ["ΚΕΦΑΛΑΙΟ Α΄", "ΚΕΦΑΛΑΙΟ Β΄", "ΕΠΙΛΟΓΟΣ"], "el")
    heads("windows-it", ["INTRODUZIONE", "Capitolo I.", "Capitolo II. Perché?"], "it", "cp1252")
    heads("mac-pt", ["Prólogo", "Capítulo primeiro", "Capítulo segundo"], "pt", "mac-roman")
    heads("windows-pl", ["Rozdział pierwszy", "Rozdział drugi", "Zakończenie"], "pl", "cp1250")
    heads("dutch", ["Eerste hoofdstuk", "Tweede hoofdstuk", "Hoofdstuk 3"], "nl")
    heads("finnish", ["Ensimmäinen luku", "Toinen luku", "Kolmas luku"], "fi")
    heads("latin1-de", ["1. Kapitel", "2. Kapitel", "3. Kapitel"], "de", "latin-1")
    heads("utf16-en", four, "en", "utf-16-be")
    acts = "\n\n".join(f"{act}\n\n{_PLAY}" for act in ("FIRST ACT", "SECOND ACT", "THIRD ACT"))
    plain("play-acts", f"THE IMPORTANCE OF BEING EARNEST\n\n{acts}", 3, "en")
    scenes = "\n\n".join(
        f"ACT {_roman(act)}\n\n" + "\n\n".join(f"SCENE {n}\n\n{_PLAY}" for n in (1, 2))
        for act in (1, 2)
    )
    plain("play-scenes", scenes, 4, "en")
    heads("letters", [f"LETTER {_roman(n)}.\n\nTo Mrs. Saville, England" for n in (1, 2, 3)], "en")
    poems = "\n\n".join(f"{_roman(n)}\n\n{_POEM}" for n in (1, 2, 3))
    plain("poetry", f"SONGS\n\nby William Blake\n\n{poems}", 3, "en")
    heads("single-letters", list("ABCDEFGHIJ"), "en")
    heads("numbers-in-words", ["ONE", "TWO", "THREE", "FOUR"], "en")
    headed = chapters(four).replace("\n\n\n", "\n\nALICE 17\n\n\n").replace("row of", "row\nof")
    plain("running-heads", f"ALICE\n\n{headed}\n\nALICE 18\n\nIt was so.\n", 4, "en")
    hyphened = f"{prose('en')}\n\n{_BROKEN}\n\n{prose('en')}"
    plain("hyphened", f"{four[0]}\n\n{hyphened}\n\n{chapters(four[1:])}", 4, "en", "utf-8",
          "pictures or conversations in it")  # fmt: skip
    noted = chapters(four).replace("hall,", "hall,[1]", 1)
    plain("footnotes", f"{noted}\n\n[Footnote 1: It is a very long one.]\n", 4, "en")
    books = "".join(
        f"BOOK THE {nth}. _{what}_\n\n{chapters(four[:2])}\n\n"
        for nth, what in (("FIRST", "SOWING"), ("SECOND", "REAPING"), ("THIRD", "GARNERING"))
    )
    plain("books-in-parts", books, 6, "en")
    long = ["CHAPTER I. Of my birth, and of what\ncame of it, and how I was named.",
            "CHAPTER II. “Who goes there?”", "CHAPTER III. I fall into disgrace."]  # fmt: skip
    heads("long-titles", long, "en")

    pages = {f"c{n}.xhtml": f"<h2>Chapter {n}</h2>{_p(begin=n)}" for n in (1, 2, 3)}
    listed = [(f"Chapter {n}", f"c{n}.xhtml") for n in (1, 2, 3)]
    made["epub2-ncx"] = (_epub("epub2-ncx", pages, listed, version=2), 3, "en-GB", ())
    made["epub3-nav"] = (_epub("epub3-nav", pages, listed), 3, "en-GB", ())
    made["epub-bare"] = (_epub("epub-bare", pages), 3, "en-GB", ())
    russians = {f"c{n}.xhtml": f"<h2>Глава {n}</h2>{_p('ru', n)}" for n in (1, 2)}
    made["epub-wrong-language"] = (
        _epub("epub-wrong-language", russians, metadata=_russian_metadata("en")), 2, "ru", ())  # fmt: skip
    note = '<a epub:type="noteref" href="notes.xhtml#n1">1</a>'
    notes = {
        "c1.xhtml": f"<h1>One</h1>{_p()}<p>So it was.{note}</p>",
        "c2.xhtml": f"<h1>Two</h1>{_p()}",
        "notes.xhtml": "<h1>Notes</h1>"
        '<aside epub:type="footnote" id="n1"><p>1. Not quite.</p></aside>',
    }
    made["epub-notes"] = (_epub("epub-notes", notes), 2, "en-GB", ())
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"{}>{}</math>'
    )  # fmt: skip
    sums = math.format("", "<mi>a</mi><mo>+</mo><mi>b</mi>")
    worded = math.format(' alttext="the root of two"', "<msqrt><mn>2</mn></msqrt>")
    bare = math.format("", "<mfrac><mn>1</mn><mi>n</mi></mfrac>")
    formulas = {
        "c1.xhtml": f"<h1>One</h1>{_p()}<p>Take {sums} now.</p><p>Then {worded} is odd.</p>",
        "c2.xhtml": f"<h1>Two</h1>{_p()}<p>But {bare} is small.</p>",
    }
    made["epub-formulas"] = (
        _epub("epub-formulas", formulas), 2, "en-GB", ("Take a + b now.", "the root of two is odd"))  # fmt: skip
    capitals = {
        f"c{n}.xhtml": f'<h2 class="c"><span class="num">{_roman(n)}</span></h2><p><span '
        f'class="drop">T</span><span class="sc">HE</span> ferry<span class="pagenum" '
        f'id="p{n}">[Pg {n}]</span> left.</p>{_p(begin=n)}'
        for n in (1, 2, 3)
    }
    made["epub-drop-capitals"] = (
        _epub("epub-drop-capitals", capitals), 3, "en-GB", ("THE ferry left.",))  # fmt: skip
    novel = {}
    for part in (1, 2):
        novel[f"p{part}.xhtml"] = f"<h1>Part {_roman(part)}</h1>"
        for n in (1, 2):
            novel[f"p{part}c{n}.xhtml"] = f"<h2>Chapter {n}</h2>{_p(begin=n)}"
    made["epub-parts"] = (_epub("epub-parts", novel), 4, "en-GB", ())
    broken = {f"c{n}.xhtml": f"<h2>{n}</h2>{_p(begin=n)}<p>{_BROKEN}</p>" for n in (1, 2)}
    made["epub-hyphens"] = (
        _epub("epub-hyphens", broken), 2, "en-GB", ("pictures or conversations in it",))  # fmt: skip

    text = prose("en")
    technical = f"# The Book\n\n{_technical('technical.md', 'en')}\n## Ownership\n\n{text}\n"
    made["md-technical"] = (_file("md-technical.md", technical), 2, "en", ())
    russian_text = prose("ru")
    in_russian = _technical("technical-ru.md", "ru")
    in_russian = f"# Книга\n\n{in_russian}\n\n## Владение\n\n{russian_text}\n\n{russian_text}\n"
    made["md-technical-ru"] = (_file("md-technical-ru.md", in_russian), 2, "ru", ())
    rows = "\n\n".join(f"### 第{n}回 石头\n\n{prose('zh')}" for n in "一二三")
    made["md-chinese"] = (_file("md-chinese.md", f"# 红楼梦\n\n{rows}\n"), 3, "zh", ())
    deep = "".join(
        f"## Volume {_roman(v)}\n\n" + "".join(f"#### Chapter {n}\n\n{text}\n\n" for n in (1, 2))
        for v in (1, 2)
    )
    made["md-deep"] = (_file("md-deep.md", f"# A Novel\n\n{deep}"), 4, "en", ())
    front = "---\ntitle: The Hole\nauthor: [L. C.]\nlang: en-GB\ntags: [a, b]\n---\n\n"
    titled = "".join(f"# {title}\n\n{text}\n\n" for title in _ALICE)
    made["md-front-matter"] = (_file("md-front-matter.md", front + titled), 4, "en-GB", ())
    bold = "".join(f"**Chapter {n}**\n\n{text}\n\n" for n in (1, 2, 3))
    made["md-bold"] = (_file("md-bold.md", f"The Hole\n\n{bold}"), 3, "en", ())
    footed = (
        f"# One\n\nSo it was.[^1]\n\n{text}\n\n[^1]: Not quite.\n[^2]: Never.\n\n# Two\n\n{text}\n"
    )
    made["md-footnotes"] = (_file("md-footnotes.md", footed), 2, "en", ())
    files = {
        f"{file}.md": f"---\nauthor: L. C.\n---\n\n# Chapter {n}\n\n{text}\n"
        for n, file in ((1, "1"), (2, "2"), (3, "10"))
    }
    made["folder-md"] = (_folder("folder-md", files | {"README.md": "About."}), 3, "en", ())
    book = {
        "src/SUMMARY.md": "# Summary\n\n[Foreword](foreword.md)\n\n- [Start](ch01.md)\n"
        "    - [Install](ch01-01.md)\n- [Guess](ch02.md)\n",
        "src/ch01-01.md": f"## Installation\n\nNote: read this.\n\n{text}\n",
        "src/ch01.md": f"# Getting Started\n\n{text}\n",
        "src/ch02.md": f"# A Game\n\n{_technical('technical.md', 'en')}\n",
        "src/foreword.md": f"# Foreword\n\n{text}\n",
    }
    made["folder-mdbook"] = (_folder("folder-mdbook", book), 4, "en", ())
    mixed = {
        "01 the hole.txt": text,
        "02.md": f"# The Pool\n\n{text}\n",
        "part 2/03-the-race.txt": f"The Race\n\n{text}\n",
    }
    made["folder-mixed"] = (_folder("folder-mixed", mixed), 3, "en", ())
    return made


def write(folder: Path) -> list[Manuscript]:
    """Write all manuscripts into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        Manuscript(name, make(folder), count, language, says)
        for name, (make, count, language, says) in manuscripts().items()
    ]
