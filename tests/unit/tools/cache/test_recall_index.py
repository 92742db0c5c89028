"""Recall of an index: a pattern finds all it covers in one call; without one, a table of contents."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.marker import sweep_arguments
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.index_entry import IndexLine, index_text, parse_index
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Content, SessionSummary
from helix_desktop.tools.cache.index_recall import RecallArguments, RecallLimits
from helix_desktop.tools.cache.lines import match_lines, plain_pattern, split_alternatives
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from tests.support.cache_session import AT, SESSION, SessionRig
from tests.support.tables import for_each
from tests.support.tool_rig import estimate_tokens, make_call

ALONE = "Recall one of these alone, with the pattern, for all its lines."
FILE = b"import os\n\ndef read_gauge(name):\n    return name\n"
NEWER = FILE + b"\n# read_gauge is tested\nprint(read_gauge('x'))\n"


def tokens_of(text: str) -> int:
    """As `estimate_tokens` counts them."""
    return -(-len(text) // 4)


async def search(rig: SessionRig, query: str) -> str:
    result = await rig.tools().run(make_call("search_cached_content", query=query))
    return result.content.decode()


async def test_a_pattern_on_an_index_finds_what_older_indexes_cover_in_one_call() -> None:
    rig = await SessionRig.create()
    read = await rig.use_tool("src/gauge.py", FILE)
    oldest = await rig.make_index(1, read)
    await rig.say("Rename read_gauge, please.\nread_gauge is a bad name.")
    middle = await rig.make_index(read + 1, rig.transcript.last_seq, oldest)
    newest = await rig.use_tool("src/gauge.py", NEWER, words="I look at it.")
    last = 0
    for recalled, target in ((digest_of(NEWER), ""), (middle, "index, 'read_gauge'")):
        call = ToolCall("r", "recall_cached_content", "{}")
        recall = ToolAnswered("r", call.name, "", recalled, 1, 1, 1, target, recalled=recalled)
        last = await rig.add(AssistantSpoke("", "m", 1, (call,)), recall)
    index = await rig.make_index(newest - 1, last, middle)
    assert await rig.recall(index[:12], pattern="read_gauge") == (
        f"Recalled {index[:12]} · index of e2-e10 · 6 lines for 'read_gauge' in 3 places, "
        "definitions first, then the newest\n"
        f"{digest_of(NEWER)[:12]} e6 read_file src/gauge.py, 96 B, 21 Nov 14:38:\n"
        "1-import os\n2-\n3:def read_gauge(name):\n4-    return name\n5-\n"
        "6:# read_gauge is tested\n"
        "7:print(read_gauge('x'))\n"
        f"{digest_of(FILE)[:12]} e3 read_file src/gauge.py, 49 B, 21 Nov 14:35:\n"
        "1-import os\n2-\n3:def read_gauge(name):\n4-    return name\n"
        "e4 user, 21 Nov 14:36:\n"
        "1:Rename read_gauge, please.\n"
        "2:read_gauge is a bad name."
    )
    matches_only = await rig.recall(index[:12], pattern="read_gauge", context=0)
    assert (
        "21 Nov 14:38: (some of them in e3 read_file gauge.py)\n3:def read_gauge(name):\n6:" in matches_only
    ), "it has the first of the three lines only"
    in_name = await rig.recall(index[:12], pattern=r"gauge\.py")
    assert f"{digest_of(NEWER)[:12]} e6 read_file src/gauge.py, 96 B, 21 Nov 14:38:\n1-import os\n" in in_name
    assert 'e5 call: read_file {"path": "src/gauge.py"}' in in_name
    nothing = await rig.recall(index, pattern="zebra")
    assert nothing.endswith("· 'zebra' is nowhere in it, nor in messages and outputs of this session.")
    wrong_case = await rig.recall(index, pattern="Read_Gauge")
    assert wrong_case.endswith(
        "· 'Read_Gauge' (this case only) is nowhere in it, nor in messages and outputs of this session."
    )
    elsewhere = await rig.recall(oldest, pattern="bad name")
    assert (
        "· 'bad name' is nowhere in it; elsewhere in this session: 1 line for 'bad name' in 1 place,"
        in elsewhere
    )
    assert elsewhere.endswith("\n2:read_gauge is a bad name.")
    assert (
        elsewhere.partition("elsewhere")[1:]
        == (await rig.recall(digest_of(FILE), pattern="bad name")).partition("elsewhere")[1:]
    )
    around = await rig.recall(index, pattern="import os", context=1)
    assert "\n1:import os\n2-" in around
    with pytest.raises(ToolError, match="regex parse error"):
        await rig.recall(index, pattern="(")


async def test_a_search_of_an_index_has_at_most_a_thousand_tokens_and_names_the_rest() -> None:
    rig = await SessionRig.create()
    last = 0
    for number in range(60):
        lines = "".join(f"needle {number} {line} {'x' * 60}\n" for line in range(20))
        last = await rig.use_tool(f"log_{number}.txt", lines.encode())
    index = await rig.make_index(1, last)
    text = await rig.recall(index, pattern="needle")
    assert 500 < tokens_of(text) <= 1_000
    assert " 1,200 lines for 'needle' in 60 places" in text
    assert "\n1:needle 59 0 " in text, "the newest content first"
    rest = re.search(
        r"Also in e\d+ read_file log_\d+\.txt \(20\), .*\), e\d+, e\d+, .* and \d+ more\.\n(.*)", text
    )
    assert rest is not None
    assert rest[1].startswith(f"Lines left out: 18 of e{last}, ")
    await rig.say(f"{'long ago, ' * 30}a needle")
    last = await rig.add(AssistantSpoke("The needle is here. " * 20, "m", 5))
    index = await rig.make_index(1, last)
    for limit in (100, 150, 200, 300, 500, 999):
        answer = await rig.recall(index, pattern="needle", max_tokens=limit)
        assert tokens_of(answer) <= limit
        assert re.search(r"Also in .*\d+ more\.", answer)
        assert f"e{last} agent concluded" in answer, "the best place at least"


async def test_the_agents_conclusion_comes_whole_and_before_outputs() -> None:
    """What a turn came to says in a sentence what listings only show; words between calls do not."""
    rig = await SessionRig.create()
    await rig.say("Why does the gauge drop the last line?")
    cause = f"`read_gauge` in src/gauge.py:3 {'stops at the last line end, ' * 12}so the rest is lost."
    await rig.add(AssistantSpoke(f"# Cause\n\n{cause}\nFixed, and 3 tests pass.", "m", 5))
    older = await rig.add(AssistantSpoke("read_gauge was never tested.", "m", 5))
    last = 0
    for number in range(30):
        text = "".join(f"read_gauge {number} {line} {'x' * 60}\n" for line in range(20))
        last = await rig.use_tool(f"log_{number}.txt", text.encode(), words="Let me look at read_gauge.")
    index = await rig.make_index(1, last)
    answer = await rig.recall(index, pattern="read_gauge")
    assert tokens_of(answer) <= 1_000
    head, first, *lines = answer.splitlines()
    assert head.endswith("in 62 places, the agent's conclusions first, then the newest")
    assert first.startswith(f"e{older} agent concluded, ")
    assert lines[1].startswith(f"e{older - 1} agent concluded, ")
    assert lines[2:5] == ["1-# Cause", f"3:{cause}", "4-Fixed, and 3 tests pass."]
    assert f"e{last} read_file log_29.txt" in lines[5], "then the newest output"
    long = "\n".join(["All of this is long. " * 9] * 30 + [cause] + ["And so is this. " * 12] * 30)
    newest = await rig.add(AssistantSpoke(long, "m", 5))
    index = await rig.make_index(1, newest)
    answer = await rig.recall(index, pattern="read_gauge")
    assert tokens_of(answer) <= 1_000
    assert f"\n31:{cause}\n" in answer, "of one that is too long what stands around the match"
    assert "\n30-All of this" in answer
    assert "\n32-And so is this" in answer
    others = re.findall(r"^[0-9a-f]{12} e\d+ read_file log_\d+\.txt.*\n1:read_gauge", answer, re.MULTILINE)
    assert len(others) >= 5, "it leaves half of the answer to lines from other places"
    narrow = await rig.recall(index, pattern="read_gauge", max_tokens=250)
    assert tokens_of(narrow) <= 250
    assert f"e{newest} agent concluded, " in narrow


async def test_a_conclusion_behind_an_output_that_takes_all_room_is_named_only() -> None:
    """It has the pattern in a longer word, so the output comes first."""
    rig = await SessionRig.create()
    await rig.say("Why?")
    conclusion = await rig.add(AssistantSpoke("The needles were " + "all in the hay, " * 100, "m", 5))
    lines = [f"{line} {'hay ' * 30}" for line in range(60)]
    output = await rig.use_tool("log.txt", "\n".join([*lines[:30], "needle", *lines[30:]]).encode())
    index = await rig.make_index(1, output)
    answer = await rig.recall(index, pattern="needle", context=20)
    assert tokens_of(answer) <= 1_050
    assert f"e{output} read_file log.txt" in answer
    assert f"Also in e{conclusion}" in answer


async def test_a_match_in_what_a_call_wrote_says_in_which_argument() -> None:
    rig = await SessionRig.create()
    first = await rig.say("Write it.")
    body = "x = 1\n" * 200
    seqs = list[int]()
    written = json.dumps({"path": "a.py", "content": body})
    for name, arguments, target in (("write_file", written, "a.py"), ("patch", f"+{body}", "")):
        call = ToolCall(name, name, arguments)
        swept = sweep_arguments(call)
        assert swept is not None
        bodies = [text.encode() for text in swept.texts]
        contents = tuple(Content(digest_of(data), data, name, target) for data in bodies)
        seqs.append(
            await rig.add(AssistantSpoke("", "m", 5, (call,), short=(swept.call,)), contents=contents)
        )
        await rig.add(ToolAnswered(name, name, "Written.", "", 8, 2, 2, target))
    found = await rig.recall(await rig.make_index(first, seqs[-1] + 1), pattern="x = 1")
    assert f"e{seqs[0]} argument content of write_file a.py, 1 KB" in found
    assert f"e{seqs[1]} argument of patch, 1 KB" in found, "what is no JSON has no argument with a name"


async def test_a_search_says_which_content_has_more_lines_than_the_best_ones() -> None:
    rig = await SessionRig.create()
    lines = "".join(f"needle {line}\n{'hay ' * 200}\n" for line in range(80))
    log = await rig.use_tool("log.txt", lines.encode())
    index = await rig.make_index(1, await rig.use_tool("few.txt", b"needle\n"))
    text = await rig.recall(index, pattern="needle")
    assert " 81 lines for 'needle' in 2 places" in text
    assert "\n1:needle 0\n" in text
    assert "needle 39" not in text
    left = 81 - len(re.findall(r"^\d+:needle", text, re.MULTILINE))
    assert 70 < left < 80
    assert text.endswith(f"\nLines left out: {left} of e{log}. {ALONE}")
    all_of_them = await rig.recall(index, pattern="needle 3")
    assert all_of_them.count(":needle 3") == 11, "all have room"
    assert "left out" not in all_of_them


async def test_words_that_are_recalled_alone_with_a_pattern_give_all_their_lines() -> None:
    rig = await SessionRig.create()
    words = await rig.say("\n".join(f"{line}. Name the needle of {line}, please." for line in range(90)))
    await rig.say("And the needle.")
    beside_others = await rig.recall(f"e{words}-e{words + 1}", pattern="needle")
    left = 90 - beside_others.count("Name the needle")
    assert left > 50
    assert beside_others.endswith(f"\nLines left out: {left} of e{words}. {ALONE}")
    alone = await rig.recall(f"e{words}", pattern="needle")
    assert alone.endswith("\n90:89. Name the needle of 89, please.")
    assert alone.count("Name the needle") == 90


async def test_an_earlier_recall_of_entries_is_no_place_beside_their_own() -> None:
    """Its stored answer repeats their lines; it stays where what it recalled is not searched."""
    rig = await SessionRig.create()
    first = await rig.use_tool("a.py", b"x = needle(1)\n")
    second = await rig.use_tool("b.py", b"y = needle(2)\n")
    result = await rig.recall_result(f"e{first}-e{second}", pattern="needle")
    recall = await rig.use_tool(result.target, result.content, tool="recall_cached_content")
    index = await rig.make_index(1, recall)
    for handle in (index, f"e{first}-e{recall}"):
        found = await rig.recall(handle, pattern="needle")
        assert " · 2 lines for 'needle' in 2 places, " in found.partition("\n")[0]
    later = await rig.make_index(second + 1, recall)
    assert f" e{recall} recall_cached_content e{first}-e{second}" in await rig.recall(later, pattern="needle")


async def test_a_search_that_takes_too_long_ends_and_says_so() -> None:
    rig = await SessionRig.create()
    last = [await rig.use_tool(f"{name}.txt", f"needle {name}\n".encode()) for name in "abc"][-1]
    index = await rig.make_index(1, last)
    tool = RecallCachedContent(
        rig.store, estimate_tokens, Ripgrep(None, {}), rig, RecallLimits(max_seconds=0.0), lambda: 0.0
    )
    text = (await tool.run("c", RecallArguments(index, pattern="needle"))).model_text
    assert "\nPartial: the time is over. The newest 1 were searched, " in text
    assert "1:needle c" in text


async def test_an_index_without_a_pattern_is_a_table_of_contents_without_words() -> None:
    rig = await SessionRig.create()
    await rig.say("Look at the gauge.")
    command = "python -m pytest tests/unit/gauge --maxfail=1 " + "-k slow " * 20
    await rig.use_tool(command, b"2 failed\n", tool="run_command", words="I run the tests.")
    oldest = await rig.make_index(1, 4)
    last = await rig.use_tool("deep/" * 30 + "gauge.py", FILE)
    index = await rig.make_index(5, last, oldest)
    assert await rig.recall(index) == (
        f"Recalled {index[:12]} · index of e5-e6 · this session · 2 contents. "
        f'Words and outputs of entries: hash="{index[:12]} e5"; a pattern searches all of it.\n'
        f"{oldest[:12]} the index of everything before this one\n"
        f"e6 {digest_of(FILE)[:12]} read_file {'deep/' * 30}gauge.py, 49 B\n"
    )
    older = await rig.recall(oldest)
    assert f"\ne4 {digest_of(b'2 failed' + bytes([10]))[:12]} run_command {command[:79]}…, 9 B\n" in older
    assert "Look at" not in older
    page = await rig.recall(index, start_line=2)
    assert " lines 2-2 of 2.\ne6 " in page


async def test_entries_are_recalled_by_the_numbers_that_stand_in_notes() -> None:
    rig = await SessionRig.create()
    await rig.say("Look at the gauge.\nAnd tell me.")
    last = await rig.use_tool("gauge.py", FILE, words="I look.")
    text = await rig.recall("e2-e4")
    assert text == (
        "Recalled · e2-e4\n"
        "[e2 user, 21 Nov 14:34]\nLook at the gauge.\nAnd tell me.\n"
        "[e3 agent, 21 Nov 14:35]\nI look.\n"
        '[e3 call, 21 Nov 14:35]\nread_file {"path": "gauge.py"}\n'
        f"[e4 {digest_of(FILE)[:12]} read_file gauge.py, 49 B, 21 Nov 14:36]\n{FILE.decode()}"
    )
    output = await rig.recall(f"e{last}", start_line=3, end_line=3)
    head = f"Recalled {digest_of(FILE)[:12]} · read_file gauge.py · e4, 21 Nov 14:36 UTC, this session"
    assert output == f"{head} · lines 3-3 of 4, page 1 of 1.\n3:def read_gauge(name):\n"
    assert "[e2" not in await rig.recall("e2-e4", pattern="read_gauge")
    index = await rig.make_index(2, last)
    assert await rig.recall(f"{index[:12]} e2", is_caller=False) == (
        f"Recalled · {index[:12]} e2\n[e2 user]\nLook at the gauge.\nAnd tell me.\n"
    )
    for wrong, why in (("e99", "names no words"), ("e4-e2", "ends before"), ("e1", "names no words")):
        with pytest.raises(ToolError, match=why):
            await rig.recall(wrong)
    with pytest.raises(ToolError, match="this call comes from none"):
        await rig.recall("e2", is_caller=False)


async def test_every_recall_says_what_it_is_and_no_more_than_is_known() -> None:
    rig = await SessionRig.create()
    seq = await rig.use_tool("gauge.py", FILE)
    short = digest_of(FILE)[:12]
    mine = f"Recalled {short} · read_file gauge.py · e{seq}, 21 Nov 14:35 UTC, this session\n"
    assert await rig.recall(short) == mine + FILE.decode()
    edit = await rig.use_tool("gauge.py", b"Edited.", tool="edit_file")
    assert (await rig.recall(short)).startswith(f"{mine[:-1]} · changed since (e{edit})\n")
    summary = SessionSummary(SESSION, "The \u202egauge", AT, AT, 1, 1, 1, "m", 1)
    await rig.store.commit(Commit(SESSION, summary=summary))
    other = SessionRig(rig.store, Transcript(), "6" * 32)
    theirs = f"Recalled {short} · read_file gauge.py · 21 Nov 2025 14:35 UTC, session “The \\u202egauge”\n"
    assert await other.recall(short) == theirs + FILE.decode()
    assert await other.recall(short, is_caller=False) == theirs + FILE.decode()


async def test_a_list_names_contents_by_what_tells_them_apart_and_says_what_is_out_of_date() -> None:
    rig = await SessionRig.create()
    seq = await rig.use_tool("gauge.py", FILE)
    edit = await rig.use_tool("gauge.py", b"Edited.", tool="edit_file")
    listed = (await rig.tools().run(make_call("list_cached_content", path="gauge"))).content.decode()
    assert (
        f"\n{digest_of(FILE)[:12]} read_file gauge.py, 49 B, 4 tokens, e{seq}, 21 Nov 14:35, this session, "
        f"changed since (e{edit})\n"
    ) in listed
    other = (await rig.tools(is_caller=False).run(make_call("list_cached_content"))).content.decode()
    assert f"\n{digest_of(FILE)} read_file gauge.py, 49 B, 4 tokens, 2025-11-21 14:35 UTC\n" in other


async def test_an_index_that_a_session_began_with_numbers_the_events_of_the_other_one() -> None:
    rig = await SessionRig.create()
    await rig.say("The harbour closes at nine.")
    text, count = index_text(rig.transcript.messages.items)
    index = Content(digest_of(text.encode()), text.encode(), kind="index")
    later = SessionRig(rig.store, Transcript(), "7" * 32)
    handover = HandoverMade(
        *(1, 0, (), "", index.digest, count, 9, 0, 0, 1, "", HandoverTrigger.CONTINUED), origin=SESSION
    )
    await later.add(SessionStarted("Later"), handover, UserSpoke("When does it close?", 5), contents=(index,))
    await rig.store.commit(Commit(SESSION, summary=SessionSummary(SESSION, "Tides", AT, AT, 1, 1, 1, "m", 1)))
    found = await later.recall(index.digest, pattern="nine")
    handle = f"{index.digest[:12]} e2"
    assert (
        f"Recalled {index.digest[:12]} · index of e2-e2, session “Tides”, whose entries are "
        f"hash=\"{handle}\" · 1 line for 'nine'"
    ) in found
    assert found.endswith("\ne2 user:\n1:The harbour closes at nine."), (
        "no time: e2 of this session is another"
    )
    assert "The harbour closes" in await later.recall(handle)
    own = await later.recall("e3")
    assert own.startswith("Recalled · e3 of this session\n[e3 user")
    assert "The harbour closes" not in own
    with pytest.raises(ToolError, match=rf'Of the session that it continues: hash="{index.digest[:12]} e65"'):
        await later.recall("e65")


async def test_a_branch_recalls_and_searches_its_parents_part_as_its_own() -> None:
    rig = await SessionRig.create()
    await rig.say("The harbour closes at nine.")
    read = await rig.use_tool("src/gauge.py", FILE)
    index = await rig.make_index(2, read)
    fold = FoldMade(1, read, "a note", 5, index, 3, 1, 10)
    seq = await rig.add(fold)
    branch = SessionRig(rig.store, Transcript(await rig.store.events(SESSION)), "8" * 32)
    await branch.add(SessionBranched(SESSION, seq, "Tides (2)"))
    await rig.say("The harbour opens again at ten.")
    for session_id, title, of, upto in ((SESSION, "Tides", "", 0), (branch.id, "Tides (2)", SESSION, seq)):
        line = SessionSummary(session_id, title, AT, AT, branch_of=of, branch_seq=upto)
        await rig.store.commit(Commit(session_id, summary=line))
    for handle, pattern in ((index, "harbour"), (index, ""), (f"e{read}", ""), ("e2", "")):
        of_parent = (await rig.recall(handle, pattern=pattern)).partition(
            "\n1 more elsewhere in this session"
        )
        assert await branch.recall(handle, pattern=pattern) == of_parent[0]
        assert of_parent[2] == (", in e6." if pattern else ""), "the branch does not have what came later"

    assert (await search(branch, "harbour")).startswith("1 hit for")
    later = await rig.make_index(2, rig.transcript.last_seq)
    found = await search(branch, "harbour")
    assert found.startswith("2 hits for"), "each message once, whichever index holds it too"
    assert f"{later[:12]} e{rig.transcript.last_seq} user" in found
    await branch.make_index(2, branch.transcript.last_seq)
    assert (await search(rig, "harbour")).startswith("2 hits for")


async def test_search_finds_words_that_are_in_the_log_alone_and_counts_equal_lines_once() -> None:
    rig = await SessionRig.create()
    await rig.say("The harbour closes at nine.")
    first = await rig.use_tool("a.txt", b"one\nthe tide table\n")
    second = await rig.use_tool("b.txt", b"the tide table\nfour\n", words="The harbour has a tide table.")
    search_call = ToolCall("s", "search_cached_content", "{}")
    await rig.add(AssistantSpoke("I search for harbour.", "m", 5, (search_call,)))

    index = await rig.make_index(2, 6)
    other = SessionRig(rig.store, Transcript(), "6" * 32)
    elsewhere = await search(other, "harbour nine")
    assert f"\n{index[:12]} e2 user, 21 Nov 2025 14:39: 1 matching line\n" in elsewhere
    assert "The harbour closes at nine." in await other.recall(f"{index[:12]} e2")
    text = await search(rig, "harbour")
    assert text.startswith(
        "2 hits for 'harbour':\n"
        "e5 agent, turn 1, 21 Nov 14:37, this session: 1 matching line\n"
        "  1: The harbour has a tide table.\n"
        "e2 user, turn 1, 21 Nov 14:34, this session: 1 matching line\n"
    )
    edit = await rig.use_tool("b.txt", b"Edited.", tool="edit_file")
    text = await search(rig, "tide table")
    a, b = (digest_of(data)[:12] for data in (b"one\nthe tide table\n", b"the tide table\nfour\n"))
    assert (
        f"\n{b} read_file b.txt, 20 B, e{second}, turn 1, 21 Nov 14:38, this session, changed since (e{edit})"
        in text
    )
    assert f"(these lines also in {a})\n" not in text, "the lines around it are others"
    assert "  1: the tide table\n  2- four\n" in text
    assert "  1- one\n  2: the tide table\n" in text
    await rig.use_tool("c.txt", b"the tide table\nfour\nfive\n" + b"six\n" * 60)
    await rig.use_tool("d.txt", b"the tide table\nfour\nfive\n" + b"six\n" * 61)
    d, c = (digest_of(b"the tide table\nfour\nfive\n" + b"six\n" * count)[:12] for count in (61, 60))
    text = await search(rig, "tide table")
    assert re.search(
        rf"\n{d} read_file d.txt.* \(these lines also in {c}\)\n  1: the tide table\n  2- four\n", text
    )
    assert f"\n{a} read_file a.txt" in text
    assert first


@given(st.lists(st.text(st.sampled_from("ab|e1: \n\r\x0c\u2028\u00e9"), min_size=1), min_size=1, max_size=5))
def test_an_index_is_read_as_it_was_written(texts: list[str]) -> None:
    transcript = Transcript([RecordedEvent(1, AT, SessionStarted("s"))])
    for seq, text in enumerate(texts, 2):
        event = UserSpoke(text, 1) if seq % 2 else AssistantSpoke(text, "m", 1)
        transcript.apply(RecordedEvent(seq, AT, event))
    index_lines, _ = index_text(transcript.messages.items, ["a" * 64])
    expected = [IndexLine(0, "the index of everything before this one", "a" * 64)]
    expected += [
        IndexLine(seq, "user" if seq % 2 else "agent", text=text)
        for seq, text in enumerate(texts, 2)
        if seq % 2 or text.strip()
    ]
    assert parse_index(index_lines) == expected


@given(
    st.lists(st.text(st.sampled_from("abAB.\\(\n\u00e9"), max_size=12), min_size=1, max_size=4),
    st.text(st.sampled_from("abA."), min_size=1, max_size=3).filter(lambda text: text.strip(".")),
)
async def test_plain_patterns_match_as_regular_expressions_do(texts: list[str], pattern: str) -> None:
    ripgrep = Ripgrep(find_ripgrep(), {})
    plain = plain_pattern(pattern)
    assert plain is not None
    encoded = [text.encode() for text in texts]
    own, _ = await match_lines(encoded, pattern, plain, ripgrep)
    assert (own, True) == await match_lines(encoded, pattern, None, ripgrep)
    regex = re.compile(pattern, re.IGNORECASE if pattern.islower() else re.NOFLAG)
    lines = [[n for n, line in enumerate(text.split("\n"), 1) if regex.search(line)] for text in texts]
    assert [[match.number for match in matches] for matches in own] == lines


def test_only_plain_patterns_do_without_ripgrep() -> None:
    assert all(plain_pattern(text) for text in ("src/app.py", r"app\.py", "#12", re.escape("a-b c(d)"), "É."))
    assert not any(plain_pattern(text) for text in ("a+", "^a", "a|b", r"\d", "[ab]", "...", "a\\", "é"))


async def test_few_lines_of_a_pattern_name_where_else_it_is_and_the_definition_stands_first() -> None:
    """Behind tests and commits that mention it, the one that defines it would not be read."""
    rig = await SessionRig.create()
    await rig.say("Add read_gauge.")
    read = await rig.use_tool("src/gauge.py", FILE)
    tested = await rig.use_tool("tests/test_gauge.py", b"def test_it():\n    assert read_gauge('x')\n")
    index = await rig.make_index(read, tested)
    await rig.say("Is read_gauge used?")
    answer = await rig.recall(index[:12], pattern="read_gauge")
    assert answer.splitlines()[0].endswith(
        "2 lines for 'read_gauge' in 2 places, definitions first, then the newest"
    )
    assert answer.index("src/gauge.py") < answer.index("tests/test_gauge.py")
    assert answer.endswith(f"\n2 more elsewhere in this session, in e{rig.transcript.last_seq}, e2.")


async def test_the_edit_that_defines_a_name_stands_before_tests_and_commits_that_show_it() -> None:
    """Also one so small that its text stands in the call; an edit of a test does not define it."""
    rig = await SessionRig.create()
    edits = (
        ("src/gauge.py", FILE.decode()),
        ("tests/test_gauge.py", "def test_it():\n    read_gauge('x')\n"),
    )
    seqs = []
    for target, text in edits:
        call = ToolCall("c", "edit_file", json.dumps({"path": target, "old_string": "", "new_string": text}))
        edited = ToolAnswered("c", call.name, "Edited.", digest_of(b"Edited."), 7, 2, 2, target)
        content = Content(edited.digest, b"Edited.", call.name, target)
        seqs.append(await rig.add(AssistantSpoke("", "m", 5, (call,)), edited, contents=(content,)))
    tested = await rig.use_tool("tests/test_gauge.py", b"    assert read_gauge('x')\n")
    shown = await rig.use_tool("git show a1b2c3d", b"Add read_gauge\n+def read_gauge(name):\n", "run_command")
    index = await rig.make_index(2, shown)
    answer = await rig.recall(index[:12], pattern="read_gauge")
    head, first, *_ = answer.splitlines()
    assert head.endswith("definitions first, then the newest")
    assert first.startswith(f"e{seqs[0] - 1} call: edit_file ")
    assert "def read_gauge(name)" in first
    places = [
        answer.index(f" e{tested} "),
        answer.index(f" e{shown} "),
        answer.index(f"e{seqs[1] - 1} call: "),
    ]
    assert max(places) == places[2], "what only mentions it in a call comes last"


async def test_many_lines_that_have_a_pattern_within_longer_words_name_where_else_it_is() -> None:
    rig = await SessionRig.create()
    await rig.say("The gauge is low.")
    lines = b"".join(b"gauges_%d = 1\n" % number for number in range(6))
    read = await rig.use_tool("src/all.py", lines)
    index = await rig.make_index(read, read)
    answer = await rig.recall(index[:12], pattern="gauge")
    assert " 6 lines for 'gauge' in 1 place" in answer
    assert answer.endswith("\n1 more elsewhere in this session, in e2.")
    assert "elsewhere" not in await rig.recall(index[:12], pattern=r"gauges_\d")


async def test_a_common_alternative_does_not_bury_the_place_of_a_rare_one() -> None:
    """The oldest file has both: it comes first, and with its rare line, though the common ones are above."""
    rig = await SessionRig.create()
    await rig.say("Why does the gate not close?")
    states = "".join(f"STATE_{number} = 'IDLE'\n" for number in range(6))
    table = await rig.use_tool("src/gate.py", f"{states}LATCH_SEALED = 7\n".encode())
    concluded = await rig.add(AssistantSpoke("Both pumps are IDLE.", "m", 5))
    last = 0
    for number in range(24):
        text = "".join(f"{line} IDLE pump {number} {'x ' * 20}\n" for line in range(8))
        last = await rig.use_tool(f"pump_{number}.log", text.encode())
    index = await rig.make_index(1, last)
    answer = await rig.recall(index, pattern="LATCH_SEALED|GateIdle|IDLE")
    head, first, *rest = answer.splitlines()
    assert head.endswith(
        " in 26 places, the rarest alternative first, then the agent's conclusions, then the newest"
    )
    assert f" e{table} read_file src/gate.py, " in first
    rare = rest.index("7:LATCH_SEALED = 7")
    assert rest[rare + 1].startswith(f"e{concluded} agent concluded, ")
    assert f" e{last} read_file " in rest[rare + 3], "then the newest"
    without_rare = await rig.recall(index, pattern="GateIdle|IDLE")
    assert without_rare.splitlines()[0].endswith("places, the agent's conclusions first, then the newest")


async def test_a_rare_alternative_is_found_behind_more_lines_of_another_than_are_counted() -> None:
    rig = await SessionRig.create()
    log = await rig.use_tool("pump.log", b"idle\n" * 3_000 + b"sealed\n")
    index = await rig.make_index(1, log)
    assert "\n3001:sealed" in await rig.recall(index, pattern="idle|sealed")


@for_each(
    ("pattern", "parts"),
    [
        ("abc", []),
        ("a|b", ["a", "b"]),
        ("a|b|a||", ["a", "b"]),
        (r"a\|b", []),
        (r"(a|b)c|\(d", ["(a|b)c", r"\(d"]),
        ("[|]|b", ["[|]", "b"]),
        ("[]|]x|[^]|]y", ["[]|]x", "[^]|]y"]),
        ("[[:alpha:]|]|b", ["[[:alpha:]|]", "b"]),
        ("A|b", ["A", "(?-i:b)"]),
        ("(?s)A|b", ["(?s)A", "(?-i:(?s)b)"]),
        ("(?x)a|b # c|(d", []),
        ("|".join("abcdefghijklm"), []),
    ],
)
def test_alternatives_are_what_stands_between_bars_outside_of_groups_and_classes(
    pattern: str, parts: list[str]
) -> None:
    assert split_alternatives(pattern) == parts


async def test_an_entry_of_an_index_gives_the_lines_at_its_matches_and_names_the_other_entries() -> None:
    """All else of the entry is one recall away; where the pattern is too would take several to find."""
    rig = await SessionRig.create()
    message = "\n".join([*(f"Step {line} is short." for line in range(16)), "The latch is sealed.", "Go on."])
    words = await rig.say(message)
    lines = [f"step_{line}()" for line in range(30)]
    log = await rig.use_tool("all", "\n".join([*lines, "latch sealed", *lines]).encode(), tool="run_command")
    table = await rig.use_tool("src/latch.py", b"sealed = 7\n")
    concluded = await rig.add(AssistantSpoke(message, "m", 5))
    index = await rig.make_index(1, concluded)
    expected = {
        words: (["Step 15 is short.", "The latch is sealed.", "Go on."], (table, concluded, log)),
        log: (["step_28()", "step_29()", "latch sealed", "step_0()", "step_1()"], (table, concluded, words)),
        concluded: (["Step 15 is short.", "The latch is sealed.", "Go on."], (table, words, log)),
    }
    for seq, (near, others) in expected.items():
        answer = await rig.recall(f"{index} e{seq}", pattern="sealed")
        last = answer.splitlines()[-1]
        assert all(line in answer for line in near)
        assert len(answer.splitlines()) <= 8, answer
        assert last.startswith("Also matches in ")
        assert last.endswith(" of this index.")
        assert {f"e{other}" for other in others} == set(re.findall(r"\be\d+\b", last))
    assert "Step 3 is" in await rig.recall(f"{index} e{words}", pattern="sealed", context=15)
    both = await rig.recall(f"{index} e{words}-e{log}", pattern="sealed")
    assert len(both.splitlines()) < 14
    assert both.endswith(f"\nAlso matches in e{concluded}, e{table} read_file latch.py of this index.")
    nothing = await rig.recall(f"{index} e{words}-e{words + 1}", pattern="sealed = 7")
    assert nothing.endswith(f"\nAlso matches in e{table} read_file latch.py of this index.")
    alone = await rig.recall(f"{index} e{table}", pattern="sealed = 7")
    assert "Also matches" not in alone
    assert "Also matches" not in await rig.recall(f"e{words}", pattern="sealed"), "no index was asked"


async def test_places_that_have_no_room_are_named_files_before_commands() -> None:
    rig = await SessionRig.create()
    await rig.say("Seal it.")
    seqs = []
    for number in range(14):
        tool, target = ("run_command", f"make {number}") if number % 2 else ("read_file", f"src/f{number}.py")
        text = "".join(f"needle {number} {line} {'x' * 60}\n" for line in range(9))
        seqs.append(await rig.use_tool(target, text.encode(), tool=tool))
    index = await rig.make_index(1, seqs[-1])
    answer = await rig.recall(index, pattern="needle", max_tokens=500)
    also = next(line for line in answer.splitlines() if line.startswith("Also in "))
    kinds = re.findall(r"e\d+ (read_file|run_command) \S+", also)
    assert kinds == sorted(kinds)
    assert set(kinds) == {"read_file", "run_command"}
    bolt = await rig.use_tool("bolt.py", b"bolt = 1\n")
    index = await rig.make_index(bolt - 1, bolt)
    file = await rig.use_tool("src/other.py", b"turn(bolt)\n")
    runs = [await rig.use_tool(f"cat {n}", b"bolt %d\n" % n, tool="run_command") for n in range(40)]
    answer = await rig.recall(index, pattern="bolt")
    places = f"e{file} read_file other.py, e{runs[-1]} run_command cat 39, "
    assert f"\n41 more elsewhere in this session, in {places}" in answer
    assert re.search(r" run_command cat \d+, e\d+, (?:e\d+, )*e\d+ and \d+ more\.$", answer)
    assert len(answer.splitlines()[-1]) < 320


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
    found = await search(rig, "chalk")
    assert re.search(r"chalk \| wc -l, 3 B, .*: found in its name only\n  1- 77\n", found)


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
    contents = {}
    last = 0
    for number, lines in enumerate(texts):
        data = "\n".join(lines).encode()
        contents[digest_of(data)[:12]] = lines
        last = await rig.use_tool(f"{number}.txt", data)
    index = await rig.make_index(1, last)
    text = await rig.recall(index, pattern="needle", context=context)
    assert tokens_of(text) <= 1_000
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
