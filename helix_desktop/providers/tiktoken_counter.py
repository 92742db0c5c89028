"""Count tokens with a bundled vocabulary: no download, and not on the event loop's thread."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from binascii import a2b_base64
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.text_format import MAX_CHUNK_CHARS, split_text
from helix_desktop.domain.translatable_text import TextContext, system_reason

_text = TextContext("Providers")

if TYPE_CHECKING:
    import tiktoken

_log = logging.getLogger(__name__)

MAX_CACHED_TEXTS = 4_096
"""Number of cached counts for repeated texts: the system prompt, tool schemas, a draft."""

_SHORT_CHARS = 64
"""Characters of a text that is counted as fast as it would be found."""


VOCABULARY = "o200k_base"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
SPECIAL = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
"""The bundled vocabulary: its file's SHA-256, and how it splits text. Source: tiktoken's openai_public.py."""


_SAMPLED_CHARS = 4_000_000
"""Of a longer text, which no window takes, a sample is counted."""
_SAMPLES = 64
_SAMPLE_CHARS = 16_000
_AHEAD_THREADS = 3
_AHEAD_CHARS = 64 * 1024  # handed over at once


class TiktokenCounter:
    """Counts tokens with the vocabulary in one `.tiktoken` file; implements the agent's `Counter`.

    The file is read at the first count, or by `load`. That stops every thread for some 170 ms, once, while
    tiktoken builds its tables in one call that keeps the interpreter: call `load` before the user types.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoding: tiktoken.Encoding | None = None
        self._loading = asyncio.Lock()
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._counts_lock = threading.Lock()

    async def load(self) -> None:
        """Read the vocabulary. Raises HelixError if the file is missing or damaged."""
        await self._loaded_encoding()

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens count as plain text. Raises HelixError."""
        if not texts:
            return []
        encoding = await self._loaded_encoding()
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(
                lambda: [self._count_text(encoding, text, stopped) for text in texts]
            )
        finally:
            # A canceled count must not keep its thread, and the exit, waiting.
            stopped.set()

    async def _loaded_encoding(self) -> tiktoken.Encoding:
        async with self._loading:
            if self._encoding is None:
                self._encoding = await asyncio.to_thread(load_encoding, self._path)
            return self._encoding

    def _count_text(self, encoding: tiktoken.Encoding, text: str, stopped: threading.Event) -> int:
        if len(text) <= _SHORT_CHARS:
            return count_chunk(encoding, text)
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._counts_lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        tokens = count_text(encoding, text, stopped.is_set)
        if stopped.is_set():
            return 0
        with self._counts_lock:
            self._counts[key] = tokens
            while len(self._counts) > MAX_CACHED_TEXTS:
                self._counts.popitem(last=False)
        return tokens


class PrefetchingTokenCounter:
    """Counts the texts of one thread: those that it will ask for soon meanwhile, in other threads.

    The tokenizer lets go of the interpreter: so counting costs that thread no time where there are cores.
    """

    def __init__(self, path: Path) -> None:
        """`path` is the vocabulary. Raises HelixError if it is missing or damaged."""
        self._encoding = load_encoding(path)
        self._pool = ThreadPoolExecutor(_AHEAD_THREADS, "count")
        self._pending: dict[str, tuple[Future[list[int]], int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def prefetch(self, texts: Iterable[str]) -> None:
        """Count texts that `count` will be asked for, before the next call of this."""
        self._pending = {}
        batch = list[str]()
        size = 0
        for text in dict.fromkeys(texts):
            batch.append(text)
            size += len(text)
            if size >= _AHEAD_CHARS:
                self._count_ahead(batch)
                batch = []
                size = 0
        self._count_ahead(batch)

    def _count_ahead(self, texts: Sequence[str]) -> None:
        counts = self._pool.submit(lambda: [count_text(self._encoding, text) for text in texts])
        self._pending |= {text: (counts, place) for place, text in enumerate(texts)}

    async def count(self, texts: Sequence[str]) -> list[int]:
        found = ((text, self._pending.get(text)) for text in texts)
        return [
            count_text(self._encoding, text) if ahead is None else ahead[0].result()[ahead[1]]
            for text, ahead in found
        ]


def _sample(text: str) -> Iterator[str]:
    """Yield evenly spaced parts of a huge text: counting all of 30 MB would take half a minute."""
    for number in range(_SAMPLES):
        start = number * (len(text) - _SAMPLE_CHARS) // (_SAMPLES - 1)
        yield text[start : start + _SAMPLE_CHARS]


@lru_cache(maxsize=1)
def load_encoding(path: Path) -> tiktoken.Encoding:
    """Build a tiktoken encoding from the vocabulary's file; takes about 0.4 s.

    Cached for the life of the process: it never changes, and each copy takes some 70 MB.
    Raises HelixError if the file cannot be read or has the wrong hash.
    """
    import tiktoken

    fix = _text("Reinstall Helix Desktop.")
    try:
        raw = path.read_bytes()
    except OSError as error:
        what = _text("The vocabulary {name} can't be read.", name=path.stem)
        raise HelixError(what, system_reason(error), fix) from error
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256:
        raise HelixError(
            _text("The vocabulary {name} is damaged.", name=path.stem),
            _text(
                "{file} has the digest {actual}, not {expected}.", file=path, actual=digest, expected=SHA256
            ),
            fix,
        )
    ranks = {a2b_base64(token): int(rank) for token, rank in map(bytes.split, BytesIO(raw))}
    # In one group, what stands before the look-ahead is one search: counting takes a quarter less.
    plain, look_ahead, rest = PATTERN.partition(r"|\s+(?!\S)")
    return tiktoken.Encoding(
        VOCABULARY,
        pat_str=f"(?:{plain}){look_ahead}{rest}",
        mergeable_ranks=ranks,
        special_tokens=SPECIAL,
    )


def count_text(encoding: tiktoken.Encoding, text: str, is_stopped: Callable[[], bool] = lambda: False) -> int:
    """Return the tokens of a text of any length, counted in the caller's thread; of a part once stopped."""
    if len(text) <= MAX_CHUNK_CHARS:
        return count_chunk(encoding, text)
    is_sampled = len(text) > _SAMPLED_CHARS
    chunks = _sample(text) if is_sampled else split_text(text)
    counted = sum(count_chunk(encoding, chunk) for chunk in takewhile(lambda _: not is_stopped(), chunks))
    return round(counted * len(text) / (_SAMPLES * _SAMPLE_CHARS)) if is_sampled else counted


def count_chunk(encoding: tiktoken.Encoding, chunk: str) -> int:
    """Return the tokens of one chunk from `split_text`; an estimate if the tokenizer fails."""
    try:
        return len(encoding.encode_ordinary(chunk))
    except BaseException as error:
        # PyO3's PanicException derives from BaseException, so that `except Exception` misses it.
        if type(error).__name__ != "PanicException":
            raise
        _log.warning("the tokenizer gave up on %d characters, which are estimated", len(chunk))
        return len(chunk.encode("utf-8", "replace"))
