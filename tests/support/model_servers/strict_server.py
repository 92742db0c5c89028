"""Strict servers of the three dialects: what they refuse of a request, each in words that name no remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.support.model_servers.chat_server import Reply, api_error

Body = Mapping[str, Any]

MAX_IMAGES = 2
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FIELDS = {"role", "content", "tool_calls"}  # of an answer, in Chat Completions


def chat_complaint(body: Body) -> str:
    """Return what a strict server of Chat Completions says, as behind a strict template; "" if it accepts."""
    messages = body["messages"]
    answers = [message for message in messages if message["role"] == "assistant"]
    names = [call["function"]["name"] for message in answers for call in message.get("tool_calls", ())]
    complaints = [
        ("stream_options" in body, "body: value error at line 1"),
        (any(message.get("content") is None for message in messages), "body.messages: not a valid string"),
        (any(message.keys() - _FIELDS for message in answers), "body.messages: value error"),
        (not _are_known(names, _offered(body)), "body.messages: the call can't be read"),
        (not _take_turns([message["role"] for message in messages]), "Conversation roles must alternate"),
        (not _are_chat_calls_answered(messages), "body.messages: a call has no answer"),
        (_images(messages) > MAX_IMAGES, f"At most {MAX_IMAGES} image(s) may be provided in one prompt."),
    ]
    return next((words for is_refused, words in complaints if is_refused), "")


def responses_complaint(body: Body) -> str:
    items = body["input"]
    names = [item["name"] for item in items if item.get("type") == "function_call"]
    complaints = [
        (any(len(str(item.get("id", ""))) > 64 for item in items), "The input is invalid"),
        (any("status" in item for item in items), "Bad input"),
        (not _are_known(names, _offered(body)), "An input item can't be read"),
        (not _are_items_answered(items), "A call has no output"),
        (_images(items) > MAX_IMAGES, f"Too many images: {_images(items)} > {MAX_IMAGES}"),
    ]
    return next((words for is_refused, words in complaints if is_refused), "")


def messages_complaint(body: Body) -> str:
    """Return what a strict server of Anthropic's Messages says, one without a cache of its own."""
    messages = body["messages"]
    blocks = [block for message in messages for block in message["content"]]
    names = [block["name"] for block in blocks if block["type"] == "tool_use"]
    complaints = [
        ("ephemeral" in json.dumps(body), "The request is invalid"),
        (not _are_known(names, _offered(body)), "A block is invalid"),
        (any(not block["text"].strip() for block in blocks if block["type"] == "text"), "text is empty"),
        (any(one["role"] == other["role"] for one, other in pairwise(messages)), "roles must alternate"),
        (not _are_uses_answered(messages), "A tool_use has no tool_result"),
        (_images(messages) > MAX_IMAGES, _oldest_image(messages)),
    ]
    return next((words for is_refused, words in complaints if is_refused), "")


def _offered(body: Body) -> set[str]:
    return {tool["name"] if "name" in tool else tool["function"]["name"] for tool in body.get("tools", ())}


def _are_known(names: Sequence[str], offered: set[str]) -> bool:
    return all(_NAME.fullmatch(name) and (not offered or name in offered) for name in names)


def _take_turns(roles: Sequence[str]) -> bool:
    """Return True if system comes first and once, and users and answers follow each other."""
    refused = {("user", "user"), ("tool", "user"), ("assistant", "assistant")}
    return "system" not in roles[1:] and refused.isdisjoint(pairwise(roles))


def _are_chat_calls_answered(messages: Sequence[Body]) -> bool:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return False
        else:
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    return not waiting


def _are_items_answered(items: Sequence[Body]) -> bool:
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    return sorted(calls) == sorted(outputs)


def _are_uses_answered(messages: Sequence[Body]) -> bool:
    waiting: list[str] = []
    for message in messages:
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            return False
        waiting = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    return not waiting


def _images(value: Any) -> int:
    return sum(1 for _ in _image_places(value, ""))


def _image_places(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _image_places(item, f"{place}.{number}")
    elif isinstance(value, dict):
        if value.get("type") in ("image", "image_url", "input_image"):
            yield place
        for key, item in value.items():
            yield from _image_places(item, f"{place}.{key}")


def _oldest_image(messages: Sequence[Body]) -> str:
    place = next(_image_places(messages, "messages"), "")
    return f"{place}.source.base64.data: image dimensions exceed what many images may have"


COMPLAINTS: dict[str, Callable[[Body], str]] = {
    "openai-chat": chat_complaint,
    "openai-responses": responses_complaint,
    "anthropic": messages_complaint,
}


class StrictServer:
    """Refuses what its dialect's strict servers refuse; what it accepts, `script` answers."""

    def __init__(self, dialect: str, script: Callable[[dict[str, Any]], Reply]) -> None:
        self._complaint = COMPLAINTS[dialect]
        self._script = script
        self.refusals: list[str] = []
        """What it said of each request that it refused."""
        self.accepted = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        words = self._complaint(body)
        if words:
            self.refusals.append(words)
            return api_error(400, words)
        self.accepted += 1
        return self._script(body)
