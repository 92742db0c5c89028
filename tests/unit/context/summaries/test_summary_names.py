"""What summaries are called."""

from __future__ import annotations

from helix_desktop.context.summaries.summary_names import compacted_turns
from tests.support.histories import conversation_with


def test_what_is_compacted_is_called_by_the_turns_that_it_replaces() -> None:
    """A turn of which messages still stand is there in part, at either end."""
    transcript = conversation_with(3).transcript
    items = transcript.messages.items
    first = {turn: next(item.seq for item in items if item.turn == turn) for turn in (1, 2, 3)}
    middle = {turn: first[turn] + 4 for turn in first}
    ranges = [
        (0, middle[1]),
        (0, first[2] - 1),
        (0, middle[2]),
        (0, first[3] - 1),
        (0, middle[3]),
        (middle[1], first[2] - 1),
        (middle[1], first[3] - 1),
        (middle[1], middle[2]),
        (middle[1], middle[1] + 2),
    ]
    assert [compacted_turns(transcript, after, upto) for after, upto in ranges] == [
        "start of turn 1",
        "turn 1",
        "turn 1, start of 2",
        "turns 1–2",
        "turns 1–2, start of 3",
        "end of turn 1",
        "end of turn 1 to turn 2",
        "end of turn 1, start of 2",
        "middle of turn 1",
    ]
    assert not compacted_turns(transcript, items[-1].seq, items[-1].seq)
