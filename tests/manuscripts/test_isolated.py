"""Manuscripts read in a process of their own: what comes back, and how it ends when it must."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from manuscripts import Choices, CoverImage, isolated, limits
from manuscripts.errors import ImportFailed
from manuscripts.isolated import read_isolated
from manuscripts.messages import FinishedBook, ImportRequest, RefusedSource, parse_answer
from narrator.errors import NarratorError, StorageError
from narrator.importing import import_book
from tests.build_epub import build_epub
from tests.build_pdf import build_crowded_pdf, build_recursive_pdf
from tests.effort import quick
from textbase import processes

COMMAND = """\
import json, resource, sys
from narrator import cli
folder, source = sys.argv[1].split("\\n")
sys.argv = ["narrator", "new", folder, "--from", source]
try:
    cli.main()
except SystemExit as ended:
    code = ended.code
us, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({
    "code": code,
    "memory": (us.ru_maxrss + children.ru_maxrss) * unit,
    "seconds": children.ru_utime + children.ru_stime,
}))
"""
"""`narrator new` in a process without children of another test; what it and its child have used."""


@pytest.mark.parametrize(
    "build", quick([build_recursive_pdf, build_crowded_pdf], build_recursive_pdf)
)
def test_a_pdf_bomb_is_refused_in_a_sentence_in_ten_seconds_and_a_gigabyte(
    build: Callable[[Path], Path], tmp_path: Path
) -> None:
    bomb = build(tmp_path / "a bömb.pdf")
    assert bomb.stat().st_size < 600_000
    command = processes.python_command(COMMAND, f"{tmp_path / 'new'}\n{bomb}")
    # A new process begins with the memory of the one that started it: a shell has little.
    command = ["sh", "-c", '"$@"; exit "$?"', "sh", *command]
    done = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8")
    used = json.loads(done.stdout.splitlines()[-1])
    said = " ".join(done.stderr.split())
    assert used["code"] == 2
    assert used["seconds"] < 10  # of the processor: others may have it
    assert used["memory"] < 1_000_000_000
    assert "it may be damaged or made to do harm; split it, or convert it" in said
    assert said.count("error") == 1
    assert "Traceback" not in said
    assert not (tmp_path / "new").exists()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a bök.md"
    path.write_text("# One\n\nWords.\n", "utf-8")
    return path


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has the process run other Python than what reads."""

    def run(*lines: str) -> None:
        monkeypatch.setattr(isolated, "READER_CODE", "\n".join(lines))

    return run


def refusal(source: Path) -> str:
    with pytest.raises(ImportFailed) as failure:
        read_isolated(source)
    assert "\n" not in str(failure.value)
    return str(failure.value)


# -- what comes back -------------------------------------------------------------------------------


def test_a_book_is_the_one_that_is_read_in_this_process_with_its_choices(tmp_path: Path) -> None:
    epub = build_epub(
        tmp_path / "sea.epub",
        {"one.xhtml": "<h1>Chapter 1</h1><p>Ада said: “Ships and <b>sails</b>.”</p>"},
    )
    choices = Choices(title="Two", language="fr")
    book = read_isolated(epub, choices)
    assert book == import_book(epub, choices)
    assert (book.title, book.language) == ("Two", "fr")


def test_an_error_comes_back_with_its_class_and_message(tmp_path: Path) -> None:
    missing = tmp_path / "a bök.pdf"
    with pytest.raises(ImportFailed) as here:
        import_book(missing)
    assert refusal(missing) == str(here.value)


@pytest.mark.parametrize("kind", [ImportFailed, StorageError])
def test_errors_are_of_the_class_that_was_raised(kind: type[NarratorError]) -> None:
    answer = parse_answer(RefusedSource.from_error(kind("No.")).to_line())
    assert isinstance(answer, RefusedSource)
    assert type(answer.to_exception()) is kind
    assert str(answer.to_exception()) == "No."


def test_names_that_are_no_utf_8_reach_the_process() -> None:
    name = "a bök\udcff.txt"
    request = ImportRequest(source=name, choices=Choices())
    assert ImportRequest.model_validate_json(request.to_line()).source == name


def test_a_cover_comes_back_byte_for_byte(text: Path) -> None:
    book = replace(import_book(text), cover=CoverImage(bytes(range(256)), ".png"))
    answer = parse_answer(FinishedBook(book=book).to_line())
    assert isinstance(answer, FinishedBook)
    assert answer.book == book


def test_a_fault_of_the_program_stays_one(text: Path, program) -> None:
    program("import manuscripts.reading as i; i.read_book = lambda *_: 1 / 0", isolated.READER_CODE)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        read_isolated(text)


# -- how it ends when it must ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("os.abort()", r"was killed \(SIGABRT\); it may be damaged"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", r"was killed \(SIGSEGV\); it may be damaged"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "memory runs out; close other programs"),
        ("os._exit(3)", "ended with code 3; it may be damaged"),
        ("print('no JSON')", "gave no answer; it may be damaged"),
        ("""print('{"kind": "finished", "book": {}}')""", "gave no answer; it may be damaged"),
    ],
)
def test_a_process_that_dies_costs_a_sentence(line: str, what: str, text: Path, program) -> None:
    program("import os, resource, signal", "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", line)
    with pytest.raises(ImportFailed, match=what):
        read_isolated(text)
    assert refusal(text).startswith(f"{text}: was not read: what reads it ")


def test_one_that_hangs_is_ended(text: Path, program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("import time", "time.sleep(600)")
    monkeypatch.setattr(limits, "BASE_CLOCK_SECONDS", 0.1)
    monkeypatch.setattr(limits, "CLOCK_SECONDS_PER_CPU_SECOND", 0)
    assert "was not read in 0 minutes" in refusal(text)


@pytest.mark.parametrize("inner", ["", "subprocess.run([sys.executable, '-c', fill])"])
def test_memory_is_watched_where_the_system_does_not_limit_it(
    inner: str, text: Path, program, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = "import time; filled = bytearray(b'x') * 200_000_000; time.sleep(600)"
    program("import subprocess, sys", f"fill = {fill!r}", inner or fill)
    monkeypatch.setattr(limits, "BASE_MEMORY_BYTES", 100_000_000)
    assert "takes more than 100 MB of memory" in refusal(text)


def test_text_without_end_is_ended(text: Path, program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("while True: print('x' * 10_000, end='')")
    monkeypatch.setattr(isolated, "MAX_OUTPUT_BYTES", 100_000)
    assert "has more than 0 MB of text" in refusal(text)


@pytest.fixture
def in_a_second(program) -> None:
    """A second of processor time, whatever the size, once the readers are loaded: that takes
    longer on a busy machine."""
    program(
        "from manuscripts import kinds, limits",
        "kinds.TEXT.load_reader(), kinds.RTF.load_reader()",
        "limits.BASE_CPU_SECONDS, limits.CPU_SECONDS_PER_BYTE = 0.5, 0.0",
        isolated.READER_CODE,
    )


@pytest.mark.usefixtures("in_a_second")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("groups.rtf", rb"{\rtf1 " + rb"{\b x}" * 300_000 + rb"\par}"),
        pytest.param("line.txt", b"word and " * 1_000_000, marks=pytest.mark.slow),
    ],
)
def test_what_takes_long_is_ended_whatever_its_format(
    name: str, data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert " s of computing; it may be damaged" in refusal(path)


@pytest.mark.slow
@pytest.mark.usefixtures("in_a_second")
def test_of_a_folder_the_file_is_named_that_could_not_be_read(text: Path) -> None:
    bomb = build_recursive_pdf(text.with_name("b.pdf"))
    assert refusal(text.parent).startswith(f"{bomb}: ")


# -- nothing is left -------------------------------------------------------------------------------

FAMILY = """\
import pathlib, re, subprocess, sys
from manuscripts import reader_process
def read(*_):
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    file = pathlib.Path({place!r})
    file.with_suffix(".part").write_text(f"{{reader_process.os.getpid()}} {{helper.pid}}")
    file.with_suffix(".part").rename(file)
    re.match("(a*)*b", "a" * 99)
reader_process.read_book = read
reader_process._limit = lambda source: None
reader_process.main()
"""
"""A process in which one regular expression works without end, and no other thread meanwhile, with
a program that it has started; it writes down both."""


def are_gone(numbers: str) -> bool:
    """Whether processes end, within a time that is long."""
    running = [psutil.Process(number) for number in map(int, numbers.split())
               if psutil.pid_exists(number)]  # fmt: skip
    _, alive = psutil.wait_procs(running, timeout=30)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


@pytest.mark.slow
def test_ctrl_c_leaves_no_process(
    text: Path, tmp_path: Path, program, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "family"
    program(FAMILY.format(place=str(place)))

    def interrupted(self: isolated._ReaderProcess) -> None:
        if place.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(isolated._ReaderProcess, "_check_limits", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_isolated(text)
    assert are_gone(place.read_text())


def test_a_killed_parent_leaves_no_process(text: Path, tmp_path: Path) -> None:
    place = tmp_path / "family"
    lines = (
        "from manuscripts import isolated",
        "from pathlib import Path",
        f"isolated.READER_CODE = {FAMILY.format(place=str(place))!r}",
        "isolated.read_isolated(Path(sys.argv[1]))",
    )
    with subprocess.Popen(processes.python_command("\n".join(lines), str(text))) as parent:
        while not place.exists():
            assert parent.poll() is None
        parent.kill()
    assert are_gone(place.read_text())
