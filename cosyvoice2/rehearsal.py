"""Runs a pass of every network at a checkpoint's sizes, without its weights."""

from __future__ import annotations

import time
from dataclasses import replace

import mlx.core as mx
import numpy as np

from cosyvoice2.config import MELS, Config
from cosyvoice2.flow import FlowRow
from cosyvoice2.load import build_networks
from cosyvoice2.vocoder import MelRow, vocode


def rehearse(config: Config) -> float:
    """Builds and runs networks of these sizes, with one layer of each kind; returns the seconds.

    Raises RuntimeError for whatever would stop the real networks on this machine.
    """
    start = time.perf_counter()
    small = replace(
        config,
        lm=replace(config.lm, num_layers=1, vocab_size=128),
        flow=replace(
            config.flow,
            encoder=replace(config.flow.encoder, layers=1),
            estimator=replace(config.flow.estimator, blocks=1, mid_blocks=1),
        ),
    )
    lm, flow, vocoder = build_networks(small)
    mx.eval(lm.logits([1, 2], [0], [0]))
    tokens, no_tokens = np.zeros(4, np.int32), np.zeros(0, np.int32)
    speaker = np.ones(config.flow.speaker_dim, np.float32)
    row = FlowRow(tokens, no_tokens, np.zeros((0, MELS), np.float32), speaker)
    [mel] = flow.mel([row], steps=1)
    vocode(vocoder, [MelRow(np.array(mel))])
    return time.perf_counter() - start
