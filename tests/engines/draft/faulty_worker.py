"""The draft voice's worker with a library that goes wrong where the text asks for it."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# Without its package, as the worker runs.
sys.path.insert(0, str(Path(__file__).parents[3] / "narrator" / "engines" / "draft"))
worker = import_module("worker")

worker.MAX_SECONDS = 2
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class FaultyEspeak(worker.Espeak):
    def speak(self, request: dict[str, Any], sound: mmap.mmap) -> None:
        match request["text"]:
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "hang":
                signal.pause()
            case "vanish":
                os.kill(os.getppid(), signal.SIGKILL)
            case "vanish and hang":
                os.kill(os.getppid(), signal.SIGKILL)
                signal.pause()
            case "raise":
                raise ZeroDivisionError
        super().speak(request, sound)


worker.Espeak = FaultyEspeak
worker.main(sys.argv[1])
