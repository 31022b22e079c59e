from __future__ import annotations

import json
import resource

import pytest

from narrator.files import Journal

ROWS = [{"name": name, "heard": "go"} for name in "abc"]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    writer = Journal(path)
    for row in ROWS:
        writer.append(row)
    return path


def names(journal: Journal) -> str:
    return "".join(json.loads(line)["name"] for line in journal.read())


def test_each_row_is_read_once_also_of_others(path):
    reader = Journal(path)
    assert (names(reader), names(reader)) == ("abc", "")
    Journal(path).append({"name": "d"})
    assert names(reader) == "d"


def test_a_file_that_was_replaced_is_read_anew(path):
    reader, writer = Journal(path), Journal(path)
    reader.read()
    writer.rewrite(writer.read()[1:])
    assert names(reader) == "bc"
    path.unlink()
    assert (names(reader), reader.damaged) == ("", 0)


def test_every_flipped_byte_is_a_damaged_row(path):
    whole = path.read_bytes()
    for place in [n for n in range(0, len(whole), 7) if whole[n] != 10]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        journal = Journal(path)
        assert len(journal.read()) == 2
        assert journal.damaged == 1, place


@pytest.mark.parametrize(
    ("old", "new", "intact", "damaged"),
    [
        (b"\n", b"K", "c", 2),  # a row end that is gone costs the rows on both its sides
        (b'"a"', b'"\n"', "bc", 1),  # a row that was cut in two is one
        (b'"seal":', b'"sael":', "bc", 1),
    ],
)
def test_damaged_rows_cost_no_other(old, new, intact, damaged, path):
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    journal = Journal(path)
    assert (names(journal), journal.damaged) == (intact, damaged)


@pytest.mark.parametrize("end", [b'{"by":"p","doub', b"{"])
def test_what_a_killed_writer_left_is_no_damage_and_is_cut_off(end, path):
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    reader, writer = Journal(path), Journal(path)
    assert (names(reader), names(writer), writer.damaged) == ("abc", "abc", 0)
    writer.append({"name": "d"})
    assert (names(reader), names(Journal(path)), reader.damaged) == ("d", "abcd", 0)
    assert path.read_bytes().startswith(whole + b'{"name":"d"')


def test_a_last_row_without_its_end_is_damaged_and_kept_apart_from_the_next(path):
    path.write_bytes(path.read_bytes()[:-1])
    journal = Journal(path)
    assert (names(journal), journal.damaged) == ("ab", 1)
    journal.append({"name": "d"})
    assert names(Journal(path)) == "abcd"


def test_a_row_that_the_disk_has_no_room_for_leaves_no_half(path):
    journal, whole = Journal(path), path.read_bytes()
    journal.read()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 50, limits[1]))
    try:
        with pytest.raises(OSError, match=r"space|large"):
            journal.append({"name": "d", "heard": "a long row" * 10})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == whole
