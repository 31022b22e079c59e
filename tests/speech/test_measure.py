from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from narrator.engines import Speech, voxcpm2
from narrator.errors import EngineFailure, UsageError
from narrator.speech import measure
from tests import fakes

PATCH = 0.16


def speaks(share):
    """An engine whose takes have `share(request)` of the expected length; None fails."""

    def fault(request):
        ratio = share(request)
        if ratio is None:
            return EngineFailure("no")
        patches = round(ratio * request.expected / PATCH)
        samples = np.zeros(round(patches * PATCH * fakes.RATE), np.float32)
        tokens = len(request.text.split())
        return Speech(samples, patches=patches, tokens=tokens)

    return fakes.HumEngine(fault=fault)


def rows(engine, seeds=(1, 2), **options):
    session = engine.start()
    parameters = voxcpm2.SPEC.model.unguarded
    return list(measure.measure(session, fakes.RATE, seeds, parameters=parameters, **options))


def test_the_sentences_are_of_all_lengths_and_end_on_one_mark():
    words = [len(text.split()) for text in measure.SENTENCES]
    assert len(words) == len(set(measure.SENTENCES)) == 40
    assert (min(words), max(words)) == (2, 40)
    assert words == sorted(words)
    assert all(text[-1] in ".?!" and text[-2].isalpha() for text in measure.SENTENCES)


def test_every_sentence_is_spoken_with_every_seed_and_no_guard():
    engine = speaks(lambda request: 1.0)
    progress = []
    takes = rows(engine, report_progress=lambda done, total: progress.append((done, total)))
    assert {(row.text, row.seed) for row in takes} == {
        (text, seed) for text in measure.SENTENCES for seed in (1, 2)
    }
    assert {request.parameters["earliest_stop"] for request in engine.requests} == {0.0}
    assert {request.parameters["steps"] for request in engine.requests} == {10}
    assert {request.mode for request in engine.requests} == {"zero-shot"}
    assert progress[-1] == (80, 80)


def test_figures_are_of_the_shares():
    stops = measure.summarize(rows(speaks(lambda request: 0.8 if request.seed == 1 else 1.2)))
    assert stops.takes == 80
    assert stops.share.least == pytest.approx(0.8, abs=0.1)
    assert stops.share.median == pytest.approx(1.0, abs=0.3)
    assert stops.per_second.median * PATCH == pytest.approx(stops.share.median, rel=0.02)
    assert stops.per_token.least > 0
    assert stops.share.least <= stops.share.first <= stops.share.fifth <= stops.share.median


def test_the_suggestion_lies_below_nearly_all_takes():
    stops = measure.summarize(rows(speaks(lambda request: 0.6)))
    assert stops.suggestion in (0.45, 0.5)
    assert stops.suggestion < stops.share.first


def test_the_suggestion_is_one_that_a_manifest_takes():
    assert measure.summarize(rows(speaks(lambda request: 3.0))).suggestion == 0.9


def test_takes_that_were_cut_off_or_failed_are_counted_apart():
    short = measure.SENTENCES[0]
    takes = rows(speaks(lambda request: None if request.text == short else 1.0))
    takes = [replace(row, stop="cap", seconds=99.0) if row.text == "Not yet." else row
             for row in takes]  # fmt: skip
    stops = measure.summarize(takes)
    assert (stops.takes, stops.capped, stops.failed) == (80, 2, 2)
    assert stops.share.median < 2


def test_an_engine_that_counts_no_tokens_has_no_figure_of_them():
    takes = [replace(row, tokens=0) for row in rows(speaks(lambda request: 1.0))]
    assert measure.summarize(takes).per_token is None


def test_nothing_that_ended_by_itself_is_nothing_to_measure():
    with pytest.raises(UsageError, match="nothing to measure"):
        measure.summarize(rows(speaks(lambda request: None)))
