"""Asks a language model to choose the speaker of quotations of which the rules are not certain.

It reads windows of running text, in which quotations are numbered and those already decided show
their speakers' names, and a list of people, each with a code. It answers a question with the
probability of each code, or not at all, so it can say nothing else, and no text comes from it.
Decisions that were not made by rules are never asked. No window shows the answers of another: the
order of asking changes nothing, and an edit repeats only its own window.

Knows no particular model, only a `Reader`.
"""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from narrator.text.speakers import (
    SURE_CERTAINTY,
    AttributedQuotation,
    Attribution,
    Character,
)
from narrator.text.speakers.answers import Answers, Reader

MODEL = "model:"
"""Prefix of `AttributedQuotation.by` for decisions of a model; the model's name follows. Without a
speaker the model has decided that the quotation is nobody's speech."""
_HUMAN_ORIGINS = "you", "print"
"""Other deciders, whose decisions no model is asked about."""
_MAX_PEOPLE = len(string.ascii_uppercase) - 2
"""Maximum length of the list of people: a letter for each, which is one token of any model, and two
to spare."""
_MIN_PEOPLE = 10
"""Minimum length of the list if the chapter has as many: those who speak most in it."""
_ALWAYS_LISTED = 3
"""Number of the chapter's most frequent speakers that are in every list, besides people of the
window."""
_SOMEBODY_ELSE = "somebody else"
_NO_SPEAKER = "nobody: no speech, but a title, writing or a word quoted"
_MAX_PARAGRAPH_LENGTH = 6000
"""Characters of a paragraph that are never split."""
_EXCERPT_LENGTH = 60
"""Characters of a quotation that its question repeats."""
_MIN_PROBABILITY = 0.002
"""Minimum probability that counts: a model's certainty proves nothing."""
_MAX_LONE_CERTAINTY = 0.85
"""Maximum certainty of a model that contradicts the rules: nobody has compared how certain models
are with how often they are right, so a person should look."""
_MAX_OTHERS = 3
"""Other candidates that a decision keeps."""
_RESERVED_TOKENS = 1000
"""Tokens of a prompt besides its running text: instruction, people, question."""
_QUESTION_TOKENS = 45
"""Tokens of a question with the template's end, for the estimate of remaining time."""

_INSTRUCTION = """\
Below is a passage of a book. A number in square brackets stands before each quotation; quotations \
with the same number are said by one speaker in one go. Where it is known who speaks, the name \
stands beside the number. Say who speaks the quotation that is asked for, by the code of a person \
in the list.

"""


NO_DESCRIPTIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of questions, and the weight of answers."""

    weak_certainty: float = SURE_CERTAINTY
    """Certainty below which a quotation is asked about."""
    window_tokens: int = 4000
    """Tokens of running text."""
    tokens_before: int = 800
    """Tokens of it before the first quotation asked about."""
    tokens_after: int = 400
    """Tokens of it after the last quotation asked about."""
    model_weight: float = 0.6
    """Weight of the model's probabilities against the rules', 0 to 1."""


DEFAULT_LIMITS = Limits()
EXCHANGE_LIMITS = Limits(window_tokens=1500, tokens_before=250, tokens_after=100)
"""Limits for a model that answers all questions of a window at once: a window is an exchange, or a
part of a long one, and fits with its questions into small contexts."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a chapter's text with the questions about it."""

    shared: str
    """The part of the prompt that all its questions share."""
    questions: tuple[str, ...]
    rows_by_question: tuple[tuple[int, ...], ...]
    """Indices in `Attribution.quotations` of the pieces of each question."""
    names: tuple[str, ...]
    """People to choose from; the two further options are somebody else and nobody."""
    tokens: int
    """Number of tokens of its running text."""

    @property
    def options(self) -> str:
        """One code for each option."""
        return string.ascii_uppercase[: len(self.names) + 2]


@dataclass(frozen=True, slots=True)
class _Utterance:
    """Pieces that one speaker says in one go."""

    rows: tuple[int, ...]
    """Indices in `Attribution.quotations`."""
    is_weak: bool


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, or a part of a very long one."""

    paragraph: int
    start: int
    stop: int
    tokens: int


def ask(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    *,
    limits: Limits = DEFAULT_LIMITS,
    descriptions: Mapping[str, str] = NO_DESCRIPTIONS,
    answers: Answers | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Attribution:
    """Returns the attribution with a model's decisions on weak rows; all others stay as they are.

    The model's probabilities and the rules' are pooled: p ∝ model^w · rules^(1 - w), where w is
    `limits.model_weight`; people of whom the rules say nothing share evenly what they leave. Where
    the two disagree, the certainty is at most 0.85. Where a model means somebody who is not in its
    list, the rules' decision stays, less certain; where it has no valid answer, the row stays as it
    is.

    `descriptions` of characters, by name, are in the list of people. `answers` are looked up first,
    and saved after each window, so an interrupted run resumes. `on_progress` receives the tokens
    read and the total. Raises what `reader` and `answers` raise.
    """
    answers = Answers() if answers is None else answers
    windows = build_windows(chapters, attribution, reader, limits, descriptions)
    costs = [_token_cost(window, reader, answers) for window in windows]
    tokens_read, total = 0, sum(costs)
    rows_so_far = list(attribution.quotations)
    for window, token_cost in zip(windows, costs, strict=True):
        probabilities_by_question = answers.option_probabilities(
            reader, window.shared, window.questions, window.options
        )
        for row_indices, probabilities in zip(
            window.rows_by_question, probabilities_by_question, strict=True
        ):
            for row_index in row_indices:
                rows_so_far[row_index] = _apply_answer(
                    rows_so_far[row_index],
                    window.names,
                    probabilities,
                    model_name=reader.name,
                    model_weight=limits.model_weight,
                )
        if token_cost:
            tokens_read += token_cost
            on_progress(tokens_read, total)
    return replace(attribution, quotations=tuple(rows_so_far))


def pending_requests(
    windows: Iterable[Window], reader: Reader, answers: Answers
) -> list[tuple[str, list[str]]]:
    """Returns the shared text and the questions of each window that are still to be asked."""
    return [
        (window.shared, [window.questions[index] for index in missing])
        for window in windows
        if (missing := answers.missing(reader, window.shared, window.questions, window.options))
    ]


def _token_cost(window: Window, reader: Reader, answers: Answers) -> int:
    """Returns the number of tokens still to be read for a window."""
    missing = answers.missing(reader, window.shared, window.questions, window.options)
    return window.tokens + _QUESTION_TOKENS * len(missing) if missing else 0


# -- windows ---------------------------------------------------------------------------------------


def build_windows(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    limits: Limits = DEFAULT_LIMITS,
    descriptions: Mapping[str, str] = NO_DESCRIPTIONS,
) -> list[Window]:
    """Returns the windows to ask about, in the order of the book: every weak utterance once."""
    names = _names_by_first_word(attribution.cast)
    chapter_rows: list[list[int]] = [[] for _ in chapters]
    for row_index, row in enumerate(attribution.quotations):
        chapter_rows[row.chapter].append(row_index)
    windows: list[Window] = []
    for paragraphs, rows in zip(chapters, chapter_rows, strict=True):
        utterances = _group_utterances(attribution.quotations, rows, limits.weak_certainty)
        if attribution.cast and any(utterance.is_weak for utterance in utterances):
            chapter = _WindowBuilder(
                paragraphs, attribution, utterances, names, reader, descriptions
            )
            windows += chapter.windows(limits)
    return windows


def _group_utterances(
    all_rows: Sequence[AttributedQuotation], row_indices: Sequence[int], weak_certainty: float
) -> list[_Utterance]:
    """Groups the rows, given by their indices, that one speaker says in one go; those with a
    certainty below `weak_certainty` are weak."""
    groups: list[list[int]] = []
    for row_index in row_indices:
        row = all_rows[row_index]
        last_row = all_rows[groups[-1][-1]] if groups else None
        is_same_speaker = last_row is not None and last_row.speaker == row.speaker
        if groups and (
            row.continues_previous or (row.quotation.continues_previous and is_same_speaker)
        ):
            groups[-1].append(row_index)
        else:
            groups.append([row_index])
    return [
        _Utterance(
            tuple(group), _is_weak([all_rows[row_index] for row_index in group], weak_certainty)
        )
        for group in groups
    ]


def _is_weak(pieces: Sequence[AttributedQuotation], weak_certainty: float) -> bool:
    """Returns whether no rule is certain who says an utterance, and no person or print says so."""
    leading_rows = [
        row for index, row in enumerate(pieces) if not (index and row.continues_previous)
    ]
    return all(row.certainty < weak_certainty for row in leading_rows) and not any(
        row.by in _HUMAN_ORIGINS for row in pieces
    )


class _WindowBuilder:
    """Cuts a chapter's text and utterances into windows."""

    def __init__(
        self,
        paragraphs: Sequence[str],
        attribution: Attribution,
        utterances: Sequence[_Utterance],
        names: Mapping[str, Sequence[tuple[str, Sequence[int]]]],
        reader: Reader,
        descriptions: Mapping[str, str],
    ) -> None:
        self.paragraphs, self.names, self.descriptions = paragraphs, names, descriptions
        self.cast, self.quotations, self.utterances = (
            attribution.cast,
            attribution.quotations,
            utterances,
        )
        self.max_window = max(_RESERVED_TOKENS, reader.max_prompt_tokens - _RESERVED_TOKENS)
        rows = [self.quotations[utterance.rows[0]] for utterance in utterances]
        line_counts = Counter(row.speaker for row in rows)
        present_names = {*line_counts, *(name for row in rows for name, _ in row.alternatives)}
        present_names |= {
            self.cast[character_index].name
            for text in paragraphs
            for bearers in self._find_named(text)
            for character_index in bearers
        }
        # by name, so that no prompt depends on the order of the cast
        cast_names = sorted(member.name for member in self.cast)
        listable_names = [name for name in cast_names if name in present_names]
        if len(listable_names) < 2:  # talk between people whom the chapter does not name
            listable_names = cast_names
        self.frequent_names = sorted(listable_names, key=lambda name: -line_counts[name])
        """Those who speak, may speak or are named in the chapter, the most frequent first."""
        self.units = [
            unit
            for index, text in enumerate(paragraphs)
            for unit in _split_paragraph(index, text, reader)
        ]
        starts = [(unit.paragraph, unit.start) for unit in self.units]
        self.marks: list[list[tuple[int, int]]] = [[] for _ in self.units]
        """For each unit, the offsets of its quotations, each with the index of its utterance."""
        self.weak_utterances: list[tuple[int, int]] = []
        """Index of the unit and index of the utterance, for all to be asked about."""
        unit_index = 0
        for utterance_index, utterance in enumerate(utterances):
            for row_index in utterance.rows:
                quotation = self.quotations[row_index].quotation
                position = (quotation.paragraph, quotation.start)
                while unit_index + 1 < len(starts) and starts[unit_index + 1] <= position:
                    unit_index += 1
                self.marks[unit_index].append((quotation.start, utterance_index))
                if utterance.is_weak and row_index == utterance.rows[0]:
                    self.weak_utterances.append((unit_index, utterance_index))

    def windows(self, limits: Limits) -> list[Window]:
        """Returns windows that ask about every weak utterance once."""
        max_tokens = min(limits.window_tokens, self.max_window)
        tokens_before, tokens_after = (
            min(tokens, max_tokens // 4) for tokens in (limits.tokens_before, limits.tokens_after)
        )
        windows: list[Window] = []
        weak_index = 0
        while weak_index < len(self.weak_utterances):
            first_unit = self.weak_utterances[weak_index][0]
            start_unit = first_unit
            token_count = self.units[first_unit].tokens
            budget = tokens_before
            while start_unit > 0 and (budget := budget - self.units[start_unit - 1].tokens) >= 0:
                start_unit -= 1
                token_count += self.units[start_unit].tokens
            asked_utterances: list[int] = []
            last_unit = first_unit
            while weak_index < len(self.weak_utterances):
                unit_index, utterance_index = self.weak_utterances[weak_index]
                gap_tokens = sum(unit.tokens for unit in self.units[last_unit + 1 : unit_index])
                extra_tokens = sum(
                    unit.tokens for unit in self.units[last_unit + 1 : unit_index + 1]
                )
                # a long gap between questions costs more tokens than another window
                if asked_utterances and (
                    gap_tokens > tokens_before + tokens_after
                    or token_count + extra_tokens > max_tokens - tokens_after
                ):
                    break
                token_count, last_unit = token_count + extra_tokens, unit_index
                asked_utterances.append(utterance_index)
                weak_index += 1
            budget = tokens_after
            stop_unit = last_unit + 1
            while (
                stop_unit < len(self.units)
                and (budget := budget - self.units[stop_unit].tokens) >= 0
            ):
                token_count += self.units[stop_unit].tokens
                stop_unit += 1
            windows.append(
                self._build_window(range(start_unit, stop_unit), asked_utterances, token_count)
            )
        return windows

    def _build_window(
        self, unit_range: range, asked_utterances: Sequence[int], tokens: int
    ) -> Window:
        """Builds the prompt of a range of units and its questions."""
        shown_numbers: dict[int, int] = {}
        for unit_index in unit_range:
            for _, utterance in self.marks[unit_index]:
                shown_numbers.setdefault(utterance, len(shown_numbers) + 1)
        text = ""
        for unit_index in unit_range:
            unit = self.units[unit_index]
            text += "\n\n" if text and unit.start == 0 else ""
            text += self._numbered_text(unit_index, shown_numbers)
        people = self._choose_people(text, shown_numbers, set(asked_utterances))
        options = string.ascii_uppercase[: len(people) + 2]
        descriptions = [self._describe(character_index) for character_index in people]
        rows = zip(options, (*descriptions, _SOMEBODY_ELSE, _NO_SPEAKER), strict=True)
        roster = "\n".join(f"{code} = {description}" for code, description in rows)
        shared = f"{_INSTRUCTION}Passage:\n\n{text}\n\nPeople:\n{roster}\n\n"
        return Window(
            shared,
            tuple(
                self._question(utterance_index, shown_numbers[utterance_index])
                for utterance_index in asked_utterances
            ),
            tuple(self.utterances[utterance_index].rows for utterance_index in asked_utterances),
            tuple(self.cast[character_index].name for character_index in people),
            tokens,
        )

    def _numbered_text(self, unit_index: int, shown_numbers: Mapping[int, int]) -> str:
        """Returns a unit's text with a number before each quotation."""
        unit = self.units[unit_index]
        paragraph = self.paragraphs[unit.paragraph]
        parts, offset = [], unit.start
        for start, utterance in self.marks[unit_index]:
            parts += [
                paragraph[offset:start],
                f"[{shown_numbers[utterance]}{self._known_speaker(utterance)}] ",
            ]
            offset = start
        return "".join((*parts, paragraph[offset : unit.stop]))

    def _known_speaker(self, utterance_index: int) -> str:
        """Returns `: ` and the speaker of a decided utterance; "" for one that is weak."""
        utterance = self.utterances[utterance_index]
        if utterance.is_weak:
            return ""
        return f": {self.quotations[utterance.rows[0]].speaker or 'nobody'}"

    def _choose_people(
        self, text: str, shown_numbers: Mapping[int, int], asked_utterances: set[int]
    ) -> list[int]:
        """Returns the candidates of a window, as indices in the cast, by name.

        These are the candidates of the rules, the speakers and the people named there, as many as
        there are codes.
        """
        cast_indexes = {member.name: index for index, member in enumerate(self.cast)}
        weights = defaultdict[str, float](float)
        for utterance in shown_numbers:
            row = self.quotations[self.utterances[utterance].rows[0]]
            utterance_weight = 10.0 if utterance in asked_utterances else 1.0
            for name, probability in ((row.speaker, max(row.certainty, 0.1)), *row.alternatives):
                if name in cast_indexes:
                    weights[name] += utterance_weight * probability
        for bearers in self._find_named(text):
            for character_index in bearers:
                weights[self.cast[character_index].name] += 0.25 / len(bearers)
        ranked = sorted(weights, key=lambda name: (-weights[name], name))
        relevant_names = list(dict.fromkeys((*self.frequent_names[:_ALWAYS_LISTED], *ranked)))[
            :_MAX_PEOPLE
        ]
        extra_names = [name for name in self.frequent_names if name not in relevant_names][
            : max(0, _MIN_PEOPLE - len(relevant_names))
        ]
        return [cast_indexes[name] for name in sorted((*relevant_names, *extra_names))]

    def _find_named(self, text: str) -> Iterator[Sequence[int]]:
        """Yields the indices of all bearers of each name in a text."""
        for word in re.finditer(r"\w+", text):
            for name, bearers in self.names.get(word[0], ()):
                if text.startswith(name, word.start()):
                    yield bearers
                    break

    def _describe(self, character_index: int) -> str:
        """Returns the entry of a person in the list: name, pronoun, aliases, description."""
        member = self.cast[character_index]
        alias_note = f"also {', '.join(member.aliases[:4])}" if member.aliases else ""
        description = " ".join(self.descriptions.get(member.name, "").split())
        details = "; ".join(filter(None, (member.pronoun, alias_note, description)))
        return f"{member.name} ({details})" if details else member.name

    def _question(self, utterance: int, shown_number: int) -> str:
        """Returns the question who says an utterance, by its number and its first words."""
        piece = self.quotations[self.utterances[utterance].rows[0]].quotation
        words = " ".join(self.paragraphs[piece.paragraph][piece.start : piece.stop].split())
        excerpt = words if len(words) <= _EXCERPT_LENGTH else f"{words[:_EXCERPT_LENGTH]}…"
        return f"Who says [{shown_number}], {excerpt}\nAnswer with one code."


def _split_paragraph(paragraph_index: int, text: str, reader: Reader) -> list[_Unit]:
    """Returns a paragraph as a unit, or as several if it is longer than a page or two."""
    ends = [0]
    while len(text) - ends[-1] > _MAX_PARAGRAPH_LENGTH:
        max_end = ends[-1] + _MAX_PARAGRAPH_LENGTH
        ends.append(text.rfind(" ", ends[-1] + 1, max_end) + 1 or max_end)
    parts = zip(ends, (*ends[1:], len(text)), strict=True)
    return [
        _Unit(paragraph_index, start, stop, reader.count_tokens(text[start:stop]) + 2)
        for start, stop in parts
    ]


_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)


def _names_by_first_word(cast: Sequence[Character]) -> dict[str, list[tuple[str, list[int]]]]:
    """Maps first words to names and aliases, the longest first, each with the indices of all
    bearers."""
    names_by_word: dict[str, dict[str, list[int]]] = {}
    for character_index, member in enumerate(cast):
        names = [member.name, *member.aliases]
        names_without_article = [_ARTICLE.sub("", name) for name in names if _ARTICLE.match(name)]
        for name in dict.fromkeys(
            (*names, *names_without_article, *(noun.lower() for noun in names_without_article))
        ):
            if first_word := re.match(r"\w+", name):
                bearers = names_by_word.setdefault(first_word[0], {}).setdefault(name, [])
                bearers.append(character_index)
    return {
        word: sorted(bearers_by_name.items(), key=lambda pair: -len(pair[0]))
        for word, bearers_by_name in names_by_word.items()
    }


# -- what an answer means --------------------------------------------------------------------------


def _apply_answer(
    row: AttributedQuotation,
    names: Sequence[str],
    model_probabilities: Sequence[float],
    *,
    model_name: str,
    model_weight: float,
) -> AttributedQuotation:
    """Returns a row with the model's decision applied, or as it is without an answer."""
    if not model_probabilities:
        return row
    probabilities = pool_probabilities(row, names, model_probabilities, model_weight)
    options = (*names, None, None)
    best_index = max(range(len(probabilities)), key=probabilities.__getitem__)
    if best_index == len(names):  # somebody else, whom it cannot name
        speaker_index = options.index(row.speaker) if row.speaker in names else best_index
        return replace(row, certainty=min(row.certainty, probabilities[speaker_index]))
    speaker, certainty = options[best_index], probabilities[best_index]
    if speaker != row.speaker:
        certainty = min(certainty, _MAX_LONE_CERTAINTY)
    ranked = sorted(zip(names, probabilities, strict=False), key=lambda pair: -pair[1])
    others = tuple(
        (name, round(probability, 4)) for name, probability in ranked if name != speaker
    )[:_MAX_OTHERS]
    return replace(
        row,
        speaker=speaker,
        certainty=round(certainty, 4),
        by=MODEL + model_name,
        alternatives=others,
    )


def pool_probabilities(
    row: AttributedQuotation,
    names: Sequence[str],
    model_probabilities: Sequence[float],
    model_weight: float,
) -> list[float]:
    """Pools the rules' and the model's probabilities of names, somebody else and nobody.

    The results sum to 1.
    """
    known_probabilities = {
        name: probability
        for name, probability in _calibrated_probabilities(row).items()
        if name in names
    }
    unknown_count = len(names) + 2 - len(known_probabilities)
    remainder = max(0.0, 1 - sum(known_probabilities.values())) / max(1, unknown_count)
    rule_probabilities = [known_probabilities.get(name, remainder) for name in (*names, "", "")]
    products = [
        max(by_model, _MIN_PROBABILITY) ** model_weight
        * max(by_rules, _MIN_PROBABILITY) ** (1 - model_weight)
        for by_model, by_rules in zip(model_probabilities, rule_probabilities, strict=True)
    ]
    total = sum(products)
    return [product / total for product in products]


def _calibrated_probabilities(row: AttributedQuotation) -> dict[str, float]:
    """Returns the rules' probabilities, scaled so that the other candidates share what the
    speaker's certainty leaves."""
    if row.speaker is None:
        return dict(row.alternatives)
    others_total = sum(probability for _, probability in row.alternatives)
    remainder = max(1 - (row.probability or row.certainty), others_total, _MIN_PROBABILITY)
    scale = (1 - row.certainty) / remainder
    scaled = {name: probability * scale for name, probability in row.alternatives}
    return {**scaled, row.speaker: row.certainty}
