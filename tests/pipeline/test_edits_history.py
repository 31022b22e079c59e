"""Edits are made whole, or not at all, undone and redone; also after a kill at any moment."""

from __future__ import annotations

import contextlib
import json

import pytest

from narrator import files
from narrator.errors import FileChanged, StorageError, UserError
from narrator.pipeline import edits, upkeep
from narrator.pipeline.edits import Edit, FileChange
from tests import edited

ONE, TWO, NEW = "one.md", "book.yaml", "two.speakers.txt"
TEXT = "\ufeffIt rained.\r\n\r\nAda: It did.\r\n"


@pytest.fixture
def project(tmp_path):
    return edited.project(edited.write(tmp_path, TEXT))


def texts(project):
    """All of a project's own files, exactly."""
    paths = sorted(path for path in project.root.iterdir() if path.is_file())
    return {path.name: path.read_bytes() for path in paths}


def change(project, name, after):
    path = project.root / name
    before = path.read_bytes().decode() if path.exists() else None
    return FileChange(path, before, after)


def edit(project, word="snowed"):
    """Of three files, of which one is new."""
    changes = (
        change(project, ONE, TEXT.replace("rained", word)),
        change(project, TWO, edited.MANIFEST.replace("Two", word)),
        change(project, NEW, f"# {word}\n"),
    )
    return Edit(f"it {word}", changes)


def test_an_edit_is_made_undone_and_redone(project):
    before = texts(project)
    edits.apply(project, edit(project))
    after = texts(project)
    assert after[ONE].decode() == TEXT.replace("rained", "snowed")
    assert set(after) == {*before, NEW}
    assert edits.undo(project).title == "it snowed"
    assert texts(project) == before
    assert edits.undo(project) is None
    assert [(one.title, one.undone) for one in edits.history(project)] == [("it snowed", True)]
    assert not edits.redo(project).undone
    assert texts(project) == after
    assert edits.redo(project) is None


def test_edits_are_undone_from_the_last_and_a_new_one_ends_what_was_undone(project):
    for word in ("snowed", "hailed", "thawed"):
        edits.apply(project, edit(project, word))
    assert [edits.undo(project).title for _ in "ab"] == ["it thawed", "it hailed"]
    edits.apply(project, edit(project, "blew"))
    assert [one.title for one in edits.history(project)] == ["it snowed", "it blew"]
    assert edits.redo(project) is None
    edits.undo(project)
    edits.undo(project)
    assert texts(project)[ONE].decode() == TEXT


def test_an_edit_that_changes_nothing_is_none(project):
    edits.apply(project, Edit("nothing", (change(project, ONE, TEXT),)))
    assert edits.history(project) == []


def test_bytes_that_are_no_utf_8_stay(project):
    path = project.root / "one.speakers.txt"
    path.write_bytes(b"Ada | you | \x93Oh\x94\r\nBen | you | x\r\n")
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    edits.apply(project, Edit("x", (FileChange(path, text, text.replace("Ben", "Ada")),)))
    assert path.read_bytes() == b"Ada | you | \x93Oh\x94\r\nAda | you | x\r\n"
    edits.undo(project)
    assert path.read_bytes() == b"Ada | you | \x93Oh\x94\r\nBen | you | x\r\n"


def test_an_edit_of_a_file_that_changed_meanwhile_is_refused_with_both_texts(project):
    made = edit(project)
    (project.root / TWO).write_text(edited.MANIFEST.replace("Two", "Three"))
    before = texts(project)
    with pytest.raises(FileChanged) as caught:
        edits.apply(project, made)
    assert caught.value.present_text == "title: Three Friends\n"
    assert caught.value.intended_text == "title: snowed Friends\n"
    assert texts(project) == before
    assert edits.history(project) == []


def test_what_was_changed_by_hand_is_not_undone(project):
    edits.apply(project, edit(project))
    by_hand = TEXT.replace("rained", "snowed hard")
    (project.root / ONE).write_bytes(by_hand.encode())
    before = texts(project)
    with pytest.raises(FileChanged) as caught:
        edits.undo(project)
    assert "snowed hard" in caught.value.present_text
    assert "It rained" in caught.value.intended_text
    assert texts(project) == before
    assert [one.undone for one in edits.history(project)] == [False]


def test_a_file_that_is_gone_is_not_written_again(project):
    edits.apply(project, edit(project))
    (project.root / NEW).unlink()
    with pytest.raises(FileChanged):
        edits.undo(project)


# -- kills and full disks


class Killed(BaseException):
    """Nothing is done any more, as after kill -9."""


class Disk:
    """Every call that changes a disk, of which one fails."""

    def __init__(self, monkeypatch, fatal, error):
        self.calls = 0
        for where, name in ((files, "write"), (files, "save_json")):
            monkeypatch.setattr(where, name, self.counted(getattr(where, name), fatal, error))

    def counted(self, call, fatal, error):
        def instead(path, data):
            self.calls += 1
            if self.calls == fatal:
                raise error(f"{path}: gone")
            return call(path, data)

        return instead


def steps(monkeypatch, tmp_path, act):
    """How many calls change the disk while something is done."""
    (tmp_path / "count").mkdir()
    project = edited.project(edited.write(tmp_path / "count", TEXT))
    prepared(project, act)
    with monkeypatch.context() as patch:
        disk = Disk(patch, None, Killed)
        act(project)
    return disk.calls


def make(project):
    edits.apply(project, edit(project))


ACTS = {"make": make, "undo": edits.undo, "redo": edits.redo}


def prepared(project, act):
    if act is not make:
        make(project)
    if act is edits.redo:
        edits.undo(project)


def broken_off(monkeypatch, tmp_path, act, error):
    """Projects in which something ended with an error, each at another call that changes the disk;
    with the texts and the history of before."""
    for fatal in range(1, steps(monkeypatch, tmp_path, act) + 1):
        folder = tmp_path / str(fatal)
        folder.mkdir()
        project = edited.project(edited.write(folder, TEXT))
        prepared(project, act)
        before, stood = texts(project), edits.history(project)
        with monkeypatch.context() as patch:
            Disk(patch, fatal, error)
            with pytest.raises(error):
                act(project)
        yield project, before, stood


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_kill_at_any_write_leaves_all_of_an_edit_or_none(monkeypatch, tmp_path, act):
    for project, before, stood in broken_off(monkeypatch, tmp_path, act, Killed):
        now = edits.history(project)  # the project is opened again
        if texts(project) == before:
            assert now == stood
            act(project)
        else:
            assert [one.undone for one in now] == [act is edits.undo]
        assert (project.root / NEW).exists() == (act is not edits.undo)
        assert texts(project) != before
        assert not list(project.root.rglob("*.part"))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_disk_that_fails_once_leaves_none_of_an_edit(monkeypatch, tmp_path, act):
    for project, before, stood in broken_off(monkeypatch, tmp_path, act, StorageError):
        assert texts(project) == before
        assert edits.history(project) == stood
        act(project)
        assert texts(project) != before


def test_a_kill_while_a_file_is_written_leaves_no_half_of_it(monkeypatch, project):
    before = texts(project)

    def killed(path, target):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(type(project.root), "replace", killed)
        patch.setattr(type(project.root), "unlink", lambda path: None)
        with pytest.raises(Killed):
            edits.apply(project, edit(project))
    edits.apply(project, edit(project))
    edits.undo(project)
    assert texts(project) == before


def test_what_a_person_wrote_after_a_kill_stays(monkeypatch, project):
    with monkeypatch.context() as patch:
        Disk(patch, 5, Killed)  # two of three files are there
        with pytest.raises(Killed):
            make(project)
    (project.root / ONE).write_text("By hand.\n")
    assert edits.history(project) == []
    assert (project.root / ONE).read_text() == "By hand.\n"
    assert (project.root / TWO).read_text() == edited.MANIFEST
    assert not (project.root / NEW).exists()


# -- where it lies


def test_the_history_outlives_its_upkeep(project):
    make(project)
    upkeep.collect_garbage(project)
    assert edits.undo(project) is not None


def test_an_altered_history_is_an_error_and_its_edits_stay_on_disk(project):
    make(project)
    path = project.build / "edits" / "book" / "history.json"
    original = path.read_text()
    path.write_text(original.replace("snowed", "rained"))
    for act in (lambda: edits.history(project), lambda: edits.apply(project, edit(project, "h"))):
        with pytest.raises(StorageError, match="restore it, or move the folder 'book' away"):
            act()
    assert (path.parent / "000001.json").exists()
    path.write_text(original)
    assert edits.undo(project) is not None


def test_a_history_from_elsewhere_writes_only_the_projects_files(project, tmp_path):
    make(project)
    path = project.build / "edits" / "book" / "000001.json"
    rows = files.read_json(path)
    outside = tmp_path.parent / f"{tmp_path.name}.txt"
    files.save_json(path, [{**rows[2], "path": f"../{outside.name}", "after": "", "new": None}])
    with pytest.raises(StorageError, match="none of this project's files"):
        edits.undo(project)
    assert not outside.exists()


def test_only_what_was_changed_is_kept(project):
    path = project.root / ONE
    path.write_text("It rained.\n\n" * 10_000)
    edits.apply(project, Edit("x", (change(project, ONE, path.read_text() + "It did.\n"),)))
    kept = project.build / "edits" / "book" / "000001.json"
    assert len(kept.read_bytes()) < 1000
    assert json.loads(kept.read_bytes())["value"][0]["new"] == "It did.\n"


def test_manifests_of_one_folder_have_their_own_history(project):
    path = project.root / "other.yaml"
    path.write_text(edited.MANIFEST)
    other = edited.project(path)
    make(project)
    assert edits.undo(other) is None
    rows = FileChange(path, edited.MANIFEST, edited.MANIFEST.replace("Two", "Three"))
    edits.apply(other, Edit("other", (rows,)))
    upkeep.collect_garbage(project)
    assert [one.title for one in edits.history(project)] == ["it snowed"]
    assert edits.undo(project).title == "it snowed"
    assert edits.undo(other).title == "other"
    assert path.read_text() == edited.MANIFEST


def test_a_history_writes_nothing_through_a_link_that_leads_outside(project, tmp_path_factory):
    make(project)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "one.md"
    (project.root / ONE).rename(elsewhere)
    (project.root / ONE).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    with pytest.raises(StorageError, match="none of this project's files"):
        edits.undo(project)
    assert elsewhere.read_bytes() == before


# -- files that were changed by hand since

LONG = "".join(f"Line {n} of it.\n\n" for n in range(20))


@pytest.fixture
def long(project):
    """A project of which one line was edited."""
    path = project.root / ONE
    path.write_text(LONG)
    edits.apply(project, Edit("x", (change(project, ONE, LONG.replace("Line 9 of", "Row 9 of")),)))
    return project


def by_hand(project, old, new):
    path = project.root / ONE
    path.write_text(path.read_text().replace(old, new))


def test_an_edit_is_undone_and_redone_where_others_were_made_by_hand(long):
    by_hand(long, "Line 0", "New.\n\nLine 0")
    by_hand(long, "Line 19", "Last")
    after = LONG.replace("Line 0", "New.\n\nLine 0").replace("Line 19", "Last")
    assert edits.undo(long).title == "x"
    assert (long.root / ONE).read_text() == after
    edits.redo(long)
    assert (long.root / ONE).read_text() == after.replace("Line 9 of", "Row 9 of")
    by_hand(long, "Line 1 ", "More.\n\nLine 1 ")
    edits.undo(long)
    assert (long.root / ONE).read_text() == after.replace("Line 1 ", "More.\n\nLine 1 ")


def test_edits_are_undone_one_by_one_after_a_change_by_hand(long):
    text = (long.root / ONE).read_text()
    edits.apply(long, Edit("y", (change(long, ONE, text.replace("Line 3 of", "Put in.\nL3 of")),)))
    by_hand(long, "Line 0", "New.\n\nLine 0")
    assert [edits.undo(long).title for _ in "ab"] == ["y", "x"]
    assert (long.root / ONE).read_text() == LONG.replace("Line 0", "New.\n\nLine 0")


@pytest.mark.parametrize(
    ("old", "new"),
    {
        "its line": ("Row 9", "Row nine"),
        "the one before": ("Line 8", "Line eight"),
        "the one after": ("Line 10", "Line ten"),
        "all twice": ("Line 19", f"{LONG.replace('Line 9', 'Row 9')}Line 19"),
    }.values(),
)
def test_an_edit_is_not_undone_where_its_lines_are_other_ones(long, old, new):
    by_hand(long, old, new)
    before = texts(long)
    with pytest.raises(FileChanged) as caught:
        edits.undo(long)
    assert caught.value.present_text == f"{new if 'Row nine' in new else 'Row 9'} of it.\n"
    assert texts(long) == before


def test_an_edit_is_not_undone_if_nothing_could_be_read_then(project):
    manifest = f"{edited.MANIFEST}# 1\n# 2\n# 3\n# 4\n"
    (project.root / TWO).write_text(manifest)
    more = manifest.replace("speakers:", "speakers:\n  Eve: {}\n#")
    edits.apply(project, Edit("x", (change(project, TWO, more),)))
    (project.root / TWO).write_text(f"{more}narrator: Eve\n")
    before = texts(project)
    with pytest.raises(UserError, match="unknown speaker 'Eve'"):
        edits.undo(project)
    assert texts(project) == before


def test_a_kill_while_an_edit_is_undone_elsewhere_leaves_all_of_it_or_none(monkeypatch, tmp_path):
    for fatal in range(1, 6):
        folder = tmp_path / str(fatal)
        folder.mkdir()
        project = edited.project(edited.write(folder, LONG))
        new = LONG.replace("Line 9 of", "Row 9 of")
        edits.apply(project, Edit("x", (change(project, ONE, new),)))
        by_hand(project, "Line 0", "New.\n\nLine 0")
        before = (project.root / ONE).read_text()
        with monkeypatch.context() as patch:
            Disk(patch, fatal, Killed)
            with contextlib.suppress(Killed):
                edits.undo(project)
        undone = edits.history(project)[0].undone
        after = before.replace("Row 9", "Line 9")
        assert (project.root / ONE).read_text() == (after if undone else before)
        assert (edits.redo if undone else edits.undo)(project) is not None
        assert (project.root / ONE).read_text() == (before if undone else after)


def test_what_was_moved_by_a_line_above_is_shown_where_it_stands_now(long):
    text = (long.root / ONE).read_text()
    made = Edit("y", (change(long, ONE, text.replace("Line 15", "Row 15")),))
    by_hand(long, "Line 0", "New.\n\nLine 0")
    with pytest.raises(FileChanged) as caught:
        edits.apply(long, made)
    assert caught.value.present_text == "Line 15 of it.\n"
    (long.root / ONE).write_text("Nothing is left.\n")
    with pytest.raises(FileChanged, match="is gone") as caught:
        edits.undo(long)
    assert caught.value.present_text == ""
