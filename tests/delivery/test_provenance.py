"""Marks of a sound's origin: which type it has, and that each format states it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import av
import mutagen
import pytest
from lxml import etree

from narrator.delivery import products, provenance
from narrator.delivery.export import containers
from narrator.delivery.finish import Finished
from narrator.delivery.postflight import collect_files
from narrator.delivery.provenance import Provenance
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.server.engine import ServerEngine
from narrator.engines.server.settings import ServerSettings
from narrator.project.profiles import PROFILES
from narrator.sound.formats import FORMATS
from tests import books
from tests.fakes import HumEngine
from tests.sound_files import write
from tests.sounds import tone

VOCABULARY = "http://cv.iptc.org/newscodes/digitalsourcetype/"
TRAINED = f"{VOCABULARY}trainedAlgorithmicMedia"


class Rules(HumEngine):
    """An engine without a trained model."""

    is_trained = False
    public_name = "Rules 1.0"


@pytest.mark.parametrize(
    ("engines", "has_music", "source_type"),
    [
        ([HumEngine], False, "trainedAlgorithmicMedia"),
        ([Rules], False, "algorithmicMedia"),
        ([HumEngine, Rules], False, "compositeSynthetic"),
        ([HumEngine], True, "compositeSynthetic"),
        ([Rules], True, "composite"),
        ([], True, ""),
    ],
)
def test_the_type_follows_from_what_is_heard(
    engines: list[type[HumEngine]], has_music: bool, source_type: str
) -> None:
    sound = provenance.provenance([kind() for kind in engines], has_music=has_music)
    assert sound.source_type == source_type
    assert bool(sound.mark) == bool(source_type)


def test_a_file_states_all_that_is_in_it() -> None:
    model = provenance.provenance([HumEngine(), HumEngine()], has_music=False)
    rules = provenance.provenance([Rules()], has_music=False)
    assert provenance.combine([model, model]) == model
    assert provenance.combine([rules, model]).mark == {
        "digitalSourceType": f"{VOCABULARY}compositeSynthetic",
        "speechEngine": "Rules 1.0, hum",
    }
    assert provenance.combine([]) == Provenance()


def test_a_mark_is_read_from_tags_and_from_a_comment() -> None:
    mark = provenance.provenance([Rules()], has_music=True).mark
    lower = {name.casefold(): text for name, text in mark.items()}
    comment = {"comment": f"A sentence. {provenance.as_comment(mark)}"}
    keywords = {"keywords": provenance.as_comment(mark)}
    assert provenance.read_mark(lower) == provenance.read_mark(comment) == mark
    assert provenance.read_mark(keywords) == mark
    assert provenance.read_mark({"comment": "about digitalSourceType: x"}) == {}
    assert provenance.source_type(mark) == "composite"
    https = {"digitalSourceType": TRAINED.replace("http:", "https:")}
    assert provenance.source_type(https) == "trainedAlgorithmicMedia"
    assert provenance.source_type({"digitalSourceType": "by a machine"}) == ""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "server"),
        ({"model": "tts-2", "version": "2026-01"}, "server (tts-2 2026-01)"),
        ({"model": "owner/name"}, "server (owner/name)"),
        ({"model": "/srv/private/models/ann"}, "server"),
        ({"model": r"C:\models\ann"}, "server"),
    ],
)
def test_the_name_of_a_server_has_no_address_and_no_folder(
    settings: Mapping[str, Any], name: str, tmp_path: Path
) -> None:
    options = ServerSettings(url="http://10.0.0.7:8000", **settings)
    assert ServerEngine(options, cache=tmp_path).public_name == name


def test_a_cluster_speaks_as_its_engine_does() -> None:
    engine = ClusterEngine(Rules(), {}, place=None)  # type: ignore[arg-type]
    assert (engine.is_trained, engine.public_name) == (False, "Rules 1.0")


# -- files -----------------------------------------------------------------------------------------


def tags_by_ffmpeg(path: Path) -> dict[str, str]:
    with av.open(str(path)) as container:
        tags = {**container.streams.audio[0].metadata, **container.metadata}
    return {name.casefold(): text for name, text in tags.items()}


def deliver(folder: Path, more: str = "", engine: HumEngine | None = None) -> Finished:
    formats = ", ".join(FORMATS)
    output = f"output: {{formats: [{formats}], files: book{more}}}\n"
    report, _ = books.run(books.brief(folder, books.PLAIN + output), engine or HumEngine())
    assert report.finished is not None
    return report.finished


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A book in every format, by format."""
    finished = deliver(tmp_path_factory.mktemp("marked"))
    return {path.suffix[1:]: path for path in finished.files}


@pytest.mark.parametrize("format", FORMATS)
def test_ffmpeg_reads_the_mark_of_every_format(delivered: dict[str, Path], format: str) -> None:
    mark = provenance.read_mark(tags_by_ffmpeg(delivered[format]))
    assert mark == {"digitalSourceType": TRAINED, "speechEngine": "hum"}


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("mp3", "TXXX:{}"),
        ("m4b", "----:com.apple.iTunes:{}"),
        ("flac", "{}"),
        ("opus", "{}"),
    ],
)
def test_mutagen_reads_the_mark_as_tags(delivered: dict[str, Path], format: str, name: str) -> None:
    tags = mutagen.File(delivered[format]).tags
    is_upper = format == "m4b"  # as its other free tags are
    for tag, expected in (("digitalSourceType", TRAINED), ("speechEngine", "hum")):
        (text,) = tags[name.format(tag.upper() if is_upper else tag)]
        assert (text.decode() if isinstance(text, bytes) else text) == expected


@pytest.mark.parametrize("format", ["m4b", "mp3"])
def test_a_mark_outlives_ffmpegs_mp4_which_drops_tags_of_other_names(
    delivered: dict[str, Path], format: str, tmp_path: Path
) -> None:
    path = tmp_path / "copy.mp4"
    with av.open(str(delivered[format])) as source, av.open(str(path), "w") as target:
        target.metadata.update(source.metadata)
        sound = source.streams.audio[0]
        stream = target.add_stream_from_template(sound)
        for packet in source.demux(sound):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    tags = tags_by_ffmpeg(path)
    assert "digitalsourcetype" not in tags
    assert provenance.read_mark(tags) == {"digitalSourceType": TRAINED, "speechEngine": "hum"}


PACKET_STARTS = {
    "mp3": b"PRIV(size)(flags)XMP\0",
    "m4b": b"uuid\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac",
    "wav": b"_PMX(size)",
}
"""Bytes before an XMP packet, by part 3 of its specification."""


@pytest.mark.parametrize("format", FORMATS)
def test_xmp_states_the_type_where_a_format_has_a_place_for_it(
    delivered: dict[str, Path], format: str
) -> None:
    content = delivered[format].read_bytes()
    start = content.find(b"<?xpacket begin")
    assert (start >= 0) == (format in PACKET_STARTS)
    if start < 0:
        return
    stop = content.index(b'<?xpacket end="r"?>')
    expected = PACKET_STARTS[format].replace(b"(size)", b"....").replace(b"(flags)", b"..")
    before = content[start - len(expected) : start]
    assert re.fullmatch(re.escape(expected).replace(rb"\.", b"."), before, re.DOTALL)
    packet = etree.fromstring(content[start:stop].partition(b"?>")[2])
    assert [text for text in packet.xpath("//@*") if text] == [TRAINED]
    assert packet.xpath("local-name(//@*[. != ''])") == "DigitalSourceType"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("exiftool") is None, reason="needs exiftool")
@pytest.mark.parametrize("format", PACKET_STARTS)
def test_exiftool_knows_the_field_by_its_name(delivered: dict[str, Path], format: str) -> None:
    command = ["exiftool", "-s3", "-XMP-iptcExt:DigitalSourceType", delivered[format]]
    assert subprocess.check_output(command, text=True).strip() == TRAINED


@pytest.mark.parametrize("is_long", [False, True])
def test_a_wav_counts_its_xmp(is_long: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF\x14\0\0\0WAVEdata\x08\0\0\0" + bytes(8))
    if is_long:
        sizes = struct.pack("<QQQI", 44, 8, 0, 0)
        header = b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<I", len(sizes)) + sizes
        path.write_bytes(header + b"data\xff\xff\xff\xff" + bytes(8))
    containers._append_chunk(path, b"_PMX", b"odd")
    content = path.read_bytes()
    assert content.endswith(b"_PMX\x03\0\0\0odd\0")
    (size,) = struct.unpack_from(*(("<Q", content, 20) if is_long else ("<I", content, 4)))
    assert size == len(content) - 8


def test_verify_holds_files_to_the_mark_that_they_were_made_with(tmp_path: Path) -> None:
    finished = deliver(tmp_path)
    path = next(path for path in finished.files if path.suffix == ".mp3")
    for profile in (None, PROFILES["archive"]):
        for file in collect_files([path]).inspect(profile).inspected_files:
            (check,) = [check for check in file.checks if check.name == "origin"]
            assert check.ok
            assert check.figure == check.demand == "trainedAlgorithmicMedia, hum"
    tags = mutagen.File(path)
    del tags["TXXX:digitalSourceType"]
    tags.save()
    (file,) = collect_files([path]).inspect(None).inspected_files
    (check,) = [check for check in file.checks if check.name == "origin"]
    assert not check.ok
    assert (check.figure, check.demand) == ("no source type, hum", "trainedAlgorithmicMedia, hum")


def test_verify_shows_the_mark_of_a_strangers_file_and_asks_for_none(tmp_path: Path) -> None:
    finished = deliver(tmp_path / "book")
    original = next(path for path in finished.files if path.suffix == ".flac")
    copy = tmp_path / "elsewhere" / "copy.flac"
    copy.parent.mkdir()
    copy.write_bytes(original.read_bytes())

    def origin() -> tuple[str, str, bool]:
        (file,) = collect_files([copy]).inspect(None).inspected_files
        (check,) = [check for check in file.checks if check.name == "origin"]
        return check.figure, check.demand, check.ok

    assert origin() == ("trainedAlgorithmicMedia, hum", "", True)
    tags = mutagen.File(copy)
    tags["digitalSourceType"] = "a machine"
    tags.save()
    figure, demand, is_right = origin()
    assert (figure, is_right) == ("a machine, hum", False)
    assert VOCABULARY in demand
    tags.delete()
    assert origin() == ("none", "", True)


def test_one_key_leaves_the_marks_out_and_files_are_copied_not_encoded(tmp_path: Path) -> None:
    plain = deliver(tmp_path, ", mark: false")
    assert all(not provenance.read_mark(tags_by_ffmpeg(path)) for path in plain.files)
    assert not [entry for entry in plain.made_files.values() if "mark" in entry.facts]
    engine = HumEngine()
    marked = deliver(tmp_path, engine=engine)
    mark = {"digitalSourceType": TRAINED, "speechEngine": "hum"}
    assert [marked.made_files[path].facts["mark"] for path in marked.files] == [mark] * len(FORMATS)
    assert not engine.requests
    assert {file.fresh for file in marked.exported.files} == {True}
    assert not any(sound.fresh for sound in marked.exported.encoded)
    assert all(provenance.read_mark(tags_by_ffmpeg(path)) for path in marked.files)
    again = deliver(tmp_path)
    assert {file.fresh for file in again.exported.files} == {False}


def test_status_calls_files_outdated_that_have_another_mark(tmp_path: Path) -> None:
    def outdated(more: str) -> list[Path]:
        output = f"output: {{formats: flac, files: book{more}}}\n"
        path = books.brief(tmp_path, books.PLAIN + output)
        return products.list_outdated_files(books.plan(path, HumEngine()))

    path = books.brief(tmp_path, books.PLAIN + "output: {formats: flac, files: book}\n")
    books.run(path, HumEngine())
    assert outdated("") == []
    assert len(outdated(", mark: false")) == 1


def test_files_of_a_book_say_what_is_in_each(tmp_path: Path) -> None:
    write(tmp_path / "theme.wav", tone(2.0))
    output = (
        "output: {formats: flac, files: both}\n"
        "music: [{file: theme.wav, place: intro, chapters: [1]}]\n"
    )
    report, _ = books.run(books.brief(tmp_path, books.PLAIN + output), HumEngine())
    assert report.finished is not None
    types = {
        path.name: provenance.source_type(provenance.read_mark(tags_by_ffmpeg(path)))
        for path in report.finished.files
    }
    assert types == {
        "A. Author - The Ferry.flac": "compositeSynthetic",
        "01 - Morning.flac": "compositeSynthetic",
        "02 - Evening.flac": "trainedAlgorithmicMedia",
    }


def test_a_disclosure_ends_the_description_and_is_spoken_where_credits_say_so(
    tmp_path: Path,
) -> None:
    more = (
        "description: A ferry.\ndisclosure: The voices in this book are synthetic.\n"
        'credits: {opening: null, closing: "The end. {disclosure}"}\n'
        "output: {formats: [flac, wav], files: book}\n"
    )
    engine = HumEngine()
    report, _ = books.run(books.brief(tmp_path, books.PLAIN + more), engine)
    assert report.finished is not None
    flac, wav = (tags_by_ffmpeg(path) for path in report.finished.files)
    # FFmpeg's name of DESCRIPTION in Vorbis comments
    assert flac["comment"] == "A ferry.\n\nThe voices in this book are synthetic."
    assert wav["comment"].startswith("The voices in this book are synthetic. digitalSourceType: ")
    spoken = " ".join(request.text for request in engine.requests)
    assert spoken.count("The voices in this book are synthetic.") == 1
