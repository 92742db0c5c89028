"""What servers send against the protocol, as far as it can be understood: nothing readable is lost.

`read_message` takes a message whose envelope or bytes are not as they should be, `repair_result` what stands
in the result of a request. What remains invalid then is not usable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import TypeAdapter, ValidationError

OTHER_RESULT = "helix-desktop/result"
"""The key of a result that is no object."""
REJECTION = "helix-desktop/rejection"
"""The key of the reason why a tool can't be used, in its `_meta`."""

_INTERNAL_ERROR = -32000
_MAX_DATA_CHARS = 500
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_OPTIONAL_TOOL_FIELDS = ("title", "description", "outputSchema", "annotations", "icons", "_meta", "execution")
_RESULT_FIELDS = ("content", "structuredContent", "isError", "_meta", "resultType")


def read_message(line: bytes) -> JSONRPCMessage | None:
    """Return the message in these bytes; None if it is none, such as text printed by mistake."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        value = json.loads(line.decode("utf-8", "replace"))
        if not isinstance(value, dict) or not ({"method", "result", "error"} & value.keys()):
            return None
        return jsonrpc_message_adapter.validate_python(_envelope(_without_surrogates(value)), by_name=False)
    except (ValueError, RecursionError):
        return None


def repair_json(content: bytes) -> bytes:
    """Return the JSON of a message as the protocol has it; other bytes as they are."""
    message = read_message(content)
    if message is None:
        return content
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _envelope(value: dict[str, Any]) -> dict[str, Any]:
    message = {**value, "jsonrpc": "2.0"}
    if isinstance(message.get("id"), float) and message["id"].is_integer():
        message["id"] = int(message["id"])
    if message.get("error") is None:
        message.pop("error", None)
    if "error" in message:
        message.pop("result", None)
        message["error"] = _error(message["error"])
    elif "result" in message and not isinstance(message["result"], dict):
        message["result"] = {OTHER_RESULT: message["result"]}
    if not isinstance(message.get("params", {}), dict):
        del message["params"]
    return message


def _error(error: Any) -> dict[str, Any]:
    """Return an error with a code and a text, which says what is known where the server gave none."""
    if not isinstance(error, dict):
        return {"code": _INTERNAL_ERROR, "message": error if isinstance(error, str) else json.dumps(error)}
    code, words = error.get("code"), error.get("message")
    if not isinstance(words, str) or not words.strip():
        rest = {key: part for key, part in error.items() if part is not None}
        words = f"The error has no text: {json.dumps(rest, ensure_ascii=False)[:_MAX_DATA_CHARS]}"
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return {**error, "code": code if is_code else _INTERNAL_ERROR, "message": words}


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            if not _SURROGATE.search(value):
                return value
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_without_surrogates(key): _without_surrogates(part) for key, part in value.items()}
        case list():
            return [_without_surrogates(part) for part in value]
    return value


def repair_result(method: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request as the protocol has it, as far as it can be read."""
    match method:
        case "tools/call":
            return _call_result(dict(result))
        case "tools/list":
            return _tool_list(dict(result))
        case "initialize":
            return _opening(dict(result))
    return dict(result)


def plain_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a call with everything in it as text."""
    words = json.dumps(result, ensure_ascii=False, indent=1)
    return {"content": [{"type": "text", "text": words}], "isError": bool(result.get("isError"))}


def _call_result(result: dict[str, Any]) -> dict[str, Any]:
    for plain, field in (("structured_content", "structuredContent"), ("is_error", "isError")):
        if plain in result:
            result.setdefault(field, result.pop(plain))
    if result.get("resultType") not in (None, "complete"):
        return result  # a question of the server
    repaired = {key: part for key, part in result.items() if key in _RESULT_FIELDS and part is not None}
    others = {key: part for key, part in result.items() if key not in _RESULT_FIELDS and part is not None}
    content = result.get("content")
    listed = content if isinstance(content, list) else [] if content is None else [content]
    blocks = [_block(item) for item in listed if item is not None]
    if OTHER_RESULT in others and (other := others.pop(OTHER_RESULT)) is not None:
        blocks += [_block(item) for item in (other if isinstance(other, list) else [other])]
    if not isinstance(repaired.get("structuredContent", {}), dict):
        others["structuredContent"] = repaired.pop("structuredContent")
    if others:
        blocks.append(_text_block(others))
    repaired["content"] = blocks
    if "isError" in repaired:
        repaired["isError"] = str(repaired["isError"]).lower() not in ("false", "0", "")
    if not isinstance(repaired.get("_meta", {}), dict):
        del repaired["_meta"]
    return repaired


def _block(item: Any) -> dict[str, Any]:
    """Return a block of content; one of an unknown kind as its text, or as JSON."""
    if isinstance(item, dict):
        try:
            _BLOCK.validate_python(item, by_name=False)
            return item
        except ValidationError:
            words = item.get("text")
            if isinstance(words, str) and item.get("type") in (None, "text"):
                return _text_block(words)
    return _text_block(item)


def _text_block(value: Any) -> dict[str, Any]:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return {"type": "text", "text": words}


def _tool_list(result: dict[str, Any]) -> dict[str, Any]:
    if isinstance(result.get(OTHER_RESULT), list):
        result = {"tools": result[OTHER_RESULT]}
    listed = result.get("tools")
    if not isinstance(result.get("nextCursor", ""), str):
        del result["nextCursor"]
    if isinstance(listed, dict):  # by name
        listed = [{"name": name, **tool} for name, tool in listed.items() if isinstance(tool, dict)]
    if listed is None or isinstance(listed, list):
        result["tools"] = [_tool(tool, number) for number, tool in enumerate(listed or (), 1)]
    return result


def _tool(tool: Any, number: int) -> dict[str, Any]:
    """Return a tool as the protocol has it; one that can't be used with the reason for it."""
    fields = tool if isinstance(tool, dict) else {}
    name = fields.get("name")
    repaired = {key: part for key, part in fields.items() if part is not None and key != REJECTION}
    schema = fields.get("inputSchema", fields.get("input_schema", fields.get("parameters")))
    rejection = ""
    if not isinstance(name, str) or not name:
        repaired["name"], rejection = f"tool {number}", "It has no name."
    elif schema is not None and not isinstance(schema, dict):
        rejection = "Its schema isn't a JSON object."
    elif isinstance(schema, dict) and not _may_be_object(schema.get("type")):
        rejection = "Its schema isn't that of an object."
    repaired["inputSchema"] = {**schema, "type": "object"} if isinstance(schema, dict) else {"type": "object"}
    for field in _OPTIONAL_TOOL_FIELDS:
        if field in repaired and not _is_valid_field(field, repaired[field]):
            del repaired[field]
    if rejection:
        repaired["_meta"] = {REJECTION: rejection}
    return repaired


def _may_be_object(kind: Any) -> bool:
    return kind is None or kind in ("object", "dict", "any") or (isinstance(kind, list) and "object" in kind)


def _is_valid_field(field: str, value: Any) -> bool:
    try:
        types.Tool.model_validate(
            {"name": "x", "inputSchema": {"type": "object"}, field: value}, by_name=False
        )
    except ValidationError:
        return False
    return field != "outputSchema" or (isinstance(value, dict) and value.get("type") == "object")


def _opening(result: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(result.get("capabilities"), dict):
        result["capabilities"] = {}
    server = result.get("serverInfo")
    server_info = server if isinstance(server, dict) else {}
    names = {
        key: str(server_info[key]) if server_info.get(key) is not None else "" for key in ("name", "version")
    }
    result["serverInfo"] = names
    if not isinstance(result.get("instructions", ""), str):
        del result["instructions"]
    return result
