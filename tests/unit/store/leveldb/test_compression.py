"""Compression: each piece of work is done once, by any thread, and always with the same result."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.store.core import row_codec
from helix_desktop.store.leveldb.compression import CompressionWorker, ContentEncoding, LazyResult
from tests.support.store.builders import make_content


def unpacked(packing: ContentEncoding) -> bytes:
    """Return the decompressed bytes."""
    return b"".join(
        row_codec.decompress(part.payload, part.length) if part.is_compressed else part.payload
        for part in packing.consume_parts()
    )


@given(
    st.binary(max_size=40) | st.binary(min_size=1, max_size=8).map(lambda part: part * 40), st.integers(1, 50)
)
def test_pieces_restore_the_bytes_whoever_compresses_them(data: bytes, piece: int) -> None:
    alone, with_helper = (
        ContentEncoding(make_content(data), piece),
        ContentEncoding(make_content(data), piece, min_shared_bytes=0),
    )
    assert (alone.is_shareable, with_helper.is_shareable) == (False, True)
    with_helper.precompute(lambda _: False)
    assert unpacked(alone) == unpacked(with_helper) == data
    assert alone.digest() == with_helper.digest() == digest_of(data)


def test_work_is_done_once_and_a_helper_skips_work_in_progress() -> None:
    started, may_continue = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> int:
        started.set()
        may_continue.wait(30)
        done.append(1)
        return 7

    once = LazyResult(work)
    first = threading.Thread(target=once.result)
    first.start()
    started.wait(30)
    once.try_compute()  # would wait forever if it did not skip it
    assert done == []
    may_continue.set()
    assert once.result() == 7
    first.join()
    once.try_compute()
    assert done == [1]


def test_failed_work_is_retried_by_the_next_that_needs_it() -> None:
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError("no room")
        return 3

    once = LazyResult(work)
    with pytest.raises(MemoryError):
        once.try_compute()
    assert once.result() == 3


def test_the_helper_works_from_the_end_and_skips_small_and_known_contents() -> None:
    checked: list[str] = []

    def is_known(digest: str) -> bool:
        checked.append(digest)
        return digest == contents[1].digest

    contents = [make_content(random.Random(number).randbytes(200_000)) for number in range(3)]
    packings = [ContentEncoding(content, 1 << 20) for content in contents]
    helper = CompressionWorker("test-helper", is_known)
    small = ContentEncoding(make_content(b"small" * 20_000), 1 << 20)
    helper.precompute([small])
    assert not any(thread.name.startswith("test-helper") for thread in threading.enumerate())
    helper.precompute([small, *packings])
    helper.close()
    assert checked == [content.digest for content in reversed(contents)]
    assert [unpacked(packing) for packing in packings] == [packing.data for packing in contents]
