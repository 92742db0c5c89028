"""Sum up and format the results of an exam: a document for programs and a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from helix_desktop.domain.messages import ModelInfo
from helix_desktop.words.numbers import format_integer
from tests.exam.examiner import CONDITIONS, MAX_CALLS, Condition, QuestionResult
from tests.exam.scoring import wilson_interval


class ExamTotals(msgspec.Struct, frozen=True):
    """The totals of some results; `kind` is empty for all kinds.

    `right` counts answers that say every point of the key, `low` and `high` are the 95 % interval of their
    share (Wilson). `points` is the share of all points that the answers say, `visible` the share that stood
    in the context before any recall. Recalls and tokens are means per answer; `recalls_if_any` is the mean of
    the answers that recalled anything, None for none. `judged` counts the right answers by the judging model,
    None without one.
    """

    condition: Condition
    kind: str
    answers: int
    right: int
    low: float
    high: float
    points: float
    visible: float
    recalls: float
    recalls_if_any: float | None
    input_tokens: float
    output_tokens: float
    judged: int | None


def exam_totals(results: Sequence[QuestionResult]) -> list[ExamTotals]:
    """Return the totals of each condition, of all kinds first, then of each."""
    totals = []
    for condition in CONDITIONS:
        own = [result for result in results if result.condition == condition]
        kinds = dict.fromkeys(result.kind for result in results)
        for kind in ("", *sorted(kinds)):
            group = [result for result in own if kind in ("", result.kind)]
            if group:
                totals.append(_totals(condition, kind, group))
    return totals


def _totals(condition: Condition, kind: str, results: Sequence[QuestionResult]) -> ExamTotals:
    right = sum(result.is_right for result in results)
    low, high = wilson_interval(right, len(results))
    judged = [result.judged == result.points for result in results if result.judged is not None]
    points = sum(result.points for result in results)
    recalls = [len(result.calls) for result in results]
    return ExamTotals(
        condition=condition,
        kind=kind,
        answers=len(results),
        right=right,
        low=low,
        high=high,
        points=sum(result.points_right for result in results) / points,
        visible=sum(result.points_visible for result in results) / points,
        recalls=fmean(recalls),
        recalls_if_any=fmean(filter(None, recalls)) if any(recalls) else None,
        input_tokens=fmean(result.input_tokens for result in results),
        output_tokens=fmean(result.output_tokens for result in results),
        judged=sum(judged) if judged else None,
    )


_CONDITION_NAMES: Mapping[Condition, str] = {
    "recall": "context with recall",
    "no_recall": "same context, no recall",
    "whole_history": "whole history",
}
_KIND_NAMES: Mapping[str, str] = {
    "artifact": "artifacts",
    "decision": "decisions",
    "fact": "facts",
    "state": "state at the end",
    "wish": "the user's wishes",
}
_COLUMNS = (
    "answers", "right", "right, %", "95 % interval", "points, %", "in context, %", "recalls",
    "recalls if any", "tokens in", "tokens out",
)  # fmt: skip
_JUDGED = "right by judge"


def to_document(
    results: Sequence[QuestionResult], model: ModelInfo, policy: str, judge: str
) -> dict[str, Any]:
    """Return all results as plain objects; tokens are means per answer in totals, sums in results."""
    return {
        "measured": True,
        "model": model.label,
        "window": model.window,
        "policy": policy,
        "judge": judge,
        "max_calls": MAX_CALLS,
        "totals": [msgspec.to_builtins(totals) for totals in exam_totals(results)],
        "results": [msgspec.to_builtins(result) for result in results],
    }


def format_table(results: Sequence[QuestionResult]) -> str:
    """Format a table with a row per condition and kind of question."""
    totals = exam_totals(results)
    is_judged = any(row.judged is not None for row in totals)
    columns = (*_COLUMNS, *([_JUDGED] if is_judged else []))
    rows = [("", *columns), *(_row(row)[: len(columns) + 1] for row in totals)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns) + 1)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)


def _row(totals: ExamTotals) -> tuple[str, ...]:
    name = _KIND_NAMES[totals.kind] if totals.kind else _CONDITION_NAMES[totals.condition]
    return (
        ("  " if totals.kind else "") + name,
        format_integer(totals.answers),
        format_integer(totals.right),
        f"{totals.right / totals.answers * 100:.1f}",
        f"{totals.low * 100:.1f} – {totals.high * 100:.1f}",
        f"{totals.points * 100:.1f}",
        f"{totals.visible * 100:.1f}",
        f"{totals.recalls:.2f}",
        "-" if totals.recalls_if_any is None else f"{totals.recalls_if_any:.2f}",
        format_integer(round(totals.input_tokens)),
        format_integer(round(totals.output_tokens)),
        "-" if totals.judged is None else format_integer(totals.judged),
    )
