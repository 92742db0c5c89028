"""The rules of two dialects' references for a request's messages, written down independently of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_SAMPLING = frozenset({"temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "seed"})
_ANTHROPIC_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_THINKING = ("thinking", "redacted_thinking")


def anthropic_problems(body: Mapping[str, Any]) -> list[str]:
    problems = [f"{key} is sent" for key in _SAMPLING & set(body)]
    if body["max_tokens"] < 1:
        problems.append("no room for an answer")
    marks = str(body).count("'cache_control'")
    if not 1 <= marks <= 4:
        problems.append(f"{marks} cache breakpoints")
    call_ids: list[str] = []
    seen_ids: set[str] = set()
    for number, message in enumerate(body["messages"]):
        if message["role"] != ("assistant" if number % 2 else "user"):
            problems.append(f"message {number} is the {message['role']}'s")
        blocks = message["content"]
        problems += [f"message {number}: {text}" for text in _block_problems(blocks)]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        kinds = [block["type"] == "tool_result" for block in blocks]
        if sorted(answered) != sorted(call_ids) or kinds != sorted(kinds, reverse=True):
            problems.append(f"message {number}: {call_ids} answered by {answered}")
        call_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        problems += [
            f"the id {call_id} is not legal or not new"
            for call_id in call_ids
            if not _is_new_id(call_id, seen_ids)
        ]
        seen_ids.update(call_ids)
    if call_ids or body["messages"][-1]["role"] != "user":
        problems.append("the last message is not the user's")
    return problems


def _is_new_id(call_id: str, used_ids: set[str]) -> bool:
    return bool(_ANTHROPIC_ID.match(call_id)) and call_id not in used_ids


def _block_problems(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    problems = []
    if not blocks:
        problems.append("nothing in it")
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            problems.append("empty text")
        if block["type"] in _THINKING and "cache_control" in block:
            problems.append("a breakpoint on thinking")
        if block["type"] == "tool_use" and not isinstance(block["input"], dict):
            problems.append("an input that is no object")
        if block["type"] == "tool_result" and not block["content"]:
            problems.append("an empty result")
    return problems


def responses_problems(body: Mapping[str, Any]) -> list[str]:
    """Return what OpenAI's Responses would refuse in a request without server-side storage."""
    problems = [f"{key} is sent" for key in _SAMPLING & set(body)]
    if body["store"] is not False:
        problems.append("it would be stored")
    call_ids: list[str] = []
    items = body["input"]
    for number, item in enumerate(items):
        problems += [f"item {number}: {text}" for text in _item_problems(item, items[number + 1 :], call_ids)]
    if call_ids or items[-1].get("role") == "assistant":
        problems.append("does not end with the user's words or answers")
    return problems


def _item_problems(
    item: Mapping[str, Any], following_items: Sequence[Mapping[str, Any]], open_calls: list[str]
) -> list[str]:
    """Return the problems of one item; `open_calls` are the calls without an output so far."""
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
    problems = []
    if not item.get("encrypted_content"):
        problems.append("reasoning that is stored nowhere")
    following = following_items[0] if following_items else {}
    own = following.get("type") in ("function_call", "reasoning") or following.get("role") == "assistant"
    if not own:
        problems.append("reasoning without what followed it")
    return problems
