"""What a store acknowledges it gives back when it is opened again, whatever its size; the rest it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.errors import ContentTooLarge
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Draft, PartialOutput
from helix_desktop.store.kinds import MAX_VALUE_BYTES
from tests.support.store.builders import START_MS, TickingClock, make_content, open_kind, user_message_event

KB = 1024
_OVERHEAD = 4 * KB  # bytes of a row beside its long text, at most


def _recorded(seq: int, event: Event) -> RecordedEvent:
    return RecordedEvent(seq, START_MS + seq, event)


def _message(text: str) -> Event:
    return UserSpoke(text, 1)


def _message_with_files(text: str) -> Event:
    half = len(text) // 2
    parts = (text[:half], text[half:])
    files = tuple(Attachment("", f"{n}.txt", part, 1, len(part)) for n, part in enumerate(parts))
    return UserSpoke("Read these.", 1, files)


def _answer(text: str) -> Event:
    """As dialects make it: what goes back to its server has the text a second time."""
    half = text[: len(text) // 2]
    return AssistantSpoke(half, "m", 1, verbatim={"message": {"content": half}})


def _answer_in_json(text: str) -> Event:
    """Of a server whose answer holds a number that msgpack can't."""
    return AssistantSpoke(text, "m", 1, verbatim={"id": 10**30})


def _answer_with_arguments(text: str) -> Event:
    return AssistantSpoke("", "m", 1, calls=(ToolCall("c1", "write_file", f'{{"content":"{text}"}}'),))


EVENTS: tuple[Callable[[str], Event], ...] = (
    _message,
    _message_with_files,
    _answer,
    _answer_in_json,
    _answer_with_arguments,
)


async def _save_draft(store: Store, text: str) -> None:
    await store.save_draft("s", text)


async def _save_files(store: Store, text: str) -> None:
    await store.save_draft("s", "Read this.", [Attachment("", "a.txt", text, 1, len(text))])


async def _save_answer(store: Store, text: str) -> None:
    await store.save_partial_answer("s", _recorded(1, AssistantSpoke(text, "m", 0, stop="stopped")))


async def _save_outputs(store: Store, text: str) -> None:
    await store.save_partial_outputs("s", [PartialOutput("c1", text)])


DRAFTS: tuple[Callable[[Store, str], Awaitable[None]], ...] = (
    _save_draft,
    _save_files,
    _save_answer,
    _save_outputs,
)

sizes = st.integers(MAX_VALUE_BYTES - 2 * _OVERHEAD, MAX_VALUE_BYTES + _OVERHEAD)
"""Around the limit; most of the time a row is written, or refused, for a few bytes."""


def _long(size: int) -> str:
    line = "All work and no play makes Jack a dull boy. "
    return (line * (size // len(line) + 1))[:size]


async def _is_taken(writing: Awaitable[None], size: int) -> bool:
    """Return True if a write is acknowledged. Fail if it should be and is not, or the other way round."""
    refusal: ContentTooLarge | None = None
    try:
        await writing
    except ContentTooLarge as error:
        refusal = error
    if refusal is not None:
        assert size > MAX_VALUE_BYTES - _OVERHEAD
        assert refusal.what
        assert refusal.why
        assert refusal.fix
        return False
    assert size <= MAX_VALUE_BYTES
    return True


def _require_same(found: object, expected: object) -> None:
    """Fail unless both are equal; their difference would be 64 MB of text."""
    if found != expected:
        pytest.fail("What came back is not what was acknowledged.")


async def _check_event(kind: str, folder: Path, size: int, make_event: Callable[[str], Event]) -> None:
    first = user_message_event(1)
    second = _recorded(2, make_event(_long(size)))
    log = [first]
    async with open_kind(kind, folder, TickingClock()) as store:
        await store.commit(Commit("s", [first]))
        if await _is_taken(store.commit(Commit("s", [second])), size):
            log.append(second)
        following = user_message_event(len(log) + 1)
        await store.commit(Commit("s", [following]))
        log.append(following)
        _require_same(await store.events("s"), log)
    await _check_again(kind, folder, log, Draft())


async def _check_draft(
    kind: str, folder: Path, size: int, save: Callable[[Store, str], Awaitable[None]]
) -> None:
    async with open_kind(kind, folder, TickingClock()) as store:
        await store.commit(Commit("s", [user_message_event(1)]))
        await _save_draft(store, "typed")
        before = await store.draft("s")
        is_taken = await _is_taken(save(store, _long(size)), size)
        draft = await store.draft("s")
        was_saved = draft != before
        assert is_taken == was_saved
    await _check_again(kind, folder, [user_message_event(1)], draft)


async def _check_again(kind: str, folder: Path, log: list[RecordedEvent], draft: Draft) -> None:
    """Check what a store on disk holds when it is opened again, by its owner."""
    if kind == "memory":
        return
    async with open_kind("leveldb", folder, TickingClock()) as store:
        assert store.health.report is None
        _require_same(await store.events("s"), log)
        _require_same(await store.draft("s"), draft)
        assert (await store.health.check()).problems == ()


_SLOW: dict[str, Any] = {
    "max_examples": 5,
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.mark.parametrize("kind", ["leveldb", "memory", "socket"])
@settings(**_SLOW)
@given(make_event=st.sampled_from(EVENTS), size=sizes)
def test_an_acknowledged_event_comes_back(
    tmp_path: Path, kind: str, make_event: Callable[[str], Event], size: int
) -> None:
    with TemporaryDirectory(dir=tmp_path) as folder:
        asyncio.run(_check_event(kind, Path(folder) / "store", size, make_event))


@pytest.mark.parametrize("kind", ["leveldb", "memory", "socket"])
@settings(**_SLOW)
@given(save=st.sampled_from(DRAFTS), size=sizes)
def test_an_acknowledged_draft_comes_back(
    tmp_path: Path, kind: str, save: Callable[[Store, str], Awaitable[None]], size: int
) -> None:
    with TemporaryDirectory(dir=tmp_path) as folder:
        asyncio.run(_check_draft(kind, Path(folder) / "store", size, save))


@pytest.mark.parametrize("kind", ["leveldb", "memory", "socket"])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_an_acknowledged_content_comes_back(tmp_path: Path, kind: str, over: int) -> None:
    content = make_content(_long(MAX_VALUE_BYTES + over).encode())

    async def check(folder: Path) -> None:
        async with open_kind(kind, folder, TickingClock()) as store:
            is_taken = await _is_taken(store.commit(Commit("s", contents=[content])), len(content.data))
            assert is_taken == (over <= 0)
            if is_taken:
                _require_same(await store.get(content.digest), content.data)

    with TemporaryDirectory(dir=tmp_path) as folder:
        asyncio.run(check(Path(folder) / "store"))
