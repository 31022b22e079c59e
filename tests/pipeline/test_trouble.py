"""Disks, clocks, folders and files that misbehave: the right result or one clear line."""

from __future__ import annotations

import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
import yaml

from narrator.errors import UsageError
from narrator.pipeline import upkeep
from narrator.project import load
from narrator.speech.store import Store
from tests import books, faults, forks
from tests.effort import quick
from tests.fakes import HumEngine

MANIFEST = books.MANIFEST.replace("[wav], files: chapters", "[m4b]")


@pytest.fixture
def disk(tmp_path) -> Iterator[Callable[[str], Path]]:
    """A small file system of its own, with mount options that may be changed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        again = ["-o", f"remount,{options}"] if mounted else ["-o", options, "-t", "tmpfs", "tmpfs"]
        done = subprocess.run(["mount", *again, str(folder)], capture_output=True)
        if done.returncode:
            pytest.skip("no right to mount a file system here")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def narrator(*arguments: str | Path) -> tuple[int, str]:
    code, said = faults.command(None, *arguments)
    assert "Traceback" not in said
    return code, said


def products(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (path.parent / "build" / "draft").rglob("*.*")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """Files of a run on a disk with room."""
    path = books.brief(tmp_path_factory.mktemp("whole"), MANIFEST)
    assert narrator("render", path, "--draft")[0] == 0
    return products(path)


@pytest.mark.parametrize("size", quick(["120k", "300k", "440k"], "300k"))
def test_a_disk_that_fills_up_is_one_line_and_the_run_goes_on_with_more(size, whole, disk):
    path = books.brief(disk(f"size={size}") / "book", MANIFEST)
    code, said = narrator("render", path, "--draft")
    assert (code, "disk is full" in said) == (3, True), said
    kept = set((path.parent / "build" / "store").glob("??/*.take"))
    disk("size=50m")
    code, said = narrator("render", path, "--draft", "--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["rendered"] == facts["chunks"] - len(kept)
    assert products(path) == whole
    assert not [p for p in path.parent.rglob("*") if p.suffix == ".part"]


SHORT = (
    MANIFEST.replace("  - {title: Evening, file: text/two.md}\n", "")
    + "pauses: {head: 0.1, tail: 0.1, line: 0.1, speaker: 0.1}\n"
)


def short(folder: Path) -> Path:
    return books.brief(folder, SHORT, one="# Morning\n\nann: Is there room?\n")


def least(folder: Path, manifest: str = MANIFEST) -> Path:
    """Two chapters of a line each, for tests of whole commands."""
    one, two = "# Morning\n\nThe ferry left.\n", "# Evening\n\nann: I shall come again.\n"
    return books.brief(folder, manifest, one=one, two=two)


def made(path: Path) -> dict[str, bytes]:
    found = (path.parent / "build" / "book").rglob("*.*")
    return {p.name: p.read_bytes() for p in found if p.suffix != ".part"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict[str, bytes], int]:
    """Files of a run on a good disk, and how many calls it takes to write all there is."""
    path = short(tmp_path_factory.mktemp("whole"))
    with faults.failing(faults.Disk(path.parent)) as disk:
        assert faults.command(HumEngine(continues=False), "render", path)[0] == 0
    return made(path), len(disk.calls)


def refuse(path: Path, disk: faults.Disk, good: dict[str, bytes]) -> None:
    """A run on a disk that refuses, and one on a good disk after it."""
    engine = HumEngine(continues=False)
    with faults.failing(disk):
        code, said = faults.command(engine, "render", path)
    at = f"call {disk.first}, {disk.calls[disk.first - 1]}: {code}: {said}"
    assert code in (0, 3), at
    assert "Traceback" not in said, at
    if code == 3:
        assert len([line for line in said.splitlines() if "error" in line]) == 1, at
        assert said.count(str(path.parent)) <= 2, at
    assert made(path).items() <= good.items(), at
    takes = len(list((path.parent / "build" / "store").glob("??/*.take")))
    code, said = faults.command(again := HumEngine(continues=False), "render", path)
    assert code == 0, at + said
    assert made(path) == good, at
    assert takes + len(again.requests) == 2, at  # what was stored is not spoken again
    assert not list(path.parent.rglob("*.part")), at


def disks(root: Path, calls: int) -> Iterator[tuple[Path, faults.Disk]]:
    """Every call of a run, each refused for one reason, alone and with all that follow."""
    for first in range(1, calls + 1):
        for stays in (True, False):
            folder = root / f"{first}-{stays}"
            error = faults.ERRORS[(first + stays) % len(faults.ERRORS)]
            yield folder, faults.Disk(folder, first, error, stays)


@pytest.mark.parametrize("share", quick([0.0, 0.03, 0.08, 0.15, 0.3, 0.9, 0.98], 0.08, 0.3, 0.98))
def test_a_disk_that_refuses_at_any_call_is_one_line_and_the_run_goes_on(
    share, undisturbed, tmp_path
):
    good, calls = undisturbed
    every = list(disks(tmp_path, calls))
    folder, disk = every[round(share * (len(every) - 1))]
    refuse(short(folder), disk, good)


@pytest.mark.parametrize("size", quick([20_000, 27_000], 27_000), ids=["a chapter", "a book"])
def test_a_disk_that_refuses_what_ffmpeg_writes_is_one_line(size, undisturbed, tmp_path):
    path, engine = short(tmp_path), HumEngine(continues=False)
    faults.command(engine, "render", path)
    for folder in ("encoded", "book"):
        shutil.rmtree(tmp_path / "build" / folder)
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, was[1]))
    try:
        code, said = faults.command(engine, "export", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
    assert (code, said.count("error"), made(path)) == (3, 1, {}), said
    assert faults.command(engine, "export", path)[0] == 0
    assert made(path) == undisturbed[0]


def test_a_log_that_finds_no_room_costs_the_log_alone(undisturbed, tmp_path):
    path, logs = short(tmp_path), [0]

    def full(disk, what, place):
        logs[0] += str(place).endswith(".log")
        return what == "write" and str(place).endswith(".log")

    with (
        mock.patch.object(faults.Disk, "refuses", full),
        faults.failing(faults.Disk(tmp_path)),
    ):
        code, said = faults.command(HumEngine(continues=False), "render", path)
    assert (code, made(path)) == (0, undisturbed[0])
    assert logs[0] > 3
    assert said.endswith("the log lacks lines: the disk is full\n")


@pytest.mark.slow
def test_a_disk_that_refuses_at_every_call_of_a_run_loses_nothing(undisturbed, tmp_path):
    good, calls = undisturbed
    for folder, disk in disks(tmp_path, calls):
        refuse(short(folder), disk, good)
        shutil.rmtree(folder)


def test_a_read_only_disk_is_one_line(disk):
    path = books.brief(disk("size=50m") / "book", MANIFEST)
    disk("ro")
    code, said = narrator("render", path, "--draft")
    assert code == 3
    assert "read-only" in said.lower()


def test_looking_needs_no_right_to_write(disk):
    path, engine = short(disk("size=50m") / "book"), HumEngine()
    assert faults.command(engine, "render", path)[0] == 0
    disk("ro")
    for command in ("check", "plan", "status", "gc"):
        assert faults.command(engine, command, path)[0] == 0


def test_two_renders_at_once_do_the_work_once(tmp_path):
    path = books.brief(tmp_path, MANIFEST)
    both = [
        forks.start(tmp_path / f"said {name}", "render", path, "--draft") for name in ("a", "b")
    ]
    codes = sorted(forks.code(process, 120) for process in both)
    said = [file.read_text("utf-8") for file in tmp_path.glob("said *")]
    assert codes == [0, 0], said
    assert products(path)


@pytest.fixture(scope="module")
def delivered(tmp_path_factory) -> Callable[[bool], Path]:
    """`delivered(continues)`: the folder of a book of a few seconds that is all there."""

    def deliver(continues: bool) -> Path:
        path = books.brief(tmp_path_factory.mktemp("delivered"))
        books.run(path, HumEngine(continues=continues))
        return path.parent

    return cache(deliver)


@pytest.fixture
def book(delivered, tmp_path) -> Path:
    """The manifest of a copy of it."""
    shutil.copytree(delivered(True), tmp_path, dirs_exist_ok=True)
    return tmp_path / "book.yaml"


@pytest.mark.parametrize(
    "harm",
    quick(
        ["truncated", "altered", "altered behind the clock's back"],
        "truncated",
        "altered behind the clock's back",
    ),
)
def test_a_damaged_take_is_reported_and_rendered_again(harm, delivered, tmp_path):
    shutil.copytree(delivered(False), tmp_path, dirs_exist_ok=True)
    path, engine = tmp_path / "book.yaml", HumEngine(continues=False)
    files = {p: p.read_bytes() for p in (tmp_path / "build" / "book").rglob("*.wav")}
    take = sorted((tmp_path / "build" / "store").glob("??/*.take"))[0]
    good, stat = take.read_bytes(), take.stat()
    content = Store.open(tmp_path / "build" / "store").find(take.stem).content
    take.write_bytes(good[:-100] if harm == "truncated" else good[:500] + b"x" + good[501:])
    if "clock" in harm:
        os.utime(take, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    for encoded in (tmp_path / "build" / "encoded").rglob("*"):
        if encoded.is_file():
            encoded.unlink()
    report, watcher = books.run(path, engine)
    assert [step.key for step, _ in watcher.takes] == [take.stem]
    assert report.plan.store.damaged == [take.stem]
    assert report.complete
    assert Store.open(tmp_path / "build" / "store").find(take.stem).content == content
    assert {p: p.read_bytes() for p in files} == files


def test_a_clock_that_was_set_back_changes_nothing(book, tmp_path):
    path, engine = book, HumEngine()
    later = time.time() + 10 * 365 * 86400
    for file in tmp_path.rglob("*"):
        os.utime(file, (later, later))
    assert books.todo(path, engine) == {}
    books.brief(tmp_path, one=books.BRIEF_ONE.replace("at seven", "at eight"))
    report, watcher = books.run(path, engine)
    assert report.complete
    assert any("at eight" in text for text in watcher.texts)
    assert "at eight" in (tmp_path / "build" / "timeline" / "book-book" / "001.json").read_text()


def test_a_copied_project_needs_no_rendering(delivered, tmp_path):
    engine = HumEngine()
    subprocess.run(["cp", "-r", delivered(True), tmp_path / "b"], check=True)
    assert books.todo(tmp_path / "b" / "book.yaml", engine) == {}
    report, watcher = books.run(tmp_path / "b" / "book.yaml", engine)
    assert (report.complete, watcher.takes) == (True, [])


def test_a_lost_journal_and_ledger_cost_no_take(book, tmp_path):
    path, engine = book, HumEngine()
    for file in (*tmp_path.rglob("*.jsonl"), *tmp_path.rglob("ledger-*.json")):
        file.write_text("{")
    report, watcher = books.run(path, engine)
    assert (report.complete, watcher.takes) == (True, [])


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"RIFF")])
def test_a_lost_or_altered_product_is_made_again_without_rendering(harm, book, tmp_path):
    product = min((tmp_path / "build" / "book").rglob("*.wav"))
    good = product.read_bytes()
    harm(product)
    _, watcher = books.run(book, HumEngine())
    assert watcher.takes == []
    assert product.read_bytes() == good


def test_a_flipped_bit_in_what_was_encoded_is_told_and_made_again(tmp_path):
    path, engine = short(tmp_path), HumEngine(continues=False)
    faults.command(engine, "render", path)
    product = next((tmp_path / "build" / "book").glob("*.m4b"))
    encoded = next((tmp_path / "build" / "encoded").rglob("*.m4a"))
    good = product.read_bytes()
    spoil(product)
    said = faults.command(engine, "status", path)[1]
    assert "altered since it was made; `narrator export` makes it again" in said
    said = faults.command(engine, "export", path)[1]
    assert f"{product.name} had been altered since it was made; it is made again" in said
    assert product.read_bytes() == good
    spoil(encoded)
    said = faults.command(engine, "status", path)[1]
    assert f"{encoded.name}  altered since it was written" in said
    path.write_text(path.read_text().replace("title: The", "title: Of The"))
    said = faults.command(engine, "export", path)[1]
    assert f"{encoded.name}: it was altered since it was written; it is encoded again" in said
    assert "altered" not in faults.command(engine, "status", path)[1]


def test_a_build_that_vanishes_in_the_middle_of_a_run_is_told(tmp_path):
    path = short(tmp_path)

    def vanish(request):
        shutil.rmtree(tmp_path / "build", ignore_errors=True)

    engine = HumEngine(continues=False, slots=1, fault=vanish)
    code, said = faults.command(engine, "render", path)
    assert (code, "lack" in said) == (1, True), said
    assert faults.command(HumEngine(continues=False), "render", path)[0] == 0


def test_a_missing_take_is_never_silence(book, tmp_path):
    path, engine = book, HumEngine()
    store = Store.open(tmp_path / "build" / "store", writing=True)
    gone = books.plan(path, engine).steps[-1].key
    store.remove([gone])
    before = sorted((tmp_path / "build" / "book").rglob("*"))
    with pytest.raises(UsageError, match="chapter 2 lacks takes"):
        books.run(path, engine, speak=False)
    assert sorted((tmp_path / "build" / "book").rglob("*")) == before
    report, _ = books.run(path, engine, speak=False, chapters=["1"])
    assert report.finished


def spoil(take: Path) -> None:
    """Alter a take so that neither its size nor its time tell."""
    data, stat = bytearray(take.read_bytes()), take.stat()
    data[len(data) // 2] ^= 1
    take.write_bytes(data)
    os.utime(take, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_status_reads_takes_when_it_is_asked_to_and_says_which_it_did(book, tmp_path):
    path, engine = book, HumEngine()
    take = sorted((tmp_path / "build" / "store").glob("??/*.take"))[0]
    spoil(take)
    quick_look = faults.command(engine, "status", path)[1]
    assert "altered" not in quick_look
    assert "takes by size and time; --deep reads them too" in quick_look
    said = faults.command(engine, "status", path, "--deep")[1]
    assert "1 take altered on disk: " in said
    assert "`narrator render` renders them again" in said
    assert "takes too" in said
    data = json.loads(faults.command(engine, "status", path, "--deep", "--json")[1])
    assert data["damaged_takes"] == [take.stem]
    take.write_bytes(take.read_bytes() + b"x")
    assert "1 take altered on disk: " in faults.command(engine, "status", path)[1]


def test_status_names_a_companion_that_was_altered_or_is_missing(tmp_path):
    path, engine = short(tmp_path), HumEngine(continues=False)
    path.write_text(path.read_text().replace("output: {", "output: {companions: [vtt, srt], "))
    faults.command(engine, "render", path)
    captions = next((tmp_path / "build" / "book").glob("*.vtt"))
    captions.write_text(captions.read_text().replace("00:00", "00:02"))
    captions.with_suffix(".srt").unlink()
    said = faults.command(engine, "status", path)[1]
    assert f"{captions.name}  altered since it was made; `narrator export` makes it again" in said
    assert f"{captions.stem}.srt  missing; `narrator export` makes it again" in said


def test_a_prompt_that_was_altered_is_rendered_again_before_it_is_continued(book, tmp_path):
    path, engine = book, HumEngine()
    child = next(step for step in books.plan(path, engine).steps if step.parent)
    folder = tmp_path / "build" / "store"
    Store.open(folder, writing=True).remove([child.key])
    spoil(folder / child.parent[:2] / f"{child.parent}.take")
    report, watcher = books.run(path, engine)
    assert report.complete
    assert {step.key for step, _ in watcher.takes} == {child.parent, child.key}
    fresh = Store.open(folder)
    assert fresh.find(child.key).prompted_by == fresh.find(child.parent).content


def test_a_touched_store_is_hashed_once_and_remembered(book, tmp_path):
    path, engine = book, HumEngine()
    journal = tmp_path / "build" / "store" / "journal.jsonl"
    for take in journal.parent.glob("??/*.take"):
        os.utime(take, (1, 1))
    books.run(path, engine)
    size = journal.stat().st_size
    books.run(path, engine)
    assert journal.stat().st_size == size


@pytest.mark.parametrize("name", quick(["other.yaml", "mine.book"], "mine.book"))
def test_gc_spares_a_manifest_by_any_name_and_in_any_form(name, tmp_path):
    path = least(tmp_path, books.MANIFEST)
    shorter = books.MANIFEST.replace("  - {title: Evening, file: text/two.md}\n", "")
    (tmp_path / name).write_text(json.dumps(yaml.safe_load(books.MANIFEST), indent=2))
    narrator("render", tmp_path / name, "--draft")
    takes = sorted((tmp_path / "build" / "store").glob("??/*.take"))
    path.write_text(shorter)
    assert narrator("gc", path, "--delete")[0] == 0
    assert sorted((tmp_path / "build" / "store").glob("??/*.take")) == takes


def test_two_manifests_of_a_folder_have_files_of_their_own(tmp_path):
    path = least(tmp_path)
    (tmp_path / "slow.yaml").write_text(MANIFEST + "pauses: {line: 3}\n")
    for name in ("book.yaml", "slow.yaml"):
        assert narrator("render", tmp_path / name, "--draft")[0] == 0
    for name in ("book.yaml", "slow.yaml"):
        facts = json.loads(narrator("status", tmp_path / name, "--draft", "--json")[1])
        assert len(facts["files"]) == 1
    assert len(list((tmp_path / "build").rglob("*.m4b"))) == 2
    assert path.exists()


def test_status_knows_its_files_from_anywhere(tmp_path, monkeypatch):
    least(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    assert narrator("render", "here", "--draft")[0] == 0
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    facts = json.loads(narrator("status", "--draft", "--json")[1])
    assert len(facts["files"]) == 1


def test_gc_waits_for_no_pipe_and_takes_no_folder_for_a_manifest(tmp_path):
    path = books.brief(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    assert upkeep.find_unreferenced_takes(load.load(path)) == []


def test_gc_refuses_while_a_manifest_of_the_folder_cannot_be_read(tmp_path):
    path = least(tmp_path, books.MANIFEST)
    narrator("render", path, "--draft")
    (tmp_path / "other.yaml").write_text(books.MANIFEST.replace("speakers:", "speakers: ]"))
    takes = sorted((tmp_path / "build" / "store").glob("??/*.take"))
    code, said = narrator("gc", path, "--delete")
    assert code == 2
    assert "other.yaml" in said
    assert sorted((tmp_path / "build" / "store").glob("??/*.take")) == takes


@pytest.mark.parametrize("name", ["hum", "my-hum"])
def test_gc_refuses_where_it_cannot_know_what_another_manifest_uses(name, tmp_path):
    path, engine = short(tmp_path), HumEngine(name)
    shutil.copy(path, tmp_path / "mine.book")
    for manifest in ("book.yaml", "mine.book"):
        assert faults.command(engine, "render", tmp_path / manifest)[0] == 0
    takes = sorted((tmp_path / "build" / "store").glob("??/*.take"))
    spoil(tmp_path / "build" / f"ledger-mine-{name}.json")
    code, said = faults.command(engine, "gc", path, "--delete")
    assert (code, f"ledger-mine-{name}.json: not a list of steps" in said) == (3, True), said
    assert sorted((tmp_path / "build" / "store").glob("??/*.take")) == takes


# -- terminals and readers that go away ------------------------------------------------------------

FULL = Path("/dev/full")
LONG = "# Morning\n\n" + "\n\n".join(
    f"The ferry number {n} left at seven, as it had on every morning that anyone could remember."
    for n in range(100)
)


def on_a_terminal(path: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """`narrator render` on a terminal of its own, and the end that a window would hold."""
    window, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "narrator", "render", str(path), "--draft", *arguments],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    return process, window


def wait_for_takes(path: Path, process: subprocess.Popen[bytes], window: int) -> None:
    journal = path.parent / "build" / "store" / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        os.read(window, 4096)


def logged(path: Path) -> str:
    return "".join(log.read_text() for log in (path.parent / "build" / "logs").iterdir())


@pytest.mark.slow
def test_a_closed_window_ends_a_render_as_ctrl_c_does(tmp_path):
    path = books.brief(tmp_path, one=LONG)
    process, window = on_a_terminal(path)
    wait_for_takes(path, process, window)
    os.close(window)
    for _ in range(2):  # the shell's, and the system's own
        os.kill(process.pid, signal.SIGHUP)
    assert process.wait(300) == 130
    facts = json.loads((tmp_path / "build" / "report.json").read_text())
    takes = len(list((tmp_path / "build" / "store").glob("??/*.take")))
    assert (facts["cancelled"], facts["rendered"]) == (True, takes)
    assert 0 < takes < facts["chunks"]
    assert "ERROR" not in logged(path)


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], pytest.param(["--json"], marks=pytest.mark.slow)])
def test_a_render_that_outlives_its_terminal_goes_on_in_silence(form, tmp_path):
    path = least(tmp_path, books.MANIFEST)
    process, window = on_a_terminal(path, *form)
    os.close(window)  # and no signal: it was started with `disown` or `setsid`
    assert process.wait(300) == 0
    assert "ERROR" not in logged(path)
    assert len(list((tmp_path / "build").rglob("*.wav"))) == 2


@pytest.mark.slow
def test_a_reader_that_has_read_enough_does_not_end_a_render(tmp_path):
    path = least(tmp_path, books.MANIFEST)
    os.mkfifo(pipe := tmp_path / "pipe")
    process = forks.start(pipe, "render", path, "--draft")
    with pipe.open("rb", buffering=0) as reader:
        assert reader.read(1)
    assert forks.code(process) == 0
    assert "Traceback" not in logged(path)
    assert len(list((tmp_path / "build").rglob("*.wav"))) == 2


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_an_answer_that_cannot_be_written_is_one_line(tmp_path):
    path = books.brief(tmp_path)
    said = tmp_path / "said"
    process = forks.start(said, "plan", path, "--draft", "--json", answers=FULL)
    assert forks.code(process) == 3
    assert said.read_text() == "error: standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_what_is_said_on_the_way_may_get_lost(tmp_path):
    path = books.brief(tmp_path)
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "narrator", "render", str(path), "--draft"]
        assert subprocess.run(command, stderr=full).returncode == 0
