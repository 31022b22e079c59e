"""Passages -> turns: what one speaker says in a passage, and what names the speaker beside it.

A tag is a clause with a verb of speech beside a quotation (`said Ada`, `Ada, laughing, replied`);
a beat is a sentence of narration in the same paragraph (`Ada laughed. “…”`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from narrator.text.quotations import Quotation
from narrator.text.speakers.mentions import Mention, Prose, is_title
from narrator.text.speakers.names import Token
from narrator.text.speakers.words import ADDRESSED, SAID, SAYING, SURE_SAID
from narrator.text.speech_verbs import Subject, named_in_tag


@dataclass(frozen=True, slots=True)
class SpeechTag:
    """What names the speaker beside a quotation."""

    mention: Mention
    rule: str
    """"after", "before", "colon" (no verb of speech, but it leads to the quotation), "beat"."""

    @property
    def is_explicit(self) -> bool:
        return self.rule != "beat"


@dataclass(slots=True)
class Talk:
    """What one speaker says in one passage: a quotation, in one piece or more."""

    passage: Prose
    pieces: list[Quotation]
    tag: SpeechTag | None = None
    vocatives: set[int] = field(default_factory=set)
    """Who is addressed in it by name."""
    address: str | None = None
    """Pronoun of whom a word of address tells: "sir" he, "madam" she."""
    named: set[int] = field(default_factory=set)
    """Who is spoken of in it."""


def turns(passages: Sequence[Prose]) -> list[Talk]:
    """What is said, passage by passage."""
    found: list[Talk] = []
    for place, passage in enumerate(passages):
        before = passages[place - 1] if place else None
        if before is not None and before.scene != passage.scene:
            before = None
        if passage.pieces:
            found += _said_in(passage, before)
    return found


def _said_in(passage: Prose, before: Prose | None) -> list[Talk]:
    """What is said in a passage, by as many speakers as its tags name."""
    groups: list[Talk] = []
    for place, piece in enumerate(passage.pieces):
        tag = _tag(passage, place)
        if groups and not _is_another(groups[-1], tag, piece):
            groups[-1].pieces.append(piece)
            if tag and (groups[-1].tag is None or _weight(tag) > _weight(groups[-1].tag)):
                groups[-1].tag = tag
        else:
            groups.append(Talk(passage, [piece], tag))
    begins = not passage.text[: groups[0].pieces[0].start].strip()
    if groups[0].tag is None and before is not None and begins:
        groups[0].tag = _lead(before)
    for group in groups:
        _look_inside(group)
    return groups


_KINDS = {"name": 3, "self": 3, "noun": 2, "pronoun": 1}


def _weight(tag: SpeechTag) -> int:
    return _KINDS[tag.mention.kind] + 4 * tag.is_explicit


def _is_another(group: Talk, tag: SpeechTag | None, piece: Quotation) -> bool:
    """Whether a piece is another speaker's than the pieces before it in the passage."""
    text = group.passage.text
    if tag is None or group.tag is None or tag.mention is group.tag.mention:
        # two quotations side by side, without a word between
        last = group.pieces[-1].stop
        return not text[last : piece.start].strip(" \n-—") and text[last - 1] in '"”’»'
    mine, theirs = group.tag.mention, tag.mention
    if mine.characters and theirs.characters:
        return not set(mine.characters) & set(theirs.characters)
    if "self" in (mine.kind, theirs.kind):
        return mine.kind != theirs.kind and tag.is_explicit
    return bool(mine.pronoun and theirs.pronoun and mine.pronoun != theirs.pronoun)


def _tag(passage: Prose, place: int) -> SpeechTag | None:
    """What names the speaker of a piece: before it where that leads to it, else after it."""
    if not passage.is_english:
        return _foreign_tag(passage, place)
    before = _tag_before(passage, place)
    after = _tag_after(passage, place)
    if before is None or (before.rule != "before" and after is not None):
        return after
    if after is not None and place:
        last = _tag_after(passage, place - 1)
        if last is not None and last.mention is before.mention:
            return after  # `“Yes,” said Ada, and “No,” said Ben`
    return before


def _lead(passage: Prose) -> SpeechTag | None:
    """The tag at the end of a paragraph before a quotation: "Ada said" and a new line."""
    mark = passage.text.rstrip()[-1:]
    if mark not in ":,—-" and not mark.isalnum():
        return None
    begin = passage.pieces[-1].stop if passage.pieces else 0
    tag = _told_before(passage, begin, len(passage.text))
    return tag if tag is not None and tag.is_explicit else None


def _foreign_tag(passage: Prose, place: int) -> SpeechTag | None:
    """The tag of a piece in a language of which verbs of speech and pronouns are known."""
    piece = passage.pieces[place]
    before = passage.pieces[place - 1].stop if place else 0
    behind = passage.pieces[place + 1].start if place + 1 < len(passage.pieces) else None
    beside = ((before, piece.start, "before"), (piece.stop, behind, "after"))
    for start, stop, rule in beside:
        text = passage.text[start:stop]
        if rule == "before" and text.rstrip()[-1:] not in (":", ","):
            continue
        subject = named_in_tag(text, passage.language)
        if subject is not None:
            return SpeechTag(_mention(passage, start, subject), rule)
    return None


def _mention(passage: Prose, start: int, subject: Subject) -> Mention:
    """The subject of a tag as a mention: that of a name where one stands there."""
    first, last = start + subject.start, start + subject.stop
    for mention in passage.mentions:
        if mention.start < last and first < mention.stop:
            return mention
    words = passage.between(first, last)
    kind = "pronoun" if subject.is_pronoun else "noun"
    kind = "self" if subject.pronoun == "I" else kind
    return Mention(kind, first, last, words.start, words.stop, False, pronoun=subject.pronoun)


# -- after a quotation

_OPENERS = frozenset("then here again so at thus next now presently suddenly".split())
_PARTICLES = frozenset("in out up on back forth off".split())


def _tag_after(passage: Prose, place: int) -> SpeechTag | None:
    """`…,” said Ada` and `…,” Ada said`."""
    text = passage.text
    start = passage.pieces[place].stop
    later = passage.pieces[place + 1 : place + 2]
    end = _clause_end(text, start, later[0].start if later else len(text))
    words = passage.between(start, end)
    if not words or text[start : passage.words[words[0]].start].strip(" ,-—\n"):
        return None
    mentions = passage.mentioned(words)
    if passage.norm(words[0]) == "came":  # the voice of Ada
        return next((SpeechTag(m, "after") for m in mentions if m.kind == "name"), None)
    verbs = [word for word in words[:14] if passage.norm(word) in SAID]
    return _inverted(passage, words, verbs, mentions) or _straight(
        passage, words, verbs, mentions, start
    )


def _inverted(
    passage: Prose, words: range, verbs: Sequence[int], mentions: Sequence[Mention]
) -> SpeechTag | None:
    """`said Ada`, `then said the old man`, `broke in Ada`."""
    first = passage.words[words[0]]
    verb = words[0] if first.norm in SAID and not first.capital else None
    if first.norm in _OPENERS and verbs and verbs[0] <= words[0] + 2:
        verb = verbs[0]
    if verb is None:
        return None
    behind = verb + 1 + (passage.norm(verb + 1) in _PARTICLES)
    direct = next((m for m in mentions if m.first >= behind), None)
    if direct is not None and direct.first == behind:
        subject = _of_voice(passage, direct, mentions)
        return SpeechTag(subject, "after") if passage.is_subject_form(subject) else None
    if first.norm not in SURE_SAID:
        return None
    return _near(passage, verb, mentions)


def _near(passage: Prose, verb: int, mentions: Sequence[Mention]) -> SpeechTag | None:
    """Somebody within three words of a verb: `said at last the good Ada`."""
    for m in mentions:
        if verb < m.first <= verb + 3 and m.kind in ("name", "noun") and not m.possessive:
            return None if _is_object(passage, m) else SpeechTag(m, "after")
    return None


def _straight(
    passage: Prose, words: range, verbs: Sequence[int], mentions: Sequence[Mention], start: int
) -> SpeechTag | None:
    """`Ada said`, `she, turning round, replied`."""
    if not verbs:
        return None
    subject = _subject_of(passage, mentions, words[0], verbs[0])
    if subject is None or subject.first - words[0] > 3:
        return None
    closing = passage.text[max(0, start - 20) : start].rstrip("\"”’'» \n")[-1:]
    goes_on = not passage.words[words[0]].capital or closing in ",-—!?"
    near = verbs[0] - subject.last <= 2
    if near or goes_on or passage.norm(verbs[0]) in SURE_SAID:
        return SpeechTag(subject, "after")
    return None


_CLAUSE = re.compile(r"[.;:!?](?=\s|\Z|[\"”“])|--|—")
_LAST_WORD = re.compile(r"(\w+)\Z")


def _clause_end(text: str, start: int, stop: int) -> int:
    for mark in _CLAUSE.finditer(text, start, stop):
        if mark[0] == "." and _is_abbreviation(text, start, mark.start()):
            continue
        if mark[0] in ("--", "—") and mark.start() == start:
            continue
        return mark.start()
    return stop


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    word = _LAST_WORD.search(text, max(start, stop - 20), stop)
    if word is None:
        return False
    return is_title(word[1]) or (len(word[1]) == 1 and word[1] != "I")


# -- before a quotation


def _tag_before(passage: Prose, place: int) -> SpeechTag | None:
    """`Ada said, “…`, `Then Ada, turning round, cried: “…`; and `Ada nodded. “…`"""
    begin = passage.pieces[place - 1].stop if place else 0
    return _told_before(passage, begin, passage.pieces[place].start)


def _told_before(passage: Prose, begin: int, stop: int) -> SpeechTag | None:
    """The tag or the beat that ends at `stop`."""
    sentence = _last_sentence(passage.text, begin, stop)
    words = passage.between(sentence, stop)
    if not words:
        return None
    mark = passage.text[sentence:stop].rstrip()[-1:]
    leads = mark in ",:-—" or mark.isalnum()
    mentions = passage.mentioned(words)
    tag = _told_by_verb(passage, words, mentions) if leads else None
    if tag is not None:
        return tag
    subject = _subject_of(passage, mentions, words[0], words[-1] + 1)
    if subject is None or (begin and sentence == begin):
        return None
    return SpeechTag(subject, "colon" if leads else "beat")


def _told_by_verb(passage: Prose, words: range, mentions: Sequence[Mention]) -> SpeechTag | None:
    """The tag of a sentence that leads to a quotation, by its last verb of speech."""
    verbs = [w for w in words if passage.norm(w) in SAID or passage.norm(w) in SAYING]
    if not verbs:
        return None
    verb = verbs[-1]
    subject = _subject_of(passage, mentions, words[0], verb)
    if subject is None:
        behind = (m for m in mentions if m.first == verb + 1)
        subject = next((m for m in behind if passage.is_subject_form(m)), None)
    if subject is None:
        return None
    return SpeechTag(subject, "before" if words[-1] - verb <= 8 else "colon")


_SENTENCE = re.compile(r"[.!?](?=[\s\"”])")


def _last_sentence(text: str, begin: int, stop: int) -> int:
    """Where the last sentence of a stretch begins."""
    sentence = begin
    for mark in _SENTENCE.finditer(text, begin, stop):
        if mark[0] == "." and _is_abbreviation(text, begin, mark.start()):
            continue
        if not text[mark.end() : stop].strip(" \n"):
            break
        sentence = mark.end()
    return sentence


# -- subjects

_PREPOSITIONS = frozenset(
    "to at of with from by for upon on in into towards toward beside behind after before near "
    "against over under past about around between like than".split()
)
_CONJUNCTIONS = frozenset(
    "and but or while when whilst till until as that then so for if though although because "
    "before after since where whereupon which however here now".split()
)


def _is_object(passage: Prose, mention: Mention) -> bool:
    return passage.norm(mention.first - 1) in _PREPOSITIONS


def _subject_of(
    passage: Prose, mentions: Sequence[Mention], first: int, verb: int
) -> Mention | None:
    """The subject of a verb: the last person before it that begins a clause."""
    able = [
        subject
        for mention in mentions
        if first <= mention.first and mention.last <= verb
        for subject in (_of_voice(passage, mention, mentions),)
        if passage.is_subject_form(subject)
    ]
    for mention in reversed(able):
        if passage.norm(mention.last) == "who":
            return mention
        if _is_object(passage, mention):
            continue
        near = verb - mention.last <= 1
        if near or mention.first == first or _begins_clause(passage, mention):
            return mention
    return next((mention for mention in able if not _is_object(passage, mention)), None)


def _begins_clause(passage: Prose, mention: Mention) -> bool:
    before = passage.words[mention.first - 1]
    between = passage.text[before.stop : mention.start].strip()
    return bool(between) or before.norm in _CONJUNCTIONS


def _of_voice(passage: Prose, mention: Mention, mentions: Sequence[Mention]) -> Mention:
    """ "the muffled voice of Ada" is Ada's, and so is "Ada's voice"."""
    last = mention.last
    if passage.norm(last - 1) == "voice" and passage.norm(last) == "of":
        return next((m for m in mentions if last < m.first <= last + 2), mention)
    behind = {passage.norm(word) for word in range(last, last + 3)}
    if mention.possessive and behind & {"voice", "lips", "tones"}:
        return replace(mention, possessive=False)
    return mention


# -- within a quotation

_CALL = re.compile(
    r"(?:[,;:.!?—-]|\A|[\"“‘'])\s*(?:(?:my|dear|dearest|poor|oh|o|and|but|no|yes|well|ah|come|now|"
    r"good|old|why|thank you|sir|miss)[\s,]+){0,3}\Z",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\s*(?:[,;:.!?—\"”’]|-|\Z)")


def _look_inside(group: Talk) -> None:
    """Note who is addressed and who is named in a turn."""
    passage = group.passage
    for piece in group.pieces:
        words = passage.between(piece.start, piece.stop)
        for mention in passage.mentioned(words):
            if not mention.characters:
                continue
            if not mention.possessive and _is_call(passage.text, mention, piece):
                group.vocatives |= set(mention.characters)
            else:
                group.named |= set(mention.characters)
        for word in words:
            token = passage.words[word]
            if token.norm in ADDRESSED and _is_call(passage.text, token, piece):
                group.address = ADDRESSED[token.norm]


def _is_call(text: str, place: Mention | Token, piece: Quotation) -> bool:
    """Whether a name stands between marks as a vocative does."""
    before = text[max(piece.start, place.start - 40) : place.start]
    return bool(_CALL.search(before) and _CALLED.match(text, place.stop, piece.stop))
