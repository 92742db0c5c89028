"""Rows: what stands in a request, one line each, with its tokens and why it is there."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context import handover as handovers
from helix_desktop.context import observation
from helix_desktop.context.digest import size_text
from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import FoldMade, FormChosen
from helix_desktop.context.event_summary import HandoverMade
from helix_desktop.context.history import FRAMING
from helix_desktop.context.layout import Block, Entry, Item, PinnedCopy
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Frame, Window

RowKind = Literal[
    "system",
    "tools",
    "mcp",
    "handover",
    "observations",
    "fold",
    "user",
    "assistant",
    "output",
    "recalled",
    "pinned",
]
_FOLDS = {"fold": "Folded steps", "condense": "Folded steps, in brief", "truncate": "Left out"}


class Row(msgspec.Struct, frozen=True):
    """One thing in the request, for the inspector: the event it comes from (0: none), its tokens, and why."""

    seq: int
    kind: RowKind
    name: str
    tokens: int
    state: str
    why: str


def rows_of(window: Window, transcript: Transcript, frame: Frame) -> tuple[Row, ...]:
    """The rows of a window, in the order of its messages; they add up to its estimate."""
    rows = []
    if frame.system:
        tokens = frame.system_tokens + FRAMING
        rows.append(Row(0, "system", "System prompt", tokens, "fixed", "opens every request"))
    rows += _tool_rows(frame)
    rows += [
        _row(entry, tokens, transcript) for entry, tokens in zip(window.entries, window.shares, strict=True)
    ]
    return tuple(rows)


def _tool_rows(frame: Frame) -> list[Row]:
    far = [spec for spec in frame.tools if spec.over_mcp]
    own = len(frame.tools) - len(far)
    tokens = frame.tools_tokens - frame.mcp_tokens
    rows = [Row(0, "tools", f"{own} tools", tokens, "fixed", "what the agent can do")]
    if far:
        servers = len({spec.name.split("__")[1] for spec in far})
        whose = "1 MCP server" if servers == 1 else f"{servers} MCP servers"
        name = f"{len(far)} tools of {whose}" if len(far) > 1 else f"1 tool of {whose}"
        rows.append(Row(0, "mcp", name, frame.mcp_tokens, "fixed", "Settings → MCP servers"))
    return rows


def _row(entry: Entry, tokens: int, transcript: Transcript) -> Row:
    match entry:
        case Block(event=HandoverMade() as made):
            why = f"stands for {made.messages} messages up to e{made.upto}"
            return Row(entry.seq, "handover", handovers.TITLE, tokens, "summary", why)
        case Block(event=FoldMade() as fold):
            why = f"stands for {fold.steps} steps, e{fold.after + 1} to e{fold.upto}"
            return Row(entry.seq, "fold", _FOLDS[fold.how], tokens, "note", why)
        case Block(covers=covers):
            count = sum(len(getattr(one.event, "observations", ())) for one in covers)
            why = f"{count} observations, up to e{entry.upto}"
            return Row(entry.seq, "observations", observation.TITLE, tokens, "observed", why)
        case PinnedCopy(item=item):
            return Row(item.seq, "pinned", _called(item), tokens, "pinned", "you pinned it")
        case Item():
            return _item_row(entry, tokens, transcript)


def _item_row(item: Item, tokens: int, transcript: Transcript) -> Row:
    masked = item.seq in transcript.masked
    match item.event:
        case UserSpoke() as said:
            state = "images cached" if masked else "verbatim"
            return Row(item.seq, "user", _short(said.text) or "Images", tokens, state, "your message")
        case AssistantSpoke() as spoke:
            calls = ", ".join(call.name for call in spoke.calls)
            name = _short(spoke.text) or f"calls {calls}"
            state = "arguments cached" if masked else "verbatim"
            return Row(item.seq, "assistant", name, tokens, state, f"step {item.step}")
        case ToolAnswered() as answer:
            return _output_row(item, answer, tokens, masked, transcript)


def _output_row(item: Item, answer: ToolAnswered, tokens: int, masked: bool, transcript: Transcript) -> Row:
    name = _called(item)
    if masked:
        return Row(item.seq, "output", name, tokens, "marker", f"{size_text(answer.size)} in the cache")
    if item.seq in transcript.rewrites.pinned:
        return Row(item.seq, "pinned", name, tokens, "pinned", "you pinned it")
    if answer.recalled:
        return Row(item.seq, "recalled", name, tokens, "recalled", "the agent asked for it")
    chosen = transcript.rewrites.forms.get(item.seq)
    form = chosen.form if chosen else answer.form
    if form == "full" and (answer.whole or chosen):
        return Row(item.seq, "output", name, tokens, "in window", f"step {item.step}")
    why = f"{_chooser(answer, chosen)}; the whole output is in the cache"
    return Row(item.seq, "output", name, tokens, "compact" if form == "compact" else "preview", why)


def _chooser(answer: ToolAnswered, chosen: FormChosen | None) -> str:
    """Who chose the form of an output that does not stand whole, and what for."""
    asked = chosen.asked if chosen else answer.asked
    who = "you" if chosen or answer.chosen == "user" else "the agent"
    if asked and (chosen or answer.form == "compact"):
        return f"{who} asked for: {_short(asked)}"
    if chosen or answer.chosen in ("agent", "user"):
        return f"{who} chose it"
    return "not chosen in time" if answer.chosen == "timeout" else "too large to stand whole"


def _called(item: Item) -> str:
    event = item.event
    return _short(f"{event.name} {event.target}") if isinstance(event, ToolAnswered) else ""


def _short(text: str, cap: int = 90) -> str:
    words = " ".join(text[: cap * 4].split())
    return words if len(words) <= cap else words[: cap - 1] + "…"
