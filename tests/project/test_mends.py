"""Mistakes of YAML as people make them: each is one line that says what to write."""

from __future__ import annotations

import pytest

from narrator.errors import ManifestError
from narrator.project.load import load

AUTHOR = "author: A. Author\n"
MANY = "".join(f"  - title: C{n}\n    file: one.md\n" for n in range(300))

LINES = {
    "a tab in front": ("title: A\npauses:\n\tline: 1\n", 3, "write it 2 spaces in: `line: 1`"),
    "a tab in a list": ("chapters:\n  - title: A\n\tfile: b\n", 3, "4 spaces in: `file: b`"),
    "a colon in a text": ("title: One: Smoke\n", 1, '`title: "One: Smoke"`'),
    "in a list": ("chapters:\n  - title: 1: Smoke\n    file: b\n", 2, '`- title: "1: Smoke"`'),
    "in braces": ("chapters:\n  - {title: A: B, file: c}\n", 2, '`- {title: "A: B", file: c}`'),
    "far down": (f"chapters:\n{MANY}  - title: x: y\n", 602, '`- title: "x: y"`'),
    "no space after a colon": (f"title:A\n{AUTHOR}", 1, "after the colon; write `title: A`"),
    "at the end": (f"{AUTHOR}title:A\n", 2, "after the colon; write `title: A`"),
    "in an item": ("chapters:\n  - title:A\n    file: b\n", 2, "`- title: A`"),
    "alone": ("title:A\n", 1, "after the colon; write `title: A`"),
    "a brace": (f"title: {{A}} b\n{AUTHOR}", 1, 'begins with { needs quotes; write `title: "{A}'),
    "a bracket": (f"title: [Draft] Book\n{AUTHOR}", 1, '`title: "[Draft] Book"`'),
    "an at": ("title: x\nchapters:\n  - {title: A, file: b}\nauthor: @x\n", 4, '`author: "@x"`'),
    "a star": (f"title: *Star* Wars\n{AUTHOR}", 1, '`title: "*Star* Wars"`'),
    "a star without an end": (f"title: *Star\n{AUTHOR}", 1, '`title: "*Star"`'),
    "an ampersand": (f"title: & Sons\n{AUTHOR}", 1, '`title: "& Sons"`'),
    "a per cent": (f"title: %x\n{AUTHOR}", 1, '`title: "%x"`'),
    "a backtick": (f"title: `x`\n{AUTHOR}", 1, "begins with ` needs quotes"),
    "a quote left open": (f'title: "One\n{AUTHOR}', 1, 'not closed; write `title: "One"`'),
    "and another after it": ('title: "One\nauthor: "A"\n', 1, 'not closed; write `title: "One"`'),
    "an apostrophe": (f"title: 'Don't stop'\n{AUTHOR}", 1, '`title: "Don\'t stop"`'),
    "quotes in quotes": (f'title: "The "Real" Thing"\n{AUTHOR}', 1, "'The \"Real\" Thing'`"),
    "indented too far": (f"title: A\n  {AUTHOR}", 2, "write it 0 spaces in: `author: A. Author`"),
    "only the first line": (
        f"# A book\n title: A\n{AUTHOR}", 2, "by 1 space, unlike the lines below; write `title: A`",
    ),
    "not far enough": ("pauses:\n    line: 1\n  scene: 2\n", 3, "write it 4 spaces in: `scene: 2`"),
    "an item not far enough": (
        "chapters:\n  - title: A\n    file: b\n - title: B\n", 4, "write it 2 spaces in",
    ),
    "an item without its hyphen": (
        "chapters:\n  - title: A\n    file: b\n  title: B\n    file: c\n", 4, "write `- title: B`",
    ),
    "a hyphen without its space": (
        "chapters:\n  - title: A\n    file: b\n  -title: B\n", 4, "hyphen; write `- title: B`",
    ),
    "a path of Windows": (f'cover: "C:\\Users\\me.jpg"\n{AUTHOR}', 1, '`cover: "C:/Users/me.jpg"`'),
    "curly quotes": (f"title: “One: Smoke”\n{AUTHOR}", 1, '`title: "One: Smoke"`'),
    "a wide colon": (f"title：A\n{AUTHOR}", 1, "write `title: A`"),
    "a space of typography": (f"title:\u00a0A\n{AUTHOR}", 1, "write `title: A`"),
    "another language": (f'title = "A"\n{AUTHOR}', 1, 'colon; write `title: "A"`'),
    "a comma at the end": ('"title": "A",\n"author": "B",\n', 1, '`"title": "A"`'),
    "no comma": ("chapters:\n  - {title: One file: b}\n", 2, "`- {title: One, file: b}`"),
    "a brace left open": ("chapters:\n  - {title: a, file: b\n", 2, "`- {title: a, file: b}`"),
    "a bullet": ("chapters:\n  • title: a\n    file: b\n", 2, "`- title: a`"),
    "a key without its colon": (f"{AUTHOR}chapters\n  - {{title: a}}\n", 2, "write `chapters:`"),
}  # fmt: skip


def problems(folder, text):
    (folder / "one.md").write_text("Once.")
    (folder / "book.yaml").write_text(text)
    with pytest.raises(ManifestError) as caught:
        load(folder)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize("case", LINES)
def test_a_mistake_is_one_line_with_its_place_and_what_to_write(case, tmp_path):
    text, line, said = LINES[case]
    (found,) = problems(tmp_path, text)
    assert found.startswith(f"book.yaml:{line}: ")
    assert said in found


def test_what_cannot_be_mended_is_said_in_plain_words(tmp_path):
    (found,) = problems(tmp_path, "It was a dark night.\nThe wind blew: hard.\n")
    assert found.startswith("book.yaml:2: does not fit what is above it")
    (found,) = problems(tmp_path, "chapters: [\n" + "  x,\n" * 5)
    assert found.startswith("book.yaml:6: what stands in [ ] or { } here is not closed")


def test_a_file_of_prose_is_no_manifest(tmp_path):
    (found,) = problems(tmp_path, "It was a dark night.\n")
    assert found == "book.yaml:1: not a manifest: it has no keys with values, as `title: The Ferry`"


GOOD = "title: A\nauthor: B\nchapters:\n  - {title: One, file: one.md}\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("A\n", "Agent #7\n", "`#7` is a comment to YAML"),
        ("B\n", "&Sons and Daughters\n", "`&Sons` names what follows"),
    ],
)
def test_text_that_yaml_passes_over_is_remarked(old, new, said, tmp_path):
    (tmp_path / "one.md").write_text("Once.")
    (tmp_path / "book.yaml").write_text(GOOD.replace(old, new))
    (remark,) = load(tmp_path).remarks
    assert said in remark.message


def test_where_such_text_was_all_of_a_value_it_stands_by_the_error(tmp_path):
    found = problems(tmp_path, GOOD.replace("A\n", "#1 Fan\n"))
    assert any("`#1 Fan` is a comment to YAML" in line for line in found)
    assert "book.yaml:1: title: has no value" in found


def test_comments_as_people_write_them_and_anchors_that_are_used_are_no_remark(tmp_path):
    text = GOOD.replace("A\n", "&name A # the working title\n") + "subtitle: *name\n"
    (tmp_path / "one.md").write_text("Once.")
    (tmp_path / "book.yaml").write_text(text)
    assert load(tmp_path).remarks == ()


def test_keys_with_a_space_too_few_say_so(tmp_path):
    text = GOOD.replace("{title: One", "{title:One")
    assert "book.yaml:4: a space is missing after the colon: write `title: One`" in problems(
        tmp_path, text
    )
    text = GOOD.replace("  - {title: One, file: one.md}", "  title: One\n  file: one.md")
    (found,) = problems(tmp_path, text)
    assert found.startswith("book.yaml:3: chapters: must be a list: begin each of its items with")


def test_backslashes_in_a_path_are_said(tmp_path):
    text = GOOD.replace("file: one.md", r'file: "text\new.md"')
    (found,) = problems(tmp_path, text)
    assert found.endswith(r"no such file: text\new.md; write / between folders, and no \ ".strip())


NEWCOMERS = {
    "no space in a list item": (b"chapters:\n  - file:a.md\n", 2, "write `file: a.md`"),
    "a file alone": (b"chapters:\n  - a.md\n", 2, "write `- {title: …, file: a.md}`"),
    "one file": (b"chapters: a.md\n", 1, "must be a list: begin each of its items"),
    "a mapping of files": (
        b"chapters:\n  One: a.md\n",
        1,
        "must be a list: begin each of its items",
    ),
    "a key twice": (
        b"title: A\ntitle: B\n",
        2,
        "'title' is given twice, first on line 1; remove one",
    ),
    "Windows line ends": (b"title: A\r\ntitle: B\r\n", 2, "'title' is given twice"),
    "a byte order mark": (b"\xef\xbb\xbftitle: A\ntitle: B\n", 2, "'title' is given twice"),
    "UTF-16": ("title: A\n".encode("utf-16"), 1, "save the file as UTF-8"),
    "UTF-16 without a mark": (
        "title: A\n".encode("utf-16-le"),
        1,
        "UTF-16: save the file as UTF-8",
    ),
}


@pytest.mark.parametrize("case", NEWCOMERS)
def test_a_mistake_of_newcomers_says_what_to_do(case, tmp_path):
    content, line, advice = NEWCOMERS[case]
    path = tmp_path / "book.yaml"
    path.write_bytes(content)
    with pytest.raises(ManifestError) as refused:
        load(path)
    messages = [str(problem) for problem in refused.value.problems]
    assert any(m.startswith(f"{path}:{line}: ") and advice in m for m in messages), messages
