"""opencode: a session is a record of its own, and one for each message, which holds the message's parts.

Known: the files of versions up to 1.1 in `storage/session`, `storage/message` and `storage/part`, the
databases `opencode*.db` of versions from 1.2 on, with messages in their first format or, if that has none, in
their second, and what `opencode export` prints. `foreign/sources.py` makes the same records of all of them:
`{"info": …, "parts": […]}`, and the session without parts first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.messages import ToolCall, Usage
from helix_desktop.foreign.items import (
    About,
    AnswerPart,
    AnyItem,
    CallUsage,
    Compacted,
    DataRecord,
    Output,
    Picture,
    Title,
    TurnOver,
    UserMessage,
    as_cost,
    as_count,
    as_dict,
    as_list,
    as_text,
    encode,
    kind_name,
    picture,
    rest_of,
    time_ms,
    tool_call,
)

_KNOWN = frozenset(
    (
        "step-start",
        "step-finish",
        "snapshot",
        "patch",
        "agent",
        "retry",
        "compaction",
        "subtask",
        "file",
        "text",
    )
)


_NOTES = frozenset(("agent-switched", "model-switched", "synthetic", "system", "shell"))
"""Kinds of messages in the second format that are kept as data."""


class OpencodeReader:
    agent: ForeignAgent = "opencode"

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        info, parts = as_dict(data.get("info")), [as_dict(part) for part in as_list(data.get("parts"))]
        at_ms = time_ms(as_dict(info.get("time")).get("created"))
        match info.get("role"):
            case "user":
                yield from self._user(info, parts, at_ms)
            case "assistant":
                yield from self._assistant(info, parts, at_ms)
            case None if "parts" not in data and as_text(info.get("id")):
                yield About(
                    at_ms=at_ms,
                    source=as_text(info.get("id")),
                    folder=as_text(info.get("directory")),
                    version=as_text(info.get("version")),
                )
                if title := as_text(info.get("title")):
                    yield Title(text=title)
                yield DataRecord(at_ms=at_ms, kind="session", data=raw)
            case role:
                is_known = role in _NOTES
                yield DataRecord(at_ms=at_ms, kind=kind_name("message", role), data=raw, is_known=is_known)

    def end(self) -> Iterator[AnyItem]:
        return iter(())

    def _user(self, info: dict[str, Any], parts: list[dict[str, Any]], at_ms: int) -> Iterator[AnyItem]:
        texts, pictures = [], list[Picture]()
        for part in parts:
            is_added = part.get("synthetic") is True or part.get("ignored") is True
            if part.get("type") == "text" and not is_added:
                texts.append(as_text(part.get("text")))
            elif part.get("type") == "file" and (found := _picture(part)) is not None:
                pictures.append(found)
            else:
                name = "text: added by opencode" if is_added else kind_name("user", part.get("type"))
                yield DataRecord(
                    at_ms=at_ms, kind=name, data=encode(part), is_known=as_text(part.get("type")) in _KNOWN
                )
        text = "\n\n".join(filter(None, texts))
        if text or pictures:
            yield UserMessage(at_ms=at_ms, text=text, pictures=tuple(pictures))
        if rest := rest_of(info, "id", "sessionID", "role", "time"):
            yield DataRecord(at_ms=at_ms, kind="user: info", data=encode(rest))

    def _assistant(self, info: dict[str, Any], parts: list[dict[str, Any]], at_ms: int) -> Iterator[AnyItem]:
        if info.get("summary") is True:
            texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
            yield Compacted(at_ms=at_ms, summary="\n\n".join(filter(None, texts)))
            yield DataRecord(
                at_ms=at_ms, kind="assistant: summary", data=encode(rest_of(info, "id", "sessionID", "role"))
            )
            return
        step = 0
        model = "/".join(filter(None, (as_text(info.get("providerID")), as_text(info.get("modelID")))))
        has_usage, outputs = False, list[AnyItem]()  # outputs follow when all calls of their step are there
        for part in parts:
            group = f"{as_text(info.get('id'))}-{step}"
            match as_text(part.get("type")):
                case "text" | "reasoning" as kind:
                    text = as_text(part.get("text"))
                    answer = AnswerPart(at_ms=at_ms, group=group, model=model)
                    yield replace(answer, text=text) if kind == "text" else replace(answer, reasoning=text)
                    if metadata := rest_of(as_dict(part.get("metadata"))):
                        yield DataRecord(at_ms=at_ms, kind=kind_name(kind, "metadata"), data=encode(metadata))
                case "tool":
                    call, *rest = self._tool(part, group, model, at_ms)
                    yield call
                    outputs += rest
                case "step-start":
                    yield from outputs
                    outputs, step = [], step + 1
                case "step-finish":
                    has_usage = True
                    yield _usage(part, group, at_ms)
                case kind:
                    name = kind_name("assistant", kind)
                    yield DataRecord(at_ms=at_ms, kind=name, data=encode(part), is_known=kind in _KNOWN)
        if not has_usage and info.get("tokens"):
            yield _usage(info, f"{as_text(info.get('id'))}-{step}", at_ms)
        yield from outputs
        error = as_dict(info.get("error"))
        if error:
            why = as_text(as_dict(error.get("data")).get("message")) or as_text(error.get("name"))
            is_stop = error.get("name") == "MessageAbortedError"
            yield TurnOver(at_ms=at_ms, how="stopped" if is_stop else "failed", why=why)

    def _tool(self, part: dict[str, Any], group: str, model: str, at_ms: int) -> Iterator[AnyItem]:
        state = as_dict(part.get("state"))
        began, ended = (time_ms(as_dict(state.get("time")).get(name)) for name in ("start", "end"))
        fallback = as_text(part.get("id")) or f"{group}-call"
        call: ToolCall = tool_call(part.get("callID"), part.get("tool"), state.get("input"), fallback)
        yield AnswerPart(at_ms=began or at_ms, group=group, model=model, calls=(call,), stop="calls")
        status = state.get("status")
        if status in ("completed", "error"):
            found = (_picture(as_dict(file)) for file in as_list(state.get("attachments")))
            yield Output(
                at_ms=ended or at_ms,
                call_id=call.id,
                text=as_text(state.get("output" if status == "completed" else "error")),
                ok=status == "completed",
                pictures=tuple(one for one in found if one is not None),
                subagent=as_text(as_dict(state.get("metadata")).get("sessionId")),
            )
        rest = rest_of(state, "status", "input", "output", "error", "time", "title")
        if rest:
            yield DataRecord(at_ms=at_ms, kind="tool: metadata", data=encode({"callID": call.id, **rest}))


def of_second_format(
    message_id: str, kind: str, data: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a message of the second format as one of the first: its facts and its parts."""
    info: dict[str, Any] = {"id": message_id, "role": kind, "time": data.get("time")}
    match kind:
        case "user":
            files = [{**as_dict(file), "type": "file"} for file in as_list(data.get("files"))]
            return info, [{"type": "text", "text": data.get("text")}, *files]
        case "assistant":
            model, error = as_dict(data.get("model")), as_dict(data.get("error"))
            info |= {"providerID": model.get("providerID"), "modelID": model.get("id")}
            info |= {name: data[name] for name in ("cost", "tokens", "agent", "finish") if name in data}
            if error:
                info["error"] = {"name": error.get("type"), "data": error}
            return info, [_first_part(as_dict(part)) for part in as_list(data.get("content"))]
        case "compaction":
            created = as_dict(data.get("time")).get("created")
            info |= {"role": "assistant", "summary": True, "time": {"created": created, "completed": created}}
            return info, [{"type": "text", "text": data.get("summary")}]
    return {**info, **data}, []


def _first_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "tool":
        return part
    state, time = as_dict(part.get("state")), as_dict(part.get("time"))
    content = [as_dict(block) for block in as_list(state.get("content"))]
    texts = [as_text(block.get("text")) for block in content if block.get("type") == "text"]
    files = [*(block for block in content if block.get("type") != "text"), *as_list(state.get("attachments"))]
    first = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(texts),
        "error": as_dict(state.get("error")).get("message"),
        "attachments": files,
        "metadata": state.get("structured"),
        "time": {"start": time.get("ran") or time.get("created"), "end": time.get("completed")},
    }
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": first}


def _picture(part: dict[str, Any]) -> Picture | None:
    url = as_text(part.get("url") or part.get("uri"))
    return picture(url, as_text(part.get("filename"))) if url.startswith("data:image/") else None


def _usage(holder: dict[str, Any], group: str, at_ms: int) -> CallUsage:
    tokens = as_dict(holder.get("tokens"))
    cache = as_dict(tokens.get("cache"))
    cached, writes = as_count(cache.get("read")), as_count(cache.get("write"))
    return CallUsage(
        at_ms=at_ms,
        group=group,
        usage=Usage(
            as_count(tokens.get("input")) + cached + writes,
            as_count(tokens.get("output")) + as_count(tokens.get("reasoning")),
            cached,
            writes,
            0,
            reports_cache=True,
            reports_writes=True,
        ),
        cost=as_cost(holder.get("cost")),
    )
