"""The facts of a book, as its manifest tells them: for tags, names of files, feeds and credits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrator.project.schema import Manifest, Series


@dataclass(frozen=True, slots=True)
class BookFacts:
    """Who wrote a book and what it is. Empty strings and tuples stand for what is not known."""

    title: str
    authors: tuple[str, ...] = ()
    narrators: tuple[str, ...] = ()
    subtitle: str = ""
    series: str = ""
    part: str = ""
    """Place in the series: "2", "2.5"."""
    publisher: str = ""
    date: str = ""
    """ISO 8601: a year or a day."""
    description: str = ""
    genre: str = ""
    copyright: str = ""
    language: str = ""
    """BCP 47."""
    isbn: str = ""
    asin: str = ""
    cover: Path | None = None

    @property
    def author(self) -> str:
        return ", ".join(self.authors)

    @property
    def narrator(self) -> str:
        return ", ".join(self.narrators)

    @property
    def year(self) -> str:
        return self.date[:4]

    @property
    def day(self) -> str:
        """The date, where it says more than the year."""
        return self.date if self.date != self.year else ""

    def in_names(self) -> dict[str, str]:
        """What names of files can hold, by the fields of their templates."""
        return {
            "title": self.title,
            "author": self.author,
            "narrator": self.narrator,
            "series": self.series,
            "part": self.part,
            "year": self.year,
            "publisher": self.publisher,
            "language": self.language,
        }

    def in_credits(self) -> dict[str, str]:
        """What spoken credits can name, by the fields of their templates."""
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "author": ", ".join((*self.authors[:-2], " and ".join(self.authors[-2:]))),
            "narrator": self.narrator,
            "series": self.series,
            "part": self.part,
            "publisher": self.publisher,
            "year": self.year,
            "copyright": self.copyright,
        }


def facts_of(manifest: Manifest, root: Path) -> BookFacts:
    """Those of a manifest that lies in the folder `root`."""
    series = manifest.series
    if isinstance(series, str):
        series = Series(name=series)
    numbers = {scheme.casefold(): value for scheme, value in manifest.identifiers.items()}
    return BookFacts(
        title=manifest.title,
        authors=manifest.author,
        narrators=(manifest.narrated_by,) if manifest.narrated_by else (),
        subtitle=manifest.subtitle or "",
        series=series.name if series else "",
        part=(series.part or "") if series else "",
        publisher=manifest.publisher or "",
        date=manifest.date or "",
        description=manifest.description or "",
        genre=manifest.genre or "",
        copyright=manifest.copyright or "",
        language=manifest.language,
        isbn=numbers.get("isbn", ""),
        asin=numbers.get("asin", ""),
        cover=root / manifest.cover if manifest.cover else None,
    )
