from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from narrator import keys
from narrator.errors import DamagedTake, StorageError
from narrator.speech import store as store_module
from narrator.speech.store import Flag, Pin, Record, Store

RATE = 8000
KEY = "ab" + "0" * 38
OTHER = "cd" + "1" * 38
DEEP = b"[" * 100_000


def record(key: str = KEY, samples: int = RATE) -> Record:
    return Record(
        key=key, content="", samples=samples, sample_rate=RATE, start=10, stop=samples - 10,
        level=-20.0, peak=-3.0, text="Naïve “text” 你好",
    )  # fmt: skip


def sound(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, RATE).astype(np.float32)


def store_take(
    root: Path, key: str = KEY, seed: int = 0, state: np.ndarray | None = None
) -> Record:
    return Store.open(root, writing=True).put(record(key), sound(seed), state)


def file_of(root: Path, key: str = KEY) -> Path:
    return root / key[:2] / f"{key}.take"


def test_what_is_put_is_found_and_read_again(tmp_path):
    stored = store_take(tmp_path)
    store = Store.open(tmp_path)
    assert store.find(KEY) == stored
    samples, rate = store.read(KEY)
    assert rate == RATE
    np.testing.assert_allclose(samples, sound(), atol=2**-22)


def test_latents_come_back_exactly(tmp_path):
    latents = np.random.default_rng(1).normal(size=(5, 4, 64)).astype(np.float32)
    store_take(tmp_path, state=latents)
    store_take(tmp_path, OTHER)
    store = Store.open(tmp_path)
    np.testing.assert_array_equal(store.state(KEY), latents)
    assert store.state(OTHER) is None


def test_equal_takes_are_equal_bytes(tmp_path):
    store_take(tmp_path / "a")
    store_take(tmp_path / "b")
    assert file_of(tmp_path / "a").read_bytes() == file_of(tmp_path / "b").read_bytes()


def test_content_depends_on_samples_and_latents(tmp_path):
    ones = np.ones((1, 4, 3), np.float32)
    contents = {
        store_take(tmp_path / "a").content,
        store_take(tmp_path / "b", seed=1).content,
        store_take(tmp_path / "c", state=ones).content,
        store_take(tmp_path / "d", state=2 * ones).content,
    }
    assert len(contents) == 4


def test_a_take_that_is_not_there_is_not_found(tmp_path):
    store = Store.open(tmp_path, writing=True)
    assert store.find(KEY) is None
    with pytest.raises(DamagedTake):
        store.read(KEY)


@pytest.mark.parametrize("journal", [True, False], ids=["journal", "no journal"])
@pytest.mark.parametrize("harm", ["truncated", "empty", "one bit", "another take", "not a zip"])
def test_a_harmed_take_is_noted_and_counts_as_missing(harm, journal, tmp_path):
    store_take(tmp_path)
    store_take(tmp_path, OTHER, seed=1)
    path = file_of(tmp_path)
    content = bytearray(path.read_bytes())
    if harm == "truncated":
        content = content[: len(content) // 2]
    elif harm == "empty":
        content = bytearray()
    elif harm == "one bit":
        content[len(content) // 2] ^= 1
    elif harm == "another take":
        content = bytearray(file_of(tmp_path, OTHER).read_bytes())
    else:
        content = bytearray(b"RIFF" * 100)
    path.write_bytes(content)
    if not journal:
        (tmp_path / "journal.jsonl").unlink()
    store = Store.open(tmp_path)
    assert store.find(KEY) is None
    assert store.damaged == [KEY]
    assert store.find(OTHER) is not None


def test_a_bit_flipped_behind_the_clocks_back_is_found_when_read(tmp_path):
    store_take(tmp_path)
    path = file_of(tmp_path)
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    store = Store.open(tmp_path)
    with pytest.raises(DamagedTake):
        store.read(KEY)
    assert store.damaged == [KEY]


def test_times_that_changed_alone_cost_nothing(tmp_path):
    stored = store_take(tmp_path)
    os.utime(file_of(tmp_path), (0, 0))
    assert Store.open(tmp_path).find(KEY) == stored


def test_a_take_whose_row_a_kill_prevented_is_still_to_be_compared(tmp_path):
    """Rows of takes that others were compared with stay so; times alone tell nothing."""
    store = Store.open(tmp_path, writing=True)
    for key in (KEY, OTHER):
        store.put(replace(record(key), voice={"pitch": 120.0}), sound())
    store.mark_compared([KEY, OTHER])
    journal = (tmp_path / "journal.jsonl").read_bytes()
    store.put(replace(record(), voice={"pitch": 180.0}), sound(1))
    (tmp_path / "journal.jsonl").write_bytes(journal)
    os.utime(file_of(tmp_path, OTHER), ns=(0, 0))
    for _ in range(2):
        resumed = Store.open(tmp_path, writing=True)
        assert resumed.find(KEY)
        assert resumed.find(OTHER)
        assert resumed.uncompared == {KEY}


def test_a_take_without_a_score_has_the_fields_that_earlier_versions_know(tmp_path):
    store_take(tmp_path)
    stored = file_of(tmp_path).read_bytes() + (tmp_path / "journal.jsonl").read_bytes()
    assert b"score" not in stored
    scored = Store.open(tmp_path, writing=True).put(replace(record(), score={"pace": 1.5}), sound())
    assert Store.open(tmp_path).find(KEY) == scored
    assert scored.score == {"pace": 1.5}


def test_a_take_of_a_later_version_is_read_without_the_fields_that_it_added(monkeypatch, tmp_path):
    row_of_now = store_module._record_row
    monkeypatch.setattr(store_module, "_record_row", lambda taken: {**row_of_now(taken), "mood": 1})
    stored = Store.open(tmp_path, writing=True).put(record(), sound())
    assert b'"mood": 1' in file_of(tmp_path).read_bytes()
    assert Store.open(tmp_path).find(KEY) == stored  # from the journal
    (tmp_path / "journal.jsonl").unlink()
    assert Store.open(tmp_path).find(KEY) == stored  # from its file
    assert Store.open(tmp_path).index_mismatches == 0


def test_the_same_answer_asked_for_again_is_one_try(tmp_path):
    store = Store.open(tmp_path, writing=True)
    assert [store.put_try(record(), sound(seed))[0] for seed in (0, 1, 0)] == [1, 2, 1]
    store.put(record(), sound(1))
    assert store.reject(KEY, ("voice: another",)) == 2
    assert [kept.faults for kept in store.tries(KEY).values()] == [(), ("voice: another",)]
    assert store.put_try(replace(record(), seed=5), sound())[0] == 3


def test_a_torn_journal_is_repaired_and_grows_on(tmp_path):
    store_take(tmp_path)
    journal = tmp_path / "journal.jsonl"
    intact = journal.read_bytes()
    journal.write_bytes(intact + intact[: len(intact) // 2])
    store_take(tmp_path, OTHER)
    assert journal.read_bytes().startswith(intact)
    assert journal.read_bytes().count(b"\n") == 2
    store = Store.open(tmp_path)
    assert store.find(KEY)
    assert store.find(OTHER)


def test_a_digit_altered_in_the_journal_cuts_no_speech(tmp_path):
    stored = store_take(tmp_path)
    journal = tmp_path / "journal.jsonl"
    intact = journal.read_bytes()
    journal.write_bytes(intact.replace(b'"stop":7990', b'"stop":3990'))
    assert journal.read_bytes() != intact
    store = Store.open(tmp_path)
    assert (store.find(KEY), store.index_mismatches, store.damaged) == (stored, 1, [])
    writer = Store.open(tmp_path, writing=True)
    assert (writer.find(KEY), writer.index_mismatches) == (stored, 1)
    assert journal.read_bytes() == intact  # mended


def test_a_row_that_was_sealed_anew_is_still_held_against_its_take(tmp_path):
    stored = store_take(tmp_path)
    journal = tmp_path / "journal.jsonl"
    row = json.loads(journal.read_bytes())
    row["record"]["stop"] -= 4000
    del row["seal"]
    content = keys.canonical(row)
    seal = keys.content_of(content)[:40]
    journal.write_text(f'{content.decode()[:-1]},"seal":"{seal}"}}\n')
    store = Store.open(tmp_path, writing=True)
    assert store.find(KEY) != stored
    with pytest.raises(DamagedTake, match="journal"):
        store.read(KEY)
    assert (store.find(KEY), store.index_mismatches, store.damaged) == (stored, 1, [])
    assert len(store.read(KEY)[0]) == RATE
    assert Store.open(tmp_path).find(KEY) == stored


@pytest.mark.parametrize("harm", ["lost", "altered"])
def test_a_take_that_was_put_anew_outlives_the_row_of_it(harm, tmp_path):
    store_take(tmp_path)
    stored = store_take(tmp_path, seed=1)
    journal = tmp_path / "journal.jsonl"
    first, second = journal.read_bytes().splitlines(keepends=True)
    altered = second.replace(b'"stop":7990', b'"stop":3990')
    assert altered != second
    journal.write_bytes(first if harm == "lost" else first + altered)
    store = Store.open(tmp_path, writing=True)
    assert store.find(KEY) == stored
    assert store.damaged == []
    store.read(KEY)
    assert Store.open(tmp_path).find(KEY) == stored


def test_no_byte_of_the_journal_can_change_what_is_known_of_a_take(tmp_path):
    stored = store_take(tmp_path)
    Store.open(tmp_path, writing=True).give_up(flag := Flag(OTHER, ("cut: x",), 6))
    journal = tmp_path / "journal.jsonl"
    content = journal.read_bytes()
    for place in range(len(content)):
        bit = (1, 2, 4, 8, 16, 32, 64, 128, 255)[place % 9]
        journal.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        store = Store.open(tmp_path)
        assert store.find(KEY) == stored
        assert store.flag(OTHER) in (flag, None)
        assert store.flag(KEY) is None


RUBBISH = b'\xff\x00{"flag": 3}\n[1, 2]\n"x"\n\n' + DEEP + b"\n"


@pytest.mark.parametrize("journal", [None, RUBBISH])
def test_a_journal_that_is_lost_or_rubbish_costs_nothing_but_time(journal, tmp_path):
    stored = store_take(tmp_path)
    (tmp_path / "journal.jsonl").unlink()
    if journal:
        (tmp_path / "journal.jsonl").write_bytes(journal)
    assert Store.open(tmp_path, writing=True).find(KEY) == stored


def test_what_a_killed_writer_left_is_cleared_by_the_next_writer_alone(tmp_path):
    store_take(tmp_path)
    part_file = tmp_path / "ab" / f".{16 * 'a'}.part"
    part_file.write_bytes(b"half")
    Store.open(tmp_path)
    assert part_file.exists()
    Store.open(tmp_path, writing=True)
    assert not part_file.exists()


def test_a_flag_stays_until_a_good_take_comes(tmp_path):
    store = Store.open(tmp_path, writing=True)
    store.give_up(Flag(KEY, ("cut: x",)))
    assert Store.open(tmp_path).flag(KEY) == Flag(KEY, ("cut: x",))
    store_take(tmp_path)
    assert Store.open(tmp_path).flag(KEY) is None


def test_removing_frees_the_bytes_it_says(tmp_path):
    store_take(tmp_path)
    store_take(tmp_path, OTHER)
    size = file_of(tmp_path).stat().st_size
    store = Store.open(tmp_path, writing=True)
    assert store.remove([KEY]) == size
    assert [key for key, _ in Store.open(tmp_path).stored()] == [OTHER]


def test_a_full_disk_is_said_in_words(tmp_path, monkeypatch):
    store = Store.open(tmp_path, writing=True)

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        store.put(record(), sound())
    assert store.find(KEY) is None


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs a tmpfs")
def test_a_disk_that_is_really_full_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no right to mount a tmpfs here")
    try:
        store = Store.open(disk / "store", writing=True)
        stored = []

        def fill() -> None:
            for i in range(100):
                key = f"{i:02x}" + "0" * 38
                store.put(record(key), sound(i))
                stored.append(key)

        with pytest.raises(StorageError, match="the disk is full"):
            fill()
        assert stored
        fresh = Store.open(disk / "store")
        assert all(fresh.find(key) for key in stored)
        assert not list(disk.rglob("*.part"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -- rows and headers that hold something else -----------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "bit", "central"),
    [(10, 64, True), (10, 8, True), (8, 1, True), (6, 1, False), (6, 64, False), (6, 255, True)],
    ids=["compressed", "deflated", "encrypted", "a bit of its head", "strong", "a later version"],
)
def test_a_take_whose_head_was_altered_is_damaged(offset, bit, central, tmp_path):
    store_take(tmp_path)
    path = file_of(tmp_path)
    content = bytearray(path.read_bytes())
    start = content.rfind(b"PK\x01\x02") if central else 0
    content[start + offset] ^= bit
    path.write_bytes(content)
    (tmp_path / "journal.jsonl").unlink()
    store = Store.open(tmp_path)
    record_found = store.find(KEY)  # not all of the head says anything of what is in it
    assert (record_found is None) == (store.damaged == [KEY])
    assert record_found is None or store.read(KEY)


def test_no_byte_of_a_takes_heads_can_do_more_than_damage_it(tmp_path):
    Store.open(tmp_path, writing=True).put(record(samples=200), sound()[:200])
    content = file_of(tmp_path).read_bytes()
    ends = [*range(120), *range(len(content) - 250, len(content))]
    store, damaged = Store.open(tmp_path), 0
    for place in ends:
        for bit in (1, 8, 64, 255):
            altered = bytearray(content)
            altered[place] ^= bit
            (tmp_path / "ab" / f"{KEY}.1.try").write_bytes(altered)
            try:
                store.read_try(KEY, 1)
            except DamagedTake:
                damaged += 1
    assert damaged > len(ends)


PIN = {
    "place": "p", "take": OTHER, "step": KEY, "number": 1, "chunk": "1.1", "speaker": "ann",
    "text": "Yes.", "words": "w", "engine": "hum", "manifest": "book.yaml",
}  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        {}, None, 5, [5], [{"place": "p"}], [PIN | {"take": 5}], [PIN | {"place": ["p"]}],
        [PIN | {"take": "\0abc"}], [PIN | {"take": "../../etc/passwd"}], [PIN | {"step": ""}],
        [PIN | {"number": "1"}], [PIN | {"number": True}], [PIN | {"text": None}],
        [PIN | {"engine": 1}], [PIN | {"other": 1}], DEEP.decode(),
    ],
    ids=lambda rows: str(rows)[:60],
)  # fmt: skip
def test_pins_of_the_wrong_types_are_one_line_with_the_way_on(rows, tmp_path):
    (tmp_path / "pins.json").write_text(rows if isinstance(rows, str) else json.dumps(rows))
    with pytest.raises(StorageError, match=r"pins\.json: not a list of pins .* delete it"):
        Store.open(tmp_path).pins()


def test_pins_that_were_altered_are_one_line_and_nothing_is_dropped(tmp_path):
    store_take(tmp_path)
    Store.open(tmp_path, writing=True).pin(pin := Pin(**PIN | {"number": 0}))
    assert Store.open(tmp_path).pins() == {"p": pin}
    path = tmp_path / "pins.json"
    path.write_bytes(altered := path.read_bytes().replace(b'"chunk": "1.1"', b'"chunk": "1.2"'))
    with pytest.raises(StorageError, match=r"pins\.json: not a list of pins .*altered.*delete it"):
        Store.open(tmp_path).pins()
    assert path.read_bytes() == altered
