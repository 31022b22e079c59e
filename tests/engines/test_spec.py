"""Settings of an engine as a command line has them."""

from __future__ import annotations

import pytest

from narrator.engines.registry import ENGINES
from narrator.errors import UsageError


def test_settings_are_typed_by_their_engine():
    typed = ENGINES["voxcpm2"].parse_overrides
    assert typed(["cfg=2.5", "steps=20"]) == {"cfg": 2.5, "steps": 20}
    assert typed([]) == {}


@pytest.mark.parametrize(
    ("engine", "written", "said"),
    [
        ("voxcpm2", "cgf=2.5", "did you mean 'cfg=…'?"),
        ("voxcpm2", "cfg", "'cfg' sets nothing of the engine voxcpm2; it has steps, cfg, seed"),
        ("voxcpm2", "steps=many", "steps=many: "),
        ("voxcpm2", "steps=0", "steps=0: input should be greater than or equal to 1"),
        ("voxcpm2", "cfg=nan", "cfg=nan: "),
        ("draft", "pitch=3", "it has none to set"),
    ],
)
def test_what_cannot_be_set_is_named_with_the_mend(engine, written, said):
    with pytest.raises(UsageError) as caught:
        ENGINES[engine].parse_overrides([written])
    assert said in str(caught.value)
