"""Servers for tests, on loopback: one of each dialect of speech and one of OpenAI's chat API, and
what goes wrong with them.

Their forms are rebuilt from the servers' own sources (nano-vllm-voxcpm 0ef61b0,
`deployment/app/schemas/http.py` and `api/routes/generate.py`; vLLM-Omni 0.30,
`entrypoints/openai/protocol/audio.py`; OpenAI's reference): what the real one drops in silence is
dropped here too, and noted, so that a test can hold that nothing was. They speak sounds that follow
from all that they are given.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy as np
import soundfile
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from narrator import keys
from narrator.text.pace import expected_seconds

Samples = NDArray[np.float32]


class OpenAISpeech(BaseModel):
    """OpenAI's. It refuses what it does not know; others of this dialect drop it."""

    model: str
    input: str = Field(max_length=4096)
    voice: str
    instructions: str | None = None
    response_format: Literal["mp3", "opus", "aac", "flac", "wav", "pcm"] = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0)
    stream_format: Literal["sse", "audio"] = "audio"


class OmniSpeech(BaseModel):
    """vLLM-Omni's."""

    input: str
    model: str | None = None
    voice: str | None = None
    instructions: str | None = None
    response_format: Literal["wav", "pcm", "flac", "mp3", "aac", "opus"] = "wav"
    speed: float | None = Field(1.0, ge=0.25, le=4.0)
    stream_format: Literal["sse", "audio"] | None = None
    stream: bool = False
    task_type: Literal["CustomVoice", "VoiceDesign", "Base"] | None = None
    language: str | None = None
    ref_audio: str | list[str] | None = None
    ref_text: str | None = None
    x_vector_only_mode: bool | None = None
    max_new_tokens: int | None = None
    seed: int | None = Field(None, ge=0, le=2**63 - 1)
    extra_params: dict[str, Any] | None = None


class NanoSpeech(BaseModel):
    """nano-vllm-voxcpm's."""

    target_text: str
    prompt_wav_base64: str | None = None
    prompt_wav_format: str | None = None
    prompt_latents_base64: str | None = None
    prompt_text: str | None = None
    ref_audio_wav_base64: str | None = None
    ref_audio_wav_format: str | None = None
    ref_audio_latents_base64: str | None = None
    lora_name: str | None = None
    max_generate_length: int = Field(2000, ge=1)
    temperature: float = Field(1.0, ge=0.0)
    cfg_value: float = Field(1.5, ge=0.0)
    seed: int | None = None
    response_format: Literal["mp3", "pcm"] = "mp3"


class ChatMessage(BaseModel):
    """Of OpenAI's chat API."""

    role: Literal["system", "user", "assistant"]
    content: str


class ChatCompletion(BaseModel):
    """OpenAI's chat API, by which language models reply."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    temperature: float = Field(1.0, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)


FORMS: Mapping[str, tuple[str, type[BaseModel]]] = {
    "chat": ("/v1/chat/completions", ChatCompletion),
    "openai": ("/v1/audio/speech", OpenAISpeech),
    "vllm-omni": ("/v1/audio/speech", OmniSpeech),
    "nano-vllm-voxcpm": ("/generate", NanoSpeech),
}
RATES = {"openai": 24_000, "vllm-omni": 24_000, "nano-vllm-voxcpm": 48_000}


def speech(text: str, rate: int, given: str = "") -> Samples:
    """What a stand-in says: 16 bits, of the length that the text takes."""
    draw = np.random.default_rng(keys.number(f"{text} {given}"))
    seconds = max(0.3, expected_seconds(text, "en"))
    voice = np.pad(draw.normal(0, 0.05, round(seconds * rate)), rate // 10)
    return (np.round(voice * 32767).astype("<i2") / np.float32(32768)).astype(np.float32)


def encoded(samples: Samples, rate: int, kind: str) -> bytes:
    if kind == "pcm":
        return (samples * 32768).astype("<i2").tobytes()
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind.upper(), subtype="PCM_16")
    return file.getvalue()


@dataclass
class Answering:
    """A request that a stand-in is about to answer as it should."""

    handler: Handler
    number: int
    """Of its requests for speech, from 0."""
    body: Mapping[str, Any]
    sound: bytes
    headers: Mapping[str, str]


Fault = Callable[[Answering], None]


@dataclass
class StandIn:
    """One server, while it runs."""

    dialect: str
    fault: Callable[[int, Mapping[str, Any]], Fault | None] = lambda number, body: None
    ready: Callable[[], bool] = lambda: True
    says: Callable[[], Mapping[str, Any]] = dict
    """What is different in what it says of itself."""
    reply: Callable[[str], object] = lambda prompt: ""
    """A language model's reply to a prompt."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    bodies: list[Mapping[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Fields that its form does not have."""
    whole: list[str] = field(default_factory=list)
    """Texts that it answered whole and well."""
    now: int = 0
    most: int = 0
    """Requests side by side."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set when it stops: what hangs goes on."""
    url: str = ""

    @property
    def rate(self) -> int:
        return RATES[self.dialect]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    standin: StandIn

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        one = self.standin
        one.paths.append(self.path)
        if not one.ready():
            self.tell(503, {"detail": "not ready"})
        elif self.path == "/ready" and one.dialect == "nano-vllm-voxcpm":
            self.tell(200, {"status": "ok"})
        elif self.path == "/info" and one.dialect == "nano-vllm-voxcpm":
            model = {"sample_rate": one.rate, "channels": 1, "feat_dim": 64, "patch_size": 4,
                     "model_path": "/models/VoxCPM2", **one.says()}  # fmt: skip
            self.tell(200, {"model": model, "lora": {"enabled": False}, "mp3": {}})
        elif self.path == "/v1/models" and one.dialect != "nano-vllm-voxcpm":
            rows = [{"id": "tts-1", "object": "model", "created": int(time.time())}]
            self.tell(200, {"object": "list", "data": rows})
        elif self.path == "/version" and one.dialect == "vllm-omni":
            self.tell(200, {"version": "0.30.0", **one.says()})
        else:
            self.tell(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        one = self.standin
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with one.lock:
            number = len(one.bodies)
            body = json.loads(raw)
            one.bodies.append(body)
            one.headers.append(dict(self.headers))
            one.paths.append(self.path)
            one.now += 1
            one.most = max(one.most, one.now)
        try:
            self.answer(number, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with one.lock:
                one.now -= 1

    def answer(self, number: int, body: Mapping[str, Any]) -> None:
        one = self.standin
        path, form = FORMS[one.dialect]
        if self.path != path:
            self.tell(404, {"detail": "Not Found"})
            return
        try:
            read = form.model_validate(body)
        except ValidationError as error:
            self.tell(422, {"detail": json.loads(error.json(include_url=False))})
            return
        one.dropped += sorted(set(body) - set(form.model_fields))
        if wrong := unfit(read):
            self.tell(400, {"detail": wrong})
            return
        if isinstance(read, ChatCompletion):
            prompt = read.messages[-1].content
            completion = {
                "object": "chat.completion",
                "choices": [{"message": {"role": "assistant", "content": one.reply(prompt)}}],
                "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 9},
            }
            headers = {"Content-Type": "application/json"}
            data = json.dumps(completion).encode()
            fault = one.fault(number, body) or (lambda one: self.give(200, headers, one.sound))
            fault(Answering(self, number, body, data, headers))
            return
        text, kind = text_of(body), str(getattr(read, "response_format", "wav"))
        sound = encoded(speech(text, one.rate, conditioned(body)), one.rate, kind)
        media = {"wav": "audio/wav", "flac": "audio/flac", "pcm": "audio/pcm"}[kind]
        headers = {"Content-Type": media}
        if one.dialect == "nano-vllm-voxcpm":
            headers = {
                "Content-Type": f"audio/L16;rate={one.rate};channels=1",
                "X-Audio-Sample-Rate": str(one.rate),
                "X-Audio-Channels": "1",
                "X-Audio-Encoding": "s16le",
            }
        answering = Answering(self, number, body, sound, headers)
        if fault := one.fault(number, body):
            fault(answering)
            return
        with one.lock:
            one.whole.append(text)
        if one.dialect == "nano-vllm-voxcpm":
            self.stream(headers, sound)
        else:
            self.give(200, headers, sound)

    def tell(self, status: int, said: Mapping[str, Any], more: Mapping[str, str] = {}) -> None:
        data = json.dumps(said).encode()
        self.give(status, {"Content-Type": "application/json", **more}, data)

    def give(
        self, status: int, headers: Mapping[str, str], data: bytes, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, headers: Mapping[str, str], data: bytes, broken: bool = False) -> None:
        """In chunks; a broken one ends within the body."""
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        stop = len(data) // 2 if broken else len(data)
        for at in range(0, stop, 15360):
            part = data[at : min(stop, at + 15360)]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if broken:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


def text_of(body: Mapping[str, Any]) -> str:
    return str(body.get("input", body.get("target_text")))


def conditioned(body: Mapping[str, Any]) -> str:
    """All but the text that decides how it is said."""
    names = ("voice", "instructions", "seed", "cfg_value", "ref_audio", "ref_text", "prompt_text",
             "prompt_wav_base64", "ref_audio_wav_base64")  # fmt: skip
    return keys.key({name: body[name] for name in names if name in body})


def unfit(read: BaseModel) -> str:
    """What the real one refuses beyond its form."""
    if isinstance(read, OmniSpeech):
        if read.ref_text is not None and read.task_type != "Base":
            return "'ref_text' is only valid for Base task"
        if isinstance(read.ref_audio, str):
            head, _, data = read.ref_audio.partition(",")
            if head != "data:audio/wav;base64" or not wav(data):
                return "ref_audio must be a URL or a base64 data URL"
    if isinstance(read, NanoSpeech):
        has_wav = read.prompt_wav_base64 is not None or read.prompt_wav_format is not None
        if has_wav and not (read.prompt_wav_base64 and read.prompt_wav_format and read.prompt_text):
            return "wav prompt requires prompt_wav_base64 + prompt_wav_format, prompt_text"
        if not has_wav and read.prompt_text not in (None, ""):
            return "prompt_text is not allowed for zero-shot"
        if (read.ref_audio_wav_base64 is None) != (read.ref_audio_wav_format is None):
            return "reference wav requires ref_audio_wav_base64 + ref_audio_wav_format"
        for data in (read.prompt_wav_base64, read.ref_audio_wav_base64):
            if data is not None and not wav(data):
                return "Invalid audio"
    return ""


def wav(data: str) -> bool:
    samples, _ = soundfile.read(io.BytesIO(base64.b64decode(data)))
    return len(samples) > 0


@contextlib.contextmanager
def serving(standin: StandIn, port: int = 0) -> Iterator[StandIn]:
    """It listens on loopback, and has ended after the block; nothing that was asked was dropped."""
    handler = type("Handling", (Handler,), {"standin": standin})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    standin.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield standin
    finally:
        standin.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert standin.dropped == []


# -- what goes wrong -------------------------------------------------------------------------------


def status(code: int, said: Mapping[str, Any] | None = None, **more: str) -> Fault:
    """Refused: `more` are headers, with underscores for hyphens."""
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    body = said or {"error": {"message": f"no ({code})", "type": "x", "param": None, "code": None}}
    return lambda one: one.handler.tell(code, body, headers)


def body(data: bytes, kind: str = "audio/wav") -> Fault:
    return lambda one: one.handler.give(200, {**one.headers, "Content-Type": kind}, data)


def half(one: Answering) -> None:
    """A Content-Length that is not kept, by whole samples."""
    one.handler.give(200, one.headers, one.sound[: len(one.sound) // 4 * 2], len(one.sound))
    one.handler.close_connection = True


def half_chunked(one: Answering) -> None:
    one.handler.stream(one.headers, one.sound, broken=True)


def half_wav(one: Answering) -> None:
    """HTTP is content, and the header of the WAV promises more."""
    one.handler.give(200, one.headers, one.sound[: len(one.sound) // 2 & ~1])


def hang_up(one: Answering) -> None:
    one.handler.close_connection = True


def hang(one: Answering) -> None:
    one.handler.standin.released.wait(30)
    one.handler.close_connection = True


def trickle(one: Answering) -> None:
    """Never silent, never done."""
    one.handler.send_response(200)
    one.handler.send_header("Content-Length", "1000000")
    one.handler.end_headers()
    while not one.handler.standin.released.wait(0.05):
        one.handler.wfile.write(b"x")
    one.handler.close_connection = True


def trickle_without_length(one: Answering) -> None:
    """As `trickle`, of a length that nobody knows."""
    one.handler.send_response(200)
    one.handler.end_headers()
    while not one.handler.standin.released.wait(0.05):
        one.handler.wfile.write(b"x")
    one.handler.close_connection = True


def huge(one: Answering) -> None:
    """Without an end, and without saying so."""
    one.handler.send_response(200)
    one.handler.send_header("Content-Type", "audio/wav")
    one.handler.send_header("Transfer-Encoding", "chunked")
    one.handler.end_headers()
    block = bytes(1 << 20)
    while not one.handler.standin.released.is_set():
        one.handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))


def silence(one: Answering) -> None:
    standin = one.handler.standin
    kind = {"nano-vllm-voxcpm": "pcm"}.get(standin.dialect, "wav")
    still = np.zeros(standin.rate, np.float32)
    one.handler.give(200, one.headers, encoded(still, standin.rate, kind))


def unsized(one: Answering) -> None:
    """As servers stream WAV: a header from before the length was known."""
    sound = one.sound[:40] + struct.pack("<I", 0xFFFFFFFF) + one.sound[44:]
    one.handler.stream(one.headers, sound)


def unsized_flac(one: Answering) -> None:
    """FLAC as it is streamed: its header was sent before its length was known."""
    sound = bytearray(one.sound)
    sound[21] &= 0xF0
    sound[22:26] = bytes(4)
    one.handler.give(200, one.headers, bytes(sound))


def loud(one: Answering) -> None:
    """Samples of 16 bits as floats that were not scaled."""
    samples = speech(text_of(one.body), 24_000) * np.float32(32768)
    file = io.BytesIO()
    soundfile.write(file, samples, 24_000, format="WAV", subtype="FLOAT")
    one.handler.give(200, one.headers, file.getvalue())


def other_rate(rate: int) -> Fault:
    def fault(one: Answering) -> None:
        samples = speech(text_of(one.body), rate)
        one.handler.give(200, one.headers, encoded(samples, rate, "wav"))

    return fault


HTML = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"
MP3 = b"\xff\xfb\x90\x64" + bytes(4000)
