"""Front and back matter by titles and words, in the languages that books are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts.matter import BookContext, kind_of_title, kind_of_words
from narrator.importing import import_book

TITLES = {
    "toc": "תוכן העניינים|فهرست مطالب|المحتويات|الفهرس|فہرست مضامین|目录|目 次|目錄|"
    "목차|차례|Spis treści|"
    "Innehåll|Obsah|Sumário|İçindekiler|Περιεχόμενα",
    "copyright-page": "זכויות יוצרים|حقوق النشر|حق چاپ|版权页|版權所有|奥付|판권|Derechos de autor",
    "dedication": "הקדשה|إهداء|تقدیم|انتساب|献辞|獻詞|헌사|Посвящение",
    "acknowledgments": "תודות|شكر وتقدير|سپاسگزاری|致谢|致謝|謝辞|감사의 글|Podziękowania",
    "titlepage": "עמוד השער|صفحه عنوان|扉页|書名頁|속표지|Titelseite",
    "index": "מפתח השמות|نمایه|索引|찾아보기|Índice alfabético",
    "endnotes": "הערות שוליים|پی‌نوشت‌ها|注释|註釋|미주|Przypisy",
}
RIGHTS = {
    "he": 'כל הזכויות שמורות להוצאת כתר, ירושלים. אין לשכפל. מסת"ב 978-965-07-0000-1. נדפס בישראל',
    "ar": "جميع الحقوق محفوظة للناشر. الطبعة الأولى 2012. ردمك 978-9953-00-000-1",
    "fa": "سرشناسه: الوندی، مریم. مشخصات نشر: تهران، ۱۳۹۸. شابک: ۹۷۸-۹۶۴-۰۰۰",
    "ur": "جملہ حقوق محفوظ ہیں۔ ISBN 978-969-000-000-1",
    "zh": "图书在版编目（CIP）数据 海路/林海著. ISBN978-7-02-000000-1 "
    "版权所有 侵权必究 定价：28.00元",
    "zh-Hant": "版權所有 翻印必究 ISBN 978-957-00-0000-1",
    "ja": "二〇一二年四月一日 初版発行 発行所 海文社 ISBN978-4-00-000000-1 無断転載を禁じます。",
    "ko": "초판 1쇄 발행 2012년 4월 1일 펴낸곳 바다출판사 무단 전재와 복제를 금합니다. ISBN 978-89",
    "de": "Alle Rechte vorbehalten. Gedruckt in Deutschland.",
    "pl": "Wszelkie prawa zastrzeżone. ISBN 978-83-000",
}
SENTENCES = {
    "he": "הלילה ירד על הנמל והספינות עמדו דוממות במים.",
    "fa": "شب بر بندر فرود آمد و کشتی‌ها خاموش ایستادند.",
    "zh": "夜幕降临港口，船只静静地停在黑色的水面上。",
    "ja": "夜が港に降り、船は黒い水の上に静かに立っていた。",
}


@pytest.mark.parametrize("kind", TITLES)
def test_titles_of_matter_are_known_in_many_languages(kind: str) -> None:
    titles = TITLES[kind].split("|")
    assert [title for title in titles if kind_of_title(title) != kind] == []


@pytest.mark.parametrize("title", ["Note", "המפתח", "שער", "扉", "Opdracht", "Inhaltsleere", "目"])
def test_words_that_may_name_a_chapter_are_no_matter(title: str) -> None:
    assert kind_of_title(title) is None


@pytest.mark.parametrize("language", RIGHTS)
def test_a_page_of_rights_is_known_by_its_words(language: str) -> None:
    assert kind_of_words(RIGHTS[language], BookContext("")) == "copyright-page"


@pytest.mark.parametrize("language", SENTENCES)
def test_prose_above_the_first_heading_is_read_in_every_script(
    tmp_path: Path, language: str
) -> None:
    sentence = SENTENCES[language]
    path = tmp_path / "book.txt"
    path.write_text(
        f"{sentence}\n\n{sentence}\n\nChapter 1\n\n{sentence}\n\nChapter 2\n\n{sentence}"
    )
    book = import_book(path)
    assert sum(chapter.markdown.count(sentence) for chapter in book.chapters) == 4


def test_more_lines_than_a_title_page_has_are_read(tmp_path: Path) -> None:
    verse = [f"and still the river number {n} went down," for n in range(1, 16)]
    path = tmp_path / "book.txt"
    front = "\n\n".join(["The River", "by Ada Stone", *verse])
    path.write_text(f"{front}\n\nChapter 1\n\nIt was late.\n\nChapter 2\n\nIt was early.\n")
    book = import_book(path)
    assert book.title == "The River"
    assert all(line in book.chapters[0].markdown for line in verse)


def test_a_chapter_that_is_called_as_a_cover_is_read(tmp_path: Path) -> None:
    path = tmp_path / "book.html"
    text = "<p>He drew the blanket up, and she let him.</p>" * 20
    path.write_text(f"<h1>One</h1>{text}<h1>Couverture</h1>{text}<h1>Three</h1>{text}")
    assert len(import_book(path).chapters) == 3
