"""The request for a handover: the covered messages as data lines, cut down until they fit."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.event import AssistantSpoke, HandoverMade, ToolAnswered, UserSpoke
from helix_desktop.context.handover import TITLE, render
from helix_desktop.context.layout import Item
from helix_desktop.context.message import Message, Request

OPENING = "[Write a handover]"
CHARS_PER_TOKEN = 3
_LINE_CAPS = (6_000, 3_000, 1_500, 800, 400, 200, 120)  # characters per message, tried in this order
_ESCAPES = (
    (OPENING, "(Write a handover)"),
    (TITLE, "(Conversation History Summary)"),
    ("[CACHED]", "(CACHED)"),
)
_FURTHER = "\n| "  # begins each further line of a message, so that none can pass for a message of its own


def summary_request(
    prompt: str, items: Sequence[Item], former: HandoverMade | None, room: int, focus: str = ""
) -> Request:
    """Ask for a handover of these messages in at most about `room` tokens.

    Long messages keep head and tail; when even short ones do not fit, the middle of the stretch is left out
    and said to be. Text from tools and users is data: look-alikes of our own marks are defused.
    """
    opening = [OPENING]
    if focus:
        opening.append(f"Pay special attention to: {focus}")
    if former is not None:
        opening += ["The former handover, to be updated (still true, changed, dropped):", render(former, ())]
    opening.append("The messages to hand over:")
    space = room * CHARS_PER_TOKEN - sum(len(line) + 1 for line in opening) - len(prompt)
    body = _fitting(items, space)
    return Request((Message("system", prompt), Message("user", "\n".join([*opening, *body]))))


def _fitting(items: Sequence[Item], space: int) -> list[str]:
    lines: list[str] = []
    for cap in _LINE_CAPS:
        lines = [_line(item, cap) for item in items]
        if sum(len(line) + 1 for line in lines) <= space:
            return lines
    return _middle_out(lines, max(space, 0))


def _middle_out(lines: list[str], space: int) -> list[str]:
    head: list[str] = []
    tail: list[str] = []
    front, back = 0, len(lines) - 1
    while front <= back:
        taken = lines[back] if len(tail) <= 2 * len(head) else lines[front]
        space -= len(taken) + 1
        if space < 0:
            break
        if taken is lines[back]:
            tail.append(taken)
            back -= 1
        else:
            head.append(taken)
            front += 1
    return [*head, f"(… {back - front + 1} messages left out here …)", *reversed(tail)]


def _line(item: Item, cap: int) -> str:
    match item.event:
        case UserSpoke(text=text):
            return f"e{item.seq} user: {_short(text, cap)}"
        case AssistantSpoke(text=text, calls=calls):
            made = "; ".join(f"{call.name} {_short(call.arguments, min(cap, 300))}" for call in calls)
            said = _short(text, cap)
            return f"e{item.seq} assistant: {said}" + (f" -> calls {made}" if made else "")
        case ToolAnswered() as answer:
            code = "" if answer.exit_code is None else f" exit {answer.exit_code}"
            state = "" if answer.ok else " FAILED"
            shown = _short(answer.text, cap)
            target = _short(" ".join(answer.target.split()), min(cap, 300))
            return f"e{item.seq} tool {answer.name} {target}{code}{state}: {shown}"


def _short(text: str, cap: int) -> str:
    for mark, defused in _ESCAPES:
        text = text.replace(mark, defused)
    text = _FURTHER.join(text.splitlines())
    if len(text) <= cap:
        return text
    return f"{text[: cap * 2 // 3]} … {text[-cap // 3 :]}"
