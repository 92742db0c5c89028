"""Recall by hash: complete, lines by the numbers of their file or command, pattern, pages, clear messages."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.agent.intake import Intake, PreviewInput
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_format import count_lines
from helix_desktop.domain.tools import ToolResult
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.cache.lines import Paginator, decode_lines, release_lines
from tests.support.cache_session import SessionRig
from tests.support.image_bytes import png
from tests.support.scripted_model import WordCounter
from tests.support.store.builders import make_content
from tests.support.tool_rig import MemoryCache, estimate_tokens, make_call, make_tools

LOG = "".join(
    f"{number:04} {'tide' if number % 100 else 'SURGE'} reading\n" for number in range(1, 3001)
).encode()


@pytest.fixture
def cache() -> MemoryCache:
    return MemoryCache()


async def recall(root: Path, cache: MemoryCache, hash_: str, **more: object) -> ToolResult:
    return await make_tools(root, cache).run(make_call("recall_cached_content", hash=hash_, **more))


async def test_small_content_is_returned_complete_and_exact(tmp_path: Path, cache: MemoryCache) -> None:
    digest = await cache.put(b"alpha\nbeta\xff\n", target="x.txt")
    for spelling in (digest, digest[:8], digest.upper(), f'"{digest[:12]}…"'):
        result = await recall(tmp_path, cache, spelling)
        assert (result.content, result.recalled) == (b"alpha\nbeta\xff\n", digest)
        head = f"Recalled {digest[:12]} · read_file x.txt · 1 Jan 1970 00:00 UTC"
        assert result.model_text == f"{head}\nalpha\nbeta\ufffd\n"
        assert result.target == "read_file x.txt"


async def test_an_image_is_returned_as_an_image(tmp_path: Path, cache: MemoryCache) -> None:
    data = png(40, 30)
    digest = await cache.put(data, target="shot.png")
    result = await recall(tmp_path, cache, digest, pattern="never looked for in it")
    assert (result.content, result.recalled) == (data, digest)
    assert result.image is not None
    assert result.image.digest == digest
    assert result.model_text.endswith(f"PNG image, 40 × 30 pixels, {len(data)} B.")


async def walk(root: Path, cache: MemoryCache, digest: str, **arguments: object) -> list[tuple[str, str]]:
    """Return the first line and the rest of each page, following what the one before names."""
    pages: list[tuple[str, str]] = []
    while True:
        result = await recall(root, cache, digest, **arguments)
        assert result.content == await cache.get(digest)
        head, _, body = result.model_text.partition("\n")
        pages.append((head, body))
        following = re.search(r"[Nn]ext: start_line=(\d+)(?:, start_char=(\d+))?", head)
        if not following:
            return pages
        arguments |= {"start_line": int(following[1]), "start_char": int(following[2] or 0)}


async def test_pages_continue_to_the_end(tmp_path: Path, cache: MemoryCache) -> None:
    pages = await walk(tmp_path, cache, await cache.put(LOG))
    assert all(f"page {number} of 6" in head for number, (head, _) in enumerate(pages, 1))
    assert "".join(re.sub(r"^\d+:", "", body, flags=re.MULTILINE) for _, body in pages).encode() == LOG
    assert len(pages) == 6


async def test_lines_and_page_size_are_respected(tmp_path: Path, cache: MemoryCache) -> None:
    digest = await cache.put(LOG)
    text = (await recall(tmp_path, cache, digest, start_line=99, end_line=101)).model_text
    assert text.endswith(
        " · lines 99-101 of 3,000, page 1 of 1.\n"
        "99:0099 tide reading\n100:0100 SURGE reading\n101:0101 tide reading\n"
    )
    small = (await recall(tmp_path, cache, digest, max_tokens=100, start_line=5, end_line=60)).model_text
    assert "next: start_line=" in small
    assert ", end_line=60." in small


@pytest.mark.parametrize(
    ("last", "missing"),
    [(3_000, ""), (3_001, " It has no line 3001."), (4_000, " It has no lines 3001 to 4000.")],
)
async def test_lines_behind_the_last_one_are_named(
    tmp_path: Path, cache: MemoryCache, last: int, missing: str
) -> None:
    digest = await cache.put(LOG)
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
    digest = await cache.put(b"one\n\n \nfour\n")
    for last, blank in ((2, " It is blank."), (3, " They are blank."), (4, "")):
        answer = (await recall(tmp_path, cache, digest, start_line=2, end_line=last)).model_text
        assert answer.partition("\n")[0].endswith(f" · lines 2-{last} of 4, page 1 of 1.{blank}")


async def test_one_endless_line_is_paged_by_characters(tmp_path: Path, cache: MemoryCache) -> None:
    text = "".join(str(number) for number in range(20_000))
    pages = await walk(tmp_path, cache, await cache.put(text.encode()))
    assert "".join(body for _, body in pages) == text
    assert len(pages) > 1


async def test_a_pattern_returns_lines_with_context_and_their_numbers(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = await cache.put(LOG)
    found = await recall(tmp_path, cache, digest, pattern="SURGE", start_line=250, end_line=350)
    assert "1 matching line for 'SURGE' in lines 250-350.\n" in found.model_text
    assert "\n299-0299 tide reading\n300:0300 SURGE reading\n301-0301" in found.model_text
    assert found.about == "1 line for 'SURGE', \"0300 SURGE reading\""
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
    digest = await cache.put("WARNING case-0217\nError 7\nGRÖßE 9\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern=pattern)).model_text
    assert re.findall(r"^(\d+):", text, re.MULTILINE) == numbers


async def test_a_pattern_without_a_match_says_what_may_be_why(tmp_path: Path, cache: MemoryCache) -> None:
    """Upper case in a pattern matches itself, and the numbers that answers print are no part of lines."""
    digest = await cache.put(b"warning = 1\n8:30 high tide\n")
    for pattern, words in {
        "WARN": "no line matches 'WARN' (this case only)",
        "zebra": "no line matches 'zebra'.",
        r"^\d+:(warning|token)": "(it is matched without the numbers before lines)",
        r"^\d+:30": "8:30",
    }.items():
        assert words in (await recall(tmp_path, cache, digest, pattern=pattern)).model_text
    text = (await recall(tmp_path, cache, digest, pattern="Warn", start_line=1)).model_text
    assert "no line matches 'Warn' (this case only) in lines 1-2." in text


async def test_more_matches_than_fit_are_paged_to_the_end(tmp_path: Path, cache: MemoryCache) -> None:
    pages = await walk(tmp_path, cache, await cache.put(LOG), pattern="SURGE", end_line=1200, max_tokens=200)
    assert all(head.endswith(", end_line=1200.") for head, _ in pages[:-1])
    numbers = [number for _, body in pages for number in re.findall(r"^(\d+):", body, re.MULTILINE)]
    assert numbers == [f"{number}" for number in range(100, 1300, 100)]


@pytest.mark.parametrize("pattern", ["hit", "hi[t]"], ids=["plain", "expression"])
async def test_lines_around_matches_are_joined_where_they_touch(
    tmp_path: Path, cache: MemoryCache, pattern: str
) -> None:
    digest = await cache.put(b"".join(b"hit\n" if at in (3, 8, 14) else b"-\n" for at in range(1, 17)))
    rows = [f"{at}:hit" if at in (3, 8, 14) else f"{at}--" for at in range(1, 17)]
    for context, expected in ((0, [rows[2], rows[7], rows[13]]), (2, [*rows[:10], "--", *rows[11:]])):
        text = (await recall(tmp_path, cache, digest, pattern=pattern, context=context)).model_text
        assert text.splitlines()[1:] == expected


@pytest.mark.parametrize("pattern", ["x", "[x]"], ids=["plain", "expression"])
async def test_more_matches_than_can_be_listed_are_followed_too(
    tmp_path: Path, cache: MemoryCache, pattern: str
) -> None:
    digest = await cache.put(b"x\n" * 400_000)
    text = (await recall(tmp_path, cache, digest, pattern=pattern, max_tokens=100)).model_text
    head, _, body = text.partition("\n")
    head, _, following = head.partition(" Next: start_line=")
    assert head.endswith(f" · over 100,000 matching lines for '{pattern}' in lines 1-400000.")
    assert body.splitlines() == [f"{number}:x" for number in range(1, int(following.removesuffix(".")))]
    end = (await recall(tmp_path, cache, digest, pattern=pattern, start_line=399_999)).model_text
    head, _, body = end.partition("\n")
    assert head.endswith(f" · 2 matching lines for '{pattern}' in lines 399999-400000.")
    assert body == "399999:x\n400000:x\n"


async def test_lines_stand_around_matches_only_where_all_of_these_fit_the_page(
    tmp_path: Path, cache: MemoryCache
) -> None:
    words = {number: "slow" if number % 12 == 0 else "read" for number in range(600)}
    lines = [f"{number} gauge of the harbor in the north {word} at once" for number, word in words.items()]
    digest = await cache.put("\n".join(lines).encode())
    full = (await recall(tmp_path, cache, digest, pattern="slow", max_tokens=1_000)).model_text
    assert "Next:" not in full
    assert full.splitlines()[1:] == [f"{number}:{lines[number - 1]}" for number in range(1, 600, 12)]
    few = (await recall(tmp_path, cache, digest, pattern="slow", end_line=30)).model_text
    assert f"2-{lines[1]}" in few.splitlines()


async def test_a_match_deep_in_a_long_line_is_returned_with_its_position(
    tmp_path: Path, cache: MemoryCache
) -> None:
    line = "é" * 5000 + "zebra" + "y" * 5000
    digest = await cache.put(f"short\n{line}\nshort\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern="zebra")).model_text
    match = re.search(r"^2:\[start_char=(\d+)\] …(.*)…$", text, re.MULTILINE)
    assert match is not None
    assert line[int(match[1]) :].startswith(match[2])
    assert "zebra" in match[2]
    assert "\n1-short\n" in text
    follow = await recall(tmp_path, cache, digest, start_line=2, start_char=int(match[1]), max_tokens=100)
    assert follow.model_text.partition("\n")[2].startswith(match[2][:200])
    small = await recall(tmp_path, cache, digest, pattern="zebra", max_tokens=100, start_line=2, context=1)
    assert "Next: start_line=3." in small.model_text, "not the same line again"


async def test_text_inside_a_line_cannot_fake_a_line_number(tmp_path: Path, cache: MemoryCache) -> None:
    digest = await cache.put("one\x0c12:zebra\u2028 7:zebra\nzebra\r\n3:x\n".encode())
    text = (await recall(tmp_path, cache, digest, pattern="zebra")).model_text
    assert "2 matching lines for" in text
    assert text.partition("\n")[2] == "1:one\x0c12:zebra\u2028 7:zebra\n2:zebra\n3-3:x\n"


async def test_a_range_that_is_not_there_is_refused_also_with_a_pattern(
    tmp_path: Path, cache: MemoryCache
) -> None:
    digest = await cache.put(LOG)
    for wrong in ({"start_line": 4000}, {"start_line": 9, "end_line": 8}):
        for pattern in ("", "tide"):
            with pytest.raises(ToolError, match=r"There are no lines \d+ to .* has 3,000 lines"):
                await recall(tmp_path, cache, digest, pattern=pattern, **wrong)


@pytest.mark.timeout(300)
async def test_a_catastrophic_pattern_does_not_hang(tmp_path: Path, cache: MemoryCache) -> None:
    digest = await cache.put(b"a" * 200_000 + b"!\n")
    assert "no line matches" in (await recall(tmp_path, cache, digest, pattern="^(a+)+$")).model_text


async def test_unknown_hashes_get_near_matches_of_this_workspace_only(
    tmp_path: Path, cache: MemoryCache
) -> None:
    foreign = await MemoryCache().put(b"another workspace")
    near = await cache.put(b"mine", target="near.txt")
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
    digest = await cache.put(b"")
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


FILE = "".join(f"row {number}\n" for number in range(1, 2_001))


async def read_part(root: Path, first: int, last: int) -> ToolResult:
    """Read lines of a file of 2,000."""
    (root / "a.txt").write_text(FILE)
    return await make_tools(root).run(make_call("read_file", path="a.txt", start_line=first, end_line=last))


async def recall_part(root: Path, part: ToolResult, **arguments: object) -> str:
    """Recall from a part that was read; return the answer without what names it."""
    cache = MemoryCache()
    digest = await cache.put(part.content, target=part.target)
    head, _, body = (await recall(root, cache, digest, **arguments)).model_text.partition("\n")
    return f"{head.rpartition(' · ')[2]}\n{body}"


@pytest.mark.parametrize(
    ("read", "requested", "recalled"),
    [
        ((960, 1040), (964, 965), (964, 965)), ((4, 90), (10, 11), (10, 11)), ((1, 90), (10, 10), (10, 10)),
        ((960, 1040), (955, 960), (960, 960)),
    ],
)  # fmt: skip
async def test_lines_are_those_of_the_file(
    tmp_path: Path, read: tuple[int, int], requested: tuple[int, int], recalled: tuple[int, int]
) -> None:
    part = await read_part(tmp_path, *read)
    rows = "".join(f"{number}:row {number}\n" for number in range(recalled[0], recalled[1] + 1))
    stored, lines = (f"{first}-{last}" for first, last in (read, recalled))
    assert await recall_part(tmp_path, part, start_line=requested[0], end_line=requested[1]) == (
        f"lines {lines} of the stored {stored}, page 1 of 1.\n{rows}"
    )


async def test_a_line_that_was_not_read_is_refused_by_the_lines_that_were(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    with pytest.raises(ToolError, match=r"no lines 10 to 12.* the lines of a.txt:960-1040"):
        await recall_part(tmp_path, part, start_line=10, end_line=12)


async def test_a_pattern_sees_the_lines_without_their_numbers_and_gives_each_once(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    answer = await recall_part(tmp_path, part, pattern="^row 97[01]", context=0)
    assert answer == "2 matching lines for '^row 97[01]' in lines 960-1040.\n970:row 970\n971:row 971\n"


async def test_pages_go_on_by_the_file_s_numbers(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    whole = await recall_part(tmp_path, part)
    assert whole.endswith(part.content.decode()), "as it was read"
    first = await recall_part(tmp_path, part, max_tokens=200)
    assert first.startswith(
        "lines 960-999 of the stored 960-1040, page 1 of 3; next: start_line=1000.\n960:row 960\n"
    )
    second = await recall_part(tmp_path, part, max_tokens=200, start_line=1000)
    assert second.partition("\n")[2].startswith("1000:row 1000\n")


async def test_what_only_looks_like_a_part_of_a_file_keeps_its_own_lines(tmp_path: Path) -> None:
    """A head whose lines are not all there, or have no numbers."""
    for text in ("Lines 5-6 of 9 of a.txt:\n5:x\ny\n", "Lines 5-6 of 9 of a.txt:\nx\ny\n"):
        answer = await recall_part(tmp_path, ToolResult(text.encode(), target="b.txt"), start_line=2)
        assert answer.startswith("lines 2-3 of 3, ")


@pytest.mark.parametrize("tool", ["read_file", "run_command"])
async def test_searches_give_the_numbers_of_the_file_or_command(tmp_path: Path, tool: str) -> None:
    is_file = tool == "read_file"
    cache = MemoryCache()
    rig = await SessionRig.create()
    part = await read_part(tmp_path, 960, 1040) if is_file else await run_printing(tmp_path)
    target = part.target if is_file else PRINTED
    await cache.put(part.content, tool, target)
    search = make_call("search_cached_content", query='"row 971"')
    found = await make_tools(tmp_path, cache).run(search)
    assert "\n  971: row 971\n" in found.content.decode()
    index = await rig.make_index(1, await rig.use_tool(target, part.content, tool))
    assert "\n971:row 971\n972-" in await rig.recall(index, pattern="^row 971$")


async def test_hits_of_a_search_have_no_second_number(tmp_path: Path) -> None:
    """Of `9:  14:from …` the first number was that of the search's output, which leads nowhere."""
    (tmp_path / "a.txt").write_text(FILE)
    tools = make_tools(tmp_path)
    cache = MemoryCache()
    found = await tools.run(make_call("search_text", pattern="row 97[0-9]$", path="a.txt", context=1))
    digest = await cache.put(found.content, "search_text", found.target)
    recalled = await recall(tmp_path, cache, digest, pattern="row 97[12]", context=0)
    assert recalled.model_text.splitlines()[1:] == ["a.txt", "  971:row 971", "  972:row 972"]
    assert recalled.about == "2 lines for 'row 97[12]'"


async def preview(tool: str, part: ToolResult) -> str:
    intake = Intake(MessageTokenCounter.bundled())
    result = await intake.from_tool_result(ToolCall("c", tool, "{}"), part)
    return (await intake.as_preview(result, replace(PROFILES["balanced"], preview_tokens=300))).text


async def test_a_preview_says_which_lines_of_the_file_are_left_out(tmp_path: Path) -> None:
    text = await preview("read_file", await read_part(tmp_path, 960, 1900))
    shown = [int(line.partition(":")[0]) for line in text.splitlines() if ":row" in line]
    last_of_head = max(number for number in shown if number < 1_500)
    first_of_tail = min(number for number in shown if number > 1_500)
    first = last_of_head + 1
    last = first_of_tail - 1
    assert f"not shown ({first}-{last})" in text
    assert text.startswith(f"Lines 960-1900 of 2000 of a.txt, without {first}-{last}:\n960:row 960\n")
    assert text.endswith(f" the whole output; start_line={first}, end_line={last}: the lines not shown")


PRINTED = "seq 1 3000 | sed 's/^/row /'"


async def run_printing(root: Path, command: str = PRINTED) -> ToolResult:
    return await make_tools(root).run(make_call("run_command", command=command))


async def test_lines_of_a_command_are_numbered_as_it_printed_them(tmp_path: Path) -> None:
    printed = await run_printing(tmp_path)
    cache = MemoryCache()
    digest = await cache.put(printed.content, "run_command", PRINTED)
    tools = make_tools(tmp_path, cache)

    async def recalled(**arguments: object) -> str:
        result = await tools.run(make_call("recall_cached_content", hash=digest, **arguments))
        assert result.content == printed.content, "recalled byte for byte, with its header"
        head, _, body = result.model_text.partition("\n")
        return f"{head.rpartition(' · ')[2]}\n{body}"

    lines = await recalled(start_line=17, end_line=18)
    assert lines == "lines 17-18 of 3,000, page 1 of 1.\n17:row 17\n18:row 18\n"
    assert "\n2000:row 2000\n2001-row 2001" in await recalled(pattern="row 2000$")
    first = await recalled(max_tokens=200)
    assert first.startswith("lines 1-")
    assert "\nexit code 0 (not sandboxed):\n1:row 1\n2:row 2\n" in first
    following = int(first.partition("next: start_line=")[2].partition(".")[0])
    assert f"\n{following}:row {following}\n" in await recalled(start_line=following, max_tokens=200)
    assert "\n0:exit code 0 (not sandboxed):\n1-row 1\n" in await recalled(pattern="exit code")
    with pytest.raises(ToolError, match="has 3,000 lines"):
        await recalled(start_line=3001)


async def test_lines_of_a_search_come_with_their_files_and_without_those_of_others(tmp_path: Path) -> None:
    """Without its name a line stood below that of the file before, or below none."""
    (tmp_path / "a.txt").write_text("one red\ntwo\nthree red\n")
    (tmp_path / "b.txt").write_text("four blue\nfive red\nsix blue\n")
    (tmp_path / "c.txt").write_text("seven red\n")
    tools = make_tools(tmp_path)
    cache = MemoryCache()
    found = await tools.run(make_call("search_text", pattern="red|blue"))
    digest = await cache.put(found.content, "search_text", found.target)
    recalled = await recall(tmp_path, cache, digest, pattern="one|blue")
    assert recalled.model_text.splitlines()[1:] == [
        "a.txt", "  1:one red", "b.txt", "  1:four blue", "  3:six blue",
    ]  # fmt: skip


async def test_a_cut_header_does_not_shift_the_numbers_of_a_search(tmp_path: Path) -> None:
    """What stands in lists has 60 characters of a header; the colon at its end is read from the content."""
    command = f"sleep 300 & {PRINTED}"
    printed = await run_printing(tmp_path, command)
    cache = MemoryCache()
    assert b"; left in the background, and ended: " in printed.content.partition(b"\n")[0]
    await cache.put(printed.content, "run_command", command)
    found = await make_tools(tmp_path, cache).run(make_call("search_cached_content", query='"row 971"'))
    assert "\n  971: row 971\n" in found.content.decode()


async def test_an_output_stored_before_headers_had_a_colon_keeps_its_numbers(tmp_path: Path) -> None:
    """The previews and answers in its log name its lines by them."""
    cache = MemoryCache()
    digest = await cache.put(b"exit code 0 (not sandboxed)\nrow 1\nrow 2\n", "run_command", PRINTED)
    answer = (await recall(tmp_path, cache, digest, start_line=2, end_line=3)).model_text
    assert answer.endswith("lines 2-3 of 3, page 1 of 1.\n2:row 1\n3:row 2\n")


async def test_a_preview_names_the_lines_of_a_command_that_it_leaves_out(tmp_path: Path) -> None:
    text = await preview("run_command", await run_printing(tmp_path))
    gap = re.search(r"\[… [\d,]+ lines not shown \((\d+)-(\d+)\) …\]", text)
    assert gap is not None
    before, _, after = text.partition(gap[0])
    assert before.rstrip().endswith(f"row {int(gap[1]) - 1}")
    assert after.lstrip().startswith(f"row {int(gap[2]) + 1}\n")


TEXTS = st.lists(st.text(st.sampled_from("ab é\r\u2028\x0c"), max_size=3000), max_size=12).map("\n".join)


BYTES = (
    st.binary(max_size=60) | TEXTS.map(str.encode) | st.text(max_size=30).map(lambda text: text.encode()[1:])
)


@given(BYTES, st.integers(1, 40))
def test_bytes_read_in_pieces_have_the_lines_of_their_text(data: bytes, piece: int) -> None:
    text = data.decode(errors="replace")
    lines = text.split("\n")
    assert decode_lines(data, piece) == decode_lines(data)
    assert decode_lines(data) == [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    assert count_lines(text) == len(decode_lines(data))


def test_all_released_lines_are_gone() -> None:
    lines = [str(number) for number in range(25_001)]
    release_lines(lines)
    assert lines == []


@given(TEXTS, st.integers(100, 400))
def test_consecutive_pages_have_every_character_once(text: str, max_chars: int) -> None:
    async def walk() -> None:
        lines = decode_lines(text.encode())
        if not lines:
            return
        pages = Paginator(lines, max_chars, estimate_tokens)
        page = await pages.page_at(1, 0)
        text_so_far = page.text
        number = 1
        while page.next_line:
            page = await pages.page_at(page.next_line, page.next_char)
            number += 1
            text_so_far += page.text
            assert page.number == number
            assert page.text
        assert (text_so_far, number) == (text, page.count)

    asyncio.run(walk())


async def test_a_start_inside_a_page_is_numbered_from_there() -> None:
    lines = [f"{number:03} {'x' * 36}\n" for number in range(1, 101)]
    page = await Paginator(lines, 100, estimate_tokens).page_at(50, 0)
    assert (page.first, page.last, page.number) == (50, 58, 1)
    assert page.next_line == 59


async def test_a_line_longer_than_a_page_is_cut_inside() -> None:
    pages = Paginator(["x" * 10_000], 100, estimate_tokens)
    page = await pages.page_at(1, 0)
    assert page.count > 20
    assert (page.next_line, page.next_char) == (1, len(page.text))


def test_the_lines_of_a_long_text_join_to_it() -> None:
    text = "".join(f"{number} \u2028 word\r\n" for number in range(60_000)) + "\n\n" + "x" * 600_000 + "\nend"
    lines = decode_lines(text.encode())
    assert "".join(lines) == text
    assert [line.count("\n") for line in lines] == [1] * (len(lines) - 1) + [0]
    assert decode_lines(f"{text}\n".encode())[-1] == "end\n"


_PREVIEW = re.compile(
    r"(?P<head>.*?)\n\[… \d+ lines not shown \((?P<gap>\d+-\d+)\); [\d of]+ top-level definitions:\]\n"
    r"(?P<rest>.*)\n\n"
    r'\[CACHED\] recall_cached_content\("(?P<handle>\w+)"\) the whole output; '
    r"start_line=(?P<start>\d+), end_line=(?P<end>\d+): the lines not shown",
    re.DOTALL,
)
_LAST = 600


def _source() -> list[str]:
    """Return the lines of a module with a function every twelve lines."""
    lines = [
        f"    total_{number} = read_part(total_{number - 1}, {number})" for number in range(1, _LAST + 1)
    ]
    lines[0::12] = [f"def sum_up_{number}(parts: list[int]) -> int:" for number in range(_LAST // 12)]
    return lines


@pytest.mark.parametrize("first", [1, 100], ids=["a file", "lines of it"])
async def test_code_structure_and_the_lines_between_come_in_one_recall(first: int) -> None:
    """It was an outline with a few lines of code, or none, and its marker named only the whole output."""
    lines = _source()[first - 1 :]
    if first > 1:
        lines = [f"{number}:{line}" for number, line in enumerate(lines, first)]
        lines.insert(0, f"Lines {first}-{_LAST} of 700 of src/sums.py:")
    text = "\n".join([*lines, ""])
    rig = await SessionRig.create()
    await rig.use_tool("src/sums.py", text.encode())
    content = PreviewInput("read_file", digest_of(text.encode()), 20, handle_digits=12)
    preview, _ = await Intake(WordCounter()).preview_content(text, content, 600)

    found = _PREVIEW.fullmatch(preview)
    assert found is not None, preview
    start = int(found["start"])
    end = int(found["end"])
    assert found["gap"] == f"{start}-{end}"
    head = found["head"].splitlines()
    tail = lines[end - _LAST :]
    if first > 1:
        lines[0] = f"Lines {first}-{_LAST} of 700 of src/sums.py, without most of {start}-{end}:"
    assert head == lines[: len(head)]
    assert min(len(head), len(tail)) >= 5
    shown = found["rest"].splitlines()
    assert shown[-len(tail) :] == tail
    functions = [line.partition(":")[::2] for line in shown[: -len(tail)]]
    assert len(functions) >= 10
    assert [(number, code.strip()) for number, code in functions] == [
        (f"{number}", line)
        for number, line in enumerate(_source(), 1)
        if start <= number <= end and line.startswith("def ")
    ][: len(functions)]
    recalled = await rig.recall(found["handle"], start_line=start, end_line=end, max_tokens=16_000)
    assert [line.partition(":")[2].strip() for line in recalled.splitlines()[-(end - start + 1) :]] == [
        line.strip() for line in _source()[start - 1 : end]
    ]
