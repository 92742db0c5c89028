"""Each tool is described once; a tool that is not, or whose texts are missing, is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.files.file_use import file_use
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tool_arguments import Arguments, schema
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import Tool, UnguardedTool
from tests.support.tables import for_each
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_tools


def _tools(kind: Any) -> dict[str, type[Tool[Any]]]:
    own = {kind.name: kind} if "name" in kind.__dict__ else {}
    return own | {name: tool for below in kind.__subclasses__() for name, tool in _tools(below).items()}


def _arguments(of: dict[str, Any]) -> Any:
    """Return arguments that a schema allows, the path of a file wherever a text may be."""
    match of.get("type"):
        case "object":
            return {name: _arguments(part) for name, part in of.get("properties", {}).items()}
        case "array":
            return [_arguments(of["items"])]
        case "integer":
            return of.get("minimum", 1)
        case "boolean":
            return False
    return of.get("enum", ["src/a.py"])[0]


def test_every_tool_is_described_offered_and_has_its_text(tmp_path: Path) -> None:
    offered = {spec.name for spec in make_tools(tmp_path).specs}
    assert _tools(Tool).keys() | {DELEGATE} == BUILTIN_TOOLS.keys()
    others = {DELEGATE, FindTools.name, CallTool.name, "fetch_url"}  # with subagents, many tools, the web
    assert offered | others == BUILTIN_TOOLS.keys()
    assert {
        path.stem.removesuffix("-windows") for path in DESCRIPTIONS_DIR.glob("*.md")
    } == BUILTIN_TOOLS.keys()


def test_a_tool_without_a_description_is_named() -> None:
    with pytest.raises(TypeError, match=r"count_words is not described in domain/builtin_tools\.py"):

        class _CountWords(UnguardedTool[Arguments]):
            name = "count_words"
            arguments_type = Arguments


@for_each("name", [name for name in BUILTIN_TOOLS if name not in (DELEGATE, "run_command")])
def test_what_a_call_does_with_files_is_as_described(name: str) -> None:
    """By the arguments that the tool has: a new one whose file `file_use` would not see is named."""
    builtin, tool = BUILTIN_TOOLS[name], _tools(Tool)[name]
    use = file_use(ToolCall("c1", name, json.dumps(_arguments(schema(tool.arguments_type, {})))))
    if builtin.kind in ("write", "edit") or builtin.shows_lines:
        assert use is not None, f"{name}: no argument of it is one that file_use.py takes for a file's path"
        assert (use.action, use.paths) == (builtin.kind, ("src/a.py",))
    else:
        assert use is None
