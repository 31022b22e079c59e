"""Attribution of a project's quotations: who says each of them.

Combines the decisions in the files of speakers beside the texts with what the rules say of all
other quotations, as `narrator cast` shows it. Decisions by a person and by print stay; those by
rules are made anew each time, with the cast of the manifest. Starts no model: answers of a model
come in through `refine`. Prints nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from narrator.errors import Problem, StorageError
from narrator.files import sweep
from narrator.pipeline.manuscript import Manuscript, paragraphs, roles_of
from narrator.pipeline.speakers import LOST, UNUSED_NESTED, find_orphaned_files
from narrator.project.project import SHARED_VOICE_NAME, Project
from narrator.text import line_splitting, speaker_files
from narrator.text.labels import Roles
from narrator.text.line_splitting import NarrationQuote
from narrator.text.lines import Chapter, Line
from narrator.text.memo import LastValues
from narrator.text.speaker_files import NOBODY, UNKNOWN, Row, SpeakerFile
from narrator.text.speakers import (
    NO_SPEECH,
    SURE_CERTAINTY,
    TELLER,
    AttributedQuotation,
    Attribution,
    Character,
    attribute,
    knows_tags,
)
from narrator.text.speakers.asking import MODEL
from narrator.text.speakers.suspicions import Suspicion
from narrator.text.speakers.suspicions import suspicions as find_suspicions
from textbase.languages import primary

if TYPE_CHECKING:  # edits load the plan and the engines
    from narrator.pipeline.edits.edit import FileChange

Refine = Callable[[Attribution, Sequence[Sequence[str]]], Attribution]
"""Takes the rules' attribution and the paragraphs of all chapters; returns a better attribution."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation of a project, or a piece of one, with its speaker."""

    chapter: int
    """Index in the project's chapters."""
    quotation: NarrationQuote
    row: Row
    """Its row in the file of its chapter."""
    speaker: str | None
    """Main name of a character, the first of several in unison; None for nobody's speech, and if
    the speaker is unknown."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """Other possible speakers, the likeliest first, each with its probability."""
    previous_speaker: str = ""
    """The speaker in its file, if that is another one; else ""."""

    @property
    def line_number(self) -> int:
        """The line of the source in which the quotation begins."""
        return self.quotation.line.source_line_at(self.quotation.start)

    @property
    def path(self) -> Path:
        return self.quotation.line.path

    @property
    def by(self) -> str:
        """Who decided: "you", "print", or the name of a rule or model."""
        return self.row.name or self.row.by

    @property
    def is_doubtful(self) -> bool:
        """True if a person should check it."""
        is_guess = self.row.by in ("rule", "model") and self.row.speaker != NOBODY
        return is_guess and self.certainty < SURE_CERTAINTY

    @property
    def certainty(self) -> float:
        """The certainty of its speaker, 0 if unknown."""
        return 0.0 if self.row.speaker == UNKNOWN else self.row.certainty


Turn = tuple[Quote, ...]
"""A quotation with all of its pieces."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed speakers of all quotations in a project."""

    project: Project
    """With the cast that decided, some of which book.yaml may still lack."""
    characters: tuple[Character, ...]
    """Those of the project first."""
    chapters: tuple[Chapter, ...]
    """A line for each paragraph."""
    quotes: tuple[Quote, ...]
    """In the order of the book, without chapters whose text is in the manifest."""
    files: Mapping[int, SpeakerFile]
    """The files of speakers to write, by chapter."""
    attribution: Attribution
    """The answers of the rules or the model that was asked last, without decisions in files."""
    texts: Sequence[Sequence[str]]
    """The paragraphs of all chapters as the rules read them; `list_paragraphs` has their lines."""
    warnings: tuple[Problem, ...]
    line_counts: Mapping[str, int]
    """Character -> quotations."""
    manifest_change: FileChange | None = None
    """The change of book.yaml that adds what the project has and the file lacks."""
    new_names: tuple[str, ...] = ()
    """Characters that book.yaml lacks."""

    def text_of(self, chapter: int) -> str:
        """The name of the file of a chapter's text."""
        return Path(self.project.chapters[chapter].file or "").name

    @property
    def characters_by_lines(self) -> list[Character]:
        """The characters, those with most lines first."""
        return sorted(self.characters, key=lambda character: -self.line_counts[character.name])

    @property
    def labelled_counts(self) -> Counter[str]:
        """Counts the stretches that the text itself assigns to each speaker, by labels and in
        braces."""
        stretch_counts: Counter[str] = Counter()
        for line in (
            line for chapter in self.chapters for scene in chapter.scenes for line in scene.lines
        ):
            if not line.is_narration and line.speaker != self.project.narrator:
                stretch_counts[line.speaker] += 1
            for stretch in line.attributed_spans:
                stretch_counts.update(stretch.speakers)
        return stretch_counts

    @property
    def changed_quotes(self) -> list[Quote]:
        """The first piece of each turn whose speaker differs from the one in its file."""
        changed_pieces = (
            [piece for piece in turn if piece.previous_speaker] for turn in group_turns(self.quotes)
        )
        return [pieces[0] for pieces in changed_pieces if pieces]

    @property
    def doubtful_turns(self) -> list[Turn]:
        """The turns that a person should check, the least certain first."""
        turns = [turn for turn in group_turns(self.quotes) if turn[0].is_doubtful]
        return sorted(turns, key=lambda turn: turn[0].certainty)


def group_turns(quotes: Sequence[Quote]) -> Iterator[Turn]:
    """Groups quotations with all of their pieces, in order of the first pieces; pieces of a tale
    and quotations within it are turns of their own."""
    turns: list[list[Quote]] = []
    last_turns: dict[bool, list[Quote]] = {}
    """The last turn within a tale, and the last one of others."""
    for quote in quotes:
        pieces = last_turns.get(quote.row.is_nested)
        if not (
            pieces
            and quote.row.continues_previous
            and quote.chapter == pieces[-1].chapter
            and quote.row.speaker == pieces[-1].row.speaker
        ):
            pieces = last_turns[quote.row.is_nested] = []
            turns.append(pieces)
        pieces.append(quote)
    return map(tuple, turns)


def count_unattributed_quotations(manuscript: Manuscript) -> int:
    """Counts the quotations of a book that one voice reads along with the narration."""
    if len({utterance.chunk.speaker for utterance in manuscript.spoken}) > 1:
        return 0
    return sum(len(line_splitting.find_quotes(chapter)) for chapter in manuscript.chapters)


# -- the cast


def characters(project: Project) -> tuple[Character, ...]:
    """The speakers in a project's cast who are characters of the book.

    A narrator who is no character is left out, and so are voices that several characters share.
    """
    return tuple(
        Character(name, tuple(speaker.aliases), speaker.pronoun)
        for name, speaker in project.manifest.cast.items()
        if name.casefold() != "narrator"
        and (name != project.narrator or name == project.first_person)
        and not (speaker.plays and SHARED_VOICE_NAME.fullmatch(name))
    )


def with_narrator(project: Project) -> Project:
    """The project with a narrator; a cast of characters alone has none."""
    if project.narrator is not None:
        return project
    manifest = project.manifest.model_copy(update={"narrator": "narrator"})
    return replace(project, manifest=manifest)


# -- proposals


def decide(
    project: Project,
    *,
    discovers_characters: bool = False,
    scripts: LastValues[Chapter] | None = None,
) -> Proposal:
    """Find the speakers of a project's quotations by rules.

    Characters are discovered if the project has none, or with `discovers_characters`; whatever is
    shown or written comes from `new_characters.propose`, which adds them. `scripts` holds the
    chapters as they were read last. Raises ScriptError if a text cannot be read.
    """
    project = with_narrator(project)
    chapters = paragraphs(project, scripts)
    texts = [[_narration_text(line) for line in list_paragraphs(chapter)] for chapter in chapters]
    attribution = _apply_rules(project, chapters, texts, discovers_characters=discovers_characters)
    return _merge_decisions(project, chapters, texts, attribution)


def refine_proposal(proposal: Proposal, refine: Refine) -> Proposal:
    """The proposal, with quotations that the rules are not sure of decided by `refine`; it does not
    see those within tales."""
    decided = _fill_in_decisions(proposal)
    outer_rulings = [ruling for ruling in decided.quotations if not ruling.quotation.is_nested]
    attribution = refine(replace(decided, quotations=tuple(outer_rulings)), proposal.texts)
    nested_rulings = [ruling for ruling in decided.quotations if ruling.quotation.is_nested]
    attribution = replace(attribution, quotations=(*attribution.quotations, *nested_rulings))
    refined = _merge_decisions(proposal.project, proposal.chapters, proposal.texts, attribution)
    return replace(refined, manifest_change=proposal.manifest_change, new_names=proposal.new_names)


def _merge_decisions(
    project: Project,
    chapters: tuple[Chapter, ...],
    texts: Sequence[Sequence[str]],
    attribution: Attribution,
) -> Proposal:
    """Combine an attribution with the decisions in the files beside the texts, which win."""
    declared_characters = characters(project)
    by_name, roles = _characters_by_name(project, attribution), roles_of(project)
    rulings_by_chapter: dict[int, list[AttributedQuotation]] = {}
    for ruling in attribution.quotations:
        rulings_by_chapter.setdefault(ruling.chapter, []).append(ruling)
    quotes: list[Quote] = []
    files: dict[int, SpeakerFile] = {}
    warnings = find_orphaned_files(project) + _find_unknown_languages(project, chapters)
    for number, path in _speaker_files(project).items():
        old_file = speaker_files.read(path)
        warnings += old_file.problems
        quotations = line_splitting.find_quotes(
            chapters[number], with_nested=project.has_nested_voices
        )
        rulings = _match_rulings(chapters[number], quotations, rulings_by_chapter.get(number, []))
        quoted_texts = [quotation.text for quotation in quotations]
        old_rows = old_file.matched_rows(quoted_texts)
        rows = _build_rows(old_rows, quotations, rulings, by_name, roles)
        files[number] = speaker_files.update_rows(old_file, quoted_texts, rows)
        warnings += _find_unknown_names(files[number], by_name, roles)
        warnings += _find_unmatched_rows(
            files[number], quoted_texts, with_nested=project.has_nested_voices
        )
        quotes += [
            Quote(
                chapter=number,
                quotation=quotation,
                row=row,
                speaker=_main_speaker(row, by_name, roles),
                alternatives=ruling.alternatives if ruling else (),
                previous_speaker=_previous_speaker(old_row, row, roles),
            )
            for quotation, row, ruling, old_row in zip(
                quotations, rows, rulings, old_rows, strict=True
            )
        ]
    line_counts = _count_lines(quotes)
    return Proposal(
        project=project,
        characters=tuple(
            character
            for character in by_name.values()
            if character in declared_characters or line_counts[character.name]
        ),
        chapters=chapters,
        quotes=tuple(quotes),
        files=files,
        attribution=attribution,
        texts=texts,
        warnings=tuple(dict.fromkeys(warnings)),
        line_counts=line_counts,
    )


def _find_unknown_languages(project: Project, chapters: Sequence[Chapter]) -> list[Problem]:
    """Returns a problem for each language of which the rules do not know who speaks."""
    languages = dict.fromkeys(
        primary(chapter.language) for chapter in chapters if not knows_tags(chapter.language)
    )
    return [Problem(project.path, None, _UNKNOWN_LANGUAGE.format(code)) for code in languages]


_UNKNOWN_LANGUAGE = (
    "narrator does not know how a text in the language '{}' tells who speaks: the narrator speaks "
    "all of it. Label lines with their speakers, or use --review"
)


def _count_lines(quotes: Sequence[Quote]) -> Counter[str]:
    """Counts the quotations of each character."""
    speakers = (turn[0].speaker for turn in group_turns(quotes))
    return Counter(speaker for speaker in speakers if speaker is not None)


def _fill_in_decisions(proposal: Proposal) -> Attribution:
    """The attribution with the decisions of people and print filled in as certain.

    Nobody is asked about those, but whoever is asked about the others can see them.
    """
    attribution, chapters = proposal.attribution, proposal.chapters
    characters_by_name = _characters_by_name(proposal.project, attribution)
    roles = roles_of(proposal.project)
    decided_rulings: dict[int, AttributedQuotation] = {}
    for number, path in _speaker_files(proposal.project).items():
        old_file = speaker_files.read(path)
        quotations = line_splitting.find_quotes(
            chapters[number], with_nested=proposal.project.has_nested_voices
        )
        chapter_rulings = [ruling for ruling in attribution.quotations if ruling.chapter == number]
        rulings = _match_rulings(chapters[number], quotations, chapter_rulings)
        rows = old_file.matched_rows([quotation.text for quotation in quotations])
        for ruling, row in zip(rulings, rows, strict=True):
            if ruling is not None and row is not None and row.by in ("you", "print"):
                speaker = _main_speaker(row, characters_by_name, roles)
                decided_rulings[id(ruling)] = replace(
                    ruling, speaker=speaker, certainty=1.0, by=row.by
                )
    return replace(
        attribution,
        quotations=tuple(
            decided_rulings.get(id(ruling), ruling) for ruling in attribution.quotations
        ),
    )


def _characters_by_name(project: Project, attribution: Attribution) -> dict[str, Character]:
    """All characters by name, those of the project first."""
    return {character.name: character for character in (*characters(project), *attribution.cast)}


def _speaker_files(project: Project) -> dict[int, Path]:
    """The file of speakers of each chapter, by chapter number; each file occurs once.

    A text that is two chapters counts once. If two texts would share a file, the second is left to
    the narrator, which `check` reports.
    """
    chapters_by_path: dict[Path, int] = {}
    for number, chapter in enumerate(project.chapters):
        if chapter.file is not None:
            chapters_by_path.setdefault(
                speaker_files.speaker_file_path(project.root / chapter.file), number
            )
    return {number: path for path, number in chapters_by_path.items()}


def list_paragraphs(chapter: Chapter) -> list[Line | None]:
    """The paragraphs of a chapter as the rules read them; None separates scenes."""
    paragraphs_in_order: list[Line | None] = []
    for scene in chapter.scenes:
        paragraphs_in_order += [None] if paragraphs_in_order else []
        paragraphs_in_order += scene.lines
    return paragraphs_in_order


def _narration_text(line: Line | None) -> str:
    """The text of a paragraph if it is narration; "" if it has a speaker already."""
    if line is None:
        return "* * *"
    return line.text if line.is_narration else ""


def _apply_rules(
    project: Project,
    chapters: Sequence[Chapter],
    texts: Sequence[Sequence[str]],
    *,
    discovers_characters: bool,
) -> Attribution:
    """Apply the rules to the chapters of each language separately."""
    languages = dict.fromkeys(primary(chapter.language) for chapter in chapters)
    headings = {
        (number, place): line.text
        for number, chapter in enumerate(chapters)
        for place, line in enumerate(list_paragraphs(chapter))
        if line is not None and line.heading
    }
    headings |= {(number, 0): chapter.title for number, chapter in enumerate(project.chapters)}
    characters_by_name: dict[str, Character] = {}
    rulings: list[AttributedQuotation] = []
    story_count = 1
    for language in languages:
        language_texts = [
            text if primary(chapter.language) == language else []
            for text, chapter in zip(texts, chapters, strict=True)
        ]
        language_attribution = attribute(
            language_texts,
            characters(project),
            language=language,
            first_person=project.first_person,
            first_persons=project.chapter_first_persons,
            headings=headings,
            find=discovers_characters,
            was_found=project.manifest.dialogue.cast == "found",
            with_nested=project.has_nested_voices,
        )
        characters_by_name |= {
            character.name: character
            for character in language_attribution.cast
            if character.name not in characters_by_name
        }
        rulings += language_attribution.quotations
        story_count = max(story_count, language_attribution.story_count)
    rulings.sort(key=lambda ruling: (ruling.chapter, *ruling.quotation.place))
    return Attribution(tuple(characters_by_name.values()), tuple(rulings), story_count)


def _match_rulings(
    chapter: Chapter, quotations: Sequence[NarrationQuote], rulings: Sequence[AttributedQuotation]
) -> list[AttributedQuotation | None]:
    """The ruling on each quotation of a chapter, or the one that covers most of its words."""
    paragraph_numbers: dict[tuple[int, int], int] = {}
    for scene_number, scene in enumerate(chapter.scenes):
        for line_number in range(len(scene.lines)):
            paragraph_numbers[scene_number, line_number] = len(paragraph_numbers) + scene_number
    rulings_by_paragraph: dict[int, list[AttributedQuotation]] = {}
    for ruling in rulings:
        rulings_by_paragraph.setdefault(ruling.quotation.paragraph, []).append(ruling)
    matches: list[AttributedQuotation | None] = []
    for quotation in quotations:
        overlaps = [
            (
                min(ruling.quotation.stop, quotation.stop)
                - max(ruling.quotation.start, quotation.start),
                ruling,
            )
            for ruling in rulings_by_paragraph.get(
                paragraph_numbers[quotation.scene, quotation.place], ()
            )
            if ruling.quotation.is_nested == quotation.is_nested
        ]
        longest_overlap, best_ruling = max(overlaps, key=lambda pair: pair[0], default=(0, None))
        matches.append(best_ruling if longest_overlap > 0 else None)
    return matches


# -- rows


def _previous_speaker(old_row: Row | None, row: Row, roles: Roles) -> str:
    """The speaker that a file names, if the row now names another person."""
    if old_row is None or old_row.speaker == row.speaker:
        return ""
    old_name, name = map(speaker_files.unescape_names, (old_row.speaker, row.speaker))
    is_renamed = roles.find_speakers(old_name) == roles.find_speakers(name) != ()
    return "" if is_renamed else old_name


def _build_rows(
    old_rows: Sequence[Row | None],
    quotations: Sequence[NarrationQuote],
    rulings: Sequence[AttributedQuotation | None],
    characters_by_name: Mapping[str, Character],
    roles: Roles,
) -> list[Row]:
    """The new row of each quotation of a chapter; `old_rows` has the rows of its file."""
    rows: list[Row] = []
    last_rows: dict[bool, Row] = {}
    """The last row of a nested quotation, and the last one of others."""
    for quotation, ruling, old_row in zip(quotations, rulings, old_rows, strict=True):
        row = _build_row(quotation, ruling)
        last_row = last_rows.get(row.is_nested)
        if old_row is not None and _is_row_kept(old_row, row, characters_by_name, roles):
            row = old_row
        elif (
            row.continues_previous
            and last_row is not None
            and last_row.is_manual
            and (old_row is None or old_row.continues_previous)
        ):
            row = replace(row, speaker=last_row.speaker, by="you", name="", certainty=1.0)
        last_rows[row.is_nested] = row
        rows.append(row)
    return rows


def _build_row(quotation: NarrationQuote, ruling: AttributedQuotation | None) -> Row:
    """The row that the rules or a model give a quotation."""
    words = speaker_files.shorten_words(quotation.text)
    if ruling is None:
        return Row(
            UNKNOWN, "rule", words, name="none", certainty=0.0, is_nested=quotation.is_nested
        )
    decider = "model" if ruling.by.startswith(MODEL) else "rule"
    if ruling.speaker is not None:
        speaker = speaker_files.format_names([ruling.speaker])
    else:
        is_nobodys = ruling.by in (NO_SPEECH, TELLER) or decider == "model"
        speaker = NOBODY if is_nobodys else UNKNOWN
    return Row(
        speaker,
        decider,
        words,
        name=re.sub(r"\s+", "-", ruling.by.removeprefix(MODEL)) or "none",
        certainty=round(ruling.certainty, 2),
        continues_previous=ruling.continues_previous,
        is_nested=quotation.is_nested,
    )


def _is_row_kept(
    row: Row, new_row: Row, characters_by_name: Mapping[str, Character], roles: Roles
) -> bool:
    """True if a row of the file is kept: a decision by a person or print, or by a model that is
    surer than the rules."""
    if row.by != "model" or new_row.by == "model":
        return row.by in ("you", "print")
    is_known = row.speaker in (NOBODY, UNKNOWN) or bool(
        _named_characters(row, characters_by_name, roles)
    )
    return is_known and row.certainty >= new_row.certainty


def _named_characters(
    row: Row, characters_by_name: Mapping[str, Character], roles: Roles
) -> tuple[str, ...]:
    """The speakers of the project, or the discovered character, that a row names."""
    name = speaker_files.unescape_names(row.speaker)
    return roles.find_speakers(name) or ((name,) if name in characters_by_name else ())


def _main_speaker(
    row: Row, characters_by_name: Mapping[str, Character], roles: Roles
) -> str | None:
    """The main name of the character that a row names, or None."""
    if row.speaker in (NOBODY, UNKNOWN):
        return None
    return next(
        (
            name
            for name in _named_characters(row, characters_by_name, roles)
            if name in characters_by_name
        ),
        None,
    )


def _find_unknown_names(
    file: SpeakerFile, characters_by_name: Mapping[str, Character], roles: Roles
) -> Iterator[Problem]:
    """Yields a problem for each name in a person's rows that nobody in the cast has."""
    line_numbers_by_name: dict[str, list[int]] = {}
    for row in file.rows:
        if (
            row.is_manual
            and row.speaker not in (NOBODY, UNKNOWN)
            and not _named_characters(row, characters_by_name, roles)
        ):
            line_numbers_by_name.setdefault(speaker_files.unescape_names(row.speaker), []).append(
                row.number
            )
    for name, line_numbers in line_numbers_by_name.items():
        more_note = f" (and {len(line_numbers) - 1} more)" if len(line_numbers) > 1 else ""
        nearest_name = roles.nearest_label(name)
        advice = (
            f"did you mean “{nearest_name}”?"
            if nearest_name
            else f"if it is somebody's old name, keep it: aliases: [{_as_yaml_name(name)}]"
        )
        message = f"“{name}”{more_note} is not in the cast; {advice}"
        yield Problem(file.path, line_numbers[0] or None, message)


def _find_unmatched_rows(
    file: SpeakerFile, quoted_texts: Sequence[str], *, with_nested: bool
) -> Iterator[Problem]:
    """Yields a problem for each row of a person that matches no quotation."""
    for row in file.unmatched_manual_rows(quoted_texts):
        lost = UNUSED_NESTED if row.is_nested and not with_nested else LOST
        yield Problem(file.path, row.number or None, f"{row.words} {lost}")


def _as_yaml_name(name: str) -> str:
    """A name as written in a YAML list."""
    return name if re.fullmatch(r"[^\W\d][\w .'’-]*", name) else f"“{name}”"


def suspicions(project: Project, people: Sequence[Character]) -> list[Suspicion]:
    """Names of people that may be wrongly parted or joined, in the order of the people; none once
    `dialogue.cast` says that a person has looked at the cast."""
    is_found = project.manifest.dialogue.cast == "found"
    return find_suspicions(people, project.manifest.language) if is_found else []


# -- writing


def is_current(proposal: Proposal) -> bool:
    """True if book.yaml and all files of speakers are as this proposal would write them. Raises
    StorageError."""
    return proposal.manifest_change is None and all(
        speaker_files.is_current(file, proposal.text_of(number))
        for number, file in proposal.files.items()
    )


def write_speaker_files(proposal: Proposal) -> list[Path]:
    """Write the files of speakers that have changed, and return their paths.

    Temporary files that a killed run left beside them are removed. Raises StorageError for those
    that cannot be written, after the others are written.
    """
    paths: list[Path] = []
    faults: list[Problem] = []
    for folder in {file.path.parent for file in proposal.files.values()}:
        sweep(folder)
    for number in proposal.files:
        try:
            path = write_speaker_file(proposal, number)
        except StorageError as error:
            faults += error.problems
        else:
            paths += [path] if path else []
    if faults:
        raise StorageError(faults)
    return paths


def write_speaker_file(proposal: Proposal, number: int) -> Path | None:
    """Write the file of one chapter and return its path, or None if it is unchanged.

    Raises StorageError.
    """
    file = proposal.files[number]
    return file.path if speaker_files.write(file, proposal.text_of(number)) else None


def apply_answers(proposal: Proposal, number: int, answers: Sequence[tuple[Turn, str]]) -> Proposal:
    """The proposal after a person has named the speakers of quotations of one chapter.

    An answer is a turn, and a name in the cast, NOBODY or UNKNOWN. The file of the
    chapter is read again, since it may have been edited meanwhile.
    """
    answered_quotes = {
        id(quote): (speaker, piece_number > 0)
        for turn, speaker in answers
        for piece_number, quote in enumerate(turn)
    }
    quotes = list(proposal.quotes)
    answered_indices: set[int] = set()
    chapter_quotes: list[Quote] = []
    for index, quote in enumerate(quotes):
        if quote.chapter != number:
            continue
        if id(quote) in answered_quotes:
            answered_indices.add(len(chapter_quotes))
            speaker, continues_previous = answered_quotes[id(quote)]
            is_name = speaker not in (NOBODY, UNKNOWN)
            column = speaker_files.format_names([speaker]) if is_name else speaker
            row = Row(
                column,
                "you",
                quote.row.words,
                continues_previous=continues_previous,
                is_nested=quote.row.is_nested,
            )
            quotes[index] = replace(quote, row=row, speaker=speaker if is_name else None)
        chapter_quotes.append(quotes[index])
    file = speaker_files.apply_answers(
        speaker_files.read(proposal.files[number].path),
        [quote.quotation.text for quote in chapter_quotes],
        [quote.row for quote in chapter_quotes],
        answered_indices,
    )
    return replace(
        proposal,
        quotes=tuple(quotes),
        files={**proposal.files, number: file},
        line_counts=_count_lines(quotes),
    )
