"""The rules of the chat wire format, written a second time and differently: by splitting into blocks."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.message import Message


def lint(messages: Sequence[Message]) -> list[str]:
    """What is wrong with a request's messages; empty when it may be sent."""
    found = []
    body = list(messages[1:]) if messages and messages[0].role == "system" else list(messages)
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
