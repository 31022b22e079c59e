from __future__ import annotations

import pytest

from narrator.text.markup import plain_text


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("By **P. G. Wodehouse**.", "By P. G. Wodehouse."),
        ("*Who's Who*, and _more_", "Who's Who, and more"),
        ("> To ⸻\n> a friend", "To ⸻ a friend"),
        ("One\\* star.\n\nTwo [^1] notes.", "One* star. Two notes."),
        ("- a\n- `b`", "a b"),
        ("2 * 3 and snake_case", "2 * 3 and snake_case"),
    ],
)
def test_marks_are_left_out(markdown: str, words: str) -> None:
    assert plain_text(markdown) == words
