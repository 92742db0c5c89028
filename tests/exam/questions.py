"""Read the questions and keys of an exam: TOML files, each about one recording."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from helix_desktop.domain.errors import InvalidInput, InvalidRecording
from helix_desktop.domain.translatable_text import TextContext, error_reason, system_reason
from helix_desktop.replay.recording import read_messages

text = TextContext("Exam")

Kind = Literal["fact", "artifact", "decision", "wish", "state"]
"""What is asked for: a value, something that was made, a decision with its reason, what the user wants, or
how things stand at the end."""
_NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_FIX = text("See {file}.", file="tests/exam/README.md")


class KeyPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that a right answer says, in any of the `accept` forms.

    `evidence`, by default the first form, stands in each of the recording's `messages` (lines, from 1).
    """

    accept: Annotated[tuple[_NonEmpty, ...], msgspec.Meta(min_length=1)]
    messages: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1)], ...], msgspec.Meta(min_length=1)]
    evidence: str = ""

    @property
    def proof(self) -> str:
        """Return the text that stands in the recording."""
        return self.evidence or self.accept[0]


class ExamQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: _NonEmpty
    kind: Kind
    question: _NonEmpty
    points: Annotated[tuple[KeyPoint, ...], msgspec.Meta(min_length=1)]


class QuestionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions about one recording, which is named by the SHA-256 of its unpacked lines."""

    recording: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    questions: Annotated[tuple[ExamQuestion, ...], msgspec.Meta(min_length=1)]
    title: str = ""


def read_questions(folder: Path) -> dict[str, QuestionFile]:
    """Return the question files of a folder by the digest of their recording. Raises InvalidInput."""
    paths = _question_paths(folder)
    if not paths:
        ending = text("Question files end in {suffix}.", suffix=".toml")
        raise InvalidInput(
            text("No questions in {folder}.", folder=folder),
            ending if folder.is_dir() else text("It doesn't exist, or is a file."),
            _FIX,
        )
    files = [_read_file(path) for path in paths]
    by_recording = {file.recording: file for file in files}
    _require_unique([file.recording for file in files])
    _require_unique([question.id for file in files for question in file.questions])
    return by_recording


def recording_digest(path: Path) -> str:
    """Return the SHA-256 of a recording's unpacked lines in hex. Raises InvalidRecording."""
    next(read_messages(path), None)
    lines = path.read_bytes()
    try:
        unpacked = gzip.decompress(lines) if lines.startswith(b"\x1f\x8b") else lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidRecording(
            text("The recording {path} can't be used.", path=path),
            text("The compressed data is damaged or cut off: {reason}.", reason=error),
        ) from error
    return hashlib.sha256(unpacked).hexdigest()


def _question_paths(folder: Path) -> list[Path]:
    """Return the question files of a folder; none if there is no folder. Raises InvalidInput."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InvalidInput(
            text("The folder {folder} can't be read.", folder=folder),
            system_reason(error),
            text("Make it readable, then try again."),
        ) from error


def _read_file(path: Path) -> QuestionFile:
    what = text("The questions in {path} can't be used.", path=path)
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), QuestionFile)
    except OSError as error:
        raise InvalidInput(what, system_reason(error), _FIX) from error
    except ValueError as error:  # of the encoding, of TOML, and of msgspec
        raise InvalidInput(what, text("{reason}.", reason=error_reason(error)), _FIX) from error


def _require_unique(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(
            text("{names} occurs more than once in the questions.", names=tuple(repeated)),
            text("Each question needs its own ID, each recording one file."),
            _FIX,
        )
