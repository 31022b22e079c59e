"""Quotations of which the rules are not sure, put to a language model that chooses among people.

It reads windows of running text, in which quotations are numbered and those that are decided have
their speakers' names, and a list of people, each with a code. Its answer to a question is how
likely each code is, so it can say nothing else, and no text comes from it. What is decided by
others than rules is never asked. A window shows no answer to another one: the order of asking
changes nothing, and an edit asks its own window again.

Knows no model: a `Reader` is one.
"""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event

from narrator.text.speakers import Attribution, Character, Said
from narrator.text.speakers.answers import Answers, Reader

MODEL = "model:"
"""How `Said.by` begins where a model decided; its name follows. Without a speaker it found that the
quotation is nobody's speech."""
_PEOPLE = "you", "print"
"""Who else decides; no model is asked about it."""
_MOST = len(string.ascii_uppercase) - 2
"""People in a list: a letter for each, which is one token of any model, and two to spare."""
_FEW = 10
"""People in a list at least, as far as there are: those who speak most in the book."""
_ALWAYS = 3
"""Of them, so many stand in every list, beside those who are near."""
_ELSE, _NOBODY = "somebody else", "nobody: no speech, but a title, writing or a word quoted"
_LONGEST = 6000
"""Characters of a paragraph that stay together."""
_HEAD = 60
"""Characters of a quotation that a question repeats."""
_LEAST = 0.002
"""Odds below which nobody's word counts: a model's certainty is no proof."""
_ALONE = 0.85
"""How sure a model's word is at most where rules say another: how sure models are of themselves was
never compared with how often they are right, and a person should look."""
_ROOM = 1000
"""Tokens of a prompt beside its running text: what is asked for, the people, a question."""
_QUESTION = 45
"""Tokens of a question with the template's end, for the time that is left."""

_INSTRUCTION = """\
Below is a passage of a book. A number in square brackets stands before each quotation; quotations \
with the same number are said by one speaker in one go. Where it is known who speaks, the name \
stands beside the number. Say who speaks the quotation that is asked for, by the code of a person \
in the list.

"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked, and how far an answer counts."""

    weak: float = 0.9
    """What is less sure is asked."""
    window: int = 4000
    """Tokens of running text."""
    before: int = 800
    """Of them, what stands before the first quotation that is asked for."""
    after: int = 400
    """Likewise behind the last one."""
    trust: float = 0.6
    """How much a model's word counts beside the rules', 0 to 1."""


USUAL = Limits()


@dataclass(frozen=True, slots=True)
class AskedStretch:
    """A stretch of a chapter with what is asked about it."""

    shared: str
    """The prompt of all its questions, as far as it is the same."""
    questions: tuple[str, ...]
    asked: tuple[tuple[int, ...], ...]
    """For each question, its pieces' places in `Attribution.said`."""
    names: tuple[str, ...]
    """People to choose from; two options more are somebody else and nobody."""
    tokens: int
    """Of its running text."""

    @property
    def options(self) -> str:
        """A code for each."""
        return string.ascii_uppercase[: len(self.names) + 2]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces that one speaker says in one go."""

    rows: tuple[int, ...]
    """Places in `Attribution.said`."""
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
    limits: Limits = USUAL,
    answers: Answers | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    cancel: Event | None = None,
) -> Attribution:
    """The attribution with a model's word on what was weak; all else stays as it is.

    The model's odds and the rules' are pooled: p ∝ model^trust · rules^(1 - trust), what rules give
    nobody in particular being shared evenly. It is sure only where both agree: where they do not,
    it is so at 0.85 at most. Where a model means somebody who is not in its list, the rules' word
    stays, less sure.

    `answers` are asked first, and saved after each window: an interrupted run goes on. `tell` hears
    tokens read and to be read. When `cancel` is set it ends after the window that is being read.
    Raises what `reader` and `answers` raise.
    """
    answers = Answers() if answers is None else answers
    made = windows(chapters, attribution, reader, limits)
    costs = [_cost(window, reader, answers) for window in made]
    done, total = 0, sum(costs)
    said = list(attribution.said)
    for window, cost in zip(made, costs, strict=True):
        if cancel and cancel.is_set():
            break
        found = answers.likelihoods(reader, window.shared, window.questions, window.options)
        for rows, odds in zip(window.asked, found, strict=True):
            for row in rows:
                said[row] = _decided(said[row], window.names, odds, reader, limits.trust)
        if cost:
            done += cost
            tell(done, total)
    return replace(attribution, said=tuple(said))


def _cost(window: AskedStretch, reader: Reader, answers: Answers) -> int:
    """Tokens that are still to be read for a window."""
    missing = answers.missing(reader, window.shared, window.questions, window.options)
    return window.tokens + _QUESTION * len(missing) if missing else 0


# -- windows ---------------------------------------------------------------------------------------


def windows(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    limits: Limits = USUAL,
) -> list[AskedStretch]:
    """What there is to ask, in the order of the book: every weak utterance once."""
    names = _by_first_word(attribution.cast)
    chapter_rows: list[list[int]] = [[] for _ in chapters]
    for place, said in enumerate(attribution.said):
        chapter_rows[said.chapter].append(place)
    found: list[AskedStretch] = []
    for paragraphs, rows in zip(chapters, chapter_rows, strict=True):
        utterances = _utterances(attribution.said, rows, limits.weak)
        if attribution.cast and any(one.is_weak for one in utterances):
            chapter = _Cutter(paragraphs, attribution, utterances, names, reader)
            found += chapter.windows(limits)
    return found


def _utterances(said: Sequence[Said], rows: Sequence[int], weak: float) -> list[_Pieces]:
    groups: list[list[int]] = []
    for place in rows:
        one = said[place]
        last = said[groups[-1][-1]] if groups else None
        same = last is not None and last.speaker == one.speaker
        if groups and (one.goes_on or (one.quotation.goes_on and same)):
            groups[-1].append(place)
        else:
            groups.append([place])
    return [_Pieces(tuple(g), _is_weak([said[place] for place in g], weak)) for g in groups]


def _is_weak(pieces: Sequence[Said], weak: float) -> bool:
    """Whether nothing is sure of an utterance but that its pieces belong together."""
    own = [one for place, one in enumerate(pieces) if not (place and one.goes_on)]
    return all(one.sure < weak for one in own) and not any(one.by in _PEOPLE for one in pieces)


class _Cutter:
    """A chapter's text and utterances, to be cut into windows."""

    def __init__(
        self,
        paragraphs: Sequence[str],
        attribution: Attribution,
        utterances: Sequence[_Pieces],
        names: Mapping[str, Sequence[tuple[str, Sequence[int]]]],
        reader: Reader,
    ) -> None:
        self.paragraphs, self.names = paragraphs, names
        self.cast, self.said, self.utterances = attribution.cast, attribution.said, utterances
        self.longest = max(_ROOM, reader.longest - _ROOM)
        lines = Counter(said.speaker for said in self.said)
        self.usual = sorted((member.name for member in self.cast), key=lambda name: -lines[name])
        self.units = [unit for n, text in enumerate(paragraphs) for unit in _units(n, text, reader)]
        starts = [(unit.paragraph, unit.start) for unit in self.units]
        self.marks: list[list[tuple[int, int]]] = [[] for _ in self.units]
        """For each unit, where its quotations begin, and of which utterances."""
        self.weak: list[tuple[int, int]] = []
        """Units and utterances that are asked."""
        unit = 0
        for number, utterance in enumerate(utterances):
            for place in utterance.rows:
                quotation = self.said[place].quotation
                at = (quotation.paragraph, quotation.start)
                while unit + 1 < len(starts) and starts[unit + 1] <= at:
                    unit += 1
                self.marks[unit].append((quotation.start, number))
                if utterance.is_weak and place == utterance.rows[0]:
                    self.weak.append((unit, number))

    def windows(self, limits: Limits) -> list[AskedStretch]:
        """Windows that ask about every weak utterance once."""
        size = min(limits.window, self.longest)
        before, after = (min(part, size // 4) for part in (limits.before, limits.after))
        found: list[AskedStretch] = []
        place = 0
        while place < len(self.weak):
            first = self.weak[place][0]
            start = first
            spent = self.units[first].tokens
            left = before
            while start > 0 and (left := left - self.units[start - 1].tokens) >= 0:
                start -= 1
                spent += self.units[start].tokens
            asked: list[int] = []
            last = first
            while place < len(self.weak):
                unit, number = self.weak[place]
                gap = sum(one.tokens for one in self.units[last + 1 : unit])
                more = sum(one.tokens for one in self.units[last + 1 : unit + 1])
                # text that is far from all questions costs more than a window of its own
                if asked and (gap > before + after or spent + more > size - after):
                    break
                spent, last = spent + more, unit
                asked.append(number)
                place += 1
            left = after
            stop = last + 1
            while stop < len(self.units) and (left := left - self.units[stop].tokens) >= 0:
                spent += self.units[stop].tokens
                stop += 1
            found.append(self._window(range(start, stop), asked, spent))
        return found

    def _window(self, units: range, asked: Sequence[int], tokens: int) -> AskedStretch:
        numbers: dict[int, int] = {}
        for unit in units:
            for _, utterance in self.marks[unit]:
                numbers.setdefault(utterance, len(numbers) + 1)
        text = ""
        for unit in units:
            one = self.units[unit]
            text += "\n\n" if text and one.start == 0 else ""
            text += self._marked(unit, numbers)
        people = self._people(text, numbers, set(asked))
        options = string.ascii_uppercase[: len(people) + 2]
        listed = [self._described(who) for who in people]
        rows = zip(options, (*listed, _ELSE, _NOBODY), strict=True)
        roster = "\n".join(f"{code} = {said}" for code, said in rows)
        shared = f"{_INSTRUCTION}Passage:\n\n{text}\n\nPeople:\n{roster}\n\n"
        return AskedStretch(
            shared,
            tuple(self._question(number, numbers[number]) for number in asked),
            tuple(self.utterances[number].rows for number in asked),
            tuple(self.cast[who].name for who in people),
            tokens,
        )

    def _marked(self, unit: int, numbers: Mapping[int, int]) -> str:
        """A unit's text, a number before each quotation."""
        one = self.units[unit]
        whole = self.paragraphs[one.paragraph]
        parts, at = [], one.start
        for start, utterance in self.marks[unit]:
            parts += [whole[at:start], f"[{numbers[utterance]}{self._known(utterance)}] "]
            at = start
        return "".join((*parts, whole[at : one.stop]))

    def _known(self, utterance: int) -> str:
        one = self.utterances[utterance]
        return "" if one.is_weak else f": {self.said[one.rows[0]].speaker or 'nobody'}"

    def _people(self, text: str, numbers: Mapping[int, int], asked: set[int]) -> list[int]:
        """Who may speak in a window, as places in the cast: those that rules think of, who speaks
        there, and who is named, as many as there are codes for."""
        places = {member.name: who for who, member in enumerate(self.cast)}
        counts = defaultdict[str, float](float)
        for utterance in numbers:
            said = self.said[self.utterances[utterance].rows[0]]
            weight = 10.0 if utterance in asked else 1.0
            for name, odds in ((said.speaker, max(said.sure, 0.1)), *said.others):
                if name in places:
                    counts[name] += weight * odds
        for word in re.finditer(r"\w+", text):
            for name, bearers in self.names.get(word[0], ()):
                if text.startswith(name, word.start()):
                    for who in bearers:
                        counts[self.cast[who].name] += 0.25 / len(bearers)
                    break
        ranked = sorted(counts, key=lambda name: (-counts[name], places[name]))
        near = list(dict.fromkeys((*self.usual[:_ALWAYS], *ranked)))[:_MOST]
        more = [name for name in self.usual if name not in near][: max(0, _FEW - len(near))]
        return sorted(places[name] for name in (*near, *more))

    def _described(self, who: int) -> str:
        """A person of the list: name, pronoun, other names."""
        member = self.cast[who]
        also = f"also {', '.join(member.aliases[:4])}" if member.aliases else ""
        more = "; ".join(filter(None, (member.pronoun, also)))
        return f"{member.name} ({more})" if more else member.name

    def _question(self, utterance: int, number: int) -> str:
        piece = self.said[self.utterances[utterance].rows[0]].quotation
        words = " ".join(self.paragraphs[piece.paragraph][piece.start : piece.stop].split())
        shown = words if len(words) <= _HEAD else f"{words[:_HEAD]}…"
        return f"Who says [{number}], {shown}\nAnswer with one code."


def _units(number: int, text: str, reader: Reader) -> list[_Unit]:
    """A paragraph, in parts where it is longer than a page or two."""
    ends = [0]
    while len(text) - ends[-1] > _LONGEST:
        most = ends[-1] + _LONGEST
        ends.append(text.rfind(" ", ends[-1] + 1, most) + 1 or most)
    parts = zip(ends, (*ends[1:], len(text)), strict=True)
    return [_Unit(number, a, b, reader.count(text[a:b]) + 2) for a, b in parts]


_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)


def _by_first_word(cast: Sequence[Character]) -> dict[str, list[tuple[str, list[int]]]]:
    """Names and aliases by their first word, the longest first, each with all who bear it."""
    found: dict[str, dict[str, list[int]]] = {}
    for who, member in enumerate(cast):
        names = [member.name, *member.aliases]
        bare = [_ARTICLE.sub("", name) for name in names if _ARTICLE.match(name)]
        for name in dict.fromkeys((*names, *bare, *(noun.lower() for noun in bare))):
            if word := re.match(r"\w+", name):
                found.setdefault(word[0], {}).setdefault(name, []).append(who)
    return {
        word: sorted(names.items(), key=lambda item: -len(item[0])) for word, names in found.items()
    }


# -- what an answer means --------------------------------------------------------------------------


def _decided(
    said: Said, names: Sequence[str], odds: Sequence[float], reader: Reader, trust: float
) -> Said:
    """A piece with the model's word on it."""
    both = pooled(said, names, odds, trust)
    options = (*names, None, None)
    best = max(range(len(both)), key=both.__getitem__)
    if best == len(names):  # somebody else, whom it cannot name
        own = both[options.index(said.speaker)] if said.speaker in names else both[best]
        return replace(said, sure=min(said.sure, own))
    ranked = sorted(zip(names, both, strict=False), key=lambda item: -item[1])
    others = tuple((name, round(p, 4)) for name, p in ranked if name != options[best])[:3]
    by = MODEL + reader.name
    sure = both[best] if options[best] == said.speaker else min(both[best], _ALONE)
    return replace(said, speaker=options[best], sure=round(sure, 4), by=by, others=others)


def pooled(said: Said, names: Sequence[str], odds: Sequence[float], trust: float) -> list[float]:
    """The rules' and the model's odds on each name, somebody else and nobody, as one: they sum
    to 1."""
    known = {name: p for name, p in _sure(said).items() if name in names}
    unknown = len(names) + 2 - len(known)
    rest = max(0.0, 1 - sum(known.values())) / max(1, unknown)
    rules = [known.get(name, rest) for name in (*names, "", "")]
    both = [
        max(model, _LEAST) ** trust * max(rule, _LEAST) ** (1 - trust)
        for model, rule in zip(odds, rules, strict=True)
    ]
    whole = sum(both)
    return [one / whole for one in both]


def _sure(said: Said) -> dict[str, float]:
    """The rules' odds as far as they are right: those of others share what the first one's
    certainty leaves."""
    if said.speaker is None:
        return dict(said.others)
    whole = max(1 - (said.odds or said.sure), sum(odds for _, odds in said.others), _LEAST)
    scale = (1 - said.sure) / whole
    return {**{name: odds * scale for name, odds in said.others}, said.speaker: said.sure}
