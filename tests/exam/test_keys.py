"""The questions and keys: well formed, not given away, and proved by the recordings they are about."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.replay.recording import read_messages
from tests.exam.questions import ExamQuestion, QuestionFile, read_questions, recording_digest
from tests.exam.scoring import is_visible, normalize_answer, score
from tests.support.tables import for_each

HERE = Path(__file__).parent
FILES = tuple(read_questions(HERE).values())
RECORDINGS = Path(os.environ.get("TRAJECTORIES", HERE))


def test_there_are_enough_questions_of_every_kind() -> None:
    assert len(FILES) >= 6
    assert all(len(file.questions) >= 10 for file in FILES)
    kinds = Counter(question.kind for file in FILES for question in file.questions)
    assert kinds.total() >= 60
    assert min(kinds.values()) >= 5
    assert len(kinds) == 5


@for_each("file", FILES)
def test_no_question_says_its_answer(file: QuestionFile) -> None:
    given_away = [
        question.id
        for question in file.questions
        for point in question.points
        if score(question.question, point)
    ]
    assert given_away == []


@for_each("file", FILES)
def test_every_point_is_in_the_recording(file: QuestionFile) -> None:
    path = RECORDINGS / f"{file.title}.jsonl.gz"
    if not path.is_file():
        pytest.skip("set TRAJECTORIES to the folder of the recordings to check the keys against them")
    assert recording_digest(path) == file.recording
    messages = list(read_messages(path))
    missing = [place for question in file.questions for place in _missing(question, messages)]
    assert missing == []


def _missing(question: ExamQuestion, messages: list[dict[str, Any]]) -> list[str]:
    """List the places where a point's evidence should be and is not."""
    return [
        f"{question.id}: {point.proof!r} in message {number}"
        for point in question.points
        for number in point.messages
        if not is_visible(_words(messages[number - 1]), point)
    ]


def _words(message: dict[str, Any]) -> str:
    calls = (call["arguments"] for call in message.get("tool_calls", ()))
    return normalize_answer("\n".join((message["content"], *calls)))
