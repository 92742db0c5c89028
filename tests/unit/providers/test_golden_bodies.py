"""The bodies of twenty turns, as they are sent to a server that refuses nothing: the same bytes for ever.

Each turn has reasoning, a call with an id of the server, and every third a picture; requests ask for the
provider's cache. `HELIX_WRITE_GOLDEN=1 pytest` on this file writes them again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import (
    CacheHints,
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ToolSpec,
)
from helix_desktop.providers.dialect import Dialect
from helix_desktop.providers.model_factory import DIALECTS
from tests.support.image_bytes import image_and_bytes
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE

FILE = Path(__file__).parents[2] / "golden" / "bodies.json"
TURNS = 20

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSpec("read_file", "Read a file.", SCHEMA), ToolSpec("view_image", "Look at an image.", SCHEMA))


def whole_answer(name: DialectName, turn: int) -> dict[str, Any]:
    """Return the answer of one turn as its server would send it at once."""
    arguments = json.dumps({"path": f"file_{turn}.txt"})
    thought = f"Thinking of file {turn}."
    words = f"I read file {turn}." if turn % 4 else ""
    if name == "openai-chat":
        call = {
            "id": f"call_{turn:040d}" if turn % 5 == 0 else f"call_{turn}",
            "type": "function",
            "function": {"name": "read_file", "arguments": arguments},
            "extra_content": {"google": {"thought_signature": f"SIG{turn}"}},
        }
        details = [{"type": "reasoning.text", "text": thought, "index": 0}]
        message = {"content": words, "reasoning_content": thought, "reasoning_details": details}
        return {"choices": [{"finish_reason": "tool_calls", "message": {**message, "tool_calls": [call]}}]}
    if name == "anthropic":
        thinking = {"type": "thinking", "thinking": thought, "signature": f"SIG{turn}"}
        use = {"type": "tool_use", "id": f"toolu_{turn}", "name": "read_file", "input": json.loads(arguments)}
        text = [{"type": "text", "text": words}] if words else []
        return {"content": [thinking, *text, use], "stop_reason": "tool_use"}
    reasoning = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": f"ENC{turn}"}
    part = {"type": "output_text", "text": words, "annotations": []}
    said = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [part]}
    function = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": "read_file"}
    call = {**function, "arguments": arguments, "status": "completed"}
    return {"status": "completed", "output": [reasoning, *([said] if words else []), call]}


def answered(dialect: Dialect, name: DialectName, request: ModelRequest, turn: int) -> ModelResponse:
    assembler = dialect.exchange(request).new_assembler()
    assembler.add_full_response(whole_answer(name, turn))
    return assembler.answer()


def bodies_of(name: DialectName) -> list[bytes]:
    """Return the body of each of twenty turns."""
    model = "claude-4" if name == "anthropic" else "m"
    dialect = DIALECTS[name](ModelInfo("here", model), lambda: "made")
    messages = [Message("system", "You are an agent."), Message("user", "Read the files.")]
    image_data: dict[str, bytes] = {}
    bodies: list[bytes] = []
    for turn in range(TURNS):
        cache = CacheHints(key="workspace-1", ends=(2, len(messages)), keep_long=turn % 2 == 0)
        request = ModelRequest(tuple(messages), TOOLS, dict(image_data), cache, "high" if turn > 9 else "")
        bodies.append(dialect.exchange(request).body())
        answer = answered(dialect, name, request, turn)
        messages.append(Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim))
        images: tuple[Image, ...] = ()
        if turn % 3 == 0:
            image, content = image_and_bytes(f"{turn}.png", turn)
            image_data[image.digest] = content
            images = (image,)
        call = answer.calls[0]
        messages.append(Message("tool", f"Line {turn}", call_id=call.id, name=call.name, images=images))
        if turn % 2:
            messages.append(Message("user", f"Go on with {turn}."))
    return bodies


def document_of(name: DialectName) -> Mapping[str, Any]:
    bodies = bodies_of(name)
    return {"sha256": [sha256(body).hexdigest() for body in bodies], "newest": bodies[-1].decode()}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_server_that_refuses_nothing_gets_the_same_bytes(name: DialectName) -> None:
    golden = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        golden[name] = document_of(name)
        FILE.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert document_of(name) == golden[name]


@pytest.mark.parametrize("name", DIALECTS)
def test_the_bodies_have_what_a_server_may_refuse(name: DialectName) -> None:
    newest = bodies_of(name)[-1].decode()
    of_each = ["base64", "Thinking of file 0" if name != "openai-responses" else "ENC0", "cache"]
    assert [word for word in of_each if word not in newest] == []
