"""Question files and keys: well formed, not given away, proved by their recordings; and how answers score."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.replay.recording import read_messages
from tests.exam.questions import ExamQuestion, KeyPoint, QuestionFile, read_questions, recording_digest
from tests.exam.scoring import MAX_SCORED_CHARS, is_visible, normalize_answer, score, wilson_interval
from tests.support.tables import for_each

HERE = Path(__file__).parent
FILES = tuple(read_questions(HERE).values())
RECORDINGS = Path(os.environ.get("TRAJECTORIES", HERE))


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


DIGEST = "a" * 64
QUESTION = '[[questions]]\nid = "q1"\nkind = "fact"\nquestion = "Which port?"\n'
POINTS = 'points = [{ accept = ["80"], messages = [3] }]\n'


def test_questions_are_read_by_recording(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(f'recording = "{DIGEST}"\n{QUESTION}{POINTS}')
    (tmp_path / "README.md").write_text("not a question file")
    ((digest, file),) = read_questions(tmp_path).items()
    (question,) = file.questions
    assert (digest, question.id, question.points[0].accept) == (DIGEST, "q1", ("80",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'recording = "{DIGEST}"\n{QUESTION}points = []\n', "length >= 1"),
        (f'recording = "{DIGEST}"\n{QUESTION}{POINTS}hint = "no"\n', "hint"),
        (f'recording = "1d29"\n{QUESTION}{POINTS}', "regex"),
        (f'recording = "{DIGEST}"\n{QUESTION.replace("fact", "riddle")}{POINTS}', "riddle"),
        (f'recording = "{DIGEST}"\n{QUESTION}{POINTS}{QUESTION}{POINTS}', "q1"),
        ("recording =", "Invalid value"),
    ],
)
def test_a_wrong_file_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(text)
    with pytest.raises(InvalidInput, match=reason):
        read_questions(tmp_path)


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No questions"):
        read_questions(tmp_path)


def test_a_folder_that_cannot_be_read_does_not_pass_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InvalidInput, match=r"can.t be read\. Permission denied\."):
        read_questions(tmp_path)


@for_each(
    ("answer", "form", "is_said"),
    [
        ("It runs `HandleTurnEnd`.", "handleturnend", True),
        ("$1,074 were charged", "1074", True),
        ("lines 1100–1110", "1100-1110", True),
        ("the “easy   fix”", "easy fix", True),
        ("in cli/setup.go:479", "setup.go", True),
        ("color #8ABEB7", "8abeb7", True),
        ("the flag %LMQ% marks it", "%lmq%", True),
        ("it took 22.036.", "22.036", True),
        ("it took 22.036s", "22.036", True),
        ("64KB", "64", True),
        ("line 1181", "181", False),
        ("0.12 seconds", "12", False),
        ("12.5 hours", "12", False),
        ("45ffe0a", "0", False),
        ("12sec0a", "12", False),
        ("sessionid", "session", False),
        ("tool_use_id", "tool_use", False),
        ("", "181", False),
        ("x" * MAX_SCORED_CHARS + " 181", "181", False),
    ],
)
def test_an_answer_says_a_form_as_a_whole(answer: str, form: str, is_said: bool) -> None:
    assert score(answer, KeyPoint((form,), (1,))) is is_said
    assert score(answer, KeyPoint(("something else", form), (1,))) is is_said


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (7, 10, 0.3968, 0.8922), (79, 79, 0.9536, 1.0)],
)
def test_intervals_are_those_of_the_literature(successes: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(successes, total) == pytest.approx((low, high), abs=5e-5)
