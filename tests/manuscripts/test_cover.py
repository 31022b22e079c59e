"""Covers: what players take is kept, what they do not is drawn, what is none is refused."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import av
import numpy as np
import pytest

from manuscripts import Book
from manuscripts.errors import ImportFailed
from manuscripts.readers.ebook import cover
from narrator.importing import import_book
from tests.build_epub import METADATA, PNG, build_epub, page
from tests.effort import quick

ONE = {"one.xhtml": "<h1>One</h1><p>Some words.</p>"}
META = '<meta name="cover" content="{}"/>'
RED = '<rect width="20" height="30" fill="#ff0000"/>'


def with_cover(folder: Path, name: str, data: bytes | str, declared: bool = True) -> Book:
    return import_book(
        build_epub(
            folder / "book.epub",
            ONE,
            files={name: data},
            properties={name: "cover-image"} if declared else {},
        )
    )


def svg(inside: str, attributes: str = 'viewBox="0 0 20 30"') -> str:
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {links} {attributes}>{inside}</svg>"


def pixels(book: Book) -> np.ndarray:
    assert book.cover is not None
    with av.open(io.BytesIO(book.cover.data), "r") as file:
        return next(file.decode(video=0)).to_ndarray(format="rgb24")


def picture(codec: str, container: str) -> bytes:
    """A red picture of 16 x 16 pixels."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=1)
        stream.width = stream.height = 16
        stream.pix_fmt = {"gif": "rgb8", "mjpeg": "yuvj420p"}[codec]
        red = np.zeros((16, 16, 3), np.uint8)
        red[..., 0] = 255
        out.mux(stream.encode(av.VideoFrame.from_ndarray(red)))
        out.mux(stream.encode(None))
    return file.getvalue()


def test_a_png_is_kept_as_it_is(tmp_path: Path) -> None:
    cover = with_cover(tmp_path, "c.png", PNG).cover
    assert cover is not None
    assert (cover.suffix, cover.data) == (".png", PNG)


def test_a_jpeg_is_kept_as_it_is_whatever_its_name(tmp_path: Path) -> None:
    data = picture("mjpeg", "image2pipe")
    cover = with_cover(tmp_path, "c.png", data).cover
    assert cover is not None
    assert (cover.suffix, cover.data) == (".jpg", data)


@pytest.mark.parametrize("content", ["c.png", "cover.xhtml"])
def test_epub_2_declares_its_cover_by_name(tmp_path: Path, content: str) -> None:
    files = {"c.png": PNG, "cover.xhtml": page('<img src="c.png"/>')}
    book = import_book(
        build_epub(
            tmp_path / "b.epub",
            ONE,
            version=2,
            files=files,
            metadata=METADATA + META.format(content),
        )
    )
    assert book.cover is not None
    assert book.cover.data == PNG


def test_the_guide_leads_to_the_page_with_the_cover(tmp_path: Path) -> None:
    drawn = svg('<image width="1" height="1" xlink:href="c.png"/>')
    files = {"c.png": PNG, "cover.xhtml": page(drawn)}
    guide = '<reference type="cover" href="cover.xhtml"/>'
    book = import_book(build_epub(tmp_path / "b.epub", ONE, version=2, files=files, guide=guide))
    assert book.cover is not None
    assert book.cover.data == PNG


def test_a_drawing_becomes_a_jpeg_of_its_shape(tmp_path: Path) -> None:
    book = with_cover(tmp_path, "c.svg", svg(RED))
    shown = pixels(book)
    assert shown.shape == (1500, 1000, 3)
    assert np.abs(shown.mean((0, 1)) - (255, 0, 0)).max() < 8
    assert any("drawn as JPEG" in remark for remark in book.remarks)


def test_a_picture_within_a_drawing_is_found_in_the_book(tmp_path: Path) -> None:
    image = '<image width="20" height="30" preserveAspectRatio="none" xlink:href="r.png"/>'
    files = {"c.svg": svg(image), "r.png": PNG}
    path = build_epub(tmp_path / "b.epub", ONE, files=files, properties={"c.svg": "cover-image"})
    shown = pixels(import_book(path))
    with av.open(io.BytesIO(PNG), "r") as file:
        expected = next(file.decode(video=0)).to_ndarray(format="rgb24")[0, 0]
    assert np.abs(shown.mean((0, 1)) - expected).max() < 8


def test_a_drawing_reads_no_file_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(picture("mjpeg", "image2pipe"))
    image = f'<image width="20" height="30" preserveAspectRatio="none" xlink:href="{secret}"/>'
    white = pixels(with_cover(tmp_path, "c.svg", svg(image)))
    assert white.min() > 250


def test_a_drawing_of_absurd_size_is_drawn_small(tmp_path: Path) -> None:
    shown = pixels(with_cover(tmp_path, "c.svg", svg(RED, 'viewBox="0 0 1 9000000"')))
    assert shown.shape == (1500, 1, 3)


def test_a_drawing_that_takes_too_long_is_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manuscripts.readers.ebook.cover._TIMEOUT_SECONDS", 0.001)
    book = with_cover(tmp_path, "c.svg", svg(RED))
    assert book.cover is None
    assert any("could not be drawn" in remark for remark in book.remarks)


def test_a_gif_becomes_a_jpeg(tmp_path: Path) -> None:
    book = with_cover(tmp_path, "c.jpg", picture("gif", "gif"))
    assert book.cover is not None
    assert book.cover.suffix == ".jpg"
    assert pixels(book).shape == (16, 16, 3)


def test_a_cover_that_is_no_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"OEBPS/c.jpg: the cover is not an image"):
        with_cover(tmp_path, "c.jpg", "<html>not found</html>")


def test_a_cover_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = build_epub(
        tmp_path / "b.epub", ONE, files={"c.jpg": b""}, properties={"c.jpg": "cover-image"},
        drop=["c.jpg"],
    )  # fmt: skip
    book = import_book(path)
    assert book.cover is None
    assert any("OEBPS/c.jpg, that it does not hold" in remark for remark in book.remarks)


def test_a_book_without_a_cover_has_none(tmp_path: Path) -> None:
    assert with_cover(tmp_path, "c.jpg", PNG, declared=False).cover is None


@pytest.mark.slow
def test_base64_in_a_drawing_is_drawn(tmp_path: Path) -> None:
    data = base64.b64encode(picture("mjpeg", "image2pipe")).decode()
    shape = 'width="20" height="30" preserveAspectRatio="none"'
    image = f'<image {shape} href="data:image/jpeg;base64,{data}"/>'
    shown = pixels(with_cover(tmp_path, "c.svg", svg(image)))
    assert np.abs(shown.mean((0, 1)) - (255, 0, 0)).max() < 12


def test_a_huge_cover_is_left_out_and_told(tmp_path: Path) -> None:
    huge = PNG[:16] + (16000).to_bytes(4) * 2 + PNG[24:]
    book = with_cover(tmp_path, "c.png", huge)
    assert book.cover is None
    assert any("left out: it is too large: 16000x16000" in remark for remark in book.remarks)


@pytest.mark.parametrize(
    "attributes",
    quick(
        [
            f'viewBox="0 0 {"9" * 400} 40"',
            f'width="{"9" * 400}" height="1"',
            f'viewBox="{"1 " * 9999}"',
            'viewBox="0 0 1e999 NaN"',
            'viewBox="0 0 -1 -1"',
            f'width="1.{"3" * 400}" height="2"',
        ],
        f'width="{"9" * 400}" height="1"',
        'viewBox="0 0 1e999 NaN"',
    ),
)
def test_sides_that_are_no_numbers_are_those_of_a_page(
    tmp_path: Path, attributes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bytes] = []
    monkeypatch.setattr(cover, "_draw_as_jpeg", lambda data: drawn.append(data) or b"\xff\xd8\xff")
    assert with_cover(tmp_path, "c.svg", svg(RED, attributes)).cover is not None
    sides = dict(re.findall(rb'<svg[^>]*? (width|height)="(\d+)"', drawn[0]))
    assert all(1 <= int(side) <= cover.LONGEST_SIDE for side in sides.values())
