"""The window: what one request contains, as a pure projection of log, policy and model (invariant 2)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context import handover as handovers
from helix_desktop.context.digest import marker
from helix_desktop.context.event import AssistantSpoke, HandoverMade, ToolAnswered, UserSpoke
from helix_desktop.context.message import Message, ModelInfo, Request, ToolSpec
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import FRAMING, Item, Transcript

RowKind = Literal["system", "tools", "handover", "user", "assistant", "output", "recalled"]
NO_OUTPUT = "(no output)"


class Frame(msgspec.Struct, frozen=True):
    """What stands around a conversation: the model, the system prompt, the tools; with their tokens."""

    info: ModelInfo
    system: str
    tools: tuple[ToolSpec, ...] = ()
    system_tokens: int = 0
    tools_tokens: int = 0


class Row(msgspec.Struct, frozen=True):
    """One thing in the request, for the inspector: the event it comes from (0: none), its tokens, and why."""

    seq: int
    kind: RowKind
    name: str
    tokens: int
    state: str
    why: str


class Window(msgspec.Struct, frozen=True):
    """A request, its rows in the same order, and the sum of their tokens as we count them."""

    request: Request
    rows: tuple[Row, ...]
    estimate: int


def project(transcript: Transcript, policy: Policy, frame: Frame) -> Window:
    """What would be sent now. Same input, same bytes."""
    messages = [Message("system", frame.system)]
    rows = [
        Row(0, "system", "System prompt", frame.system_tokens + FRAMING, "fixed", "opens every request"),
        Row(0, "tools", f"{len(frame.tools)} tools", frame.tools_tokens, "fixed", "what the agent can do"),
    ]
    held = transcript.handover
    if held is not None:
        message, row = _handover(transcript, policy, frame, *held)
        messages.append(message)
        rows.append(row)
    for item in in_call_order(transcript.live()):
        messages.append(message_of(item, transcript.masked))
        rows.append(_row(item, transcript))
    return Window(Request(tuple(messages), frame.tools), tuple(rows), sum(row.tokens for row in rows))


def _handover(
    transcript: Transcript, policy: Policy, frame: Frame, seq: int, handover: HandoverMade
) -> tuple[Message, Row]:
    cap, room = policy.user_text_tokens, frame.info.window
    texts = handovers.user_texts(transcript, handover, cap, room)
    text = handovers.render(handover, handovers.quoted(texts))
    tokens = handover.tokens + sum(count + FRAMING for _, _, count in texts) + FRAMING
    why = f"stands for {handover.messages} messages up to e{handover.upto}"
    return Message("user", text), Row(seq, "handover", handovers.TITLE, tokens, "summary", why)


def in_call_order(items: list[Item]) -> list[Item]:
    """The same messages with each step's answers in the order of its calls, not of their completion."""
    ordered: list[Item] = []
    places: dict[str, int] = {}
    answers: list[Item] = []
    for item in items:
        if isinstance(item.event, ToolAnswered):
            answers.append(item)
            continue
        ordered += sorted(answers, key=lambda one: _place(one, places))
        answers = []
        ordered.append(item)
        if isinstance(item.event, AssistantSpoke):
            places = {call.id: place for place, call in enumerate(item.event.calls)}
    return ordered + sorted(answers, key=lambda one: _place(one, places))


def _place(item: Item, places: dict[str, int]) -> int:
    return places.get(item.event.call_id, len(places)) if isinstance(item.event, ToolAnswered) else 0


def message_of(item: Item, masked: frozenset[int]) -> Message:
    """A message of the log as it is sent: its shown form, or its marker."""
    match item.event:
        case UserSpoke() as said:
            return Message("user", user_text(said))
        case AssistantSpoke() as spoke:
            return Message("assistant", spoke.text, spoke.calls, verbatim=spoke.verbatim)
        case ToolAnswered() as answer:
            text = marker_of(answer) if item.seq in masked else answer.text
            return Message(
                "tool", text if text.strip() else NO_OUTPUT, call_id=answer.call_id, name=answer.name
            )


def user_text(said: UserSpoke) -> str:
    """The person's words, then what they recalled, labelled."""
    recalled = [f"[Recalled from the cache: {one.label}]\n{one.text}" for one in said.attachments]
    return "\n\n".join(part for part in (said.text, *recalled) if part)


def marker_of(answer: ToolAnswered) -> str:
    """The marker of an output."""
    return marker(answer.digest, answer.name, answer.target, answer.size, answer.first_line)


def _row(item: Item, transcript: Transcript) -> Row:
    tokens = transcript.shown_tokens(item)
    match item.event:
        case UserSpoke() as said:
            return Row(item.seq, "user", _short(said.text), tokens, "verbatim", "your message")
        case AssistantSpoke() as spoke:
            calls = ", ".join(call.name for call in spoke.calls)
            name = _short(spoke.text) or f"calls {calls}"
            return Row(item.seq, "assistant", name, tokens, "verbatim", f"step {item.step}")
        case ToolAnswered() as answer:
            return _output_row(item, answer, tokens, item.seq in transcript.masked)


def _output_row(item: Item, answer: ToolAnswered, tokens: int, masked: bool) -> Row:
    name = _short(f"{answer.name} {answer.target}")
    if masked:
        return Row(item.seq, "output", name, tokens, "marker", f"swept; {answer.tokens} tokens in the cache")
    if answer.recalled:
        return Row(item.seq, "recalled", name, tokens, "recalled", "the agent asked for it")
    state = "in window" if answer.whole else "preview"
    why = f"step {item.step}" if answer.whole else f"step {item.step}; the whole output is in the cache"
    return Row(item.seq, "output", name, tokens, state, why)


def _short(text: str, cap: int = 90) -> str:
    words = " ".join(text[: cap * 4].split())
    return words if len(words) <= cap else words[: cap - 1] + "…"
