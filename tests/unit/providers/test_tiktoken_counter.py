"""Tokens: the vocabulary is tiktoken's own, and no text is too long or too unusual."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public  # type: ignore[import-untyped]  # tiktoken types its core only
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.image import Image
from helix_desktop.domain.text_format import split_text
from helix_desktop.providers import tiktoken_counter
from helix_desktop.providers.tiktoken_counter import (
    PATTERN,
    SHA256,
    SPECIAL,
    VOCABULARY,
    TiktokenCounter,
    count_chunk,
    load_encoding,
)

FILE = resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken"


@pytest.fixture(scope="module")
def counter() -> TiktokenCounter:
    return TiktokenCounter(FILE)


def test_the_vocabulary_is_the_one_tiktoken_would_download(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[str] = []

    def instead_of_a_download(_address: str, expected_hash: str) -> dict[bytes, int]:
        expected.append(expected_hash)
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", instead_of_a_download)
    reference = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[VOCABULARY]()
    assert expected == [SHA256]
    assert reference["pat_str"] == PATTERN
    assert reference["special_tokens"] == SPECIAL


def test_known_text_has_known_tokens() -> None:
    encoding = load_encoding(FILE)
    assert encoding.encode_ordinary("hello world!") == [24912, 2375, 0]
    assert encoding.decode(encoding.encode_ordinary("größe 漢字 🙂")) == "größe 漢字 🙂"


def test_a_pattern_in_a_group_splits_as_the_published_one() -> None:
    encoding = load_encoding(FILE)
    published = tiktoken.Encoding(
        "as published",
        pat_str=PATTERN,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )

    @given(st.text(st.sampled_from(" \n\r\t abXY's'LL129_-/.,;\u00a0\u2003éßÄ漢न\u0941🙂\u0301ǅ\0")))
    def compare(text: str) -> None:
        assert encoding.encode_ordinary(text) == published.encode_ordinary(text)

    compare()


async def test_counts_are_in_order_and_cached(counter: TiktokenCounter) -> None:
    texts = ["hello world!", "", "hello", "hello world!"]
    assert await counter.count(texts) == [3, 0, 1, 3]
    assert await counter.count(texts) == [3, 0, 1, 3]
    assert await counter.count([]) == []


async def test_special_tokens_are_plain_text(counter: TiktokenCounter) -> None:
    [tokens] = await counter.count(["<|endoftext|>"])
    assert tokens > 1


@pytest.mark.parametrize(
    "text", [" " * 1_000_000, "a" * 300_000, "\n" * 300_000, "\ud800 half a character"], ids=lambda t: t[:1]
)
async def test_any_text_can_be_counted(counter: TiktokenCounter, text: str) -> None:
    [tokens] = await counter.count([text])
    assert 0 < tokens <= len(text) * 3


async def test_pieces_hardly_change_a_count(counter: TiktokenCounter) -> None:
    text = "".join(f"def name_{number}(self) -> int:\n    return {number}\n" for number in range(6000))
    encoding = load_encoding(FILE)
    [tokens] = await counter.count([text])
    assert abs(tokens - len(encoding.encode_ordinary(text))) <= len(split_text(text))


async def test_concurrent_first_counts_load_once(counter: TiktokenCounter) -> None:
    load_encoding.cache_clear()
    fresh = TiktokenCounter(FILE)
    assert await asyncio.gather(*(fresh.count(["hello"]) for _ in range(8))) == [[1]] * 8
    assert load_encoding.cache_info().misses == 1


async def test_a_canceled_count_releases_its_thread(
    counter: TiktokenCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2,000 chunks most are not counted any more."""
    counted: list[int] = []

    def count_and_note(encoding: tiktoken.Encoding, chunk: str) -> int:
        counted.append(len(chunk))
        return count_chunk(encoding, chunk)

    monkeypatch.setattr(tiktoken_counter, "count_chunk", count_and_note)
    await counter.load()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(counter.count([f"{number} " + "word " * 400_000 for number in range(50)]))
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for the thread
    assert len(counted) < 1_000


@given(st.text(alphabet=st.sampled_from("ab \n\t字"), max_size=400), st.integers(10, 60))
def test_pieces_join_to_the_text(text: str, longest: int) -> None:
    pieces = split_text(text, longest)
    assert "".join(pieces) == text
    assert all(len(piece) <= longest for piece in pieces)
    assert all(pieces) or text == ""


async def test_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "o200k_base.tiktoken"
    damaged.write_bytes(FILE.read_bytes()[:-1])
    with pytest.raises(HelixError, match="damaged"):
        await TiktokenCounter(damaged).count(["x"])
    with pytest.raises(HelixError, match="can't be read"):
        await TiktokenCounter(tmp_path / "missing.tiktoken").load()


@pytest.mark.parametrize("label", ["", "screenshot.png", "docs/img/the report of the 14th at noon.png"])
async def test_an_image_s_marker_is_counted_to_a_few_tokens(counter: TiktokenCounter, label: str) -> None:
    image = Image(digest_of(label.encode()), "image/png", 1_280, 640, 184_320, label)
    (tokens,) = await counter.count([image.marker])
    assert abs(image.tokens - image.saving - tokens) < 8
