"""The rules of three wire formats, written a second time and differently: by splitting into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from helix_desktop.domain.messages import Message


def lint(messages: Sequence[Message]) -> list[str]:
    """What a chat server would refuse in a request's messages; empty when it may be sent."""
    found = []
    body = _body(messages)
    if len(body) < len(messages) and not messages[0].text.strip():
        found.append("empty system prompt")
    if not body or body[0].role != "user" or body[-1].role == "assistant":
        found.append("does not go from a user to a question")
    if any(one.role == "system" for one in body):
        found.append("system inside")
    while body:
        head, *body = body
        if head.role == "tool":
            found.append(f"stray answer {head.call_id}")
            continue
        answers = []
        while body and body[0].role == "tool":
            answers.append(body.pop(0))
        if head.role != "assistant" and head.calls:
            found.append("calls of a user")
        asked = [call.id for call in head.calls]
        if sorted(asked) != sorted(answer.call_id for answer in answers) or len({*asked}) != len(asked):
            found.append(f"{asked} answered by {[answer.call_id for answer in answers]}")
        if not head.text.strip() and not head.calls:
            found.append("empty")
        found += ["empty answer" for answer in answers if not answer.text.strip()]
    return found


def lint_alternating(messages: Sequence[Message]) -> list[str]:
    """What a server would refuse that wants user and assistant in turn, and results before all other words.

    Messages of one side in a row are one there; an answer is a part of the user's.
    """
    found = []
    sides = groupby(_body(messages), lambda one: one.role == "assistant")
    asked: set[str] = set()
    for number, (is_agent, group) in enumerate(sides):
        parts = list(group)
        if is_agent != bool(number % 2):
            found.append("does not begin with the user")
        if is_agent:
            if len(parts) > 1:
                found.append(f"{len(parts)} messages of the assistant in a row")
            asked = {call.id for part in parts for call in part.calls}
            continue
        results = [part.role == "tool" for part in parts]
        if results != sorted(results, reverse=True):
            found.append("words before a result")
        answered = {part.call_id for part in parts if part.role == "tool"}
        if answered != asked:
            found.append(f"{asked} answered by {answered}")
        asked = set()
    return found


def lint_items(messages: Sequence[Message]) -> list[str]:
    """What a server would refuse that takes calls and their outputs as items of one list."""
    open_calls: list[str] = []
    found = []
    for message in _body(messages):
        open_calls += [call.id for call in message.calls]
        if message.role != "tool":
            continue
        if message.call_id in open_calls:
            open_calls.remove(message.call_id)
        else:
            found.append(f"an output without its call: {message.call_id}")
    return [*found, *(f"a call without output: {one}" for one in open_calls)]


def _body(messages: Sequence[Message]) -> list[Message]:
    return list(messages[1:]) if messages and messages[0].role == "system" else list(messages)
