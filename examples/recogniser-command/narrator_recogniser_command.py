"""A recogniser that runs a program of your own, such as whisper.cpp:

HEARING_COMMAND="whisper-cli --model ggml-small.bin --no-timestamps --no-prints" narrator hear
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import soundfile

from narrator.errors import EngineUnavailable
from narrator.speech.hearing import RecogniserSpec, SpokenSound, Transcript


class CommandRecogniser:
    """Runs a command with the path of a WAV file; its output is the transcript."""

    title = "your command"
    languages = frozenset(["de", "en", "es", "fr", "it"])
    batch = 1

    def __init__(self, command: str) -> None:
        self._command = shlex.split(command)
        self.identity = f"command 1 {command}"

    def hear(self, sounds: Sequence[SpokenSound]) -> Sequence[Transcript]:
        return [Transcript(self._text(sound)) for sound in sounds]

    def _text(self, sound: SpokenSound) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "take.wav"
            soundfile.write(path, sound.samples, sound.rate)
            try:
                process = subprocess.run(
                    [*self._command, path], capture_output=True, text=True, check=True
                )
            except (OSError, subprocess.CalledProcessError) as error:
                raise EngineUnavailable(f"HEARING_COMMAND: {error}") from error
        return process.stdout.strip()


def make() -> CommandRecogniser:
    """Makes the recogniser when takes are about to be heard."""
    command = os.environ.get("HEARING_COMMAND")
    if not command:
        raise EngineUnavailable("set HEARING_COMMAND to a program that prints what a WAV file says")
    return CommandRecogniser(command)


SPEC = RecogniserSpec("command", make)
