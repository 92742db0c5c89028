"""Recall by hash: complete, lines, pattern, pages, and clear messages for unknown hashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import ToolResult
from helix_desktop.store.memory import MemoryStore
from tests.support.image_bytes import png
from tests.support.store.builders import make_content
from tests.support.tool_rig import MemoryCache, make_call, make_tools

LOG = "".join(
    f"{number:04} {'tide' if number % 100 else 'SURGE'} reading\n" for number in range(1, 3001)
).encode()


@pytest.fixture
def cache() -> MemoryCache:
    return MemoryCache()


async def recall(root: Path, cache: MemoryCache, hash_: str, **more: object) -> ToolResult:
    return await make_tools(root, cache).run(make_call("recall_cached_content", hash=hash_, **more))


async def test_small_content_is_returned_complete_and_exact(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(b"alpha\nbeta\xff\n", target="x.txt")
    for spelling in (digest, digest[:8], digest.upper(), f'"{digest[:12]}…"'):
        result = await recall(tmp_path, cache, spelling)
        assert (result.content, result.recalled) == (b"alpha\nbeta\xff\n", digest)
        head = f"Recalled {digest[:12]} · read_file x.txt · 1 Jan 1970 00:00 UTC"
        assert result.model_text == f"{head}\nalpha\nbeta\ufffd\n"
        assert result.target == "read_file x.txt"


async def test_an_image_is_returned_as_an_image(tmp_path: Path, cache: MemoryCache) -> None:
    data = png(40, 30)
    digest = cache.put(data, target="shot.png")
    result = await recall(tmp_path, cache, digest, pattern="never looked for in it")
    assert (result.content, result.recalled) == (data, digest)
    assert result.image is not None
    assert result.image.digest == digest
    assert result.model_text.endswith(f"PNG image, 40 × 30 pixels, {len(data)} B.")


async def test_pages_continue_to_the_end(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(LOG)
    arguments: dict[str, object] = {}
    got, pages = "", 0
    while True:
        result = await recall(tmp_path, cache, digest, **arguments)
        head, _, body = result.model_text.partition("\n")
        got, pages = got + re.sub(r"^\d+:", "", body, flags=re.MULTILINE), pages + 1
        assert f"page {pages} of 6" in head
        assert result.content == LOG
        following = re.search(r"next: start_line=(\d+)", head)
        if not following:
            break
        arguments = {"start_line": int(following[1])}
    assert (got.encode(), pages) == (LOG, 6)


async def test_lines_and_page_size_are_respected(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(LOG)
    text = (await recall(tmp_path, cache, digest, start_line=99, end_line=101)).model_text
    assert text.endswith(
        " · lines 99-101 of 3,000, page 1 of 1.\n"
        "99:0099 tide reading\n100:0100 SURGE reading\n101:0101 tide reading\n"
    )
    small = (await recall(tmp_path, cache, digest, max_tokens=100, start_line=5, end_line=60)).model_text
    assert "next: start_line=" in small
    assert ", end_line=60." in small
    with pytest.raises(ToolError, match="has 3,000 lines"):
        await recall(tmp_path, cache, digest, start_line=4000)


@pytest.mark.parametrize(
    ("last", "missing"),
    [(3_000, ""), (3_001, " It has no line 3001."), (4_000, " It has no lines 3001 to 4000.")],
)
async def test_lines_behind_the_last_one_are_named(
    tmp_path: Path, cache: MemoryCache, last: int, missing: str
) -> None:
    digest = cache.put(LOG)
    answer = (await recall(tmp_path, cache, digest, start_line=2_999, end_line=last)).model_text
    assert answer.partition("\n")[0].endswith(f" · lines 2999-3000 of 3,000, page 1 of 1.{missing}")
    page = (await recall(tmp_path, cache, digest, start_line=2_000, end_line=last, max_tokens=100)).model_text
    assert "It has no" not in page, "the end comes on a later page"
    found = (
        await recall(tmp_path, cache, digest, start_line=2_999, end_line=last, pattern="tide")
    ).model_text
    place = "in lines 2999-3000" + (" of 3,000" if missing else "")
    assert f" for 'tide' {place}." in found


async def test_blank_lines_are_said_to_be_blank(tmp_path: Path, cache: MemoryCache) -> None:
    """A bare `2:` looked as if something were missing."""
    digest = cache.put(b"one\n\n \nfour\n")
    for last, blank in ((2, " It is blank."), (3, " They are blank."), (4, "")):
        answer = (await recall(tmp_path, cache, digest, start_line=2, end_line=last)).model_text
        assert answer.partition("\n")[0].endswith(f" · lines 2-{last} of 4, page 1 of 1.{blank}")


async def test_one_endless_line_is_paged_by_characters(tmp_path: Path, cache: MemoryCache) -> None:
    text = "".join(str(number) for number in range(20_000))
    digest = cache.put(text.encode())
    arguments: dict[str, object] = {}
    got = ""
    while True:
        head, _, body = (await recall(tmp_path, cache, digest, **arguments)).model_text.partition("\n")
        got += body
        following = re.search(r"next: start_line=(\d+), start_char=(\d+)", head)
        if not following:
            break
        arguments = {"start_line": int(following[1]), "start_char": int(following[2])}
    assert got == text


async def test_a_pattern_returns_lines_with_context_and_their_numbers(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = cache.put(LOG)
    text = (await recall(tmp_path, cache, digest, pattern="SURGE", start_line=250, end_line=350)).model_text
    assert "1 matching line for 'SURGE' in lines 250-350.\n" in text
    assert "298-0298 tide reading\n299-0299 tide reading\n300:0300 SURGE reading\n301-0301" in text
    assert "no line matches" in (await recall(tmp_path, cache, digest, pattern="zebra")).model_text
    with pytest.raises(ToolError, match="regex parse error"):
        await recall(tmp_path, cache, digest, pattern="(")


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("warn|error", ["1", "2"]),  # a regular expression
        ("warn", ["1"]),  # plain characters
        (r"\Swarn|\SARNING", ["1"]),  # the S of a class is no upper case, the others are
        ("WARN", ["1"]),
        ("größe", ["3"]),
    ],
)
async def test_a_pattern_without_upper_case_matches_any_case(
    tmp_path: Path, cache: MemoryCache, pattern: str, numbers: list[str]
) -> None:
    digest = cache.put("WARNING case-0217\nError 7\nGRÖßE 9\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern=pattern)).model_text
    assert re.findall(r"^(\d+):", text, re.MULTILINE) == numbers


async def test_upper_case_in_a_pattern_matches_itself_and_the_answer_says_so(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = cache.put(b"warning 1\n")
    text = (await recall(tmp_path, cache, digest, pattern="WARN")).model_text
    assert "no line matches 'WARN' (this case only)" in text
    text = (await recall(tmp_path, cache, digest, pattern="Warn", start_line=1)).model_text
    assert "no line matches 'Warn' (this case only) in lines 1-1." in text
    assert "this case" not in (await recall(tmp_path, cache, digest, pattern="zebra")).model_text


async def test_a_pattern_with_the_numbers_that_answers_print_is_explained(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = cache.put(b"vchar = 1\n8:30 high tide\n")
    text = (await recall(tmp_path, cache, digest, pattern=r"^\d+:(vchar|token)")).model_text
    assert "(it is matched without the numbers before lines)" in text
    assert "8:30" in (await recall(tmp_path, cache, digest, pattern=r"^\d+:30")).model_text


async def test_more_matches_than_fit_are_paged_to_the_end(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(LOG)
    arguments: dict[str, object] = {"end_line": 1200, "max_tokens": 200}
    matches: list[int] = []
    while True:
        text = (await recall(tmp_path, cache, digest, pattern="SURGE", **arguments)).model_text
        head, _, body = text.partition("\n")
        matches += [int(number) for number in re.findall(r"^(\d+):", body, re.MULTILINE)]
        following = re.search(r" Next: start_line=(\d+), end_line=1200\.$", head)
        if not following:
            break
        arguments["start_line"] = int(following[1])
    assert matches == list(range(100, 1300, 100))


@pytest.mark.parametrize("pattern", ["hit", "hi[t]"], ids=["plain", "expression"])
async def test_lines_around_matches_are_joined_where_they_touch(
    tmp_path: Path, cache: MemoryCache, pattern: str
) -> None:
    digest = cache.put(b"".join(b"hit\n" if at in (3, 8, 14) else b"-\n" for at in range(1, 17)))
    rows = [f"{at}:hit" if at in (3, 8, 14) else f"{at}--" for at in range(1, 17)]
    for context, expected in ((0, [rows[2], rows[7], rows[13]]), (2, [*rows[:10], "--", *rows[11:]])):
        text = (await recall(tmp_path, cache, digest, pattern=pattern, context=context)).model_text
        assert text.splitlines()[1:] == expected


@pytest.mark.parametrize("pattern", ["x", "[x]"], ids=["plain", "expression"])
async def test_more_matches_than_can_be_listed_are_followed_too(
    tmp_path: Path, cache: MemoryCache, pattern: str
) -> None:
    digest = cache.put(b"x\n" * 400_000)
    text = (await recall(tmp_path, cache, digest, pattern=pattern, max_tokens=100)).model_text
    head, _, body = text.partition("\n")
    head, _, following = head.partition(" Next: start_line=")
    assert head.endswith(f" · over 100,000 matching lines for '{pattern}' in lines 1-400000.")
    assert body.splitlines() == [f"{number}:x" for number in range(1, int(following.removesuffix(".")))]
    end = (await recall(tmp_path, cache, digest, pattern=pattern, start_line=399_999)).model_text
    head, _, body = end.partition("\n")
    assert head.endswith(f" · 2 matching lines for '{pattern}' in lines 399999-400000.")
    assert body == "399999:x\n400000:x\n"


async def test_a_match_deep_in_a_long_line_is_returned_with_its_position(
    tmp_path: Path, cache: MemoryCache
) -> None:
    line = "é" * 5000 + "zebra" + "y" * 5000
    digest = cache.put(f"short\n{line}\nshort\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern="zebra")).model_text
    match = re.search(r"^2:\[start_char=(\d+)\] …(.*)…$", text, re.MULTILINE)
    assert match is not None
    assert line[int(match[1]) :].startswith(match[2])
    assert "zebra" in match[2]
    assert "\n1-short\n" in text
    follow = await recall(tmp_path, cache, digest, start_line=2, start_char=int(match[1]), max_tokens=100)
    assert follow.model_text.partition("\n")[2].startswith(match[2][:200])
    small = await recall(tmp_path, cache, digest, pattern="zebra", max_tokens=100, start_line=2)
    assert "Next: start_line=3." in small.model_text, "not the same line again"


async def test_text_inside_a_line_cannot_fake_a_line_number(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put("one\x0c12:zebra\u2028 7:zebra\nzebra\r\n3:x\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern="zebra")).model_text
    assert "2 matching lines for" in text
    assert text.partition("\n")[2] == "1:one\x0c12:zebra\u2028 7:zebra\n2:zebra\n3-3:x\n"


async def test_a_range_that_is_not_there_is_refused_also_with_a_pattern(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = cache.put(LOG)
    for wrong in ({"start_line": 4000}, {"start_line": 9, "end_line": 8}):
        for pattern in ("", "tide"):
            with pytest.raises(ToolError, match=r"There are no lines \d+ to .* has 3,000 lines"):
                await recall(tmp_path, cache, digest, pattern=pattern, **wrong)


@pytest.mark.timeout(300)
async def test_a_catastrophic_pattern_does_not_hang(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(b"a" * 200_000 + b"!\n")
    assert "no line matches" in (await recall(tmp_path, cache, digest, pattern="^(a+)+$")).model_text


async def test_unknown_hashes_get_near_matches_of_this_workspace_only(
    tmp_path: Path, cache: MemoryCache
) -> None:
    foreign = MemoryCache().put(b"another workspace")
    near = cache.put(b"mine", target="near.txt")
    with pytest.raises(ToolError, match="holds nothing under") as caught:
        await recall(tmp_path, cache, foreign)
    assert "Nothing here begins alike." in str(caught.value)
    wrong = near[:6] + ("0" if near[6] != "0" else "1") + near[7:]
    with pytest.raises(ToolError, match=near[:12]) as close:
        await recall(tmp_path, cache, wrong)
    assert "read_file near.txt, 4 B" in str(close.value)


async def test_ambiguous_and_malformed_hashes_are_refused(tmp_path: Path) -> None:
    class Twins(MemoryCache):
        async def find(self, prefix: str, limit: int = 20) -> list[str]:
            return ["ab" * 32, "ab" * 31 + "ac"]

    with pytest.raises(ToolError, match="fits several"):
        await recall(tmp_path, Twins(), "abababab")
    for spelling in ("", "1234567", "not a hash", "g" * 64, "a" * 65):
        with pytest.raises(ToolError, match="not a hash"):
            await recall(tmp_path, MemoryCache(), spelling)


async def test_empty_content_is_stated(tmp_path: Path, cache: MemoryCache) -> None:
    digest = cache.put(b"")
    for arguments in ({}, {"start_line": 5}, {"pattern": "x"}):
        result = await recall(tmp_path, cache, digest, **arguments)
        assert result.model_text.endswith("is empty (0 bytes).")


async def test_forgotten_content_is_reported_with_its_time(tmp_path: Path) -> None:
    store = MemoryStore()
    content = make_content(b"the key is sk-live-1234")
    await store.commit(Commit("s", contents=[content]))
    await store.redaction.redact(RedactionRequest("sk-live-1234"))
    toolbox = make_tools(tmp_path, store)
    with pytest.raises(ToolError, match=r"The user removed the cached output .* on 20"):
        await toolbox.run(make_call("recall_cached_content", hash=content.digest))
    with pytest.raises(ToolError, match="holds nothing under"):
        await toolbox.run(make_call("recall_cached_content", hash=content.digest[:12]))
