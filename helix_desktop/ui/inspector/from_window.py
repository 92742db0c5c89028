"""The window and its gauge as the inspector's rows: a pure translation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import Message
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.ui.inspector.rows import (
    CacheStats,
    InspectorState,
    Level,
    RowKind,
    Saving,
    Segment,
    SegmentKind,
    WindowRow,
)
from helix_desktop.words.numbers import format_tokens, format_whole_percent

_LABELS: dict[SegmentKind, str] = {
    "system": "System prompt",
    "tools": "Tools",
    "mcp": "MCP tools",
    "handover": "Handover",
    "observations": "Observations",
    "fold": "Folded steps",
    "pinned": "Pinned",
    "user": "You",
    "assistant": "Agent",
    "arguments": "Agent, arguments cached",
    "output": "Tool outputs",
    "recalled": "Recalled",
    "difference": "Provider counts",
}
_FIXED: frozenset[RowKind] = frozenset({"system", "tools", "mcp"})
_DIFFERENCE_NOTE = (
    "The provider's tokenizer differs from the one that rows are counted with. "
    "The total follows the provider; each row keeps our own count."
)


def inspector_state(
    contents: tuple[WindowItem, ...],
    gauge: UsageGauge,
    transcript: Transcript,
    policy: ContextPolicy,
    totals: StoreTotals,
) -> InspectorState:
    """Return what the next request contains, each row by our own count.

    What the provider counts differently is a row of its own, so that all rows add up to what the gauge shows.
    """
    rows = tuple(WindowRow(row.seq, _kind(row), row.name, row.tokens, row.state, row.why) for row in contents)
    entries = sum(row.tokens for row in rows if row.kind not in _FIXED)
    rows += _difference(gauge, sum(row.tokens for row in rows))
    return InspectorState(
        used=gauge.used,
        window=gauge.window,
        is_estimated=not gauge.is_reported,
        source=gauge.source_text,
        threshold=policy.handover_at,
        reserve=gauge.reserve,
        segments=_segments(rows, gauge),
        rows=rows,
        cache=_cache(transcript, totals, entries),
        levels=policy_levels(policy),
        ratio=_ratio(gauge),
        pending_text=_pending_text(transcript, policy),
        is_managed=policy.enabled,
    )


def _kind(row: WindowItem) -> RowKind:
    """Return a row's kind on screen, where arguments that stand as markers have one of their own."""
    return "arguments" if row.kind == "assistant" and row.state == "arguments cached" else row.kind


def policy_levels(policy: ContextPolicy) -> tuple[Level, ...]:
    """Return where something falls due by the policy, lowest first; nothing while it is off."""
    if not policy.enabled:
        return ()
    levels = []
    if policy.observe_at:
        levels.append(Level("observe", policy.observe_at, "unobserved history is observed"))
        if policy.observe_place_at > policy.observe_at:
            levels.append(Level("place", policy.observe_place_at, "prepared observations go in place"))
    levels.append(Level("handover", policy.handover_at, "handover"))
    levels.append(Level("panic", policy.panic_at, "room is made at once, without a model"))
    return tuple(sorted(levels, key=lambda level: level.share))


def _ratio(gauge: UsageGauge) -> str:
    if not gauge.report_count:
        return ""
    reports = "1 report" if gauge.report_count == 1 else f"median of {gauge.report_count} reports"
    return f"× {gauge.ratio:.2f} of our count, {reports}"


def _pending_text(transcript: Transcript, policy: ContextPolicy) -> str:
    """Return what is prepared and not in place yet, and what it waits for."""
    seq = observation.pending_observations(transcript)
    observations = transcript.rewrites.observations.get(seq) if seq is not None else None
    if observations is None:
        return ""
    count = len(observations.observations)
    what = f"{count} observation{'s' if count != 1 else ''} {'wait' if count != 1 else 'waits'}"
    change = f"{format_tokens(observations.before)} → {format_tokens(observations.tokens)} tokens"
    at_once = policy.observe_place_at <= policy.observe_at
    until = (
        "the next request"
        if at_once
        else f"a rewrite, a cold cache, or {format_whole_percent(policy.observe_place_at)}"
    )
    return f"{what} for {until} · {change}"


def _difference(gauge: UsageGauge, counted: int) -> tuple[WindowRow, ...]:
    """Return the row that leads from our count to the gauge's; none where both are one."""
    if gauge.used == counted:
        return ()
    why = f"our count {counted:,} · total {gauge.used:,}"
    return (WindowRow(0, "difference", _LABELS["difference"], gauge.used - counted, "", why),)


def _segments(rows: tuple[WindowRow, ...], gauge: UsageGauge) -> tuple[Segment, ...]:
    sums: dict[SegmentKind, int] = defaultdict(int)
    for row in rows:
        sums[row.kind] += row.tokens
    parts = [Segment(kind, label, sums[kind]) for kind, label in _LABELS.items() if sums[kind]]
    free = max(0, gauge.window - gauge.used - gauge.reserve)
    return (*parts, Segment("reserve", "Kept for the answer", gauge.reserve), Segment("free", "Free", free))


def _cache(transcript: Transcript, totals: StoreTotals, entries: int) -> CacheStats:
    return CacheStats(
        entries=totals.entries,
        size=totals.size,
        stored_size=totals.stored_size,
        markers=_markers(transcript),
        saved=max(0, transcript.full_total_tokens - entries),
        savings=tuple(_savings(transcript)),
    )


def _markers(transcript: Transcript) -> int:
    """Return how many markers stand in the window; one message may have several."""
    entries = (
        entry.item if isinstance(entry, PinnedCopy) else entry for entry in transcript.window_entries()
    )
    masked = (
        entry.event for entry in entries if isinstance(entry, LogItem) and entry.seq in transcript.masked
    )
    return sum(_markers_in(event) for event in masked)


def _markers_in(event: UserSpoke | AssistantSpoke | ToolAnswered) -> int:
    match event:
        case AssistantSpoke(short=short):
            return sum(len(call.digests) for call in short)
        case UserSpoke(attachments=attachments):
            return sum(attachment.image is not None for attachment in attachments)
    return 1


def _savings(transcript: Transcript) -> Iterator[Saving]:
    """Return what each rewrite that holds saved when it was made, oldest first."""
    for seq, rewrite in transcript.rewrites.by_seq.items():
        if not transcript.rewrites.is_active(seq):
            continue
        match rewrite:
            case SweepMade(reason=SweepReason.HANDOVER):
                pass  # its saving is part of the handover's
            case SweepMade(saved=saved):
                yield Saving("output", "sweep", saved)
            case FoldMade(saved=saved):
                yield Saving("fold", "fold", saved)
            case ObservationsPlaced(saved=saved):
                yield Saving("observations", "placing of observations", saved)
            case HandoverMade(before=before, after=after):
                yield Saving("handover", "handover", before - after)


def request_text(window: Window) -> str:
    """Return the whole request as readable text: tools by name, then each message in order."""
    tools = ", ".join(tool.name for tool in window.request.tools)
    parts = [f"== tools: {tools}"] if tools else []
    return "\n\n".join([*parts, *(_message_text(message) for message in window.request.messages)])


def row_text(window: Window, contents: tuple[WindowItem, ...], seq: int, kind: str) -> str:
    """Return the text of one row of the request, exactly as it is sent."""
    if kind == "difference":
        return _DIFFERENCE_NOTE
    if kind in ("tools", "mcp"):
        tools = [tool for tool in window.request.tools if tool.is_mcp == (kind == "mcp")]
        return "\n\n".join(f"{tool.name}\n{tool.description}" for tool in tools)
    # The tools are not part of the messages, so the rows behind them are ahead of their messages.
    rows = [row for row in contents if row.kind not in ("tools", "mcp")]
    place = next((n for n, row in enumerate(rows) if row.seq == seq and _kind(row) == kind), -1)
    return _message_text(window.request.messages[place]) if place >= 0 else ""


def _message_text(message: Message) -> str:
    calls = "".join(f"\n-> {call.name} {call.arguments}" for call in message.calls)
    name = f" {message.name}" if message.name else ""
    return f"== {message.role}{name}\n{message.text}{calls}"
