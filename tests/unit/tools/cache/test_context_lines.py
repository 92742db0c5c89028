"""What stands around the matching lines of an answer: true, in few tokens, the same where it says so."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from tests.support.cache_session import SessionRig
from tests.support.tool_rig import estimate_tokens, make_call

OLD = b'switch (level) {\ncase "medium":\n  return chalk.cyan\n}\n'
NEW = b'switch (level) {\ncase "medium":\n  return theme.medium\n}\n'
BLOCK = re.compile(r"^([0-9a-f]{12} e\d+ read_file .*)\n((?:\d+[:-].*(?:\n|$))*)", re.MULTILINE)
LINES = st.sampled_from(("needle", "a needle", "one", "two", "", "x" * 300, "needle " + "y" * 400))


async def test_equal_lines_with_other_neighbors_are_two_hits_and_the_answer_stands_below_each() -> None:
    rig = await SessionRig.create()
    await rig.use_tool("old.ts", OLD)
    await rig.use_tool("same.ts", b"// copy\n" * 50 + OLD + b"// copy\n" * 50)
    last = await rig.use_tool("new.ts", NEW)
    index = await rig.make_index(1, last)
    alone = await rig.recall(index, pattern='case "medium"', context=0)
    assert alone.count("case ") == 2, "the question, and one line for three contents"
    for context in (None, 1):
        text = await rig.recall(index, pattern='case "medium"', context=context)
        assert "return chalk.cyan" in text
        assert "return theme.medium" in text
    large = await rig.use_tool("large.txt", b"filler line\n" * 400 + OLD)
    one = await rig.recall(f"e{large}", pattern="medium")
    assert '402:case "medium":\n403-  return chalk.cyan\n404-}\n' in one
    assert "\n390-filler line\n" in one, "a few matches in one content have more around them"


async def test_a_content_that_is_found_by_its_name_and_says_one_number_says_it() -> None:
    rig = await SessionRig.create()
    last = await rig.use_tool("grep chalk | wc -l", b"77\n", tool="run_command")
    long = b"exit code 0\n" * 300
    last = await rig.use_tool("cat chalk.log", long, tool="run_command")
    index = await rig.make_index(1, last)
    text = await rig.recall(index, pattern="chalk")
    assert re.search(r"chalk \| wc -l, 3 B, .*:\n1-77\n", text)
    assert "exit code" not in text
    result = await rig.tools().run(make_call("search_cached_content", query="chalk"))
    assert re.search(r"chalk \| wc -l, 3 B, .*: found in its name only\n  1- 77\n", result.content.decode())


async def test_a_small_content_is_whole_with_its_long_line() -> None:
    """An object in JSON is one line: what stands beside the match would take another call."""
    rig = await SessionRig.create()
    line = f'{{"id": "needle", "list": [{", ".join(map(str, range(200)))}]}}'
    index = await rig.make_index(1, await rig.use_tool("a.json", line.encode()))
    assert f"\n1:{line}" in await rig.recall(index, pattern="needle")


async def test_a_long_line_says_where_its_excerpt_begins() -> None:
    rig = await SessionRig.create()
    line = "é" * 1_000 + "needle" + "y" * 1_000
    index = await rig.make_index(1, await rig.use_tool("a.json", line.encode()))
    match = re.search(r"^1:\[start_char=(\d+)\] …(.*)…$", await rig.recall(index, pattern="needle"), re.M)
    assert match is not None
    assert line[int(match[1]) :].startswith(match[2])


@given(
    st.lists(st.lists(LINES, min_size=1, max_size=40), min_size=1, max_size=5), st.sampled_from((None, 1, 3))
)
async def test_each_line_stands_in_its_content_and_in_those_that_are_the_same(
    texts: list[list[str]], context: int | None
) -> None:
    rig = await SessionRig.create()
    contents, last = {}, 0
    for number, lines in enumerate(texts):
        data = "\n".join(lines).encode()
        contents[digest_of(data)[:12]] = lines
        last = await rig.use_tool(f"{number}.txt", data)
    index = await rig.make_index(1, last)
    text = await rig.recall(index, pattern="needle", context=context)
    (tokens,) = await estimate_tokens([text])
    assert tokens <= 1_000
    for name, body in BLOCK.findall(text):
        rows = [
            re.fullmatch(r"(\d+)([:-])(?:\[start_char=\d+\] …)?(.*?)…?", row) for row in body.splitlines()
        ]
        displayed = {int(row[1]): (row[2], row[3]) for row in rows if row is not None}
        own = contents[name[:12]]
        for number, (sign, part) in displayed.items():
            assert part in own[number - 1]
            assert ("needle" in own[number - 1]) == (sign == ":")
        blocks = [
            (part, displayed[number + 1][1])
            for number, (_, part) in displayed.items()
            if number + 1 in displayed
        ]
        others = name.partition("the same in")[2].partition(";")[0]
        for other in re.findall(r"[0-9a-f]{12}", others):
            assert _matching(contents[other]) == _matching(own), "not only some of its lines"
            pairs = list(pairwise(contents[other]))
            assert all(any(a in one and b in two for one, two in pairs) for a, b in blocks)


def _matching(lines: list[str]) -> set[str]:
    return {line for line in lines if "needle" in line}
