"""The site: every page is on it, what pages name is linked, and figures have their places."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest
import yaml

from docs.site import figures, gather, links, pictures, samples
from narrator.project.schema import schema

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / links.MANIFEST


@pytest.fixture(scope="module")
def linker() -> links.Linker:
    return gather.make_linker()


def test_every_page_is_on_the_site():
    listed = set(re.findall(r"docs/[\w-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert listed == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def test_it_has_what_its_pages_link_to():
    paths = gather.reachable_files(ROOT / "README.md")
    gathered = {path.relative_to(ROOT).as_posix() for path in paths}
    assert {"docs/mending.md", "examples/README.md", "examples/lexicon/book.yaml"} <= gathered


def test_its_lists_are_lists():
    text = "It speaks\n- low\n- high\n\n```sh\nls\n- no\n```\n"
    assert gather.separate_lists(text) == text.replace("speaks\n", "speaks\n\n")


def test_its_start_page_has_no_tree_of_sources():
    readme = (ROOT / "README.md").read_text("utf-8")
    start = gather.without_house(readme)
    assert "The house" in readme
    assert "The house" not in start
    assert "keys.py" not in start
    assert "[CONTRIBUTING.md]" in start


# -- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "anchor"),
    [
        ("narrator render my-book --draft", "commands.md#narrator-render"),
        ("narrator voices add me.wav", "commands.md#narrator-voices-add"),
        ("narrator voices", "commands.md#narrator-voices"),
        ("voices add", "commands.md#narrator-voices-add"),
        ("cast --write", "commands.md#narrator-cast"),
        ("output: {mark: false}", "manifest.md#output-mark"),
        ("output.channels: mono", "manifest.md#output-channels"),
        ("output.sample", "manifest.md#outputsample"),
        ("output: {profile: [acx, audiobookshelf]}", "manifest.md#output-profile"),
        ("credits: {}", "manifest.md#credits"),
        ("best_of: 3", "manifest.md#checks-best_of"),
        ("narrated_by", "manifest.md#narrated_by"),
        ("checks: {heard_as: {Aoife: Eefa}}", "manifest.md#checks-heard_as"),
        ("speakers: {Ada: {voice: ann}}", "manifest.md#speakersnamevoice"),
        ('voices: {ann: {reference: a.wav, transcript: "…"}}', "manifest.md#speakersnamevoice"),
        ("engine: kokoro", "manifest.md#engine-of-kokoro"),
        ("engine: {name: kokoro, device: cpu}", "manifest.md#engine-of-kokoro"),
        ("engine: {slots: 2}", "manifest.md#engine-of-voxcpm2-slots"),
        ("music: [{file: a.mp3, place: bed}]", "manifest.md#music"),
    ],
)
def test_code_leads_to_its_entry(linker, code, anchor):
    text = linker.link(f"Write `{code}`.", PurePosixPath("docs/a.md"))
    assert text == f"Write [`{code}`]({anchor}).\n"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_leads_to_its_entry(linker, page):
    linked = linker.link(page.read_text("utf-8"), PurePosixPath("docs/a.md"))
    text = "\n".join(line for is_text, line in links.outside_code(linked) if is_text)
    text = re.sub(r"\[(?:`[^`]*`|[^\]`])*\]\([^)]*\)", "", text)  # what is linked
    assert not re.findall(r"`narrator (?!COMMAND|-)[^`]*`", text)


@pytest.mark.parametrize(
    "text",
    [
        "`narrator`, `book.yaml`, `name: x`, `--draft`, `auto`, `output`, `render`",
        "[`output: {mark: false}`](delivery.md)",
        "## `narrator render`",
        "```sh\n`narrator render`\n```",
    ],
)
def test_other_code_stays(linker, text):
    assert linker.link(text, PurePosixPath("docs/a.md")) == f"{text}\n"


def test_links_lead_from_where_a_page_lies(linker):
    text = "`credits: {}`"
    assert "](docs/manifest.md#credits)" in linker.link(text, PurePosixPath("README.md"))
    assert "](../docs/manifest.md#credits)" in linker.link(text, PurePosixPath("examples/a.md"))
    assert "](#credits)" in linker.link(text, links.MANIFEST)


def test_every_key_has_an_anchor_that_nothing_else_has():
    marked = links.mark_keys(MANIFEST.read_text("utf-8"))
    anchors = Counter(re.findall(r"{ #(\S+) }", marked))
    anchors.update(table.anchor for table in links.sections(marked))
    assert set(anchors.values()) == {1}
    tables = links.sections(MANIFEST.read_text("utf-8"))
    models = [schema(), *schema()["$defs"].values()]
    in_schema = Counter(key for model in models for key in model["properties"])
    assert Counter(key for table in tables for key in table.keys) == in_schema
    assert set(links.key_anchors(tables).values()) <= anchors.keys()


# -- figures ---------------------------------------------------------------------------------------


def test_figures_have_their_places_and_are_described(tmp_path):
    for name in figures.files():
        (tmp_path / name).touch()
    for page in {figure.page for figure in figures.FIGURES}:
        text = gather.separate_lists((ROOT / page).read_text("utf-8"))
        shown = figures.illustrate(text, page, tmp_path)
        expected = [figure for figure in figures.FIGURES if figure.page == page]
        assert shown.count("<figcaption>") == len(expected)
        assert not re.search(r'(alt|aria-label)=""', shown)


def test_a_site_without_a_browser_and_models_has_no_figures(tmp_path):
    text = (ROOT / "docs/studio.md").read_text("utf-8")
    assert figures.illustrate(text, "docs/studio.md", tmp_path) == text


def test_what_figures_show_is_made():
    made = {f"{name}.mp3" for name in samples.samples()}
    source = Path(pictures.__file__).read_text("utf-8")
    made |= {f"{name}.webp" for name in re.findall(r'camera\.take\(page, "([\w-]+)"', source)}
    assert made == set(figures.files())


def test_pictures_are_left_out_where_no_browser_is(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["pictures", str(tmp_path / "media")])
    monkeypatch.setattr(pictures, "missing", lambda: "a browser")
    pictures.main()
    assert capsys.readouterr().out == (
        "The site has no pictures of the studio: a browser is missing.\n"
    )


@pytest.mark.parametrize("name", samples.samples())
def test_samples_are_books(narrator, tmp_path, name):
    _, manifest = samples.samples()[name]
    (tmp_path / "book.yaml").write_text(yaml.safe_dump({**samples.MANIFEST, **manifest}), "utf-8")
    code, _, errors = narrator("check", tmp_path, "--draft")
    assert code == 0, errors


# -- search ----------------------------------------------------------------------------------------

ASKED = """(words) => new Promise((done) => {
    const source = new Blob(["onmessage = ({ data }) => postMessage(data)"]);
    const worker = new Worker(URL.createObjectURL(source));
    worker.onmessage = ({ data }) => done(data.data);
    worker.postMessage({ type: 2, data: words });
})"""


@pytest.mark.browser
def test_the_search_leaves_out_words_that_say_nothing():
    sync = pytest.importorskip("playwright.sync_api", reason="playwright: make pages")
    from tests.studio import browsers

    path = browsers.browser()
    if path is None:
        pytest.skip("no browser here: make pages")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=browsers.switches())
        page = browser.new_page()
        page.add_script_tag(path=Path(gather.__file__).with_name("search.js"))
        assert page.evaluate(ASKED, "What is a chunk?") == "chunk?"
        assert page.evaluate(ASKED, "how do I") == "how do I"
        browser.close()
