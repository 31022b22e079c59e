"""Shell completion, through the environment variables that the shells' scripts set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from narrator.cli.deliver import LAYOUT_NAMES
from narrator.delivery.shelves.layouts import LAYOUTS

SHELLS = ("bash", "zsh", "fish")
CAST = """\
title: The Ferry
author: A. Author
engine: draft
credits: {}
speakers:
  narrator: {}
  "Mr. O'Brien": {voice: {description: "A man, old: and slow"}, plays: {Old Man: []}}
  Ann: {kokoro: {voice: bf_emma}}
profiles: {mine: {base: acx}}
chapters:
  - {title: "What is $HOME?", file: one.md}
  - {title: Evening, file: two.md}
"""


@pytest.fixture
def complete(narrator, monkeypatch):
    """Returns the exit code and the lines for a command line up to the cursor."""

    def run(line: str, shell: str = "fish") -> tuple[int, list[str]]:
        monkeypatch.setenv("_NARRATOR_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_NARRATOR_LINE", line)
        code, said, errors = narrator()
        assert errors == ""
        return code, said.splitlines()

    return run


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cast(here) -> Path:
    (here / "book.yaml").write_text(CAST, "utf-8")
    return here


def first_words(lines: list[str]) -> list[str]:
    return [line.partition("\t")[0] for line in lines]


def files_of(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_chunks_come_with_their_words_after_their_chapters(complete, hummed, monkeypatch):
    monkeypatch.chdir(hummed.parent)
    assert complete("narrator retake ") == (0, ["1.\tMorning", "2.\tEvening"])
    code, lines = complete("narrator retake 2.")
    assert code == 0
    assert lines[:2] == ["2.1\tEvening", "2.2\tThe lamps were lit on both banks."]
    assert first_words(complete("narrator why 2.1 2.")[1])[0] == "2.2"
    assert complete("narrator pin 2.1 2.") == (1, [])
    for command in ("takes", "play", "pin", "unpin", "where", "flag"):
        assert complete(f"narrator {command} 2.1") == (0, ["2.1\tEvening"])


def test_the_book_may_stand_before_the_chunks_or_be_an_option(complete, hummed, here, monkeypatch):
    folder = shutil.copytree(hummed.parent, here / "my book")
    monkeypatch.chdir(folder.parent)
    hummed.unlink()
    for line in (
        "narrator retake 'my book' 2.1",
        r"narrator retake my\ book/book.yaml 2.1",
        "narrator retake --book 'my book' 2.1",
        f"narrator retake --draft '{folder}' 2.1",
        "narrator retake --engine draft --build 'my book/build' 'my book' 2.1",
    ):
        assert complete(line) == (0, ["2.1\tEvening"]), line
    assert complete("narrator retake --engine kokoro 'my book' 2.1") == (1, [])


def test_chunks_of_another_manifest_of_the_folder_are_not_taken(complete, hummed, monkeypatch):
    monkeypatch.chdir(hummed.parent)
    shutil.copy(hummed, "book-short.yaml")
    ledger = hummed.parent / "build/ledger-book-draft.json"
    ledger.rename(ledger.with_name("ledger-book-short-draft.json"))
    assert complete("narrator retake 2.1") == (1, [])
    assert complete("narrator retake book-short.yaml 2.1") == (0, ["2.1\tEvening"])


def test_the_build_folder_of_the_settings_is_known(complete, hummed, here, monkeypatch):
    monkeypatch.chdir(hummed.parent)
    home = here / "home"
    home.mkdir()
    (home / "settings.yaml").write_text("build: builds\n", "utf-8")
    assert complete("narrator retake 2.1") == (1, [])
    target = home / "builds" / hummed.parent.resolve().relative_to("/") / "build"
    shutil.copytree(hummed.parent / "build", target)
    assert complete("narrator retake 2.1") == (0, ["2.1\tEvening"])


def test_chapters_are_numbered_with_their_credits(complete, cast):
    numbers = ["1\tOpening credits", "2\tWhat is $HOME?", "3\tEvening", "4\tClosing credits"]
    assert complete("narrator render -c ") == (0, numbers)
    assert complete("narrator check --chapter=3") == (0, ["--chapter=3\tEvening"])
    assert complete("narrator plan --chapter Ev") == (0, ["Evening\t3"])
    assert complete("narrator render --chapter Wh", "bash") == (0, [r"What\ is\ \$HOME\?"])


def test_letters_of_all_scripts_stay_as_they_are(complete, cast):
    (cast / "book.yaml").write_text(CAST.replace("Evening", "रात की नाव"), "utf-8")
    assert complete("narrator render --chapter रात", "bash") == (0, [r"रात\ की\ नाव"])


def test_speakers_come_with_their_voices(complete, cast):
    assert complete("narrator render -s ") == (
        0,
        [
            "narrator\t",
            "Mr. O'Brien\tA man, old: and slow",
            "Ann\tbf_emma",
            "Old Man\tA man, old: and slow",
        ],
    )


@pytest.mark.parametrize(
    ("line", "shell", "lines"),
    [
        ("narrator render -s Mr", "bash", [r"Mr.\ O\'Brien"]),
        ('narrator render -s "Mr', "bash", ["Mr. O'Brien"]),
        ("narrator render --speaker=Mr", "bash", [r"Mr.\ O\'Brien"]),
        ("narrator render --speaker=Mr", "zsh", ["Mr. O'Brien\tA man, old: and slow"]),
        ("narrator render --speaker=Mr", "fish", ["--speaker=Mr. O'Brien\tA man, old: and slow"]),
    ],
)
def test_each_shell_gets_words_as_it_takes_them(complete, cast, line, shell, lines):
    assert complete(line, shell) == (0, lines)


def test_names_of_engines_models_profiles_and_layouts(complete, cast):
    assert "kokoro\tKokoro" in complete("narrator render --engine ")[1]
    assert {"kokoro", "recogniser", "small.en"} <= set(
        first_words(complete("narrator models pull ")[1])
    )
    assert first_words(complete("narrator hear --model small")[1]) == ["small", "small.en"]
    assert complete("narrator verify x.mp3 --book . --profile m") == (0, ["mine\tof this book"])
    assert "acx" in first_words(complete("narrator verify x.mp3 -p ")[1])
    assert first_words(complete("narrator deliver --layout ")[1]) == list(LAYOUTS)
    assert complete("narrator new x --notes in") == (0, ["in-place\t"])
    assert tuple(LAYOUTS) == LAYOUT_NAMES


def test_voices_are_those_that_are_kept_and_for_an_audition_those_of_engines(complete, cast):
    for folder in (cast / "voices", cast / "home" / "voices"):
        folder.mkdir(parents=True)
        (folder / "Both.voice").touch()
    (cast / "home" / "voices" / "Ada.voice").touch()
    kept = ["Both\tthis project", "Ada\tlibrary"]
    assert complete("narrator voices show ") == (0, kept)
    code, lines = complete("narrator voices audition ")
    assert (code, lines[:2]) == (0, kept)
    assert "bf_emma\tKokoro, en-GB" in lines


def test_commands_and_options_come_with_their_help(complete, here):
    assert complete("narrator rend") == (
        0,
        ["render\tRender a book to finished files."],
    )
    assert first_words(complete("narrator ")[1])[:2] == ["new", "check"]
    assert "own" not in first_words(complete("narrator ")[1])
    assert complete("narrator render --dry") == (0, ["--dry-run\tOnly show the plan."])
    assert first_words(complete("narrator voices a")[1]) == ["add", "audition"]


def test_paths_are_left_to_the_shell(complete, cast):
    for line in ("render ", "retake ", "render --build ", "new x --from ", "verify "):
        assert complete(f"narrator {line}") == (1, []), line


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        ("title: [", "render -s "),
        ("speakers: 5\n", "render -s "),
        ("speakers: {a: 7}\n", "render -s "),
        ("chapters: {}\ncredits: 3\n", "render -c "),
        ("a: &a [*a]\n", "render -c "),
        (None, "render -c "),
    ],
)
def test_a_broken_book_completes_nothing_in_silence(complete, here, manifest, line):
    if manifest is not None:
        (here / "book.yaml").write_text(manifest, "utf-8")
    assert complete(f"narrator {line}") == (0, [])


def test_a_book_that_takes_long_to_read_completes_nothing_after_a_second(complete, cast):
    rows = "".join(f"  - {{title: 'Chapter {number}', lines: [x]}}\n" for number in range(35_000))
    (cast / "book.yaml").write_text(f"title: T\nchapters:\n{rows}", "utf-8")
    start = time.process_time()
    assert complete("narrator render -c ") == (0, [])
    assert time.process_time() - start < 2


@pytest.mark.parametrize("content", ["", "{", '{"seal": "x", "value": 5}', "[1]", '[{"id": 1}]'])
def test_a_damaged_list_of_chunks_completes_no_chunks(complete, hummed, monkeypatch, content):
    monkeypatch.chdir(hummed.parent)
    (hummed.parent / "build/ledger-book-draft.json").write_text(content)
    assert complete("narrator retake 2.") == (1, [])


def test_a_pipe_in_place_of_the_list_of_chunks_keeps_nobody_waiting(complete, hummed, monkeypatch):
    monkeypatch.chdir(hummed.parent)
    os.mkfifo("build/ledger-book-zzz.json")
    assert complete("narrator retake 2.1") == (0, ["2.1\tEvening"])


def test_text_of_a_book_commands_no_terminal_and_breaks_no_line(complete, cast):
    manifest = CAST.replace("Evening", r'"Eve\e[31mning\nand"').replace("Ann:", r'"An\nn":')
    (cast / "book.yaml").write_text(manifest, "utf-8")
    ((_, title),) = (line.split("\t") for line in complete("narrator render -c 3")[1])
    assert (title[:3], title[-9:], title.isprintable()) == ("Eve", "mning and", True)
    assert complete("narrator render -s An") == (1, [])


@pytest.mark.parametrize("line", ["", "narrator", "narrator 'a", "narrator -", "narrator x y z "])
def test_no_line_makes_it_fail_aloud(complete, here, line):
    assert complete(line)[0] in (0, 1)


def test_nothing_is_written(complete, hummed, monkeypatch):
    monkeypatch.chdir(hummed.parent)
    before = files_of(hummed.parent)
    for line in ("retake 2.", "render -c ", "render -s ", "voices audition ", "models pull "):
        complete(f"narrator {line}")
    assert files_of(hummed.parent) == before


# -- the scripts -----------------------------------------------------------------------------------


@pytest.fixture
def shell(hummed, tmp_path, monkeypatch):
    """Runs a script in a shell, in whose path narrator is, beside a book with chunks."""
    program = tmp_path / "bin" / "narrator"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m narrator "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path.cwd()), "HOME": str(tmp_path)}

    def run(name: str, script: str, *words: str) -> list[str]:
        if shutil.which(name) is None:
            pytest.skip(f"no {name} here")
        start = f'eval "$(_NARRATOR_COMPLETE=source_{name} narrator)"\n' if name != "fish" else (
            "env _NARRATOR_COMPLETE=source_fish narrator | source\n"
        )  # fmt: skip
        return subprocess.run(
            [name, "-c", start + script, *words],
            cwd=hummed.parent, env=environment, capture_output=True, text=True, check=True,
        ).stdout.splitlines()  # fmt: skip

    return run


def test_bash_completes(shell):
    script = (
        "COMP_LINE='narrator retake 2.1'; COMP_POINT=19; _narrator_completion narrator\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert shell("bash", script) == ["2.1"]


def test_a_title_neither_runs_in_bash_nor_names_files(shell, hummed):
    """A book may come from a stranger, and what bash completes is run with the next Enter."""
    titles = ["a $(touch ran) `touch ran` \\", "b'; touch ran; 'x", 'c"; touch ran; "x', "d *"]
    rows = "".join(f"  - title: {json.dumps(title)}\n    lines: [x]\n" for title in titles)
    hummed.write_text(f"title: T\nauthor: A\nchapters:\n{rows}", "utf-8")
    (hummed.parent / "d file").touch()
    script = (
        'COMP_LINE="$0" COMP_POINT=${#0}; _narrator_completion narrator\n'
        'eval "echo -E $1${COMPREPLY[0]}$1"'
    )
    for quote in ("", "'", '"'):
        for title in titles:
            line = f"narrator render -c {quote}{title[0]}"
            assert shell("bash", script, line, quote) == [title], (quote, title)
    assert not (hummed.parent / "ran").exists()


def test_fish_completes(shell):
    assert shell("fish", "complete -C 'narrator retake 2.1'") == ["2.1\tEvening"]
    assert "book.yaml" in shell("fish", "complete -C 'narrator render bo'")


def test_zsh_completes(shell):
    script = (
        "_files() { print files }; compdef() {}; compset() {}\n"
        'compadd() { print -l -- "$@" "${values[@]}" "${texts[@]}" }\n'
        "words=(narrator retake 2.1) CURRENT=3; _narrator\n"
        "words=(narrator render '') CURRENT=3; _narrator"
    )
    start = 'compdef() {}; eval "$(_NARRATOR_COMPLETE=source_zsh narrator)"\n'
    lines = shell("zsh", start + script)
    assert lines[-4:] == ["values", "2.1", "2.1  Evening", "files"]


@pytest.mark.parametrize("name", SHELLS)
def test_installing_writes_the_script_where_the_shell_reads_it(
    narrator, monkeypatch, tmp_path, name
):
    monkeypatch.setattr("shellingham.detect_shell", lambda: (name, f"/bin/{name}"))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, said, _ = narrator("--install-completion")
    assert code == 0
    path = Path(said.rpartition(": ")[2].strip())
    code, script, _ = narrator("--show-completion")
    assert (code, path.read_text()) == (0, script)
    assert path.is_relative_to(tmp_path)
    assert "_NARRATOR_COMPLETE=complete_" + name in script


def test_another_shell_is_refused(narrator, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    code, _, errors = narrator("--install-completion")
    assert code == 2
    assert errors == "error: no completion for tcsh, only for bash, zsh, fish\n"
