"""The window breakdown: what a request contains, one row each, with its tokens and the reason."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.summaries import handover as handovers
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.text_format import format_bytes

WindowItemKind = Literal[
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
_FOLD_NAMES = {"fold": "Folded steps", "condense": "Folded steps, in brief", "truncate": "Left out"}


class WindowItem(msgspec.Struct, frozen=True):
    """A row of the inspector: a part of the request, its event (0: none), its tokens, and why it is there."""

    seq: int
    kind: WindowItemKind
    name: str
    tokens: int
    state: str
    why: str


def break_down_window(window: Window, transcript: Transcript, frame: PromptFrame) -> tuple[WindowItem, ...]:
    """Return the rows of a window in message order; their tokens add up to its estimate."""
    rows = []
    if frame.system:
        tokens = frame.system_tokens + FRAMING_TOKENS
        rows.append(WindowItem(0, "system", "System prompt", tokens, "fixed", "opens every request"))
    rows += _tool_items(frame)
    rows += [
        _entry_item(entry, tokens, transcript)
        for entry, tokens in zip(window.entries, window.entry_tokens, strict=True)
    ]
    return tuple(rows)


def _tool_items(frame: PromptFrame) -> list[WindowItem]:
    mcp_specs = [spec for spec in frame.tools if spec.is_mcp]
    own = len(frame.tools) - len(mcp_specs)
    tokens = frame.tools_tokens - frame.mcp_tokens
    rows = [WindowItem(0, "tools", f"{own} tools", tokens, "fixed", "what the agent can do")]
    if mcp_specs:
        servers = len({spec.name.split("__")[1] for spec in mcp_specs})
        whose = "1 MCP server" if servers == 1 else f"{servers} MCP servers"
        name = f"{len(mcp_specs)} tools of {whose}" if len(mcp_specs) > 1 else f"1 tool of {whose}"
        rows.append(WindowItem(0, "mcp", name, frame.mcp_tokens, "fixed", "Settings → MCP servers"))
    return rows


def _entry_item(entry: WindowEntry, tokens: int, transcript: Transcript) -> WindowItem:
    match entry:
        case SummaryBlock(event=HandoverMade() as made):
            why = f"stands for {made.messages} messages up to e{made.upto}"
            return WindowItem(entry.seq, "handover", handovers.TITLE, tokens, "summary", why)
        case SummaryBlock(event=FoldMade() as fold):
            why = f"stands for {fold.steps} steps, e{fold.after + 1} to e{fold.upto}"
            return WindowItem(entry.seq, "fold", _FOLD_NAMES[fold.how], tokens, "note", why)
        case SummaryBlock(covers=covers):
            count = sum(len(getattr(cover.event, "observations", ())) for cover in covers)
            why = f"{count} observations, up to e{entry.upto}"
            return WindowItem(entry.seq, "observations", observation.TITLE, tokens, "observed", why)
        case PinnedCopy(item=item):
            return WindowItem(item.seq, "pinned", _call_text(item), tokens, "pinned", "you pinned it")
        case LogItem():
            return _message_item(entry, tokens, transcript)


def _message_item(item: LogItem, tokens: int, transcript: Transcript) -> WindowItem:
    masked = item.seq in transcript.masked
    match item.event:
        case UserSpoke() as message:
            state = "images cached" if masked else "verbatim"
            return WindowItem(
                item.seq, "user", _short(message.text) or "Images", tokens, state, "your message"
            )
        case AssistantSpoke() as spoke:
            calls = ", ".join(call.name for call in spoke.calls)
            name = _short(spoke.text) or f"calls {calls}"
            state = "arguments cached" if masked else "verbatim"
            return WindowItem(item.seq, "assistant", name, tokens, state, f"step {item.step}")
        case ToolAnswered() as answer:
            return _output_item(item, answer, tokens, masked, transcript)


def _output_item(
    item: LogItem, answer: ToolAnswered, tokens: int, masked: bool, transcript: Transcript
) -> WindowItem:
    name = _call_text(item)
    if masked:
        return WindowItem(
            item.seq, "output", name, tokens, "marker", f"{format_bytes(answer.size)} in the cache"
        )
    if item.seq in transcript.rewrites.pinned:
        return WindowItem(item.seq, "pinned", name, tokens, "pinned", "you pinned it")
    if answer.recalled:
        return WindowItem(item.seq, "recalled", name, tokens, "recalled", "the agent asked for it")
    chosen_form = transcript.rewrites.chosen_forms.get(item.seq)
    form = chosen_form.form if chosen_form else answer.form
    if form == "full" and (answer.whole or chosen_form):
        return WindowItem(item.seq, "output", name, tokens, "in window", f"step {item.step}")
    why = f"{_chooser_text(answer, chosen_form)}; the whole output is in the cache"
    return WindowItem(item.seq, "output", name, tokens, "compact" if form == "compact" else "preview", why)


def _chooser_text(answer: ToolAnswered, chosen_form: FormChosen | None) -> str:
    """Return who chose the form of an output not shown in full, and for what instructions."""
    instructions = chosen_form.asked if chosen_form else answer.asked
    who = "you" if chosen_form or answer.chosen == "user" else "the agent"
    if instructions and (chosen_form or answer.form == "compact"):
        return f"{who} asked for: {_short(instructions)}"
    if chosen_form or answer.chosen in ("agent", "user"):
        return f"{who} chose it"
    return "not chosen in time" if answer.chosen == "timeout" else "too large to stand whole"


def _call_text(item: LogItem) -> str:
    event = item.event
    return _short(f"{event.name} {event.target}") if isinstance(event, ToolAnswered) else ""


def _short(text: str, cap: int = 90) -> str:
    line = " ".join(text[: cap * 4].split())
    return line if len(line) <= cap else line[: cap - 1] + "…"
