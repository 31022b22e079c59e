"""OpenAI's own Python client speaks with the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.effort import quick
from tests.serving import SAID, Served, heard

if TYPE_CHECKING:
    import openai


@pytest.fixture(scope="module")
def client(shared: Served) -> Iterator[openai.OpenAI]:
    # not with the module: a worker that runs other tests need not load it
    pytest.importorskip("openai", reason="OpenAI's client is not installed")
    import openai

    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{shared.place.port}/v1", api_key="none", max_retries=0
    ) as found:
        yield found


def test_it_takes_a_whole_answer(client: openai.OpenAI) -> None:
    answer = client.audio.speech.create(model="tts-1", voice="alloy", input=SAID)
    assert heard(answer.content, "mp3")[1] > 1


@pytest.mark.parametrize("format", quick(["wav", "flac", "mp3", "opus"], "wav", "opus"))
def test_it_takes_an_answer_as_it_comes(client: openai.OpenAI, tmp_path: Path, format: str) -> None:
    with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts", voice="coral", input=f"{SAID} " * 6, response_format=format,
        instructions="Softly.", speed=1.25,
    ) as answer:  # fmt: skip
        answer.stream_to_file(tmp_path / "speech")
    assert heard((tmp_path / "speech").read_bytes(), format)[1] > 5


def test_it_lists_the_models(client: openai.OpenAI) -> None:
    assert "tts-1" in [model.id for model in client.models.list()]


def test_it_raises_what_its_documentation_says(client: openai.OpenAI) -> None:
    import openai

    speak = client.audio.speech.create
    with pytest.raises(openai.NotFoundError) as unknown:
        speak(model="whisper-1", voice="alloy", input=SAID)
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError, match="speed"):
        speak(model="tts-1", voice="alloy", input=SAID, speed=9)
    with pytest.raises(openai.NotFoundError) as nobody:
        speak(model="tts-1", voice="x" * 150, input=SAID)
    assert nobody.value.code == "voice_not_found"
