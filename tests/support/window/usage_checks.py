"""Every display of a window's context usage, and an independent count to compare them with."""

from __future__ import annotations

import json
import re
from typing import Any

from helix_desktop.agent.model_roles import RunSettingsSource
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.store import EntryFilter
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge
from helix_desktop.ui.panel.panel_state import WindowRow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.words.numbers import format_tokens
from tests.support.window.window_rig import WindowRig, until

_TOKENS_PER_MESSAGE = 4  # tokens that each message costs in addition to its text
# Labels and framing may differ from this count by so much.
_TOLERANCE_TOKENS = 120
_TOLERANCE_RATIO = 0.04


def sidebar_item(rig: WindowRig, session_id: str = "") -> SessionItem:
    """Return a session's line in the sidebar; without an id that of the current one."""
    expected_id = session_id or rig.conversation.session.id
    return next(
        session for session in rig.window.sidebar.session_list.sessions() if session.id == expected_id
    )


async def count_message_tokens(rig: WindowRig, messages: list[dict[str, Any]]) -> int:
    total = 0
    for message in messages:
        calls = message.get("tool_calls") or ()
        texts = [str(message.get("content") or ""), *(json.dumps(call["function"]) for call in calls)]
        total += _TOKENS_PER_MESSAGE + sum(
            [await rig.workspace.contents.count_tokens(text) for text in texts if text]
        )
    return total


async def next_request(rig: WindowRig) -> tuple[ModelRequest, PromptFrame]:
    """Return the content of the next request, from the stored log and nothing else."""
    settings: RunSettingsSource | None = rig.conversation.session.settings
    assert settings is not None
    policy, frame, _ = settings()
    return project(Transcript(await rig.stored_events()), policy, frame).request, frame


async def check_gauge_accuracy(rig: WindowRig, factor: float) -> UsageGauge:
    """The gauge, which must be near `factor` times an own count of the next request."""
    request, frame = await next_request(rig)
    wire = [
        {
            "content": message.text,
            "tool_calls": [
                {"function": {"name": call.name, "arguments": call.arguments}} for call in message.calls
            ],
        }
        for message in request.messages
    ]
    true = factor * (await count_message_tokens(rig, wire) + frame.tools_tokens)
    gauge = rig.conversation.window.measure()[1]
    assert abs(gauge.used - true) <= _TOLERANCE_TOKENS + _TOLERANCE_RATIO * true, (gauge, true)
    assert gauge.model_window == frame.info.window
    assert gauge.window == min(frame.info.window, rig.workspace.policy.manage_at_most)
    return gauge


def panel_rows(rig: WindowRig) -> list[WindowRow]:
    return [row for row in rig.views.panel.requests.rows if not row.is_heading]


async def check_usage_displays(rig: WindowRig) -> None:
    """Every place on screen shows the gauge's figure: to the token where it can, else as it is written."""
    gauge = rig.conversation.window.measure()[1]
    used = format_tokens(gauge.used)
    window = format_tokens(gauge.window)
    share = f"{gauge.share * 100:.0f} %"
    assert sidebar_item(rig).used == gauge.share, "sidebar"
    (line,) = [
        session for session in await rig.workspace.sessions() if session.id == rig.conversation.session.id
    ]
    assert rig.workspace.usage.of(line) == gauge.share
    pills = rig.window.findChildren(ContextGauge)
    assert len(pills) == 2
    for pill in pills:
        assert f"{share} · {used} / {window}" in pill.accessibleName(), "composer, or top bar"
    panel = rig.views.panel
    assert sum(row.tokens for row in panel_rows(rig)) == gauge.used, "with what the provider counts more"
    assert panel.used.text == f"≈ {used}", "panel"
    timeline = rig.views.timeline.get()
    await until(lambda: f"now {used} of {window}" in timeline.chart.accessibleName(), f"chart at {used}")


async def check_cache_totals(rig: WindowRig) -> str:
    """Check that picker and cache page agree; return the command line's answer."""
    totals = await rig.workspace.store.totals()
    size = format_bytes(totals.size)
    entries = f"{totals.entries:,} entries"
    rig.window.picker.show_workspaces(rig.window.picker._workspaces)
    (switched,) = [
        workspace.cache for workspace in rig.window.picker._workspaces if workspace.id == rig.workspace.id
    ]
    assert switched == size, "picker"
    rig.window.show_page("outputs")
    counter = rig.views.outputs.get().filter_bar.counter
    listed = await rig.workspace.store.digests("newest", EntryFilter(kinds=("output",)))
    outputs = len(listed) // 32
    await until(lambda: re.match(rf"{outputs:,} outputs?$", counter.text), "the cache page's counter")
    return f"{entries} · {size} · {format_bytes(totals.stored_size)} on disk"
