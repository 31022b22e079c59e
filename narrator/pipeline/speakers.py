"""A project's paragraphs -> lines of one speaker each, by the files beside its texts.

What these files lack, or say of nobody in the cast, the narrator speaks, and it is said once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from narrator.characters import quoted
from narrator.errors import Problem
from narrator.project.project import Project
from narrator.text import decided, stretches
from narrator.text.decided import Decided
from narrator.text.labels import Roles
from narrator.text.lines import Chapter
from narrator.text.slips import Slip
from narrator.text.stretches import Quoted

_MEND = "`narrator cast` decides who says it, or you do in the file of speakers"
NO_FILE = f"is the narrator's, for its chapter has no file of speakers: {_MEND}"
NO_ROW = f"is the narrator's, for its chapter's file of speakers has no row for it: {_MEND}"
UNDECIDED = "is the narrator's, for its row has a “?”: write who says it"
LOST = "is not in its chapter any more, and your row for it is kept: mend its words, or remove it"
ORPHAN = (
    "belongs to no text, for none here is called {}: where that was renamed, rename this file like "
    "it, or what you decided in it is lost"
)


def parted(project: Project, chapters: Sequence[Chapter], roles: Roles) -> list[Chapter]:
    """The chapters of a project with a line for each stretch of one speaker; what is odd about
    what was decided is among their warnings and slips."""
    files = [_file(project, number) for number in range(len(chapters))]
    exist = any(file.exists for file in files if file)
    tags = project.manifest.dialogue.tags
    lonely = orphans(project)
    found: list[Chapter] = []
    for number, (chapter, file) in enumerate(zip(chapters, files, strict=True)):
        if number == 0 and lonely:
            chapter = replace(chapter, warnings=(*chapter.warnings, *lonely))
        said: dict[Quoted, Sequence[str]] = {}
        slips: list[Slip] = []
        if file is not None and exist:
            said = _said(stretches.quoted(chapter), file, roles, slips)
            chapter = replace(chapter, warnings=(*chapter.warnings, *file.problems))
        whole = stretches.parted(chapter, said, roles, tags)
        found.append(replace(whole, slips=(*whole.slips, *slips)) if slips else whole)
    return found


def _file(project: Project, number: int) -> Decided | None:
    """What is decided of a chapter; None where its text has no file of its own."""
    name = project.chapters[number].file
    return None if name is None else decided.read(decided.place_of(project.root / name))


def orphans(project: Project) -> list[Problem]:
    """Files of speakers that belong to no text: one was renamed, or has gone."""
    names = (chapter.file for chapter in project.chapters if chapter.file is not None)
    found: list[Problem] = []
    for folder in dict.fromkeys((project.root / name).parent for name in names):
        paths = sorted(path for path in folder.glob("*") if path.is_file())
        texts = {path.stem for path in paths if not path.name.endswith(decided.ENDING)}
        for path in paths:
            stem = path.name.removesuffix(decided.ENDING)
            if stem not in (path.name, *texts):
                found.append(Problem(path, None, ORPHAN.format(quoted(stem))))
    return found


def _said(
    quotations: Sequence[Quoted], file: Decided, roles: Roles, slips: list[Slip]
) -> dict[Quoted, Sequence[str]]:
    """Who says the quotations of a chapter; what is odd goes to `slips`."""
    said: dict[Quoted, Sequence[str]] = {}
    places = file.matched([one.text for one in quotations])
    for one, place in zip(quotations, places, strict=True):
        row = None if place is None else file.rows[place]
        if row is not None and row.speaker not in (decided.NOBODY, decided.UNKNOWN):
            name = decided.names_in(row.speaker)
            said[one] = roles.named(name)
            if not said[one]:
                slips.append(Slip(name, _stranger(name, roles), file.path, row.number))
        elif not file.broken and (row is None or row.speaker == decided.UNKNOWN):
            missing = NO_ROW if file.exists else NO_FILE
            number = one.line.number_at(one.start)
            words = _bare(decided.shortened(one.text))
            slips.append(Slip(words, UNDECIDED if row else missing, one.line.path, number))
    for place in sorted(set(range(len(file.rows))) - set(places)):
        row = file.rows[place]
        if row.is_yours:
            slips.append(Slip(_bare(row.words), LOST, file.path, row.number))
    return said


def _bare(words: str) -> str:
    """The words of a quotation without their marks, which a message has of its own."""
    return words.strip("“”‘’„\"'«»‹›「」『』 ") or words


def _stranger(name: str, roles: Roles) -> str:
    """What is said of a row whose speaker is not in the cast."""
    meant = roles.meant(name)
    mend = f"did you mean “{meant}”?" if meant else f"declare “{name}” under `speakers`"
    return f"is not in the cast, and the narrator says what is this speaker's; {mend}"
