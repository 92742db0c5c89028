"""The entries of calls in a fold's note: where to recall what the note leaves out."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.fold import render_fold_note
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent

HASH = "a" * 64
SMALL = ToolAnswered("c", "read_file", "out", HASH, 3, 5, 60, target="a.py")
LARGE = ToolAnswered("c", "read_file", "out", HASH, 9_000, 5, 60, target="b.py")
LONG = ToolAnswered("c", "run_command", "line\n" * 90, HASH, 450, 5, 60, target="git log")
UNSTORED = ToolAnswered("c", "run_command", "line\n" * 90, "", 450, 5, 60, target="git log")
WITH_ARROW = msgspec.structs.replace(LONG, target="echo 'a → b'")
FAILED = ToolAnswered("c", "edit_file", "no such line\n" * 30, HASH, 390, 5, 60, target="a.py", ok=False)
EDITED = ToolAnswered("c", "edit_file", "Edited, and so on.", HASH, 18, 5, 60, target="a.py")


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ((SMALL, EDITED), "did: read_file a.py → out; edit_file a.py"),
        ((LARGE,), "did e3: read_file b.py 8K"),
        ((SMALL, LARGE), "did e3-e4: read_file a.py → out, b.py 8K"),
        ((LONG,), "did e3: run_command git log"),
        ((WITH_ARROW,), "did e3: run_command echo 'a → b'"),
        ((FAILED,), "did e3: edit_file a.py failed"),
        ((UNSTORED,), "did: run_command git log"),
    ],
)
def test_calls_name_the_entries_that_have_more_than_the_note(
    answers: tuple[ToolAnswered, ...], line: str
) -> None:
    """What a line says whole, or a change that went well, leaves nothing to recall."""
    events: tuple[Event, ...] = (UserSpoke("Go.", 1), AssistantSpoke("I look.", "m", 1), *answers)
    transcript = Transcript(RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1))
    assert render_fold_note(transcript.messages.items, HASH, 2).splitlines()[-1] == line
