"""Tags of a file: title, people, series, cover; in the form of each container."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from narrator.delivery.provenance import as_comment, as_xmp
from narrator.project.facts import BookFacts
from narrator.sound.formats import OutputFormat

GENRE = "Audiobook"
XMP = "xmp"
"""Name of the XMP packet among tags, for writers of formats that FFmpeg writes none in."""


def file_tags(
    tags: BookFacts, track: Track | None, format: OutputFormat, mark: Mapping[str, str]
) -> dict[str, str]:
    """Returns tags by FFmpeg's names, for ID3, Vorbis comments, RIFF, and `m4b.py`.

    `mark` states the origin of the sound. RIFF, which has no tags of other names, gets it as a
    comment. The others have it among the keywords, too: FFmpeg, and what is made with it, writes no
    tags of other names to MP4. A comment would become the book's description in Audiobookshelf.

    As Audiobookshelf reads them: the artist is the author, the composer the narrator, the album the
    book. FFmpeg splits a day for ID3 into its year and date tags; Vorbis comments have a date, and
    a year beside it for players that show one.
    """
    tag_values = {
        "title": track.title if track else tags.title,
        "album": tags.title,
        "artist": tags.author,
        "album_artist": tags.author,
        "composer": tags.narrator,
        "genre": tags.genre or GENRE,
        # players show that of MP4 as the year
        "date": tags.year if format.tags == "mp4" else tags.date,
        "releasedate": tags.day if format.tags == "mp4" else "",
        "year": tags.year if tags.day and format.tags == "vorbis" else "",
        "publisher": tags.publisher,
        "copyright": tags.copyright,
        "description": tags.description,
        "subtitle": tags.subtitle,
        "series": tags.series,
        "series-part": tags.part,
        "language": three_letters(tags.language) if format.tags == "id3" else tags.language,
        "isbn": tags.isbn,
        "asin": tags.asin,
        "track": f"{track.number}/{track.total}" if track and track.number else "",
    }
    if format.tags == "riff":
        tag_values["comment"] = " ".join(filter(None, (tags.disclosure, as_comment(mark))))
    else:
        tag_values |= {**mark, "keywords": as_comment(mark)}
    if mark and format.has_xmp:
        # by this name FFmpeg writes a PRIV frame, where programs look for it in an MP3
        tag_values["id3v2_priv.XMP" if format.tags == "id3" else XMP] = as_xmp(mark)
    return {name: text for name, text in tag_values.items() if text}


@dataclass(frozen=True, slots=True)
class Track:
    """The title and number of a file that is a chapter or a part of its book; number 0 stands for
    none."""

    title: str
    number: int
    total: int


# -- cover -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cover:
    """A cover's bytes, as they are in its file."""

    data: bytes
    kind: str
    """jpeg or png."""
    width: int
    height: int

    @property
    def mime(self) -> str:
        return f"image/{self.kind}"


# -- language --------------------------------------------------------------------------------------

# ISO 639-1 with ISO 639-2/T, which MP4 and ID3 require.
_ISO_639_2 = dict(
    re.findall(
        r"(\w{2}) (\w{3})",
        """
aa aar ab abk ae ave af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak be bel
bg bul bi bis bm bam bn ben bo bod br bre bs bos ca cat ce che ch cha co cos cr cre cs ces
cu chu cv chv cy cym da dan de deu dv div dz dzo ee ewe el ell en eng eo epo es spa et est eu eus
fa fas ff ful fi fin fj fij fo fao fr fra fy fry ga gle gd gla gl glg gn grn gu guj gv glv ha hau
he heb hi hin ho hmo hr hrv ht hat hu hun hy hye hz her ia ina id ind ie ile ig ibo ii iii ik ipk
io ido is isl it ita iu iku ja jpn jv jav ka kat kg kon ki kik kj kua kk kaz kl kal km khm kn kan
ko kor kr kau ks kas ku kur kv kom kw cor ky kir la lat lb ltz lg lug li lim ln lin lo lao lt lit
lu lub lv lav mg mlg mh mah mi mri mk mkd ml mal mn mon mr mar ms msa mt mlt my mya na nau nb nob
nd nde ne nep ng ndo nl nld nn nno no nor nr nbl nv nav ny nya oc oci oj oji om orm or ori os oss
pa pan pi pli pl pol ps pus pt por qu que rm roh rn run ro ron ru rus rw kin sa san sc srd sd snd
se sme sg sag sh hbs si sin sk slk sl slv sm smo sn sna so som sq sqi sr srp ss ssw st sot su sun
sv swe sw swa ta tam te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn to ton tr tur ts tso tt tat
tw twi ty tah ug uig uk ukr ur urd uz uzb ve ven vi vie vo vol wa wln wo wol xh xho yi yid yo yor
za zha zh zho zu zul
""",
    )
)


def three_letters(language: str) -> str:
    """Returns ISO 639-2/T of a BCP 47 tag: "eng" of "en-GB"; "und" where there is none."""
    primary = re.split(r"[-_]", language.lower())[0]
    return primary if len(primary) == 3 and primary.isascii() else _ISO_639_2.get(primary, "und")
