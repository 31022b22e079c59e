"""What travels to a cluster's machines and home again."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray

from narrator import keys
from narrator.engines import Prompt, RemainingWork, Request, Speech, State
from narrator.engines.cluster import codec
from narrator.engines.cosyvoice2.settings import CosyVoice2Voice
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.engines.voice import Reference, Voice
from narrator.sound.timing import TimedWord
from tests.clusters import RATE, reference, request

DRAFT = ENGINES["draft"]
SETTINGS = {"name": "draft"}
STATE = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
TEXTS = st.text(st.characters(exclude_categories=()))  # lone surrogates, too
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def prompt(state: State | None = STATE, text: str = "Before that.") -> Prompt:
    def unread() -> NDArray[np.float32]:
        raise AssertionError("what is sent is its state")

    return Prompt(text, unread, state)


def arrived(
    parcel: bytes,
    kind: EngineSpec = DRAFT,
    held: Reference | None = None,
    made: Mapping[str, State] | None = None,
) -> Request | None:
    facts, arrays = codec.unpack_parcel(parcel)
    return codec.decode_request(facts, arrays, kind, held, (made or {}).get)


def mark(parcel: bytes) -> str:
    return str(codec.unpack_parcel(parcel)[0]["mark"])


def home(speech: Speech) -> Speech:
    """By the bytes that travel."""
    facts, arrays = codec.unpack_parcel(codec.pack_parcel(*codec.encode_speech(speech, RATE)))
    return codec.decode_speech(facts, arrays)


# -- bytes -----------------------------------------------------------------------------------------


@given(
    st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS),
    st.dictionaries(
        st.from_regex(r"[a-e][0-9]", fullmatch=True),
        arrays_of.arrays(np.float32, arrays_of.array_shapes(min_dims=0, min_side=0)),
        max_size=3,
    ),
)
def test_what_is_packed_comes_out_as_it_was(facts, arrays):
    parcel = codec.pack_parcel(facts, arrays)
    assert parcel == codec.pack_parcel(dict(facts), dict(arrays))
    said, found = codec.unpack_parcel(parcel)
    assert said == facts
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@given(st.data())
def test_a_byte_that_is_altered_anywhere_is_damage(data):
    parcel = bytearray(codec.pack_parcel({"text": "The ferry."}, {"state": STATE}))
    place = data.draw(st.integers(0, len(parcel) - 1))
    parcel[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(codec.DamagedParcel, match="altered"):
        codec.unpack_parcel(bytes(parcel))


@given(st.integers(0, 2000))
def test_a_parcel_that_is_cut_off_is_damage(length):
    parcel = codec.pack_parcel({"text": "The ferry."}, {"state": STATE})
    with pytest.raises(codec.DamagedParcel):
        codec.unpack_parcel(parcel[: min(length, len(parcel) - 1)])


def test_bytes_that_are_no_archive_are_damage():
    body = b"not an archive"
    with pytest.raises(codec.DamagedParcel, match="cannot be read"):
        codec.unpack_parcel(keys.content_of(body).encode() + body)


class Trap:
    """Says so where it is unpickled."""

    opened = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Trap, "opened", True)


def test_what_is_pickled_is_not_sent():
    with pytest.raises(ValueError, match="allow_pickle"):
        codec.pack_parcel({}, {"state": np.array([Trap()], object)})


@pytest.mark.parametrize("archive", [True, False])
def test_what_is_pickled_is_not_opened(archive):
    file = io.BytesIO()
    if archive:
        np.savez(file, facts=np.frombuffer(b"{}", np.uint8), state=np.array([Trap()], object))
    else:
        pickle.dump(Trap(), file)
    body = file.getvalue()
    with pytest.raises(codec.DamagedParcel):
        codec.unpack_parcel(keys.content_of(body).encode() + body)
    assert not Trap.opened


# -- requests --------------------------------------------------------------------------------------


@given(
    text=TEXTS, style=st.none() | TEXTS, seed=st.integers(0, 2**64 - 1), attempt=st.integers(0, 9),
    expected=NUMBERS, parameters=st.dictionaries(TEXTS, NUMBERS | st.integers() | TEXTS),
    description=st.none() | TEXTS,
)  # fmt: skip
def test_a_request_arrives_as_it_was_asked(
    text, style, seed, attempt, expected, parameters, description
):
    asked = request(
        text=text, style=style, seed=seed, attempt=attempt, expected=expected,
        parameters=parameters, voice=Voice("ann", description=description, language="de"),
    )  # fmt: skip
    parcel = codec.encode_request(asked, SETTINGS)
    assert parcel == codec.encode_request(asked, SETTINGS)
    assert arrived(parcel) == asked


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("draft", DraftVoice(variant="f2", pitch=40)),
        ("cosyvoice2", CosyVoice2Voice(speaker="中文女")),
    ],
)
def test_what_an_author_set_for_an_engines_voices_arrives(name, own):
    asked = request(voice=Voice("ann", own={name: own}))
    found = arrived(codec.encode_request(asked, {"name": name}), ENGINES[name])
    assert found is not None
    assert found.voice.own == {name: own}


def test_what_an_author_set_for_another_engine_stays_behind():
    asked = request(voice=Voice("ann", own={"cosyvoice2": CosyVoice2Voice(speaker="x")}))
    found = arrived(codec.encode_request(asked, SETTINGS))
    assert found is not None
    assert not found.voice.own


def test_what_is_ahead_of_a_request_does_not_travel():

    asked = request(ahead=RemainingWork(12.0, 800.0))
    assert codec.encode_request(asked, SETTINGS) == codec.encode_request(request(), SETTINGS)


@pytest.mark.parametrize(
    "other",
    [
        request("2"),
        request(text="The ferry left at eight."),
        request(attempt=1),
        request(seed=8),
        request(parameters={"cfg": 2.5, "seed": 7}),
        request(style="softly"),
        request(mode="reference", reference=reference()),
        request(prompt=prompt()),
        request(prompt=prompt(None)),
    ],
)
def test_another_request_has_another_mark(other):
    ours, theirs = (codec.encode_request(one, SETTINGS) for one in (request(), other))
    assert mark(ours) != mark(theirs)


def test_other_settings_of_an_engine_make_another_mark():
    ours = codec.encode_request(request(), {"name": "draft"})
    assert mark(ours) != mark(codec.encode_request(request(), {"name": "draft", "seed": 1}))


def test_a_request_goes_without_the_sound_of_its_reference():
    small = codec.encode_request(request(reference=reference()), SETTINGS)
    large = codec.encode_request(request(reference=reference(seconds=9)), SETTINGS)
    assert small == large


def test_a_reference_is_given_back_to_its_request():
    clip = reference()
    found = arrived(codec.encode_request(request(reference=clip), SETTINGS), held=clip)
    assert found is not None
    assert found.reference is clip


# -- prompts ---------------------------------------------------------------------------------------


def test_a_prompt_arrives_with_its_state():
    found = arrived(codec.encode_request(request(prompt=prompt()), SETTINGS))
    assert found is not None
    assert found.prompt is not None
    assert found.prompt.text == "Before that."
    assert np.array_equal(found.prompt.state, STATE)


def test_a_prompt_of_an_engine_without_states_arrives():
    found = arrived(codec.encode_request(request(prompt=prompt(None)), SETTINGS))
    assert found is not None
    assert found.prompt is not None
    assert found.prompt.state is None
    assert not len(found.prompt.samples())


def test_a_request_has_the_same_mark_however_its_prompt_is_sent():
    asked = request(prompt=prompt())
    whole, near = (codec.encode_request(asked, SETTINGS, made) for made in (None, "take"))
    assert mark(whole) == mark(near)
    assert "state" in codec.unpack_parcel(whole)[1]
    assert "state" not in codec.unpack_parcel(near)[1]


@given(st.integers(1, 4))
def test_a_prompt_that_stayed_there_is_cut_as_the_request_has_it(length):
    parcel = codec.encode_request(request(prompt=prompt(STATE[:length])), SETTINGS, "take")
    found = arrived(parcel, made={"take": STATE})
    assert found is not None
    assert found.prompt is not None
    assert np.array_equal(found.prompt.state, STATE[:length])


@pytest.mark.parametrize(
    "there", [{}, {"take": STATE[:3]}, {"take": STATE + 1}, {"take": STATE.astype(np.float64)}]
)
def test_a_prompt_that_stayed_there_is_proved_to_be_the_same(there):
    parcel = codec.encode_request(request(prompt=prompt()), SETTINGS, "take")
    assert arrived(parcel, made=there) is None


# -- references ------------------------------------------------------------------------------------


@given(
    arrays_of.arrays(np.float32, st.integers(0, 50)),
    st.dictionaries(TEXTS, arrays_of.arrays(np.float32, (2, 3)), max_size=3),
    TEXTS,
)
def test_a_reference_arrives_as_it_was(samples, latents, transcript):
    found = codec.decode_reference(
        codec.encode_reference(Reference("clip", samples, RATE, transcript, latents))
    )
    assert (found.content, found.rate, found.transcript) == ("clip", RATE, transcript)
    assert found.samples.tobytes() == samples.tobytes()
    assert list(found.latents) == list(latents)
    for name, one in latents.items():
        assert found.latents[name].tobytes() == one.tobytes()


def test_a_reference_that_came_altered_is_damage():
    parcel = codec.encode_reference(reference())
    with pytest.raises(codec.DamagedParcel):
        codec.decode_reference(parcel[:-1] + b"?")


# -- takes -----------------------------------------------------------------------------------------


@given(arrays_of.arrays(np.int16, st.integers(1, 400)))
def test_samples_of_16_bits_come_home_exactly(samples):
    exact = samples.astype(np.float32) / 32768
    assert np.array_equal(home(Speech(exact)).samples, exact)


@given(arrays_of.arrays(np.float32, st.integers(1, 400), elements=st.floats(-1, 1, width=32)))
def test_other_samples_come_home_to_24_bits(samples):
    found = home(Speech(samples)).samples
    assert found.dtype == np.float32
    assert len(found) == len(samples)
    assert np.abs(found - samples).max() <= 2.0**-23


@pytest.mark.parametrize("samples", [[], [0.1, float("nan")], [0.5, 1.5], [float("-inf")]])
def test_samples_that_no_flac_holds_come_home_as_they_are(samples):
    given = np.array(samples, np.float32)
    assert home(Speech(given)).samples.tobytes() == given.tobytes()


def test_all_that_an_engine_says_of_a_take_comes_home():
    sound = np.zeros(100, np.float32)
    words = (TimedWord(0, 3, 0.1, 0.35), TimedWord(4, 8, 0.35, 0.5))
    speaker = np.arange(3, dtype=np.float32)
    said = Speech(sound, STATE, "cap", 12, 5, 2**63, "it ran on", words, speaker)
    found = home(said)
    assert found.words == words
    assert (found.stop, found.patches, found.tokens, found.seed, found.wrong) == (
        "cap", 12, 5, 2**63, "it ran on",
    )  # fmt: skip
    assert np.array_equal(found.speaker, speaker)
    assert np.array_equal(found.state, STATE)
    assert found.state.dtype == STATE.dtype


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({}, {}),
        ({"stop": "stop", "more": 1}, {"samples": np.zeros(3, np.float32)}),
        ({}, {"flac": np.frombuffer(b"no FLAC at all", np.uint8)}),
    ],
)
def test_a_take_that_is_none_is_damage(facts, arrays):
    with pytest.raises(codec.DamagedParcel, match="a take cannot be read"):
        codec.decode_speech(facts, arrays)


# -- settings --------------------------------------------------------------------------------------


def test_settings_travel_as_far_as_they_make_an_engine():
    kind = ENGINES["voxcpm2"]
    said = {"name": "voxcpm2", "dtype": "float32", "slots": 3, "process": "same", "seed": 5}
    settings = kind.settings.model_validate(said)
    made = {"name": "voxcpm2", "dtype": "float32"}
    assert codec.settings_to_send(settings, kind, ["seed", "cfg"]) == made
    assert codec.settings_to_send(settings, DRAFT, ()) == {"name": "draft"}
