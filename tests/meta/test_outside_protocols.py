"""The interface for other processes and models: calls and errors on the wire, tools and their schemas."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from helix_desktop.agent.subagents import delegate_spec
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.intake.marker import marker
from helix_desktop.domain import errors
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ToolResult
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.main import main
from helix_desktop.mcp.cache_server import cache_server
from helix_desktop.mcp.client.exposed_tool import exposed_name
from helix_desktop.services.tool_service import WebFetcher, resolve
from helix_desktop.store.remote.rpc import (
    ENDPOINT_FILE,
    METHODS,
    PROTOCOL_VERSION,
    Challenge,
    ClientProof,
    OwnerEndpoint,
    OwnerProof,
    RpcAnswer,
    RpcError,
    RpcRequest,
    encode_frame,
    encode_progress,
    from_rpc_error,
    to_rpc_error,
)
from helix_desktop.system.exit_codes import TERMINATED
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import ToolGrants, parse_description, spec_of
from helix_desktop.tools.workspace_tools import cache_tool_specs
from tests.support.interface_golden import (
    Rows,
    assert_matches_golden,
    document_shape,
    fields_of_type,
    to_json,
)
from tests.support.store.builders import WORKSPACE
from tests.support.tool_rig import make_tools

DESCRIPTIONS = resources_dir() / "prompts" / "tools"
PROCESSES = "Processes of another version on the same store"
MODELS = "Models, rules that people saved, and other programs"

WIRE: dict[str, Any] = {
    "a request": RpcRequest,
    "an answer": RpcAnswer,
    "an error": RpcError,
    "the first words of an owner": Challenge,
    "the answer of a guest": ClientProof,
    "the welcome of an owner": OwnerProof,
    "the address of an owner": OwnerEndpoint,
}
"""What crosses between two processes, by what it is there."""
NESTED = frozenset({"properties", "items", "description"})
"""What of a schema has rows of its own, or is meant for reading alone."""
TOOLS_OF_SERVERS = (("files", "read"), ("a-b", "get.it"), ("files", "x" * 80), ("s", ""))


def test_calls_between_processes() -> None:
    now: dict[str, Rows] = {}
    for name, call in METHODS.items():
        now[name] = {f"argument {place}": text for place, text in fields_of_type(call.args_type).items()} | {
            f"result {place}": text for place, text in fields_of_type(call.result_type).items()
        }
        assert call.request("x").decode(RpcRequest).method == name
    assert_matches_golden("calls", now, PROCESSES)


def test_frames_between_processes() -> None:
    now = {name: fields_of_type(kind) for name, kind in WIRE.items()}
    now["a frame"] = {
        "version": str(PROTOCOL_VERSION),
        "msgpack": encode_frame((1, "x")).encode_head(7).hex(),
        "JSON": encode_frame(2**70).encode_head(7).hex(),
        "how far it is": encode_progress(1, 2).encode_head(7).hex(),
    }
    now["the address of an owner"]["(file)"] = ENDPOINT_FILE
    assert_matches_golden("frames", now, PROCESSES)


def test_errors_between_processes() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    kinds = [kind for kind in classes if issubclass(kind, HelixError)]
    names = sorted({_name_on_the_wire(kind) for kind in kinds} | {to_rpc_error(ValueError("x")).kind})
    now = {name: {"read as": _read(name)} for name in [*names, "of a later version"]}
    assert_matches_golden("errors", now, PROCESSES)


def _name_on_the_wire(kind: type[HelixError]) -> str:
    parameters = inspect.signature(kind).parameters.values()
    needed = [verbatim("x") for each in parameters if each.default is each.empty]
    try:
        error: HelixError = kind(*needed)
    except (KeyError, TypeError, ValueError):
        error = kind.__new__(kind)
        HelixError.__init__(error, verbatim("x"))
    return to_rpc_error(error).kind


def _read(name: str) -> str:
    """Return the error of this name on the receiving side, with its message."""
    fault = to_rpc_error(from_rpc_error(RpcError(name, "what", "why", "fix", ("near",), 7)))
    return to_json(fault)


def test_tools_of_the_agent(tmp_path: Path) -> None:
    toolbox = make_tools(tmp_path, current_grants=lambda: ToolGrants(fetch=True), web=(WebFetcher(), resolve))
    text = (DESCRIPTIONS / "delegate.md").read_text(encoding="utf-8")
    specs = [*toolbox.specs, delegate_spec(*parse_description(text))]
    specs += [spec_of(tool, DESCRIPTIONS) for tool in (FindTools, CallTool)]
    assert_matches_golden("tools", {spec.name: _schema(spec.parameters) for spec in specs}, MODELS)
    names = {f"{server} {tool}": exposed_name(server, tool) for server, tool in TOOLS_OF_SERVERS}
    stand_in = {"marker": marker("a" * 64, "read_file", "src/app.py", 2048, "import os")}
    assert_matches_golden("tool_names", {"tools of MCP servers": names, "cached outputs": stand_in}, MODELS)


def _schema(schema: dict[str, Any], path: str = "") -> Rows:
    """Return a row for each argument; of its description only whether there is one."""
    rows = {path or "(whole)": to_json({name: schema[name] for name in sorted(schema) if name not in NESTED})}
    for name, inner in schema.get("properties", {}).items():
        rows |= _schema(inner, f"{path}.{name}".removeprefix("."))
        rows[f"{path}.{name}".removeprefix(".")] += "" if "description" in inner else " without a description"
    if "items" in schema:
        rows |= _schema(schema["items"], f"{path}[]")
    return rows


class _ListedTools:
    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return cache_tool_specs(DESCRIPTIONS)

    async def run(self, call: ToolCall) -> ToolResult:
        raise HelixError(verbatim(f"{call.name} is not called here."))


async def test_tools_that_are_served() -> None:
    async with Client(cache_server(_ListedTools(), "proj", "1.0")) as client:
        assert client.server_info is not None
        server = {"name": client.server_info.name, "title": str(client.server_info.title)}
        listed = (await client.list_tools()).tools
    now: dict[str, Rows] = {"the server": {**server, "order": ", ".join(tool.name for tool in listed)}}
    for tool in listed:
        hints = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
        now[tool.name] = {"(title)": str(tool.title), "(hints)": to_json(hints), **_schema(tool.input_schema)}
    assert_matches_golden("served_tools", now, MODELS)


class _Reader(io.StringIO):
    """A reader of standard output that ends the server after the first line."""

    def flush(self) -> None:
        with contextlib.suppress(RuntimeError):  # no loop runs any more
            for task in asyncio.all_tasks():
                task.cancel()


@pytest.mark.expect_errors("CancelledError")  # the server's library logs how it ended
def test_the_line_of_a_server_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that programs read to reach the cache: with a token only when it is a new one."""
    place = tmp_path / "data" / "workspaces" / WORKSPACE
    place.mkdir(parents=True)
    (tmp_path / "ws").mkdir()
    text = f"path = {json.dumps(str(tmp_path / 'ws'))}\nname = 'ws'\n"
    (place / "workspace.toml").write_text(text, encoding="utf-8")
    now: dict[str, Rows] = {}
    for name, token in (("with a new token", ""), ("with the token of a variable", "0123456789abcdef")):
        monkeypatch.setenv("HELIX_MCP_TOKEN", token)
        reader = _Reader()
        monkeypatch.setattr(sys, "stdout", reader)
        words = ["mcp", "--http", "--data-dir", str(tmp_path / "data"), "--workspace", str(tmp_path / "ws")]
        assert main(words) == TERMINATED
        now[name] = document_shape(json.loads(reader.getvalue()))
    assert_matches_golden("served_line", now, "Programs that start the server")
