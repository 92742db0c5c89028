"""The demo model follows its script with the real tools, honestly; its summaries are extracts and cite."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import (
    full_request,
    handover_task,
    merge_task,
    split_task,
    transcript_lines,
)
from helix_desktop.context.summaries.written_sections import parse_handover
from helix_desktop.context.window.side_question_text import TITLE_OPENING
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from helix_desktop.domain.messages import Message, ModelRequest, ModelResponse, TextDelta, ToolCall
from helix_desktop.providers.demo.model import (
    DemoModel,
    RequestReader,
    reply_to,
    write_extract,
    write_handover,
    write_observations,
    write_reflection,
    write_summary,
)
from helix_desktop.providers.demo.script import (
    ScriptedRecall,
    ScriptPosition,
    newest_position,
    placed_step,
    read_scripts,
)
from tests.support.demo_loop import DEMO_DIR, DemoLoop, copy_sample_project
from tests.support.histories import SessionSimulator, histories
from tests.support.tables import for_each

(TIDEWATCH,) = read_scripts(DEMO_DIR)
UNSEEN = "(not found, an earlier session may have changed it)"


def run_sample_tests(root: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=root, capture_output=True, text=True, check=False
    )
    return ran.stderr.strip().splitlines()[-1]


def test_the_session_of_the_script_has_its_title() -> None:
    for message, title in ((TIDEWATCH.user_messages[0], TIDEWATCH.title), ("Something else", "")):
        request = ModelRequest((Message("user", f"{TITLE_OPENING}\n<message 1>\n{message}\n</message 1>"),))
        assert reply_to(request, [TIDEWATCH]).text == title


async def test_the_script_finds_and_fixes_the_bug_with_old_outputs_as_markers(tmp_path: Path) -> None:
    root = copy_sample_project("tidewatch", tmp_path)
    assert await asyncio.to_thread(run_sample_tests, root) == "FAILED (failures=1)"
    loop = DemoLoop(root, 20, recorded=True)
    answers = [await loop.run_turn(message) for message in TIDEWATCH.user_messages]
    assert await asyncio.to_thread(run_sample_tests, root) == "OK"
    assert len(loop.calls) >= 80
    assert not [text for text in answers if UNSEEN in text]
    assert "**-0.043 m**" in answers[8]
    assert "`test_the_gale_of_the_14th_raises_amber_in_the_evening` failed" in answers[8]
    assert len({call.id for call in loop.calls}) == len(loop.calls)
    recalls = [call for call in loop.calls if call.name == "recall_cached_content"]
    assert len(recalls) == 3


async def test_a_denied_command_is_reported_and_nothing_is_claimed(tmp_path: Path) -> None:
    root = copy_sample_project("tidewatch", tmp_path)
    loop = DemoLoop(root, is_allowed=lambda call: call.name != "run_command")
    answer = await loop.run_turn(TIDEWATCH.user_messages[0])
    assert "`run_command` was not allowed" in answer
    assert f"{UNSEEN} ran: {UNSEEN}" in answer


async def test_denied_edits_are_not_claimed(tmp_path: Path) -> None:
    root = copy_sample_project("tidewatch", tmp_path)
    loop = DemoLoop(root, is_allowed=lambda call: call.name not in ("write_file", "edit_file"))
    answer = [await loop.run_turn(message) for message in TIDEWATCH.user_messages[:3]][-1]
    assert answer.count(UNSEEN) >= 2
    assert await asyncio.to_thread(run_sample_tests, root) == "FAILED (failures=1)"


async def test_a_second_session_says_what_the_tools_printed_and_how_to_see_it_from_the_start(
    tmp_path: Path,
) -> None:
    """The first one mended the sample: its tests pass, and there is nothing left to edit."""
    root = copy_sample_project("tidewatch", tmp_path)
    first = DemoLoop(root, recorded=True)
    second = DemoLoop(root)
    for message in TIDEWATCH.user_messages:
        assert "Some of this was done before" not in await first.run_turn(message)
    for message in TIDEWATCH.user_messages[:3]:
        answer = await second.run_turn(message)
        assert "*Revert everything in this session*" in answer, message
        assert "the newest other session whose *Changes* page lists `tidewatch/extremes.py`" in answer
        if message is TIDEWATCH.user_messages[0]:
            assert "ran: OK.\n\n**Some" in answer, "no failing test is named"
    text = "\n".join(message.text for message in second.messages if message.role == "assistant")
    assert UNSEEN not in text
    assert "The report has a high water in the evening, at 21:00." in text
    assert "There is no such bug left." in text
    assert "OK: none fails, so the fix may be there already." in text
    assert "failed before" not in text


def test_the_texts_of_earlier_versions_have_their_place_in_the_script() -> None:
    for text, place in (
        ("The report has a high water at 08:40, but none in the evening. The record will tell.", (1, 3)),
        ("Found. I changed nothing.\n\n- **Cause:** `_turns`", (1, 7)),
        ("FAILED (failures=3): as expected. Now the fix, in `_turns` only.", (2, 3)),
    ):
        position = newest_position([text], (TIDEWATCH,))
        assert position is not None
        assert (position.task_index, position.steps_done) == place


async def test_the_script_in_another_folder_fails_gracefully(tmp_path: Path) -> None:
    loop = DemoLoop(tmp_path)
    answer = await loop.run_turn(TIDEWATCH.user_messages[1])
    assert "Some of this was done before" not in answer
    text = "\n".join(message.text for message in loop.messages if message.role == "assistant")
    assert (
        "`read_file` did not work: Cannot read tests/test_report.py. There is no such file or folder." in text
    )
    assert UNSEEN in answer


async def test_without_python3_it_tries_python(tmp_path: Path) -> None:
    loop = DemoLoop(copy_sample_project("tidewatch", tmp_path))
    loop.messages.append(Message("user", TIDEWATCH.user_messages[0]))
    for _ in range(6):
        response = await loop.request_response()
        loop.messages.append(Message("assistant", response.text, response.calls))
        for call in response.calls:
            text = "exit code 127\nbash: python3: command not found\n"
            loop.messages.append(Message("tool", text, call_id=call.id, name=call.name))
    response = await loop.request_response()
    assert [call.arguments for call in response.calls] == ['{"command":"python -m unittest -v"}']


@pytest.mark.parametrize("name", ["pagemill", "tidewatch"])
async def test_other_questions_get_an_honest_answer(tmp_path: Path, name: str) -> None:
    loop = DemoLoop(copy_sample_project(name, tmp_path))
    answer = await loop.run_turn("What is the meaning of this?")
    assert [call.name for call in loop.calls] == ["list_directory", "read_file"]
    assert name.capitalize() in answer
    assert "Settings → Providers" in answer
    assert "offline demo model" in loop.messages[2].text


async def test_an_empty_folder_and_no_tools_are_handled(tmp_path: Path) -> None:
    assert "has 0 entries" in await DemoLoop(tmp_path).run_turn("Hello")
    bare = reply_to(ModelRequest((Message("user", "Hello"),)), (TIDEWATCH,))
    assert (bare.calls, "need a real model" in bare.text) == ((), True)


@for_each("number", range(len(TIDEWATCH.user_messages)))
def test_a_message_behind_notes_of_the_app_is_recognized(number: int) -> None:
    """As after a change of the mode, or of files that were read: it said that it can't work on that."""
    note = "[Mode: auto] Calls run unasked.\n\n[Files changed]\nREADME.md\n\n"
    plain, noted = (
        reply_to(ModelRequest((Message("user", before + TIDEWATCH.user_messages[number]),)), (TIDEWATCH,))
        for before in ("", note)
    )
    assert plain == noted
    assert "cannot work on that" not in noted.text


async def test_a_stopped_task_is_resumed(tmp_path: Path) -> None:
    loop = DemoLoop(copy_sample_project("tidewatch", tmp_path))
    loop.messages.append(Message("user", TIDEWATCH.user_messages[0]))
    first = await loop.request_response()
    loop.messages.append(Message("assistant", first.text, first.calls))
    stopped = "The user stopped the turn before this call ended."
    loop.messages += [Message("tool", stopped, call_id=call.id, name=call.name) for call in first.calls]
    loop.messages.append(Message("user", "go on"))
    assert (await loop.request_response()).text == first.text


def test_an_answer_speaks_its_own_step_only() -> None:
    """The place in the script follows from the texts."""
    for task in TIDEWATCH.task:
        for number, step in enumerate(task.step, 1):
            text = re.sub(r"\{\w+\}", "(not found, an earlier session may have changed it)", step.say)
            position = newest_position([text], (TIDEWATCH,))
            assert position is not None
            assert (position.task, position.steps_done) == (task, number)


async def test_the_stream_can_be_abandoned_at_any_piece() -> None:
    model = DemoModel(DEMO_DIR, pause_s=0)
    stream = model.stream(ModelRequest((Message("user", "Hello"),)))
    assert isinstance(await anext(stream), TextDelta)
    task = asyncio.get_running_loop().create_task(_slowly(DemoModel(DEMO_DIR, pause_s=60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _slowly(model: DemoModel) -> None:
    async for _ in model.stream(ModelRequest((Message("user", "Hello"),))):
        pass


LOG = ScriptedRecall(tool="read_file", target="logs/a.log", pattern="x")
SUITE = ScriptedRecall(tool="run_command", target="make test", pattern="x", oldest=True)
HEX = {name: name * 64 for name in "abcdef"}


def marker(name: str) -> str:
    return f'[CACHED] recall_cached_content("{HEX[name]}")'


def recalled(number: int, digest: str, text: str) -> list[Message]:
    call = ToolCall(f"r{number}", "recall_cached_content", f'{{"hash": "{digest}", "pattern": "p"}}')
    return [Message("assistant", "", (call,)), Message("tool", text, call_id=f"r{number}")]


COVERED = (
    Message(
        "user",
        f"[Conversation History Summary] A handover.\n## Index\n{marker('a')} 1,209 outputs covered here",
    ),
    Message("user", f"[Summary of older messages] Facts.\n- (1) One.\n{marker('b')} 1 output covered here"),
    Message(
        "user",
        f"[Summary of older steps] Earlier steps, for reference; 1 output in {marker('c')}\nuser: hello",
    ),
)


def test_every_index_in_the_window_is_searched_newest_first() -> None:
    """A handover's, observations' and a note's; for the oldest output in reverse."""
    question = Message("user", "Where was it?")
    reader = RequestReader((*COVERED, question))
    assert reader.user_message == "Where was it?"
    assert reader.next_index("p") == HEX["c"]
    assert reader.next_index("p", oldest=True) == HEX["a"]
    read = [message for n, name in enumerate("cb") for message in recalled(n, HEX[name], "no line matches")]
    assert RequestReader((*COVERED, question, *read)).next_index("p") == HEX["a"]
    read += recalled(2, HEX["a"], "no line matches")
    assert RequestReader((*COVERED, question, *read)).next_index("p") == ""


def test_a_line_that_resembles_an_index_is_ignored() -> None:
    """Only reference text counts: a user may quote a hash."""
    quoted = Message("user", f"Look: 3 outputs in {marker('c')}, and {marker('a')} 9 outputs covered here")
    assert RequestReader((quoted,)).next_index("p") == ""


def test_the_oldest_output_has_the_smallest_event_number() -> None:
    question = Message("user", "What failed first?")
    newer = recalled(
        0,
        HEX["a"],
        "eeeeeeeeeeee e90 run_command make test, 2 KB, 21 Nov 14:32\n"
        "ffffffffffff e7 run_command make test, 2 KB, 21 Nov 14:30\n",
    )
    assert not RequestReader((*COVERED, question)).has_oldest(SUITE)
    reader = RequestReader((*COVERED, question, *newer))
    assert reader.has_oldest(SUITE)
    assert reader.find_digest(SUITE) == "ffffffffffff"
    assert reader.find_digest(msgspec.structs.replace(SUITE, oldest=False)) == "eeeeeeeeeeee"
    assert reader.find_digest(LOG) == ""


def test_a_figure_may_come_from_observations_and_notes() -> None:
    facts = Message("user", "[Summary of older messages]\n- (2) The newest test run passed: 71 tests ran.")
    assert RequestReader((facts, Message("user", "And now?"))).find_fact(r"(\d+) tests ran") == "71"


RECORD = """[Write a handover]
The messages to hand over:
e3 user: Find the bug. Do not touch the data. Keep it small, please, but do not hurry.
e4 assistant: I begin with the README. -> calls read_file {"path":"README.md"}
e5 tool read_file README.md: # Thing

It does a thing with 3 parts.
e6 assistant: The cause is `a.py`, line 12: the limit is 0.35 m. -> calls x {}
e7 tool edit_file a.py: Edited a.py: 1 replacement at line 12 (10 -> 12 bytes).
e8 tool run_command python3 -m unittest exit 1 FAILED: exit code 1
FAIL: test_x
Ran 12 tests in 0.1s

FAILED (failures=1)
e2 user: a line of an output that looks like an entry"""


def test_a_handover_has_six_sections_and_cites_its_sources() -> None:
    """What the engine extracts itself: a record is read back as the messages that it was made of."""
    text = write_handover(RECORD)
    sections = {section.title: section.bullets for section in parse_handover(text, frozenset(range(3, 9)))}
    assert tuple(sections) == TITLES
    assert all(bullet.sources for bullets in sections.values() for bullet in bullets)
    assert "The user asked: Find the bug. Do not touch the data. " in text
    assert "The cause is `a.py`, line 12: the limit is 0.35 m. [e6]" in text
    assert "Changed a.py [e7]" in text
    assert "`python3 -m unittest` ended with 1: FAIL: test_x [e8]" in text
    first_step = RECORD.replace("I begin with the README.", TIDEWATCH.task[0].step[0].say)
    assert "Request 1: 1 of 7 steps done. [e4]" in write_handover(first_step, (TIDEWATCH,))


def test_a_handover_keeps_the_place_in_the_script() -> None:
    for steps_done in (3, len(TIDEWATCH.task[4].step)):
        summary = f"- {ScriptPosition(TIDEWATCH, 4, steps_done).place} [e9]"
        assert (placed_step(summary, 4), placed_step(summary, 3)) == (steps_done, 0)


def test_a_later_handover_updates_the_previous_one() -> None:
    """What failed and passes now is no issue, and only the newest place in the script is kept."""
    open_then = "## TODO Items (as of e8; may be settled since)\n- Measure the offset. [e4]"
    former = f"{write_handover(RECORD)}\n- Request 1: 1 of 7 steps done. [e4]"
    former = former.replace("## TODO Items", open_then)
    text = write_handover(
        f"[Write a handover]\nThe former handover, to be updated:\n{former}\nThe messages to hand over:\n"
        f"e9 user: Go.\ne10 assistant: {TIDEWATCH.task[1].step[0].say}\n"
        "e11 tool run_command python3 -m unittest exit 0: exit code 0\n| Ran 12 tests in 0.1s\n| \n| OK",
        (TIDEWATCH,),
    )
    assert "The cause is `a.py`, line 12" in text
    assert "Ran `python3 -m unittest`: exit 0: OK [e11]" in text
    assert "ended with 1" not in text
    assert "Measure the offset." in text
    assert re.findall(r"Request \d", text) == ["Request 2"]


def test_a_handover_stays_short_and_handles_empty_input() -> None:
    long = RECORD + "".join(
        f"\ne{n} assistant: The offset number {n} is {n}.5 m because of the cause {n}, {'long ' * 30}"
        for n in range(10, 400)
    )
    assert len(write_handover(long)) < 2_600
    assert len(re.findall(r"^## ", write_handover("[Write a handover]"), re.MULTILINE)) == 6


def test_a_handover_early_in_a_session_says_enough() -> None:
    """The engine refuses one that says too little of a long history."""
    levels = "and the levels that it reported, with the time of each in UTC, are in the file"
    report = "\n| ".join(f"- Gauge {n} is read at {n}:40, {levels} `data/{n}.csv`." for n in range(30))
    text = write_handover(
        f"[Write a handover]\nThe messages to hand over:\ne3 user: Look.\ne4 assistant: {report}"
    )
    assert 800 < len(text) < 2_600


REQUEST = "[Extract] Take this.\n{}\n\nWrite at most 90 words. No more.\n<output x>\n{}\n</output x>\n"


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ("the lines with `notice|WARN` only", "NOTICE a\nWARN b"),
        ("the notices", "Not in the output: lines with `notices`."),
        ("Keep `(a+)+$`.", "Not in the output: lines with `(a+)+$`."),
        ("`|`", "Not in the output: lines with ``."),
    ],
)
def test_an_extract_has_the_lines_with_the_words(instructions: str, expected: str) -> None:
    """No pattern is tried, which could take for ever on a long line."""
    output = "NOTICE a\n" + "a" * 5_000 + "!\nWARN b\nelse"
    assert write_extract(REQUEST.format(instructions, output)) == expected


OBSERVED_RECORD = """[Write observations]
The messages to observe:
e3 user: Find the bug. Do not touch the data.
e4 assistant: I begin with the README. -> calls read_file {"path":"README.md"}
e5 tool read_file README.md: # Thing
|
| It does a thing with 3 parts.
e6 assistant: The cause is an offset of 12 bytes in `src/a.py`. Now let me see how `src/b.py` is read.
e7 tool edit_file src/a.py: Edited src/a.py: 1 place
e8 tool run_command make test exit 1 FAILED: Ran 9 tests in 0.1s
| FAIL: test_offset (tests.A)
| FAILED (failures=1)
e9 assistant: -> calls edit_file {"path":"src/a.py","old_text":"offset = 12 bytes"}"""


def observations_with(*facts: Observation) -> ObservationsMade:
    return ObservationsMade(1, 99, facts, (), "", "d" * 64, 0, 60, 400, 8, "m")


def reflected(*facts: Observation) -> str:
    return write_reflection(
        full_request(observation.reflection_task("", [observations_with(*facts)])).messages[1].text
    )


def test_important_facts_are_noted_in_order() -> None:
    """Request, cause, change and failure, each with its entry and its priority."""
    assert write_observations(OBSERVED_RECORD).splitlines() == [
        "- (1) The user asked: Find the bug. Do not touch the data. [e3]",
        "- (1) Find the bug. Do not touch the data. [e3]",
        "- (2) The cause is an offset of 12 bytes in `src/a.py`. [e6]",
        "- (3) Changed src/a.py [e7]",
        "- (2) `make test` ended with 1: FAIL: test_offset (tests.A) [e8]",
    ]


def test_known_facts_are_not_repeated() -> None:
    known = "Known already:\nknown 1: observed (3) 2026-01-01: Changed src/a.py [e7]\nThe messages"
    assert "Changed src/a.py" not in write_observations(OBSERVED_RECORD.replace("The messages", known, 1))


def test_a_reflection_has_each_fact_once_and_at_most_half_of_them() -> None:
    fact = "The cause is an offset of 12 bytes."
    remaining = reflected(
        Observation(1, 1, "The user asked: Find the bug", (3,)),
        Observation(2, 2, fact, (6,)),
        Observation(3, 3, "It is a remark of no weight at all that goes on for a while.", (19,)),
        Observation(4, 2, fact, (21,)),
    )
    assert remaining.splitlines() == ["- (1) The user asked: Find the bug [e3]", f"- (2) {fact} [e6, e21]"]


@given(histories(), st.integers(800, 4_000))
def test_the_demo_s_output_can_be_parsed(simulator: SessionSimulator, max_chars: int) -> None:
    """Observations, a reflection of them, a handover in parts: each is accepted, and cites its input."""
    items = simulator.transcript.messages.items
    seqs = {item.seq for item in items}
    brief = observation.observation_task("Note.", transcript_lines(items), ())
    facts = observation.parse_observations(write_summary(full_request(brief).messages[1].text), items)
    assert {seq for fact in facts for seq in fact.sources} <= seqs
    twice = full_request(
        observation.reflection_task("Refine.", [observations_with(*facts), observations_with(*facts)])
    )
    fewer = observation.parse_observations(write_summary(twice.messages[1].text), items)
    assert len(fewer) <= len(facts)
    assert {fact.text for fact in fewer} <= {fact.text for fact in facts}
    full_brief = handover_task("Write.", transcript_lines(items), None, "")
    if divided := split_task(full_brief, max_chars):
        texts = [write_summary(full_request(part).messages[1].text) for part in divided]
        merged_handover = write_summary(full_request(merge_task(full_brief, texts)).messages[1].text)
        assert [section.title for section in parse_handover(merged_handover, frozenset(seqs))] == [*TITLES]


def test_a_handover_of_observations_keeps_their_facts() -> None:
    """Each under its section, with its own entries."""
    facts = (
        Observation(1, 1, "The user asked: Find the bug", (3,)),
        Observation(2, 2, "Changed src/a.py", (17,)),
        Observation(3, 3, "The cause is an offset of 12 bytes.", (6, 9)),
    )
    record = "\n".join(
        line.text for line in observation.reflection_task("", [observations_with(*facts)]).lines
    )
    text = write_handover(f"[Write a handover]\nThe messages to hand over:\n{record}\ne20 user: And now?")
    sections = {section.title: section.bullets for section in parse_handover(text, frozenset(range(99)))}
    assert [bullet.text for bullet in sections["Project Background"]] == ["The user asked: Find the bug"]
    assert sections["Completed Work"][0].sources == (17,)
    assert sections["Technical Details"][0].sources == (6, 9)
    assert "And now?" in sections["TODO Items"][0].text


def test_when_parts_are_merged_what_is_open_is_as_the_later_one_says() -> None:
    first = "## Completed Work\n- Changed src/a.py [e7]\n## TODO Items\n- Find it. [e3]"
    second = "## Completed Work\n- Changed src/b.py [e17]\n## TODO Items\n- Ship it. [e20]"
    brief = handover_task("Write.", (), None, "")
    text = write_handover(full_request(merge_task(brief, [first, second])).messages[1].text)
    assert "Changed src/a.py [e7]" in text
    assert "Changed src/b.py [e17]" in text
    assert "- Ship it. [e20]" in text
    assert "Find it" not in text


@pytest.mark.parametrize("opening", [observation.OBSERVE, observation.REFINE, "[Write a handover]"])
async def test_the_demo_model_answers_each_kind(opening: str) -> None:
    """Streamed like all its answers, and deterministic."""
    request = full_request(
        msgspec.structs.replace(observation.observation_task("Note.", (), ()), opening=opening)
    )
    answers = []
    for _ in range(2):
        arrivals = DemoModel(DEMO_DIR, pause_s=0).stream(ModelRequest(request.messages))
        answers += [arrival.text async for arrival in arrivals if isinstance(arrival, ModelResponse)]
    assert answers[0] == answers[1] == write_summary(request.messages[1].text) != ""
