"""The parts of a note have the tokens of the whole text, and those of its messages are known beforehand."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.anchors import note_parts, parts_of_message
from helix_desktop.context.rewrites.fold import render_fold_note
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.replay.token_counters import MessageTokenCounter

BREAKS = ["\n", "\r\n", "\n\n", "\ndid: ", "\n[Names ", " ", "  ", "\t", "\x1c", "\u2028", "\u00a0"]
PIECES = ["/", "./a", "word", "Wort's", "'s", "12345", ")", ");", ",", "e7:", "#!", "é", "e\u0301", "漢", "²"]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["", "[", "did: "]),
    st.lists(st.sampled_from([" ", *BREAKS, *PIECES]) | st.text(max_size=4), max_size=14).map("".join),
)
@example("did ", "e22-e25:é")
@example("did e", "2-e25: é")
@example("[", "Names e7:7-é't")
@example("did: ", "a.b,é c)\n/d")
@example("[", "Names -\n/e7:")
def test_the_parts_of_a_text_have_its_tokens(start: str, text: str) -> None:
    counter = MessageTokenCounter.bundled()
    parts = note_parts(start + text)
    assert "".join(parts) == start + text
    assert sum(map(counter.text_tokens, parts)) == counter.text_tokens(start + text)


def test_most_parts_of_a_note_are_parts_of_its_messages() -> None:
    """All but those of the header: a call has the same words wherever it stands in a line."""
    events: tuple[Event, ...] = (
        UserSpoke("Mend the importer.\n\n/etc is another matter.", 8),
        AssistantSpoke("I read it first.\nThen I change it.", "m", 9, ()),
        ToolAnswered("c1", "read_file", "text " * 80, "a" * 64, 5_000, 9, 2, target="src/importer.py"),
        ToolAnswered("c2", "run_command", "ok", "", 2, 1, 1, target="pytest -q", exit_code=1, ok=False),
    )
    items = Transcript(RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)).messages.items
    of_messages = {part for item in items for part in parts_of_message(item)}
    header, _, lines = f"{render_fold_note(items, 'b' * 64, 2)}\n".partition("\n")
    assert set(note_parts(lines)) - of_messages <= {";", "-e"}
    assert len(set(note_parts(header)) - of_messages) > 1
