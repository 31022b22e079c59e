"""Lets a language model propose casting: a description of each character's voice, and styles for
lines whose narration tells how they are spoken.

A person accepts or rejects the proposals; nothing is written here. A description is one plain line;
a style is chosen from a list, like a speaker.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from narrator.text.sentences import sentences
from narrator.text.speakers import AttributedQuotation, Attribution
from narrator.text.speakers.answers import Answers, Reader, Writer
from textbase.characters import strip_invisible

MAX_DESCRIPTION = 200
"""Characters of a description."""
_MAX_DESCRIPTION_TOKENS = 80
"""Tokens of a description."""
MIN_QUOTATIONS = 10
"""Minimum number of quotations of a character that is described."""
_MAX_NARRATION, _MAX_SPEECH = 4000, 1200
"""Maximum characters of narration about a character, and of the character's own speech."""
_STYLES = (
    "whispering", "softly", "shouting", "crying", "laughing", "angrily", "afraid", "sadly",
    "gently", "coldly", "excited", "out of breath", "tired", "mocking",
)  # fmt: skip
_NO_STYLE = "none of these"
_MIN_STYLE_PROBABILITY = 0.6
"""Minimum probability of a proposed style."""

_MANNER = re.compile(
    r"\b(?:whisper|murmur|mutter|shout|cried|cry|scream|shriek|sob|we(?:pt|ep)|laugh|chuckl|giggl|"
    r"sigh|groan|moan|gasp|pant|hiss|growl|snarl|sneer|snap|roar|bellow|yell|stammer|falter|"
    r"trembl|drawl|lisp|voice|tone|accent|hoarse|husky|shrill|breathless|softly|loudly|quietly|"
    r"coldly|angrily|sadly|gently|bitterly|gravely|eagerly|timidly|sternly|gruffly|sharply)\w*",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"\b(?:old|young|elderly|aged?|years|boy|girl|man|woman|lady|gentleman|child|tall|small|stout|"
    r"thin|big|little|pale|beautiful|handsome|proud|shy|merry|grave|kind|manner|temper)\b",
    re.IGNORECASE,
)
_DESCRIBE = """\
Below is what a book tells of {name}{also}, and some of what {name} says. Describe the voice of \
{name} for casting a reader, in one line of at most 25 words: age, pitch, pace, manner, accent. \
Nothing but the description, without the name.

The book:
{about}

{name} says:
{own}
"""
_STYLE = """\
How is the quotation in a paragraph of a book said? Answer with the code of one manner in the list.

Manners:
{manners}

"""


@dataclass(frozen=True, slots=True)
class Description:
    """A proposed description of a character's voice."""

    name: str
    line: str
    """For `voice: {description: …}`: one line of at most MAX_DESCRIPTION characters."""


@dataclass(frozen=True, slots=True)
class Style:
    """A proposed style of a quotation."""

    quotation: AttributedQuotation
    style: str
    certainty: float
    """0 to 1."""


ProgressCallback = Callable[[int, int], None]
"""Receives the number of finished steps and the total."""


def propose_descriptions(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Writer,
    answers: Answers,
    *,
    language: str,
    on_progress: ProgressCallback = lambda done, total: None,
) -> list[Description]:
    """Describes the voice of every character with MIN_QUOTATIONS quotations, the most frequent
    first.

    Characters without a usable line are left out. Raises what `reader` and `answers` raise.
    """
    rows_by_speaker: dict[str, list[AttributedQuotation]] = {}
    for attributed in attribution.quotations:
        if attributed.speaker is not None:
            rows_by_speaker.setdefault(attributed.speaker, []).append(attributed)
    names = {member.name: (member.name, *member.aliases) for member in attribution.cast}
    chosen_names = [name for name in names if len(rows_by_speaker.get(name, ())) >= MIN_QUOTATIONS]
    chosen_names.sort(key=lambda name: -len(rows_by_speaker[name]))
    narration = _narration_sentences(chapters, attribution, language)
    descriptions_so_far = []
    for done_count, name in enumerate(chosen_names, 1):
        about = _join_fitting(
            _sentences_about(names[name], narration, {id(row) for row in rows_by_speaker[name]}),
            _MAX_NARRATION,
        )
        speech = _join_fitting(
            _sample_evenly(
                [_quoted_words(chapters, attributed) for attributed in rows_by_speaker[name]], 12
            ),
            _MAX_SPEECH,
        )
        others = ", ".join(names[name][1:5])
        prompt = _DESCRIBE.format(
            name=name, also=f" ({others})" if others else "", about=about, own=speech
        )
        if line := clean_description(answers.line(reader, prompt, _MAX_DESCRIPTION_TOKENS), name):
            descriptions_so_far.append(Description(name, line))
        on_progress(done_count, len(chosen_names))
    return descriptions_so_far


def clean_description(reply: str, name: str = "") -> str:
    """Reduces a model's reply to one line without markup, cut at the end of a sentence or a word.

    Returns "" if nothing usable is left.
    """
    rows = [row for row in strip_invisible(reply).strip().splitlines() if row.strip()]
    line = re.sub(r"<[^>]*>|[*_`#<>{}\[\]|\\]", "", rows[0] if rows else "")
    label = rf"(?:{re.escape(name)}(?:['’]s voice)?|voice|description|answer)\s*:"
    line = re.sub(rf"^\s*(?:[-•]\s*)?{label}", "", line, flags=re.IGNORECASE)
    line = " ".join(line.split()).strip("\"“”'‘’ -–—:")
    if len(line) > MAX_DESCRIPTION:
        clipped = line[: MAX_DESCRIPTION + 1]
        end = max(clipped.rfind(mark) for mark in (". ", "; "))
        line = clipped[:end] if end > MAX_DESCRIPTION // 3 else clipped.rpartition(" ")[0]
    line = line.rstrip(" ,;:-–—.")
    return line if sum(character.isalpha() for character in line) > len(line) / 2 else ""


def propose_styles(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    answers: Answers,
    *,
    on_progress: ProgressCallback = lambda done, total: None,
) -> list[Style]:
    """Proposes styles for lines whose own paragraph tells how they are spoken, in the order of the
    book.

    Raises what `reader` and `answers` raise.
    """
    styled_rows = [
        row for row in attribution.quotations if row.speaker and _has_stated_manner(chapters, row)
    ]
    all_styles = (*_STYLES, _NO_STYLE)
    codes = string.ascii_uppercase[: len(all_styles)]
    coded_styles = zip(codes, all_styles, strict=True)
    shared = _STYLE.format(manners="\n".join(f"{code} = {style}" for code, style in coded_styles))
    proposals: list[Style] = []
    for start in range(0, len(styled_rows), _BATCH_SIZE):
        batch = styled_rows[start : start + _BATCH_SIZE]
        questions = [_style_question(chapters, row) for row in batch]
        probabilities_by_question = answers.option_probabilities(reader, shared, questions, codes)
        for row, probabilities in zip(batch, probabilities_by_question, strict=True):
            # an unanswered question has none, and no style
            certainty = max(probabilities, default=0.0)
            style = all_styles[probabilities.index(certainty)] if probabilities else _NO_STYLE
            if style != _NO_STYLE and certainty >= _MIN_STYLE_PROBABILITY:
                proposals.append(Style(row, style, certainty))
        on_progress(start + len(batch), len(styled_rows))
    return proposals


_BATCH_SIZE = 32
"""Lines per request."""


# -- what is read ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Narration:
    """A sentence of narration."""

    text: str
    row_ids: frozenset[int]
    """Identities of the `AttributedQuotation` rows of its paragraph."""
    weight: int
    """Estimate of how much it tells of a voice."""


def _narration_sentences(
    chapters: Sequence[Sequence[str]], attribution: Attribution, language: str
) -> list[_Narration]:
    """Returns the sentences of the narration, without quotations."""
    pieces: dict[tuple[int, int], list[AttributedQuotation]] = {}
    for row in attribution.quotations:
        pieces.setdefault((row.chapter, row.quotation.paragraph), []).append(row)
    sentences_told = []
    for chapter_index, paragraphs in enumerate(chapters):
        for paragraph_index, text in enumerate(paragraphs):
            rows = pieces.get((chapter_index, paragraph_index), [])
            row_ids = frozenset(map(id, rows))
            narration = _without_quotations(text, rows)
            for start, stop in sentences(narration, language):
                sentence = " ".join(narration[start:stop].split())
                weight = 2 * len(_MANNER.findall(sentence)) + len(_LOOKS.findall(sentence))
                if len(sentence) > 8:
                    sentences_told.append(_Narration(sentence, row_ids, weight))
    return sentences_told


def _without_quotations(text: str, rows: Sequence[AttributedQuotation]) -> str:
    """Returns a paragraph without its quotations."""
    parts, offset = [], 0
    for row in rows:
        parts.append(text[offset : row.quotation.start])
        offset = row.quotation.stop
    return "… ".join((*parts, text[offset:]))


def _sentences_about(
    names: Sequence[str], narration: Sequence[_Narration], own_ids: set[int]
) -> list[str]:
    """Returns the sentences on a character that tell most of the voice, in the text's order."""
    name_pattern = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(name) for name in names)})(?!\w)")
    weighted_places = []
    for index, sentence in enumerate(narration):
        weight = sentence.weight * (2 if sentence.row_ids and sentence.row_ids <= own_ids else 1)
        if (weight and sentence.row_ids & own_ids) or name_pattern.search(sentence.text):
            weighted_places.append((weight, index))
    heaviest = sorted(weighted_places, key=lambda pair: (-pair[0], pair[1]))[:60]
    return [narration[index].text for index in sorted(index for _, index in heaviest)]


def _join_fitting(texts: Sequence[str], max_characters: int) -> str:
    """Joins as many texts as fit into `max_characters`, a line each."""
    lengths = accumulate(len(text) + 1 for text in texts)
    fitting = takewhile(lambda pair: pair[1] <= max_characters, zip(texts, lengths, strict=True))
    return "\n".join(text for text, _ in fitting) or "(nothing)"


def _sample_evenly(texts: Sequence[str], count: int) -> list[str]:
    """Returns `count` of the texts, spread from beginning to end."""
    step = max(1.0, len(texts) / count)
    return [texts[int(index * step)] for index in range(min(count, len(texts)))]


def _quoted_words(chapters: Sequence[Sequence[str]], row: AttributedQuotation) -> str:
    quotation = row.quotation
    text = chapters[row.chapter][quotation.paragraph][quotation.start : quotation.stop]
    return " ".join(text.split())[:300]


def _has_stated_manner(chapters: Sequence[Sequence[str]], row: AttributedQuotation) -> bool:
    """Returns whether the narration around a row, in its own paragraph, tells how it is spoken."""
    text = chapters[row.chapter][row.quotation.paragraph]
    text_before = text[max(0, row.quotation.start - 80) : row.quotation.start]
    text_after = text[row.quotation.stop : row.quotation.stop + 120]
    return bool(_MANNER.search(text_before) or _MANNER.search(text_after))


def _style_question(chapters: Sequence[Sequence[str]], row: AttributedQuotation) -> str:
    """Returns the question on a row: its context and its words."""
    text = chapters[row.chapter][row.quotation.paragraph]
    start, stop = row.quotation.start, row.quotation.stop
    context = " ".join(text[max(0, start - 200) : min(len(text), stop + 200)].split())
    words = _quoted_words(chapters, row)
    return f"Paragraph: {context[:1200]}\nQuotation: {words}\nAnswer with one code."
