"""The to-do list: replaced as a whole, echoed back, refused when invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.todo import TodoItem, current_item, parse_items, progress_text
from tests.support.tool_rig import make_call, make_tools

ITEMS = [
    {"content": "read\nit", "status": "done"},
    {"content": "write it", "status": "in_progress"},
    {"content": "run it"},
]


async def test_the_answer_is_the_current_list(tmp_path: Path) -> None:
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
