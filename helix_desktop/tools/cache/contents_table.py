"""The table of contents of an index: one line for each output and large argument, without the words."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.summaries.index_entry import IndexLine
from helix_desktop.domain.digest import CACHE_TOOLS, SHORT_DIGITS
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.text_format import ellipsize, format_bytes
from helix_desktop.domain.tool_call_target import tool_kind
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.origins import Origins

_COMMAND_CAP = 80  # characters


def table_rows(lines: Sequence[IndexLine], session_id: str, origins: Origins) -> list[str]:
    """Return the rows: earlier indexes first, then entry number, hash and description of each content.

    Answers of the cache's own tools are left out: they repeat what others are the origin of.
    """
    earlier = [f"{line.digest[:SHORT_DIGITS]} {line.label}" for line in lines if line.digest and not line.seq]
    of_caller = origins.is_of_caller(session_id)
    rows = [
        _row(line, origins if of_caller else None)
        for line in lines
        if line.digest and line.seq and not line.label.startswith(CACHE_TOOLS)
    ]
    return [f"{row}\n" for row in (*earlier, *rows)]


def _row(line: IndexLine, origins: Origins | None) -> str:
    label, change = line.label, ""
    if origins is not None and origins.transcript is not None:
        item = origins.transcript.messages.item(line.seq)
        if item is not None and isinstance(item.event, ToolAnswered) and item.event.digest == line.digest:
            label = _description(item.event)
        change = origins.of_event(line.seq, line.digest).change
    text = f"e{line.seq} {line.digest[:SHORT_DIGITS]} {escape_hidden_name(label)}"
    return f"{text}, {change}" if change else text


def _description(output: ToolAnswered) -> str:
    """Return tool, whole target, exit code, size and what an output holds."""
    target = " ".join(output.target.split())
    if tool_kind(output.name) == "command":
        target = ellipsize(target, _COMMAND_CAP)
    exit_text = f"exit {output.exit_code}" if output.exit_code else "" if output.ok else "failed"
    holds = output.about or (f'"{output.first_line}"' if output.first_line else "")
    parts = (f"{output.name} {target}".strip(), exit_text, format_bytes(output.size), holds)
    return ", ".join(part for part in parts if part)
