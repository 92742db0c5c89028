"""Each tool is described once; a tool that is not, or whose texts are missing, is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.domain.files.file_use import file_use
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.own_tools import OWN_TOOLS
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import Arguments, Tool, UnguardedTool
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_tools


def _tools(kind: Any) -> set[str]:
    own = {kind.name} if "name" in kind.__dict__ else set()
    return own.union(*map(_tools, kind.__subclasses__()))


def test_every_tool_is_described_offered_and_has_its_text(tmp_path: Path) -> None:
    offered = {spec.name for spec in make_tools(tmp_path).specs}
    assert _tools(Tool) | {DELEGATE} == OWN_TOOLS.keys()
    others = {DELEGATE, FindTools.name, CallTool.name, "fetch_url"}  # with subagents, many tools, the web
    assert offered | others == OWN_TOOLS.keys()
    assert {path.stem.removesuffix("-windows") for path in DESCRIPTIONS_DIR.glob("*.md")} == OWN_TOOLS.keys()


def test_a_tool_without_a_description_is_named() -> None:
    with pytest.raises(TypeError, match=r"count_words is not described in domain/own_tools\.py"):

        class _CountWords(UnguardedTool[Arguments]):
            name = "count_words"
            arguments_type = Arguments


@pytest.mark.parametrize("name", [name for name, tool in OWN_TOOLS.items() if tool.kind != "other"])
def test_what_a_call_does_with_files_is_as_described(name: str) -> None:
    """Also where the words in the name of a tool say nothing, or something else."""
    kind = OWN_TOOLS[name].kind
    use = file_use(ToolCall("c1", name, '{"path": "src/a.py"}'))
    assert (use.action if use is not None else "") == (kind if kind in ("read", "write", "edit") else "")
