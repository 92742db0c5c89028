"""The slow work on contents that are to be stored, their SHA-256 and their compression, done by two threads.

Each piece of it is done once, by the writer or by its helper, whoever comes first: the writer goes through a
commit from its beginning, the helper from its end.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core.row_codec import Codec, RowDamaged

_MIN_SHARED_BYTES = (
    128 * 1024
)  # bytes of a content below which two threads lose more by taking turns than they save

T = TypeVar("T")


class LazyResult(Generic[T]):
    """Work that is done by the first thread that comes; the others wait for its result."""

    __slots__ = ("_done", "_lock", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._done: tuple[T] | None = None

    def result(self) -> T:
        """What came of it. Work that raised is done again by the next who asks."""
        with self._lock:
            return self._compute()

    def try_compute(self) -> None:
        """Do it, unless another thread is at it."""
        if self._lock.acquire(blocking=False):
            try:
                self._compute()
            finally:
                self._lock.release()

    def _compute(self) -> T:
        if self._done is None:
            self._done = (self._work(),)
        return self._done[0]


class EncodedPart(NamedTuple):
    """Bytes as they are stored: whether compressed, how many they were, and what they are now."""

    is_compressed: bool
    length: int
    payload: bytes


class ContentEncoding:
    """One content's digest, and its bytes as they will be stored, in pieces of at most `piece` bytes.

    From `worth` bytes on, another thread may help.
    """

    __slots__ = ("_codec", "_digest", "_piece", "_pieces", "content")

    def __init__(
        self, content: Content, codec: Codec, part_bytes: int, min_shared_bytes: int = _MIN_SHARED_BYTES
    ) -> None:
        self.content = content
        self._codec, self._piece = codec, part_bytes
        self._digest: LazyResult[str] | None = None
        self._pieces: deque[LazyResult[EncodedPart]] = deque()
        if len(content.data) >= min_shared_bytes:
            self._digest = LazyResult(partial(digest_of, content.data))
            self._pieces.extend(
                LazyResult(partial(self._encode_part, start)) for start in self._part_offsets()
            )

    @property
    def is_shareable(self) -> bool:
        """Whether another thread may help."""
        return self._digest is not None

    def digest(self) -> str:
        """The digest that the bytes have."""
        return digest_of(self.content.data) if self._digest is None else self._digest.result()

    def consume_parts(self) -> Iterable[EncodedPart]:
        """The bytes as they will be stored, in order; once, so that each is let go as soon as it is used."""
        return (
            map(self._encode_part, self._part_offsets()) if self._digest is None else self._consume_computed()
        )

    def precompute(self, is_stored: Callable[[str], bool]) -> None:
        """Do of it what nobody has begun; what is `known` to be stored needs no packing, only its digest."""
        if self._digest is None:
            return
        self._digest.try_compute()
        if not is_stored(self.content.digest):
            with suppress(IndexError):  # the writer takes from the other end
                for number in range(len(self._pieces)):
                    self._pieces[-1 - number].try_compute()

    def _consume_computed(self) -> Iterator[EncodedPart]:
        while self._pieces:
            yield self._pieces.popleft().result()

    def _part_offsets(self) -> Sequence[int]:
        length = len(self.content.data)
        return range(0, length, self._piece) if length > self._piece else (0,)

    def _encode_part(self, offset: int) -> EncodedPart:
        data = self.content.data
        part = data if len(data) <= self._piece else data[offset : offset + self._piece]
        packed = self._codec.compress(part)
        return EncodedPart(False, len(part), part) if packed is None else EncodedPart(True, len(part), packed)


class CompressionWorker:
    """The writer's helper: one thread, begun when there is something worth sharing."""

    def __init__(self, name: str, is_stored: Callable[[str], bool]) -> None:
        """`known` says whether a digest is stored; it is asked on the helper's thread."""
        self._is_stored = is_stored
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    def precompute(self, encodings: Sequence[ContentEncoding]) -> None:
        """Begin with the last of those that are large enough to be worth it."""
        large = [one for one in encodings if one.is_shareable]
        if large:
            self._executor.submit(self._precompute, large)

    def close(self) -> None:
        """End the thread; what was begun is finished."""
        self._executor.shutdown(wait=True)

    def _precompute(self, encodings: Sequence[ContentEncoding]) -> None:
        # Whatever goes wrong here goes wrong again for the writer, who says so to the caller.
        with suppress(RowDamaged, StoreError):
            for packing in reversed(encodings):
                packing.precompute(self._is_stored)
