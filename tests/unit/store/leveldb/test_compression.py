"""Packing: each piece of work is done once, whoever comes first, and always with the same result."""

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
    """The bytes again."""
    return b"".join(
        row_codec.decompress(one.payload, one.length) if one.is_compressed else one.payload
        for one in packing.consume_parts()
    )


@given(
    st.binary(max_size=40) | st.binary(min_size=1, max_size=8).map(lambda part: part * 40), st.integers(1, 50)
)
def test_pieces_make_the_bytes_again_whoever_packs_them(data: bytes, piece: int) -> None:
    alone, helped = (
        ContentEncoding(make_content(data), piece),
        ContentEncoding(make_content(data), piece, min_shared_bytes=0),
    )
    assert (alone.is_shareable, helped.is_shareable) == (False, True)
    helped.precompute(lambda _: False)
    assert unpacked(alone) == unpacked(helped) == data
    assert alone.digest() == helped.digest() == digest_of(data)


def test_work_is_done_once_and_a_helper_passes_over_what_another_thread_does() -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> int:
        begun.set()
        go_on.wait(30)
        done.append(1)
        return 7

    once = LazyResult(work)
    first = threading.Thread(target=once.result)
    first.start()
    begun.wait(30)
    once.try_compute()  # would wait for ever if it did not pass over it
    assert done == []
    go_on.set()
    assert once.result() == 7
    first.join()
    once.try_compute()
    assert done == [1]


def test_work_that_failed_is_tried_again_by_whoever_needs_it() -> None:
    asked: list[int] = []

    def work() -> int:
        asked.append(1)
        if len(asked) == 1:
            raise MemoryError("no room")
        return 3

    once = LazyResult(work)
    with pytest.raises(MemoryError):
        once.try_compute()
    assert once.result() == 3


def test_the_helper_takes_what_is_worth_it_from_the_end_and_skips_what_is_known() -> None:
    asked: list[str] = []

    def known(digest: str) -> bool:
        asked.append(digest)
        return digest == contents[1].digest

    contents = [make_content(random.Random(number).randbytes(200_000)) for number in range(3)]
    packings = [ContentEncoding(one, 1 << 20) for one in contents]
    helper = CompressionWorker("test-helper", known)
    small = ContentEncoding(make_content(b"small" * 20_000), 1 << 20)
    helper.precompute([small])
    assert not any(one.name.startswith("test-helper") for one in threading.enumerate())
    helper.precompute([small, *packings])
    helper.close()
    assert asked == [one.digest for one in reversed(contents)]
    assert [unpacked(one) for one in packings] == [one.data for one in contents]
