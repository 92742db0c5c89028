"""Words for values, in one way wherever they are read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import summaries_of_block
from helix_desktop.context.policy_numbers import FORM, ContextPolicy
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.summaries.summary_names import compacted_turns
from helix_desktop.context.window.used_tokens import CompactionTrigger, UsageGauge
from helix_desktop.domain.cost import format_usd
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import (
    InstructionsAdded,
    StandingKind,
    StandingProblem,
    StandingText,
)
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    Bullet,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
    SummaryCoverage,
)
from helix_desktop.domain.file_history.changes import FileHistoryCleanup
from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.messages import ToolCall, Usage
from helix_desktop.domain.retention import PermanentDeletion
from helix_desktop.domain.slash_command import is_command_name
from helix_desktop.domain.store_reports import ImportResult, LostContent, RepairReport, TruncatedSession
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.words.call_targets import failed_tests_text, output_title, shown_target
from helix_desktop.words.context_changes import (
    excluded_text,
    handover_text,
    limit_text,
    reasons_text,
    rewrite_reason_text,
    swept_contents_text,
    trigger_text,
)
from helix_desktop.words.git import git_text
from helix_desktop.words.instructions import instructions_text
from helix_desktop.words.next_compaction import (
    compaction_text,
    explain_acts,
    gauge_compaction_text,
    threshold_text,
)
from helix_desktop.words.numbers import (
    format_size,
    format_token_difference,
    format_tokens,
    format_whole_percent,
    keep_options,
    keep_units,
)
from helix_desktop.words.numbers import format_usd as words_usd
from helix_desktop.words.session_markdown import session_markdown
from helix_desktop.words.sessions import session_title
from helix_desktop.words.slash_commands import SLASH_COMMANDS, find_slash_command
from helix_desktop.words.state_words import gauge_source_text
from helix_desktop.words.steps import looking_at_text, sent_at_text, step_text
from helix_desktop.words.store_reports import (
    deletion_lines,
    import_summary,
    lost_content_text,
    repair_notice,
    truncated_session_text,
)
from helix_desktop.words.summaries import handover_titles, missing_rules_text
from helix_desktop.words.times import (
    AGE_STEP_MS,
    format_date_and_time,
    format_moment,
    format_relative_time,
    format_short_time,
)
from tests.support.histories import conversation_with
from tests.support.store.builders import START_MS
from tests.support.tables import for_each


@for_each(
    ("output", "text"),
    [
        ("FAILED tests/test_a.py::test_b\n==== 1 failed, 12 passed in 0.31s ====\n", "1 failed"),
        ("3 failed, 1 error in 2.10s", "3 failed"),
        ("2 errors in 0.10s", "Tests failed"),
        ("==== 12 passed, 3 warnings in 4.02s ====", ""),
        ("Tests:       1 failed, 3 passed, 4 total\nSnapshots:   0 total\nTime:  1 s\nRan all.", "1 failed"),
        ("      Tests  2 failed | 3 passed (5)\n   Start at  12:00:00\n   Duration  1s", "2 failed"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n\nerror: test failed", "1 failed"),
        ("test result: ok. 4 passed; 0 failed; 0 ignored", ""),
        ("Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2)", "3 failed"),
        ("Ran 7 tests in 0.1s\n\nFAILED (errors=2)", "2 failed"),
        ("--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tpkg\t0.002s\nFAIL", "Tests failed"),
        ("ok  \tpkg\t0.002s", ""),
        ("  3 passing (12ms)\n  1 failing", "1 failed"),
        ("# pass 3\n# fail 2", "2 failed"),
        ("# pass 3\n# fail 0", ""),
        ("3 examples, 1 failure", "1 failed"),
        ("3 examples, 0 failures", ""),
        ("12 tests completed, 4 failed", "4 failed"),
        ("[ERROR] Tests run: 9, Failures: 1, Errors: 1, Skipped: 0", "2 failed"),
        ("50% tests passed, 1 tests failed out of 2", "1 failed"),
        ("grep: 3 failed logins", ""),
        ("1 failed\n" + "more\n" * 20, ""),
        ("", ""),
    ],
)
def test_the_end_of_a_test_run_says_how_many_tests_failed(output: str, text: str) -> None:
    """Also where the command ended with 0; other words about failures say nothing of tests."""
    assert failed_tests_text(output) == text


@for_each(
    ("target", "words"),
    [
        ("index", "what was compacted"),
        ("index, 'tide'", "what was compacted for “tide”"),
        ("index, 'tide' · 3 lines in e23, e31 and 4 more", "what was compacted for “tide” · 3 lines"),
        ("index · table of 71", "what was compacted · table of 71"),
        ("e12", "earlier messages"),
        ("e12-e31, 'tide'", "earlier messages for “tide”"),
        ("0a9443523603 e4-e9", "earlier messages"),
        ("read_file e12.txt", "stored output: e12.txt"),
        ("read_file a.log · 2 lines for '^a|b', \"a = 1\"", "stored output: a.log for “^a|b” · 2 lines"),
        ('read_file a.log · nothing for "it\'s" in lines 1-90', "stored output: a.log for “it's” · nothing"),
        (
            "read_file a.log · 2 lines for 'a pattern that was cut …",
            "stored output: a.log for “a pattern that was cut …” · 2 lines",
        ),
        ('read_file a.log · lines 50-50 of 90, "ok"', "stored output: a.log · line 50"),
        (
            "read_file a.py:20-90 · lines 20-28 of 20-90, run, stop",
            "stored output: a.py · lines 20–28",
        ),  # of older versions
        ("read_file a.py:20-90 · lines 20-28 of the stored 20-90, run", "stored output: a.py · lines 20–28"),
        ('run_command make · lines 1-9 of 1,200, "ok"', "stored output: make · lines 1–9"),
        ("mcp__hub__find x, lines 3-9", "stored output: mcp__hub__find x, lines 3-9"),
        ("index.html", "stored output: index.html"),
        ("e2e/test_cli.py", "stored output: e2e/test_cli.py"),
    ],
)
def test_a_recall_of_compacted_messages_shows_no_event_numbers(target: str, words: str) -> None:
    assert shown_target("recall_cached_content", target) == words
    assert shown_target("read_file", target) == target


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ("2 lines for '^a|b', \"a = 1\"", "Searched stored output: a.log for “^a|b” · 2 lines"),
        ("lines 20-28 of 90, run, stop", "Recalled stored output: a.log · lines 20–28"),
        ('lines 20-20 of 90, "ok"', "Recalled stored output: a.log · line 20"),
        ("run, stop", "Recalled stored output: a.log"),
        ("", "Recalled stored output: a.log"),
    ],
)
def test_a_recall_of_a_pattern_is_a_search_and_one_of_lines_names_them(about: str, words: str) -> None:
    made = "run_command make · 2 lines for 'warn'"
    assert shown_target(RECALL_TOOL, made) == "stored output: make for “warn” · 2 lines"
    output = ToolAnswered(
        "c", RECALL_TOOL, "", "0" * 64, 9, 3, 1, target="read_file a.log", recalled="0" * 64
    )
    assert output_title(replace(output, about=about)) == words


@pytest.mark.parametrize(
    ("tool", "target", "words"),
    [
        ("list_directory", ".", "the workspace"),
        ("list_directory", "", "the workspace"),
        ("list_directory", "src", "src"),
        ("search_text", "def run in .", "def run in the workspace"),
        ("search_text", "def run in src", "def run in src"),
        (RECALL_TOOL, "find_files *.py in .", "stored output: *.py in the workspace"),
        ("run_command", "", ""),
        ("run_command", "if a:\n\n    b  c\n", "if a: ↵ b  c ↵ "),
        ("search_cached_content", "tide in May", "for “tide in May”"),
        ("search_cached_content", "tide in read_file", "for “tide”"),
    ],
)
def test_the_workspace_is_named_where_a_call_is_about_all_of_it(tool: str, target: str, words: str) -> None:
    assert shown_target(tool, target) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.0, "Estimated"),
        (1.004, "Estimated"),
        (1.3, "Estimated: 1.30 × Helix's count, from earlier sessions"),
    ],
)
def test_an_estimate_names_the_ratio_of_earlier_sessions(ratio: float, words: str) -> None:
    gauge = UsageGauge(3_600, 32_000, 32_000, 4_000, 27_000, False, ratio)
    assert gauge_source_text(gauge) == words
    reported = replace(gauge, report_count=1)
    assert gauge_source_text(reported) == "Estimated from the provider's last report"


CASES = (
    (GitStatus("main"), "main", "Branch main|No changes"),
    (
        GitStatus("main", upstream="origin/main", ahead=2, behind=1, changed=3, untracked=1),
        "main · 3 changed · 1 untracked",
        "Branch main|2 commits ahead of origin/main|1 commit behind origin/main|3 changed files"
        "|1 untracked file or folder",
    ),
    (
        GitStatus("main", upstream="origin/main", changed=2, conflicts=1),
        "main · 1 conflict",
        "Branch main|Up to date with origin/main|2 changed files|1 of them in conflict",
    ),
    (GitStatus("main", has_commit=False), "main · no commits yet", "Branch main|No commits yet|No changes"),
    (
        GitStatus(detached_at="06de214447c9", worktree="side", main_folder="/code/app"),
        "at 06de2144 · worktree side",
        "Detached at commit 06de2144|Worktree side of /code/app|No changes",
    ),
    (
        GitStatus("main", is_known=False, problem="slow"),
        "main · status unknown",
        "Branch main|Changes aren't known: git didn't answer in time.",
    ),
)


@pytest.mark.parametrize(("status", "line", "details"), CASES)
def test_a_state_in_short_and_in_full(status: GitStatus, line: str, details: str) -> None:
    text = git_text(status)
    assert (text.on_one_line, "|".join(text.details)) == (line, details)


_WRITTEN = HandoverMade(9, 0, (), "", "", 0, 0, 0, 0, 9, "m", HandoverTrigger.MANUAL)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"origin": "s1", "origin_title": "Find the leak"}, "Continues “Find the leak”"),
        ({"revises": 10, "before": 500, "after": 517}, "Handover summary edited by you · +17 tokens"),
        ({"replaces": (10,), "before": 90, "after": 40}, "Handover summary written again · 90 → 40 tokens"),
        ({"model": NO_MODEL}, "Compacted messages · without a model · 0 → 0 tokens"),
    ],
)
def test_a_handover_says_in_a_line_where_it_comes_from(change: dict[str, Any], text: str) -> None:
    assert handover_text(replace(_WRITTEN, **change), Transcript()) == text


def test_summaries_are_called_by_what_they_cover_and_what_became_of_them() -> None:
    transcript = Transcript()
    events: tuple[Event, ...] = (
        UserSpoke("Fix it.", 2),
        AssistantSpoke("Fixed.", "m", 2),
        UserSpoke("Thanks.", 2),
        replace(_WRITTEN, upto=0, origin="s-1", origin_title="Fix the gauge"),
        replace(_WRITTEN, upto=1),
        replace(_WRITTEN, upto=2, revises=5),
        replace(_WRITTEN, upto=2, revises=6),
        replace(_WRITTEN, upto=3, replaces=(7,)),
        replace(_WRITTEN, upto=2),
    )
    for seq, event in enumerate(events, 1):
        transcript.apply(RecordedEvent(seq, 0, event))
    assert list(handover_titles(transcript).values()) == [
        "Handover summary of “Fix the gauge”",
        "Handover summary of part of turn 1",
        "Handover summary of turn 1, edited",
        "Handover summary of turn 1, edited (2)",
        "Handover summary of turns 1–2, written again",
        "Handover summary of turn 1",
    ]


def test_no_line_parts_a_number_from_its_unit_or_begins_with_a_dot() -> None:
    text = "61 % of 24 KB · ≈ 8 tokens left after 10 s, 5 steps"
    assert (
        keep_units(text).replace("\N{NO-BREAK SPACE}", "_")
        == "61_% of 24_KB_· ≈_8 tokens left after 10_s, 5 steps"
    )


def test_an_option_is_not_parted_at_its_hyphens() -> None:
    text = "vLLM needs --enable-auto-tool-choice and a well-named --tool-call-parser. -n stays."
    shown = keep_options(text).replace("\N{NON-BREAKING HYPHEN}", "_")
    assert shown == "vLLM needs __enable_auto_tool_choice and a well-named __tool_call_parser. -n stays."


def test_the_decimals_of_a_column_stand_below_each_other() -> None:
    assert [format_tokens(count) for count in (999, 5_000, 11_700)] == ["999", "5k", "11.7k"]
    assert [format_tokens(count, in_column=True) for count in (999, 5_000, 128_000)] == [
        "999",
        "5.0k",
        "128k",
    ]
    assert format_token_difference(-2_000, in_column=True) == "\N{MINUS SIGN}2.0k"


def test_no_figure_rounds_to_nothing_or_beyond_its_unit() -> None:
    """What isn't 0 never reads `0 %`, and 1024 of a unit are one of the next."""
    shares = [format_whole_percent(share) for share in (0.0, 0.001, 0.006, 0.384, 1.0, 95.68)]
    assert shares == ["0 %", "< 1 %", "1 %", "38 %", "100 %", "9,568 %"]
    assert format_whole_percent(0.384, is_estimated=True) == "≈ 38 %"
    assert format_whole_percent(0.001, is_estimated=True) == "< 1 %"
    sizes = (1023, 1024**2 - 600, 1024**2 - 500, 1024**3 - 1)
    assert [format_size(size) for size in sizes] == ["1023 B", "1023 KB", "1 MB", "1 GB"]
    assert [format_bytes(size) for size in sizes] == ["1023 B", "1023 KB", "1.0 MB", "1.0 GB"]
    tokens = (999_499, 999_500, 999_994_999, 999_995_000, 12_296_850_000)
    assert [format_tokens(count) for count in tokens] == ["999k", "1.00M", "999.99M", "1.00B", "12.30B"]
    amounts = (0.0, 0.00002, 0.0042, 0.09994, 0.09996, 0.1, 12.3, 1234.5)
    assert [words_usd(amount) for amount in amounts] == [format_usd(amount) for amount in amounts]
    assert [words_usd(amount) for amount in amounts] == [
        *("$0.00", "< $0.0001", "$0.0042", "$0.0999", "$0.10", "$0.10", "$12.30", "$1,234.50")
    ]


@pytest.mark.parametrize(
    ("outputs", "calls", "image_messages", "text"),
    [
        (1_200, 0, 0, "Cached 1,200 outputs"),
        (0, 1, 0, "Cached the text of 1 tool call"),
        (3, 2, 1, "Cached 3 outputs, the text of 2 tool calls and images of 1 message"),
    ],
)
def test_cached_contents_are_counted_by_kind(
    outputs: int, calls: int, image_messages: int, text: str
) -> None:
    assert swept_contents_text(outputs, calls, image_messages) == text


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("Fix the parser", "Fix the parser"),
        ("\u202eevil override", "evil override"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("עברית and English", "עברית and English"),
        ("\u200f", "New session"),
        ("", "New session"),
    ],
)
def test_a_title_is_one_line_without_signs_of_direction(title: str, line: str) -> None:
    assert session_title(title) == line


TIME = format_date_and_time(START_MS)


def document(*events: Event) -> str:
    return session_markdown(
        "A title", [RecordedEvent(n, START_MS, event) for n, event in enumerate(events, 1)]
    )


def answer(text: str, ok: bool = True) -> ToolAnswered:
    """The output of a call on `a.py`."""
    return ToolAnswered("c1", "edit_file", text, "d" * 64, len(text), 1, 1, target="a.py", ok=ok)


def test_a_message_of_programs_alone_is_not_the_users() -> None:
    notice = "<task-notification>Built</task-notification>"
    assert f"## Program · {TIME}" in document(UserSpoke(notice, 1))
    assert f"## You · {TIME}" in document(UserSpoke(f"{notice}\nGo on.", 1))


def test_messages_calls_and_ends_are_told_in_order() -> None:
    arguments = '{"path": "a.py", "new": "x = 1\\ny = 2", "all": true}'
    call = ToolCall("c1", "edit_file", arguments)
    assert document(
        UserSpoke("Do it.", 1),
        AssistantSpoke("I will.", "p/m", 1, calls=(call,)),
        answer("done\n```\n", ok=False),
        AssistantSpoke("Done.", "p/m", 1),
        TurnEnded("failed", "The server refused.", "No credit."),
    ).split("\n\n") == [
        "# A title",
        f"## You · {TIME}",
        "Do it.",
        f"## Agent · p/m · {TIME}",
        "I will.",
        "### `edit_file a.py`",
        "> Failed",
        '```json\n{\n "all": true\n}\n```',
        "`new`:",
        "```\nx = 1\ny = 2\n```",
        "````\ndone\n```\n````",
        "Done.",
        "> The turn failed. The server refused. No credit.\n",
    ]


def test_what_is_left_out_of_an_output_is_counted() -> None:
    lines = document(answer("line\n" * 100))
    assert (lines.count("line\n"), "> 60 more lines\n" in lines) == (40, True)
    assert document(answer("x" * 5_000)).endswith(
        f"{'x' * 4_000}\n```\n\n> The rest of the line is left out.\n"
    )
    assert "more lines" not in document(answer("line\n" * 40))


def test_each_command_is_an_action_and_its_names_are_its_own() -> None:
    """Menus, palette and commands do the same thing; no two commands share a name."""
    names = [name for command in SLASH_COMMANDS for name in (command.name, *command.also)]
    assert len(set(names)) == len(names)
    assert all(map(is_command_name, names))
    table = [command for command in WindowCommands.commands.values() if command.slash]
    assert sorted(command.slash for command in table) == [command.name for command in SLASH_COMMANDS]
    takes_arguments = {command.name for command in SLASH_COMMANDS if command.arguments}
    assert {command.slash for command in table if command.with_arguments} == takes_arguments
    assert [command.name for command in SLASH_COMMANDS] == sorted(command.name for command in SLASH_COMMANDS)
    clear = find_slash_command("CLEAR")
    assert clear is not None
    assert clear.name == "new"


@pytest.mark.parametrize(
    ("usage", "figure"),
    [(Usage(1_300, 4), "1.3k tokens"), (Usage(0, 4), "≈ 1.2k tokens"), (None, "≈ 1.2k tokens")],
)
def test_a_request_that_no_provider_counted_is_marked_as_estimated(usage: Usage | None, figure: str) -> None:
    answer = AssistantSpoke("Hello.", "lab/m", 2, usage=usage, estimate=1_200)
    (step,) = read_steps([RecordedEvent(1, 0, UserSpoke("Hello", 2)), RecordedEvent(2, 0, answer)])
    assert sent_at_text(step).endswith(f" · {figure}")
    assert all(text(step).endswith(f" · {figure} in the request") for text in (step_text, looking_at_text))


def test_one_loss_is_singular_and_several_are_plural() -> None:
    singular = repair_notice(
        RepairReport(0, ("it",), 1, 1, 1, writes=1, rows=1, vanished=1, copy="there")
    ).why
    assert "The last change is missing." in singular
    assert "1 output is gone" in singular
    assert "1 record couldn't be read." in singular
    many = repair_notice(RepairReport(0, ("it",), 1, 1, 1, writes=1200, rows=2, vanished=2, copy="there")).why
    assert "The last 1,200 changes are missing." in many
    assert "2 outputs are gone" in many
    assert "2 records couldn't be read." in many


def test_names_are_shown_without_control_characters() -> None:
    lost = LostContent("ab" * 32, tool="read_file", target="a\x1b[31m\nb")
    assert lost_content_text(lost) == "abababababab read_file a\\u001b[31m\\u000ab"
    assert (
        truncated_session_text(TruncatedSession("s", "a\x1bb", 1, lost=2)) == "a\\u001bb (1 of 3 events left)"
    )


def test_what_a_deletion_removes_is_one_sentence() -> None:
    deletion = PermanentDeletion(sessions=("s",), digests=("ab" * 32,) * 85, freed=100_000)
    history = FileHistoryCleanup(contents=15, stored_size=93_000)
    assert deletion_lines(deletion, history)[0] == (
        "This deletes 1 session with its messages, 85 outputs and 15 previous file versions, "
        "which frees 188 KB."
    )
    assert deletion_lines(PermanentDeletion(), FileHistoryCleanup())[0].startswith("This deletes nothing, ")


def test_an_import_names_what_was_there_already_only_if_something_was() -> None:
    assert import_summary(ImportResult("a.helix", 85, 0, new=("s", "t"))) == (
        "85 entries added. Sessions: 2 new."
    )
    assert import_summary(ImportResult("a.helix", 0, 2, unchanged=("s",))) == (
        "0 entries added, 2 already present. Sessions: 1 unchanged."
    )


def test_only_a_missing_instruction_is_quoted() -> None:
    """Not what a summary says in its own words, keeps word for word or adds as a list."""
    files = tuple(Bullet(f"src/module_{n}.py", (n,)) for n in range(9))
    others = (
        SummaryCoverage("instructions", 2, 5, (), verbatim=3),
        SummaryCoverage("conclusions", 0, 1, (), verbatim=1),
        SummaryCoverage("files", 41, 50, files),
    )
    assert missing_rules_text(others).text == ""
    missing = (Bullet("Never push.", (3,)), Bullet("Ask first.", (4,)))
    text = missing_rules_text((*others, SummaryCoverage("instructions", 25, 200, missing, verbatim=3)))
    assert text.heading == "Not in the text, added below it"
    assert text.lines == (("Instructions", "Never push. · Ask first. · 170 more only in stored outputs"),)


def test_a_long_name_is_shortened() -> None:
    """An instruction may be a sentence of a list; the card shows its beginning, without the list's dash."""
    line = missing_rules_text(
        (SummaryCoverage("instructions", 0, 1, (Bullet("- " + "Never push " * 20, (3,)),)),)
    ).text.splitlines()[-1]
    assert line.startswith("Instructions: Never push")
    assert line.endswith("…")
    assert len(line) < 100


def test_a_line_of_instructions_ends_at_one() -> None:
    """What it has no room for is counted; the marks of Markdown are left out."""
    rules = tuple(Bullet(f"- **Write** chapter {n} of the `manual`\nfor testers", (n,)) for n in range(7))
    listed = " · ".join(f"Write chapter {n} of the manual for testers" for n in range(3))
    text = missing_rules_text((SummaryCoverage("instructions", 0, 7, rules),))
    assert text.lines == (("Instructions", f"{listed} · and 4 more"),)


def in_ms(moment: datetime) -> int:
    """A local time in milliseconds since 1970."""
    return round(moment.timestamp() * 1_000)


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (datetime(2026, 11, 25, 0, 5), "00:05"),
        (datetime(2026, 11, 24, 23, 55), "24 Nov 23:55"),
        (datetime(2025, 11, 25, 0, 5), "25 Nov 2025 00:05"),
    ],
)
def test_the_time_stands_alone_only_for_today(moment: datetime, words: str) -> None:
    """However little earlier it was."""
    now_ms = in_ms(datetime(2026, 11, 25, 0, 30))
    assert format_moment(in_ms(moment), now_ms) == words
    assert format_moment(0, now_ms) == "", "not known"


def test_an_age_is_the_same_within_a_step_of_the_clock() -> None:
    """Whenever within it a place is drawn: what is drawn again under the pointer is not ahead of the rest."""
    at = in_ms(datetime(2026, 11, 25, 14, 8, 57))
    before, after = (in_ms(datetime(2026, 11, 25, 14, 18, second)) for second in (50, 57))
    assert {format_relative_time(at, now) for now in (before, after)} == {"9 min ago"}
    assert format_relative_time(at, after + AGE_STEP_MS) == "10 min ago"
    recent = datetime(2026, 11, 25, 14, 9, 58)
    assert format_short_time(at, recent) == format_relative_time(at, in_ms(recent)) == "now"


@for_each(
    ("kind", "problem", "changed", "text"),
    [
        ("project", "", False, "src/AGENTS.md sent to the agent · 12 tokens"),
        ("project", "", True, "src/AGENTS.md changed: sent to the agent · 12 tokens"),
        ("project", "cut", True, "The beginning of src/AGENTS.md sent to the agent · 12 tokens"),
        ("project", "gone", True, "src/AGENTS.md was deleted: the agent was told"),
        ("project", "unreadable", True, "src/AGENTS.md was not sent to the agent"),
        ("skills", "", False, "The list of skills sent to the agent · 12 tokens"),
        ("skills", "", True, "The skills changed: sent to the agent · 12 tokens"),
        ("skills", "gone", True, "No skills any more: the agent was told"),
    ],
)
def test_later_instructions_are_named_by_what_became_of_them(
    kind: StandingKind, problem: StandingProblem, changed: bool, text: str
) -> None:
    standing = StandingText(kind, "Be brief.", 12, path="src/AGENTS.md", problem=problem)
    assert instructions_text(InstructionsAdded(standing, changed)) == text


def test_what_saves_tokens_is_no_reason_beside_another_one() -> None:
    assert reasons_text(["to save tokens", "", "by you"]) == "by you"
    assert reasons_text(["to save tokens", "to make room"]) == "to make room"
    assert reasons_text(["by you", "to make room"]) == "to make room"
    assert reasons_text(["", "to save tokens"]) == "to save tokens"


FACTS = ObservationsPlaced(78, PlacementReason.THRESHOLD, 2_612, threshold=0.38)
NOTED = FoldMade(2, 9, "", 20, "", 1, 2, 900)


@for_each(
    ("event", "text"),
    [
        (FACTS, "to save tokens"),
        (replace(FACTS, averted_handover_at=0.85), "to make room"),
        (NOTED, "to save tokens"),
        (replace(NOTED, averted_handover_at=0.83), "to make room"),
        *(
            (SweepMade((3,), 900, reason, averted_handover_at=0.83), text)
            for reason, text in (
                (SweepReason.MANUAL, "by you"),
                (SweepReason.OVERFLOW, "to make room"),
                (SweepReason.REFUSED, "provider refused the images"),
                (SweepReason.HANDOVER, "with a compaction"),
                (SweepReason.COLD, "to make room"),
                (SweepReason.BATCH, "to make room"),
            )
        ),
    ],
)
def test_what_made_a_rewrite_comes_before_what_it_made_needless(
    event: SweepMade | FoldMade | ObservationsPlaced, text: str
) -> None:
    """A server that refused images is the reason, whatever the context had reached by then."""
    assert rewrite_reason_text(event) == text


_GAUGE = UsageGauge(14_000, 25_000, 25_000, 1_500, 13_250, True)


@for_each(
    ("outlook", "text"),
    [
        (CompactionOutlook("off"), "Context management is off."),
        (
            CompactionOutlook("gave_up"),
            "Compaction only when you start it. The last 3 attempts failed or freed too little.",
        ),
        (
            CompactionOutlook("room"),
            "Every request sends this, so old parts leave to save tokens; at {at} they must.",
        ),
        (CompactionOutlook("due"), "{at} is reached: compacts once a handover summary is written."),
        (
            CompactionOutlook("waiting", 90_000),
            "{at} is reached: compacts 1 min 30 s after the last attempt or undo.",
        ),
        (
            CompactionOutlook("waiting", 60_000),
            "{at} is reached: compacts 1 min after the last attempt or undo.",
        ),
        (
            CompactionOutlook("too_little", freed=1_200, least=2_500),
            "{at} is reached: compacts once that frees enough.\n"
            "It would free about 1.2k tokens now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little", freed=-40, least=2_500),
            "{at} is reached: compacts once that frees enough.\n"
            "It would free nothing now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little"),
            "{at} is reached: compacts once that frees enough.\n"
            "Too few messages lie before the newest ones, which always stay.",
        ),
    ],
)
def test_above_the_threshold_it_says_why_nothing_happens(outlook: CompactionOutlook, text: str) -> None:
    """Never that a compaction is due which the engine would not make."""
    assert compaction_text(outlook, _GAUGE, ContextPolicy()) == text.format(at="53 %")


def test_the_panel_says_how_much_is_left_and_explains_what_the_policy_does() -> None:
    outlook = CompactionOutlook("room")
    gauge = UsageGauge(6_400, 25_000, 25_000, 1_500, 21_250, True)
    room = compaction_text(outlook, gauge, ContextPolicy())
    assert room.endswith("so old parts leave to save tokens; at 85 % they must.")
    assert "compacted turns by a shorter form" in explain_acts()
    without_notes = ContextPolicy(fold_after_steps=0, observe_at=0.0)
    assert compaction_text(outlook, gauge, without_notes) == "Compacts at 85 %, 14.8k left."


@pytest.mark.parametrize("kind", [kind for kind in HandoverTrigger if kind.is_by_policy])
def test_a_trigger_of_the_policy_is_said_in_the_unit_of_its_field(kind: HandoverTrigger) -> None:
    assert kind.policy_field in {name for _, names in FORM for name in names}, "not on the policy page"
    limit = limit_text(kind, 0.53)
    far = CompactionTrigger(kind, 5, 0.53)
    beyond = CompactionTrigger(kind, -1, 0.53)
    assert gauge_compaction_text(far, True, False).startswith("compaction in ≈ 5")
    assert limit in gauge_compaction_text(beyond, True, False)
    assert limit in trigger_text(kind, 0.53)


@pytest.mark.parametrize(
    ("limit", "text"), [(0.85, "85 %"), (0.75, "85 %, here 75 % to leave room for the answer")]
)
def test_the_threshold_is_the_number_of_the_policy_unless_the_answer_needs_the_room(
    limit: float, text: str
) -> None:
    kind = next(trigger for trigger in HandoverTrigger if trigger.policy_field == "handover_at")
    assert threshold_text(ContextPolicy(), CompactionTrigger(kind, 0, limit)) == text


def test_summaries_that_stand_as_one_are_left_out_and_undone_as_one() -> None:
    """The panel calls them Compacted turns 1–2; the first alone was named, and undone."""
    events: list[Event] = [
        UserSpoke("One.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        UserSpoke("Two.", 3),
        AssistantSpoke("Done.", "lab/m", 2),
        ObservationsMade(0, 2, (), (), "", "d" * 64, 1, 50, 500, 2, "m"),
        ObservationsPlaced(5, PlacementReason.REWRITE, 450),
        ObservationsMade(2, 4, (), (), "", "e" * 64, 1, 50, 500, 2, "m"),
        ObservationsPlaced(7, PlacementReason.REWRITE, 450),
    ]
    transcript = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    names = {(6, 8): "turns 1–2", (6,): "turn 1", (8,): "turn 2", (6, 9): "turn 1"}  # 9 is damaged
    for targets, name in names.items():
        assert (
            excluded_text(Excluded(targets, "", 0, "", 9), transcript) == f"You left out “Compacted {name}”"
        )
    assert summaries_of_block(transcript, 6) == summaries_of_block(transcript, 8) == (6, 8)
    assert summaries_of_block(transcript, 4) == (4,)


def test_what_is_compacted_is_called_by_the_turns_that_it_replaces() -> None:
    """Of a turn of which messages still stand its tool calls are counted; of several, they are parts."""
    transcript = conversation_with(3).transcript
    items = transcript.messages.items
    first = {turn: next(item.seq for item in items if item.turn == turn) for turn in (1, 2, 3)}
    middle = {turn: first[turn] + 4 for turn in first}
    ranges = [
        (0, middle[1]),
        (0, first[2] - 1),
        (0, middle[2]),
        (0, first[3] - 1),
        (0, middle[3]),
        (middle[1], first[2] - 1),
        (middle[1], first[3] - 1),
        (middle[1], middle[2]),
        (middle[1], middle[3]),
        (middle[1], middle[1] + 2),
    ]
    assert [compacted_turns(transcript, after, upto) for after, upto in ranges] == [
        "2 tool calls of turn 1",
        "turn 1",
        "parts of turns 1–2",
        "turns 1–2",
        "parts of turns 1–3",
        "1 tool call of turn 1",
        "parts of turns 1–2",
        "parts of turns 1–2",
        "parts of turns 1–3",
        "1 tool call of turn 1",
    ]
    assert not compacted_turns(transcript, items[-1].seq, items[-1].seq)
    assert compacted_turns(transcript, 0, first[3], kept_seq=first[3]) == "turns 1–2", (
        "its message stands yet"
    )
    assert compacted_turns(transcript, 0, middle[3], kept_seq=first[3]) == "parts of turns 1–3"
