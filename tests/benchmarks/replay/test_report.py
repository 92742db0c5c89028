"""The report has each figure once, where a reader looks for it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.replay.figures import MeasuredRecording, totals_of
from tests.benchmarks.replay.measure import MeasureOptions, ReplayFactory, measure_all
from tests.benchmarks.replay.report import (
    AppPrompt,
    app_prompt_line,
    count_app_prompt,
    format_table,
    to_document,
    totals_by_column,
    warning_lines,
)
from tests.support.replay_fakes import MarkerReplay, UnmanagedReplay
from tests.support.synthetic_recordings import make_session, write_recordings


def measured(folder: Path, make: ReplayFactory = MarkerReplay) -> list[MeasuredRecording]:
    paths = write_recordings(folder / "one", [make_session(1, 12), make_session(2, 4)]) + write_recordings(
        folder / "two", [make_session(3, 8)]
    )
    return measure_all(paths, make, MeasureOptions(window=9_000), 1, lambda _: None)


def test_the_document_has_files_sources_and_the_total(tmp_path: Path) -> None:
    results = measured(tmp_path)
    document = json.loads(json.dumps(to_document(results, AppPrompt(7, 5))))
    assert [Path(file["file"]).name for file in document["files"]] == [
        "session-00.jsonl.gz", "session-01.jsonl.gz", "session-00.jsonl.gz",
    ]  # fmt: skip
    assert list(document["sources"]) == ["one", "two"]
    assert document["sources"]["one"]["files"] == 2
    first, total = document["files"][0], document["total"]
    assert first["managed"]["input_tokens"] == results[0].result.managed.input_tokens
    assert first["input_of_unmanaged"] == pytest.approx(
        first["managed"]["input_tokens"] / first["unmanaged"]["input_tokens"]
    )
    assert first["heavy"] is True
    assert first["reachable"] == 1.0
    assert total["input_tokens"] == sum(file["managed"]["input_tokens"] for file in document["files"])
    assert total["heavy"]["files"] == sum(file["heavy"] for file in document["files"])
    assert not {"request_s", "feed_s"} & first.keys()
    assert document["prompt"] == {"system_tokens": 7, "tool_tokens": 5, "environment_tokens": 0}


def test_the_app_prompt_is_that_of_a_new_workspace() -> None:
    prompt = count_app_prompt()
    assert 100 < prompt.system_tokens < prompt.system_tokens + prompt.tool_tokens < 5_000
    assert app_prompt_line(AppPrompt(1_000, 234)).endswith(": 1,234 tokens (1,000 and 234)")
    assert 50 < prompt.environment_tokens < 300
    line = app_prompt_line(AppPrompt(1_000, 234, 120))
    assert line.endswith("(1,000 and 234); environment, told once per session: 120 tokens")


def test_the_table_has_a_column_for_each_source(tmp_path: Path) -> None:
    results = measured(tmp_path)
    columns = totals_by_column(results)
    assert list(columns) == ["all", "one", "two"]
    assert list(totals_by_column(results[:2])) == ["all"]
    head, line, *rows = format_table(columns, "profile").splitlines()
    assert head.split() == ["profile", "all", "one", "two"]
    assert set(line) == {"-"}
    cells = {row[: row.index("  ", 3)].strip(): row.split()[-3:] for row in rows}
    assert cells["recordings"] == ["3", "2", "1"]
    assert cells["input, % of unmanaged"] == [
        f"{column.input_of_sums * 100:.1f}" for column in columns.values()
    ]
    assert cells["outputs that can be recalled, % of bytes"] == ["100.0"] * 3
    assert len({len(row) for row in (head, line, *rows)}) == 1


def test_a_table_without_heavy_recordings_omits_their_figures(tmp_path: Path) -> None:
    (path,) = write_recordings(tmp_path, [make_session(1, 3)])
    light = measure_all([path], MarkerReplay, MeasureOptions(), 1, lambda _: None)
    rows = [row.split() for row in format_table({"all": totals_of(light)}).splitlines()]
    assert ["heavy", "recordings", "-"] in rows


def test_only_a_complete_result_is_fully_reachable(tmp_path: Path) -> None:
    (path,) = write_recordings(tmp_path, [make_session(1, 3)])
    total = totals_of(measure_all([path], MarkerReplay, MeasureOptions(), 1, lambda _: None))
    short = msgspec.structs.replace(total, reachable=0.99999)
    (row,) = [
        line
        for line in format_table({"one": total, "two": short}).splitlines()
        if "outputs that can be recalled" in line
    ]
    assert row.split()[-2:] == ["100.0", "99.9"]


def test_remarks_name_anomalies(tmp_path: Path) -> None:
    class Losing(UnmanagedReplay):
        def request(self) -> list[dict[str, object]]:
            return [message for message in self.messages if message["role"] != "tool"]

    assert warning_lines(measured(tmp_path)) == []
    lines = warning_lines(measured(tmp_path, Losing))
    assert any("lost call_0001, call_0002" in line for line in lines)
    assert any("request 2: " in line for line in lines)
