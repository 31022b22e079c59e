"""Tags of languages: what people write in their place names the tag that was meant."""

from __future__ import annotations

import pytest

from narrator.errors import ManifestError
from narrator.project.load import load
from textbase.languages import mend_tag, validate_tag

MEANT = {
    "en_GB": "en-GB", "english": "en", "English": "en", "English (UK)": "en-GB", "deutsch": "de",
    "German": "de", "Français": "fr", "中文": "zh", "engish": "en", "“en”": "en", "pt_br": "pt-BR",
    "jp": "ja", "cn": "zh", "us": "en-US", "zh_hans_cn": "zh-Hans-CN",
}  # fmt: skip


@pytest.mark.parametrize("written", MEANT)
def test_what_was_meant_is_asked(written):
    with pytest.raises(ValueError, match=f"did you mean '{MEANT[written]}'"):
        validate_tag(written)


@pytest.mark.parametrize("tag", ["en", "en-gb", "zh-Hans-CN", "grc", "cmn", "uk", "fil", "en-x-rp"])
def test_a_tag_is_as_it_was_written(tag):
    assert validate_tag(tag) == tag


def test_a_code_of_three_letters_is_the_one_of_two(tmp_path):
    assert validate_tag("eng") == "en"
    assert validate_tag("ger-AT") == "de-AT"


def test_a_book_that_was_published_with_another_is_imported_with_the_one_meant():
    assert [mend_tag(tag) for tag in ("eng", "jp", "en-GB", "qqz")] == ["en", "ja", "en-GB", "qqz"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("language: en_GB", "language"),
        ("speakers: {narrator: {language: en_GB}}", "speakers.narrator.language"),
    ],
)
def test_a_manifest_says_it_wherever_a_language_stands(line, place, tmp_path):
    (tmp_path / "one.md").write_text("Once.")
    (tmp_path / "book.yaml").write_text(
        f"title: A\nauthor: B\nchapters: [{{title: One, file: one.md}}]\n{line}\n"
    )
    with pytest.raises(ManifestError) as caught:
        load(tmp_path)
    (problem,) = caught.value.problems
    said = "'en_GB' is not a language tag; did you mean 'en-GB'?"
    assert (problem.line, problem.message) == (4, f"{place}: {said}")
