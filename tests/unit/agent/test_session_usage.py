"""How full listed sessions are: counted from their logs, without reading the list again for each."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.store import Commit, SessionSummary
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import ScriptedModel, replies_in_order
from tests.support.store.builders import make_summary

SESSIONS = 60


class CountingStore(GatedStore):
    """Counts how often the list of sessions is read, and which logs are."""

    def __init__(self) -> None:
        super().__init__()
        self.lists_read = 0
        self.logs_read: list[str] = []
        self.changed: SessionSummary | None = None
        """Is stored while the log of this session is read, as by another process."""

    async def sessions(self) -> list[SessionSummary]:
        self.lists_read += 1
        return await super().sessions()

    async def events(self, session_id: str) -> list[RecordedEvent]:
        self.logs_read.append(session_id)
        if self.changed is not None and session_id == self.changed.id:
            await self.commit(Commit(session_id, summary=self.changed))
        return await super().events(session_id)


async def rig_with_imports(sessions: int = SESSIONS) -> tuple[AgentRig, CountingStore]:
    """Return a workspace whose sessions have no count of their window, as after an import."""
    store = CountingStore()
    rig = AgentRig(ScriptedModel(replies_in_order()), store=store)
    await rig.begin()
    for number in range(sessions):
        session_id = f"s{number:03}"
        log = [
            RecordedEvent(1, 1_000, SessionStarted(session_id)),
            RecordedEvent(2, 2_000, UserSpoke("How high is the tide?", 500 + number)),
        ]
        summary = replace(make_summary(session_id, number), messages=1, calls=0, events=2)
        await store.commit(Commit(session_id, log, summary=summary))
    store.lists_read = 0
    store.logs_read.clear()
    return rig, store


async def usage_by_id(rig: AgentRig) -> dict[str, float | None]:
    listed = await rig.store.sessions()
    return {summary.id: rig.workspace.usage.of(summary) for summary in listed}


async def test_a_recount_reads_the_list_once_and_only_the_logs_that_it_is_asked_for() -> None:
    rig, store = await rig_with_imports()
    asked = {f"s{number:03}" for number in range(0, SESSIONS, 3)}
    assert await rig.workspace.usage.recount(asked)
    assert store.lists_read == 1, "however many sessions were counted"
    assert sorted(store.logs_read) == sorted(asked)

    usage = await usage_by_id(rig)
    counted = {session_id for session_id in asked if usage[session_id] is not None}
    assert counted == asked
    assert usage["s003"] != usage["s057"], "each from its own log"
    assert usage["s001"] is None, "nobody asked for it"


async def test_what_is_counted_is_not_counted_again() -> None:
    rig, store = await rig_with_imports(sessions=3)
    everything = {"s000", "s001", "s002"}
    assert await rig.workspace.usage.recount(everything)
    store.lists_read = 0
    store.logs_read.clear()
    assert not await rig.workspace.usage.recount(everything)
    assert (store.lists_read, store.logs_read) == (1, [])


async def test_a_recount_stores_nothing_and_counts_again_what_went_on() -> None:
    rig, store = await rig_with_imports(sessions=2)
    (first,) = (summary for summary in await store.sessions() if summary.id == "s000")
    store.changed = replace(first, title="Renamed")
    await rig.workspace.usage.recount({"s000", "s001"})
    listed = {summary.id: summary for summary in await store.sessions()}
    assert (listed["s000"].title, listed["s000"].count, listed["s001"].count) == ("Renamed", None, None)
    usage = rig.workspace.usage
    assert None not in (usage.of(listed["s000"]), usage.of(listed["s001"]))
    assert usage.of(replace(listed["s000"], events=3)) is None, "an import added to it"


async def test_a_very_long_log_is_not_read_for_the_list() -> None:
    rig, store = await rig_with_imports(sessions=1)
    (summary,) = (summary for summary in await store.sessions() if summary.id == "s000")
    await store.commit(Commit("s000", summary=replace(summary, events=400_000)))
    assert not rig.workspace.usage.needs_count(replace(summary, events=400_000))
    assert not await rig.workspace.usage.recount({"s000"})
    assert store.logs_read == []
