"""The next request, its cost and the discount so far as the panel shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import asdict, replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.summaries.summary_names import compacted_turns, summary_name
from helix_desktop.context.window.provider_cache import (
    RequestCost,
)
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem, WindowItemKind
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.messages import FIND_TOOLS, Message
from helix_desktop.ui.panel.panel_state import (
    SEGMENT_LOOKS,
    PanelState,
    Segment,
    SegmentKind,
    WindowRow,
)
from helix_desktop.words.context_changes import count_contents, swept_contents
from helix_desktop.words.managed_window import larger_request_text
from helix_desktop.words.next_compaction import compaction_text
from helix_desktop.words.numbers import format_token_count, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.policies import policy_in_use
from helix_desktop.words.summaries import summary_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Panel")

_TOOL_KINDS = ("tools", "mcp")
_OPENING_KINDS = ("system", "environment", "instructions")
_FIXED_KINDS = (*_TOOL_KINDS, *_OPENING_KINDS, "fields")
_SMALL_DIFFERENCE = 0.05  # of what shares it: one of how a provider writes out roles, calls and tools


def request_text(window: Window, items: Sequence[WindowItem]) -> str:
    """Return the whole request, word for word: the system prompt, tools, fields, then the other messages.

    `items` are its parts with their tokens, as `break_down_window` lists them.
    """
    texts = []
    for heading, tokens, body in request_sections(window, items):
        count = tr.plural(tokens, "%n token", "%n tokens") if tokens else ""
        texts.append("\n".join((" · ".join(filter(None, (f"== {heading}", count))), body)))
    return "\n\n".join(texts)


def request_sections(window: Window, items: Sequence[WindowItem]) -> Iterator[tuple[str, int, str]]:
    """Yield the heading of each part, its tokens, and its text."""
    messages = window.request.messages
    tools = window.request.tools
    opening = len(messages) - len(window.entries)
    tokens = sum(item.tokens for item in items if item.kind in _OPENING_KINDS and not item.seq)
    for message in messages[:opening]:
        # With environment and instructions, which have rows of their own in the panel.
        yield message.role, tokens, message_body(message)
    if tools:
        tokens = sum(item.tokens for item in items if item.kind in _TOOL_KINDS)
        yield "tools", tokens, "\n\n".join(f"{tool.name}\n{tool.description}" for tool in tools)
    for item in items:
        if item.kind == "fields":
            yield "fields", 0, item.text
    entry_items = items[len(items) - len(window.entries) :]
    for message, item in zip(messages[opening:], entry_items, strict=True):
        yield f"{message.role} {message.name}".strip(), item.tokens, message_body(message)


def message_body(message: Message) -> str:
    calls = [f"-> {call.name} {call.arguments}" for call in message.calls]
    images = [f"{image.text} sha256 {image.digest}" for image in message.images]
    return "\n".join([*([message.text] if message.text or not calls else []), *images, *calls])


def window_json(window: Window) -> bytes:
    """Return the messages and tools of a request that no server has a format for."""
    messages = [replace(message, verbatim=None) for message in window.request.messages]
    return msgspec.json.encode({"messages": messages, "tools": window.request.tools})


def indented_json(body: bytes) -> str:
    return json.dumps(json.loads(body), indent=2, ensure_ascii=False)


def panel_state(
    items: tuple[WindowItem, ...],
    gauge: UsageGauge,
    transcript: Transcript,
    policy: ContextPolicy,
    outlook: CompactionOutlook,
    fresh: int = 0,
) -> PanelState:
    """Return what the next request contains, each row in tokens by Helix's count, which stay as they are.

    What the provider counts more or less is shared by the rows, or a row: all add up to the total. As it
    counts, `fresh` tokens at the end of the request are not in its cache.
    """
    most = int(gauge.limit / gauge.ratio) - sum(item.tokens for item in items if item.kind in _FIXED_KINDS)
    rows = tuple(
        replace(with_room(row, gauge, policy), undo_refused=_too_large_text(row, most))
        for row in window_rows(items, round(fresh / gauge.ratio))
    )
    rows = _with_difference(rows, gauge.used)
    own_policy = transcript.session_policy
    return PanelState(
        gauge,
        compaction_text=_compaction_text(outlook, gauge, policy),
        segments=_segments(rows, gauge),
        rows=rows,
        is_managed=policy.enabled,
        own_policy=policy_in_use(own_policy, own_policy) if own_policy is not None else "",
    )


def with_room(row: WindowRow, gauge: UsageGauge, policy: ContextPolicy) -> WindowRow:
    room = max(0, int((gauge.limit - gauge.used) / gauge.ratio))
    return replace(row, room=room, is_managed=policy.enabled)


def _too_large_text(row: WindowRow, most: int) -> str:
    """Return that no request has room for all of an output, `most` tokens; empty if one has."""
    if row.way_back != "send_full" or row.whole <= most:
        return ""
    whole = format_tokens(row.whole)
    room = format_tokens(max(0, most))
    return tr("It has {tokens} tokens, and the context window has room for {room}.", tokens=whole, room=room)


def window_rows(items: tuple[WindowItem, ...], fresh: int = 0) -> tuple[WindowRow, ...]:
    """Return the items of a request as rows, in their order.

    All is in tokens by our count; the `fresh` ones at the end are not in the provider's cache anyway.
    """
    rows = []
    behind = sum(item.tokens for item in items)
    for item in items:
        behind -= item.tokens
        words = {name: translate(getattr(item, name)) for name in ("name", "why", "question_name")}
        fields = asdict(item) | words | {"kind": _kind(item)}
        rows.append(WindowRow(**fields, resent=max(0, behind - fresh)))
    return tuple(rows)


def _with_difference(rows: tuple[WindowRow, ...], used: int) -> tuple[WindowRow, ...]:
    """Return the rows so that they add up to what the provider counts: it may count more or less.

    A little is shared among all that have their figure here alone; much is a row.
    """
    more = used - sum(row.tokens for row in rows)
    if not rows or not more:
        return rows
    sharing = sum(row.tokens for row in rows if not row.whole)
    if abs(more) <= _SMALL_DIFFERENCE * sharing:
        return tuple(_as_counted(rows, more / sharing))
    why = tr("Than Helix, which counts each row: for all of them together.")
    return *rows, WindowRow(0, "provider_count", _difference_name(more), more, "fixed", why, text=why)


def _as_counted(rows: Iterable[WindowRow], share: float) -> Iterator[WindowRow]:
    """Return rows with so much more for each token of those that are sent whole; the sum is exact."""
    counted = added = 0
    for row in rows:
        if row.whole or not row.tokens:
            yield row
            continue
        counted += row.tokens
        more = round(counted * share) - added
        added += more
        recalled = round(row.recalled * (1 + more / row.tokens))
        yield replace(row, tokens=row.tokens + more, recalled=recalled)


def _difference_name(more: int) -> str:
    return tr("Your provider counts more") if more > 0 else tr("Your provider counts less")


def _kind(item: WindowItem) -> WindowItemKind:
    """Return a row's kind on screen, where all summaries have one."""
    return "handover" if item.kind in ("fold", "observations") else item.kind


def with_undo(
    row: WindowRow, transcript: Transcript, gauge: UsageGauge, undone: Transcript, gauge_after: UsageGauge
) -> WindowRow:
    """Return a row with what the undo of what it is of, which leaves `undone`, brings back."""
    before = {entry.seq for entry in transcript.window.entries()}
    back = [entry for entry in undone.window.entries() if entry.seq not in before]
    messages = [entry for entry in back if isinstance(entry, LogItem)]
    parts: list[str] = []
    swept = (transcript.window.swept & before) - undone.window.swept
    if swept:
        returned = [entry for entry in undone.window.entries() if entry.seq in swept]
        parts += swept_contents(*count_contents(entry.event for entry in returned))
    for block in back:
        if isinstance(block, SummaryBlock):  # of several summaries that stand as one: all that they cover
            title = summary_title(block.event, undone)
            if len(block.covers) > 1:
                title = translate(summary_name(undone, block.after, block.upto))
            parts.append(tr("“{summary}”", summary=title))
    if messages:
        parts.append(translate(compacted_turns(undone, messages[0].seq - 1, messages[-1].upto)))
    return replace(
        row,
        undo_tokens=gauge_after.used - gauge.used,
        undo_parts=tuple(parts),
        room=max(0, gauge_after.limit - gauge.used),
    )


def _compaction_text(outlook: CompactionOutlook, gauge: UsageGauge, policy: ContextPolicy) -> str:
    """Return when it is compacted, and before that whether the request is larger than what is managed."""
    lines = (larger_request_text(gauge), compaction_text(outlook, gauge, policy))
    return "\n".join(line for line in lines if line)


def _segments(rows: tuple[WindowRow, ...], gauge: UsageGauge) -> tuple[Segment, ...]:
    sums = Counter[SegmentKind](reserve=gauge.reserve_in_window)
    sums["free"] = gauge.free
    for row in rows:
        sums[row.kind] += row.tokens - row.recalled
        sums["recalled"] += row.recalled
    return tuple(
        Segment(
            kind,
            _difference_name(sums[kind]) if kind == "provider_count" else translate(look.label),
            sums[kind],
        )
        for kind, look in SEGMENT_LOOKS.items()
        if sums[kind] or kind in ("reserve", "free")
    )


def request_row_text(window: Window, items: tuple[WindowItem, ...], window_row: WindowRow) -> str:
    """Return the text of one row of the request, exactly as it is sent."""
    seq = window_row.seq
    kind = window_row.kind
    if kind in ("tools", "mcp"):
        tools = [tool for tool in window.request.tools if tool.is_for_mcp == (kind == "mcp")]
        texts = [f"{tool.name}\n{tool.description}" for tool in tools]
        arguments = (tool.parameters["properties"]["names"] for tool in tools if tool.name == FIND_TOOLS)
        texts += [argument["description"] for argument in arguments]
        return "\n\n".join(texts)
    if window_row.text:
        return window_row.text
    sent = [item for item in items if item.seq]
    same = (
        at
        for at, item in enumerate(sent)
        if (item.seq, _kind(item), translate(item.name)) == (seq, kind, window_row.name)
    )
    place = next(same, None)
    if place is None:
        return ""
    return message_body(window.request.messages[len(window.request.messages) - len(window.entries) + place])


def with_request_cost(state: PanelState, cost: RequestCost) -> PanelState:
    text = _request_cost_text(cost)
    gauge = state.gauge
    if state.is_managed and cost.total + gauge.reserve > gauge.model_window > gauge.reserve:
        # It is made to fit: how much room is made is known once it is.
        room = format_token_count(gauge.model_window - gauge.reserve)
        text = tr("Next request: at most {tokens}", tokens=room)
    return replace(state, cost_text=text)


def _request_cost_text(cost: RequestCost) -> str:
    """Return what the next request costs without its answer, about; empty where the total says it all."""
    if not cost.cached and not cost.cost:
        return ""
    if cost.cached:
        tokens = tr(
            "Next request: {fresh} new, {cached} at the provider's discount",
            fresh=format_token_count(cost.fresh),
            cached=format_tokens(cost.cached),
        )
    else:  # the cache has expired, or the provider does not say what it has
        tokens = tr("Next request: {tokens}, all counted as new", tokens=format_token_count(cost.total))
    if cost.cost is None:
        return tokens
    return f"{tokens} · ≈ {format_usd(cost.cost)}" if cost.cost else tr("{text} · free", text=tokens)


def discount_text(spent: Spending) -> str:
    """Return which share of a session's input was billed at the provider's discount; empty while unknown."""
    total = spent.cached + spent.cache_writes + spent.fresh
    if not total:
        return ""
    share = format_whole_percent(spent.cached / total)
    return tr("So far: {percent} at the provider's discount", percent=share)
