"""One process owns a store and others use it: its lock, hostile guests, ends in the middle, and its heirs."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from helix_desktop.agent.ports import Store, StoreHealth, StoreRedaction, StoreRetention
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ArchiveWriteFailed,
    DataDirUnavailable,
    InvalidArchive,
    StoreClosed,
    StoreLocked,
    StoreUnreadable,
)
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote import client
from helix_desktop.store.remote.client import (
    ConnectionClosed,
    OwnerConnection,
    RemoteStore,
    connect,
    open_store,
)
from helix_desktop.store.remote.rpc import (
    COMMIT,
    ENDPOINT_FILE,
    HEAD_BYTES,
    METHODS,
    Challenge,
    ClientProof,
    Frame,
    InvalidFrame,
    OwnerEndpoint,
    RpcRequest,
    encode_frame,
    prove_client,
    read_endpoint,
    read_frame_head,
    write_endpoint,
)
from helix_desktop.store.remote.server import SharedStore, StoreServer
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    WORKSPACE,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

CHECKOUT = Path(__file__).resolve().parents[3]
OWNER_SCRIPT = """
import asyncio, sys
from pathlib import Path
from helix_desktop.store.remote.server import SharedStore

async def own():
    store = await SharedStore.open(Path(sys.argv[1]), sys.argv[2])
    store.set_open_sessions(lambda session: session == "open here")
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(own())
"""


@asynccontextmanager
async def owner_process(folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER_SCRIPT, str(folder), WORKSPACE,
        cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"open\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        await process.communicate(b"")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Remove write permission from the folder and its lock, until the test ends."""

    def take() -> None:
        (tmp_path / "owner.lock").chmod(0o400)
        tmp_path.chmod(0o500)

    yield take
    tmp_path.chmod(0o700)


async def test_a_second_open_in_this_process_is_refused_and_harmless(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    for path in (tmp_path, tmp_path / ".." / tmp_path.name):
        with pytest.raises(StoreLocked, match="already open here") as caught:
            await LevelDbStore.open(path, WORKSPACE)
        assert caught.value.owner_pid == os.getpid()
    # The lock still excludes other processes.
    command = [sys.executable, "-c", OWNER_SCRIPT, str(tmp_path), WORKSPACE]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert f"process {os.getpid()}" in done.stderr
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    assert await store.events("s") == [user_message_event(1)]
    await store.close()


async def test_a_failed_opening_leaves_no_lock_behind(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()
    for _ in range(2):
        with pytest.raises(ValueError, match="UUID"):
            await LevelDbStore.open(tmp_path, "no-uuid")
        with pytest.raises(Exception, match="another workspace"):
            await LevelDbStore.open(tmp_path, OTHER_WORKSPACE)
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()


async def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirUnavailable, match="can't be created"):
        await LevelDbStore.open(tmp_path / "file" / "store", WORKSPACE)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
async def test_a_read_only_folder_is_named(tmp_path: Path, read_only: Callable[[], None]) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()
    read_only()
    with pytest.raises(DataDirUnavailable, match="writable"):
        await LevelDbStore.open(tmp_path, WORKSPACE)


@pytest.mark.parametrize("loopback", [False, True])
async def test_a_server_stopped_during_startup_leaves_no_socket(tmp_path: Path, loopback: bool) -> None:
    store = await SharedStore.open(tmp_path / "store", WORKSPACE)
    folder = tmp_path / "address"
    folder.mkdir()
    for turns in range(6):
        server = StoreServer(folder, WORKSPACE, store)
        beginning = asyncio.get_running_loop().create_task(server.start(loopback))
        for _ in range(turns):
            await asyncio.sleep(0)
        beginning.cancel()
        with suppress(asyncio.CancelledError):
            await beginning
        await server.close()
        del server, beginning
        gc.collect()  # an unclosed socket is a warning, and a warning is an error
        assert list(folder.iterdir()) == []
    await store.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
async def test_an_owner_that_ends_is_followed(tmp_path: Path, how: int | None) -> None:
    async with owner_process(tmp_path) as owner:
        store = await open_store(tmp_path, WORKSPACE)
        assert isinstance(store, RemoteStore)
        await store.commit(Commit("s", [user_message_event(1)]))
        left = read_endpoint(tmp_path)
        if how:
            owner.send_signal(how)
            await owner.wait()
        else:
            await owner.communicate(b"")
        assert await store.events("s") == [user_message_event(1)]
        await store.commit(Commit("s", [user_message_event(2)]))
        assert left is not None
        assert not left.path or not Path(left.path).parent.exists()
        async with asyncio.timeout(300):
            guest = await connect(tmp_path, WORKSPACE)  # it serves others in its turn
        assert guest.owner_pid == os.getpid()
        assert await guest.events("s") == [user_message_event(1), user_message_event(2)]
        await guest.close()
        await store.close()
    assert not (tmp_path / ENDPOINT_FILE).exists()


async def inherited(owner: SharedStore, folder: Path) -> SharedStore:
    """The store of an owner in this process, once that has ended."""
    await owner.close()
    return await SharedStore.open(folder, WORKSPACE)


@pytest.mark.parametrize("ended_after", [1, 60])
async def test_a_write_in_flight_when_the_owner_ended_is_stored_once_and_in_order(
    tmp_path: Path, ended_after: int
) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    enough = asyncio.Event()

    async def say(seq: int) -> None:
        await store.commit(Commit("s", [user_message_event(seq)]))
        if seq == ended_after:
            enough.set()

    async def end() -> None:
        await enough.wait()
        await owner.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(end())
        for seq in range(1, 601):  # some of them while others are requested again
            group.create_task(say(seq))
            await asyncio.sleep(0.0005 if seq > ended_after else 0)
    assert await store.events("s") == [user_message_event(seq) for seq in range(1, 601)]
    await store.close()


@pytest.mark.parametrize(("seq", "outcome"), [(1, nullcontext()), (3, pytest.raises(ValueError, match="3"))])
async def test_a_write_that_is_sent_again_is_refused_unless_it_was_stored(
    tmp_path: Path, seq: int, outcome: AbstractContextManager[object]
) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    await store.commit(Commit("s", [user_message_event(1)]))
    with pytest.raises(ValueError, match="1"):  # the owner that stored it is still there
        await store.commit(Commit("s", [user_message_event(1)]))
    await owner.close()
    with outcome:
        await store.commit(Commit("s", [user_message_event(seq)]))
    assert await store.events("s") == [user_message_event(1)]
    await store.close()


async def test_a_request_that_must_not_run_twice_fails_and_the_next_succeeds(tmp_path: Path) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    await owner.close()
    with pytest.raises(StoreClosed, match="Lost the connection"):
        await store.retention.empty_trash()
    assert (await store.totals()).entries == 0
    assert (await store.retention.empty_trash()).digests == ()
    await store.close()
    with pytest.raises(StoreClosed, match="is closed"):
        await store.totals()


PORTS = (
    (Store, ""),
    (StoreRetention, "retention."),
    (StoreRedaction, "redaction."),
    (StoreHealth, "health."),
)
AT_HOME = {
    "close",
    "retention",
    "redaction",
    "health",
    "health.report",
    "health.acknowledge",
    "health.listen",
    "health.missing_files",
}
# Made on this side of the lists that cross.
LOCAL_CALLS = {"page", "digests", "search", "search_handovers"}
COMER = """
import asyncio, sys
from pathlib import Path
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store import Content
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreClosed
from helix_desktop.store.remote.client import open_store

async def store_one(data):
    store = await open_store(Path(sys.argv[1]), sys.argv[2], timeout_s=60)
    try:
        await store.commit(Commit("s", contents=[Content(digest_of(data), data)]))
    except StoreClosed:
        return False
    finally:
        await store.close()
    return True

async def come():
    for number in range(5):
        while not await store_one(f"{sys.argv[3]}-{number}".encode()):
            pass

asyncio.run(come())
"""


async def test_a_store_is_read_and_written_through_its_owner_alone(tmp_path: Path) -> None:
    content = make_content(b"from outside")
    async with owner_process(tmp_path) as owner:
        store = await open_store(tmp_path, WORKSPACE)
        assert isinstance(store, RemoteStore)
        assert store.owner_pid == owner.pid
        with pytest.raises(StoreLocked, match="in use by another running Helix Desktop") as caught:
            await LevelDbStore.open(tmp_path, WORKSPACE)
        assert caught.value.owner_pid == owner.pid
        assert str(owner.pid) in str(caught.value)
        await store.commit(Commit("s", [user_message_event(1)], [content], summary=make_summary("s")))
        with pytest.raises(StoreLocked, match="in use by another"):
            await store.commit(Commit("open here", [user_message_event(1)]))
        await store.commit(Commit("open here", contents=[make_content(b"contents are welcome")]))
        await store.close()
    assert owner.returncode == 0
    store = await open_store(tmp_path, WORKSPACE)
    assert isinstance(store, SharedStore)
    assert await store.events("s") == [user_message_event(1)]
    assert await store.get(content.digest) == b"from outside"
    assert await store.events("open here") == []
    await store.close()


async def test_an_unresponsive_owner_is_named(tmp_path: Path) -> None:
    async with owner_process(tmp_path) as owner:
        owner.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreLocked, match="hasn't answered") as caught:
            await open_store(tmp_path, WORKSPACE, timeout_s=0.3)
        assert caught.value.owner_pid == owner.pid
        assert f"process {owner.pid}" in str(caught.value)


async def test_a_guest_gets_the_progress_of_a_long_operation_of_the_owner(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    archive = tmp_path / "all.helix"
    async with owner_process(folder):
        store = await open_store(folder, WORKSPACE)
        assert isinstance(store, RemoteStore)
        rng = random.Random(3)
        for _ in range(4):
            await store.commit(Commit("s", contents=[make_content(rng.randbytes(700_000)) for _ in range(5)]))
        works: list[Callable[[OnProgress], Coroutine[Any, Any, object]]] = [
            lambda tell: store.export_to(archive, "name", tell),
            lambda tell: store.import_from(archive, tell),
            lambda tell: store.redaction.preview(RedactionRequest(text="a secret"), tell),
            store.health.check,
        ]
        for work in works:
            progress: list[tuple[int, int]] = []

            def on_progress(done: int, size: int, progress: list[tuple[int, int]] = progress) -> None:
                progress.append((done, size))

            await work(on_progress)
            assert len(progress) > 1
            assert all(0 <= done <= size for done, size in progress)
            assert progress == sorted(progress)
        assert (await store.totals()).entries == 20
        await store.close()


async def test_processes_that_come_and_go_all_connect_and_lose_nothing(tmp_path: Path) -> None:
    """Each opens the store repeatedly, as owner or as guest of one that is just leaving."""
    comers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", COMER, str(tmp_path), WORKSPACE, str(number)),
            cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in range(3)
    ]  # fmt: skip
    outputs = await asyncio.gather(*(comer.communicate() for comer in comers))
    assert outputs == [(b"", b"")] * 3  # also no file that was left open
    store = await open_store(tmp_path, WORKSPACE)
    assert (await store.totals()).entries == 15
    await store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="loopback is guarded by the secret alone")
async def test_other_users_cannot_reach_the_socket(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path / "a store with a name of some length" / ("x" * 150), WORKSPACE)
    folder = tmp_path / "a store with a name of some length" / ("x" * 150)
    address = read_endpoint(folder)
    assert address is not None
    assert stat.S_IMODE((folder / ENDPOINT_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(address.path).parent.stat().st_mode) == 0o700
    assert len(os.fsencode(address.path)) <= 100
    await (await connect(folder, WORKSPACE)).close()
    await store.close()
    assert not Path(address.path).parent.exists()


@pytest.mark.parametrize("loopback", [False, True])
async def test_a_client_without_the_secret_is_refused(tmp_path: Path, loopback: bool) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE, loopback=loopback)
    address = read_endpoint(tmp_path)
    assert address is not None
    write_endpoint(tmp_path, msgspec.structs.replace(address, secret=b"guessed"))
    with pytest.raises(ConnectionClosed):
        await connect(tmp_path, WORKSPACE)
    write_endpoint(tmp_path, address)
    with pytest.raises(StoreUnreadable, match="another workspace"):
        await connect(tmp_path, OTHER_WORKSPACE)
    guest = await connect(tmp_path, WORKSPACE)
    assert await guest.sessions() == []
    await guest.close()
    await store.close()


async def test_an_impostor_behind_the_address_is_not_believed(tmp_path: Path) -> None:
    async def fake_owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        words = encode_frame(Challenge(b"n" * 32))
        writer.write(words.encode_head(0) + words.payload)
        head = read_frame_head(await reader.readexactly(HEAD_BYTES), 1024)
        proof = Frame(await reader.readexactly(head.length)).decode(ClientProof)
        lie = encode_frame({"mac": proof.mac, "workspace": WORKSPACE, "pid": 1})
        writer.write(lie.encode_head(0) + lie.payload)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(fake_owner, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        write_endpoint(tmp_path, OwnerEndpoint(b"secret", port=port))
        with pytest.raises(InvalidFrame, match="has not the secret"):
            await connect(tmp_path, WORKSPACE)


async def test_a_session_has_one_writer(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    store.set_open_sessions(lambda session_id: session_id == "mine")
    first = await connect(tmp_path, WORKSPACE)
    second = await connect(tmp_path, WORKSPACE)
    await store.commit(Commit("mine", [user_message_event(1)]))
    with pytest.raises(StoreLocked, match="in use by another"):
        await first.commit(Commit("mine", [user_message_event(2)]))
    await first.commit(Commit("theirs", [user_message_event(1)], summary=make_summary("theirs")))
    for other in (second, store):
        with pytest.raises(StoreLocked, match="in use by another"):
            await other.commit(Commit("theirs", [user_message_event(2)]))
        assert await other.events("theirs") == [user_message_event(1)]
        await other.commit(Commit("theirs", contents=[make_content(b"anybody's")]))
    await first.close()
    while True:  # the owner notices a moment later
        try:
            await store.commit(Commit("theirs", [user_message_event(2)]))
            break
        except StoreLocked:
            await asyncio.sleep(0)
    await second.close()
    await store.close()


async def test_a_guest_that_dies_mid_request_harms_no_other(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    good = await connect(tmp_path, WORKSPACE)
    bad = await connect(tmp_path, WORKSPACE)
    call = asyncio.gather(bad.commit(Commit("s", [user_message_event(1)], [make_content(bytes(3_000_000))])))
    await asyncio.sleep(0)
    assert isinstance(bad.backend, OwnerConnection)
    transport = bad.backend._transport
    assert transport is not None
    transport.abort()
    with pytest.raises(StoreClosed):
        await call
    await bad.close()
    assert await good.events("s") in ([], [user_message_event(1)])
    await good.commit(Commit("t", [tool_answer_event(1, b"x")], [make_content(b"x")]))
    await good.close()
    await store.close()


async def test_content_larger_than_a_message_is_sent_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_VALUE_BYTES", 100_000)
    monkeypatch.setattr(client, "MAX_REQUEST_BYTES", 120_000)
    store = await SharedStore.open(tmp_path, WORKSPACE)
    guest = await connect(tmp_path, WORKSPACE)
    large = [make_content(random.Random(number).randbytes(90_000)) for number in range(3)]
    await guest.commit(Commit("s", [tool_answer_event(1, large[1].data)], large))
    assert [await guest.get(content.digest) for content in large] == [content.data for content in large]
    assert await guest.events("s") == [tool_answer_event(1, large[1].data)]
    await guest.close()
    await store.close()


async def test_concurrent_requests_of_many_guests_get_their_own_answers(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    contents = [make_content(b"%d " % number * number) for number in range(300)]
    await store.commit(Commit("s", contents=contents))
    guests = [await connect(tmp_path, WORKSPACE) for _ in range(8)]

    async def ask(guest: RemoteStore, place: int) -> None:
        mine = contents[place::8]
        assert await asyncio.gather(*(guest.get(content.digest) for content in mine)) == [
            content.data for content in mine
        ]

    await asyncio.gather(*(ask(guest, place) for place, guest in enumerate(guests)))
    await asyncio.gather(*(guest.close() for guest in guests))
    await store.close()


async def test_twenty_workspaces_at_once_leak_nothing(tmp_path: Path) -> None:
    def addresses() -> list[Path]:
        return list(tmp_path.rglob(ENDPOINT_FILE))

    def open_files() -> set[str]:
        here = Path("/proc/self/fd")
        return {os.readlink(path) for path in here.iterdir() if path.is_symlink()} if here.exists() else set()

    def store_threads() -> int:
        return sum(thread.name.startswith("helix-store") for thread in threading.enumerate())

    before = open_files()
    tasks = len(asyncio.all_tasks())
    threads = store_threads()
    identities = [f"{number:08d}-0000-4000-8000-000000000001" for number in range(20)]
    async with AsyncExitStack() as closing:
        for identity in identities:
            store = await SharedStore.open(tmp_path / identity, identity)
            closing.push_async_callback(store.close)
            guest = await connect(tmp_path / identity, identity)
            closing.push_async_callback(guest.close)
            await guest.commit(Commit("s", [user_message_event(1, identity)]))
        for identity in identities:
            again = await connect(tmp_path / identity, identity)
            assert await again.events("s") == [user_message_event(1, identity)]
            await again.close()
        assert store_threads() - threads <= 4 * len(identities)
    assert open_files() <= before  # what an earlier test left may be closed meanwhile
    assert len(asyncio.all_tasks()) == tasks
    assert not addresses()


@pytest.mark.qt_loop
async def test_it_works_on_the_qt_event_loop(qtbot: QtBot, tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    guest = await connect(tmp_path, WORKSPACE)
    content = make_content(bytes(2_000_000))
    await guest.commit(Commit("s", [tool_answer_event(1, content.data)], [content]))
    assert await guest.get(content.digest) == content.data
    await guest.close()
    await store.close()


async def raw(folder: Path, with_handshake: bool) -> OwnerConnection:
    """Return a raw connection for invalid input, before or after the handshake."""
    address = read_endpoint(folder)
    assert address is not None
    _, connection = await asyncio.get_running_loop().create_unix_connection(OwnerConnection, address.path)
    greeted = (await connection.receive_handshake()).decode(Challenge)
    if with_handshake:
        connection.send_handshake(encode_frame(prove_client(address.secret, greeted)))
        await connection.receive_handshake()
    return connection


requests = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda value: encode_frame(value).payload, st.tuples(st.text(max_size=8), st.lists(st.integers(0, 9)))
    ),
    st.builds(
        lambda name, args: encode_frame((name, args)).payload,
        st.sampled_from(["commit", "get", "page", "close", "events", "__init__", "find"]),
        st.lists(
            st.none() | st.text(max_size=5) | st.binary(max_size=5) | st.integers(-(2**40), 2**40), max_size=6
        ),
    ),
)


async def speak_nonsense(folder: Path, frames: list[tuple[bool, bool, bytes]]) -> None:
    store = await SharedStore.open(folder, WORKSPACE)
    async with closing_store(await connect(folder, WORKSPACE)) as witness:
        await witness.commit(Commit("s", [user_message_event(1)]))
        for with_handshake, framed, payload in frames:
            connection = await raw(folder, with_handshake)
            transport = connection._transport
            assert transport is not None
            transport.write(Frame(payload).encode_head(7) + payload if framed else payload)
            if framed and with_handshake:
                with suppress(ConnectionClosed):
                    await connection.request(encode_frame(("totals", ())))  # everything before it was handled
            transport.abort()
            await connection.close()
        assert await witness.events("s") == [user_message_event(1)]
        assert await store.sessions() == []
        await store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the raw connection is made by path")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.booleans(), st.booleans(), requests), max_size=4))
def test_nonsense_never_reaches_the_store(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[bool, bool, bytes]]
) -> None:
    asyncio.run(speak_nonsense(tmp_path_factory.mktemp("store"), frames))


async def test_a_frame_over_the_limit_ends_the_connection(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    guest = await connect(tmp_path, WORKSPACE)
    assert isinstance(guest.backend, OwnerConnection)
    transport = guest.backend._transport
    assert transport is not None
    transport.write(b"\xff\xff\xff\xff\x01\x00\x00\x00\x00\x09")
    with pytest.raises(StoreClosed):
        await guest.events("s")
    await guest.close()
    assert await store.events("s") == []
    await store.close()


async def test_a_commit_larger_than_one_content_is_sent_as_the_owner_would_take_it(tmp_path: Path) -> None:
    long = [user_message_event(number, "x" * 8_000_000) for number in range(1, 10)]
    async with closing_store(await SharedStore.open(tmp_path, WORKSPACE)) as store:
        async with closing_store(await connect(tmp_path, WORKSPACE)) as guest:
            await guest.commit(Commit("s", long))
        assert await store.events("s") == long


async def test_operations_that_need_exclusive_access_are_left_to_the_owner(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path, WORKSPACE)
    guest = await connect(tmp_path, WORKSPACE)
    await store.commit(
        Commit("s", [tool_answer_event(1, b"secret")], [make_content(b"secret")], summary=make_summary("s"))
    )
    request = RedactionRequest("secret")
    assert (await guest.redaction.preview(request)).contents
    with pytest.raises(StoreLocked, match="can be removed only while"):
        await guest.redaction.redact(request)
    with pytest.raises(StoreLocked, match="can't be moved to the trash"):
        await guest.retention.trash_session("s")
    assert await guest.retention.session_digests("s") == [digest_of(b"secret")]
    assert await guest.get(digest_of(b"secret")) == b"secret"
    await guest.close()
    await store.close()


async def test_the_owner_exports_and_imports_for_a_guest(tmp_path: Path) -> None:
    store = await SharedStore.open(tmp_path / "store", WORKSPACE)
    guest = await connect(tmp_path / "store", WORKSPACE)
    await store.commit(
        Commit("s", [tool_answer_event(1, b"one")], [make_content(b"one")], summary=make_summary("s"))
    )
    await store.commit(Commit("t", [user_message_event(1)]))
    done = await guest.export_to(tmp_path / "a.helix", "Name")
    assert (done.totals.entries, done.totals.sessions) == (1, 2)
    with pytest.raises(ArchiveWriteFailed):
        await guest.export_to(tmp_path / "no" / "where.helix", "Name")
    (tmp_path / "b.helix").write_bytes(b"nothing")
    with pytest.raises(InvalidArchive, match="Nothing was changed"):
        await guest.import_from(tmp_path / "b.helix")
    other = await SharedStore.open(tmp_path / "other", OTHER_WORKSPACE)
    visitor = await connect(tmp_path / "other", OTHER_WORKSPACE)
    assert set((await visitor.import_from(tmp_path / "a.helix")).new) == {"s", "t"}
    await store.commit(Commit("s", [user_message_event(2)]))
    await guest.export_to(tmp_path / "a.helix", "Name")
    other.set_open_sessions(lambda session_id: session_id == "s")
    again = await visitor.import_from(tmp_path / "a.helix")
    assert (again.busy, again.unchanged, again.is_complete) == (("s",), ("t",), False)
    assert await other.events("s") == [tool_answer_event(1, b"one")]
    for each in (guest, visitor, store, other):
        await each.close()


def test_every_method_of_the_port_crosses_the_wire() -> None:
    """A method added to the port must be added here too: nothing else notices before a guest calls it."""
    methods = {f"{under}{name}" for kind, under in PORTS for name in dir(kind) if name[0] != "_"}
    assert methods - {call.path for call in METHODS.values()} == AT_HOME | LOCAL_CALLS


def test_a_commit_crosses_the_wire_as_the_list_of_its_fields() -> None:
    one = make_content(b"x")
    commit = Commit("s", [user_message_event(1)], [one], [one.digest], make_summary("s"))
    fields = (commit.session_id, commit.events, commit.contents, commit.recalls, commit.summary, False)
    assert COMMIT.request(commit) == encode_frame(("commit", fields))
    shorter = encode_frame(("commit", ("s", [user_message_event(1)])))
    args = COMMIT.decode_args(shorter.decode(RpcRequest), shorter.is_json)
    assert args == (Commit("s", [user_message_event(1)]),)
