"""Generated requests as after real answers: assistants' messages with their provider data."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest
from tests.support.session_simulator import SessionSimulator

OTHER_DIALECT: dict[DialectName, DialectName] = {
    "openai-chat": "anthropic",
    "anthropic": "openai-responses",
    "openai-responses": "openai-chat",
}
"""Another dialect that was spoken in the same session."""


def sampled_requests(
    simulator: SessionSimulator, dialect: DialectName, info: ModelInfo
) -> list[ModelRequest]:
    """The first request of a session, one from the middle and the newest, with images."""
    sent = [sent_request.request for sent_request in simulator.sent_requests]
    sample = [*sent[:1], *sent[len(sent) // 2 : len(sent) // 2 + 1], *sent[-1:]]
    return [
        with_verbatim_messages(msgspec.structs.replace(request, image_data=simulator.contents), dialect, info)
        for request in sample
    ]


def with_verbatim_messages(request: ModelRequest, dialect: DialectName, info: ModelInfo) -> ModelRequest:
    messages = []
    number = 0
    for message in request.messages:
        if message.role != "assistant":
            messages.append(message)
            continue
        number += 1
        producer = {1: dialect, 2: OTHER_DIALECT[dialect], 3: dialect}.get(number % 4)
        model = "another" if number % 4 == 3 else info.name
        original = verbatim_message(message, producer, info.provider, model, number) if producer else None
        messages.append(msgspec.structs.replace(message, verbatim=original))
    return msgspec.structs.replace(request, messages=tuple(messages))


def verbatim_message(
    message: Message, dialect: DialectName, provider: str, model: str, number: int
) -> dict[str, Any]:
    """Return what an answer of this dialect would have been stored as; arguments as before any sweep."""
    header = {"dialect": dialect, "provider": provider, "model": model}
    original = {
        "openai-chat": _chat_message,
        "anthropic": _anthropic_message,
        "openai-responses": _responses_message,
    }[dialect]
    return {**header, **original(message, number)}


def _chat_message(message: Message, number: int) -> dict[str, Any]:
    raw: dict[str, Any] = {"role": "assistant", "content": message.text or None, "reasoning_content": "hm"}
    if message.calls:
        raw["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "extra_content": {"google": {"thought_signature": f"s{number}"}},
                "function": {"name": call.name, "arguments": '{"as": "it was"}'},
            }
            for call in message.calls
        ]
    return {"message": raw}


def _anthropic_message(message: Message, number: int) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
    text = [{"type": "text", "text": message.text}] if message.text else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": {"as": "it was"}}
        for call in message.calls
    ]
    sealed = [{"type": "redacted_thinking", "data": f"d{number}"}]
    return {"content": [thought, *sealed, *text, *calls], "prefix": "", "bound": False}


def _responses_message(message: Message, number: int) -> dict[str, Any]:
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "sealed"}
    content = [{"type": "output_text", "text": message.text, "annotations": list[str]()}]
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{number}_{n}",
            "call_id": call.id,
            "name": call.name,
            "arguments": '{"as": "it was"}',
            "status": "completed",
        }
        for n, call in enumerate(message.calls)
    ]
    return {"items": [thought, *([{**item, "content": content}] if message.text else []), *calls]}
