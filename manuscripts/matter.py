"""Classifies pieces of a book: chapters, parts, and front and back matter that is not read aloud.

Four kinds of evidence, the strongest first: the book's own markup (`epub:type`, DPUB roles,
landmarks, guide), the title, the words, the file's name. Knows no file format.

Kept: everything that the author tells the reader: preface, foreword, introduction, prologue,
epigraph, parts, interludes, epilogue, afterword, author's notes, appendices. Left out: what serves
a book on paper or on a screen, or sells another one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from manuscripts.book import count_words, word_set
from manuscripts.counting import ROMAN, parse_numbering
from textbase.characters import strip_invisible

_OMISSION_REASONS = {
    "cover": "cover",
    "titlepage": "title page",
    "halftitlepage": "half title",
    "seriespage": "list of books",
    "imprint": "imprint",
    "copyright-page": "copyright page",
    "colophon": "colophon",
    "dedication": "dedication",
    "acknowledgments": "acknowledgements",
    "toc": "table of contents",
    "landmarks": "table of contents",
    "page-list": "table of contents",
    "loi": "list of illustrations",
    "lot": "list of tables",
    "index": "index",
    "endnotes": "notes",
    "footnotes": "notes",
    "glossary": "glossary",
    "bibliography": "bibliography",
    "other-credits": "credits",
    "contributors": "about the author",
    "errata": "errata",
    "questions": "study questions",
    "production": "notes on this edition",
    "advertisement": "advertisement",
}
_KEPT_KINDS = {
    "chapter", "part", "volume", "prologue", "epilogue", "preface", "foreword", "introduction",
    "afterword", "conclusion", "epigraph", "appendix",
}  # fmt: skip
_SYNONYMS = {
    "acknowledgements": "acknowledgments",
    "title-page": "titlepage",
    "halftitle": "halftitlepage",
    "half-title-page": "halftitlepage",
    "copyright": "copyright-page",
    "rearnotes": "endnotes",
    "notes": "endnotes",
    "pagelist": "page-list",
    "credit": "other-credits",
    "credits": "other-credits",
    "index-group": "index",
    "loa": "loi",
    "lov": "loi",
    "ad": "advertisement",
    "qna": "questions",
}

_TITLE_PATTERN_TEXTS = {
    "cover": r"(front |back )?cover( page| image)?|"
    r"umschlagbild|titelbild|couverture|cubierta|copertina|capa|omslag|okładka|обложка|כריכה|"
    r"(ال)?غلاف|روی جلد|سرورق|封面|表紙|표지",
    "titlepage": r"(full )?title[- ]?page|"
    r"titelseite|titelblatt|page de titre|frontespizio|folha de rosto|titelpagina|titelsida|"
    r"strona tytułowa|титульный лист|עמוד השער|صفحة العنوان|صفحه عنوان|书名页|書名頁|扉页|本扉|"
    r"표제지|속표지",
    "halftitlepage": r"half[- ]?title([- ]?page)?",
    "imprint": r"imprint|impressum|mentions légales",
    "copyright-page": r"(un)?copyright( page| notice| information)?|"
    r"copyrights?( and| &) permissions|legal( notice)?|credits and copyright|urheberrecht|"
    r"droits d[’']auteur|licen[cs]e|(the )?full project gutenberg licen[cs]e|permissions|"
    r"derechos de autor|aviso legal|direitos autorais|diritti d[’']autore|note legali|"
    r"prawa autorskie|авторские права|выходные (данные|сведения)|זכויות יוצרים|כל הזכויות שמורות|"
    r"حقوق (النشر|الطبع|المؤلف).{0,20}|حق(وق)? (چاپ|نشر).{0,20}|شناسنامه( کتاب)?|حقوق اشاعت|"
    r"جملہ حقوق.{0,20}|"
    r"图书在版编目.*|版[权權](所有|信息|页|頁|声明|聲明)?|著作[权權権](声明|聲明)?|奥付|"
    r"판권(지)?|저작권",
    "colophon": r"colophon|kolophon|colofón|colofon",
    "dedication": r"dedications?|widmung|dédicace|dedicatoria|dedica|"
    r"dedicatória|dedykacja|věnování|посвящение|присвята|dedikation|αφιέρωση|הקדשה|"
    r"(ال)?إهداء|تقدیم( به)?|تقدیم‌نامه|انتساب|献[词辞辭]|獻[詞辭]|题献|題獻|헌사|ithaf",
    "acknowledgments": r"(the )?(author[’']s )?acknowledge?ments?|danksagung|remerciements|"
    r"agradecimientos|ringraziamenti|dankwoord|"
    r"agradecimentos|agraïments|podziękowania|poděkování|kiitokset|köszönetnyilvánítás|"
    r"teşekkür(ler)?|mulțumiri|благодарности|подяки|ευχαριστίες|תודות|شكر( وتقدير)?|سپاس‌?گزاری|"
    r"قدردانی|"
    r"اظہار تشکر|致[谢謝]|[鸣鳴][谢謝]|謝辞|감사의 (글|말)",
    "toc": r"(table of )?contents|toc|inhalt(sverzeichnis)?|table des matières|sommaire|"
    r"índice( general)?|indice|inhoud(sopgave)?|оглавление|содержание|目[录錄次]|"
    r"contenidos?|conteúdo|sumário|sommario|índex|spis treści|obsah|innehåll(sförteckning)?|"
    r"indhold(sfortegnelse)?|innhold(sfortegnelse)?|sisällys(luettelo)?|tartalom(jegyzék)?|"
    r"içindekiler|cuprins|"
    r"зміст|съдържание|садржај|sadržaj|περιεχόμενα|daftar isi|mục lục|विषय[- ]?सूची|สารบัญ|"
    r"תוכן( ה?עניי?נים)?|(جدول )?المحتويات|(ال)?فهرس( (ال)?(محتويات|موضوعات|كتاب))?|"
    r"فهرست( مطالب| مندرجات)?|"
    r"فہرست( مضامین)?|目\s+[录錄次]|もくじ|차\s*례|목\s*차",
    "loi": r"(list of )?(illustrations|figures|plates)",
    "lot": r"list of tables",
    "index": r"(general |subject )?index|register|"
    r"stichwortverzeichnis|(personen|sach|namen)s?register|"
    r"índice (alfabético|onomástico|analítico)|"
    r"(предметный|именной|алфавитный) указатель|מפתח (ה?שמות|ה?עניי?נים)|نمایه|اشاریہ|索引|색인|"
    r"찾아보기",
    "endnotes": r"(end|foot)?notes|notes and references|anmerkungen|fu(ß|ss)noten|примечания|"
    r"notas|przypisy|poznámky|הערות( שוליים)?|(ال)?هوامش|(ال)?حواشي|پی‌?نوشت‌?ها|یادداشت‌?ها|"
    r"حواشی|注[释釋釈]|註[释釋釈]|尾注|脚注|주석|미주",
    "glossary": r"glossary|"
    r"glossar|glossaire|glosario|glossario|glossário|מילון מונחים|واژه‌?نامه|词汇表|用語集|용어집",
    "bibliography": r"(select(ed)? )?bibliography|works cited|references|further reading|sources|"
    r"literaturverzeichnis|bibliographie|bibliografía|bibliografia|библиография|"
    r"список литературы|ביבליוגרפיה|רשימת מקורות|(المصادر و)?المراجع|المصادر|کتاب‌?نامه|منابع|"
    r"کتابیات|"
    r"参考(文献|书目)|參考(文獻|書目)|참고 ?문헌",
    "contributors": r"(a note )?(about|on) the "
    r"(authors?|editors?|translators?|illustrators?|type|typeface)|"
    r"(author|translator) bio(graphy)?|über de[nr] autor(in)?|à propos de l[’']auteur\w*|"
    r"об авторе|"
    r"על ה?(מחברת?|סופרת?)|عن المؤلفة?|نبذة عن المؤلفة?|درباره‌? ?ی? ?نویسنده|"
    r"مصنف کے بارے میں|作者[简簡]介|关于作者|關於作者|著者(紹介|略歴|について)|지은이 소개|"
    r"저자 소개|"
    r"sobre (el|la|o|a) autora?|l[’']autrice|l[’']autore|notizie sull[’']autore|over de auteur|"
    r"o autor(ze|ce)",
    "seriespage": r"(also|(more |other )?(books|titles|works)) "
    r"(in this series|by|from|available)\b.*|by the same author|du même auteur",
    "advertisement": r"praise (for|from)\b.*|(critical |advance )acclaim\b.*|"
    r"newsletters?( sign-?up)?|about (the publisher|this (e-?)?book|standard ebooks|"
    r"project gutenberg)|(an )?(exclusive )?(excerpt|extract|preview|sneak peek) (from|of)\b.*|"
    r"(thank you for (reading|buying|downloading)|join the|sign up for|read on for)\b.*",
    "questions": r"(discussion|study|reading group|book club) (questions|guide)|"
    r"reading group guide|questions for discussion",
    "production": r"transcriber[’']?s?[’']? notes?|transcription notes?|production notes?|"
    r"publisher[’']s note",
    "errata": r"errata|corrigenda",
}
_TITLE_PATTERNS = {
    kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _TITLE_PATTERN_TEXTS.items()
}

_KIND_BY_FILE_WORD = {
    "cover": "cover",
    "coverpage": "cover",
    "titlepage": "titlepage",
    "title": "titlepage",
    "tp": "titlepage",
    "halftitle": "halftitlepage",
    "halftitlepage": "halftitlepage",
    "htp": "halftitlepage",
    "copyright": "copyright-page",
    "copyrightpage": "copyright-page",
    "cop": "copyright-page",
    "cpy": "copyright-page",
    "imprint": "imprint",
    "colophon": "colophon",
    "dedication": "dedication",
    "ded": "dedication",
    "acknowledgments": "acknowledgments",
    "acknowledgements": "acknowledgments",
    "ack": "acknowledgments",
    "toc": "toc",
    "contents": "toc",
    "nav": "toc",
    "abouttheauthor": "contributors",
    "ata": "contributors",
    "alsoby": "seriespage",
    "endnotes": "endnotes",
    "footnotes": "endnotes",
    "newsletter": "advertisement",
}
_MAX_WORDS_FOR_FILE_NAME = 1500
"""Number of words above which a file's name alone proves nothing."""

_CHAPTER = re.compile(
    rf"(prologue|epilogue|interlude)\b|\d{{1,3}}(?!\S*\d)|(?-i:{ROMAN.upper()})\s*([.:)—–-]|$)",
    re.IGNORECASE,
)
_SIGNS_OF_RIGHTS = {
    "owner": r"©|\bcopyright\b|urheberrecht|droits? d[’']auteur|derechos de autor|"
    r"direitos autorais|"
    r"diritti d[’']autore|авторск\w+ прав|זכויות יוצרים|حقوق (?:النشر|الطبع|المؤلف)|"
    r"حق(?:وق)? (?:چاپ|نشر|مؤلف)|کاپی رائٹ|著作[权權権]|저작권",
    "all": r"all rights reserved|alle rechte vorbehalten|tous droits réservés|"
    r"todos (?:los derechos|os direitos) reservados|tutti i diritti riservati|"
    r"alle rechten voorbehouden|"
    r"wszelkie prawa zastrzeżone|все права защищены|všechna práva vyhrazena|כל הזכויות שמורות|"
    r"جميع الحقوق محفوظة|حقوق\b.{0,40}محفوظ|版[权權]所有|[侵翻][权權印]必究|無断(?:転載|複製|複写)|"
    r"무단 ?(?:전재|복제)",
    "isbn": r"\bisbn(?![a-z])|מסת[\"״”]?ב|ردمك|شابک",
    "print": r"first published|printed in|published by|(?:erst|original)ausgabe|gedruckt in|"
    r"printed and bound|imprimé (?:en|par)|dépôt légal|impreso en|depósito legal|"
    r"impresso (?:em|no)|"
    r"stampato (?:in|da)|prima edizione|primera edición|primeira edição|première édition|"
    r"отпечатано|подписано в печать|נדפס ב|הודפס ב|الطبعة (?:الأولى|الثانية|الثالثة)|نوبت چاپ|"
    r"چاپ (?:اول|دوم|سوم|نخست)|مشخصات نشر|出版发行|出版發行|印[张張次]|定[价價][:：]|"
    r"初版(?:発行|第)|"
    r"第\S{1,4}刷|発行[所者]|印刷[所者]|초판 ?\S{0,4} ?(?:발행|인쇄)|펴낸[이곳]|발행[인처]",
    "library": r"library of congress|british library|deutschen? nationalbibliothek|"
    r"bibliothèque nationale|图书在版编目|圖書館出版品|国会図書館|국립중앙도서관|سرشناسه|"
    r"فهرست‌?نویسی|رده‌?بندی|كتالوج|\bcip\b",
    "leave": r"publisher[’']s permission|public domain|work of fiction|"
    r"no part of this (?:book|publication)|אין לשכפל|אין להעתיק|لا يجوز نسخ|يمنع نسخ",
}
"""Patterns of a copyright page, by meaning; two meanings make one."""
_RIGHTS = re.compile(
    "|".join(f"(?P<{kind}>{words})" for kind, words in _SIGNS_OF_RIGHTS.items()), re.IGNORECASE
)
_MAX_RIGHTS_PAGE_WORDS = 600
_MAX_TITLE_PAGE_WORDS = 80
_MAX_CHARACTERS_PER_WORD = 8
"""Largest average length of words; limits texts that use no spaces."""
_MAX_WORDS_BY_KIND = {
    "cover": 80,
    "titlepage": _MAX_TITLE_PAGE_WORDS,
    "halftitlepage": _MAX_TITLE_PAGE_WORDS,
    "dedication": 400,
    "copyright-page": 2500,
    "imprint": 2500,
}
"""A longer piece is read whatever its title says, since it may be a chapter."""


@dataclass(frozen=True, slots=True)
class BookContext:
    """Facts about the whole book that help to judge a piece of it."""

    title: str
    others: tuple[str, ...] = ()
    """Subtitle, authors, publisher: further words of a title page."""


def kind_of_type(types: str) -> str | None:
    """Returns the kind that an `epub:type`, `role` or guide type names, if this module knows it."""
    for word in types.lower().split():
        word = word.rpartition(":")[2].removeprefix("doc-").removeprefix("other.")
        word = _SYNONYMS.get(word, word)
        if word in _OMISSION_REASONS or word in _KEPT_KINDS:
            return word
    return None


def kind_of_title(title: str) -> str | None:
    """Returns the kind of front or back matter that a title names."""
    title = " ".join(title.split()).strip(".:—–-* ")
    return next(
        (kind for kind, pattern in _TITLE_PATTERNS.items() if pattern.fullmatch(title)), None
    )


def kind_of_file(name: str, words: int) -> str | None:
    """Returns the kind that a document's name suggests, for a document without other evidence."""
    if words > _MAX_WORDS_FOR_FILE_NAME:
        return None
    stem = name.rpartition("/")[2].rpartition(".")[0].lower()
    parts = [part for part in re.split(r"[^a-z]+", stem) if part]
    parts += ["".join(parts)]
    return next((_KIND_BY_FILE_WORD[part] for part in parts if part in _KIND_BY_FILE_WORD), None)


def kind_of_words(text: str, facts: BookContext) -> str | None:
    """Returns the kind that the words reveal: a copyright page or a title page."""
    if has_at_most(text, _MAX_RIGHTS_PAGE_WORDS) and len(signs_of_rights(text)) >= 2:
        return "copyright-page"
    title_words, other_facts = _word_set(facts.title), _word_set(" ".join(facts.others))
    text_words = _word_set(text)
    if text.strip() and may_be_title_page(text) and title_words and title_words <= text_words:
        unexpected_words = text_words - title_words - other_facts - _TITLE_PAGE_WORDS
        unknown_words = [
            word for word in unexpected_words if not word[0].isdigit()
        ]  # numbers are dates
        if len(unknown_words) * 4 <= len(text_words):
            return "titlepage"
    return None


def signs_of_rights(text: str) -> set[str]:
    """Returns the meanings of a copyright page's words that occur in a text."""
    return {sign.lastgroup or "" for sign in _RIGHTS.finditer(text)}


def has_at_most(text: str, words: int) -> bool:
    """Returns whether a text has no more words; its characters count if no spaces separate
    words."""
    return count_words(text) <= words and len(text) <= words * _MAX_CHARACTERS_PER_WORD


def may_be_title_page(text: str) -> bool:
    """Returns whether a text is as short as a title page is."""
    return has_at_most(text, _MAX_TITLE_PAGE_WORDS)


def has_plausible_length(kind: str | None, text: str) -> bool:
    """Returns whether a piece of this kind may be as long as the text."""
    return kind not in _MAX_WORDS_BY_KIND or has_at_most(text, _MAX_WORDS_BY_KIND[kind])


_TITLE_PAGE_WORDS = word_set("by a an the novel story stories tale tales of and in with")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", strip_invisible(text).casefold()))


def omission_reason(kind: str | None) -> str | None:
    """Returns why a piece of this kind is left out; None if it is kept."""
    return _OMISSION_REASONS.get(kind or "")


def is_part(title: str) -> bool:
    """Returns whether a title names a part that holds chapters: `Book One`, `Part II: The Sea`."""
    numbering = parse_numbering(title)
    return numbering is not None and numbering.is_part


def is_chapter(title: str) -> bool:
    """Returns whether a title names a chapter: `Chapter 4`, `XII. The Storm`, `Epilogue`."""
    numbering = parse_numbering(title)
    return bool(_CHAPTER.match(title.strip())) if numbering is None else not numbering.is_part


def part_title(text: str) -> str | None:
    """Returns the title of a text that only names a part ("" without a title), or None for any
    other text.

    `Part Two: The Sea` has "The Sea", `Part of it was true.` has None.
    """
    numbering = parse_numbering(text)
    if numbering is None or not numbering.is_part or (numbering.title and not numbering.mark):
        return None
    return numbering.title


def part_word(title: str) -> str:
    """Returns the word that a part's title counts by, `part` or `book`; "" for any other title."""
    numbering = parse_numbering(title)
    return numbering.word if numbering and numbering.is_part else ""


def is_title_page_line(text: str, facts: BookContext) -> bool:
    """Returns whether a text says only what a title page does: the book's title, its authors."""
    title_page_words = _word_set(" ".join((facts.title, *facts.others))) | _TITLE_PAGE_WORDS
    return _word_set(text) <= title_page_words


_KIND_OF_BOOK = re.compile(
    r"(?:an?|eine?|une?|una|um|uma)\s.*|"
    r"(?:\w+\s){0,3}(?:novel|novella|roman|novela|romanzo|romance|"
    r"memoir|thriller|stories|роман|повесть)",
    re.IGNORECASE,
)


def says_kind_of_book(text: str) -> bool:
    """Returns whether a line of a title page names the book's genre, such as `A Novel`, which may
    look like a name."""
    return _KIND_OF_BOOK.fullmatch(text.strip()) is not None
