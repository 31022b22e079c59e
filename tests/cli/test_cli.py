from __future__ import annotations

import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path

import av
import pytest
import typer
from huggingface_hub import constants

from narrator import cli
from narrator.cli import rendering, shared
from narrator.cli.shared import PURPOSES, out
from narrator.pipeline.jobs import client
from narrator.sound import audio
from narrator.speech import checks, render, requests
from tests import books, faults, sounds


@pytest.fixture
def book(tmp_path):
    return books.brief(tmp_path)


@pytest.fixture(scope="module")
def draft(tmp_path_factory):
    """The folder of that book after its draft was rendered."""
    path = books.brief(tmp_path_factory.mktemp("draft"))
    assert faults.command(None, "render", path, "--draft")[0] == 0
    return path.parent


@pytest.fixture
def drafted(draft, tmp_path):
    """The manifest of a copy of it."""
    shutil.copytree(draft, tmp_path, dirs_exist_ok=True)
    return tmp_path / "book.yaml"


def test_a_render_makes_files_and_says_which(narrator, book):
    code, said, _ = narrator("render", book, "--draft")
    assert code == 0
    assert "01 - Morning.wav" in said
    assert "0 left out + 0 given up + 0 not rendered" in said


def test_json_is_one_object_and_nothing_else(narrator, book):
    code, said, errors = narrator("render", book, "--draft", "--json")
    facts = json.loads(said)
    assert (code, errors) == (0, "")
    assert facts["rendered"] == facts["chunks"] > 0
    assert all(Path(path).is_file() for path in facts["files"])
    assert facts["characters"]["spoken"] == facts["characters"]["source"]


def test_json_takes_memory_in_proportion_to_its_length(capsys):
    rows = [
        {"text": "Nobody had ever asked it to wait.", "seconds": 3.2, "number": math.nan}
    ] * 3000
    capsys.readouterr()
    tracemalloc.start()
    out.print_json(data=rows)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said = capsys.readouterr().out
    assert json.loads(said)[-1] == {**rows[0], "number": None}
    assert most < 12 * len(said)


def test_a_second_render_has_nothing_to_do(narrator, drafted):
    code, said, _ = narrator("render", drafted, "--draft", "--json")
    facts = json.loads(said)
    assert (code, facts["rendered"]) == (0, 0)
    assert not any(chapter["encoded"] for chapter in facts["chapters"])


def test_plan_says_what_would_be_rendered_and_dry_run_says_the_same(narrator, book):
    _, planned, _ = narrator("plan", book, "--draft", "--json")
    _, dry, _ = narrator("render", book, "--draft", "--dry-run", "--json")
    facts = json.loads(planned)
    assert facts["todo"] == json.loads(dry)["todo"]
    assert facts["reasons"] == {"new": len(facts["todo"])}
    assert not (book.parent / "build").exists()


def test_plan_shows_chapters_speakers_time_and_disk(narrator, book):
    _, said, _ = narrator("plan", book, "--draft")
    for word in ("Morning", "Evening", "narrator", "ann", "time: not measured yet", "free"):
        assert word in said


def test_plan_counts_the_tries_of_an_engine_that_varies(narrator, book):
    book.write_text(book.read_text() + "checks: {best_of: 3}\n", encoding="utf-8")
    assert "of speech, the best of 3 tries each" in narrator("plan", book)[1]
    said = narrator("plan", book, "--draft")[1]
    assert "best_of: draft has one reading of a text" in said
    assert "tries each" not in said


def test_plan_and_check_say_who_is_spoken_by_which_engine(narrator, book):
    book.write_text(book.read_text().replace("ann: {", "ann: {engine: draft, "))
    _, said, _ = narrator("plan", book)
    rows = [line.split() for line in said.splitlines()]
    assert [row[-1] for row in rows if row and row[0] in ("narrator", "ann")] == [
        "voxcpm2", "draft",
    ]  # fmt: skip
    assert [row[0] for row in rows if "time:" in row and row[0] != "to"] == ["voxcpm2:", "draft:"]
    facts = json.loads(narrator("plan", book, "--json")[1])
    assert {row["speaker"]: row["engine"] for row in facts["speakers"]} == {
        "narrator": "voxcpm2", "ann": "draft",
    }  # fmt: skip
    _, said, _ = narrator("check", book)
    assert "spoken by voxcpm2: narrator; draft: ann" in said
    _, said, _ = narrator("plan", book, "--draft")
    assert "voxcpm2" not in said


def test_check_and_plan_say_that_the_model_is_missing(narrator, book, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    missing = "missing: openbmb/VoxCPM2 is not here; `narrator models pull"
    assert missing in narrator("check", book)[1]
    assert missing in narrator("plan", book)[1]
    assert "missing" not in narrator("plan", book, "--draft")[1]
    [note] = json.loads(narrator("check", book, "--json")[1])["missing_models"]
    assert note.startswith("openbmb/VoxCPM2 is not here")
    assert json.loads(narrator("plan", book, "--draft", "--json")[1])["missing_models"] == []


def test_plan_names_the_files_that_pauses_make_anew(narrator, drafted):
    plan = ("plan", drafted, "--draft")
    assert "made again" not in narrator(*plan)[1]
    drafted.write_text(drafted.read_text() + "pauses: {speaker: 0.9}\n", encoding="utf-8")
    said = narrator(*plan)[1]
    assert "cached: its take is in the store" in said
    for name in ("01 - Morning.wav", "02 - Evening.wav"):
        assert f"{name}\n" in said.split("made again: ", 1)[1]
    facts = json.loads(narrator(*plan, "--json")[1])
    assert [Path(path).name for path in facts["files_made_anew"]] == [
        "01 - Morning.wav", "02 - Evening.wav",
    ]  # fmt: skip
    assert facts["todo"] == []


def test_takes_of_another_engine_are_mentioned(narrator, drafted):
    for command in ("takes", "why"):
        code, said, _ = narrator(command, "1.1", drafted)
        assert code == 0
        assert f"`narrator {command} 1.1 --draft` says more" in said
        assert "says more" not in narrator(command, "1.1", drafted, "--draft")[1]


def test_takes_of_several_chunks_are_listed(narrator, drafted):
    code, said, errors = narrator("takes", "1.1", "1.2", drafted, "--draft")
    assert (code, errors) == (0, "")
    assert [line.split()[0] for line in said.splitlines() if "text/one.md" in line] == [
        "1.1", "1.2",
    ]  # fmt: skip
    both = json.loads(narrator("takes", "1.1", "1.2", drafted, "--draft", "--json")[1])
    assert both == [
        json.loads(narrator("takes", name, drafted, "--draft", "--json")[1])
        for name in ("1.1", "1.2")
    ]


def test_a_draft_names_who_narrates_where_the_manifest_does(narrator, book):
    text = book.read_text().replace("formats: [wav]", "formats: [mp3]")
    book.write_text(f"{text}narrated_by: Ann Otter\n", encoding="utf-8")
    assert narrator("render", book, "--draft", "--chapter", "2")[0] == 0
    [path] = book.parent.rglob("02 - Evening.mp3")
    with av.open(str(path)) as file:
        assert file.metadata["composer"] == "Ann Otter"


def test_status_counts_and_lists_files(narrator, book):
    narrator("render", book, "--draft", "--chapter", "2")
    _, said, _ = narrator("status", book, "--draft", "--json")
    facts = json.loads(said)
    assert [c["cached"] == c["chunks"] for c in facts["chapters"]] == [False, True]
    assert [Path(path).name for path in facts["files"]] == ["02 - Evening.wav"]


def test_a_doubtful_chunk_is_said_by_every_command_until_it_is_accepted(
    narrator, book, monkeypatch
):
    books.brief(book.parent, two=books.TWO)
    real = requests.check_answer

    def fussy(speech, request, *more, **options):
        answer = real(speech, request, *more, **options)
        if "weather would hold" not in request.text and "aunts he knew" not in request.text:
            return answer
        faults = (checks.Fault("chirp", "0.10 s"),)
        return replace(answer, verdict=replace(answer.verdict, faults=faults))

    monkeypatch.setattr(render, "check_answer", fussy)
    for command in ("render", "render", "export"):
        code, _, said = narrator(command, book, "--draft")
        assert code == 1
        assert "text/two.md:7: He said that the weather would hold." in said
        assert "(chirp: 0.10 s)" in said
        assert "`narrator pin 2.4 1 --draft` to accept it" in said
        assert "retake" not in said  # the draft voice has one reading
    assert "doubtful: 2.4 " in narrator("status", book, "--draft")[1]
    assert json.loads(narrator("status", book, "--draft", "--json")[1])["doubtful"] == ["2.4"]
    assert "1 doubtful: " in narrator("plan", book, "--draft")[1]
    assert "doubtful: no try of it is free of faults" in narrator("why", "2.4", book, "--draft")[1]
    code, said, _ = narrator("render", book, "--draft", "--json")
    [row] = json.loads(said)["doubtful"]
    assert (code, row["chunk"], row["source"]) == (1, "2.4", "two.md:7")
    assert row["faults"] == ["chirp: 0.10 s"]
    book.write_text(book.read_text() + "checks: {strict: true}\n", encoding="utf-8")
    code, _, said = narrator("export", book, "--draft")
    assert code == 1
    assert "not assembled: chapter 2 lacks takes, or `checks: {strict: true}` holds" in said
    assert "held back  Evening" in narrator("status", book, "--draft")[1]
    assert narrator("pin", "2.4", "1", "--book", book, "--draft")[0] == 0
    assert narrator("render", book, "--draft")[0] == 0


def test_why_tells_what_changed(narrator, drafted):
    books.brief(drafted.parent, one=books.BRIEF_ONE.replace("at seven", "at eight"))
    _, said, _ = narrator("why", "1.2", drafted, "--draft")
    assert "at seven" in said
    assert "at eight" in said
    assert "changed" in said


def test_why_takes_several_chunks_and_numbers_tries_as_pin_does(narrator, drafted):
    code, said, errors = narrator("why", "1.1", "1.2", "-b", drafted, "--draft")
    assert (code, errors) == (0, "")
    assert [said.count(f"{label}:") for label in ("text", "spoken", "take")] == [2, 2, 2]
    assert said.count(" dB, try 1\n") == 2
    assert "1.1: try 1 is pinned" in narrator("pin", "1.1", "1", "-b", drafted, "--draft")[1]
    code, _, errors = narrator("pin", "1.1", "0", "-b", drafted, "--draft")
    assert (code, "tries are numbered from 1" in errors) == (2, True)
    both = json.loads(narrator("why", "1.1", "1.2", "-b", drafted, "--draft", "--json")[1])
    assert [row["id"] for row in both] == ["1.1", "1.2"]
    assert json.loads(narrator("why", "1.1", drafted, "--draft", "--json")[1]) == both[0]


def test_why_of_a_chunk_that_is_not_there_says_how_they_are_named(narrator, book):
    code, _, errors = narrator("why", "9.9", book, "--draft")
    assert code == 2
    assert "chunks are named chapter.number" in errors


def test_gc_is_dry_and_spares_what_any_manifest_uses(narrator, drafted):
    books.brief(drafted.parent, one=books.BRIEF_ONE.replace("at seven", "at eight"))
    assert narrator("gc", drafted)[1].startswith("1 take, ")
    assert narrator("gc", drafted, "--delete")[1].startswith("deleted 1 take, ")
    narrator("render", drafted, "--draft")
    assert narrator("gc", drafted)[1].startswith("every take is in use")
    (drafted.parent / "other.yaml").write_text(books.MANIFEST)
    shorter = books.MANIFEST.replace("  - {title: Evening, file: text/two.md}\n", "")
    books.brief(drafted.parent, shorter, one=books.BRIEF_ONE.replace("at seven", "at eight"))
    assert narrator("gc", drafted)[1].startswith("every take is in use")


def test_gc_refuses_while_a_manifest_of_the_folder_is_broken(narrator, drafted):
    (drafted.parent / "other.yaml").write_text(books.MANIFEST + "outptu: 1\n")
    code, _, errors = narrator("gc", drafted, "--delete")
    assert code == 2
    assert "other.yaml" in errors


def test_check_counts_words_and_spoken_shows_changes(narrator, tmp_path):
    book = books.write(tmp_path, two="Mr. Bell paid £5 in 1920. ![a boat](boat.png)\n")
    code, said, _ = narrator("check", book, "--spoken")
    assert code == 0
    assert "nineteen twenty" in said
    assert "left out" in said
    assert "text/two.md:1" in said.replace(str(tmp_path) + "/", "")


def test_check_shows_all_that_is_spoken_in_a_chapter(narrator, tmp_path):
    book = books.brief(tmp_path, two=f"{books.BRIEF_TWO}\nHe paid £5.\n")
    spoken = (
        "2.1  narrator: Evening.\n2.2  The lamps were lit on both banks.\n2.3  ann: I shall come"
    )
    for chapter in ("2", "Evening"):
        code, said, _ = narrator("check", book, "--chapter", chapter)
        assert code == 0
        assert spoken in said
        assert "  narrator: About aunts he knew nothing. He paid five pounds.\n" in said
        assert "ferry" not in said
    assert "no chapter '9'" in narrator("check", book, "-c", "9")[2]


def test_check_names_marks_and_symbols_for_which_nothing_is_said(narrator, tmp_path):
    book = books.brief(tmp_path, two="# Evening\n\n“Yes ☂,” he wrote ☂ and → ☎ fell.\n")
    _, said, errors = narrator("check", book, "--spoken")
    assert "marks that are simplified, without words: stop added ×2" in said
    assert "text/two.md:3: nothing is said for ☂ ×2, ☎; {☂|…} says what to say" in errors


def test_check_shows_what_is_left_out_once_for_each_kind(narrator, tmp_path):
    book = books.write(tmp_path, two="One.[^1] Two.[^2]\n\nThree.[^3]\n")
    _, said, _ = narrator("check", book)
    assert said.count("left out, footnote mark") == 1
    assert "left out, footnote mark (and 2 more places; --json lists all): [^1]" in said
    _, said, _ = narrator("check", book, "--json")
    assert [item["text"] for item in json.loads(said)["left_out"]] == ["[^1]", "[^2]", "[^3]"]


def test_help_names_every_command_once_by_what_it_is_for(narrator):
    grouped = [name for names in PURPOSES.values() for name in names]
    commands = typer.main.get_command(cli.app).commands
    assert sorted(grouped) == sorted(name for name, one in commands.items() if not one.hidden)
    _, said, _ = narrator("--help")
    listed = said.partition("\n\nStart:\n")[2]
    assert re.findall(r"^  (\w+)  ", listed, re.MULTILINE) == grouped
    assert re.findall(r"^(\w+):$", listed, re.MULTILINE) == list(PURPOSES)[1:]


def test_schema_is_json(narrator):
    assert json.loads(narrator("schema")[1])["title"] == "narrator book.yaml"


def test_a_manifest_with_mistakes_is_lines_with_their_places(narrator, book):
    book.write_text(books.MANIFEST.replace("narrator: {", "narator: {") + "pauses: {lin: 1}\n")
    code, _, errors = narrator("check", book)
    assert code == 2
    assert "unknown key 'lin' in pauses" in errors
    assert "Traceback" not in errors


def test_the_real_engine_names_the_way_on(narrator, book):
    code, _, errors = narrator("render", book)
    assert code == 3
    assert "--draft" in errors


def test_a_project_from_nothing_renders(narrator, tmp_path):
    assert narrator("new", tmp_path / "mine")[0] == 0
    assert narrator("render", tmp_path / "mine", "--draft")[0] == 0


def test_new_refuses_a_folder_with_something_in_it(narrator, book):
    code, _, errors = narrator("new", book.parent)
    assert code == 2
    assert str(book.parent) in errors


def test_one_at_work_who_cannot_be_joined_is_told_of(narrator, book, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr(client, "LOCK_TIMEOUT_S", 0.1)
    (book.parent / "build").mkdir()
    with FileLock(book.parent / "build" / ".lock"):
        code, _, errors = narrator("render", book, "--draft")
    assert code == 3
    assert "another narrator is at work" in errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_line(narrator, book):
    book.parent.chmod(0o500)
    try:
        code, _, errors = narrator("render", book, "--draft")
    finally:
        book.parent.chmod(0o700)
    assert code == 3
    assert "cannot be written" in errors


@pytest.mark.slow
def test_names_with_spaces_and_other_letters_work(narrator, tmp_path):
    book = books.brief(
        tmp_path / "Моя книга № 1",
        books.MANIFEST.replace("The Ferry", "'Паром: “ночь”/день'").replace("Morning", "Утро ☀"),
    )
    code, said, _ = narrator("render", book, "--draft", "--json")
    assert code == 0
    assert all(Path(path).is_file() for path in json.loads(said)["files"])


def test_a_fault_of_our_own_is_two_lines_and_its_own_exit_code(narrator, book, monkeypatch):
    def broken(*arguments, **keywords):
        raise RuntimeError("boom")

    monkeypatch.setattr("narrator.pipeline.manuscript.read_manuscript", broken)
    code, _, errors = narrator("render", book, "--draft")
    assert code == 70
    assert "internal error: RuntimeError: boom" in errors.replace("\n", " ")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(book):
    command = f"{sys.executable} -m narrator check {book} --json | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr


@pytest.mark.slow
def test_importing_the_package_loads_no_engine_no_model_and_no_plotting_library():
    code = (
        "import sys, narrator.pipeline, narrator.report, narrator.cli; "
        "print({m.split('.')[0] for m in sys.modules} "
        "& {'mlx', 'mlx_lm', 'voxcpm2', 'transformers', 'espeakng_loader'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_status_tells_files_that_are_older_than_the_project(narrator, drafted):
    assert len(json.loads(narrator("status", drafted, "--draft", "--json")[1])["files"]) == 2
    drafted.write_text(books.MANIFEST.replace("Evening", "Dusk") + "pauses: {head: 2}\n")
    facts = json.loads(narrator("status", drafted, "--draft", "--json")[1])
    assert (facts["files"], len(facts["other_files"])) == ([], 2)
    said = narrator("render", drafted, "--draft")[1]
    assert said.count("02 - Evening.wav  is delivered no more: moved to ") == 1
    facts = json.loads(narrator("status", drafted, "--draft", "--json")[1])
    assert len(facts["files"]) == 2
    assert facts["other_files"] == []


def test_brackets_in_a_text_are_shown_as_they_are(narrator, tmp_path):
    manifest = books.MANIFEST.replace("The Ferry", "The [red]Ferry[/]")
    book = books.brief(tmp_path, manifest, two="A ![picture](x.png) of it.\n")
    assert "![picture](x.png)" in narrator("check", book)[1]
    assert "The [red]Ferry[ - ]" in narrator("render", book, "--draft")[1]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{pattern: 'a*', say: x}", "matches even an empty text"),
        ("{word: ' ', say: x}", "is empty"),
        ("{word: B, say: x}", "twice"),
    ],
)
def test_a_lexicon_entry_that_cannot_work_is_one_line(entry, message, narrator, book):
    book.write_text(books.MANIFEST + f"lexicon:\n  - {{word: b, say: c}}\n  - {entry}\n")
    code, _, errors = narrator("check", book)
    assert code == 2
    assert message in errors
    assert "book.yaml:13: " in errors


def test_a_chapter_with_nothing_to_speak_is_one_line(narrator, tmp_path):
    code, _, errors = narrator("check", books.write(tmp_path, two="“…”\n"))
    assert code == 2
    assert "nothing to speak" in errors or "no text" in errors


def test_what_a_voice_cannot_say_is_warned_of_and_listed_and_no_error(narrator, tmp_path):
    book = books.brief(tmp_path, two=books.BRIEF_TWO + "\nann: 吾輩は猫である。名前はまだ無い。\n")
    warning = "in “ja”, a language that the engine draft lacks"
    code, said, errors = narrator("render", book, "--draft")
    assert (code, "16 left out" in said) == (0, True)
    assert warning in errors
    assert "not assembled" not in errors
    for command in ("plan", "status"):
        code, _, errors = narrator(command, book, "--draft")
        assert (code, warning in errors) == (0, True)
    code, said, errors = narrator("check", book)
    assert code == 0
    assert "[language: ja]" in errors
    assert "`narrator render --draft`: left out" in errors
    assert "left out," not in said  # the model speaks it


def test_small_files_of_ours_that_hold_nonsense_cost_nothing(narrator, drafted):
    build = drafted.parent / "build"
    for path in (*build.glob("*.json"), *build.rglob("files.json")):
        path.write_text('{"x": [1], "draft": "fast"}')
    assert narrator("plan", drafted, "--draft")[0] == 0
    assert narrator("status", drafted, "--draft")[0] == 0
    code, said, _ = narrator("render", drafted, "--draft", "--json")
    assert (code, json.loads(said)["rendered"]) == (0, 0)


@pytest.fixture
def signals():
    """Signals that are as they were again afterwards."""
    held = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in held.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_second_signal_stops_at_once(name, signals):
    cancel = threading.Event()
    rendering.stop_on_signals(cancel)
    signal.raise_signal(getattr(signal, name))
    assert cancel.is_set()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(getattr(signal, name))


def test_a_window_that_closes_hangs_up_twice_and_means_it_once(signals):
    cancel = threading.Event()
    rendering.stop_on_signals(cancel)
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    assert cancel.is_set()


def test_nohup_is_respected(signals):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    cancel = threading.Event()
    rendering.stop_on_signals(cancel)
    signal.raise_signal(signal.SIGHUP)
    assert not cancel.is_set()


def test_a_signal_in_the_middle_of_a_line_is_heard(signals, monkeypatch):
    class Busy(io.StringIO):
        def write(self, text: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    monkeypatch.setattr(sys, "stderr", Busy())
    cancel = threading.Event()
    rendering.stop_on_signals(cancel)
    signal.raise_signal(signal.SIGINT)
    assert cancel.is_set()


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The only folder that programs are found in; what one of ours says and when it ends."""
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    os.mkfifo(said)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(folder))
    pipe = os.open(said, os.O_RDWR)
    yield folder, pipe
    os.close(pipe)


INHIBIT = """\
#!/bin/sh
for asked; do :; done
/bin/echo "$*" >> {0}
if test "$asked" = cat; then /bin/cat; fi
/bin/echo ended >> {0}
"""


def put(folder, text):
    (folder / "systemd-inhibit").write_text(text.format(folder.parent / "said"))
    (folder / "systemd-inhibit").chmod(0o755)


def lines(pipe, count):
    read = b""
    while read.count(b"\n") < count:
        read += os.read(pipe, 1000)
    return sorted(read.decode().splitlines())


ASKED = [
    f"--who=narrator --why=a render --mode=block --what={what} cat" for what in ("idle", "sleep")
]


def test_the_machine_is_kept_awake_as_long_as_a_render_runs(programs):
    folder, pipe = programs
    put(folder, INHIBIT)
    with shared.keep_awake():
        assert lines(pipe, 2) == ASKED
    os.set_blocking(pipe, False)  # they have been waited for
    with pytest.raises(BlockingIOError):
        os.read(pipe, 1)


def test_what_keeps_the_machine_awake_ends_with_a_killed_render(programs):
    folder, pipe = programs
    put(folder, INHIBIT)
    script = (
        "import os, sys\nfrom narrator.cli import shared\n"
        "with shared.keep_awake(): sys.stdin.read(1); os.kill(os.getpid(), 9)"
    )
    render = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    assert lines(pipe, 2) == ASKED
    render.communicate(b".")
    assert render.returncode == -signal.SIGKILL
    assert lines(pipe, 2) == ["ended", "ended"]


@pytest.mark.parametrize(
    "program", [None, "#!/bin/sh\nexit 1\n", "#!/nowhere/at/all\n", "#!/bin/sh\nkill -9 $$\n"]
)
def test_a_machine_that_cannot_be_asked_is_not_asked(programs, program, capfd):
    folder, _ = programs
    if program:
        put(folder, program)
    with shared.keep_awake():
        pass
    assert capfd.readouterr() == ("", "")


def test_check_refuses_what_a_render_would(tmp_path, narrator):
    book = books.write(tmp_path)
    (tmp_path / "short.wav").write_bytes(audio.encode_wav(sounds.voice(1.0), sounds.RATE))
    text = books.MANIFEST.replace(
        "voice: {description: An old ferryman}", "voice: {reference: short.wav, transcript: Yes.}"
    )
    book.write_text(text, encoding="utf-8")
    code, _, errors = narrator("check", book)
    assert code == 2
    assert "too short to show a voice" in errors
    wanted = "output: {formats: [wav], files: chapters}"
    text = books.MANIFEST.replace(wanted, "output: {profile: acx}")
    book.write_text(text, encoding="utf-8")
    code, _, errors = narrator("check", book)
    assert code == 2
    assert "credits" in errors


HOSTILE = """\
title: "On\\u202ee\\u200b \\u3164Two"
author: "A\\u2066B"
speakers: {narrator: {}, "A\\u200bda": {}}
narrator: narrator
chapters:
  - {title: "Th\\u202eree", lines: ["Ada: Hello there, \\u202edear\\u202c reader."]}
"""


def test_no_terminal_obeys_a_text_and_no_name_of_a_file_holds_what_cannot_be_seen(
    narrator, tmp_path
):
    (tmp_path / "book.yaml").write_text(HOSTILE)
    code, out, err = narrator("check", tmp_path, "--spoken")
    assert code == 0
    assert "marks that are simplified, without words: \\u202e  \\u202c" in out
    assert "book.yaml:1: U+202E (and in 2 more places), a character that cannot be seen" in err
    assert len(err.splitlines()) == 5  # each character once
    code, rendered, err = narrator("render", tmp_path, "--draft")
    assert (code, err) == (0, err.replace("\u202e", ""))
    assert not re.search("[\u200b\u202a-\u202e\u2066-\u2069\u3164]", out + rendered)
    made = [path.name for path in (tmp_path / "build").rglob("*.m4b")]
    assert made == ["AB - One Two.m4b"]
    code, out, _ = narrator("check", tmp_path, "--json")
    assert "\u202e" not in out
    assert "\u202edear" in json.loads(out)["chunks"][0]["text"]


def test_a_terminal_is_not_painted_by_a_name(narrator, tmp_path):
    code, _, err = narrator("check", tmp_path / "a\x1b[31m\x9b0m\u202e.yaml")
    assert code == 2
    assert "a\\u001b[31m\\u009b0m\\u202e.yaml: no such file" in err


def test_of_thousands_of_problems_the_first_and_the_number_are_said(narrator, book):
    with book.open("a") as file:
        file.writelines(f"key{i}: 1\n" for i in range(2000))
    code, _, err = narrator("check", book)
    said = err.splitlines()
    assert (code, len(said)) == (2, 21)
    assert said[-1] == "error: … and 1,980 more, 2,000 in all; mend these first"


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems take UTF-8 alone")
@pytest.mark.slow
def test_a_folder_whose_name_is_no_utf_8_is_a_folder_like_others(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff\xe9k"))
    source = tmp_path / os.fsdecode(b"No\xff\xe9l.txt")
    source.write_text(
        "One\n\nIt was a caf\u00e9, \u201cof course\u201d, and nothing else at all.\n"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    commands = [
        ["new", folder, "--from", source],
        ["render", folder, "--draft", "--json"],
        ["check", folder, "--json"],
        ["status", folder, "--draft"],
        ["verify", folder / "build", "--json"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, *(" ".join(map(str, words)) for words in commands)],
        capture_output=True,
        env={**os.environ, **plain},
    )
    assert done.returncode == 0, done.stderr
    _, rendered, checked, _, verified = done.stdout.split(b"\0\n")[:-1]
    assert b"imported from Nol.txt" in (folder / "book.yaml").read_bytes()
    assert Path(json.loads(rendered)["files"][0]).is_file()
    assert "caf\u00e9" in json.loads(checked)["chunks"][0]["text"]
    assert json.loads(verified)["files"][0]["file"]


ONE_BY_ONE = """
import sys
from narrator import cli
for words in sys.argv[1:]:
    sys.argv = ["narrator", *words.split()]
    try:
        cli.main()
    except SystemExit as stop:
        assert not stop.code, (words, stop.code)
    print(chr(0), flush=True)
"""
"""Commands in one process, whose answers end in a zero byte."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor", "x" * 300),
        ("check", "x" * 300),
        ("voices", "list", "-p", "x" * 300),
        ("models", "where", "a/b@" + "x" * 300),
        ("models", "convert", "model", "x" * 300),
    ],
    ids=lambda arguments: " ".join(arguments)[:20],
)
def test_a_name_that_no_file_can_have_is_one_line(narrator, arguments):
    code, _, said = narrator(*arguments)
    assert code in (2, 3)
    assert "internal error" not in said
    assert len(said) < 1500


def test_links_in_a_circle_are_one_line(narrator, tmp_path):
    (tmp_path / "book.yaml").symlink_to(tmp_path / "book.yaml")
    code, said, _ = narrator("doctor", tmp_path)
    assert code == 3
    assert "Too many levels of symbolic links" in said


def test_status_shows_whether_voices_hold(narrator, drafted):
    code, said, _ = narrator("status", drafted, "--draft", "--steadiness", "--json")
    assert code == 0
    facts = json.loads(said)
    assert facts["compared"] == sum(row["takes"] for row in facts["speakers"])
    assert (facts["unsteadiness"] is None) == (not facts["compared"])  # 0 is a steady book
    code, said, _ = narrator("status", drafted, "--draft", "--steadiness")
    assert code == 0
    assert "unsteadiness of the book" in said or "enough takes" in said


def test_status_without_takes_says_so_and_who_has_spoken(narrator, drafted):
    code, said, _ = narrator("status", drafted, "--steadiness")
    assert code == 0
    assert said.startswith("Nothing is rendered yet.")
    assert "the draft voice has" in said
