"""What servers send against the protocol, as far as it can be understood: nothing readable is lost.

`read_messages` takes messages whose envelope or bytes are not as they should be, `repair_result` what stands
in the result of a request. What remains invalid then is not usable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp_types import JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, OLDEST_SUPPORTED_VERSION
from pydantic import TypeAdapter, ValidationError

from helix_desktop.mcp.client.exposed_tool import REJECTION

OTHER_RESULT = "helix-desktop/result"
"""The key of a result that is no object."""

_INTERNAL_ERROR = -32000
_MAX_DATA_CHARS = 500
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]+=*\s*")
_COLOR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
"""What a logger of the server may put around a line; within JSON such a byte is invalid."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_WORDS_FIELDS = ("text", "markdown", "html", "message")
"""Fields of an unknown block that hold its words."""
_BYTES_FIELDS = frozenset({"data", "blob", "bytes", "base64"})
_OPTIONAL_TOOL_FIELDS = ("title", "description", "outputSchema", "annotations", "icons", "_meta", "execution")
_RESULT_FIELDS = ("content", "structuredContent", "isError", "_meta", "resultType")


def read_messages(line: bytes, request_id: int | str | None = None) -> list[JSONRPCMessage]:
    """Return the message in these bytes, or those of a batch; none of what is text printed by mistake.

    `request_id` is the id of the request that a reply without an id answers; None: that is not known.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        # A request may be a reply that repeats it, an error may lack the id.
        if not isinstance(message, JSONRPCRequest) and getattr(message, "id", 0) is not None:
            return [message]
    except ValueError:
        pass
    try:
        value = json.loads(_COLOR.sub(b"", line).decode("utf-8-sig", "replace"))
        batch = value if isinstance(value, list) else [value]
        envelopes = [_envelope(_without_surrogates(item), request_id) for item in batch if _is_message(item)]
        return [jsonrpc_message_adapter.validate_python(envelope, by_name=False) for envelope in envelopes]
    except (ValueError, RecursionError):
        return []


def repair_json(content: bytes, request_id: int | str | None = None) -> bytes:
    """Return the JSON of a message as the protocol has it; other bytes, and batches, as they are."""
    match read_messages(content, request_id):
        case [message]:
            return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    return content


def _is_message(value: Any) -> bool:
    """Return True if a value is a message or was meant as one: a program may log in JSON too."""
    if not isinstance(value, dict):
        return False
    is_reply = "id" in value and ("jsonrpc" in value or value.keys() <= {"id", "result", "error"})
    return is_reply or bool({"method", "result", "error"} & value.keys())


def _envelope(value: dict[str, Any], request_id: int | str | None) -> dict[str, Any]:
    message = {**value, "jsonrpc": "2.0"}
    if isinstance(message.get("id"), float) and message["id"].is_integer():
        message["id"] = int(message["id"])
    if message.get("error") is None:
        message.pop("error", None)
    if "error" in message or "result" in message:
        message.pop("method", None)  # repeated from the request
    if "method" not in message:
        if message.get("id") is None and request_id is not None:
            message["id"] = request_id
        message = _reply(message)
    elif message.get("id", 0) is None:
        del message["id"]
    if not isinstance(message.get("params", {}), dict):
        del message["params"]
    return message


def _reply(message: dict[str, Any]) -> dict[str, Any]:
    envelope: dict[str, Any] = {key: message.pop(key) for key in ("jsonrpc", "id") if key in message}
    message.pop("params", None)
    if "error" in message:
        return {**envelope, "error": _error(message["error"])}
    result = message.get("result", message or None)  # some put the result's fields beside the id
    if result is None and "result" not in message:
        words = "It replied with neither a result nor an error."
        return {**envelope, "error": {"code": _INTERNAL_ERROR, "message": words}}
    return {**envelope, "result": result if isinstance(result, dict) else {OTHER_RESULT: result}}


def _error(error: Any) -> dict[str, Any]:
    """Return an error with a code and a text, which says what is known where the server gave none."""
    if not isinstance(error, dict):
        return {"code": _INTERNAL_ERROR, "message": error if isinstance(error, str) else json.dumps(error)}
    code = error.get("code")
    words = error.get("message")
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
    match method:
        case "tools/call":
            return _call_result(dict(result))
        case "tools/list":
            return _tool_list(dict(result))
        case "initialize":
            return _opening(dict(result))
    return dict(result)


def plain_result(result: Mapping[str, Any], is_valid: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the result of a call with what is not valid in it as text.

    `is_valid` says whether the protocol that was agreed on has such a result.
    """
    frame = {"isError": bool(result.get("isError")), "resultType": "complete"}

    def fits(**fields: Any) -> bool:
        return is_valid({**frame, "content": [], **fields})

    blocks = [block if fits(content=[block]) else _text_block(block) for block in result.get("content", ())]
    structure = result.get("structuredContent")
    if structure is not None and not fits(structuredContent=structure):
        return {**frame, "content": [*blocks, _text_block(structure)]}
    return {**frame, "content": blocks, **({} if structure is None else {"structuredContent": structure})}


def _call_result(result: dict[str, Any]) -> dict[str, Any]:
    for plain, field in (("structured_content", "structuredContent"), ("is_error", "isError")):
        if plain in result:
            result.setdefault(field, result.pop(plain))
    if result.get("resultType") not in (None, "complete"):
        return result  # a question of the server
    repaired = {key: part for key, part in result.items() if key in _RESULT_FIELDS and part is not None}
    others = {key: part for key, part in result.items() if key not in _RESULT_FIELDS and part is not None}
    content = result.get("content")
    listed = content if isinstance(content, list) else [content]
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
    repaired["resultType"] = "complete"
    return repaired


def _block(item: Any) -> dict[str, Any]:
    """Return a block of content as the protocol has it; one of an unknown kind as text."""
    if not isinstance(item, dict):
        return _text_block(item)
    candidates = (item, _plain_block(item))
    return next((block for block in candidates if block is not None and _is_block(block)), _text_block(item))


def _is_block(block: dict[str, Any]) -> bool:
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return False
    return True


def _plain_block(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return a block with the fields that its kind needs, also where another API's name for them stands."""
    kind = str(item.get("type") or "text")
    words = item.get("text")
    data, media = _encoded_bytes(item)
    if "image" in kind and data:
        return {"type": "image", "data": data, "mimeType": media or "image/png"}
    if "audio" in kind and data:
        return {"type": "audio", "data": data, "mimeType": media or "audio/wav"}
    if kind in ("text", "output_text", "input_text") and isinstance(words, str | int | float):
        return _text_block(str(words))
    if kind == "resource_link" and isinstance(item.get("uri"), str):
        return {"type": kind, "uri": item["uri"], "name": str(item.get("name") or item["uri"])}
    resource = item.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        uri = str(resource.get("uri") or "without an address")
        body = next((name for name in ("text", "blob") if isinstance(resource.get(name), str)), "")
        return {"type": kind, "resource": {"uri": uri, body: resource[body]}} if body else None
    return None


def _encoded_bytes(item: dict[str, Any]) -> tuple[str, str]:
    """Return the bytes of a picture or a sound in base64, and their type, wherever they stand."""
    places = [
        item,
        *(item[key] for key in ("source", "image_url", "input_audio") if isinstance(item.get(key), dict)),
    ]
    fields: dict[str, Any] = {}
    for place in places:
        fields |= {key: value for key, value in place.items() if isinstance(value, str)}
    url = next(
        (fields[key] for key in ("image_url", "url", "data") if fields.get(key, "").startswith("data:")), ""
    )
    if url:
        head, _, data = url.removeprefix("data:").partition(",")
        return data, head.partition(";")[0]
    media = next(
        (fields[key] for key in ("mimeType", "mime_type", "media_type", "mediaType") if key in fields), ""
    )
    return fields.get("data", ""), media


def _text_block(value: Any) -> dict[str, Any]:
    """Return a block with a value as text: the words of an unknown block as they are, its data as JSON."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    words = ""
    if isinstance(value, dict):
        value = {key: _shortened(part) if key in _BYTES_FIELDS else part for key, part in value.items()}
        key = next((key for key in _WORDS_FIELDS if isinstance(value.get(key), str)), "")
        words = value.pop(key) if key else ""
    rest = json.dumps(value, ensure_ascii=False, indent=1) if value or not words else ""
    return {"type": "text", "text": "\n".join(filter(None, (words, rest)))}


def _shortened(value: Any) -> Any:
    """Return a value; of many bytes in base64 only how many characters they take."""
    if isinstance(value, str) and len(value) > _MAX_DATA_CHARS and _BASE64.fullmatch(value):
        return f"[{len(value):,} characters of base64, not shown]"
    return value


def _tool_list(result: dict[str, Any]) -> dict[str, Any]:
    if isinstance(result.get(OTHER_RESULT), list):
        result = {"tools": result[OTHER_RESULT]}
    listed = result.get("tools")
    if not isinstance(result.get("nextCursor", ""), str):
        del result["nextCursor"]
    if isinstance(listed, dict):  # by name
        listed = [{"name": name, **tool} for name, tool in listed.items() if isinstance(tool, dict)]
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
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
        repaired["name"] = f"#{number}"
        rejection = "It has no name."
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
    """Return a greeting in a version that this client speaks: tools are the same in all of them."""
    version = result.setdefault("protocolVersion", OLDEST_SUPPORTED_VERSION)
    if isinstance(version, str) and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        older = [known for known in HANDSHAKE_PROTOCOL_VERSIONS if known <= version]
        result["protocolVersion"] = older[-1] if older else OLDEST_SUPPORTED_VERSION
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
