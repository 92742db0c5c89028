"""Lines come back by the numbers that a file has, or that a command gave them, whatever is stored above."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ToolResult
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.ui.chat.rows.row_texts import excerpt_source
from tests.support.cache_session import SessionRig
from tests.support.tool_rig import MemoryCache, make_call, make_tools

FILE = "".join(f"row {number}\n" for number in range(1, 2_001))


async def read_part(root: Path, first: int, last: int) -> ToolResult:
    """Read lines of a file of 2,000."""
    (root / "a.txt").write_text(FILE)
    return await make_tools(root).run(make_call("read_file", path="a.txt", start_line=first, end_line=last))


async def recall(root: Path, part: ToolResult, **arguments: object) -> str:
    """Recall from a part that was read; return the answer without the line that names it."""
    cache = MemoryCache()
    digest = cache.put(part.content, target=part.target)
    call = make_call("recall_cached_content", hash=digest, **arguments)
    head, _, body = (await make_tools(root, cache).run(call)).model_text.partition("\n")
    return f"{head.rpartition(' · ')[2]}\n{body}"


@pytest.mark.parametrize(
    ("read", "first", "last", "expected"),
    [
        (
            *((960, 1040), 964, 965),
            "lines 964-965 of the stored 960-1040, page 1 of 1.\n964:row 964\n965:row 965\n",
        ),
        ((4, 90), 10, 11, "lines 10-11 of the stored 4-90, page 1 of 1.\n10:row 10\n11:row 11\n"),
        ((1, 90), 10, 10, "lines 10-10 of the stored 1-90, page 1 of 1.\n10:row 10\n"),
        ((960, 1040), 955, 960, "lines 960-960 of the stored 960-1040, page 1 of 1.\n960:row 960\n"),
    ],
)  # fmt: skip
async def test_lines_are_those_of_the_file(
    tmp_path: Path, read: tuple[int, int], first: int, last: int, expected: str
) -> None:
    part = await read_part(tmp_path, *read)
    assert await recall(tmp_path, part, start_line=first, end_line=last) == expected


async def test_a_line_that_was_not_read_is_refused_by_the_lines_that_were(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    with pytest.raises(ToolError, match=r"no lines 10 to 12.* the lines of a.txt:960-1040"):
        await recall(tmp_path, part, start_line=10, end_line=12)


async def test_a_pattern_sees_the_lines_without_their_numbers_and_gives_each_once(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    answer = await recall(tmp_path, part, pattern="^row 97[01]", context=0)
    assert answer == "2 matching lines for '^row 97[01]' in lines 960-1040.\n970:row 970\n971:row 971\n"


async def test_pages_go_on_by_the_file_s_numbers(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1040)
    whole = await recall(tmp_path, part)
    assert whole.endswith(part.content.decode()), "as it was read"
    first = await recall(tmp_path, part, max_tokens=200)
    assert first.startswith(
        "lines 960-999 of the stored 960-1040, page 1 of 3; next: start_line=1000.\n960:row 960\n"
    )
    second = await recall(tmp_path, part, max_tokens=200, start_line=1000)
    assert second.partition("\n")[2].startswith("1000:row 1000\n")


async def test_what_only_looks_like_a_part_of_a_file_keeps_its_own_lines(tmp_path: Path) -> None:
    """A head whose lines are not all there, or have no numbers."""
    for text in ("Lines 5-6 of 9 of a.txt:\n5:x\ny\n", "Lines 5-6 of 9 of a.txt:\nx\ny\n"):
        answer = await recall(tmp_path, ToolResult(text.encode(), target="b.txt"), start_line=2)
        assert answer.startswith("lines 2-3 of 3, ")


async def test_searches_give_the_file_s_numbers(tmp_path: Path) -> None:
    part, cache, rig = await read_part(tmp_path, 960, 1040), MemoryCache(), await SessionRig.create()
    cache.put(part.content, target=part.target)
    found = await make_tools(tmp_path, cache).run(make_call("search_cached_content", query='"row 971"'))
    assert "\n  971: row 971\n" in found.content.decode()
    index = await rig.make_index(1, await rig.use_tool(part.target, part.content))
    assert "\n971:row 971\n972-" in await rig.recall(index, pattern="^row 971$")


async def test_hits_of_a_search_have_no_second_number(tmp_path: Path) -> None:
    """Of `9:  14:from …` the first number was that of the search's output, which leads nowhere."""
    (tmp_path / "a.txt").write_text(FILE)
    tools, cache = make_tools(tmp_path), MemoryCache()
    found = await tools.run(make_call("search_text", pattern="row 97[0-9]$", path="a.txt", context=1))
    digest = cache.put(found.content, "search_text", found.target)
    call = make_call("recall_cached_content", hash=digest, pattern="row 97[12]", context=0)
    recalled = await make_tools(tmp_path, cache).run(call)
    assert recalled.model_text.splitlines()[1:] == ["a.txt", "  971:row 971", "  972:row 972"]
    assert recalled.about == "2 lines for 'row 97[12]'"


async def test_the_user_is_shown_the_file_s_lines(tmp_path: Path) -> None:
    part, cache = await read_part(tmp_path, 960, 1040), MemoryCache()
    digest = cache.put(part.content, target=part.target)
    tools = make_tools(tmp_path, cache)
    shown = await tools.run(make_call("show_output", hash=digest, start_line=964, end_line=966))
    assert shown.content == b"Shown to the user: read_file a.txt:960-1040, lines 964-966, 3 lines\n"
    assert shown.excerpt is not None
    lines = part.content.decode().splitlines()[shown.excerpt.start_line - 1 : shown.excerpt.end_line]
    assert lines == ["964:row 964", "965:row 965", "966:row 966"]
    with pytest.raises(ToolError, match="lines 960-1040 of its file"):
        await tools.run(make_call("show_output", hash=digest, start_line=10, end_line=12))


async def test_a_preview_says_which_lines_of_the_file_are_left_out(tmp_path: Path) -> None:
    part = await read_part(tmp_path, 960, 1900)
    intake = Intake(MessageTokenCounter.bundled())
    result = await intake.from_tool_result(ToolCall("c", "read_file", "{}"), part)
    policy = msgspec.structs.replace(PROFILES["balanced"], preview_tokens=300)
    text = (await intake.as_preview(result, policy)).text
    shown = [int(line.partition(":")[0]) for line in text.splitlines() if ":row" in line]
    last_of_head = max(number for number in shown if number < 1_500)
    first_of_tail = min(number for number in shown if number > 1_500)
    first, last = last_of_head + 1, first_of_tail - 1
    assert f"not shown ({first}-{last})" in text
    assert text.startswith(f"Lines 960-1900 of 2000 of a.txt, without {first}-{last}:\n960:row 960\n")
    assert text.endswith(f" the whole output; start_line={first}, end_line={last}: the lines not shown")


PRINTED = "seq 1 3000 | sed 's/^/row /'"


async def run_printing(root: Path, command: str = PRINTED) -> ToolResult:
    return await make_tools(root).run(make_call("run_command", command=command))


async def test_lines_of_a_command_are_numbered_as_it_printed_them(tmp_path: Path) -> None:
    printed, cache = await run_printing(tmp_path), MemoryCache()
    digest = cache.put(printed.content, "run_command", PRINTED)
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
    tools, cache = make_tools(tmp_path), MemoryCache()
    found = await tools.run(make_call("search_text", pattern="red|blue"))
    digest = cache.put(found.content, "search_text", found.target)
    call = make_call("recall_cached_content", hash=digest, pattern="one|blue")
    recalled = await make_tools(tmp_path, cache).run(call)
    assert recalled.model_text.splitlines()[1:] == [
        "a.txt", "  1:one red", "b.txt", "  1:four blue", "  3:six blue",
    ]  # fmt: skip


async def test_searches_and_excerpts_number_a_command_s_lines_alike(tmp_path: Path) -> None:
    printed, cache, rig = await run_printing(tmp_path), MemoryCache(), await SessionRig.create()
    digest = cache.put(printed.content, "run_command", PRINTED)
    tools = make_tools(tmp_path, cache)
    found = await tools.run(make_call("search_cached_content", query='"row 971"'))
    assert "\n  971: row 971\n" in found.content.decode()
    index = await rig.make_index(1, await rig.use_tool(PRINTED, printed.content, tool="run_command"))
    assert "\n971:row 971\n972-" in await rig.recall(index, pattern="^row 971$")
    shown = await tools.run(make_call("show_output", hash=digest, start_line=964, end_line=966))
    assert shown.content == f"Shown to the user: run_command {PRINTED}, lines 964-966, 3 lines\n".encode()
    assert shown.excerpt is not None
    lines = printed.content.decode().splitlines()[shown.excerpt.start_line - 1 : shown.excerpt.end_line]
    assert lines == ["row 964", "row 965", "row 966"]
    assert excerpt_source(shown.excerpt).endswith(", lines 964–966")


async def test_a_cut_header_does_not_shift_the_numbers_of_a_search(tmp_path: Path) -> None:
    """What stands in lists has 60 characters of a header; the colon at its end is read from the content."""
    command = f"sleep 300 & {PRINTED}"
    printed, cache = await run_printing(tmp_path, command), MemoryCache()
    assert b"; left in the background, and ended: " in printed.content.partition(b"\n")[0]
    cache.put(printed.content, "run_command", command)
    found = await make_tools(tmp_path, cache).run(make_call("search_cached_content", query='"row 971"'))
    assert "\n  971: row 971\n" in found.content.decode()


async def test_an_output_stored_before_headers_had_a_colon_keeps_its_numbers(tmp_path: Path) -> None:
    """The previews and answers in its log name its lines by them."""
    cache = MemoryCache()
    digest = cache.put(b"exit code 0 (not sandboxed)\nrow 1\nrow 2\n", "run_command", PRINTED)
    call = make_call("recall_cached_content", hash=digest, start_line=2, end_line=3)
    answer = (await make_tools(tmp_path, cache).run(call)).model_text
    assert answer.endswith("lines 2-3 of 3, page 1 of 1.\n2:row 1\n3:row 2\n")


async def test_a_preview_names_the_lines_of_a_command_that_it_leaves_out(tmp_path: Path) -> None:
    printed = await run_printing(tmp_path)
    result = await Intake(MessageTokenCounter.bundled()).from_tool_result(
        ToolCall("c", "run_command", "{}"), printed
    )
    policy = msgspec.structs.replace(PROFILES["balanced"], preview_tokens=300)
    text = (await Intake(MessageTokenCounter.bundled()).as_preview(result, policy)).text
    gap = re.search(r"\[… [\d,]+ lines not shown \((\d+)-(\d+)\) …\]", text)
    assert gap is not None
    before, _, after = text.partition(gap[0])
    assert before.rstrip().endswith(f"row {int(gap[1]) - 1}")
    assert after.lstrip().startswith(f"row {int(gap[2]) + 1}\n")
