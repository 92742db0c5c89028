"""Requests are a promise: the log of a released version gives the same messages, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import policy_from
from helix_desktop.context.window.window import Projector, PromptFrame, project
from helix_desktop.domain.events.recorded_event import RecordedEvent
from tests.support.tables import for_each

FOLDER = Path(__file__).parents[3] / "golden" / "requests"
# Sessions as they are stored, and the messages of each request. `tests/support/request_golden.py` writes
# them; run it again only where a request is meant to change, and read the difference.
FILES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("v*.json"))
}
REQUESTS = [(name, int(seq)) for name, document in FILES.items() for seq in document["requests"]]


def log_of(document: dict[str, Any]) -> list[RecordedEvent]:
    """Read the log from its stored form, through msgpack as the store does."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(document["log"]), type=list[RecordedEvent])


def golden(document: dict[str, Any], seq: int) -> list[str]:
    """Return the messages that the request behind an event has always had."""
    return [document["messages"][number] for number in document["requests"][str(seq)]]


def difference(texts: list[str], expected: list[str]) -> str:
    """Describe the message that changed, with both its texts; empty if none did."""
    for number, (text, before) in enumerate(zip(texts, expected, strict=False)):
        if text != before:
            return f"message {number} differs\nbefore: {before}\nnow:    {text}"
    if len(texts) != len(expected):
        return f"there are {len(texts)} messages, before {len(expected)}"
    return ""


@for_each(("name", "seq"), REQUESTS)
def test_the_same_log_gives_the_same_request(name: str, seq: int) -> None:
    """Project from nothing but the log up to an event, as after a restart of the app."""
    document = FILES[name]
    frame = msgspec.convert(document["frame"], PromptFrame)
    transcript = Transcript(log_of(document)[:seq])
    window = project(transcript, policy_from(document["policy"]), frame)
    texts = [msgspec.json.encode(message).decode() for message in window.request.messages]
    problem = difference(texts, golden(document, seq))
    assert not problem, problem


@pytest.mark.parametrize("name", FILES)
def test_a_continued_session_sends_the_same_requests(name: str) -> None:
    """Use one projector over the whole log, and compare after each event."""
    document = FILES[name]
    policy, frame = policy_from(document["policy"]), msgspec.convert(document["frame"], PromptFrame)
    transcript, projector = Transcript(), Projector()
    for recorded in log_of(document):
        transcript.apply(recorded)
        window = projector.project(transcript, policy, frame)
        if str(recorded.seq) in document["requests"]:
            texts = [msgspec.json.encode(message).decode() for message in window.request.messages]
            problem = difference(texts, golden(document, recorded.seq))
            assert not problem, f"behind event {recorded.seq}, {problem}"


def test_every_rewrite_is_covered() -> None:
    """Find each kind of event that changes a window in one of the files."""
    kinds = {row["event"]["kind"] for document in FILES.values() for row in document["log"]}
    assert kinds >= {
        "sweep-made",
        "fold-made",
        "form-chosen",
        "observations-placed",
        "handover-made",
        "pinned",
        "unpinned",
        "undone",
        "redone",
        "turn-retried",
    }


def test_a_changed_message_is_named() -> None:
    """Name the first changed message in a failure."""
    assert difference(["a", "b"], ["a", "b"]) == ""
    assert difference(["a", "x"], ["a", "b"]) == "message 1 differs\nbefore: b\nnow:    x"
    assert difference(["a"], ["a", "b"]) == "there are 1 messages, before 2"
