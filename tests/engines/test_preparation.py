"""What every model is asked alike."""

from __future__ import annotations

import pytest

from narrator.engines.preparation import end_with_stop


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("It rained.", "It rained."),
        ("Did it?", "Did it?"),
        ("It did!", "It did!"),
        ("It rained", "It rained."),
        ("It rained,", "It rained."),
        ("It rained — ", "It rained."),
        ("And then:", "And then."),
        ("And then...", "And then."),
        ("And then…", "And then."),
        ("And then …", "And then."),
        ("What?...", "What?"),
        ('"And then…"', '"And then."'),
        ('"Yes,"', '"Yes."'),
        ('He said "yes"', 'He said "yes".'),
        ('"It rained."', '"It rained."'),
        ("(see above)", "(see above)."),
        ("1,000", "1,000."),
        ("…", "…"),
        ('"', '"'),
    ],
)
def test_a_text_ends_on_one_stop(text, ended):
    assert end_with_stop(text, "en-GB") == ended
    assert end_with_stop(ended, "en-GB") == ended


@pytest.mark.parametrize(
    ("text", "language", "ended"),
    [
        ("下雨了", "zh-CN", "下雨了。"),
        ("下雨了。", "zh", "下雨了。"),
        ("下雨了……", "zh", "下雨了。"),
        ("「雨だ」", "ja", "「雨だ」。"),
        ("यह है।", "hi", "यह है।"),
        ("هل هذا؟", "ar", "هل هذا؟"),
        ("Τι είναι;", "el", "Τι είναι;"),
        ("And then;", "en", "And then."),
    ],
)
def test_languages_have_their_own_stops(text, language, ended):
    assert end_with_stop(text, language) == ended
