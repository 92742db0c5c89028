"""A session as a Markdown document."""

from __future__ import annotations

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.words.session_markdown import session_markdown
from helix_desktop.words.times import format_date_and_time
from tests.support.store.builders import START_MS

TIME = format_date_and_time(START_MS)


def document(*events: Event) -> str:
    return session_markdown(
        "A title", [RecordedEvent(n, START_MS, event) for n, event in enumerate(events, 1)]
    )


def answer(text: str, ok: bool = True) -> ToolAnswered:
    """The output of a call on `a.py`."""
    return ToolAnswered("c1", "edit_file", text, "d" * 64, len(text), 1, 1, target="a.py", ok=ok)


def test_messages_calls_and_ends_are_told_in_order() -> None:
    arguments = '{"path": "a.py", "new": "x = 1\\ny = 2", "all": true}'
    call = ToolCall("c1", "edit_file", arguments)
    assert document(
        UserSpoke("Do it.", 1),
        AssistantSpoke("I will.", "p/m", 1, calls=(call,)),
        answer("done\n```\n", ok=False),
        AssistantSpoke("Done.", "p/m", 1),
        TurnEnded("failed", "The server refused.", "No credit."),
    ).split("\n\n") == [
        "# A title",
        f"## You · {TIME}",
        "Do it.",
        f"## Agent · p/m · {TIME}",
        "I will.",
        "### `edit_file a.py`",
        "> Failed",
        '```json\n{\n "all": true\n}\n```',
        "`new`:",
        "```\nx = 1\ny = 2\n```",
        "````\ndone\n```\n````",
        "Done.",
        "> The turn failed. The server refused. No credit.\n",
    ]


def test_what_is_left_out_of_an_output_is_counted() -> None:
    lines = document(answer("line\n" * 100))
    assert (lines.count("line\n"), "> 60 more lines\n" in lines) == (40, True)
    assert document(answer("x" * 5_000)).endswith(
        f"{'x' * 4_000}\n```\n\n> The rest of the line is left out.\n"
    )
    assert "more lines" not in document(answer("line\n" * 40))
