"""The to-do list: replaced as a whole, echoed back, refused when invalid."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.todo import (
    TodoItem,
    TodoStatus,
    changes_text,
    current_item,
    parse_items,
    progress_text,
)
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import Todo
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_call, make_tools

ITEMS = [
    {"content": "read\nit", "status": "done"},
    {"content": "write it", "status": "in_progress"},
    {"content": "run it"},
]


async def test_a_new_list_is_answered_whole(tmp_path: Path) -> None:
    box, call = make_tools(tmp_path), make_call("todo", items=ITEMS)
    assert await box.approval(call) is None
    result = await box.run(call)
    assert result.content.decode() == "Todo list, 1 of 3 done:\n[x] read it\n[>] write it\n[ ] run it\n"
    assert result.target == "1 of 3 done"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "wrong arguments"),
        ([{"content": " "}], "empty"),
        ([{"content": "x" * 301}], "over 300"),
        ([{"content": "x", "status": "began"}], "wrong arguments"),
        ([{"content": "x"}] * 51, "wrong arguments"),
        ([{"content": "x", "status": "in_progress"}] * 2, "More than one"),
    ],
)
async def test_an_invalid_list_is_refused(tmp_path: Path, items: list[object], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        await make_tools(tmp_path).run(make_call("todo", items=items))


def test_the_user_sees_what_the_call_wrote() -> None:
    items = parse_items(make_call("todo", items=ITEMS).arguments)
    assert items[2] == TodoItem("run it")
    assert (progress_text(items), current_item(items)) == ("1 of 3", "write it")
    assert current_item(items[2:]) == "run it"
    assert current_item(items[:1]) == ""


@pytest.mark.parametrize("arguments", ["", "{", "[]", '{"items": 3}', '{"items": [{"text": "x"}]}', "\udcff"])
def test_invalid_arguments_give_no_list(arguments: str) -> None:
    assert parse_items(arguments) == ()


def listed(*statuses: TodoStatus) -> tuple[TodoItem, ...]:
    """A list of items `a`, `b` and so on with these statuses."""
    return tuple(TodoItem(name, status) for name, status in zip("abcdefgh", statuses, strict=False))


@pytest.mark.parametrize(
    ("previous", "items", "line"),
    [
        (
            listed("done", "in_progress", "pending"),
            listed("done", "done", "in_progress"),
            "Todo: 2 of 3 done; done: b; now: c",
        ),
        (listed("done", "in_progress"), listed("done", "done"), "Todo: 2 of 2 done; done: b"),
        (listed("done", "pending"), listed("done", "in_progress"), "Todo: 1 of 2 done; now: b"),
        (listed("done", "done"), listed("done", "pending"), "Todo: 1 of 2 done; again open: b; now: b"),
        (
            (TodoItem("x"), TodoItem("y")),
            (TodoItem("y"), TodoItem("z")),
            "Todo: 0 of 2 done; new: z; dropped: x; now: y",
        ),
        (tuple(map(TodoItem, "abcd")), tuple(TodoItem(name, "done") for name in "abcd"), ""),
    ],
)
def test_a_change_takes_one_line_and_many_changes_the_list(
    previous: tuple[TodoItem, ...], items: tuple[TodoItem, ...], line: str
) -> None:
    assert changes_text(previous, items) == line


async def test_a_list_of_before_makes_the_answer_one_line() -> None:
    """The newest that was taken: not one that was refused, and not the call itself."""
    transcript = Transcript()

    def record(event: Event) -> None:
        transcript.apply(RecordedEvent(transcript.last_seq + 1, 1, event))

    def call(number: int, items: list[dict[str, str]]) -> ToolCall:
        return ToolCall(f"c{number}", "todo", json.dumps({"items": items}))

    @dataclass
    class Caller:
        id: str
        transcript: Transcript

    record(SessionStarted("Tides"))
    record(AssistantSpoke("", "m", 1, (call(1, ITEMS),)))
    record(ToolAnswered("c1", "todo", "", "", 0, 1, 1))
    record(AssistantSpoke("", "m", 1, (call(2, [{"content": ""}]),)))
    record(ToolAnswered("c2", "todo", "", "", 0, 1, 1, ok=False))
    done = [*ITEMS[:1], {"content": "write it", "status": "done"}, {"content": "run it"}]
    record(AssistantSpoke("", "m", 1, (call(3, done),)))
    result = await ToolRegistry([Todo(Caller("s", transcript))], DESCRIPTIONS_DIR).run(call(3, done))
    assert result.content.decode() == "Todo: 2 of 3 done; done: write it; now: run it\n"
    assert result.target == "2 of 3 done"
