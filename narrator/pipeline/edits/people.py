"""Edits of the people of a cast in book.yaml: added, renamed, merged, split, with own entries.

Rows of speaker files and labels of texts stay: old names become aliases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrator.cast.cast import choose_engine_voices
from narrator.errors import ManifestError, Problem, UsageError, nearest
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import (
    manifest_text,
    remove_entry,
    rename_entry,
    set_value,
)
from narrator.pipeline.manuscript import roles_of
from narrator.project import load
from narrator.project.project import SHARED_VOICE_NAME, Project
from narrator.project.rewriting import KeyPath, without_empty_values
from textbase.characters import excerpt, strip_invisible


@dataclass(frozen=True, slots=True)
class NewPerson:
    """Somebody to be added to the cast, with the voice that people of the pronoun share, or an own
    entry if there is none."""

    project: Project
    name: str
    pronoun: str

    def add_to(self, text: str) -> str:
        """The text of book.yaml with the person. Raises ManifestError."""
        return _with_new_person(text, self.project, self.name, self.pronoun, [])

    @property
    def change(self) -> FileChange:
        """The change of book.yaml as it is now. Raises ManifestError, StorageError."""
        text = manifest_text(self.project)
        return FileChange(self.project.path, text, self.add_to(text))


def new_person(project: Project, name: str, pronoun: str = "") -> NewPerson:
    """Somebody with a name that nobody in the cast has. Raises UsageError."""
    name = _require_new_name(project, name)
    return NewPerson(project, name, one_line(pronoun))


def add_edit(project: Project, name: str, pronoun: str = "") -> Edit:
    """The edit that adds somebody to the cast.

    Raises ManifestError, StorageError, UsageError.
    """
    person = new_person(project, name, pronoun)
    title = f"{shorten(person.name)} is in the cast"
    return require_readable(project, Edit(title, (person.change,)))


def rename_edit(project: Project, name: str, new_name: str) -> Edit:
    """The edit that gives somebody another name; the old one becomes an alias.

    Raises ManifestError, StorageError, UsageError.
    """
    name = require_in_cast(project, name)
    _require_character(project, name)
    new_name = _require_new_name(project, new_name, name)
    aliases = [alias for alias in project.speakers[name].aliases if alias != new_name]
    if name.casefold() != new_name.casefold():
        aliases.append(name)
    text = _with_person(manifest_text(project), project, name, new_name, aliases)
    if project.manifest.narrator == name:
        text = set_value(text, ("narrator",), new_name, project)
    return _manifest_edit(project, text, f"{shorten(name)} is called {shorten(new_name)}")


def merge_edit(project: Project, name: str, target: str) -> Edit:
    """The edit that makes two of the cast one person, who keeps the name and voice of `target`.

    Raises ManifestError, StorageError, UsageError.
    """
    name, target = require_in_cast(project, name), require_in_cast(project, target)
    _require_character(project, name)
    if name == target:
        raise UsageError(f"“{excerpt(name)}” cannot be merged with itself")
    speakers = project.speakers
    if SHARED_VOICE_NAME.fullmatch(target):
        _require_character(project, target)
    aliases = list(dict.fromkeys((*speakers[target].aliases, name, *speakers[name].aliases)))
    text = _with_person(manifest_text(project), project, target, target, aliases)
    text = _without_person(text, project, name)
    return _manifest_edit(project, text, f"{shorten(name)} is {shorten(target)}")


def pronoun_edit(project: Project, name: str, pronoun: str) -> Edit:
    """The edit that gives somebody a pronoun; whoever shares a voice gets that of people with this
    pronoun, or an own entry if there is none.

    Raises ManifestError, StorageError, UsageError.
    """
    name, pronoun = require_in_cast(project, name), one_line(pronoun)
    _require_character(project, name)
    text, player = manifest_text(project), project.voice_of(name)
    if (project.speakers[name].pronoun or "") == pronoun:
        raise UsageError(f"“{excerpt(name)}” has this pronoun already")
    if player == name:
        text = set_value(text, ("speakers", name, "pronoun"), pronoun, project)
    else:
        text = _without_person(text, project, name)
        aliases = list(project.speakers[name].aliases)
        text = _with_new_person(text, project, name, pronoun, aliases)
    return _manifest_edit(project, text, f"{shorten(name)} is “{shorten(pronoun)}”")


def split_edit(project: Project, name: str, alias: str) -> Edit:
    """The edit that makes an alias of somebody another person, with the same pronoun.

    Whoever shares a voice shares it with the new person. Raises ManifestError, StorageError,
    UsageError.
    """
    name, alias = require_in_cast(project, name), one_line(alias)
    character = project.speakers[name]
    if alias not in character.aliases:
        raise UsageError(f"“{excerpt(alias)}” is not an alias of {excerpt(name)}")
    aliases = [other for other in character.aliases if other != alias]
    text = _with_person(manifest_text(project), project, name, name, aliases)
    player = project.voice_of(name)
    if player == name:
        entries: dict[str, object] = {alias: without_empty_values({"pronoun": character.pronoun})}
        choose_engine_voices(project, entries)
        text = set_value(text, ("speakers", alias), entries[alias], project)
    else:
        text = set_value(text, ("speakers", player, "plays", alias), [], project)
    return _manifest_edit(project, text, f"{shorten(alias)} is not {shorten(name)}")


def with_own_entry(text: str, project: Project, name: str) -> str:
    """The text of book.yaml in which somebody who shares a voice has an own entry without a voice.

    Raises ManifestError.
    """
    character = project.speakers[name]
    entries: dict[str, object] = {
        name: without_empty_values(
            {
                "pronoun": character.pronoun,
                "aliases": list(character.aliases),
                "style": character.style,
                "language": character.language,
            }
        )
    }
    choose_engine_voices(project, entries)
    text = _without_person(text, project, name)
    return set_value(text, ("speakers", name), entries[name], project)


def require_in_cast(project: Project, name: str) -> str:
    """The name on one line. Raises UsageError if nobody in the cast has it."""
    name = one_line(name)
    if name not in project.speakers:
        guess = nearest(name, list(project.speakers))
        hint = f"; did you mean “{guess}”?" if guess else ""
        raise UsageError(f"“{excerpt(name)}” is not in the cast{hint}")
    return name


def _require_new_name(project: Project, new_name: str, name: str = "") -> str:
    """The new name, without invisible characters. Raises UsageError if it cannot be one, or is
    anybody's but `name`'s."""
    new_name = one_line(strip_invisible(one_line(new_name)))
    if not load.is_label(new_name):
        raise UsageError(f"“{excerpt(new_name)}” cannot be a name: names have no : ( ) [ ] {{ }} *")
    namesakes = roles_of(project).find_speakers(new_name)
    if namesakes not in ((), (name,)):
        remedy = ": merge the two" if name else ""
        raise UsageError(f"“{excerpt(new_name)}” is {excerpt(namesakes[0])} already{remedy}")
    if "&" in new_name and any(map(roles_of(project).find_speakers, new_name.split("&"))):
        raise UsageError(f"“{excerpt(new_name)}” are several people: name one of them")
    return new_name


def _require_character(project: Project, name: str) -> None:
    """Raises UsageError for the narrator and for voices that several characters share."""
    entry = project.manifest.speakers.get(name)
    if name in ("narrator", project.narrator):
        raise UsageError(f"“{excerpt(name)}” is the narrator: change book.yaml by hand")
    if entry is not None and entry.plays:
        raise UsageError(f"“{excerpt(name)}” is the voice of several people, not one of them")


def _with_person(
    text: str, project: Project, name: str, new_name: str, aliases: Sequence[str]
) -> str:
    """The text of book.yaml with another name and other aliases for somebody in the cast."""
    player = project.voice_of(name)
    if player == name:
        if new_name != name:
            text = rename_entry(text, ("speakers", name), new_name, project)
        return set_value(text, ("speakers", new_name, "aliases"), list(aliases), project)
    place = ("speakers", player, "plays")
    try:
        if new_name != name:
            text = rename_entry(text, (*place, name), new_name, project)
        return set_value(text, (*place, new_name), list(aliases), project)
    except ManifestError:  # a list, which has no place for aliases
        plays = {
            new_name if member == name else member: list(aliases if member == name else others)
            for member, others in project.manifest.speakers[player].plays.items()
        }
        return set_value(text, place, plays, project)


def _with_new_person(
    text: str, project: Project, name: str, pronoun: str, aliases: Sequence[str]
) -> str:
    """The text of book.yaml with somebody new, who has the voice that people of this pronoun share,
    or an own entry if there is none. The narrator stays the narrator. Raises ManifestError."""
    manifest, narrator = project.manifest, project.narrator
    if not manifest.speakers:
        text = set_value(text, ("speakers", "narrator"), {}, project)
    elif manifest.narrator is None and narrator not in (None, "narrator"):
        message = (
            f"“{excerpt(narrator)}” reads all as the only speaker: put `narrator: {narrator}` here"
        )
        raise ManifestError(Problem(project.path, project.line("speakers"), message))
    shared_voice = next(
        (
            speaker
            for speaker, entry in project.manifest.speakers.items()
            if SHARED_VOICE_NAME.fullmatch(speaker)
            and entry.plays
            and (entry.pronoun or "") == pronoun
        ),
        None,
    )
    if shared_voice is None:
        entries: dict[str, object] = {
            name: without_empty_values({"pronoun": pronoun, "aliases": list(aliases)})
        }
        choose_engine_voices(project, entries)
        text = set_value(text, ("speakers", name), entries[name], project)
    else:
        place: KeyPath = ("speakers", shared_voice, "plays")
        try:
            text = set_value(text, (*place, name), list(aliases), project)
        except ManifestError:  # a list
            plays = {**project.manifest.speakers[shared_voice].plays, name: list(aliases)}
            text = set_value(text, place, plays, project)
    return text


def _without_person(text: str, project: Project, name: str) -> str:
    """The text of book.yaml without the entry of somebody in the cast.

    A shared voice that nobody has any more is removed, too.
    """
    player = project.voice_of(name)
    if player == name:
        return remove_entry(text, ("speakers", name), project)
    members = list(project.manifest.speakers[player].plays)
    place: KeyPath = ("speakers", player, "plays")
    if len(members) == 1:
        is_shared_voice = SHARED_VOICE_NAME.fullmatch(player)
        return remove_entry(text, ("speakers", player) if is_shared_voice else place, project)
    try:
        return remove_entry(text, (*place, name), project)
    except ManifestError:
        return remove_entry(text, (*place, members.index(name)), project)


def _manifest_edit(project: Project, text: str, title: str) -> Edit:
    change = FileChange(project.path, manifest_text(project), text)
    return require_readable(project, Edit(title, (change,)))
