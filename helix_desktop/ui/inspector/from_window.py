"""The window and its gauge as the inspector's rows: a pure translation."""

from __future__ import annotations

from collections import defaultdict

from helix_desktop.context.budget import Gauge
from helix_desktop.context.content import StoreTotals
from helix_desktop.context.message import Message
from helix_desktop.context.policy import Policy
from helix_desktop.context.rows import Row
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Window
from helix_desktop.ui.inspector.rows import CacheStats, InspectorState, Segment, SegmentKind, WindowRow

_LABELS: dict[SegmentKind, str] = {
    "system": "System prompt",
    "tools": "Tools",
    "handover": "Handover",
    "observations": "Observations",
    "fold": "Folded steps",
    "pinned": "Pinned",
    "user": "You",
    "assistant": "Agent",
    "output": "Tool outputs",
    "recalled": "Recalled",
}


def inspector_state(
    contents: tuple[Row, ...], gauge: Gauge, transcript: Transcript, policy: Policy, totals: StoreTotals
) -> InspectorState:
    """What the next request contains, its rows and segments scaled to the one number that the gauge shows."""
    rows = _scaled(contents, gauge.used)
    return InspectorState(
        used=gauge.used,
        window=gauge.window,
        estimated=not gauge.reported,
        source=gauge.source,
        threshold=policy.handover_at,
        reserve=gauge.reserve,
        segments=_segments(rows, gauge),
        rows=rows,
        cache=_cache(transcript, totals),
    )


def _scaled(rows: tuple[Row, ...], used: int) -> tuple[WindowRow, ...]:
    """The rows, with tokens that sum up to `used` exactly: what is rounded off goes to the next row."""
    counted = sum(row.tokens for row in rows) or 1
    scaled: list[WindowRow] = []
    passed = given = 0
    for row in rows:
        passed += row.tokens
        tokens = round(passed * used / counted) - given
        given += tokens
        scaled.append(WindowRow(row.seq, row.kind, row.name, tokens, row.state, row.why))
    return tuple(scaled)


def _segments(rows: tuple[WindowRow, ...], gauge: Gauge) -> tuple[Segment, ...]:
    sums: dict[SegmentKind, int] = defaultdict(int)
    for row in rows:
        sums[row.kind] += row.tokens
    parts = [Segment(kind, label, sums[kind]) for kind, label in _LABELS.items() if sums[kind]]
    free = max(0, gauge.window - gauge.used - gauge.reserve)
    return (*parts, Segment("reserve", "Kept for the answer", gauge.reserve), Segment("free", "Free", free))


def _cache(transcript: Transcript, totals: StoreTotals) -> CacheStats:
    held = transcript.handover
    upto = held[1].upto if held else 0
    sweeps = [
        sweep.saved for seq, sweep in transcript.rewrites.sweeps.items() if transcript.rewrites.holds(seq)
    ]
    return CacheStats(
        entries=totals.entries,
        size=totals.size,
        stored_size=totals.stored_size,
        markers=sum(1 for seq in transcript.masked if seq > upto),
        saved=sum(sweeps),
        sweeps=tuple(sweeps),
    )


def request_text(window: Window) -> str:
    """The whole request as a person reads it: tools by name, then each message in order."""
    tools = ", ".join(tool.name for tool in window.request.tools)
    parts = [f"== tools: {tools}"] if tools else []
    return "\n\n".join([*parts, *(_message_text(message) for message in window.request.messages)])


def row_text(window: Window, contents: tuple[Row, ...], seq: int, kind: str) -> str:
    """The text of one row of the request, exactly as it is sent."""
    if kind == "tools":
        return "\n\n".join(f"{tool.name}\n{tool.description}" for tool in window.request.tools)
    # The tools stand beside the messages, so the rows behind them are one ahead of their messages.
    rows = [row for row in contents if row.kind != "tools"]
    place = next((n for n, row in enumerate(rows) if row.seq == seq and row.kind == kind), -1)
    return _message_text(window.request.messages[place]) if place >= 0 else ""


def _message_text(message: Message) -> str:
    calls = "".join(f"\n-> {call.name} {call.arguments}" for call in message.calls)
    name = f" {message.name}" if message.name else ""
    return f"== {message.role}{name}\n{message.text}{calls}"
