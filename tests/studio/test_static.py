"""What the page is made of: files that fit together, load nothing else and make no markup of text.

Read as text: no browser is needed.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import narrator.studio
from narrator.studio import find_routes, peaks, rows, uploads
from narrator.studio.chunk_states import STATE_ORDER

ROOM = Path(narrator.studio.__file__).parent
STATIC = ROOM / "static"
PAGE = "".join(path.read_text("utf-8") for path in sorted((ROOM / "templates").iterdir()))
MODULES = {path.name: path.read_text("utf-8") for path in STATIC.glob("*.js")}
STYLE = "".join(path.read_text("utf-8") for path in sorted(STATIC.glob("*.css")))

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"\./([\w.]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:const|let|class|function\*?) (\w+)", re.MULTILINE)


def imports(text: str) -> dict[str, set[str]]:
    """Names by the module that they are from."""
    return {module: set(re.findall(r"\w+", names)) for names, module in IMPORT.findall(text)}


def test_the_page_is_light() -> None:
    files = [*STATIC.iterdir(), *(ROOM / "templates").iterdir()]
    assert sum(path.stat().st_size for path in files) < 450_000


def test_modules_import_what_others_export_and_in_no_circle() -> None:
    for name, text in MODULES.items():
        for module, wanted in imports(text).items():
            assert wanted <= set(EXPORT.findall(MODULES[module])), f"{name} from {module}"
    TopologicalSorter({name: imports(text) for name, text in MODULES.items()}).prepare()


def test_what_is_exported_is_imported() -> None:
    for name, text in MODULES.items():
        used = {one for other in MODULES.values() for one in imports(other).get(name, ())}
        assert set(EXPORT.findall(text)) <= used, name


def test_text_is_never_markup() -> None:
    ways = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\(")
    for name, text in MODULES.items():
        assert not ways.search(text), name


def test_nothing_is_loaded_from_elsewhere_or_written_into_the_page() -> None:
    for text in (PAGE, STYLE, *MODULES.values()):
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", PAGE)
    assert not re.search(r"@import|url\(", STYLE)


def test_what_modules_look_for_is_in_the_page() -> None:
    ids = set(re.findall(r'\bid="([\w-]+)"', PAGE))
    icons = {name.removeprefix("i-") for name in ids if name.startswith("i-")}
    for name, text in MODULES.items():
        made = set(re.findall(r'\bid: "([\w-]+)"', text))
        assert set(re.findall(r'\bbyId\("([\w-]+)"\)', text)) <= ids | made, name
        assert set(re.findall(r'\bicon\("([\w-]+)"\)', text)) <= icons, name


def test_addresses_lead_to_the_book_of_the_page() -> None:
    """A book may be served under /book/ID."""
    for name, text in MODULES.items():
        own_ways = re.sub(r"""addressOf\([`"]/""", "", text)
        ways = r"""(href:|src:|\.src =|\.href =) [`"]/(?!book)"""
        assert not re.search(ways, own_ways), name


def test_every_color_of_a_speaker_is_in_the_style() -> None:
    for color in range(1, 12):
        assert f"--c{color}: light-dark(" in STYLE
        assert f".c{color} {{ --who: var(--c{color}); }}" in STYLE


def test_page_and_server_have_the_same_limits_and_states() -> None:
    def number(module: str, name: str) -> int:
        (digits,) = re.findall(rf"const {name} = ([\d_]+);", MODULES[module])
        return int(digits)

    assert number("store.js", "COLORS") == rows.COLOUR_COUNT
    assert number("wave.js", "RATE") == peaks.PEAKS_PER_SECOND
    assert number("newbook.js", "MAX_BYTES") == uploads.MAX_UPLOAD_BYTES
    states = MODULES["find.js"].partition("const STATES = [")[2].partition("\n];")[0]
    assert set(re.findall(r'\["(\w+)", ', states)) == set(find_routes.STATES)
    names = MODULES["words.js"].partition("const STATES = {")[2].partition("\n};")[0]
    assert set(re.findall(r'^  "?([\w ]+)"?:', names, re.MULTILINE)) == set(STATE_ORDER)
