"""A full disk, or a store's files deleted while it is open: clear errors, reads go on, nothing is lost."""

from __future__ import annotations

import asyncio
import functools
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore
from tests.support.small_disk import mount_small_disk
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    WORKSPACE,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits, mounts and deleted files")
CHECKOUT = Path(__file__).resolve().parents[3]


@functools.cache
def body(seq: int) -> bytes:
    return random.Random(seq).randbytes(200_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB of its own."""
    with mount_small_disk(tmp_path):
        yield tmp_path


def check_words(error: StoreWriteFailed) -> None:
    assert "Earlier work is safe" in error.what
    assert error.why
    assert "try again" in error.fix


async def fill(store: LevelDbStore, seq: int) -> int:
    """Append until the disk refuses; the last acknowledged seq."""
    while True:
        data = body(seq + 1)
        try:
            await store.commit(Commit("s", [tool_answer_event(seq + 1, data)], [make_content(data)]))
        except StoreWriteFailed as error:
            check_words(error)
            return seq
        seq += 1


async def check(store: LevelDbStore, last: int) -> None:
    """Everything acknowledged is there, and nothing that was refused."""
    assert await store.events("s") == [tool_answer_event(seq, body(seq)) for seq in range(1, last + 1)]
    for seq in range(1, last + 1):
        assert await store.get(digest_of(body(seq))) == body(seq)
    assert (await store.totals()).entries == last


async def test_a_full_disk_loses_nothing_and_writing_resumes(small_disk: Path) -> None:
    store = await LevelDbStore.open(small_disk / "store", WORKSPACE)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(44 << 20))
    last = await fill(store, 0)
    assert last > 10
    await check(store, last)
    # Still full: refused again, and reads go on.
    assert await fill(store, last) == last
    with pytest.raises(StoreWriteFailed):
        await store.save_draft("s", "typed")
    await check(store, last)
    ballast.unlink()
    await store.save_draft("s", "typed")
    data = body(last + 1)
    await store.commit(Commit("s", [tool_answer_event(last + 1, data)], [make_content(data)]))
    await check(store, last + 1)
    # A second time, and closed while it is full.
    last = await fill(store, last + 1)
    await check(store, last)
    await store.close()
    await asyncio.to_thread(subprocess.run, ["mount", "-o", "remount,size=120m", str(small_disk)], check=True)
    async with closing_store(await LevelDbStore.open(small_disk / "store", WORKSPACE)) as store:
        assert (await store.draft("s")).text == "typed"
        assert store.health.report is None
        count = len(await store.events("s"))
        await check(store, count)
        assert count in (last, last + 1)


LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import user_message_event

async def run():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = await LevelDbStore.open(Path(sys.argv[1]), sys.argv[2])
    await store.commit(Commit("s", [user_message_event(1)]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    for _ in range(3):
        try:
            await store.commit(Commit("s", [user_message_event(2)]))
        except StoreWriteFailed:
            assert await store.events("s") == [user_message_event(1)]
        else:
            raise SystemExit("a write passed that the system refused")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.commit(Commit("s", [user_message_event(2)]))
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()

asyncio.run(run())
"""


async def test_a_file_system_that_refuses_every_write_is_survived(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path), WORKSPACE]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE)) as store:
        assert await store.events("s") == [user_message_event(1), user_message_event(2)]


FAILING_SYNC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fdatasync(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (strstr(path, "/db/") && access(getenv("HELIX_TEST_SYNC_FAILS"), F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return real(fd);
}
"""

UNSYNCED = """
import asyncio, os, sys
from pathlib import Path
from helix_desktop.domain.errors import DigestUnknown, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import make_content, tool_answer_event, user_message_event

async def refused(call):
    try:
        await call
    except StoreWriteFailed:
        return
    raise SystemExit("a write was acknowledged that never reached the disk")

async def run():
    flag = Path(os.environ["HELIX_TEST_SYNC_FAILS"])
    store = await LevelDbStore.open(Path(sys.argv[1]), sys.argv[2])
    await store.commit(Commit("s", [user_message_event(1)]))
    one = make_content(bytes(range(256)) * 20)
    flag.touch()
    await refused(store.commit(Commit("s", [tool_answer_event(2, one.data)], [one])))
    assert await store.events("s") == [user_message_event(1)]
    # The next write reopens the files, which fails too and leaves them closed.
    await refused(store.commit(Commit("s", [user_message_event(2)])))
    await refused(store.save_draft("s", "typed"))
    try:
        await store.events("s")
    except StoreUnreadable as error:
        assert "writable" in error.fix
    flag.unlink()
    # Whether a read or a write comes first: the refused batch, which did reach the log, is gone.
    assert await store.events("s") == [user_message_event(1)]
    try:
        await store.get(one.digest)
    except DigestUnknown:
        pass
    else:
        raise SystemExit("refused content came back")
    await store.commit(Commit("s", [user_message_event(2)]))
    assert (await store.totals()).entries == 0
    await store.close()

asyncio.run(run())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler on Linux"
)
async def test_data_that_failed_to_sync_does_not_come_back(tmp_path: Path) -> None:
    source = tmp_path / "shim.c"
    shim = tmp_path / "shim.so"
    source.write_text(FAILING_SYNC)
    build = ["cc", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"]
    await asyncio.to_thread(subprocess.run, build, check=True)
    environ = os.environ | {"LD_PRELOAD": str(shim), "HELIX_TEST_SYNC_FAILS": str(tmp_path / "fails")}
    command = [sys.executable, "-c", UNSYNCED, str(tmp_path / "store"), WORKSPACE]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        assert await store.events("s") == [user_message_event(1), user_message_event(2)]


async def test_a_deleted_folder_takes_no_writes_and_can_be_exported(tmp_path: Path) -> None:
    content = make_content(b"found" * 1000)
    store = await SharedStore.open(tmp_path / "data" / "store", WORKSPACE)
    commit = Commit("s", [tool_answer_event(1, content.data)], [content], summary=make_summary("s"))
    await store.commit(commit)
    assert await store.health.missing_files() is None
    await store.wait_until_indexed()  # else it may add files meanwhile
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(StoreWriteFailed, match="workspace data is gone") as caught:
        await store.commit(Commit("s", [user_message_event(2)]))
    assert f"{tmp_path / 'data'} was deleted" in caught.value.why
    with pytest.raises(StoreWriteFailed):
        await store.save_draft("s", "typed")
    assert await store.health.missing_files() is not None
    await store.export_to(tmp_path / "saved.helix", "project")
    await store.close()
    assert not (tmp_path / "data").exists()
    other = await SharedStore.open(tmp_path / "other", OTHER_WORKSPACE)
    await other.import_from(tmp_path / "saved.helix")
    assert await other.events("s") == [tool_answer_event(1, content.data)]
    assert await other.get(content.digest) == content.data
    await other.close()


async def test_a_folder_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = await SharedStore.open(folder, WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    folder.rename(tmp_path / "away")
    with pytest.raises(StoreWriteFailed):
        await store.commit(Commit("s", [user_message_event(2)]))
    (tmp_path / "away").rename(folder)
    await store.commit(Commit("s", [user_message_event(2)]))
    await store.close()
    store = await SharedStore.open(folder, WORKSPACE)
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()


async def test_a_copy_in_its_place_stays_as_it_is(tmp_path: Path) -> None:
    """It may be older: what was stored since can be exported, and nothing is mixed."""
    folder = tmp_path / "store"
    copy = tmp_path / "copy"
    store = await SharedStore.open(folder, WORKSPACE)
    await store.commit(Commit("s", [user_message_event(1)]))
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("search.db*"))  # it may be written now
    await store.commit(Commit("s", [user_message_event(2)], summary=make_summary("s")))
    folder.rename(tmp_path / "away")
    copy.rename(folder)
    before = {path: path.read_bytes() for path in (folder / "db").iterdir()}
    with pytest.raises(StoreWriteFailed, match="workspace data was replaced"):
        await store.commit(Commit("s", [user_message_event(3)]))
    await store.export_to(tmp_path / "saved.helix", "project")
    await store.close()
    assert {path: path.read_bytes() for path in (folder / "db").iterdir()} == before
    assert not (folder / "clean").exists()
    store = await SharedStore.open(folder, WORKSPACE)
    assert await store.events("s") == [user_message_event(1)]
    await store.import_from(tmp_path / "saved.helix")
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]
    await store.close()
