"""A project's quotations -> who says them: what is decided already, and what the rules say of the
rest, as `narrator cast` shows it and as the files beside the texts keep it.

A person's word stays, print stays; what a rule said is what rules say now. Starts no model: what
one says comes in by `refine`. Prints nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from narrator.errors import Problem, StorageError
from narrator.pipeline.manuscript import Manuscript, paragraphs, roles_of
from narrator.pipeline.speakers import LOST, orphans
from narrator.project.project import Project
from narrator.text import decided, stretches
from narrator.text.decided import NOBODY, UNKNOWN, Decided, Row
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line
from narrator.text.sentences import primary
from narrator.text.speakers import NO_SPEECH, Attribution, Character, Said, attribute
from narrator.text.speakers.asking import MODEL
from narrator.text.stretches import Quoted

SURE = 0.9
"""What is at least so sure need not be looked at."""

Refine = Callable[[Attribution, Sequence[Sequence[str]]], Attribution]
"""What is found by rules, and the paragraphs of all chapters -> the same, decided better."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation of a project, or a piece of one, and who says it."""

    chapter: int
    """Its place in the project's chapters."""
    quoted: Quoted
    row: Row
    """What the file of its chapter says of it."""
    speaker: str | None
    """Main name of a character; of several in unison the first. None for nobody's speech, and where
    nobody knows."""
    others: tuple[tuple[str, float], ...] = ()
    """Who else may say it, the likeliest first, each with its probability at this place alone."""
    was: str = ""
    """Whom its file names, where a rule or model says another now."""

    @property
    def number(self) -> int:
        """The line of the source that it begins in."""
        return self.quoted.line.number_at(self.quoted.start)

    @property
    def path(self) -> Path:
        return self.quoted.line.path

    @property
    def by(self) -> str:
        """Who decided: you, print, the name of a rule or model."""
        return self.row.name or self.row.by

    @property
    def is_doubtful(self) -> bool:
        """Whether a person should look at it."""
        decides = self.row.by in ("rule", "model") and self.row.speaker != NOBODY
        return decides and (self.row.speaker == UNKNOWN or self.row.sure < SURE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Who says what in a project."""

    project: Project
    characters: tuple[Character, ...]
    """Those of the project first."""
    chapters: tuple[Chapter, ...]
    """A line for each paragraph."""
    quotes: tuple[Quote, ...]
    """In the order of the book; none of chapters whose text stands in the manifest."""
    files: Mapping[int, Decided]
    """By chapter, as they would be written."""
    found: Attribution
    """What the rules say, or who was asked last, before what is decided already."""
    texts: Sequence[Sequence[str]]
    """The paragraphs of all chapters that the rules were given; `in_order` has their lines."""
    warnings: tuple[Problem, ...] = ()
    lines: Mapping[str, int] = field(default_factory=Counter)
    """Character -> quotations, pieces counted."""

    def text_of(self, chapter: int) -> str:
        """Name of the file of a chapter's text."""
        return Path(self.project.chapters[chapter].file or "").name

    @property
    def given(self) -> Counter[str]:
        """Speaker -> stretches that the text itself gives them, by labels and in braces."""
        found: Counter[str] = Counter()
        for line in (line for chapter in self.chapters for s in chapter.scenes for line in s.lines):
            if not line.is_narration and line.speaker != self.project.narrator:
                found[line.speaker] += 1
            for one in line.given:
                found.update(one.speakers)
        return found

    @property
    def doubtful(self) -> list[tuple[Quote, ...]]:
        """What a person should look at, each with its pieces, the weakest first."""
        groups = [group for group in together(self.quotes) if group[0].is_doubtful]
        return sorted(groups, key=lambda group: _certainty(group[0].row))


def _certainty(row: Row) -> float:
    return 0.0 if row.speaker == UNKNOWN else row.sure


def together(quotes: Sequence[Quote]) -> Iterator[tuple[Quote, ...]]:
    """Quotations with all of their pieces, in order."""
    group: list[Quote] = []
    for one in quotes:
        if group and not (one.row.goes_on and one.row.speaker == group[-1].row.speaker):
            yield tuple(group)
            group = []
        group.append(one)
    if group:
        yield tuple(group)


def unasked(manuscript: Manuscript) -> int:
    """How many quotations a book has in its narration, which one voice reads with all else."""
    if len({one.chunk.speaker for one in manuscript.spoken}) > 1:
        return 0
    return sum(len(stretches.quoted(chapter)) for chapter in manuscript.chapters)


# -- the cast


def characters(project: Project) -> tuple[Character, ...]:
    """Those of a project's cast who are somebody in the book: no narrator who tells it and is none
    of its characters, and no voice that others share."""
    return tuple(
        Character(name, tuple(speaker.aliases), speaker.pronoun)
        for name, speaker in project.manifest.cast.items()
        if name.casefold() != "narrator"
        and (name != project.narrator or name == project.first_person)
        and not (speaker.plays and SHARED.fullmatch(name))
    )


SHARED = re.compile(r"(other )*(women|men|others)")
"""What voices are called that are nobody's own; what they play has names."""


def narrated(project: Project) -> Project:
    """The project with somebody who narrates: a cast of characters alone has nobody."""
    if project.narrator is not None:
        return project
    told = project.manifest.model_copy(update={"narrator": "narrator"})
    return replace(project, manifest=told)


# -- what is proposed


def propose(project: Project, *, find: bool = False) -> Proposal:
    """Who says the quotations of a project, by rules. Characters are found where it has none, or
    with `find`.

    Raises ScriptError where a text cannot be read.
    """
    project = narrated(project)
    chapters = paragraphs(project)
    texts = [[_told(line) for line in in_order(chapter)] for chapter in chapters]
    found = _attributed(project, chapters, texts, characters(project), find)
    return _merged(project, chapters, texts, found)


def refined(proposal: Proposal, refine: Refine) -> Proposal:
    """The same, where the rules are not sure decided by `refine`."""
    found = refine(_with_people(proposal), proposal.texts)
    return _merged(proposal.project, proposal.chapters, proposal.texts, found)


def _merged(
    project: Project,
    chapters: tuple[Chapter, ...],
    texts: Sequence[Sequence[str]],
    found: Attribution,
) -> Proposal:
    """What is found, under what the files beside the texts have decided already."""
    known = characters(project)
    by_name, roles = _by_name(project, found), roles_of(project)
    said: dict[int, list[Said]] = {}
    for one in found.said:
        said.setdefault(one.chapter, []).append(one)
    quotes: list[Quote] = []
    files: dict[int, Decided] = {}
    warnings = orphans(project)
    for number, place in _places(project).items():
        old = decided.read(place)
        warnings += old.problems
        own = stretches.quoted(chapters[number])
        beside = _beside(chapters[number], own, said.get(number, []))
        words = [one.text for one in own]
        there = [None if p is None else old.rows[p] for p in old.matched(words)]
        rows = _rows(there, own, beside, by_name, roles)
        files[number] = decided.renewed(old, words, rows)
        warnings += _strangers(files[number], by_name, roles)
        warnings += _lost(files[number], words)
        quotes += [
            Quote(
                number,
                one,
                row,
                _speaker(row, by_name, roles),
                rule.others if rule else (),
                _was(here, row),
            )
            for one, row, rule, here in zip(own, rows, beside, there, strict=True)
        ]
    lines = Counter(one.speaker for one in quotes if one.speaker is not None)
    return Proposal(
        project,
        tuple(one for one in by_name.values() if one in known or lines[one.name]),
        chapters,
        tuple(quotes),
        files,
        found,
        texts,
        tuple(dict.fromkeys(warnings)),
        lines,
    )


def _with_people(proposal: Proposal) -> Attribution:
    """What is found, but for what people and print have decided: nobody is asked about that, and
    who is asked about the rest is shown it."""
    found, chapters = proposal.found, proposal.chapters
    cast, roles = _by_name(proposal.project, found), roles_of(proposal.project)
    rows: dict[int, Said] = {}
    for number, place in _places(proposal.project).items():
        old, own = decided.read(place), stretches.quoted(chapters[number])
        beside = _beside(chapters[number], own, [o for o in found.said if o.chapter == number])
        for rule, row in zip(beside, old.matched([one.text for one in own]), strict=True):
            if rule is not None and row is not None and old.rows[row].by in ("you", "print"):
                who = _speaker(old.rows[row], cast, roles)
                rows[id(rule)] = replace(rule, speaker=who, sure=1.0, by=old.rows[row].by)
    return replace(found, said=tuple(rows.get(id(one), one) for one in found.said))


def _by_name(project: Project, found: Attribution) -> dict[str, Character]:
    """All characters, those of the project first."""
    return {one.name: one for one in (*characters(project), *found.cast)}


def _places(project: Project) -> dict[int, Path]:
    """Chapter -> its file of speakers, each file once: a text that is two chapters counts once, and
    of two texts that would share a file the second stays the narrator's, as `check` says."""
    places: dict[Path, int] = {}
    for number, chapter in enumerate(project.chapters):
        if chapter.file is not None:
            places.setdefault(decided.place_of(project.root / chapter.file), number)
    return {number: place for place, number in places.items()}


def in_order(chapter: Chapter) -> list[Line | None]:
    """The paragraphs of a chapter as the rules are given them; None where a scene ends."""
    found: list[Line | None] = []
    for scene in chapter.scenes:
        found += [None] if found else []
        found += scene.lines
    return found


def _told(line: Line | None) -> str:
    """A paragraph of narration; nothing of what is somebody's already."""
    if line is None:
        return "* * *"
    return line.text if line.is_narration else ""


def _attributed(
    project: Project,
    chapters: Sequence[Chapter],
    texts: Sequence[Sequence[str]],
    known: Sequence[Character],
    find: bool,
) -> Attribution:
    """What the rules say, of chapters in each language by themselves."""
    languages = dict.fromkeys(primary(chapter.language) for chapter in chapters)
    cast: dict[str, Character] = {}
    said: list[Said] = []
    for language in languages:
        own = [
            text if primary(chapter.language) == language else []
            for text, chapter in zip(texts, chapters, strict=True)
        ]
        part = attribute(
            own,
            known,
            language=language,
            first_person=project.first_person,
            find=find,
            was_found=project.manifest.dialogue.cast == "found",
        )
        cast |= {one.name: one for one in part.cast if one.name not in cast}
        said += part.said
    said.sort(key=lambda one: (one.chapter, one.quotation.paragraph, one.quotation.start))
    return Attribution(tuple(cast.values()), tuple(said))


def _beside(chapter: Chapter, own: Sequence[Quoted], said: Sequence[Said]) -> list[Said | None]:
    """For each quotation of a chapter what the rules say of it, or of most of its words."""
    places: dict[tuple[int, int], int] = {}
    for scene_number, scene in enumerate(chapter.scenes):
        for place in range(len(scene.lines)):
            places[scene_number, place] = len(places) + scene_number
    by_paragraph: dict[int, list[Said]] = {}
    for one in said:
        by_paragraph.setdefault(one.quotation.paragraph, []).append(one)
    found: list[Said | None] = []
    for quoted in own:
        shared = [
            (min(one.quotation.stop, quoted.stop) - max(one.quotation.start, quoted.start), one)
            for one in by_paragraph.get(places[quoted.scene, quoted.place], ())
        ]
        most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
        found.append(best if most > 0 else None)
    return found


# -- rows


def _was(here: Row | None, row: Row) -> str:
    """Whom a file names where another is named now."""
    same = here is None or here.speaker == row.speaker
    return "" if same or here is None else decided.names_in(here.speaker)


def _rows(
    there: Sequence[Row | None],
    own: Sequence[Quoted],
    said: Sequence[Said | None],
    cast: Mapping[str, Character],
    roles: Roles,
) -> list[Row]:
    """A row for each quotation of a chapter; `there` are those that its file has."""
    rows: list[Row] = []
    for one, rule, here in zip(own, said, there, strict=True):
        fresh = _fresh(one, rule)
        if here is not None and _stays(here, fresh, cast, roles):
            rows.append(here)
        elif fresh.goes_on and rows and rows[-1].is_yours and (here is None or here.goes_on):
            rows.append(replace(fresh, speaker=rows[-1].speaker))
        else:
            rows.append(fresh)
    return rows


def _fresh(one: Quoted, rule: Said | None) -> Row:
    """What a run says of a quotation."""
    words = decided.shortened(one.text)
    if rule is None:
        return Row(UNKNOWN, "rule", words, "none", 0.0)
    kind, name = (
        ("model", rule.by[len(MODEL) :]) if rule.by.startswith(MODEL) else ("rule", rule.by)
    )
    speaker = UNKNOWN if rule.speaker is None else decided.column([rule.speaker])
    if rule.speaker is None and (rule.by == NO_SPEECH or kind == "model"):
        speaker = NOBODY
    name = re.sub(r"\s+", "-", rule.by.removeprefix(MODEL)) or "none"
    return Row(speaker, kind, words, name, round(rule.sure, 2), rule.goes_on)


def _stays(row: Row, fresh: Row, cast: Mapping[str, Character], roles: Roles) -> bool:
    """Whether what is decided of a quotation is not decided anew: what a person said and print
    says; and what a model said while it is surer than the rules."""
    if row.by != "model" or fresh.by == "model":
        return row.by in ("you", "print")
    known = row.speaker in (NOBODY, UNKNOWN) or bool(_named(row, cast, roles))
    return known and row.sure >= fresh.sure


def _named(row: Row, cast: Mapping[str, Character], roles: Roles) -> tuple[str, ...]:
    """Whom a row names: speakers of the project, or characters that are found."""
    name = decided.names_in(row.speaker)
    return roles.named(name) or ((name,) if name in cast else ())


def _speaker(row: Row, cast: Mapping[str, Character], roles: Roles) -> str | None:
    if row.speaker in (NOBODY, UNKNOWN):
        return None
    return next((name for name in _named(row, cast, roles) if name in cast), None)


def _strangers(file: Decided, cast: Mapping[str, Character], roles: Roles) -> Iterator[Problem]:
    """Whom a person's rows name and nobody is called, each once."""
    found: dict[str, list[int]] = {}
    for row in file.rows:
        if row.is_yours and row.speaker not in (NOBODY, UNKNOWN) and not _named(row, cast, roles):
            found.setdefault(decided.names_in(row.speaker), []).append(row.number)
    for name, places in found.items():
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        what = f"“{name}”{more} is not in the cast; if it is somebody's old name, keep it: "
        yield Problem(file.path, places[0] or None, f"{what}aliases: [{_in_list(name)}]")


def _lost(file: Decided, words: Sequence[str]) -> Iterator[Problem]:
    """A person's rows that find no quotation."""
    for place in sorted(set(range(len(file.rows))) - set(file.matched(words))):
        row = file.rows[place]
        if row.is_yours:
            yield Problem(file.path, row.number or None, f"{row.words} {LOST}")


def _in_list(name: str) -> str:
    """A name as a list of YAML has it."""
    return name if re.fullmatch(r"[^\W\d][\w .'’-]*", name) else f"“{name}”"


# -- writing


def write(proposal: Proposal) -> list[Path]:
    """Write the files of speakers that say something else now; their paths.

    Raises StorageError for those that cannot be written, after the others are.
    """
    paths: list[Path] = []
    faults: list[Problem] = []
    for number in proposal.files:
        try:
            path = write_chapter(proposal, number)
        except StorageError as error:
            faults += error.problems
        else:
            paths += [path] if path else []
    if faults:
        raise StorageError(faults)
    return paths


def write_chapter(proposal: Proposal, number: int) -> Path | None:
    """The file of one chapter, if it says something else now. Raises StorageError."""
    file = proposal.files[number]
    return file.path if decided.write(file, proposal.text_of(number)) else None


def answered(proposal: Proposal, group: Sequence[Quote], speaker: str) -> Proposal:
    """The proposal after a person has said who says a quotation, all of its pieces; with what the
    file of its chapter says by now, which may have been edited meanwhile.

    `speaker` is the name of one of the cast, or NOBODY, UNKNOWN.
    """
    is_name = speaker not in (NOBODY, UNKNOWN)
    said = decided.column([speaker]) if is_name else speaker
    places = {id(one): place for place, one in enumerate(group)}
    quotes = list(proposal.quotes)
    for n, one in enumerate(quotes):
        if (place := places.get(id(one))) is not None:
            row = Row(said, "you", one.row.words, goes_on=place > 0)
            quotes[n] = replace(one, row=row, speaker=speaker if is_name else None)
    number = group[0].chapter
    own = [one for one in quotes if one.chapter == number]
    words, rows = [one.quoted.text for one in own], [one.row for one in own]
    said_now = {id(one.quoted) for one in group}
    places_now = [n for n, one in enumerate(own) if id(one.quoted) in said_now]
    file = decided.answered(decided.read(proposal.files[number].path), words, rows, places_now)
    return replace(proposal, quotes=tuple(quotes), files={**proposal.files, number: file})
