"""The rules of two dialects' references for a request's messages, written down independently of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_SAMPLING = frozenset({"temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "seed"})
_ANTHROPIC_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_THINKING = ("thinking", "redacted_thinking")


def anthropic_problems(body: Mapping[str, Any]) -> list[str]:
    """What Anthropic would refuse in a request."""
    found = [f"{key} is sent" for key in _SAMPLING & set(body)]
    if body["max_tokens"] < 1:
        found.append("no room for an answer")
    marks = str(body).count("'cache_control'")
    if not 1 <= marks <= 4:
        found.append(f"{marks} cache breakpoints")
    asked: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(body["messages"]):
        if message["role"] != ("assistant" if number % 2 else "user"):
            found.append(f"message {number} is the {message['role']}'s")
        blocks = message["content"]
        found += [f"message {number}: {text}" for text in _block_problems(blocks)]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        kinds = [block["type"] == "tool_result" for block in blocks]
        if sorted(answered) != sorted(asked) or kinds != sorted(kinds, reverse=True):
            found.append(f"message {number}: {asked} answered by {answered}")
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        found += [f"the id {one} is not legal or not new" for one in asked if not _is_new_id(one, seen)]
        seen.update(asked)
    if asked or body["messages"][-1]["role"] != "user":
        found.append("the last message is not the user's")
    return found


def _is_new_id(call_id: str, used_ids: set[str]) -> bool:
    return bool(_ANTHROPIC_ID.match(call_id)) and call_id not in used_ids


def _block_problems(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    if not blocks:
        found.append("nothing in it")
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            found.append("empty text")
        if block["type"] in _THINKING and "cache_control" in block:
            found.append("a breakpoint on thinking")
        if block["type"] == "tool_use" and not isinstance(block["input"], dict):
            found.append("an input that is no object")
        if block["type"] == "tool_result" and not block["content"]:
            found.append("an empty result")
    return found


def responses_problems(body: Mapping[str, Any]) -> list[str]:
    """What OpenAI's Responses would refuse in a request that nothing is stored for."""
    found = [f"{key} is sent" for key in _SAMPLING & set(body)]
    if body["store"] is not False:
        found.append("it would be stored")
    asked: list[str] = []
    items = body["input"]
    for number, item in enumerate(items):
        found += [f"item {number}: {text}" for text in _item_problems(item, items[number + 1 :], asked)]
    if asked or items[-1].get("role") == "assistant":
        found.append("does not end with the user's words or answers")
    return found


def _item_problems(
    item: Mapping[str, Any], following_items: Sequence[Mapping[str, Any]], open_calls: list[str]
) -> list[str]:
    """What is wrong with one item; `asked` are the calls that are open before it, then behind it."""
    kind = item.get("type", "message")
    if kind == "function_call":
        open_calls.append(item["call_id"])
        return (
            [] if open_calls.count(item["call_id"]) == 1 <= len(item["call_id"]) <= 64 else ["an illegal id"]
        )
    if kind == "function_call_output":
        if item["call_id"] not in open_calls:
            return [f"answers {item['call_id']}, which is not open"]
        open_calls.remove(item["call_id"])
        return []
    if kind == "reasoning":
        return _reasoning_problems(item, following_items)
    if open_calls:
        return [f"words before the answers to {open_calls}"]
    return [] if item["content"] else ["empty"]


def _reasoning_problems(item: Mapping[str, Any], following_items: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    if not item.get("encrypted_content"):
        found.append("reasoning that is stored nowhere")
    following = following_items[0] if following_items else {}
    own = following.get("type") in ("function_call", "reasoning") or following.get("role") == "assistant"
    if not own:
        found.append("reasoning without what followed it")
    return found
