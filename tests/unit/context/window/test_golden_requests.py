"""Requests are a promise: the log of a released version gives the same messages, byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import policy_from
from helix_desktop.context.window.window import Projector, PromptFrame, project
from helix_desktop.domain.events.recorded_event import RecordedEvent
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE

FOLDER = Path(__file__).parents[3] / "golden" / "requests"
# Sessions as they are stored, and the messages of each request, those that several send once.
FILES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_log_gives_the_same_requests(name: str) -> None:
    """From the log up to an event alone, as after a restart, and with one projector over the whole session.

    `HELIX_WRITE_GOLDEN=1 pytest` on this file writes the messages again where a request is meant to change.
    """
    document = FILES[name]
    policy = policy_from(document["policy"])
    frame = msgspec.convert(document["frame"], PromptFrame)
    log = msgspec.msgpack.decode(msgspec.msgpack.encode(document["log"]), type=list[RecordedEvent])
    transcript = Transcript()
    projector = Projector()
    sent: dict[str, list[str]] = {}
    for recorded in log:
        transcript.apply(recorded)
        request = projector.project(transcript, policy, frame).request
        if str(recorded.seq) in document["requests"]:
            assert request == project(Transcript(log[: recorded.seq]), policy, frame).request
            sent[str(recorded.seq)] = [msgspec.json.encode(message).decode() for message in request.messages]
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        numbers: dict[str, int] = {}
        document["requests"] = {
            seq: [numbers.setdefault(text, len(numbers)) for text in texts] for seq, texts in sent.items()
        }
        document["messages"] = list(numbers)
        (FOLDER / f"{name}.json").write_text(file_text(document), encoding="utf-8")
    for seq, texts in sent.items():
        expected = [document["messages"][number] for number in document["requests"][seq]]
        assert texts == expected, f"behind event {seq}"


def file_text(document: dict[str, Any]) -> str:
    """The document with a line for each event, message and request."""
    parts = []
    for name, part in document.items():
        if name in ("log", "messages"):
            rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in part)
            parts.append(f'"{name}": [\n{rows}\n]')
        elif name == "requests":
            rows = ",\n".join(f'"{seq}": {json.dumps(numbers)}' for seq, numbers in part.items())
            parts.append(f'"{name}": {{\n{rows}\n}}')
        else:
            parts.append(f'"{name}": {json.dumps(part, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def test_every_rewrite_is_covered() -> None:
    """Find each kind of event that changes a window in one of the files."""
    kinds = {row["event"]["kind"] for document in FILES.values() for row in document["log"]}
    assert kinds >= {
        *("sweep-made", "fold-made", "form-chosen", "observations-placed", "handover-made"),
        *("pinned", "unpinned", "undone", "redone", "turn-retried"),
    }
