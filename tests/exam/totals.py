"""Sum up the results of an exam, per condition and kind of question."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from tests.exam.examiner import CONDITIONS, Condition, QuestionResult
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
