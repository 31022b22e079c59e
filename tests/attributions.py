"""Attributions as a test wants them, in place of those of the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from narrator.text.quotations import quotations
from narrator.text.speakers import AttributedQuotation, Attribution, Character

Decision = tuple[str | None, float, str]
"""Speaker, certainty, and name of the rule."""


def attribute_by_words(
    decisions: Mapping[str, Decision],
    new_characters: tuple[Character, ...] = (),
    *,
    alternatives: Mapping[str, Sequence[tuple[str, float]]] | None = None,
    continuing_words: str | None = None,
) -> Callable[..., Attribution]:
    """Returns a function in place of `attribute`, which decides by a part of a quotation's words.

    `new_characters` are found if the cast is empty or more are asked for. `alternatives` are by
    rule. A quotation with the `continuing_words` continues the one before.
    """

    def attribute(chapters, cast=(), *, language, find=False, **_):
        rows = []
        for chapter, paragraphs in enumerate(chapters):
            for quotation in quotations(paragraphs, language):
                words = paragraphs[quotation.paragraph][quotation.start : quotation.stop]
                decision = next((decisions[part] for part in decisions if part in words), None)
                if decision is None:
                    continue
                rows.append(
                    AttributedQuotation(
                        chapter,
                        quotation,
                        *decision,
                        continues_previous=continuing_words is not None
                        and continuing_words in words,
                        alternatives=tuple((alternatives or {}).get(decision[2], ())),
                    )
                )
        added_characters = new_characters if find or not cast else ()
        return Attribution((*cast, *added_characters), tuple(rows))

    return attribute
