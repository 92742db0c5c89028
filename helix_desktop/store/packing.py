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

from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of
from helix_desktop.context.errors import StoreError
from helix_desktop.store.codec import Codec, RowDamaged

_WORTH = 128 * 1024  # bytes of a content below which two threads lose more by taking turns than they save

T = TypeVar("T")


class Once(Generic[T]):
    """Work that is done by the first thread that comes; the others wait for its result."""

    __slots__ = ("_done", "_lock", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._done: tuple[T] | None = None

    def result(self) -> T:
        """What came of it. Work that raised is done again by the next who asks."""
        with self._lock:
            return self._do()

    def begin(self) -> None:
        """Do it, unless another thread is at it."""
        if self._lock.acquire(blocking=False):
            try:
                self._do()
            finally:
                self._lock.release()

    def _do(self) -> T:
        if self._done is None:
            self._done = (self._work(),)
        return self._done[0]


class Packed(NamedTuple):
    """Bytes as they are stored: whether compressed, how many they were, and what they are now."""

    compressed: bool
    length: int
    payload: bytes


class Packing:
    """One content's digest, and its bytes as they will be stored, in pieces of at most `piece` bytes.

    From `worth` bytes on, another thread may help.
    """

    __slots__ = ("_codec", "_digest", "_piece", "_pieces", "content")

    def __init__(self, content: Content, codec: Codec, piece: int, worth: int = _WORTH) -> None:
        self.content = content
        self._codec, self._piece = codec, piece
        self._digest: Once[str] | None = None
        self._pieces: deque[Once[Packed]] = deque()
        if len(content.data) >= worth:
            self._digest = Once(partial(digest_of, content.data))
            self._pieces.extend(Once(partial(self._pack, start)) for start in self._starts())

    @property
    def shared(self) -> bool:
        """Whether another thread may help."""
        return self._digest is not None

    def digest(self) -> str:
        """The digest that the bytes have."""
        return digest_of(self.content.data) if self._digest is None else self._digest.result()

    def take(self) -> Iterable[Packed]:
        """The bytes as they will be stored, in order; once, so that each is let go as soon as it is used."""
        return map(self._pack, self._starts()) if self._digest is None else self._taken()

    def help(self, known: Callable[[str], bool]) -> None:
        """Do of it what nobody has begun; what is `known` to be stored needs no packing, only its digest."""
        if self._digest is None:
            return
        self._digest.begin()
        if not known(self.content.digest):
            with suppress(IndexError):  # the writer takes from the other end
                for number in range(len(self._pieces)):
                    self._pieces[-1 - number].begin()

    def _taken(self) -> Iterator[Packed]:
        while self._pieces:
            yield self._pieces.popleft().result()

    def _starts(self) -> Sequence[int]:
        length = len(self.content.data)
        return range(0, length, self._piece) if length > self._piece else (0,)

    def _pack(self, start: int) -> Packed:
        data = self.content.data
        part = data if len(data) <= self._piece else data[start : start + self._piece]
        packed = self._codec.compress(part)
        return Packed(False, len(part), part) if packed is None else Packed(True, len(part), packed)


class Helper:
    """The writer's helper: one thread, begun when there is something worth sharing."""

    def __init__(self, name: str, known: Callable[[str], bool]) -> None:
        """`known` says whether a digest is stored; it is asked on the helper's thread."""
        self._known = known
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def help(self, packings: Sequence[Packing]) -> None:
        """Begin with the last of those that are large enough to be worth it."""
        large = [one for one in packings if one.shared]
        if large:
            self._thread.submit(self._help, large)

    def end(self) -> None:
        """End the thread; what was begun is finished."""
        self._thread.shutdown(wait=True)

    def _help(self, packings: Sequence[Packing]) -> None:
        # Whatever goes wrong here goes wrong again for the writer, who says so to the caller.
        with suppress(RowDamaged, StoreError):
            for packing in reversed(packings):
                packing.help(self._known)
