"""Characters that were found -> speakers of book.yaml, with voices of their own or shared ones.

Proposals: what an author writes into the manifest is never changed, new names are put under it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from narrator import files
from narrator.cast.cast import resolve
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Voice
from narrator.errors import ManifestError, Problem
from narrator.pipeline.attribution import Proposal, characters, propose, together
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, exact
from narrator.project import load
from narrator.project.project import Project
from narrator.project.rewriting import NotWritten, inserted
from narrator.text import decided
from narrator.text.labels import folded
from narrator.text.speakers import Character

MOST_VOICES = 12
"""Characters with voices of their own; listeners tell few more apart."""
MOST_SHARED = 3
"""Voices of a pronoun that other characters share."""
_LINES, _SHARE = 10, 0.01
"""Lines, or the share of all lines, from which on a character gets a voice of its own."""

_SHARED = {"she": "women", "he": "men", "": "others"}
"""Pronoun -> the voice that the others share."""
_WHO = {"she": "A woman", "he": "A man", "": "A voice"}
_MANNERS = {
    "she": (
        "clear and warm, in her thirties",
        "young and bright, quick",
        "low and calm, in her fifties",
        "soft, a little breathy",
        "crisp and well-bred",
        "old, thin and kind",
        "lively, with a smile in it",
        "dark and slow",
        "plain and even, in her forties",
        "high and light, a girl's",
        "firm, used to being obeyed",
        "husky, amused",
    ),
    "he": (
        "warm and steady, in his thirties",
        "young and eager, light",
        "deep and slow, in his fifties",
        "dry and precise",
        "rough, a little hoarse",
        "old, cracked and friendly",
        "smooth and well-bred",
        "loud and hearty",
        "quiet, rather sad",
        "high and nervous",
        "firm, used to giving orders",
        "nasal, quick",
    ),
    "": (
        "neither high nor low, clear",
        "light and quick",
        "deep and slow",
        "soft and near",
        "rough and dry",
        "bright, a child's",
        "old and thin",
        "even and cool",
        "round and cheerful",
        "sharp and thin",
        "sleepy, drawling",
        "grave and measured",
    ),
}
"""How voices of a pronoun differ."""
Insertion = tuple[Sequence[str], Mapping[str, object]]
"""Where in the manifest, and what is put there."""


def with_newcomers(proposal: Proposal) -> Project | None:
    """Put the characters of a proposal that book.yaml lacks under its speakers, with a narrator
    where there is none, and read it again.

    None where it lacks nobody. Raises ManifestError where they cannot be put there, StorageError.
    """
    path = proposal.project.path
    with files.storage(path):
        text = path.read_bytes().decode()
    grown = _grown(proposal, text)
    if grown is None:
        return None
    project, text = grown
    files.write(files.behind(path), text.encode())
    return project


def cast_edit(project: Project) -> Edit | None:
    """Those who speak in a book put into book.yaml, and who says what into the files of its
    chapters, as `narrator cast --write` does; None where all of it is there.

    Raises ManifestError, ScriptError, StorageError.
    """
    proposal, changes = propose(project), list[FileChange]()
    before = exact(project.path) or ""
    if grown := _grown(proposal, before):
        more, after = grown
        changes.append(FileChange(project.path, before, after))
        proposal = propose(more)
    for number, file in proposal.files.items():
        if file.rows or file.exists or file.broken:
            after = decided.written(file, proposal.text_of(number)).decode()
            changes.append(FileChange(file.path, exact(file.path), after))
    changes = [one for one in changes if one.before != one.after]
    count = sum(not one.row.goes_on for one in proposal.quotes)
    what = f"who says what: {len(proposal.characters)} characters, {count} quotations"
    return checked(project, Edit(what, tuple(changes))) if changes else None


def _grown(proposal: Proposal, text: str) -> tuple[Project, str] | None:
    """The project with those whom book.yaml lacks, and the text of that, which is this one yet.

    None where it lacks nobody. Raises ManifestError where they cannot be put there.
    """
    path = proposal.project.path
    insertions = list(_insertions(proposal))
    if not insertions:
        return None
    try:
        for loc, entries in insertions:
            text = inserted(text, loc, entries)
    except NotWritten:
        what = (
            f"no names can be put under `{'.'.join(loc)}`: write it as `name: …`, a line for each"
        )
        raise ManifestError(Problem(path, proposal.project.line(*loc), what)) from None
    return load.load(path, text), text


def _insertions(proposal: Proposal) -> Iterator[Insertion]:
    """What is put into the manifest, and where."""
    manifest = proposal.project.manifest
    new = newcomers(proposal)
    if not (new or manifest.speakers):
        return
    voices = _voices(proposal, new)
    entries: dict[str, object] = {}
    if "narrator" not in manifest.speakers and proposal.project.narrator == "narrator":
        entries["narrator"] = {}
    entries |= _with_own_voices(new[:voices])
    taken = {folded(name) for name in (*manifest.cast, *(one.name for one in new))}
    for name, kind, played in _shared(proposal, new[voices:]):
        there = manifest.speakers.get(name)
        if there is not None and there.plays:
            yield ("speakers", name, "plays"), played
        else:
            entries[_free(name, taken)] = _sharing(kind, played)
    _choose_voices(proposal.project, entries)
    if entries:
        yield ("speakers",), entries
    if new and "cast" not in manifest.dialogue.model_fields_set:
        yield ("dialogue",), {"cast": "found"}


def _choose_voices(project: Project, entries: dict[str, object]) -> None:
    """Gives new speakers voices of each engine that has some of its own."""
    people = [
        Voice(name, pronoun=entry.get("pronoun"), place=place)
        for place, (name, entry) in enumerate(entries.items())
        if name != "narrator" and isinstance(entry, dict)
    ]
    cast = resolve(project)
    for spec in ENGINES.values():
        for name, voice in spec.cast(people, project.manifest.language, cast).items():
            entry = entries[name]
            assert isinstance(entry, dict)
            entry[spec.name] = voice


def _shared(
    proposal: Proposal, others: Sequence[Character]
) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Voices that characters share: their names, their kind, and who has them. Those who talk to
    each other have different ones, as far as there are enough."""
    partners = _partners(proposal)
    speakers = proposal.project.manifest.speakers
    for kind, base in _SHARED.items():
        names = [base, *(f"{base} {number}" for number in range(2, MOST_SHARED + 1))]
        members = {name: set(speakers[name].plays) if name in speakers else set() for name in names}
        new: dict[str, dict[str, list[str]]] = {name: {} for name in names}
        for one in (one for one in others if _kind(one) == kind):
            name = min(names, key=lambda name: len(members[name] & partners[one.name]))
            members[name].add(one.name)
            new[name][one.name] = list(one.aliases)
        for name, played in new.items():
            if played:
                yield name, kind, played


def _partners(proposal: Proposal) -> Mapping[str, set[str]]:
    """Character -> those whose speech follows or precedes theirs."""
    partners: dict[str, set[str]] = defaultdict(set)
    for (before, *_), (after, *_) in pairwise(together(proposal.quotes)):
        if before.chapter == after.chapter and before.speaker and after.speaker:
            partners[before.speaker].add(after.speaker)
            partners[after.speaker].add(before.speaker)
    return partners


def _with_own_voices(own: Sequence[Character]) -> dict[str, object]:
    """Speakers with a voice each, described so that no two of a kind are alike for a while."""
    count = dict.fromkeys(_MANNERS, 0)
    entries: dict[str, object] = {}
    for one in own:
        kind = _kind(one)
        manner = _MANNERS[kind][count[kind] % len(_MANNERS[kind])]
        count[kind] += 1
        entries[one.name] = {
            **({"pronoun": one.pronoun} if one.pronoun else {}),
            **({"aliases": list(one.aliases)} if one.aliases else {}),
            "voice": {"description": f"{_WHO[kind]}, {manner}"},
        }
    return entries


def _sharing(kind: str, played: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """A speaker whose voice characters of one pronoun share."""
    return {
        **({"pronoun": kind} if kind else {}),
        "plays": played,
        "voice": {"description": f"{_WHO[kind]}, pleasant and plain"},
    }


def _free(name: str, taken: Collection[str]) -> str:
    while folded(name) in taken:
        name = f"other {name}"
    return name


def newcomers(proposal: Proposal) -> list[Character]:
    """The characters that the manifest lacks and can have, those with most lines first."""
    taken = {folded(name) for name in (*proposal.project.speakers, "narrator")}
    known = set(characters(proposal.project))
    found: list[Character] = []
    for one in sorted(proposal.characters, key=lambda one: -proposal.lines[one.name]):
        if one not in known and load.is_label(one.name) and folded(one.name) not in taken:
            taken.add(folded(one.name))
            found.append(one)
    return found


def _voices(proposal: Proposal, new: Sequence[Character]) -> int:
    """How many of them get a voice of their own."""
    total = sum(proposal.lines.values())
    least = min(_LINES, max(1, round(_SHARE * total)))
    enough = sum(proposal.lines[one.name] >= least for one in new)
    players = proposal.project.manifest.speakers
    there = sum(one.name in players for one in characters(proposal.project))
    return min(enough, max(0, MOST_VOICES - there))


def _kind(one: Character) -> str:
    return one.pronoun if one.pronoun in ("she", "he") else ""
