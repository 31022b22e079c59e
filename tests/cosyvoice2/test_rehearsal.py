"""A pass without weights."""

from __future__ import annotations

from cosyvoice2.config import read_config
from cosyvoice2.rehearsal import rehearse


def test_a_pass_can_be_tried_without_weights(golden):
    assert rehearse(read_config(golden.checkpoint)) > 0
