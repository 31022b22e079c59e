"""The facts of a book in its manifest, for tags, file names, feeds and credits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from narrator.project.schema import Manifest, Series


@dataclass(frozen=True, slots=True)
class BookFacts:
    """Title, authors and other facts of a book. Unknown ones are empty strings or tuples."""

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
    """With the disclosure at its end."""
    disclosure: str = ""
    """A sentence that tells that the voices are synthetic."""
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
        """The date, if it is more precise than a year."""
        return self.date if self.date != self.year else ""

    def in_names(self) -> dict[str, str]:
        """Facts for templates of file names, by field name."""
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

    def recipe(self) -> dict[str, Any]:
        """Returns all facts but the cover, for keys of files that contain them.

        Without a disclosure the keys are those of versions that had none.
        """
        recipe = asdict(replace(self, cover=None))
        return recipe if self.disclosure else {k: v for k, v in recipe.items() if k != "disclosure"}

    def in_credits(self) -> dict[str, str]:
        """Facts for templates of spoken credits, by field name."""
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
            "disclosure": self.disclosure,
        }


def facts_of(manifest: Manifest, root: Path) -> BookFacts:
    """The facts in a manifest of the folder `root`."""
    series = manifest.series
    if isinstance(series, str):
        series = Series(name=series)
    identifiers = {scheme.casefold(): number for scheme, number in manifest.identifiers.items()}
    return BookFacts(
        title=manifest.title,
        authors=manifest.author,
        narrators=(manifest.narrated_by,) if manifest.narrated_by else (),
        subtitle=manifest.subtitle or "",
        series=series.name if series else "",
        part=(series.part or "") if series else "",
        publisher=manifest.publisher or "",
        date=manifest.date or "",
        description="\n\n".join(filter(None, (manifest.description, manifest.disclosure))),
        disclosure=manifest.disclosure or "",
        genre=manifest.genre or "",
        copyright=manifest.copyright or "",
        language=manifest.language,
        isbn=identifiers.get("isbn", ""),
        asin=identifiers.get("asin", ""),
        cover=root / manifest.cover if manifest.cover else None,
    )
