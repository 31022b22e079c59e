"""What the README and docs/ say is run: their commands, manifests and links."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path

import jsonschema
import pytest
import typer
import yaml

from narrator.cli import app, shared
from narrator.project.load import load
from narrator.project.preferences import Preferences
from narrator.project.schema import schema
from tests import commands_page, manifest_page

ROOT = Path(__file__).parents[1]
# in the order in which a newcomer follows them: what an earlier page has run is there for a later
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / f"docs/{name}.md"
        for name in (
            "installing",
            "first-book",
            "manuscripts",
            "extending",
            "script",
            "pronunciation",
            "languages",
            "cast",
            "voices",
            "kokoro",
            "cosyvoice2",
            "servers",
            "cluster",
            "studio",
        )
    ),
    *(
        ROOT / f"docs/{name}.md"
        for name in (
            "serve",
            "mending",
            "measurements",
            "hearing",
            "delivery",
            "marks",
            "manifest",
            "commands",
            "costs",
            "questions",
            "upgrading",
        )
    ),
]
OF_ENGINES = {
    ROOT / "docs/servers.md": "server",
    ROOT / "docs/cosyvoice2.md": "cosyvoice2",
    ROOT / "docs/kokoro.md": "kokoro",
}
"""Pages that have parts of manifests, with the engine that these name."""
CLUSTER = ROOT / "docs/cluster.md"
"""Has settings of the user's own."""
EXTENDING = ROOT / "docs/extending.md"
"""Has a manifest of an engine that test_extensions.py installs."""
RULES = schema()


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(path: Path, program: str) -> list[str]:
    """Lines to be run, without what stands behind #."""
    lines = [line for block in blocks(path, "sh") for line in block.splitlines() if line.strip()]
    words = [shlex.split(line, comments=True) for line in lines]
    assert {first for first, *_ in words} <= {"narrator", "make", "pip"}
    return [line.partition(" #")[0].rstrip() for line in lines if line.split()[0] == program]


def quoted(path: Path) -> list[str]:
    """What stands as code within sentences."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


def write_book(path: Path) -> None:
    """An EPUB as small as they come: two chapters of a story."""
    chapters = {
        "one": ("The Bolt", "The bridge was finished, but for one bolt."),
        "two": ("The Rain", "On Tuesday it rained, and the bolt was found."),
    }
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    toc = "".join(
        f'<li><a href="{name}.xhtml">{title}</a></li>' for name, (title, _) in chapters.items()
    )
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        "<head><title>{title}</title></head><body>{body}</body></html>"
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            '<dc:identifier id="id">urn:uuid:8a4f2c7e-7f52-4f43-9df2-0f4b2a4f2b11</dc:identifier>'
            "<dc:title>The Bridge</dc:title><dc:creator>Jane Doe</dc:creator>"
            "<dc:language>en-GB</dc:language></metadata><manifest>"
            '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
            f"{items}</manifest><spine>{spine}</spine></package>",
        )
        nav = f'<nav epub:type="toc"><ol>{toc}</ol></nav>'
        book.writestr("nav.xhtml", page.format(title="Contents", body=nav))
        for name, (title, text) in chapters.items():
            body = f"<h1>{title}</h1><p>{text}</p>"
            book.writestr(f"{name}.xhtml", page.format(title=title, body=body))


def test_every_page_is_here_and_the_readme_leads_to_it():
    assert sorted(ROOT.glob("docs/*.md")) == sorted(PAGES[1:])
    readme = PAGES[0].read_text("utf-8")
    assert not [page for page in PAGES[1:] if f"]({named(page)})" not in readme]


def test_commands_run_in_the_order_of_the_pages(narrator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_book(tmp_path / "manuscript.epub")
    lines = [line for page in PAGES for line in commands(page, "narrator")]
    lines = list(dict.fromkeys(lines))  # two pages may begin alike
    assert len(lines) > 14
    for line in lines:
        command, _, file = line.partition(" > ")
        code, said, errors = narrator(*shlex.split(command)[1:])
        assert code == 0, f"{line}\n{said}{errors}"
        if file:
            Path(file).write_text(said, "utf-8")
    book = tmp_path / "my-book"
    assert list((book / "build").rglob("*.m4b"))
    assert list(book.rglob("feed.xml"))
    assert "properties" in json.loads(Path("book.schema.json").read_text("utf-8"))
    assert json.loads(Path("verified.json").read_text("utf-8"))


def shown() -> dict[str, list[str]]:
    """Commands that are not run, since they need the model or a reader's files, word by word."""
    found = {}
    for page in PAGES:
        lines = [line for block in blocks(page, "console") for line in block.splitlines()]
        lines += [f"$ {code}" for code in quoted(page) if code.startswith("narrator ")]
        for line in lines:
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] != ["narrator"]:
                continue
            found[f"{named(page)}: {' '.join(words)}"] = words
    return found


@pytest.mark.parametrize("words", [pytest.param(words, id=line) for line, words in shown().items()])
def test_a_command_that_is_shown_takes_these_options(words):
    command = typer.main.get_command(app)
    rest = words[1:]
    while isinstance(command, typer.core.TyperGroup) and rest and not rest[0].startswith("-"):
        name, *rest = rest
        command = command.get_command(None, name)
    assert command is not None, words
    parameters = (*command.params, *shared.project_options())
    known = {option for parameter in parameters for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known


def test_settings_of_the_users_own_are_valid():
    said = [Preferences.model_validate(yaml.safe_load(one)) for one in blocks(CLUSTER, "yaml")]
    assert [one.cluster.address for one in said if one.cluster] == ["tls://studio.local:8786"] * 2


def test_the_manifest_is_valid(narrator, tmp_path):
    (manifest,) = [
        block
        for page in PAGES
        if page not in (*OF_ENGINES, CLUSTER, EXTENDING)
        for block in blocks(page, "yaml")
    ]
    (tmp_path / "book.yaml").write_text(manifest, "utf-8")
    shutil.copy(ROOT / "projects/small-machines/cover.png", tmp_path / "cover.jpg")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "01.md").write_text("# The Bolt\n\nMiss Lovell: Where is it?\n", "utf-8")
    (tmp_path / "text" / "02.md").write_text("It rains.\n", "utf-8")
    code, _, errors = narrator("check", tmp_path)
    assert code == 0, errors


@pytest.mark.parametrize(
    ("part", "engine"),
    [(part, engine) for page, engine in OF_ENGINES.items() for part in blocks(page, "yaml")],
)
def test_parts_of_manifests_are_valid(part, engine, tmp_path):
    whole = f"title: A\nauthor: B\nchapters: [{{title: B, lines: [It rains.]}}]\n{part}"
    (tmp_path / "book.yaml").write_text(whole, "utf-8")
    for clip in re.findall(r"reference: ([\w/.]+)", part):
        (tmp_path / clip).parent.mkdir(exist_ok=True)
        (tmp_path / clip).touch()
    assert load(tmp_path / "book.yaml").engine.name == engine


def snippets() -> set[str]:
    """Keys of manifests with their values, within sentences: `output: {profile: acx}`."""
    return {code for page in PAGES for code in quoted(page) if re.match(r"\w+: [\[{]", code)}


@pytest.mark.parametrize("code", sorted(snippets()))
def test_keys_in_sentences_are_valid(code):
    ((key, value),) = yaml.safe_load(code).items()
    rules = {"$defs": RULES["$defs"], **RULES["properties"][key]}
    jsonschema.Draft202012Validator(rules).validate(value)


def test_the_reference_of_the_manifest_is_current():
    assert manifest_page.PAGE.read_text("utf-8") == manifest_page.page(), "run `make docs`"


def test_the_page_of_commands_and_the_manual_page_are_current():
    assert commands_page.PAGE.read_text("utf-8") == commands_page.page(), "run `make docs`"
    assert commands_page.MANUAL.read_text("utf-8") == commands_page.manual(), "run `make docs`"


def test_the_manual_page_is_correct_roff():
    text = commands_page.MANUAL.read_text("utf-8")
    assert text.isascii()
    macros = set(re.findall(r"^[.'](\S+)", text, re.MULTILINE))
    assert macros <= {"TH", "SH", "SS", "PP", "TP", "BR", '\\"'}
    escapes = set(re.findall(r"\\(?:\[u[0-9A-F]{4,5}\]|\(..|.)", text))
    assert all(e[1] in 'fe-&[("' for e in escapes)
    assert not re.search(r"(?<!\\)[-`^~]", "\n".join(text.splitlines()[3:]))


@pytest.mark.parametrize("command", ["mandoc -T lint -W warning", "groff -man -ww -z"])
def test_the_manual_page_has_no_faults(command, monkeypatch):
    program, *options = command.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    done = subprocess.run(
        [program, *options, str(commands_page.MANUAL)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_variable_and_exit_code_is_on_the_page_of_commands():
    sources = [path.read_text("utf-8") for path in ROOT.glob("narrator/**/*.py")]
    read = set(re.findall(r'"((?:NARRATOR|AUDIOBOOKSHELF)_[A-Z_]+)"', "\n".join(sources)))
    assert read == set(commands_page.VARIABLES) - {"HF_HOME"}
    assert list(commands_page.exit_codes()) == ["0", "1", "2", "3", "4", "70", "130"]


def test_every_command_has_a_short_first_sentence_and_every_option_a_meaning():
    _, *commands = commands_page.entries()
    for entry in commands:
        assert len(entry.paragraphs[0].partition(". ")[0]) <= 63, entry.name  # at 80 columns
        assert all(len(text) > 3 and text[0] != "[" for _, text in entry.rows), entry.name


def headings(path: Path) -> set[str]:
    found = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {manifest_page.slug(heading) for heading in found}


OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")]


@pytest.mark.parametrize("page", PAGES + OTHERS, ids=named)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link
