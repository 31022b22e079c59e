"""A language model behind OpenAI's chat API, asked to choose among given options.

A request holds several questions about one text; the model replies with a line for each: the number
of the question and the code of an option (`Q2=B`). All else in a reply is dropped, so nothing that
a server writes gets into a book. Requests follow the rules of speech servers (`server/wire.py`).
Knows nothing of books: callers choose the questions and interpret the answers.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from narrator.engines.server.remote_server import DEFAULT_PATIENCE, AttemptCounter, Patience
from narrator.engines.server.settings import (
    Address,
    check_key_name,
    check_price,
    cost,
    parse_address,
)
from narrator.engines.server.wire import (
    ServerAnswer,
    Setback,
    SettingNames,
    Wire,
    describe_text_answer,
    key_from,
)
from narrator.errors import EngineUnavailable, UsageError

OPTION_NAMES = SettingNames(
    url="`--url`",
    key="`--key`",
    model="`--model`",
    api="`--url`",
    target="`--url` and `--model`",
    parts="address or model",
)
"""The settings on the command line."""
TIMEOUT_S = 300.0
"""Seconds for a reply; a server may load its model first."""
MAX_REPLY_TOKENS = 4096
"""Tokens of a reply, of which a model that thinks first may need most."""
ATTEMPTS = 2
"""Times that a question without a valid answer is asked."""
CHOICE_PROBABILITY = 0.9
"""Probability of a chosen option, since a reply states none: large language models attribute about
nine in ten quotations correctly (published). It was not measured here."""
MIN_CONTEXT_TOKENS = 8192
"""Context that every server is assumed to have, in tokens."""
BYTES_PER_TOKEN = 4.0
"""UTF-8 bytes of a text for each token, roughly, in any language."""

_REPLY_FORM = """
Reply with one line for each question and nothing else: its number and one code, such as Q1=A."""
_THINKING_START, _THINKING_END = "<think>", "</think>"
"""Marks around what a model thinks before it answers; servers may drop the first."""
_ANSWER = re.compile(r"Q([1-9]\d{0,3}) ?= ?(\w+)", re.ASCII)
_FORM_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "max_completion_tokens": {"max_tokens": None, "max_completion_tokens": MAX_REPLY_TOKENS},
    "temperature": {"temperature": None},
}
"""Word in a refusal -> changes of the request that the server asks for; None removes a field.
OpenAI's thinking models take neither `max_tokens` nor `temperature`."""


class ChatModel:
    """A model of a chat server, with counts of tokens read and of questions left unanswered."""

    max_prompt_tokens = MIN_CONTEXT_TOKENS
    """Maximum number of tokens of a prompt."""

    def __init__(self, wire: Wire, path: str, model: str, patience: Patience) -> None:
        self.wire = wire
        self.name = re.sub(r"[^!-{}~\w]+", "-", model.rstrip("/").rpartition("/")[2]) or "model"
        """Its name for people and speaker files, without spaces."""
        self.identity = f"chat {wire.address.place} {model} {_REPLY_FORM}"
        """Server, model and form of its replies."""
        self.tokens_read = 0
        """Tokens read so far, as the server counts them, or roughly."""
        self.unanswered_count = 0
        """Questions without a valid answer so far."""
        self._path, self._patience = path, patience
        self._form: dict[str, Any] = {
            "model": model,
            "stream": False,
            "temperature": 0,
            "max_tokens": MAX_REPLY_TOKENS,
        }
        self._has_replied = False
        self._useless_request_count = 0
        """Requests in a row without a valid answer."""
        self._last_reply = ""

    def count_tokens(self, text: str) -> int:
        """Estimates the number of tokens of a text."""
        return round(len(text.encode(errors="surrogatepass")) / BYTES_PER_TOKEN) + 1

    def message(self, shared: str, questions: Sequence[str]) -> str:
        """Returns the message that asks questions about a shared text."""
        numbered = [f"Q{number}: {question}" for number, question in enumerate(questions, 1)]
        return "\n\n".join((shared.rstrip(), *numbered, _REPLY_FORM.strip()))

    def option_probabilities(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        """Returns the probabilities of the options for each question; none for a question that was
        asked ATTEMPTS times without a valid answer.

        Raises EngineUnavailable when the server is gone, refuses, or answers nothing for long.
        """
        choices: dict[int, str] = {}
        for _ in range(ATTEMPTS):
            remaining = [index for index in range(len(questions)) if index not in choices]
            if not remaining:
                break
            message = self.message(shared, [questions[index] for index in remaining])
            codes = parse_reply(self._ask(message), options)
            choices |= {
                remaining[number - 1]: code
                for number, code in codes.items()
                if number <= len(remaining)
            }
        self._check_usefulness(is_useful=bool(choices))
        self.unanswered_count += len(questions) - len(choices)
        other_probability = (1 - CHOICE_PROBABILITY) / max(1, len(options) - 1)
        return [
            [CHOICE_PROBABILITY if option == choice else other_probability for option in options]
            if (choice := choices.get(index))
            else []
            for index in range(len(questions))
        ]

    def _check_usefulness(self, *, is_useful: bool) -> None:
        """Counts requests without a valid answer. Raises EngineUnavailable if all recent ones."""
        self._useless_request_count = 0 if is_useful else self._useless_request_count + 1
        if self._useless_request_count >= self._patience.max_failed_chunks:
            raise EngineUnavailable(
                f"{self.name}: no valid answer to {self._useless_request_count} requests in a row; "
                f"the last reply was '{self._last_reply}'. Look at {self.wire.names.target}"
            )

    def _ask(self, message: str) -> str:
        """Returns the reply to a message; "" for an answer that is not a reply.

        Raises EngineUnavailable.
        """
        try:
            answer = self._send([{"role": "user", "content": message}])
        except Setback as setback:
            self._last_reply = setback.message
            return ""
        self._has_replied = True
        reply, token_count = _decode_answer(answer.body)
        self.tokens_read += self.count_tokens(message) if token_count is None else token_count
        description = describe_text_answer(answer) if reply is None else reply
        self._last_reply = self.wire.clean(description) or "empty"
        return reply or ""

    def _send(self, messages: Sequence[Mapping[str, str]]) -> ServerAnswer:
        """Sends messages until there is an answer.

        Raises Setback for messages that the server refuses, EngineUnavailable if it is gone or
        refuses everything.
        """
        attempts, began_at = AttemptCounter(self._patience), time.monotonic()
        while True:
            body = {**self._form, "messages": messages}
            try:
                return self.wire.call("POST", self._path, timeout=TIMEOUT_S).send(body)
            except Setback as setback:
                if setback.category == "bad":
                    if not self._change_form(setback):
                        raise
                    continue
                attempts.record(setback)
                was_never_there = setback.category == "gone" and not (
                    setback.status or self._has_replied
                )
                pause = self._patience.pause(attempts.count, setback)
                outage_s = time.monotonic() - began_at + pause
                if (
                    setback.category == "closed"
                    or was_never_there
                    or attempts.is_exhausted
                    or outage_s > self._patience.max_outage_s
                ):
                    advice = ". All answers are kept: the same command goes on"
                    raise EngineUnavailable(
                        f"language model: {self.wire.explain(setback)}"
                        f"{advice if self._has_replied else ''}"
                    ) from setback
                time.sleep(pause)

    def _change_form(self, setback: Setback) -> bool:
        """Changes the form of requests as a refusal asks for; returns False if it does not."""
        for word, changes in _FORM_CHANGES.items():
            if setback.status == 400 and word in setback.message:
                form = {**self._form, **changes}
                form = {name: field for name, field in form.items() if field is not None}
                if form != self._form:
                    self._form = form
                    return True
        return False


def connect(
    url: str, model: str, *, key_name: str | None = None, patience: Patience = DEFAULT_PATIENCE
) -> ChatModel:
    """Returns the model of a chat server, without using the network.

    Raises UsageError for an invalid URL or name, EngineUnavailable without the key.
    """
    try:
        address = parse_address(url, key_setting="`--key`")
    except ValueError as error:
        raise UsageError(f"--url: {error}") from error
    if not (address.secure or address.is_here):
        raise UsageError(
            "--url: a book and a key go over http only to this machine, since others on the way "
            "can read them: use https"
        )
    try:
        key = None if key_name is None else key_from(check_key_name(key_name), "--key")
    except ValueError as error:
        raise UsageError(f"--key: {error}") from error
    if not model.strip() or model == "auto":
        raise UsageError("--model: name the model as the server at `--url` does")
    wire = Wire(address, key, names=OPTION_NAMES)
    return ChatModel(wire, _chat_path(url, address), model, patience)


def _chat_path(url: str, address: Address) -> str:
    """Returns the path of the chat API after an address, which has no /v1 at its end: a URL without
    a path means /v1, and some vendors have another path than that."""
    has_version = not address.path or url.rstrip("/").endswith("/v1")
    return "/v1/chat/completions" if has_version else "/chat/completions"


def describe_price(price: str, token_count: int) -> str:
    """Describes the price of so many tokens. Raises UsageError for an invalid price."""
    try:
        return f"{cost(check_price(price), token_count)} tokens"
    except ValueError as error:
        raise UsageError(f"--price: {error}") from error


def parse_reply(reply: str, options: Sequence[str]) -> dict[int, str]:
    """Returns the valid answers in a reply: the numbers of questions with the codes of options.

    Lines of any other form are dropped, and so are a question with two different codes and all that
    a model thought before.
    """
    codes_by_number: dict[int, set[str]] = {}
    answer = reply.rpartition(_THINKING_END)[2]
    if answer.lstrip().startswith(_THINKING_START):  # cut off while it was thinking
        return {}
    for line in answer.splitlines():
        if match := _ANSWER.fullmatch(line.strip()):
            codes_by_number.setdefault(int(match[1]), set()).add(match[2])
    return {
        number: code
        for number, codes in codes_by_number.items()
        if len(codes) == 1 and (code := min(codes)) in set(options)
    }


def _decode_answer(body: bytes) -> tuple[str | None, int | None]:
    """Returns the reply in an answer, and the tokens that the server read; None for what it does
    not state."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    reply, token_count = None, None
    match answer:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            reply = content
    match answer:
        case {"usage": {"prompt_tokens": int(count)}} if 0 <= count < 10**7:
            token_count = count
    return reply, token_count
