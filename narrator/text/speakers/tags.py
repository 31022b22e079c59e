"""Groups a passage's quotations into turns of one speaker, and finds their speech tags.

A tag is a clause with a verb of speech next to a quotation (`said Ada`, `Ada, laughing, replied`);
a beat is a sentence of narration in the same paragraph (`Ada laughed. “…”`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from narrator.text.quotations import Quotation
from narrator.text.speakers.mentions import Mention, Passage, is_title
from narrator.text.speakers.names import Token
from narrator.text.speakers.words import (
    ADDRESSED,
    HE_NAMES,
    NOT_NAMES,
    SAID,
    SAYING,
    SHE_NAMES,
    SURE_SAID,
    TITLES,
)
from narrator.text.speech_verbs import named_in_tag
from narrator.text.speech_words import Subject, speech_of


@dataclass(frozen=True, slots=True)
class SpeechTag:
    """Narration that names the speaker next to a quotation."""

    mention: Mention
    rule: str
    """"after", "before", "beat" (which tells what somebody does), or "signature" (of a letter)."""

    @property
    def is_explicit(self) -> bool:
        return self.rule != "beat"


@dataclass(slots=True)
class SpeechTurn:
    """The words of one speaker in one passage: a quotation, in one piece or more."""

    passage: Passage
    pieces: list[Quotation]
    tag: SpeechTag | None = None
    vocatives: set[int] = field(default_factory=set)
    """Characters addressed in it by name."""
    address: str | None = None
    """Pronoun of the person addressed, by a form of address: "sir" he, "madam" she."""
    named_characters: set[int] = field(default_factory=set)
    """Characters mentioned in it."""


def turns(passages: Sequence[Passage], pronouns: Sequence[str | None]) -> list[SpeechTurn]:
    """Returns the turns of all passages, in order; `pronouns` are those of the characters."""
    all_turns: list[SpeechTurn] = []
    for index, passage in enumerate(passages):
        previous = passages[index - 1] if index else None
        if previous is not None and previous.scene != passage.scene:
            previous = None
        if passage.pieces:
            all_turns += _turns_in(passage, previous, pronouns)
    return all_turns


def _turns_in(
    passage: Passage, previous: Passage | None, pronouns: Sequence[str | None]
) -> list[SpeechTurn]:
    """Returns the turns of a passage, split where its tags name another speaker."""
    turns_so_far: list[SpeechTurn] = []
    for index, piece in enumerate(passage.pieces):
        tag = _find_tag(passage, index)
        if turns_so_far and not _has_another_speaker(turns_so_far[-1], tag, piece, pronouns):
            turns_so_far[-1].pieces.append(piece)
            if tag and (
                turns_so_far[-1].tag is None or _tag_weight(tag) > _tag_weight(turns_so_far[-1].tag)
            ):
                turns_so_far[-1].tag = tag
        else:
            turns_so_far.append(SpeechTurn(passage, [piece], tag))
    begins_with_speech = not passage.text[: turns_so_far[0].pieces[0].start].strip()
    if turns_so_far[0].tag is None and previous is not None and begins_with_speech:
        turns_so_far[0].tag = _lead_in_tag(previous)
    for group in turns_so_far:
        _record_names(group)
    return turns_so_far


_KIND_WEIGHTS = {"name": 3, "self": 3, "noun": 2, "pronoun": 1}


def _tag_weight(tag: SpeechTag) -> int:
    return _KIND_WEIGHTS[tag.mention.kind] + 4 * tag.is_explicit


def _has_another_speaker(
    previous_turn: SpeechTurn,
    tag: SpeechTag | None,
    piece: Quotation,
    pronouns: Sequence[str | None],
) -> bool:
    """Returns whether a piece has another speaker than the pieces before it in the passage, or may
    have one."""
    text = previous_turn.passage.text
    last_stop = previous_turn.pieces[-1].stop
    if tag is None or previous_turn.tag is None or tag.mention is previous_turn.tag.mention:
        if previous_turn.tag is None and tag is not None and tag.mention.kind != "pronoun":
            # `“No.” He looked up, and Ada said, “Yes.”`
            return tag.is_explicit and last_stop <= tag.mention.start < piece.start
        # two quotations side by side, without a word between
        return not text[last_stop : piece.start].strip(" \n-—") and text[last_stop - 1] in '"”’»'
    group_mention, tag_mention = previous_turn.tag.mention, tag.mention
    are_known = bool(group_mention.characters and tag_mention.characters)
    if are_known or group_mention.kind == tag_mention.kind == "name":
        return not set(group_mention.characters) & set(tag_mention.characters)
    if "self" in (group_mention.kind, tag_mention.kind):
        return group_mention.kind != tag_mention.kind and tag.is_explicit
    pronouns_of_tags = [
        {pronouns[character] for character in mention.characters} or {mention.pronoun}
        for mention in (group_mention, tag_mention)
    ]
    return not pronouns_of_tags[0] & pronouns_of_tags[1] and None not in set().union(
        *pronouns_of_tags
    )


def _find_tag(passage: Passage, index: int) -> SpeechTag | None:
    """Returns the tag of a piece: before it if that leads to the piece, else after it."""
    if not passage.is_english:
        return _foreign_tag(passage, index)
    tag_before = _tag_before(passage, index)
    tag_after = _tag_after(passage, index)
    if tag_before is None or (tag_before.rule != "before" and tag_after is not None):
        return tag_after
    if tag_after is not None and index:
        previous_tag = _tag_after(passage, index - 1)
        if previous_tag is not None and previous_tag.mention is tag_before.mention:
            return tag_after  # `“Yes,” said Ada, and “No,” said Ben`
    return tag_before


def _lead_in_tag(passage: Passage) -> SpeechTag | None:
    """Returns the tag at the end of the paragraph before a quotation: "Ada said" and a new line."""
    last_mark = passage.text.rstrip()[-1:]
    leads_in = last_mark in (*_LEADING_MARKS, "—", "-") or last_mark.isalnum()
    narration_start = passage.pieces[-1].stop if passage.pieces else 0
    if not passage.is_english:
        return _foreign_lead_in(passage, narration_start, leads_in=leads_in)
    if not leads_in:
        return None
    tag = _tag_ending_at(passage, narration_start, len(passage.text))
    return tag if tag is not None and tag.is_explicit else None


_LEADING_MARKS = (":", ",", "：", "，", "、")
"""Marks at the end of narration that leads to a quotation."""


def _foreign_lead_in(passage: Passage, start: int, *, leads_in: bool) -> SpeechTag | None:
    """Returns the tag at the end of a paragraph of another language before a quotation."""
    text = passage.text[start:]
    if not leads_in:
        # a Japanese sentence ends with its verb: 先生がまた言いました。
        is_verb_last = "subject-particle" in speech_of(passage.language).traits
        if not is_verb_last or passage.pieces:
            return None
        text = "\u3000" + text.lstrip("\u3000")
        start -= len(text) - len(passage.text[start:])
    sentence = _last_sentence(passage.text, max(0, start), len(passage.text))
    subject = named_in_tag(text, passage.language)
    if subject is not None:
        return SpeechTag(_mention_of_subject(passage, start, subject, sentence), "before")
    if not leads_in:
        return None
    mention = _sentence_subject(passage, sentence, len(passage.text))
    return SpeechTag(mention, "before") if mention is not None else None


def _foreign_tag(passage: Passage, index: int) -> SpeechTag | None:
    """Returns the tag of a piece in a language with known verbs of speech and pronouns."""
    piece = passage.pieces[index]
    previous_stop = passage.pieces[index - 1].stop if index else 0
    next_start = (
        passage.pieces[index + 1].start if index + 1 < len(passage.pieces) else len(passage.text)
    )
    before = passage.text[previous_stop : piece.start]
    if before.rstrip(" \n\u00a0—–-")[-1:] in _LEADING_MARKS:
        subject = named_in_tag(before, passage.language)
        sentence = _last_sentence(passage.text, previous_stop, piece.start)
        if subject is not None:
            return SpeechTag(
                _mention_of_subject(passage, previous_stop, subject, sentence), "before"
            )
    after = passage.text[piece.stop : next_start]
    if after.rstrip()[-1:] in (":", "："):  # its last sentence leads to the next piece
        after = after[: _last_sentence(passage.text, piece.stop, next_start) - piece.stop]
    subject = named_in_tag(after, passage.language)
    if subject is not None:
        return SpeechTag(_mention_of_subject(passage, piece.stop, subject, piece.stop), "after")
    if (mention := _inverted_subject(passage, piece.stop, next_start)) is not None:
        return SpeechTag(mention, "after")
    if index == 0 and before.strip():
        sentence = _last_sentence(passage.text, 0, piece.start)
        mention = _sentence_subject(passage, sentence, piece.start)
        if mention is not None:
            leads_in = before.rstrip()[-1:] in _LEADING_MARKS
            return SpeechTag(mention, "before" if leads_in else "beat")
    return None


def _inverted_subject(passage: Passage, start: int, stop: int) -> Mention | None:
    """Returns the name right after the first word of narration that follows a quotation: that
    word is a verb, though perhaps no known one (« ironisa Anna »)."""
    words = passage.between(start, stop)
    speech = speech_of(passage.language)
    if not words or speech.is_unspaced:
        return None
    verb = passage.words[words[0]]
    if verb.is_capitalised or verb.norm in speech.never_names or verb.norm in speech.nouns:
        return None
    mention = next((m for m in passage.mentions_in(words) if m.kind == "name"), None)
    if mention is None or mention.is_possessive:
        return None
    words_between = range(words[0] + 1, mention.first)
    gap = passage.text[verb.stop : mention.start]
    is_near = len(words_between) <= 2 and not set(gap) & set(",;.:!?")
    has_preposition = any(passage.norm(word) in speech.prepositions for word in words_between)
    return mention if is_near and not has_preposition else None


def _sentence_subject(passage: Passage, start: int, stop: int) -> Mention | None:
    """Returns the person with whom a sentence of another language begins, or None."""
    words = passage.between(start, stop)
    speech = speech_of(passage.language)
    for mention in passage.mentions_in(words):
        words_before = [passage.norm(word) for word in range(words.start, mention.first)]
        if speech.is_unspaced:
            is_first = mention.kind == "name" and (
                "subject-particle" not in speech.traits
                or passage.text[mention.stop : mention.stop + 1] in speech.subject_particles
            )
        else:
            is_first = len(words_before) <= 3 and all(
                word in speech.openers
                or word in speech.articles
                or word in speech.nouns
                or word in speech.address
                for word in words_before
            )
        if is_first and passage.is_subject_form(mention):
            return mention
    return None


def _clause_subject(passage: Passage, start: int, stop: int) -> Mention | None:
    """Returns the name with which the last clause before stop begins, in a language written
    without spaces (林黛玉笑向宝玉道), or None."""
    if not speech_of(passage.language).is_unspaced:
        return None
    clause = start + 1 + max(passage.text[start:stop].rfind(mark) for mark in "，、；。！？")
    mention = _sentence_subject(passage, clause, stop)
    return mention if mention is not None and mention.start == clause else None


def _mention_of_subject(
    passage: Passage, narration_start: int, subject: Subject, sentence: int
) -> Mention:
    """Returns the mention at the subject of a tag, or a new one; if only a verb's form tells the
    subject, the person with whom the tag's sentence begins."""
    speech = speech_of(passage.language)
    start_offset, stop_offset = narration_start + subject.start, narration_start + subject.stop
    if start_offset == stop_offset:
        if (mention := _clause_subject(passage, narration_start, stop_offset)) is not None:
            return mention
        begins = (sentence, _last_sentence(passage.text, narration_start, sentence))
        for begin in begins if sentence > narration_start else begins[:1]:
            mention = _sentence_subject(passage, begin, stop_offset)
            if mention is not None and mention.kind == "name":
                return mention
    first = bisect_right(passage.mentions, start_offset, key=lambda mention: mention.stop)
    last = bisect_left(passage.mentions, stop_offset, key=lambda mention: mention.start)
    overlapping = passage.mentions[first:last]
    named = next((mention for mention in overlapping if mention.kind in ("name", "noun")), None)
    is_object = named is not None and named.is_possessive and bool(speech.case_endings)
    if named is not None and not is_object:
        return replace(named, pronoun=named.pronoun or subject.pronoun, is_possessive=False)
    words = passage.between(start_offset, stop_offset)
    kind = "pronoun" if subject.is_pronoun or is_object else "noun"  # спросила Ивана
    is_name = bool(words) and all(
        passage.words[word].is_capitalised and passage.norm(word) not in speech.nouns
        for word in words
    )
    if kind == "noun" and is_name and not speech.is_unspaced:
        kind = "name"
    if subject.pronoun == "I":
        kind = "self"
    pronoun = "i" if kind == "self" else subject.pronoun
    noun = passage.norm(words[-1]) if words and kind == "noun" else ""
    return Mention(
        kind,
        start_offset,
        stop_offset,
        words.start,
        words.stop,
        is_quoted=False,
        pronoun=pronoun,
        noun=noun,
    )


def count_pronouns(turns: Sequence[SpeechTurn]) -> dict[int, Counter[str]]:
    """Counts the pronouns that tags imply for the characters they name: сказала Анна."""
    counts: dict[int, Counter[str]] = {}
    for turn in turns:
        mention = turn.tag.mention if turn.tag is not None else None
        if (
            mention is not None
            and mention.kind == "name"
            and len(mention.characters) == 1
            and mention.pronoun in ("he", "she")
        ):
            counts.setdefault(mention.characters[0], Counter())[mention.pronoun] += 1
    return counts


# -- after a quotation

_OPENERS = frozenset("then here again so at thus next now presently suddenly".split())
_PARTICLES = frozenset("in out up on back forth off".split())


def _tag_after(passage: Passage, index: int) -> SpeechTag | None:
    """Finds a tag after a quotation: `…,” said Ada` and `…,” Ada said`."""
    text = passage.text
    start = passage.pieces[index].stop
    next_pieces = passage.pieces[index + 1 : index + 2]
    end = _clause_end(text, start, next_pieces[0].start if next_pieces else len(text))
    words = passage.between(start, end)
    if not words or text[start : passage.words[words[0]].start].strip(" ,-—\n"):
        return None
    mentions = passage.mentions_in(words)
    if passage.norm(words[0]) == "came":  # the voice of Ada
        return next(
            (SpeechTag(mention, "after") for mention in mentions if mention.kind == "name"), None
        )
    verbs = [word for word in words[:14] if passage.norm(word) in SAID]
    return _tag_with_verb_first(passage, words, verbs, mentions) or _tag_with_subject_first(
        passage, words, verbs, mentions, start
    )


def _tag_with_verb_first(
    passage: Passage, words: range, verbs: Sequence[int], mentions: Sequence[Mention]
) -> SpeechTag | None:
    """Matches `said Ada`, `then said the old man`, `broke in Ada`."""
    first_word = passage.words[words[0]]
    verb = words[0] if first_word.norm in SAID and not first_word.is_capitalised else None
    if first_word.norm in _OPENERS and verbs and verbs[0] <= words[0] + 2:
        verb = verbs[0]
    if verb is None:
        return None
    subject_index = verb + 1 + (passage.norm(verb + 1) in _PARTICLES)
    next_mention = next((mention for mention in mentions if mention.first >= subject_index), None)
    if next_mention is not None and next_mention.first == subject_index:
        subject = _resolve_voice(passage, next_mention, mentions)
        return SpeechTag(subject, "after") if passage.is_subject_form(subject) else None
    if (unknown_name := _unknown_name(passage, subject_index, words.stop)) is not None:
        return SpeechTag(unknown_name, "after")
    if first_word.norm not in SURE_SAID:
        return None
    tag = _tag_near_verb(passage, verb, mentions)
    noun = _unknown_noun(passage, subject_index, words.stop) if tag is None else None
    return SpeechTag(noun, "after") if noun is not None else tag


def _tag_near_verb(passage: Passage, verb: int, mentions: Sequence[Mention]) -> SpeechTag | None:
    """Returns a tag with a person within three words of a verb: `said at last the good Ada`."""
    for mention in mentions:
        if (
            verb < mention.first <= verb + 3
            and mention.kind in ("name", "noun")
            and not mention.is_possessive
        ):
            return None if _is_object(passage, mention) else SpeechTag(mention, "after")
    return None


def _tag_with_subject_first(
    passage: Passage, words: range, verbs: Sequence[int], mentions: Sequence[Mention], start: int
) -> SpeechTag | None:
    """Matches `Ada said`, `she, turning round, replied`."""
    if not verbs:
        return None
    subject = _subject_of(passage, mentions, words[0], verbs[0])
    last_mark = passage.text[max(0, start - 20) : start].rstrip("\"”’'» \n")[-1:]
    if subject is None and last_mark == ",":
        subject = _unknown_name(passage, words[0], verbs[0])
        if subject is None and passage.norm(verbs[0]) in SURE_SAID:
            subject = _unknown_noun(passage, words[0], verbs[0])
        subject = subject if subject is not None and subject.last == verbs[0] else None
    if subject is None or subject.first - words[0] > 3:
        return None
    is_near = verbs[0] - subject.last <= 2
    if _begins_sentence(passage, words[0], subject, start):
        is_tag = is_near and passage.norm(verbs[0]) in SURE_SAID
    else:
        is_tag = True
    return SpeechTag(subject, "after") if is_tag else None


def _begins_sentence(passage: Passage, word: int, subject: Mention, start: int) -> bool:
    """Returns whether narration after a quotation begins a sentence of its own with `word`, so
    that it rather tells what happens than who spoke."""
    if not passage.words[word].is_capitalised:
        return False
    last_mark = passage.text[max(0, start - 20) : start].rstrip("\"”’'» \n")[-1:]
    is_name = subject.kind in ("name", "self") and subject.first == word
    return last_mark not in ",-—!?" or (last_mark in "!?" and not is_name)


def _unknown_name(passage: Passage, first: int, stop: int) -> Mention | None:
    """Returns a mention of somebody whom the cast lacks, by the name that begins at a word."""
    last = first
    while last < stop and passage.words[last].is_capitalised:
        last += 1
    run = passage.words[first:last]
    if not any(word.norm not in NOT_NAMES and word.norm not in TITLES for word in run):
        return None
    if run[0].norm in NOT_NAMES - TITLES.keys() or run[-1].is_possessive:
        return None
    if run[0].norm in TITLES and run[-1].norm in HE_NAMES | SHE_NAMES:
        return None  # Miss Lucy may be Miss Hart
    return Mention("name", run[0].start, run[-1].stop, first, last, is_quoted=False)


_MAX_NOUN_WORDS = 4
"""Words of a noun with its article and adjectives."""


def _unknown_noun(passage: Passage, first: int, stop: int) -> Mention | None:
    """Returns a mention of somebody by a noun that no list has, with its article, if it ends as
    nouns do that say what a person does: the lamplighter.

    It ends where a clause does, or before an adverb or a preposition.
    """
    if passage.norm(first) not in ("the", "a", "an"):
        return None
    last = first + 1
    while last < min(stop, first + _MAX_NOUN_WORDS):
        norm, gap = passage.norm(last), passage.text[passage.words[last - 1].stop :]
        is_end = norm in _PREPOSITIONS | _CONJUNCTIONS or norm in SAID or norm.endswith("ly")
        if is_end or gap[:1] not in (" ", "-"):
            break
        last += 1
    head = passage.words[last - 1]
    if last == first + 1 or head.is_capitalised or not head.norm.endswith(_AGENT_ENDINGS):
        return None
    start = passage.words[first].start
    return Mention("noun", start, head.stop, first, last, is_quoted=False, noun=head.norm)


_AGENT_ENDINGS = tuple("er or man woman boy girl maid wife ist smith wright ess eer".split())

_CLAUSE = re.compile(r"[.;:!?](?=\s|\Z|[\"”“])|--|—")
_LAST_WORD = re.compile(r"(\w+)\Z")


def _clause_end(text: str, start: int, stop: int) -> int:
    """Returns the end of the clause that begins at `start`."""
    for match in _CLAUSE.finditer(text, start, stop):
        if match[0] == "." and _is_abbreviation(text, start, match.start()):
            continue
        if match[0] in ("--", "—") and match.start() == start:
            continue
        return match.start()
    return stop


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    match = _LAST_WORD.search(text, max(start, stop - 20), stop)
    if match is None:
        return False
    return is_title(match[1]) or (len(match[1]) == 1 and match[1] != "I")


# -- before a quotation


def _tag_before(passage: Passage, index: int) -> SpeechTag | None:
    """Finds a tag before a quotation: `Ada said, “…`, `Then Ada, turning round, cried: “…`, `Ada
    nodded. “…`"""
    begin = passage.pieces[index - 1].stop if index else 0
    return _tag_ending_at(passage, begin, passage.pieces[index].start)


def _tag_ending_at(passage: Passage, begin: int, stop: int) -> SpeechTag | None:
    """Returns the tag or the beat that ends at `stop`."""
    sentence = _last_sentence(passage.text, begin, stop)
    words = passage.between(sentence, stop)
    if not words:
        return None
    last_mark = passage.text[sentence:stop].rstrip()[-1:]
    leads_in = last_mark in ",:-—" or last_mark.isalnum()
    mentions = passage.mentions_in(words)
    tag = _tag_by_verb(passage, words, mentions) if leads_in else None
    if tag is not None:
        return tag
    subject = _subject_of(passage, mentions, words[0], words[-1] + 1)
    if subject is None or (begin and sentence == begin):
        return None
    return SpeechTag(subject, "beat")


def _tag_by_verb(passage: Passage, words: range, mentions: Sequence[Mention]) -> SpeechTag | None:
    """Returns the tag of a sentence that leads to a quotation, by its last verb of speech."""
    verbs = [word for word in words if passage.norm(word) in SAID or passage.norm(word) in SAYING]
    if not verbs:
        return None
    verb = verbs[-1]
    subject = _subject_of(passage, mentions, words[0], verb)
    if subject is None:
        mentions_after = (mention for mention in mentions if mention.first == verb + 1)
        subject = next(
            (mention for mention in mentions_after if passage.is_subject_form(mention)), None
        )
    if subject is None and passage.norm(verb) in SURE_SAID:
        subject = _unknown_noun(passage, words[0], verb)
        subject = subject if subject is not None and subject.last == verb else None
    if subject is None:
        return None
    return SpeechTag(subject, "before" if words[-1] - verb <= 8 else "beat")


_SENTENCE = re.compile(r"[.!?](?=[\s\"”])|[。！？]")


def _last_sentence(text: str, begin: int, stop: int) -> int:
    """Returns the offset of the last sentence in `text[begin:stop]`."""
    sentence = begin
    for match in _SENTENCE.finditer(text, begin, stop):
        if match[0] == "." and _is_abbreviation(text, begin, match.start()):
            continue
        if not text[match.end() : stop].strip(" \n"):
            break
        sentence = match.end()
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


def _is_object(passage: Passage, mention: Mention) -> bool:
    return passage.norm(mention.first - 1) in _PREPOSITIONS


def _subject_of(
    passage: Passage, mentions: Sequence[Mention], first: int, verb: int
) -> Mention | None:
    """Returns the subject of a verb: the last person before it that begins a clause."""
    possible_subjects = [
        subject
        for mention in mentions
        if first <= mention.first and mention.last <= verb
        for subject in (_resolve_voice(passage, mention, mentions),)
        if passage.is_subject_form(subject)
    ]
    for mention in reversed(possible_subjects):
        if passage.norm(mention.last) == "who":
            return mention
        is_near = verb - mention.last <= 1
        is_conjunction = is_near and passage.norm(mention.first - 1) in _CONJUNCTIONS
        if _is_object(passage, mention) and not is_conjunction:
            continue
        if is_near or mention.first == first or _begins_clause(passage, mention):
            return mention
    return next(
        (mention for mention in possible_subjects if not _is_object(passage, mention)), None
    )


def _begins_clause(passage: Passage, mention: Mention) -> bool:
    previous_word = passage.words[mention.first - 1]
    gap_text = passage.text[previous_word.stop : mention.start].strip()
    return bool(gap_text) or previous_word.norm in _CONJUNCTIONS


def _resolve_voice(passage: Passage, mention: Mention, mentions: Sequence[Mention]) -> Mention:
    """Returns Ada for "the muffled voice of Ada" and "Ada's voice"."""
    end = mention.last
    if passage.norm(end - 1) == "voice" and passage.norm(end) == "of":
        return next((m for m in mentions if end < m.first <= end + 2), mention)
    next_norms = {passage.norm(word) for word in range(end, end + 3)}
    if mention.is_possessive and next_norms & {"voice", "lips", "tones"}:
        return replace(mention, is_possessive=False)
    return mention


# -- within a quotation

_BEFORE_CALL = re.compile(
    r"(?:[,;:.!?—¡¿，。！？、…–-]|\A|[\"“‘'«»„「『])\s*(?:(?:my|dear|dearest|poor|oh|o|and|but|no|yes|well|ah|come|now|"
    r"good|old|why|thank you|sir|miss)[\s,]+){0,3}\Z",
    re.IGNORECASE,
)
_AFTER_CALL = re.compile(r"(?:さん|君|様|ちゃん)?\s*(?:[,;:.!?—\"”’“»«，。！？、…」–]|-|\Z)")


def _record_names(turn: SpeechTurn) -> None:
    """Records the characters addressed and mentioned in a turn."""
    passage = turn.passage
    for piece in turn.pieces:
        words = passage.between(piece.start, piece.stop)
        for mention in passage.mentions_in(words):
            if not mention.characters:
                continue
            if not mention.is_possessive and _is_call(passage.text, mention, piece):
                turn.vocatives |= set(mention.characters)
            else:
                turn.named_characters |= set(mention.characters)
        for word in words:
            token = passage.words[word]
            if token.norm in ADDRESSED and _is_call(passage.text, token, piece):
                turn.address = ADDRESSED[token.norm]


def _is_call(text: str, call: Mention | Token, piece: Quotation) -> bool:
    """Returns whether punctuation marks a name as a vocative."""
    text_before = text[max(piece.start, call.start - 40) : call.start]
    return bool(_BEFORE_CALL.search(text_before) and _AFTER_CALL.match(text, call.stop, piece.stop))
