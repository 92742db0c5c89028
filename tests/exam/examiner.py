"""The exam: every question under three conditions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Literal

import msgspec

from helix_desktop.agent.model_roles import CallBill, complete
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.agent.session_services import split_versions
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import InvalidInput, RequestTooLarge
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.tools.workspace_tools import create_cache_tools
from tests.exam.interview import ExamAnswer, ExamCall, Interview, request_tokens
from tests.exam.prompts import judge_text, question_text
from tests.exam.questions import ExamQuestion, Kind, QuestionFile, recording_digest
from tests.exam.replayed_window import ReplayedWindow, replay_history, replay_window
from tests.exam.scoring import is_visible, score

text = TextContext("Exam")

Condition = Literal["recall", "no_recall", "whole_history"]
"""The policy's window with the recall tools; the same window without tools; everything that was recorded."""
CONDITIONS: tuple[Condition, ...] = ("recall", "no_recall", "whole_history")


class QuestionResult(msgspec.Struct, frozen=True):
    """The result of one question under one condition.

    `points_visible` counts the points that stood in the context before any recall. `judged` counts those that
    the judging model found in the answer, None without one. `cost` is in US dollars, without the judge's.
    """

    recording: str
    id: str
    kind: Kind
    condition: Condition
    answer: str
    points: int
    points_visible: int
    points_right: int
    calls: tuple[ExamCall, ...]
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float
    judged: int | None = None

    @property
    def is_right(self) -> bool:
        """Return True if the answer says every point of the key."""
        return self.points_right == self.points


@dataclass(frozen=True)
class ExamPart:
    """The questions to ask about one recording."""

    path: Path
    title: str
    questions: tuple[ExamQuestion, ...]


def plan_exam(paths: Sequence[Path], files: Mapping[str, QuestionFile], limit: int) -> list[ExamPart]:
    """Return what to ask about which of the recordings; `limit` questions in turn, 0 for all.

    Raises InvalidRecording, and InvalidInput if there are no questions about any of them.
    """
    matched = {path: file for path in paths if (file := files.get(recording_digest(path))) is not None}
    if not matched:
        raise InvalidInput(
            text("No questions about these recordings found."),
            text("A question file names its recording by the SHA-256 of the unpacked lines."),
        )
    in_turn = [
        question
        for question in chain(*zip_longest(*(file.questions for file in matched.values())))
        if question is not None
    ]
    ids = {question.id for question in in_turn[: limit or None]}
    parts = [
        ExamPart(
            path,
            file.title or str(path),
            tuple(question for question in file.questions if question.id in ids),
        )
        for path, file in matched.items()
    ]
    return [part for part in parts if part.questions]


class Examiner:
    """Asks one model, under one policy."""

    def __init__(self, model: Model, policy: ContextPolicy, judge: Model | None = None) -> None:
        self._model, self._policy, self._judge = model, policy, judge
        self._counter = MessageTokenCounter.bundled()
        self._system = split_versions(load_prompts())[0]["system"]

    async def examine(self, part: ExamPart) -> AsyncIterator[QuestionResult]:
        """Yield each result; a condition that doesn't fit the model's window has none. Raises ModelError."""
        history = await asyncio.to_thread(replay_history, part.path)
        windows: dict[Condition, ReplayedWindow] = {"whole_history": history}
        with suppress(RequestTooLarge):  # a policy may leave more than fits; off always does
            window = await asyncio.to_thread(replay_window, part.path, self._policy, self._model.info.window)
            windows |= {"recall": window, "no_recall": window}
        for condition in filter(windows.get, CONDITIONS):
            window = windows[condition]
            tools = self._recall_tools(window) if condition == "recall" else None
            for question in part.questions:
                result = await self._ask(part, question, condition, window, tools)
                if result is not None:
                    yield result

    def _recall_tools(self, window: ReplayedWindow) -> Tools:
        descriptions = resources_dir() / "prompts" / "tools"
        return create_cache_tools(window.contents, descriptions, self._counter.count, window.session)

    async def _ask(
        self,
        part: ExamPart,
        question: ExamQuestion,
        condition: Condition,
        window: ReplayedWindow,
        tools: Tools | None,
    ) -> QuestionResult | None:
        messages = window.ask(self._system, question_text(question.question))
        request, info = ModelRequest(messages, tools.specs if tools else ()), self._model.info
        if request_tokens(request, self._counter) + info.reserve > info.window:
            return None
        answer = await Interview(self._model, messages, tools, self._counter).run()
        return QuestionResult(
            recording=part.title,
            id=question.id,
            kind=question.kind,
            condition=condition,
            answer=answer.text,
            points=len(question.points),
            points_visible=sum(is_visible(window.normalized_text, point) for point in question.points),
            points_right=sum(score(answer.text, point) for point in question.points),
            calls=answer.calls,
            requests=answer.requests,
            input_tokens=answer.input_tokens,
            cached_tokens=answer.cached_tokens,
            output_tokens=answer.output_tokens,
            cost=answer.cost,
            judged=await self._judged(question, answer),
        )

    async def _judged(self, question: ExamQuestion, answer: ExamAnswer) -> int | None:
        """Return how many points of the key the judging model finds in an answer; None without a judge."""
        if self._judge is None:
            return None
        request = ModelRequest((Message("user", judge_text(question, answer.text)),))
        verdict = await complete(self._judge, request, CallBill(self._counter))
        numbers = {int(number) for number in re.findall(r"\d+", verdict)}
        return len(numbers & set(range(1, len(question.points) + 1)))
