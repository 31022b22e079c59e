from __future__ import annotations

from pathlib import Path

from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Heard
from narrator.speech.hearing.kept import Hearings


def times(by: str, start: float = 0.0) -> WordTimes:
    return WordTimes(by, (TimedWord(0, 3, start, 0.9),))


def test_what_was_kept_is_read_by_another(tmp_path: Path) -> None:
    ours = Hearings(tmp_path / "heard.jsonl")
    assert ours.times("a", "Yes", "id") is None
    ours.keep("a", "Yes", "id", Heard("yes", (0.5,)))
    ours.keep_times("a", "Yes", "id", times("whisper"))
    others = Hearings(ours.path)
    assert others.heard("a", "Yes", "id") == Heard("yes", (0.5,))
    assert others.times("a", "Yes", "id") == times("whisper")
    assert others.times("a", "No", "id") is None
    assert others.best("b", "Yes") is None


def test_the_best_times_are_those_of_who_knows_then_of_the_best_who_listens(tmp_path: Path) -> None:
    kept, reader = (Hearings(tmp_path / "heard.jsonl") for _ in range(2))
    for by in ("whisper small", "pocketsphinx", "qwen3", "draft"):
        kept.keep_times("a", "Yes", by, times(by))
        assert reader.best("a", "Yes") == times(by)
    kept.keep_times("a", "Yes", "whisper small", times("whisper small"))
    assert reader.best("a", "Yes") == times("draft")


def test_of_two_alike_the_newest_times_are_the_best_and_none_without_words(tmp_path: Path) -> None:
    kept = Hearings(tmp_path / "heard.jsonl")
    kept.keep_times("a", "Yes", "one", times("whisper", 0.1))
    kept.keep_times("a", "Yes", "two", times("whisper", 0.2))
    kept.keep_times("a", "Yes", "three", WordTimes("draft", ()))
    assert kept.best("a", "Yes") == times("whisper", 0.2)
    kept.keep_times("a", "Yes", "one", times("whisper", 0.3))
    assert kept.best("a", "Yes") == Hearings(kept.path).best("a", "Yes") == times("whisper", 0.3)


def test_rows_that_are_torn_or_altered_are_passed_over(tmp_path: Path) -> None:
    kept = Hearings(tmp_path / "heard.jsonl")
    kept.keep_times("a", "Yes", "draft", times("draft"))
    kept.keep_times("a", "Yes", "whisper", times("whisper"))
    good, other = kept.path.read_bytes().splitlines(keepends=True)
    for bad in (good.replace(b"900", b"901"), good[:-9] + b"\n", b"{}\n", b"\xff[1]\n", b"null\n"):
        kept.path.write_bytes(bad + other + good[:40])
        assert Hearings(kept.path).best("a", "Yes") == times("whisper")


def test_what_is_forgotten_is_of_takes_that_are_gone(tmp_path: Path) -> None:
    kept = Hearings(tmp_path / "heard.jsonl")
    for take in ("a", "b"):
        kept.keep(take, "Yes", "id", Heard("yes"))
        kept.keep_times(take, "Yes", "id", times("draft"))
    kept.retain({"b"})
    assert Hearings(kept.path).best("a", "Yes") is None
    assert kept.best("b", "Yes") == Hearings(kept.path).best("b", "Yes") == times("draft")
    assert Hearings(kept.path).heard("b", "Yes", "id") == Heard("yes")
