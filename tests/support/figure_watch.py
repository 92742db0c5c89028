"""Every place of a shown window that tells how full the context is, and an own count to compare them with."""

from __future__ import annotations

import json
import re
from typing import Any

from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.ui.design.number_format import format_tokens
from helix_desktop.ui.inspector.request_list import ROW_ROLE
from helix_desktop.ui.inspector.rows import WindowRow
from helix_desktop.ui.shell.sidebar.rows import SessionItem
from tests.support.window_rig import Rig, until

_FRAMING = 4  # tokens that each message costs beside its text
_SLACK, _SHARE = 120, 0.04  # by which labels and framing may differ from what is counted here
FIXED = ("system", "tools", "mcp")


def listed(rig: Rig, session: str = "") -> SessionItem:
    """A session's line in the sidebar; without an id that of the one on screen."""
    wanted = session or rig.talk.session.id
    return next(one for one in rig.window.sidebar.session_list.sessions() if one.id == wanted)


async def counted(rig: Rig, messages: list[dict[str, Any]]) -> int:
    """The tokens of messages on the wire, by the vocabulary that everything is counted with."""
    total = 0
    for one in messages:
        calls = one.get("tool_calls") or ()
        said = [str(one.get("content") or ""), *(json.dumps(call["function"]) for call in calls)]
        total += _FRAMING + sum([await rig.room.count_tokens(text) for text in said if text])
    return total


async def next_request(rig: Rig) -> tuple[ModelRequest, PromptFrame]:
    """What the next request contains, from the stored log and nothing else."""
    settings: RunSettingsSource | None = rig.talk.session.settings
    assert settings is not None
    policy, frame, _ = settings()
    return project(Transcript(await rig.stored()), policy, frame).request, frame


async def check_truth(rig: Rig, factor: float) -> UsageGauge:
    """The gauge, which must be near `factor` times an own count of the next request."""
    request, frame = await next_request(rig)
    wire = [
        {
            "content": one.text,
            "tool_calls": [
                {"function": {"name": call.name, "arguments": call.arguments}} for call in one.calls
            ],
        }
        for one in request.messages
    ]
    true = factor * (await counted(rig, wire) + frame.tools_tokens)
    gauge = rig.talk.measure()[1]
    assert abs(gauge.used - true) <= _SLACK + _SHARE * true, (gauge, true)
    assert gauge.window == frame.info.window
    return gauge


def rows(rig: Rig) -> list[WindowRow]:
    """The rows of the inspector."""
    entries = rig.screens.inspector.requests.entries
    return [entries.index(at, 0).data(ROW_ROLE) for at in range(entries.rowCount())]


async def check_gauges(rig: Rig) -> None:
    """Every place on screen shows the gauge's figure: to the token where it can, else as it is written."""
    gauge = rig.talk.measure()[1]
    used, window, share = format_tokens(gauge.used), format_tokens(gauge.window), f"{gauge.share * 100:.0f} %"
    assert listed(rig).used == gauge.share, "sidebar"
    (line,) = [one for one in await rig.room.sessions() if one.id == rig.talk.session.id]
    assert rig.room.usage_of(line) == gauge
    pill = rig.window.top_bar.gauge.accessibleName()
    assert f"{share} · {used} / {window}" in pill, "top bar"
    inspector = rig.screens.inspector
    assert (inspector.share.text(), inspector.used.text.removeprefix("≈ ")) == (share, used), "inspector"
    assert sum(row.tokens for row in rows(rig)) == gauge.used, "rows of the inspector"
    timeline = rig.screens.timeline
    await until(lambda: f"now {used} of {window}" in timeline.spark.accessibleName(), f"chart at {used}")


async def check_totals(rig: Rig) -> str:
    """Sidebar, switcher, inspector and cache page count the cache alike; what the command line says of it."""
    totals = await rig.room.store.totals()
    size, entries = format_bytes(totals.size), f"{totals.entries:,} entries"
    rig.window.switcher.show_workspaces(rig.window.switcher._workspaces)
    (switched,) = [one.cache for one in rig.window.switcher._workspaces if one.id == rig.room.id]
    assert switched == size, "switcher"
    assert rig.window.sidebar._cache.text() == f"Cache {size} · {entries}", "sidebar"
    names = [one.accessibleName() for one in rig.screens.inspector.findChildren(type(_a_value(rig)))]
    assert f"Entries: {totals.entries:,} · {size}" in names, "inspector"
    rig.window.show_page("cache")
    counter = rig.screens.cache.filter_bar.counter
    await until(lambda: re.match(rf"{totals.entries:,} entries", counter.text), "the cache page's counter")
    return f"{entries}, {size}, {format_bytes(totals.stored_size)} on disk"


def _a_value(rig: Rig) -> Any:
    return rig.screens.inspector._entries
