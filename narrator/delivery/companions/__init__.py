"""Writes companions of the audio, all from the one timeline: subtitles, chapter lists, a read-along
book.

They lie beside the files that they belong to, and use their times. Texts within a take have the
times of their words, else estimates. Files that are up to date are not written again. Knows nothing
of manifests and takes.

    spoken.py     a chapter and its timeline; the times of each part of a take
    captions.py   text in pieces of a caption's size
    vtt.py  srt.py  podcast.py  cue.py  labels.py    one format each
    readalong.py  EPUB 3 with media overlays; overlays.py marks the sentences in the source book
    feed.py       RSS for a folder of episodes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from narrator import files as disk
from narrator.delivery.companions import cue, labels, podcast, srt, vtt
from narrator.delivery.companions.captions import Caption, captions
from narrator.delivery.companions.spoken import SpokenChapter
from narrator.delivery.export import ListenerFile
from narrator.delivery.export.names import fold_path
from narrator.delivery.output_manifest import OutputManifest
from narrator.project.facts import BookFacts

__all__ = [
    "SpokenChapter",
    "WrittenCompanions",
    "update",
    "write",
]


@dataclass(frozen=True, slots=True)
class WrittenCompanions:
    """Companions as they now lie on disk."""

    kinds: Mapping[Path, str]
    """Their names in `output.companions`."""
    remarks: tuple[str, ...]
    """Notes for listeners: on a read-along that is not in the book's own pages, on words
    without times."""

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.kinds)


def write(
    chapters: Sequence[SpokenChapter],
    files: Sequence[ListenerFile],
    companion_kinds: Sequence[str],
    *,
    tags: BookFacts,
    book: Path,
    source: Path | None = None,
    outputs: OutputManifest | None = None,
    on_progress: Callable[[int, int], None] = lambda done_count, total: None,
    ids: bool = False,
    words: bool = False,
) -> WrittenCompanions:
    """Writes the companions in `output.companions` for finished files; equal input gives equal
    bytes.

    `chapters` are all that the files hold; `book` is the path of the read-along, `.epub`; `source`
    is the EPUB that the project came from. `outputs` records files before they are written, and
    moves files aside that were altered by hand. `on_progress` receives the number of finished
    companions and of all. With `ids` subtitles name the chunk of a caption; with `words` read-along
    and WebVTT go word by word, where their times are known. Raises UserError (no file
    that e-readers play, a `source` that cannot be read) and StorageError.
    """
    names = {chunk.names for chapter in chapters for chunk in chapter.chunks}
    wide_captions = _Captions(vtt.LINE_WIDTH, labels=False)
    narrow_captions = _Captions(srt.LINE_WIDTH, labels=len(names) > 1, ids=ids)
    chapters_by_number = {chapter.number: chapter for chapter in chapters}
    planned_texts: list[tuple[Path, str, Callable[[], str]]] = []
    for file in files:
        file_chapters = [chapters_by_number[number] for number in file.chapters]
        texts = _FileTexts(file, file_chapters, tags, wide_captions, narrow_captions, ids, words)
        planned_texts += [
            (companion_path(file, files, kind.ending), name, partial(kind.text, texts))
            for name, kind in _KINDS.items()
            if name in companion_kinds and not (kind.is_of_books and file.chapter is not None)
        ]
    kinds = {path: name for path, name, _ in planned_texts}
    has_readalong = "readalong" in companion_kinds and bool(files)
    if has_readalong:
        kinds[book] = "readalong"
    if outputs is not None:
        outputs.expect_files(kinds)
    for number, (path, _, text) in enumerate(planned_texts):
        on_progress(number, len(kinds))
        update(path, text().encode(), outputs)
    remarks = _untimed_remark(chapters, companion_kinds) if words else ()
    if has_readalong:
        from narrator.delivery.companions import readalong  # it loads all readers of EPUB

        on_progress(len(planned_texts), len(kinds))
        if outputs is not None:
            outputs.clear_path(book)
        remarks += readalong.write(book, chapters, files, tags, source, words=words)
    on_progress(len(kinds), len(kinds))
    return WrittenCompanions(kinds, remarks)


def _untimed_remark(
    chapters: Sequence[SpokenChapter], companion_kinds: Sequence[str]
) -> tuple[str, ...]:
    """Returns the remark on words that should be highlighted and have no times."""
    is_timed = [bool(cue.words) for chapter in chapters for cue in chapter.timeline.heard]
    if all(is_timed) or not {"vtt", "readalong"}.intersection(companion_kinds):
        return ()
    return (
        f"output.highlight: nobody timed the words of {is_timed.count(False)} of "
        f"{len(is_timed)} takes, so their sentences are lit; `narrator hear --align` times them",
    )


def companion_path(file: ListenerFile, files: Sequence[ListenerFile], ending: str) -> Path:
    """Returns the path of a companion of `file`: under its name, so that players find it.

    Books in several formats begin their chapters at times that differ by a coder's delay, so each
    format has companions of its own, with the format in their names.
    """
    stem_path = file.path.with_suffix("")
    name = fold_path(stem_path)  # "The End.mp3" and "the end.m4b" share subtitles on some disks
    is_only_format = sum(fold_path(sibling.path.with_suffix("")) == name for sibling in files) == 1
    format_note = "" if is_only_format else f" ({file.format})"
    return stem_path.with_name(f"{stem_path.name}{format_note}{ending}")


@dataclass(frozen=True, slots=True)
class _Captions:
    """Captions of one width; each chapter is cut once, however many files hold it."""

    width: int
    labels: bool
    ids: bool = False
    captions_by_chapter: dict[int, list[Caption]] = field(default_factory=dict)

    def of(self, chapters: Sequence[SpokenChapter], file: ListenerFile) -> list[Caption]:
        """Returns the captions of a file, with its times."""
        file_captions: list[Caption] = []
        for chapter, start in zip(chapters, file.starts, strict=True):
            if chapter.number not in self.captions_by_chapter:
                self.captions_by_chapter[chapter.number] = captions(
                    chapter, self.width, labels=self.labels, ids=self.ids
                )
            shift = round(start * 1000)
            for caption in self.captions_by_chapter[chapter.number]:
                file_caption = caption.moved(shift)
                if (
                    file_captions and file_caption.start < file_captions[-1].stop
                ):  # a chapter without a silent head
                    file_captions[-1] = replace(file_captions[-1], stop=file_caption.start)
                file_captions.append(file_caption)
        return file_captions


@dataclass(frozen=True, slots=True)
class _FileTexts:
    """The texts beside a finished file."""

    file: ListenerFile
    chapters: Sequence[SpokenChapter]
    tags: BookFacts
    wide_captions: _Captions
    narrow_captions: _Captions
    ids: bool
    words: bool

    @property
    def marks(self) -> list[tuple[str, float]]:
        """The title and the start of each chapter."""
        titles = [chapter.title for chapter in self.chapters]
        return list(zip(titles, self.file.starts, strict=True))

    def vtt(self) -> str:
        title = self.tags.title if self.file.chapter is None else self.chapters[0].title
        file_captions = self.wide_captions.of(self.chapters, self.file)
        return vtt.text(file_captions, title, ids=self.ids, words=self.words)

    def srt(self) -> str:
        return srt.text(self.narrow_captions.of(self.chapters, self.file))

    def labels(self) -> str:
        return labels.text(zip(self.chapters, self.file.starts, strict=True))

    def chapter_list(self) -> str:
        name, tags = self.file.path.name, self.tags
        return podcast.text(
            self.marks, self.file.seconds, title=tags.title, author=tags.author, file_name=name
        )

    def cue(self) -> str:
        name, tags = self.file.path.name, self.tags
        return cue.text(name, self.file.format, tags.title, tags.author, self.marks)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of text beside a file."""

    ending: str
    text: Callable[[_FileTexts], str]
    is_of_books: bool = False
    """True where a file of one chapter has none."""


_KINDS = {
    "vtt": _Kind(".vtt", _FileTexts.vtt),
    "srt": _Kind(".srt", _FileTexts.srt),
    "labels": _Kind(".labels.txt", _FileTexts.labels),
    "chapters": _Kind(".chapters.json", _FileTexts.chapter_list, is_of_books=True),
    "cue": _Kind(".cue", _FileTexts.cue, is_of_books=True),
}
"""Kinds by their names in `output.companions`."""


def update(path: Path, content: bytes, outputs: OutputManifest | None = None) -> None:
    """Writes a file, unless it has this content. Raises StorageError."""
    with disk.translating_errors(path):
        if path.is_file() and path.read_bytes() == content:
            return
        if outputs is not None:
            outputs.clear_path(path)
        disk.write(path, content)
