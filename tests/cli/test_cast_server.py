"""`cast --model NAME --url ADDRESS`: what is agreed to, sent, answered, kept and written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tests.engines.server import standins
from tests.engines.server.standins import StandIn, serving

MANIFEST = """\
title: Tea
author: A. Author
speakers:
  narrator: {}
  Ada: {pronoun: she, voice: {description: 'An old woman, hoarse'}}
  Ben: {pronoun: he}
  Bess: {pronoun: she}
  Zoe: {pronoun: she}
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""
CHAPTER = """\
Ada, Ben and Bess sat down. It rained.

“I know,” whispered Ada.

“The tea is cold.”

“It was never hot.”

“Then make another pot,” said somebody.
"""
QUESTION = re.compile(r"^Q(\d+): Who says \[\d+\], (.*)$", re.MULTILINE)


def by_words(prompt: str) -> str:
    """Says that Bess speaks of tea, and Ben else."""
    lines = []
    for number, words in QUESTION.findall(prompt):
        name = "Bess" if "tea" in words else "Ben"
        code = re.search(rf"^([A-Z]) = {name}\b", prompt, re.MULTILINE)
        assert code is not None
        lines.append(f"Q{number}={code[1]}")
    return "\n".join(lines)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "one.md").write_text(CHAPTER, "utf-8")
    (tmp_path / "text" / "two.md").write_text(CHAPTER.replace("rained", "snowed"), "utf-8")
    (tmp_path / "book.yaml").write_text(MANIFEST, "utf-8")
    return tmp_path


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with serving(StandIn("chat", reply=by_words)) as server:
        yield server


def options(standin: StandIn) -> tuple[str, ...]:
    return "--model", "any/tea:7b", "--url", f"{standin.url}/v1"


def speakers(narrator, book, *arguments) -> list[tuple[str, str]]:
    code, stdout, stderr = narrator("cast", book, *arguments, "--json")
    assert code == 0, stderr
    return [(quote["speaker"], quote["by"]) for quote in json.loads(stdout)["quotes"]]


def questions_of(standin: StandIn) -> list[str]:
    """The words of all quotations that were asked about."""
    return [
        words
        for body in standin.bodies
        for _, words in QUESTION.findall(body["messages"][0]["content"])
    ]


def test_an_exchange_is_one_request_with_those_present_and_their_descriptions(
    narrator, book, standin
):
    decisions = speakers(narrator, book, *options(standin), "--yes")
    assert decisions[1] == ("Bess", "tea:7b")
    assert decisions[3] == ("Ben", "tea:7b")
    assert len(standin.bodies) == 2
    prompt = standin.bodies[0]["messages"][0]["content"]
    assert len(QUESTION.findall(prompt)) == 3
    assert "[1: Ada] “I know,”" in prompt
    assert "\nA = Ada (she; An old woman, hoarse)\n" in prompt
    assert "Zoe" not in prompt


def test_nothing_is_asked_of_a_server_unless_it_is_named(narrator, book, standin):
    speakers(narrator, book)
    assert standin.paths == []


def test_a_proposed_description_is_not_sent(narrator, book, standin):
    manifest = book / "book.yaml"
    manifest.write_text(f"dialogue: {{cast: found}}\n{manifest.read_text('utf-8')}", "utf-8")
    speakers(narrator, book, *options(standin), "--yes")
    assert "hoarse" not in standin.bodies[0]["messages"][0]["content"]


def test_host_words_and_price_are_shown_before_anything_is_sent(narrator, book, standin):
    code, _, told = narrator("cast", book, *options(standin), "--price", "2 USD")
    assert (code, standin.paths) == (2, [])
    shown = re.search(
        rf"to send to {standin.url} for tea:7b: (\d+) words in 2 requests about 6 quotations, "
        r"some (\d+) tokens, about 0\.00 USD at 2 USD a million tokens",
        told,
    )
    assert shown is not None, told
    assert "--yes agrees where nobody can be asked" in told
    speakers(narrator, book, *options(standin), "--yes")
    prompts = [body["messages"][0]["content"] for body in standin.bodies]
    assert sum(len(prompt.split()) for prompt in prompts) == int(shown[1])


@pytest.mark.parametrize(("answer", "is_sent"), [(True, True), (False, False)])
def test_a_person_at_a_terminal_agrees_or_not(
    narrator, book, standin, monkeypatch, answer, is_sent
):
    def confirm(text: str, *, abort: bool, err: bool) -> bool:
        if not answer:
            raise typer.Abort
        return True

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    code, _, _ = narrator("cast", book, *options(standin), "--write")
    assert (code == 0, bool(standin.paths)) == (is_sent, is_sent)
    assert (book / "text" / "one.speakers.txt").exists() == is_sent


def test_what_was_answered_is_neither_sent_nor_agreed_to_again(narrator, book, standin):
    first = speakers(narrator, book, *options(standin), "--yes")
    assert speakers(narrator, book, *options(standin)) == first
    assert len(standin.bodies) == 2


def test_an_edit_asks_again_only_about_its_exchange(narrator, book, standin):
    speakers(narrator, book, *options(standin), "--yes")
    text = book / "text" / "two.md"
    text.write_text(text.read_text("utf-8").replace("snowed", "hailed"), "utf-8")
    speakers(narrator, book, *options(standin), "--yes")
    assert len(standin.bodies) == 3
    assert "hailed" in standin.bodies[2]["messages"][0]["content"]


def test_a_killed_run_asks_only_about_the_rest(narrator, book):
    def kill(answering: standins.Answering) -> None:
        os.kill(process.pid, signal.SIGKILL)

    with serving(
        StandIn("chat", lambda number, body: kill if number == 1 else None, reply=by_words)
    ) as standin:
        command = [sys.executable, "-m", "narrator", "cast", book, *options(standin), "--yes"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            assert process.wait(60) == -signal.SIGKILL
        decisions = speakers(narrator, book, *options(standin), "--yes")
        assert [by for _, by in decisions].count("tea:7b") == 6
        chapters = ["snowed" in body["messages"][0]["content"] for body in standin.bodies]
        assert chapters == [False, True, True]


def test_what_has_no_valid_answer_stays_as_rules_have_it_and_is_asked_again(
    narrator, book, standin
):
    rules = speakers(narrator, book)
    standin.reply = lambda prompt: "Ben | you | “It was never hot.”\nI would say Q1=A."
    code, _, told = narrator("cast", book, *options(standin), "--yes", "--write")
    assert code == 0
    assert "no valid answer about 6 quotations, left to the rules" in told
    assert speakers(narrator, book) == rules
    asked_count = len(questions_of(standin))
    standin.reply = by_words
    assert speakers(narrator, book, *options(standin), "--yes")[1] == ("Bess", "tea:7b")
    assert len(questions_of(standin)) == asked_count + 6


def test_a_refusal_ends_the_command_in_a_line_and_writes_nothing(narrator, book, standin):
    standin.fault = lambda number, body: standins.status(404)
    code, _, told = narrator("cast", book, *options(standin), "--yes", "--write")
    assert code == 3
    assert "look at `--url` and `--model`" in told.splitlines()[-1]
    assert not (book / "text" / "one.speakers.txt").exists()


@pytest.mark.parametrize("status", [None, 400, 401, 500])
def test_a_key_that_the_server_repeats_is_neither_shown_nor_stored(
    narrator, book, standin, monkeypatch, status
):
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("TEA_KEY", key)
    standin.reply = lambda prompt: f"{key}\n{by_words(prompt)}\nQ1={key}"
    if status:
        refusal = standins.status(status, {"error": {"message": f"{'x' * 190} {key}"}})
        standin.fault = lambda number, body: refusal if number > 1 else None
    _, shown, told = narrator("cast", book, *options(standin), "--key", "TEA_KEY", "-y", "--write")
    assert {headers["Authorization"] for headers in standin.headers} == {f"Bearer {key}"}
    stored = [path.read_text("utf-8") for path in book.rglob("*") if path.is_file()]
    assert not [text for text in (shown, told, *stored) if "sk-0" in text]


def test_a_server_that_changes_its_mind_is_not_asked_again(narrator, book, standin):
    first = speakers(narrator, book, *options(standin), "--yes", "--write")
    standin.reply = lambda prompt: by_words(prompt).replace("=A", "=B")
    assert speakers(narrator, book, *options(standin), "--yes", "--write") == first
    text = book / "text" / "two.md"
    text.write_text(text.read_text("utf-8").replace("snowed", "hailed"), "utf-8")
    again = speakers(narrator, book, *options(standin), "--yes")
    assert again[: len(again) // 2] == first[: len(first) // 2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--url", "http://localhost:1/v1"], "add --model NAME"),
        (["--model", "m", "--key", "A_KEY"], "--key is about a server: add --url"),
        (["--model", "m", "--price", "1 USD"], "--price is about a server: add --url"),
        (["--yes"], "--yes is about a server: add --url"),
        (["--model", "m", "--url", "http://10.0.0.1/v1"], "use https"),
        (
            ["--model", "m", "--url", "https://h.example", "--price", "1 USD a page"],
            "--price: must",
        ),
        (["--model", "m", "--url", "https://h.example", "--describe"], "without --url"),
        (["--model", "auto", "--url", "https://h.example"], "as the server at `--url` does"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_a_line(narrator, book, arguments, error):
    code, _, told = narrator("cast", book, *arguments)
    assert (code, error in told, told.count("\n")) == (2, True, 1)
