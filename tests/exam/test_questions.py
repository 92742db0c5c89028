"""Question files: what is read, and what is refused with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.errors import InvalidInput
from tests.exam.questions import read_questions

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
