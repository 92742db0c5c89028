"""Recordings in folders, measured in one process or several: the same figures, in the same order."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.errors import HelixError, InvalidRecording
from tests.benchmarks.replay.figures import MeasuredRecording
from tests.benchmarks.replay.measure import MeasureOptions, ReplayFactory, find_recordings, measure_all
from tests.support.replay_fakes import MarkerReplay
from tests.support.synthetic_recordings import make_session, write_recordings

SESSIONS = [make_session(seed, steps) for seed, steps in enumerate((3, 12, 5))]


class KillsProcess:
    def __reduce__(self) -> tuple[Callable[[int], object], tuple[int]]:
        return os._exit, (9,)

    def __call__(self) -> MarkerReplay:
        raise AssertionError("no process gets so far")


def measure(
    paths: list[Path], jobs: int, make: ReplayFactory = MarkerReplay
) -> tuple[list[MeasuredRecording], list[int]]:
    progress: list[int] = []
    return measure_all(paths, make, MeasureOptions(recall_rate=0.5), jobs, progress.append), progress


def test_processes_give_the_same_figures_in_the_same_order(tmp_path: Path) -> None:
    paths = write_recordings(tmp_path, SESSIONS)
    alone, single_progress = measure(paths, 1)
    together, parallel_progress = measure(paths, 2)
    assert parallel_progress == single_progress == [1, 2, 3]
    for single_result, other, path in zip(alone, together, paths, strict=True):
        assert single_result.result.file == other.result.file == str(path)
        assert single_result.result.managed == other.result.managed
        assert single_result.result.reach == other.result.reach
        assert single_result.result.recalls == other.result.recalls
        assert len(single_result.request_s) == len(other.request_s) == single_result.result.managed.requests


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_invalid_recording_ends_the_run(tmp_path: Path, jobs: int) -> None:
    paths = write_recordings(tmp_path, SESSIONS)
    paths[1].write_bytes(paths[1].read_bytes()[:-20])
    with pytest.raises(InvalidRecording) as refused:
        measure(paths, jobs)
    assert str(paths[1]) in refused.value.what
    assert "damaged or cut off" in refused.value.why
    assert refused.value.fix


def test_a_process_that_dies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HelixError, match="ended unexpectedly"):
        measure(write_recordings(tmp_path, SESSIONS), 2, KillsProcess())


def test_a_missing_recording_is_refused_before_a_process_starts(tmp_path: Path) -> None:
    def cannot_be_sent_to_a_process() -> MarkerReplay:
        return MarkerReplay()

    with pytest.raises(InvalidRecording, match="No such file"):
        measure([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], 2, cannot_be_sent_to_a_process)


def test_nothing_is_measured_without_recordings(tmp_path: Path) -> None:
    assert measure([], 2) == ([], [])


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    for name in ("b/two.jsonl.gz", "b/one.jsonl", "a/deep/three.jsonl", "b/index.json", "last.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    recordings = find_recordings([tmp_path / "last.txt", tmp_path, tmp_path / "b" / "one.jsonl"])
    assert [path.relative_to(tmp_path).as_posix() for path in recordings] == [
        "last.txt", "a/deep/three.jsonl", "b/one.jsonl", "b/two.jsonl.gz",
    ]  # fmt: skip
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidRecording, match="No recordings in"):
        find_recordings([tmp_path / "none"])


def test_a_folder_that_cannot_be_read_does_not_pass_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jsonl").touch()
    (tmp_path / "locked").mkdir()
    list_folder = os.scandir

    def refuse(folder: str) -> Any:
        if Path(folder).name == "locked":
            raise PermissionError(13, "Permission denied", folder)
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InvalidRecording, match=r"locked can.t be read\. Permission denied\. Make it"):
        find_recordings([tmp_path])
