"""Language models behind OpenAI's chat API: what is sent, which replies count, what is given up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from narrator.engines import chat
from narrator.engines.chat import ChatModel, connect, parse_reply
from narrator.engines.server.remote_server import Patience
from narrator.errors import EngineUnavailable, UsageError
from tests.engines.server import standins
from tests.engines.server.standins import Fault, StandIn, serving

KEY = "sk-Not-A-Real-Key-0123456789"
QUICK = Patience(first_pause=0.01, max_pause=0.02, max_outage_s=1.0)
QUESTIONS = ("Who says [1], “Yes.”", "Who says [2], “No.”")
SHARED = "A passage.\n\n"
A, B, NONE = [0.9, 0.1], [0.1, 0.9], []

Answered = Callable[..., tuple[StandIn, ChatModel]]


@pytest.fixture
def answered() -> Iterator[Answered]:
    """A stand-in with a reply, after faults for its first answers; and the model behind it."""
    with ExitStack() as stack:

        def start(
            reply: Callable[[str], object] | object, *faults: Fault, key_name: str | None = None
        ) -> tuple[StandIn, ChatModel]:
            def fault(number: int, body: Mapping[str, Any]) -> Fault | None:
                return faults[number] if number < len(faults) else None

            function = reply if callable(reply) else lambda prompt: reply
            standin = stack.enter_context(serving(StandIn("chat", fault, reply=function)))
            return standin, connect(
                f"{standin.url}/v1", "any/model", key_name=key_name, patience=QUICK
            )

        yield start


def ask(model: ChatModel) -> list[list[float]]:
    return [
        [round(p, 6) for p in odds] for odds in model.option_probabilities(SHARED, QUESTIONS, "AB")
    ]


# -- what is sent ----------------------------------------------------------------------------------


def test_all_questions_about_a_text_go_in_one_request(answered, monkeypatch):
    monkeypatch.setenv("CHAT_KEY", KEY)
    standin, model = answered("Q1=A\nQ2=B", key_name="CHAT_KEY")
    assert ask(model) == [A, B]
    (body,), (headers,) = standin.bodies, standin.headers
    prompt = model.message(SHARED, QUESTIONS)
    assert body["messages"] == [{"role": "user", "content": prompt}]
    assert (body["model"], body["temperature"], body["stream"]) == ("any/model", 0, False)
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert re.search(r"Q1: Who says \[1\].*Q2: Who says \[2\].*such as Q1=A", prompt, re.DOTALL)
    assert (model.name, model.tokens_read) == ("model", len(prompt) // 4)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://localhost:11434/v1", "/v1/chat/completions"),
        ("http://localhost:11434/v1/", "/v1/chat/completions"),
        ("http://[::1]:8080", "/v1/chat/completions"),
        ("https://host.example/api/v1", "/api/v1/chat/completions"),
        ("https://host.example/v1beta/openai", "/v1beta/openai/chat/completions"),
    ],
)
def test_the_path_follows_from_the_url(url, path):
    model = connect(url, "m")
    assert model.wire.address.path + model._path == path


@pytest.mark.parametrize(
    ("url", "key", "error"),
    [
        ("http://192.168.1.5:8000/v1", None, "use https"),
        ("http://localhost.example.org/v1", None, "use https"),
        ("ftp://localhost", None, "must be an address"),
        ("http://[::1].example.org", None, "must be an address|IPv6"),
        (f"https://user:{KEY}@host.example/v1", None, "see `--key`"),
        (f"https://host.example/v1?key={KEY}", None, "see `--key`"),
        ("http://localhost/v1/chat/completions", None, "ends before /chat/completions"),
        ("https://host.example/v1", KEY, "the name of an environment variable"),
    ],
)
def test_an_address_that_would_leak_is_refused(url, key, error):
    with pytest.raises(UsageError, match=error) as caught:
        connect(url, "m", key_name=key)
    assert KEY not in str(caught.value)


def test_a_key_that_is_not_in_the_environment_is_an_error():
    with pytest.raises(EngineUnavailable, match="--key: the environment has no NO_SUCH_KEY"):
        connect("http://localhost", "m", key_name="NO_SUCH_KEY")


def test_a_server_that_knows_other_fields_is_asked_in_its_form(answered):
    def refuse(message: str) -> Fault:
        return standins.status(400, {"error": {"message": message}})

    standin, model = answered(
        "Q1=A\nQ2=A",
        refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refuse("Unsupported value: 'temperature' does not support 0 with this model."),
    )
    assert ask(model) == [A, A]
    fields = [sorted({*body} & {"max_tokens", "max_completion_tokens", "temperature"})
              for body in standin.bodies]  # fmt: skip
    assert fields == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
    ]
    ask(model)
    assert len(standin.bodies) == 4


# -- which replies count ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("Q1=A\nQ2=B", {1: "A", 2: "B"}),
        ("  Q2 = B \r\n\r\nQ1=A\n", {1: "A", 2: "B"}),
        ("<think>Q1=B, or rather\nQ1=C</think>\nQ1=A", {1: "A"}),
        ("Q1=A\nQ1=A", {1: "A"}),
        ("Q1=A\nQ1=B\nQ2=B", {2: "B"}),
        ("Q1=C", {}),
        ("Q1=a", {}),
        ("Q1=AB", {}),
        ("Q1=Ada", {}),
        ("Q0=A\nQ01=A\nQ99999=A", {}),
        ("Q١=A", {}),
        ("A", {}),
        ("1=A", {}),
        ("Q1=A, since she is the one who asked.", {}),
        ("The answer is Q1=A", {}),
        ('{"Q1": "A"}', {}),
        ("<think>Q1=A", {}),
        ("<think>\nQ1=A\nor not", {}),
        ("So Q1 it is:\nQ1=B\n</think>\nQ1=A", {1: "A"}),
        ("", {}),
        ("Q1=" * 10_000, {}),
    ],
)
def test_a_reply_can_only_choose(reply, answers):
    assert parse_reply(reply, "AB") == answers


def test_a_question_without_a_valid_answer_is_asked_once_more(answered):
    standin, model = answered(lambda prompt: "Q1=A" if "Q2" in prompt else "Q1=B")
    assert ask(model) == [A, B]
    assert len(standin.bodies) == 2
    assert QUESTIONS[0] not in standin.bodies[1]["messages"][0]["content"]


HOSTILE: Mapping[str, tuple[object, Fault | None]] = {
    "prose": ("Ada says it all.\nrm -rf /", None),
    "numbers that were not asked": ("Q3=A\nQ7=B", None),
    "no text": (None, None),
    "a list": ([{"type": "text", "text": "Q1=A"}], None),
    "nothing": ("", standins.body(b"", "application/json")),
    "a web page": ("", standins.body(standins.HTML, "text/html")),
    "no object": ("", standins.body(b"[1]", "application/json")),
    "depth": ("", standins.body(b"[" * 60_000, "application/json")),
    "bytes": ("", standins.body(bytes(range(256)), "application/json")),
    "no choice": ("", standins.body(b'{"choices": []}', "application/json")),
    "size": ("", standins.huge),
    "a refusal": ("", standins.status(400)),
}


@pytest.mark.parametrize(("reply", "fault"), HOSTILE.values(), ids=HOSTILE.keys())
def test_any_other_answer_is_none_after_two_attempts(answered, reply, fault):
    standin, model = answered(reply, *([fault] * 2 if fault else []))
    assert ask(model) == [NONE, NONE]
    assert (len(standin.bodies), model.unanswered_count) == (2, 2)


def test_a_server_that_never_answers_validly_is_given_up(answered):
    standin, model = answered("Dear reader,\x1b[2J")
    for _ in range(QUICK.max_failed_chunks - 1):
        assert ask(model) == [NONE, NONE]
    with pytest.raises(EngineUnavailable, match="no valid answer to 8 requests in a row") as caught:
        ask(model)
    assert len(standin.bodies) == 8 * chat.ATTEMPTS
    assert "\x1b" not in str(caught.value)


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        standins.status(429, Retry_After="0"),
        standins.status(503),
        standins.status(500),
        standins.half,
        standins.half_chunked,
        standins.hang_up,
    ],
)
def test_what_may_pass_is_sent_again(answered, fault):
    standin, model = answered("Q1=A\nQ2=B", fault)
    assert ask(model) == [A, B]
    assert len(standin.bodies) == 2


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ([standins.status(401, {"error": {"message": f"Bad key {KEY}"}})], "look at `--key`"),
        ([standins.status(404)], "no such address or model: look at `--url` and `--model`"),
        ([standins.status(402)], "asks to be paid"),
        ([standins.status(302, Location="https://other.example/")], "sends elsewhere"),
        ([standins.status(500)] * 3, "500 Internal"),
        ([standins.status(429, Retry_After="9000")], "429"),
    ],
)
def test_what_will_not_pass_ends_the_run_in_a_line(answered, monkeypatch, faults, message):
    monkeypatch.setenv("CHAT_KEY", KEY)
    standin, model = answered("Q1=A", *faults, key_name="CHAT_KEY")
    with pytest.raises(EngineUnavailable, match=message) as caught:
        ask(model)
    assert len(standin.bodies) == len(faults)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_is_not_there_is_not_waited_for(answered):
    _, model = answered("")
    model.wire = chat.Wire(chat.parse_address("http://127.0.0.1:9"), names=chat.OPTION_NAMES)
    with pytest.raises(EngineUnavailable, match=r"is it running there\? Look at `--url`"):
        ask(model)


def test_proxies_of_the_environment_are_not_used(answered, monkeypatch):
    proxy, _ = answered("")
    standin, model = answered("Q1=A\nQ2=B")
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    assert ask(model) == [A, B]
    assert (len(standin.bodies), proxy.paths) == (1, [])


def test_the_price_is_by_tokens():
    assert (
        chat.describe_price("0.15 USD", 2_000_000) == "about 0.30 USD at 0.15 USD a million tokens"
    )
    with pytest.raises(UsageError, match="--price: must be a number and a currency"):
        chat.describe_price("cheap", 0)


def test_json_of_a_request_is_ascii(answered):
    standin, model = answered("Q1=A")
    model.option_probabilities("“Où?”\ud800", ["?"], "AB")
    assert json.dumps(standin.bodies[0]["messages"][0]["content"]).startswith('"\\u201cO')
