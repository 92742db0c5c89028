"""Random trees of branches: whatever is deleted, forgotten or cut off by a crash, each log is what it was."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import RetentionRule
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    make_content,
    make_summary,
    tool_answer_event,
)

SECRETS = ("hunter22secret", "another-secret")
Action = Literal[
    "say", "use", "branch", "trash", "restore", "empty", "delete", "clean", "forget", "forget output", "crash"
]


class Step(msgspec.Struct, frozen=True):
    """One action on the session or content of a number; `seq` is where it is branched."""

    action: Action
    number: int
    seq: int


steps = st.builds(
    Step,
    st.sampled_from(
        (*get_args(Action), "branch", "branch", "branch", "say", "use", "trash", "empty", "delete")
    ),
    st.integers(0, 99),
    st.integers(0, 99),
)


@dataclass
class Tree:
    """What the sessions should be: their logs, which are in the trash, and which outputs were forgotten."""

    logs: dict[str, list[RecordedEvent]] = field(default_factory=dict)
    trashed: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    branches: int = 0

    def name(self, number: int) -> str:
        return sorted(self.logs)[number % len(self.logs)]


async def record(stores: list[Store], tree: Tree, session_id: str, event: Event, data: bytes = b"") -> None:
    """Record an event in both stores, with a content, and expect it in the log."""
    log = tree.logs[session_id]
    recorded = RecordedEvent(len(log) + 1, START_MS, event)
    summary = make_summary(session_id, START_MS + len(log))
    if session_id in tree.trashed:
        summary = msgspec.structs.replace(summary, trashed=START_MS)
    log.append(recorded)
    for store in stores:
        await store.commit(
            Commit(session_id, [recorded], [make_content(data)] if data else [], summary=summary)
        )


async def do(stores: list[Store], tree: Tree, step: Step) -> None:
    """Run a step on both stores, and on what is expected."""
    session_id = tree.name(step.number)
    match step.action:
        case "say":
            text = f"{step.seq} {SECRETS[step.number % 2]}" if step.seq % 2 else f"plain {step.seq}"
            await record(stores, tree, session_id, UserSpoke(text, 1))
        case "use":
            data = f"output {step.seq % 7}".encode()
            if digest_of(data) not in tree.forgotten:
                await record(stores, tree, session_id, tool_answer_event(1, data).event, data)
        case "branch":
            seq, tree.branches = 1 + step.seq % len(tree.logs[session_id]), tree.branches + 1
            name = f"b{tree.branches:02}"
            tree.logs[name] = tree.logs[session_id][:seq]
            await record(stores, tree, name, SessionBranched(session_id, seq, name))
        case "trash" if len(tree.trashed) == len(tree.logs) - 1:
            pass  # one is left to go on with
        case "trash" | "restore":
            results = [
                await (
                    store.retention.trash_session
                    if step.action == "trash"
                    else store.retention.restore_session
                )(session_id)
                for store in stores
            ]
            assert results[0] == results[1]
            (tree.trashed.add if step.action == "trash" else tree.trashed.discard)(session_id)
        case _:
            await clean(stores, tree, step)


async def clean(stores: list[Store], tree: Tree, step: Step) -> None:
    """Empty the trash, clean up what nothing names, or forget a text or an output."""
    match step.action:
        case "delete":
            session_id = tree.name(step.number)
            deleted = [await store.retention.delete_permanently((), [session_id]) for store in stores]
            assert deleted[0].sessions == deleted[1].sessions
            assert deleted[0].digests == deleted[1].digests
            assert deleted[0].with_branches == deleted[1].with_branches
            for name in deleted[0].sessions:
                tree.trashed.remove(name)
                del tree.logs[name]
        case "empty":
            emptied = [await store.retention.empty_trash() for store in stores]
            assert set(emptied[0].sessions) == set(emptied[1].sessions) == tree.trashed
            for session_id in tree.trashed:
                del tree.logs[session_id]
            tree.trashed.clear()
        case "clean":
            for store in stores:
                plan = await store.retention.plan(RetentionRule(grace_ms=0))
                await store.retention.collect([entry.digest for entry in plan.to_trash], grace_ms=0)
                await store.retention.empty_trash(1)
        case "forget" | "forget output":
            digest = digest_of(f"output {step.seq % 7}".encode())
            is_text = step.action == "forget"
            request = (
                RedactionRequest(SECRETS[step.number % 2]) if is_text else RedactionRequest(digests=(digest,))
            )
            found = [await store.redaction.redact(request) for store in stores]
            assert found[0].events == found[1].events
            tree.forgotten |= set() if is_text else {digest}
            for session_id, log in tree.logs.items():
                stored = await stores[0].events(session_id)
                assert [entry.seq for entry in stored] == [entry.seq for entry in log]
                tree.logs[session_id] = stored
                assert not (is_text and request.text in repr(stored))


async def check(store: Store, tree: Tree) -> None:
    """Assert that every log is whole, nothing forgotten is left, and what is named can be read."""
    assert {summary.id for summary in await store.sessions()} == tree.logs.keys() - tree.trashed
    for session_id, log in tree.logs.items():
        assert await store.events(session_id) == log
        named = {digest for entry in log for digest in digests_in(entry.event)}
        assert set(await store.retention.session_digests(session_id)) == named
        for digest in named:
            try:
                assert digest_of(await store.get(digest)) == digest
            except ContentRedacted:
                assert digest in tree.forgotten
    assert (await store.health.check()).problems == ()
    assert (await store.totals()).sessions == len(tree.logs)


async def compare(script: list[Step], folder: Path) -> None:
    tree, where = Tree({"p": []}), folder / "0"
    durable = await LevelDbStore.open(where, WORKSPACE, TickingClock(step=0), index_after_s=None)
    twin: Store = MemoryStore(TickingClock(step=0))
    try:
        await record([durable, twin], tree, "p", UserSpoke("begin", 1))
        for place, step in enumerate(script, 1):
            if step.action == "crash":  # what is on the disk at this moment is opened again
                copy = folder / str(place)
                shutil.copytree(where, copy, ignore=shutil.ignore_patterns("search.db*"))
                await durable.close()
                where = copy
                durable = await LevelDbStore.open(where, WORKSPACE, TickingClock(step=0), index_after_s=None)
                assert durable.health.report is None
            else:
                await do([durable, twin], tree, step)
        for store in (durable, twin):
            await check(store, tree)
    finally:
        await durable.close()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=10, max_size=30))
def test_every_log_of_a_tree_is_what_it_was(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(script, Path(folder)))
