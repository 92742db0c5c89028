"""The slow work on contents to be stored, SHA-256 and compression, shared between two threads.

Each part is done once, by the writer or by its helper, whichever comes first: the writer goes through a
commit from the start, the helper from the end.
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
from helix_desktop.store.core import row_codec
from helix_desktop.store.core.row_codec import RowDamaged

_MIN_SHARED_BYTES = (
    128 * 1024
)  # content size in bytes below which two threads lose more by taking turns than they save

T = TypeVar("T")


class LazyResult(Generic[T]):
    """Work that the first caller's thread does; other threads wait for its result."""

    __slots__ = ("_done", "_lock", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._done: tuple[T] | None = None

    def result(self) -> T:
        """Return the result. Work that raised is done again by the next caller."""
        with self._lock:
            return self._compute()

    def try_compute(self) -> None:
        """Do the work, unless another thread is doing it."""
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
    """Bytes as they are stored: if they are compressed, their original length, and the payload."""

    is_compressed: bool
    length: int
    payload: bytes


class ContentEncoding:
    """One content's digest, and its bytes as they will be stored, in parts of at most `part_bytes` bytes.

    From `min_shared_bytes` bytes on, another thread may help.
    """

    __slots__ = ("_digest", "_piece", "_pieces", "content")

    def __init__(self, content: Content, part_bytes: int, min_shared_bytes: int = _MIN_SHARED_BYTES) -> None:
        self.content = content
        self._piece = part_bytes
        self._digest: LazyResult[str] | None = None
        self._pieces: deque[LazyResult[EncodedPart]] = deque()
        if len(content.data) >= min_shared_bytes:
            self._digest = LazyResult(partial(digest_of, content.data))
            self._pieces.extend(
                LazyResult(partial(self._encode_part, start)) for start in self._part_offsets()
            )

    @property
    def is_shareable(self) -> bool:
        """Return True if another thread may help."""
        return self._digest is not None

    def digest(self) -> str:
        """Return the digest computed from the bytes."""
        return digest_of(self.content.data) if self._digest is None else self._digest.result()

    def consume_parts(self) -> Iterable[EncodedPart]:
        """Return the encoded parts in order; once only, so that each is freed as soon as it is used."""
        return (
            map(self._encode_part, self._part_offsets()) if self._digest is None else self._consume_computed()
        )

    def precompute(self, is_stored: Callable[[str], bool]) -> None:
        """Do what nobody has begun; a content that `is_stored` needs only its digest, no compression."""
        if self._digest is None:
            return
        self._digest.try_compute()
        if not is_stored(self.content.digest):
            with suppress(IndexError):  # the writer takes parts from the other end
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
        packed = row_codec.compress(part)
        return EncodedPart(False, len(part), part) if packed is None else EncodedPart(True, len(part), packed)


class CompressionWorker:
    """The writer's helper thread, started when there is enough work to share."""

    def __init__(self, name: str, is_stored: Callable[[str], bool]) -> None:
        """`is_stored` returns True for a stored digest; it is called on the helper's thread."""
        self._is_stored = is_stored
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    def precompute(self, encodings: Sequence[ContentEncoding]) -> None:
        """Start with the last of the contents that are large enough to be worth it."""
        large = [encoding for encoding in encodings if encoding.is_shareable]
        if large:
            self._executor.submit(self._precompute, large)

    def close(self) -> None:
        """End the thread after it has finished what it began."""
        self._executor.shutdown(wait=True)

    def _precompute(self, encodings: Sequence[ContentEncoding]) -> None:
        # Any error here occurs again for the writer, who reports it to the caller.
        with suppress(RowDamaged, StoreError):
            for encoding in reversed(encodings):
                encoding.precompute(self._is_stored)
