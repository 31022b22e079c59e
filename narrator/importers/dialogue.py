"""Where a book prints who speaks: in which pieces, whose labels, and whether it is a play.

Nothing is written here. What is plainly no dialogue has no labels: a novel in which `ALICE:` stands
now and then, a list, recipes, the heads of pages; see `_is_dialogue`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from statistics import median

from narrator.importers import evidence, persons
from narrator.importers.blocks import Block
from narrator.importers.book import count_words, names
from narrator.importers.counting import counted
from narrator.importers.directions import (
    Styled,
    covers,
    is_direction,
    is_extension,
    is_scene_heading,
    is_verse,
    style_of,
    transition,
)
from narrator.importers.labels import COLONS, Label, Setting, key_of, labels, settings, several
from narrator.importers.persons import Persona
from narrator.importers.plaintext import spans
from narrator.importers.prose import Line, StyledSpan, plain, tidy

_FEW = 4
"""Speeches that a dialogue has, at least; two of its speakers have two each."""
_SHARE = 0.5
"""Of the paragraphs of a piece that begin with a label, where nothing else speaks for it."""
_PLAIN_SHARE = 0.25
"""The same where many names are set in capitals, apart or before a colon."""
_MANY = 8
_EARLY = 0.4
"""Of the paragraphs of such a piece, at most, stand before its first label."""
_STRETCH = 12
"""Paragraphs from a label to the next in such a piece, at most."""
_LONGEST_SPEECH = 100
"""Words under a name that stands alone, in the middle of a piece's speeches: under the heads of a
book's pages there are more. For each name, in all of a piece, where markup says what is one."""
_LONGEST_LABEL = 120
"""Characters of a row in which the colon of a label stands."""
_CROWD = 12
"""Names above which each has to come twice, one with another."""
_SAME_ORDER = 0.9
"""Of what follows one of three labels or more that is always the same, in a form."""
_COMPANY = 8
"""Speakers that hardly a conversation has more of."""
_OPENING = 3
"""Paragraphs of a piece in which a title may stand."""
_LISTED = re.compile(r"\s*(?:[-+*]|\d+[.)])\s+|\s*#+\s*")
_LIST_ROWS = 80
"""Rows that a list of persons has, at most."""
_ACTS = names(
    "act akt aufzug acte acto ato atto bedrijf akten naytos действие явление scene szene auftritt "
    "scena escena cena сцена πραξη σκηνη perde babak 幕 막"
)


@dataclass(slots=True, eq=False)
class Look:
    """A block, or some lines of one, as it may be read."""

    block: Block
    lines: list[Line]
    """None where it is no paragraph."""
    said: Styled
    options: tuple[Label, ...]
    """What it may be labelled with, the likeliest first."""
    is_direction: bool
    label: Label | None = None
    """What it is labelled with."""
    goes_on: bool = False
    """Whether it is not the first part of its block."""
    leads_on: bool = False
    """Whether it is a direction within a speech of a script, which goes on below it."""

    def is_whole(self) -> bool:
        """Whether a label is all there is."""
        return any(label.said >= len(self.said.text) for label in self.options)


@dataclass(frozen=True, slots=True)
class DoubtfulLabels:
    """Words that begin paragraphs as speakers' names do, and hardly are any."""

    names: tuple[str, ...]
    """The most frequent first."""
    paragraphs: int


@dataclass(frozen=True, slots=True)
class PrintedDialogue:
    """The pieces of a book, and which are printed dialogue."""

    pieces: Sequence[Sequence[Look]]
    found: Sequence[bool]
    personas: Sequence[Persona]
    known: frozenset[str]
    """Keys of names that come again, and of the list of persons."""
    is_play: bool
    is_script: bool = False
    """Whether markup says of all that is said whose it is."""

    @property
    def is_screenplay(self) -> bool:
        """Whether it has a screenplay's transitions or headings of scenes."""
        return any(is_screenplay_row(look.said.text) for look in chain.from_iterable(self.pieces))

    @property
    def looks(self) -> Iterator[Look]:
        """Those of pieces that are dialogue."""
        return chain.from_iterable(compress(self.pieces, self.found))

    @property
    def is_most(self) -> bool:
        """Whether it is half of the book or more."""
        words = [sum(look.block.words for look in looks) for looks in self.pieces]
        return 2 * sum(compress(words, self.found)) >= sum(words)


def find_dialogue(
    kept: Sequence[Sequence[Block]], everything: Iterable[Block], is_certain: bool = False
) -> PrintedDialogue | DoubtfulLabels | None:
    """The dialogue in pieces, if there is any; `everything` may hold the list of persons.

    A piece that only has the shape of one is doubtful, unless `is_certain`, where a user says that
    it is a script.
    """
    everything = list(everything)
    pieces = _looked_at(kept, is_certain)
    personas = _personas(pieces) or _personas([[_look(block) for block in everything]])
    counts = _counts(chain.from_iterable(pieces))
    if is_certain:
        if max(counts.values(), default=0) == 1:  # a short scene in which each speaks once
            counts.update(list(counts))
        sure = [bool(_chosen(looks, counts)) for looks in pieces]
    else:
        shaped = [_is_dialogue(looks, counts) for looks in pieces]
        sure = _with_evidence(pieces, shaped, counts, personas, everything)
        if any(shaped) and not any(sure):
            return _doubtful(compress(pieces, shaped), counts)
    if not any(sure):
        return None
    counts = _counts(chain.from_iterable(compress(pieces, sure)))
    known = {key for key, count in counts.items() if count > 1}
    known |= {key_of(persona.name) for persona in personas}
    found = [yes or _is_part(looks, known) for looks, yes in zip(pieces, sure, strict=True)]
    counts = _counts(chain.from_iterable(compress(pieces, found)))
    known |= {key for key, count in counts.items() if count > 2}
    for looks, yes in zip(pieces, sure, strict=True):
        for look in looks:
            look.label = _label(look, known, yes)
    is_play = bool(personas) or _is_play(pieces, found)
    return PrintedDialogue(pieces, found, personas, frozenset(known), is_play)


def find_script(kept: Sequence[Sequence[Block]]) -> PrintedDialogue | None:
    """The dialogue of a script: what its markup calls names are names, and all of them are."""
    pieces = [[_of_script(block) for block in blocks] for blocks in kept]
    known = frozenset(look.label.key for look in chain.from_iterable(pieces) if look.label)
    if not known and not any(look.is_direction for look in chain.from_iterable(pieces)):
        return None
    for looks in pieces:
        for above, below in pairwise(look for look in looks if look.lines):
            told = below.label or below.is_direction or below.block.is_narrated
            above.leads_on = above.is_direction and not told
    return PrintedDialogue(pieces, [True] * len(pieces), (), known, is_play=True, is_script=True)


_AFTER_NAME = re.compile(r"[\s.:：]*")


def _of_script(block: Block) -> Look:
    if block.kind != "text" or not block.lines:
        return Look(block, [], Styled(""), (), False)
    said = _styled(block.lines)
    look = Look(block, list(block.lines), said, (), covers(said.named, said.text))
    if block.is_name and block.apart:
        end = len(block.apart) if said.text.startswith(block.apart) else 0
        found = _AFTER_NAME.match(said.text, end)
        begin = found.end() if found else end
        alone = begin >= len(said.text)
        look.label = Label(block.apart.strip(" .:："), "apart", "", begin, alone)
    return look


# -- looking ---------------------------------------------------------------------------------------


def _looked_at(kept: Sequence[Sequence[Block]], is_certain: bool) -> list[list[Look]]:
    """Blocks as they may be read: with the labels that are set as most of their piece are, or as
    most of all where it is certain that there are labels."""
    first = [[_look(block) for block in blocks] for blocks in kept]
    counts = Counter(label.key for look in chain.from_iterable(first) for label in _strong(look))
    pieces = [[part for look in looks for part in _parted(look, counts)] for looks in first]
    _believe_markup(list(chain.from_iterable(pieces)))
    for looks in [list(chain.from_iterable(pieces))] if is_certain else pieces:
        _keep_alike(looks, is_certain)
    return pieces


def _keep_alike(looks: Sequence[Look], is_certain: bool) -> None:
    """Leave those labels that are set as most are, or whose names are elsewhere; where it is
    certain that there are some and none comes again, those that are in capitals or apart."""
    options = [label for look in looks for label in look.options]
    ways = settings(options)
    if is_certain and not ways:
        ways = {label.setting for label in options if label.form != "mixed"}
    keys = {label.key for label in options if label.setting in ways}
    forms = {form for form, *_ in ways}
    for look in looks:
        look.options = tuple(o for o in look.options if o.key in keys and o.form in forms)


def _look(block: Block) -> Look:
    lines = block.lines if block.written is None else _lines_of_markdown(block)
    if block.kind != "text" or not lines:
        return Look(block, [], Styled(""), (), False)
    return _look_at(block, list(lines), block.apart)


def _look_at(block: Block, lines: list[Line], apart: str) -> Look:
    said = _styled(lines)
    first = lines[0][0]
    if not apart and (first.em or first.strong) and not first.told:
        apart = first.text
    in_list = any(container.is_item for container in block.containers)
    options = () if block.note or in_list else labels(said.text, apart, block.is_name)
    return Look(block, lines, said, options, is_direction(said))


_MARKED = re.compile(r"(?<![\\\w])(\*{1,3}|_{1,3})(?=[^\s*_])(.+?)(?<=[^\s\\])\1(?!\w)")
_NO_PARAGRAPH = re.compile(r"\s{0,3}(?:>|[-+*]\s|\d+[.)]\s|\||```|~~~|<|\[\^)")


def _lines_of_markdown(block: Block) -> list[Line]:
    """The rows of a paragraph of Markdown, with its escapes and links as they are written."""
    rows = [row for row in (block.written or "").split("\n") if row.strip()]
    if any(map(_NO_PARAGRAPH.match, rows)):
        return []
    return [tidy(_spans_of_markdown(row.rstrip().removesuffix("\\"))) for row in rows]


def _spans_of_markdown(row: str) -> Iterator[StyledSpan]:
    at = 0
    for marked in _MARKED.finditer(row):
        yield StyledSpan(row[at : marked.start()])
        size = len(marked[1])
        yield StyledSpan(marked[2], em=size != 2, strong=size > 1)
        at = marked.end()
    yield StyledSpan(row[at:])


def _styled(lines: Sequence[Line]) -> Styled:
    """The text of lines with its styles."""
    slanted: list[tuple[int, int]] = []
    named: list[tuple[int, int]] = []
    at = 0
    for line in lines:
        for span in line:
            end = at + len(span.text)
            slanted += [(at, end)] if span.em else []
            named += [(at, end)] if span.told else []
            at = end
        at += 1
    return Styled("\n".join(map(plain, lines)), tuple(slanted), tuple(named))


def _strong(look: Look) -> Iterator[Label]:
    """What a look may be labelled with, and its further lines, if their names stand out."""
    yield from look.options
    for line in look.lines[1:]:
        yield from _inner(line)


def _inner(line: Line) -> Iterator[Label]:
    """Labels at the beginning of a line within a paragraph."""
    apart = line[0].text if line[0].em or line[0].strong else ""
    return (o for o in labels(plain(line), apart) if o.stands_out and o.mark)


def _parted(look: Look, counts: Mapping[str, int]) -> list[Look]:
    """A look in parts, where lines within it begin with labels that come again, and where they are
    a screenplay's transitions or headings."""
    again = {label.setting for label in look.options if counts[label.key] > 1}
    stage = [is_screenplay_row(plain(line)) for line in look.lines]
    begins = [
        number
        for number, line in enumerate(look.lines)
        if number and (
            stage[number] or stage[number - 1] or
            (again and any(counts[o.key] > 1 or o.setting in again for o in _inner(line)))
        )
    ]  # fmt: skip
    if not begins:
        return [look]
    parts = []
    for begin, end in pairwise([0, *begins, len(look.lines)]):
        part = _look_at(look.block, look.lines[begin:end], "" if begin else look.block.apart)
        part.goes_on = begin > 0
        parts.append(part)
    return parts


def _believe_markup(looks: Sequence[Look]) -> None:
    """Where markup says which words are speakers' names, no others are."""
    marked = [look for look in looks if look.options and look.block.is_name]
    said = {look.options[0].key for look in marked}
    if len(marked) >= _FEW:
        for look in looks:
            if not look.block.is_name:
                look.options = tuple(label for label in look.options if label.key in said)


def _personas(pieces: Iterable[Sequence[Look]]) -> list[Persona]:
    """Those in a book's list of persons, whose rows begin no speeches."""
    rows: list[str] = []
    on = 0
    for look in chain.from_iterable(pieces):
        block, lines = look.block, look.said.text.split("\n")
        if not look.lines:  # a list of Markdown
            lines = [_LISTED.sub("", row) for row in block.rows] or [block.text]
        if persons.is_list(lines[0] or block.text):
            on, lines = _LIST_ROWS, lines[1:]
        elif block.kind == "heading" or on <= 0:
            on = 0
            continue
        rows += lines
        look.options = ()
        on -= len(lines)
    return list(persons.listed(rows))


# -- deciding --------------------------------------------------------------------------------------


def _counts(looks: Iterable[Look]) -> Counter[str]:
    """How often each label comes."""
    return Counter(label.key for look in looks for label in look.options)


def _is_dialogue(looks: Sequence[Look], counts: Mapping[str, int]) -> bool:
    """Whether the same few names stand again and again where paragraphs begin.

    That is: four speeches, two speakers with two each, and labels on half of the paragraphs, or on
    a quarter where there are eight that stand out, from the beginning on. Names alone on their
    lines are no heads of pages: their speeches are short. What follows one another in always the
    same order, three names or more, is a form, as recipes and letters have.
    """
    texts = [look for look in looks if look.lines]
    chosen = _chosen(looks, counts)
    named = list(chosen)
    if not _is_company(chosen.values()) or _is_form(chosen.values()):
        return False
    if any(look.block.is_name for look in named):
        return _words(texts) <= _LONGEST_SPEECH * len(named)
    alone = list(filter(Look.is_whole, named))
    if 2 * len(alone) > len(named):
        return _is_short_under(texts, alone)
    told = sum(look.is_direction for look in texts if look not in chosen)
    share = len(named) / (len(texts) - told)
    plainly = share >= _PLAIN_SHARE and _stand_out(chosen.values())
    return share >= _SHARE or (plainly and _is_even(texts, named))


def _chosen(looks: Iterable[Look], counts: Mapping[str, int]) -> dict[Look, Label]:
    """Looks that begin with a label that comes again, and that label."""
    return {look: label for look in looks if look.lines for label in _again(look, counts)}


def _words(looks: Iterable[Look]) -> int:
    return sum(count_words(look.said.text) for look in looks)


def _with_evidence(
    pieces: Sequence[Sequence[Look]],
    shaped: Sequence[bool],
    counts: Mapping[str, int],
    personas: Sequence[Persona],
    everything: Sequence[Block],
) -> list[bool]:
    """Which pieces of the shape of a dialogue are one: by themselves, or with all others of it."""
    in_acts = _is_in_acts(everything)
    titles = [b.text for n, b in enumerate(everything) if b.kind == "heading" or n < _OPENING]
    asks = any(map(evidence.answers_questions, titles))

    def weight(looks: Sequence[Look]) -> float:
        speeches = list(_speeches(looks, counts))
        chosen = _chosen(looks, counts)
        labels_ = chosen.values()
        told = sum(look.is_direction for look in looks if look not in chosen)
        asked = asks or any(evidence.answers_questions(o.said.text) for o in looks[:_OPENING])
        around = evidence.Circumstances(
            share=(len(chosen) + told) / max(1, sum(bool(look.lines) for look in looks)),
            is_marked=2 * sum(label.form != "mixed" for label in labels_) > len(chosen),
            is_tabular=2 * sum(look.block.is_tabular for look in chosen) > len(chosen),
            is_in_acts=in_acts,
            has_cast=_has_cast(personas, {label.key for label in labels_}),
            answers_questions=asked,
        )
        return evidence.weight(speeches, around)

    def is_marked_up(looks: Iterable[Look]) -> bool:
        return sum(look.block.is_name for look in _chosen(looks, counts)) >= _FEW

    whole = weight(list(chain.from_iterable(compress(pieces, shaped))))
    least = evidence.ENOUGH / 2 if whole >= evidence.ENOUGH else evidence.ENOUGH
    return [
        is_shaped and (is_marked_up(looks) or weight(looks) >= least)
        for looks, is_shaped in zip(pieces, shaped, strict=True)
    ]


def _speeches(
    looks: Iterable[Look], counts: Mapping[str, int]
) -> Iterator[evidence.LabelledSpeech]:
    """Labels that come again, each with what stands below it up to the next."""
    label: Label | None = None
    below: list[str] = []
    styled = False
    for look in (*looks, None):
        begins = look is None or not look.lines or bool(_again(look, counts))
        if label and begins:
            yield evidence.LabelledSpeech(label.name, " ".join(below), bool(label.times), styled)
            label = None
        if look is None or not look.lines:
            continue
        if begins:
            label = _again(look, counts)[0]
            begin, end = label.aside
            styled = begin < end and style_of(look.said.text[begin:end]) is not None
            below = [look.said.text[label.said :]]
        elif not look.is_direction:
            below.append(look.said.text)


def _has_cast(personas: Iterable[Persona], keys: Collection[str]) -> bool:
    """Whether two persons of a list or more are labels, or a word of their names is."""
    listed = [key_of(persona.name).split() for persona in personas]
    named = sum(
        any(key == " ".join(words) or key.strip(".") in words or
            (len(key) > 1 and words[0].startswith(key)) for key in keys)
        for words in listed
    )  # fmt: skip
    return named > 1


def _doubtful(pieces: Iterable[Sequence[Look]], counts: Mapping[str, int]) -> DoubtfulLabels:
    """What looks like speakers' names in pieces that are no dialogue."""
    labels_ = [label for looks in pieces for label in _chosen(looks, counts).values()]
    often = Counter(label.name for label in labels_).most_common()
    return DoubtfulLabels(tuple(name for name, _ in often), len(labels_))


def _again(look: Look, counts: Mapping[str, int]) -> tuple[Label, ...]:
    """Of what a look may be labelled with, the first that comes again, if any does."""
    return tuple(label for label in look.options if counts[label.key] > 1)[:1]


def _is_company(named: Collection[Label]) -> bool:
    """Whether labels are of the same few names."""
    counts = Counter(label.key for label in named)
    twice = sum(count > 1 for count in counts.values())
    crowd = len(counts) > _CROWD and len(named) < 2 * len(counts)
    return len(named) >= _FEW and twice > 1 and not crowd


def _stand_out(named: Iterable[Label]) -> bool:
    """Whether many labels can be told from prose, of two that come three times at least."""
    keys = [label.key for label in named if label.stands_out]
    often = sum(count > 2 for count in Counter(keys).values())
    return len(keys) >= _MANY and often > 1


def _is_even(texts: Sequence[Look], named: Sequence[Look]) -> bool:
    """Whether labels begin early, and no long stretch is without one: no novel quotes a play."""
    places = [n for n, look in enumerate(texts) if look in named]
    longest = max(below - above for above, below in pairwise([*places, len(texts)]))
    return places[0] <= _EARLY * len(texts) and longest <= _STRETCH


def _is_form(named: Iterable[Label]) -> bool:
    """Whether labels follow one another as they do in recipes."""
    keys = [label.key for label in named]
    after: dict[str, Counter[str]] = {}
    for above, below in pairwise(keys):
        after.setdefault(above, Counter())[below] += 1
    again = {key for key, count in Counter(keys).items() if count > 3}
    followed = [counter for key, counter in after.items() if key in again]
    same = sum(counter.most_common(1)[0][1] for counter in followed)
    all_ = sum(counter.total() for counter in followed)
    return len(again) > 2 and same >= _SAME_ORDER * all_


def _is_short_under(texts: Sequence[Look], alone: Sequence[Look]) -> bool:
    """Whether names that stand alone have short speeches under them."""
    words = [0]
    for look in texts:
        if look in alone:
            words.append(0)
        else:
            words[-1] += count_words(look.said.text)
    return median(words[1:]) <= _LONGEST_SPEECH


def _is_part(looks: Sequence[Look], known: set[str]) -> bool:
    """Whether a piece is one more of the same dialogue: a third of it is labelled with names that
    are known, or come here three times."""
    texts = [look for look in looks if look.lines and not look.is_direction]
    counts = _counts(looks)
    own = {key for key, count in counts.items() if count > 2}
    named = [look for look in texts if any(is_known(o, known | own) for o in look.options)]
    surely = any(is_known(label, known) for look in texts for label in look.options)
    return surely and 3 * len(named) >= len(texts)


def is_known(label: Label, known: Iterable[str]) -> bool:
    """Whether a label has a known name, or several of them."""
    parts = several(label.name)
    return label.key in known or (len(parts) > 1 and all(key_of(part) in known for part in parts))


def _label(look: Look, known: set[str], surely: bool) -> Label | None:
    """Whose speech begins with a look: a name that comes again, or in what is `surely` a dialogue
    one that stands out as those do."""
    for label in look.options:
        if is_known(label, known):
            return label
    once = (label for label in look.options if label.stands_out and not look.is_direction)
    short = (label for label in once if len(label.name.split()) <= 3)
    return next(short, None) if surely else None


def _is_play(pieces: Sequence[Sequence[Look]], found: Sequence[bool]) -> bool:
    """Whether a dialogue without a list of persons is a play: it has acts, many speakers, verse,
    directions, or marks names by a full stop."""
    looks = list(chain.from_iterable(compress(pieces, found)))
    speeches = [(look, look.label) for look in looks if look.label]
    names = {label.key for _, label in speeches}
    if any(label.times for _, label in speeches) or all(len(key) == 1 for key in names):
        return False
    if len(names) > _COMPANY or _is_in_acts(o.block for o in chain.from_iterable(pieces)):
        return True
    rows = [look.said.text for look in chain.from_iterable(pieces)]
    transitions = sum(transition(row) is not None for row in rows)
    extensions = sum(is_extension(look.said.text[slice(*label.aside)]) for look, label in speeches)
    # a single transition may stand in the transcript of any recording
    if any(map(is_scene_heading, rows)) or (transitions and transitions + extensions > 1):
        return True
    verse = sum(is_verse(look.said.text[label.said :]) for look, label in speeches)
    told = sum(look.is_direction for look in looks)
    colons = sum(label.mark in COLONS for _, label in speeches)
    return max(4 * verse, 10 * told) >= len(speeches) or 2 * colons < len(speeches)


def is_screenplay_row(text: str) -> bool:
    """Whether a row is a screenplay's transition, or heads a scene of it."""
    return is_scene_heading(text) or transition(text) is not None


def _is_in_acts(blocks: Iterable[Block]) -> bool:
    """Whether a heading counts acts or scenes."""
    headed = (counted(block.text) for block in blocks if block.kind == "heading")
    return any(said and said.word in _ACTS for said in headed)


# -- rows of a text --------------------------------------------------------------------------------


def row_labels(rows: Sequence[str]) -> frozenset[str]:
    """Keys of the labels that rows of a plain text begin with, where it may be printed dialogue;
    by them it is parted in speeches, also without blank lines."""
    found = list(_labelled_rows(rows))
    ways = settings(found)
    found = [label for label in found if label.setting in ways]
    counts = Counter(label.key for label in found)
    twice = {key for key, count in counts.items() if count > 1}
    again = sum(counts[key] for key in twice)
    if len(twice) < 2 or again < _FEW:
        return frozenset()
    bare = [row.strip() for row in rows]
    groups = sum(above == "" != row for above, row in pairwise(["", *bare]))
    if 2 * len(found) < len(bare) - bare.count("") and again < _PLAIN_SHARE * groups:
        return frozenset()
    return frozenset(twice | {key for key, way in _once(rows) if way in ways})


def _once(rows: Sequence[str]) -> Iterator[tuple[str, Setting]]:
    """Labels that need not come again, since they stand out from what is said after or below them:
    their keys, and how they are set."""
    for row, below in pairwise([*rows, ""]):
        for label in _of_row(row) if row.strip() else ():
            if label.stands_out and (below.strip() or not label.is_alone):
                yield label.key, label.setting


def _labelled_rows(rows: Sequence[str]) -> Iterator[Label]:
    """What rows may begin a speech with: within a paragraph it has to stand out."""
    for above, row in pairwise(["", *rows]):
        first = not above.strip()
        if row.strip() and (first or _may_be_plain(row)):
            yield from (label for label in _of_row(row) if first or _is_plain(label, row))


def label_of(row: str, keys: frozenset[str], within: bool = False) -> Label | None:
    """The label that a row begins with, of those with these keys; `within` a paragraph it has to
    stand out."""
    known = (label for label in _of_row(row) if label.key in keys)
    return next((label for label in known if not within or _is_plain(label, row)), None)


def _of_row(row: str) -> tuple[Label, ...]:
    line = tidy(spans(row))
    return labels(plain(line), line[0].text if line and line[0].em else "")


def _may_be_plain(row: str) -> bool:
    """Whether a row may begin with a label that stands out; most of prose does not."""
    bare = row.strip()
    head = bare.split(maxsplit=1)[0].strip(".,:")
    set_apart = row[:2].isspace() or not bare[0].isalpha() or head.isupper()
    return set_apart or any(colon in bare[:_LONGEST_LABEL] for colon in COLONS)


def _is_plain(label: Label, row: str) -> bool:
    """Whether a label within a paragraph stands out: by its letters, its mark, its indent."""
    return label.stands_out or row[:2].isspace()
