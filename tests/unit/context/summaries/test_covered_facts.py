"""The coverage check: what a summary and its ledger name of the messages they cover."""

from __future__ import annotations

from collections.abc import Set

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.step_notes import note_lines
from helix_desktop.context.summaries.covered_facts import (
    CoveredFacts,
    check_covered_facts,
    covered_facts,
    missing_facts_text,
    user_source,
)
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.context.summaries.handover import quote_messages, user_texts, whole_texts
from helix_desktop.context.summaries.observation import parse_observations, verbatim_seqs
from helix_desktop.context.summaries.summary_task import brief_lines, short_lines, transcript_lines
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.summary import FactKind, SummaryCoverage
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.question import CORRECTED, DENIED, QuestionReply
from helix_desktop.domain.todo import NO_LIST, TODO, TodoItem, TodoList, list_text
from tests.support.histories import SessionSimulator, conversation_of, histories
from tests.support.tables import for_each

COMMAND = "cd /repo && uv run pytest -q tests/unit/parser --maxfail=3 | tail -5"


def history() -> SessionSimulator:
    """Return a history with a fact of each kind, in words and in outputs."""
    simulator = conversation_of("Fix #4711 in docs/plan.md. Never push to main without a review. Thanks.")
    simulator.step("The build of commit 9fceb02d0ae5 takes 42.5 ms.", 1)
    base = ToolAnswered("c", "run_command", "exit code 0\n38 passed", "d" * 64, 1, 1, 1, COMMAND)
    simulator.record(msgspec.structs.replace(base, exit_code=0))
    simulator.record(msgspec.structs.replace(base, name="edit_file", target="src/parser/lexer.py"))
    return simulator


def checked(
    facts: CoveredFacts,
    summary: str,
    max_chars: int = 2_000,
    quoted: Set[int] = frozenset(),
    tasks: TodoList = NO_LIST,
) -> dict[FactKind, SummaryCoverage]:
    """Return what a summary names of some facts, by their kind."""
    return {kind.kind: kind for kind in check_covered_facts(facts, summary, max_chars, quoted, tasks)}


def facts_in(simulator: SessionSimulator) -> CoveredFacts:
    return covered_facts(simulator.transcript.messages.items)


def test_an_empty_summary_misses_every_fact_and_each_is_listed_with_its_event() -> None:
    """Nothing is named; each fact stands below it."""
    found = checked(facts_in(history()), "")
    assert all(kind.named == 0 for kind in found.values())
    listed = {fact.text: fact.sources for kind in found.values() for fact in kind.missing}
    assert listed == {
        "Fix #4711 in docs/plan.md.": (2,),
        "Never push to main without a review.": (2,),
        "The build of commit 9fceb02d0ae5 takes 42.5 ms.": (3,),
        " ".join(COMMAND.split()): (4,),
        "src/parser/lexer.py": (5,),
    }
    text = missing_facts_text(tuple(found.values()))
    assert "- The user wrote or decided: Never push to main without a review. [e2]" in text
    assert "src/parser/lexer.py [e5]" in text


def test_a_summary_in_its_own_words_names_them() -> None:
    """A path by its last part, a hash by seven digits, a command by what it is about, a rule by its words."""
    summary = (
        "- Edited lexer.py as docs/plan.md says, for #4711\n"
        "- Without a review, never push anything to main\n"
        "- `uv run pytest -q tests/unit/parser --maxfail=3`: 38 passed\n"
        "- Commit 9fceb02 builds in 42.5 ms"
    )
    found = checked(facts_in(history()), summary)
    assert [(kind.named, kind.total) for kind in found.values()] == [(1, 1), (1, 1), (1, 1), (2, 2), (1, 1)]
    assert missing_facts_text(tuple(found.values())) == ""


@pytest.mark.parametrize(
    ("statement", "is_said"),
    [
        ("Never push to main without a review", True),
        ("The user forbids a push to main without review", True),
        ("Push to main needs no review, never mind docs/other.md", False),
        ("Push to main with a review", False),
        ("The build takes 42.5 ms", False),
        ("Fix #4712 in docs/plan.md", False),
    ],
)
def test_the_user_is_the_source_of_what_they_said(statement: str, is_said: bool) -> None:
    """A true ban with the number of another entry stood in the summary as unsupported."""
    items = history().transcript.messages.items
    assert user_source(statement, items) == (2 if is_said else 0)
    noted = parse_observations(f"- (1) {statement} [e99]", items)
    assert noted[0].sources == ((2,) if is_said else ())


def test_an_instruction_that_stays_verbatim_is_counted_and_not_listed() -> None:
    """The user's message stands below the summary anyway."""
    facts = facts_in(history())
    instructions = checked(facts, "", quoted={2})["instructions"]
    assert (instructions.named, instructions.verbatim, instructions.missing) == (0, 1, ())


def test_what_is_missing_is_bounded_and_the_rest_counted() -> None:
    """Newest first, within its characters; the line says how many more there are."""
    facts = facts_of("Read them.", read=tuple(f"src/module_{n:03}.py" for n in range(300)))
    found = check_covered_facts(facts, "", 1_000)
    text = missing_facts_text(found)
    assert len(text) < 600
    (files,) = found
    assert f"; {300 - len(files.missing)} more in the index" in text


def test_a_conclusion_that_several_notes_share_is_named() -> None:
    """Notes take a long answer apart: together they say it, if they cite its entry."""
    answer = "The limits are maxNesting 20, levels 32, schemes 64 and cells 65,536."
    simulator = conversation_of("Which limits?", answer)
    facts = facts_in(simulator)
    entry = simulator.transcript.messages.items[-1].seq

    def missing(source: int) -> int:
        notes = ("maxNesting 20", "Levels: 32", "Schemes have 64", "65,536 cells")
        summary = "\n".join(f"- {note} [e1, e{source}]" for note in notes)
        return len(checked(facts, summary)["conclusions"].missing)

    assert (missing(entry), missing(entry + 1)) == (0, 1)


def test_what_the_agent_concluded_stands_below_unless_a_line_names_it() -> None:
    """One of each answer, newest first; a line with half of its names will do, if it negates as well."""
    simulator = SessionSimulator(PROFILES["balanced"])
    for cause in (
        "`Broker.getMessage` counts twice because of line 851",
        "`NamesrvStartup` never sets useTLS",
    ):
        simulator.send_message("Why?")
        simulator.step("I will look.", 1)
        simulator.step(f"Here is what I found.\n\n{cause}.", 0)
    facts = facts_in(simulator)

    def listed(summary: str, quoted: frozenset[int] = frozenset()) -> list[str]:
        found = checked(facts, summary, quoted=quoted)["conclusions"]
        assert found.named + found.verbatim + len(found.missing) == found.total == 2
        return [fact.text for fact in found.missing]

    first = "`Broker.getMessage` counts twice because of line 851."
    second = "`NamesrvStartup` never sets useTLS."
    assert listed("") == [second, first]
    text = missing_facts_text(check_covered_facts(facts, "", 900))
    assert f"- The agent concluded then, newest first: {second} [e10]; {first} [e5]" in text
    assert listed("- In line 851 Broker.getMessage adds to the count again") == [second]
    assert listed("- `NamesrvStartup` sets useT…") == [second, first]
    assert listed("- `NamesrvStartup` does not set it") == [first]
    assert listed("", frozenset({simulator.transcript.messages.items[-1].seq})) == [first]


@given(histories())
def test_each_fact_is_named_verbatim_or_missing(simulator: SessionSimulator) -> None:
    """The counts add up, each missing fact names its event; the text of all facts names all but the rules."""
    facts = facts_in(simulator)
    everything = "\n".join(fact for kind in facts.facts for fact in facts.of_kind(kind))
    seqs = {item.seq for item in simulator.transcript.messages.items}
    for kind in check_covered_facts(facts, "", 10**6):
        assert kind.named + kind.verbatim + len(kind.missing) == kind.total
        assert {seq for fact in kind.missing for seq in fact.sources} <= seqs
    for kind in check_covered_facts(facts, everything, 10**6):
        assert kind.named == kind.total


def test_changed_files_are_listed_before_those_that_were_only_read() -> None:
    """However many were read since: what was written is what the work goes wrong without."""
    simulator = conversation_of("Begin.")
    base = ToolAnswered("c", "write_file", "", "d" * 64, 1, 1, 1, "src/written_first.py")
    simulator.record(base)
    for number in range(40):
        simulator.record(msgspec.structs.replace(base, name="read_file", target=f"src/read_{number}.py"))
    (files,) = check_covered_facts(facts_in(simulator), "", 400)
    assert files.missing[0].text == "src/written_first.py"
    assert files.missing[1].text == "src/read_39.py"


def facts_of(*texts: str, read: tuple[str, ...] = ()) -> CoveredFacts:
    """Return the facts of messages of the user, and of files that were read."""
    simulator = SessionSimulator(PROFILES["balanced"])
    for text in texts:
        simulator.send_message(text)
    base = ToolAnswered("c", "read_file", "x", "d" * 64, 1, 1, 1)
    for path in read:
        simulator.record(msgspec.structs.replace(base, target=path))
    return facts_in(simulator)


@pytest.mark.parametrize(
    "text",
    [
        "It broke in 3fa9c1d27b.",
        "See https://github.com/o/r/commit/3fa9c1d27b for it",
        "Between 1fa9c1d27b..3fa9c1d27b something changed",
        "The image is app@sha256:3fa9c1d27b",
        "It uses actions/checkout@3fa9c1d27b",
        "Branch 'work/3fa9c1d27b' is gone",
        'Set id = "3fa9c1d27b", then (3fa9c1d27b) again',
    ],
)
def test_the_hash_of_a_commit_or_of_a_content_is_one(text: str) -> None:
    """Also in the address of a commit, and behind its algorithm."""
    assert "3fa9c1d27b" in facts_of(text).of_kind("hashes")


def test_of_a_long_sentence_the_words_around_a_hash_stand_uncut() -> None:
    facts = facts_of("before " * 40 + "3fa9c1d27b" + " behind" * 40)
    words = facts.sentences["3fa9c1d27b"].split()
    assert (words[0], words[-1]) == ("…", "behind…")
    assert set(words[1:-1]) == {"before", "3fa9c1d27b", "behind"}


def test_numbers_that_stand_near_each_other_are_quoted_once() -> None:
    """What stands around one of them has the other as well; one that lies further off has its own line."""
    buckets = ", ".join(f"from {number} to {number + 1} ms" for number in range(40))
    facts = facts_of(f"Make the buckets finer, such as these in their order: {buckets}")
    coverage = checked(facts, "", 40_000)["numbers"]
    quotes = [fact.text for fact in coverage.missing]
    for number in range(1, 41):
        assert any(f"to {number} ms" in quote for quote in quotes)
    assert len(quotes) < 12
    assert coverage.total == len(quotes) + coverage.verbatim


def test_a_sentence_of_a_message_that_stays_verbatim_is_not_repeated_below_the_summary() -> None:
    facts = facts_of("Each ferry waits 45 min since 3fa9c1d27b.")
    listed = checked(facts, "")
    quoted = checked(facts, "", quoted={2})
    for kind in (listed["numbers"], listed["hashes"]):
        assert [fact.sources for fact in kind.missing] == [(2,)]
    for kind in (quoted["numbers"], quoted["hashes"]):
        assert (kind.named, kind.verbatim, kind.missing) == (0, 1, ())


def test_what_is_left_on_the_todo_list_stands_below_a_summary_that_does_not_say_it() -> None:
    """A task that is done, or that the summary names, does not."""
    items = (
        TodoItem("Read the parser", "done"),
        TodoItem("Rework the lexer's handling of tabs", "in_progress"),
        TodoItem("Measure the pager under load"),
    )
    simulator = history()
    call = ToolCall("t1", TODO, msgspec.json.encode({"items": items}).decode())
    simulator.record(AssistantSpoke("", "test/model", 1, (call,)))
    simulator.record(ToolAnswered("t1", TODO, list_text(items), "e" * 64, 1, 1, 1))
    transcript = simulator.transcript
    seq = transcript.last_seq
    facts = facts_in(simulator)
    todo_list = transcript.todo_list_between(0, seq)
    found = checked(facts, "", tasks=todo_list)
    assert (found["tasks"].named, found["tasks"].total) == (0, 2)
    assert "- Left to do on the todo list: " in missing_facts_text([found["tasks"]])
    assert {fact.text for fact in found["tasks"].missing} == {items[1].content, items[2].content}
    message = "The lexer's handling of tabs is being reworked: rework it, then measure the pager under load."
    found = checked(facts, message, tasks=todo_list)
    assert found["tasks"].missing == ()
    assert transcript.todo_list_between(0, seq - 1).items == (), "the messages behind a range have it"


def test_a_task_is_named_where_a_summary_says_what_is_left() -> None:
    """Of tasks that are names of files, those that a fact mentioned weren't listed as left to do."""
    tasks = TodoList(3, 4, (TodoItem("src/config.py"), TodoItem("src/auth.py")))
    facts = "- src/config.py reads src/auth.py [e3]"
    text = f"## Technical Details\n{facts}\n## TODO Items\n- To do: src/auth.py [e3]"
    found = checked(covered_facts(()), text, tasks=tasks)
    assert [fact.text for fact in found["tasks"].missing] == ["src/config.py"]
    found = checked(covered_facts(()), facts, tasks=tasks)
    assert len(found["tasks"].missing) == 2


def test_a_decision_is_named_by_a_line_that_cites_it() -> None:
    """A question and its reply have other words than the sentence about them."""
    simulator = history()
    reply = QuestionReply(("Keep it",))
    question = "Should the type PrimitiveData become ScalarData too?"
    simulator.record(ToolAnswered("q1", "ask_user", "Keep it", "", 1, 1, 1, target=question, reply=reply))
    seq = simulator.transcript.last_seq
    facts = facts_in(simulator)
    for text, is_named in ((f"- PrimitiveData stays [e{seq}]", True), ("- PrimitiveData stays", False)):
        kinds = checked(facts, text, 900)
        missing = {fact.sources for fact in kinds["instructions"].missing}
        assert ((seq,) not in missing) is is_named


def test_what_the_user_answered_to_another_agent_s_question_is_a_decision_of_theirs() -> None:
    """In notes, handover, and what summaries have to name; a refused question decides nothing."""
    text = (
        'User has answered your questions: "The soak test still runs. Stop it?"="Let it keep running". '
        "You can now continue with the user's answers in mind."
    )
    simulator = conversation_of("Look at the soak test.")
    asked = ToolAnswered("c", "AskUserQuestion", text, "d" * 64, 1, 1, 1, "questions")
    simulator.record(asked)
    simulator.record(msgspec.structs.replace(asked, text="The user rejected it.", ok=False))
    items = simulator.transcript.messages.items
    decision = "The soak test still runs. Stop it? – Let it keep running"
    assert [*covered_facts(items).of_kind("instructions")] == [decision]
    assert f"user: {decision}" in note_lines(items)
    (preferences,) = [
        section.bullets for section in extractive_handover(items, None) if section.title == "User Preferences"
    ]
    assert [bullet.text for bullet in preferences] == [decision]


def test_what_the_user_said_on_denying_a_call_is_a_decision_that_stands_verbatim_in_a_summary() -> None:
    """A note said that the call had failed: why the code differs from the first request was gone."""
    simulator = conversation_of("Clean up the build.")
    words = "Never delete dist/: move it to build-old/ first."
    denied = ToolAnswered(
        "c", "run_command", f"{CORRECTED}{words}", "d" * 64, 1, 1, 1, "rm -r dist", outcome="denied"
    )
    call = ToolCall("c", "run_command", '{"command": "rm -r dist"}')
    simulator.record(AssistantSpoke("Cleaning up.", "m", 3, (call,)), denied)
    seq = simulator.transcript.last_seq
    simulator.record(AssistantSpoke("Again.", "m", 3, (call,)), msgspec.structs.replace(denied, text=DENIED))
    simulator.record(AssistantSpoke("Moved it instead.", "m", 3), TurnEnded("done"))
    items = simulator.transcript.messages.items
    decision = f"{words} (denied run_command rm -r dist)"
    assert decision in [*covered_facts(items).of_kind("instructions")]
    lines = note_lines(items)
    assert f"user: {decision}" in lines
    assert sum("(denied " in line for line in lines) == 1, "without words there is nothing to keep"
    texts = [bullet.text for section in extractive_handover(items, None) for bullet in section.bullets]
    assert decision in texts
    line = f"e{seq} user: {decision}"
    simulator.send_message("Go on.")
    handover = simulator.hand_over(0)
    assert handover is not None
    assert line in quote_messages(user_texts(simulator.transcript, handover, 20_000, 128_000))
    assert line in simulator.window().request.messages[1].text
    items = simulator.transcript.messages.items
    assert seq in verbatim_seqs(items, 20_000)
    assert seq in whole_texts(items, 20_000)


def test_a_reply_stands_whole_in_summaries_and_in_what_models_summarize() -> None:
    """A long question took all the room, and the reply was cut away."""
    simulator = history()
    question = f"{'The soak test has been running for days. ' * 12}Shall I stop it at hour 40?"
    words = "No: let it keep running to hour 72, " + "and write down what it takes, " * 8 + "then stop it."
    reply = QuestionReply((), words)
    simulator.record(ToolAnswered("q1", "ask_user", words, "d" * 64, 1, 1, 1, target=question, reply=reply))
    seq = simulator.transcript.last_seq
    items = simulator.transcript.messages.items
    decision = f"Shall I stop it at hour 40? – {words}"
    facts = covered_facts(items)
    assert any(fact.endswith(decision) for fact in facts.of_kind("instructions"))
    below = missing_facts_text(check_covered_facts(facts, "", 6_000))
    assert f"{decision} [e{seq}]" in below
    texts = [bullet.text for section in extractive_handover(items, None) for bullet in section.bullets]
    assert any(text.endswith(decision) for text in texts)
    assert any(line.startswith("user: …") and line.endswith(decision) for line in note_lines(items))
    for lines in (transcript_lines(items), short_lines(items), brief_lines(items)):
        assert lines[-1].text.startswith(f"e{seq} user, asked by the agent: …")
        assert lines[-1].text.endswith(decision)
    for line, is_named in (
        ("It is not stopped before hour 72", True),
        ("It is stopped at hour 72", False),
        ("It is not stopped", False),
    ):
        kinds = checked(facts, f"- {line} [e{seq}]", 6_000)
        assert ((seq,) not in {fact.sources for fact in kinds["instructions"].missing}) is is_named


@for_each(
    ("instruction", "line", "is_named"),
    [
        (
            "Use tabs and don't use spaces in all source files.",
            "Source files are indented with tabs, not spaces [e2]",
            True,
        ),
        ("Please always run the linters before committing.", "Linters run before each commit [e2]", True),
        ("Keep every answer below 200 words.", "Answers stay below 200 words [e2]", True),
        ("Keep every answer below 200 words.", "Answers stay below 100 words [e2]", False),
        ("Keep every answer below 200 words.", "The answer names the words of the log [e3]", False),
        ("Never push to main without a review.", "Pushes go to main after a review [e2]", False),
        ("Don't touch src/legacy.py.", "The file src/legacy.py is not to be touched [e2]", True),
        ("Don't touch src/legacy.py.", "Nothing else is to be touched [e2]", False),
    ],
)
def test_an_instruction_in_other_words_is_named_with_its_numbers_names_and_no(
    instruction: str, line: str, is_named: bool
) -> None:
    simulator = conversation_of(instruction)
    facts = facts_in(simulator)
    kind = checked(facts, f"## User Preferences\n- {line}")["instructions"]
    assert (kind.total, kind.named) == (1, int(is_named))


def test_a_conclusion_in_other_words_is_named_by_the_line_that_cites_it() -> None:
    answer = "The import is slow because each row opens a connection of its own."
    simulator = conversation_of("Why is it slow?", answer)
    facts = facts_in(simulator)
    for line, named in (
        ("Slow import: a connection is opened for each row [e3]", 1),
        ("A slow import was looked at [e3]", 0),
    ):
        assert checked(facts, f"- {line}")["conclusions"].named == named, line


def test_a_conclusion_that_two_lines_say_is_not_repeated_for_a_third_that_denies_something() -> None:
    """All three cite its message; what is not there has nothing to do with it."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.record(
        AssistantSpoke("Tests: `npm test` (`node --test`) – 7 tests, 7 passed, 0 failed.", "m", 9)
    )
    cited = f"[e{simulator.transcript.last_seq}]"
    facts = facts_in(simulator)

    def listed(*lines: str) -> list[str]:
        text = "\n".join(f"- {line} {cited}" for line in lines)
        return [fact.text for fact in checked(facts, text)["conclusions"].missing]

    plain = "Pages are plain JavaScript, with no dependencies."
    runner = "`npm test` runs `node --test`."
    assert not listed(plain, runner, "Project explained; at that time 7 tests, 7 passed, 0 failed.")
    assert listed(plain, "The tests weren't run with `npm test` (`node --test`); none passed or failed.")


def test_a_task_that_a_list_still_shows_is_named_by_a_line_that_cites_the_list() -> None:
    """An agent that forgets its list left "to do" below a handover that said it was done."""
    tasks = TodoList(26, 27, (TodoItem("fix load.py"), TodoItem("tests for the five fixes")))
    done = "- fix load.py and tests for the five fixes are done, the list is behind"
    for source, missing in (("e44", 2), ("e27, e44", 0)):
        text = f"## Completed Work\n{done} [{source}]\n## TODO Items\n- Publish the release [e50]"
        found = checked(covered_facts(()), text, tasks=tasks)
        assert len(found["tasks"].missing) == missing


def test_a_file_whose_name_begins_with_a_dot_is_named() -> None:
    facts = facts_of("Go on.", read=(".gitignore", "web/.env"))
    for text, named in (("- .gitignore, then `.env` [e1]", 2), ("- a.gitignore and .environment [e1]", 0)):
        found = checked(facts, text, 900)
        assert (found["files"].named, found["files"].total) == (named, 2)
