"""Proposes the speakers of a book, and adds the characters that were found to its book.yaml, with
own or shared voices.

What an author has written into the manifest is never changed; new names are added after it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from narrator import files
from narrator.cast.cast import choose_engine_voices
from narrator.errors import FileChanged, ManifestError, Problem, UsageError
from narrator.pipeline.attribution import (
    Proposal,
    characters,
    decide,
    group_turns,
    write_speaker_files,
)
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, encode_exact, read_exact
from narrator.pipeline.edits.people import require_in_cast
from narrator.pipeline.edits.voices import voice_edit
from narrator.project import load
from narrator.project.project import Project
from narrator.project.rewriting import UnsupportedLayout, insert_entries, without_empty_values
from narrator.project.schema import VoiceSettings
from narrator.quantities import pluralize
from narrator.text import speaker_files
from narrator.text.labels import fold_label
from narrator.text.lines import Chapter
from narrator.text.memo import LastValues
from narrator.text.speakers import Character
from narrator.text.speakers.ages import Age, find_ages
from textbase.characters import excerpt
from textbase.languages import primary

_MAX_VOICES = 12
"""Largest number of characters with own voices; listeners can hardly tell more apart."""
_MAX_SHARED_VOICES = 3
"""Largest number of shared voices for each pronoun."""
_MIN_LINES, _MIN_LINE_SHARE = 10, 0.01
"""Number of lines, or share of all lines, from which a character gets a voice of its own."""

_SHARED_VOICE_NAMES = {"she": "women", "he": "men", "": "others"}
"""Pronoun -> name of the shared voice."""
_VOICE_NOUNS = {"she": "A woman", "he": "A man", "": "A voice"}
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
"""Pronoun -> descriptions that set voices apart."""
_AGED_VOICES = {
    ("she", Age.CHILD): ("A girl, high and clear", "A girl, quick and bright"),
    ("he", Age.CHILD): ("A boy, high and clear", "A boy, quick and bright"),
    ("", Age.CHILD): ("A child, high and clear", "A child, quick and bright"),
    ("she", Age.YOUNG): ("A woman, young and bright, quick", "A woman, young and soft"),
    ("he", Age.YOUNG): ("A man, young and eager, light", "A man, young and quiet"),
    ("", Age.YOUNG): ("A voice, young and light", "A voice, young and quiet"),
    ("she", Age.OLD): ("A woman, old, thin and kind", "A woman, old, low and slow"),
    ("he", Age.OLD): ("A man, old, cracked and friendly", "A man, old, dry and slow"),
    ("", Age.OLD): ("A voice, old and thin", "A voice, old and slow"),
}
"""Descriptions of people of whom the text says how old they are."""

STAGES = ("looking for the people of the book", "deciding who says what", "writing it down")
"""What is done to find a cast, in order, for people who wait."""

_Insertion = tuple[Sequence[str], Mapping[str, object]]
"""A place in the manifest, and the entries to put there."""


def _tell_nobody(stage: str) -> None:
    pass


def propose(
    project: Project,
    *,
    discovers_characters: bool = False,
    tell: Callable[[str], None] = _tell_nobody,
    scripts: LastValues[Chapter] | None = None,
) -> Proposal:
    """Find the speakers of a project's quotations by rules.

    Characters are discovered if the project has none, or with `discovers_characters`. Decisions are
    made with the cast that book.yaml has once these are added, so that they are the same before and
    after writing. `tell` is told each of `STAGES` as it begins; `scripts` holds the chapters as
    they were read last. Matches no pattern of the lexicon, so any thread may do it. Raises
    ManifestError if characters cannot be added, ScriptError, StorageError.
    """
    tell(STAGES[0])
    scripts = scripts or LastValues()
    proposal = decide(project, discovers_characters=discovers_characters, scripts=scripts)
    tell(STAGES[1])
    old_text = read_exact(project.path) or ""
    extension = _extend_manifest(proposal, old_text)
    if extension is None:
        return decide(project, scripts=scripts) if discovers_characters else proposal
    extended_project, new_text = extension
    return replace(
        decide(extended_project, scripts=scripts),
        manifest_change=FileChange(project.path, old_text, new_text),
        new_names=tuple(character.name for character in _find_new_characters(proposal)),
    )


def write(proposal: Proposal) -> list[Path]:
    """Write a proposal: new characters to book.yaml, and the files of speakers that have changed.

    Returns the paths of these files. Raises FileChanged if book.yaml is not as it was read,
    StorageError.
    """
    if change := proposal.manifest_change:
        present_text, new_text = read_exact(change.path) or "", change.new_text or ""
        if present_text != change.old_text:
            raise FileChanged(change.path, present_text, new_text)
        files.write(files.resolve_link(change.path), encode_exact(new_text))
    return write_speaker_files(proposal)


def cast_edit(project: Project, tell: Callable[[str], None] = _tell_nobody) -> Edit:
    """The edit that writes the proposal of a project, as `narrator cast --find --write` does.

    It changes nothing if nothing is missing. `tell` is told each of `STAGES` as it begins. Raises
    ManifestError, ScriptError, StorageError.
    """
    proposal = propose(project, discovers_characters=True, tell=tell)
    tell(STAGES[2])
    changes = [proposal.manifest_change] if proposal.manifest_change else []
    for number, file in proposal.files.items():
        if file.rows or file.exists or file.is_unreadable:
            new_text = speaker_files.format_file(file, proposal.text_of(number)).decode()
            changes.append(FileChange(file.path, read_exact(file.path), new_text))
    return require_readable(project, Edit(_summarize(proposal), tuple(changes)))


def _summarize(proposal: Proposal) -> str:
    """The people whom a proposal adds, or why there are none."""
    turns = [quote for quote in proposal.quotes if not quote.row.continues_previous]
    quotations = pluralize(len(turns), "quotation")
    if proposal.new_names:
        names = excerpt(", ".join(proposal.new_names), 200)
        return f"{pluralize(len(proposal.new_names), 'new speaker')} in {quotations}: {names}"
    head = "nobody new found" if proposal.characters else "nobody found"
    if not turns:
        return f"{head}: nothing in the text is quoted"
    if not proposal.characters:
        return f"{head}: no name stands beside the {quotations}"
    count = sum(quote.row.speaker == speaker_files.UNKNOWN for quote in turns)
    return f"{head}; {count or 'none'} of {quotations} lacks a speaker"


def own_voice_edit(project: Project, name: str) -> Edit:
    """The edit that gives somebody who shares a voice one of their own, described so that it
    differs from those of others.

    Raises ManifestError, StorageError, UsageError.
    """
    name = require_in_cast(project, name)
    if project.voice_of(name) == name:
        raise UsageError(f"“{excerpt(name)}” has a voice of their own already")
    pronoun = project.speakers[name].pronoun or ""
    pronoun = pronoun if pronoun in _MANNERS else ""
    descriptions = [f"{_VOICE_NOUNS[pronoun]}, {manner}" for manner in _MANNERS[pronoun]]
    used = [
        entry.voice.description
        for entry in project.manifest.speakers.values()
        if isinstance(entry.voice, VoiceSettings)
    ]
    description = min(descriptions, key=used.count)
    return voice_edit(project, name, {"description": description})


def _extend_manifest(proposal: Proposal, text: str) -> tuple[Project, str] | None:
    """The project with the characters that book.yaml lacks, and the new text of book.yaml.

    `text` is its present text. Returns None if no character is missing. Raises ManifestError if
    they cannot be added.
    """
    path = proposal.project.path
    insertions = list(_build_insertions(proposal))
    if not insertions:
        return None
    try:
        for location, entries in insertions:
            text = insert_entries(text, location, entries)
    except UnsupportedLayout:
        message = (
            f"no names can be put under `{'.'.join(location)}`: write it as `name: …`, a line for "
            "each"
        )
        raise ManifestError(Problem(path, proposal.project.line(*location), message)) from None
    return load.load(path, text), text


def _build_insertions(proposal: Proposal) -> Iterator[_Insertion]:
    """Yields the insertions into the manifest."""
    manifest = proposal.project.manifest
    new_characters = _find_new_characters(proposal)
    if not (new_characters or manifest.speakers):
        return
    own_voice_count = _count_own_voices(proposal, new_characters)
    entries: dict[str, object] = {}
    if "narrator" not in manifest.speakers and proposal.project.narrator == "narrator":
        entries["narrator"] = {}
    entries |= _build_own_voice_entries(proposal, new_characters[:own_voice_count])
    folded_names = {
        fold_label(name)
        for name in (*manifest.cast, *(character.name for character in new_characters))
    }
    for name, pronoun, aliases_by_character in _assign_shared_voices(
        proposal, new_characters[own_voice_count:]
    ):
        shared_speaker = manifest.speakers.get(name)
        if shared_speaker is not None and shared_speaker.plays:
            yield ("speakers", name, "plays"), aliases_by_character
        else:
            entries[_find_free_name(name, folded_names)] = _build_shared_voice_entry(
                pronoun, aliases_by_character
            )
    choose_engine_voices(proposal.project, entries)
    if entries:
        yield ("speakers",), entries
    if new_characters and "cast" not in manifest.dialogue.model_fields_set:
        yield ("dialogue",), {"cast": "found"}


def _assign_shared_voices(
    proposal: Proposal, characters_without_voice: Sequence[Character]
) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Yields the name, the pronoun and the new characters of each shared voice.

    Characters who talk to each other get different voices, as far as there are enough.
    """
    partners = _conversation_partners(proposal)
    speakers = proposal.project.manifest.speakers
    for pronoun, base_name in _SHARED_VOICE_NAMES.items():
        names = [
            base_name,
            *(f"{base_name} {number}" for number in range(2, _MAX_SHARED_VOICES + 1)),
        ]
        members_by_voice = {
            name: set(speakers[name].plays) if name in speakers else set() for name in names
        }
        new_by_voice: dict[str, dict[str, list[str]]] = {name: {} for name in names}
        for character in (
            character
            for character in characters_without_voice
            if _binary_pronoun(character) == pronoun
        ):
            name = min(
                names, key=lambda name: len(members_by_voice[name] & partners[character.name])
            )
            members_by_voice[name].add(character.name)
            new_by_voice[name][character.name] = list(character.aliases)
        for name, aliases_by_character in new_by_voice.items():
            if aliases_by_character:
                yield name, pronoun, aliases_by_character


def _conversation_partners(proposal: Proposal) -> Mapping[str, set[str]]:
    """The characters whose speech directly follows or precedes each character's."""
    partners: dict[str, set[str]] = defaultdict(set)
    for (quote_before, *_), (quote_after, *_) in pairwise(group_turns(proposal.quotes)):
        if (
            quote_before.chapter == quote_after.chapter
            and quote_before.speaker
            and quote_after.speaker
        ):
            partners[quote_before.speaker].add(quote_after.speaker)
            partners[quote_after.speaker].add(quote_before.speaker)
    return partners


def _build_own_voice_entries(
    proposal: Proposal, characters_with_voice: Sequence[Character]
) -> dict[str, object]:
    """Entries of speakers with own voices, described by the age that the text states, and so that
    those of the same pronoun differ."""
    is_english = primary(proposal.project.manifest.language) == "en"
    ages = find_ages(characters_with_voice, proposal.texts) if is_english else {}
    used: Counter[tuple[str, Age | None]] = Counter()
    entries: dict[str, object] = {}
    for character in characters_with_voice:
        pronoun, age = _binary_pronoun(character), ages.get(character.name)
        descriptions = (
            [f"{_VOICE_NOUNS[pronoun]}, {manner}" for manner in _MANNERS[pronoun]]
            if age is None
            else _AGED_VOICES[pronoun, age]
        )
        description = descriptions[used[pronoun, age] % len(descriptions)]
        used[pronoun, age] += 1
        entries[character.name] = without_empty_values(
            {
                "pronoun": character.pronoun,
                "aliases": list(character.aliases),
                "voice": {"description": description},
            }
        )
    return entries


def _build_shared_voice_entry(
    pronoun: str, aliases_by_character: Mapping[str, Sequence[str]]
) -> dict[str, object]:
    """The entry of a speaker whose voice several characters share."""
    return without_empty_values(
        {
            "pronoun": pronoun,
            "plays": aliases_by_character,
            "voice": {"description": f"{_VOICE_NOUNS[pronoun]}, pleasant and plain"},
        }
    )


def _find_free_name(name: str, folded_names: Collection[str]) -> str:
    """The name, with "other" in front until it is not taken."""
    while fold_label(name) in folded_names:
        name = f"other {name}"
    return name


def _find_new_characters(proposal: Proposal) -> list[Character]:
    """The characters that the manifest lacks and can have, those with most lines first."""
    folded_names = {fold_label(name) for name in (*proposal.project.speakers, "narrator")}
    declared_characters = set(characters(proposal.project))
    new_characters: list[Character] = []
    for character in proposal.characters_by_lines:
        if (
            character not in declared_characters
            and load.is_label(character.name)
            and fold_label(character.name) not in folded_names
        ):
            folded_names.add(fold_label(character.name))
            new_characters.append(character)
    return new_characters


def _count_own_voices(proposal: Proposal, new_characters: Sequence[Character]) -> int:
    """The number of new characters that get a voice of their own."""
    total_lines = sum(proposal.line_counts.values())
    min_lines = min(_MIN_LINES, max(1, round(_MIN_LINE_SHARE * total_lines)))
    frequent_count = sum(
        proposal.line_counts[character.name] >= min_lines for character in new_characters
    )
    declared_speakers = proposal.project.manifest.speakers
    voices_in_use = sum(
        character.name in declared_speakers for character in characters(proposal.project)
    )
    return min(frequent_count, max(0, _MAX_VOICES - voices_in_use))


def _binary_pronoun(character: Character) -> str:
    """The pronoun "she" or "he", or ""."""
    return character.pronoun if character.pronoun in ("she", "he") else ""
