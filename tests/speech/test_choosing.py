"""The recogniser that a manifest names."""

from __future__ import annotations

import pytest

from narrator.errors import UsageError
from narrator.project.schema import Checks
from narrator.speech.hearing import choosing


@pytest.mark.parametrize(
    "name", ["qwen3-0.6b", "qwen3-aligner", "Qwen/Qwen3-ASR-1.7B", "Qwen/Qwen3-ForcedAligner-0.6B"]
)
def test_a_recogniser_of_earlier_versions_names_its_replacement(name):
    with pytest.raises(UsageError, match=r"no longer runs .*: `recogniser: auto` takes Whisper"):
        choosing.make_listener(Checks(recogniser=name))
    assert choosing.make_render_listener(Checks(recogniser=name)) is None  # nothing is heard
