"""The rules of three wire formats, written a second time and differently: by splitting into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from helix_desktop.domain.messages import Message


def lint(messages: Sequence[Message]) -> list[str]:
    """Return what a chat server would refuse in a request's messages; empty if it may be sent."""
    problems = []
    body = _body(messages)
    if len(body) < len(messages) and not messages[0].text.strip():
        problems.append("empty system prompt")
    if not body or body[0].role != "user" or body[-1].role == "assistant":
        problems.append("does not go from a user to a question")
    if any(message.role == "system" for message in body):
        problems.append("system inside")
    while body:
        head, *body = body
        if head.role == "tool":
            problems.append(f"stray answer {head.call_id}")
            continue
        answers = []
        while body and body[0].role == "tool":
            answers.append(body.pop(0))
        if head.role != "assistant" and head.calls:
            problems.append("calls of a user")
        call_ids = [call.id for call in head.calls]
        if sorted(call_ids) != sorted(answer.call_id for answer in answers) or len({*call_ids}) != len(
            call_ids
        ):
            problems.append(f"{call_ids} answered by {[answer.call_id for answer in answers]}")
        if not head.text.strip() and not head.calls:
            problems.append("empty")
        problems += ["empty answer" for answer in answers if not answer.text.strip()]
    return problems


def lint_alternating(messages: Sequence[Message]) -> list[str]:
    """Return the problems for a server that needs user and assistant in turn, and results before all text.

    Consecutive messages of one side count as one there; a tool's answer is part of the user's.
    """
    problems = []
    sides = groupby(_body(messages), lambda message: message.role == "assistant")
    call_ids: set[str] = set()
    for number, (is_agent, group) in enumerate(sides):
        parts = list(group)
        if is_agent != bool(number % 2):
            problems.append("does not begin with the user")
        if is_agent:
            if len(parts) > 1:
                problems.append(f"{len(parts)} messages of the assistant in a row")
            call_ids = {call.id for part in parts for call in part.calls}
            continue
        results = [part.role == "tool" for part in parts]
        if results != sorted(results, reverse=True):
            problems.append("words before a result")
        answered = {part.call_id for part in parts if part.role == "tool"}
        if answered != call_ids:
            problems.append(f"{call_ids} answered by {answered}")
        call_ids = set()
    return problems


def lint_items(messages: Sequence[Message]) -> list[str]:
    """Return the problems for a server that takes calls and their outputs as items of one list."""
    open_calls: list[str] = []
    problems = []
    for message in _body(messages):
        open_calls += [call.id for call in message.calls]
        if message.role != "tool":
            continue
        if message.call_id in open_calls:
            open_calls.remove(message.call_id)
        else:
            problems.append(f"an output without its call: {message.call_id}")
    return [*problems, *(f"a call without output: {call_id}" for call_id in open_calls)]


def _body(messages: Sequence[Message]) -> list[Message]:
    return list(messages[1:]) if messages and messages[0].role == "system" else list(messages)
