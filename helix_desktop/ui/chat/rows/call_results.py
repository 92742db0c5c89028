"""What a tool call came to, in a few words: its outcome, the line of its output that says it, its figures."""

from __future__ import annotations

import re

from helix_desktop.agent.session import did_not_run
from helix_desktop.agent.tool_calls.approvals import denying_rule
from helix_desktop.context.intake.descriptions import count_header_lines, count_matching_lines
from helix_desktop.context.log.file_and_mode_notes import REFUSED_IN_PLAN
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.files.file_use import is_test_command
from helix_desktop.domain.question import denial_reason
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.permissions.command_match import without_settings
from helix_desktop.permissions.reading_commands import reading_use, split_command
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from helix_desktop.ui.chat.rows.row_types import ToolRow, ToolState
from helix_desktop.ui.design.safe_text import clean_output, escape_invisible
from helix_desktop.words.call_targets import failed_tests_text
from helix_desktop.words.numbers import format_size, format_token_count
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_OUTCOMES: dict[ToolState, TranslatableText] = {
    "approval": text("Needs approval"),
    "question": text("Needs your answer"),
    "failed": text("Failed"),
    "denied": text("Denied"),
    "interrupted": text("Interrupted"),
    "stopped": text("Stopped"),
}
_RESULT_CHARS = 120  # of the last line of a command's output
_CHAIN = re.compile(r";|&&|\|\||\n")  # behind which another command may print something, too
_RULE_SIGNS = " \t=-"  # that lines of headings and sums are drawn with
_REASON_CHARS = 60  # of why a call failed or was denied; the opened card has all


def outcome_text(row: ToolRow) -> str:
    """Return how a call ended if not well: also tests that failed in a command that ended with 0."""
    ends = row.shown_lines
    if row.state == "denied" and (why := _denial_text(ends.head)):
        return tr("Denied: {reason}", reason=why)
    failed = ""
    if row.command and row.answer_seq:
        is_last = not (is_test_command(row.command) and _CHAIN.search(row.command))
        failed = failed_tests_text(ends.tail or ends.head if is_last else row.shown.text, is_last=is_last)
    if row.state == "ok" or (row.state == "failed" and failed):
        return failed
    if row.state == "failed" and row.answer.exit_code:
        return tr("Exit code {code}", code=str(row.answer.exit_code))
    if row.state == "failed" and row.answer_seq and ends.head:
        sentence = ends.head.split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
        return tr("Failed: {reason}", reason=escape_invisible(ellipsize(sentence, _REASON_CHARS)))
    return translate(_OUTCOMES.get(row.state, ""))


def result_text(row: ToolRow) -> str:
    """Return the last line that a command put out, as what came of it; empty if `outcome_text` says that.

    Empty of one that only reads, too: what it put out is what it has read. And of several, each of which runs
    whatever came of the one before.
    """
    ends = row.shown_lines
    is_shown = row.command and row.answer_seq and not row.removed_at_ms and row.form != "compact"
    if row.state != "ok" or not is_shown or outcome_text(row):
        return ""
    if reading_use(row.command, "", "/", find_programs(DEFAULT_LINES)) is not None:
        return ""
    parts = split_command(without_settings(row.command)[0])
    if parts is None or ";" in {part.operator for part in parts}:
        return ""  # what came of the last one would stand for all
    header_lines = count_header_lines(row.call.name, row.shown.text)
    last = ends.tail or "\n".join(ends.head.split("\n")[header_lines:])
    lines = (line.strip(_RULE_SIGNS) for line in reversed(clean_output(last).split("\n")))
    # A preview ends with its marker, and names that it lacks.
    shown = (line for line in lines if line and not (row.form == "preview" and line.startswith("[")))
    return escape_invisible(ellipsize(next(shown, ""), _RESULT_CHARS))


def figures_text(row: ToolRow) -> str:
    """Lines (or why it failed), time, exit code and tokens of a call, as one line of words.

    Of an output that is shown in part: its size, and the tokens of that part. A subagent's stand in its line.
    """
    if row.subagent_status is not None:
        return ""
    if row.state == "interrupted" and not row.answer_seq:
        return tr("output not saved")
    if row.state == "interrupted" and did_not_run(row.shown_lines.head):
        return tr("did not run")
    parts = list(filter(None, [_output_text(row)]))
    took_ms, outcome = row.answer.duration_ms, row.answer.outcome
    if row.answer.call_id and (outcome == "ran" or (took_ms and outcome != "denied")):
        duration = format_duration(took_ms)
        was_cut_off = row.state == "interrupted"  # it ran on after its last output was saved
        parts.append(tr("at least {duration}", duration=duration) if was_cut_off else duration)
    if row.answer.exit_code:  # 0 is what "done" says
        parts.append(tr("exit code {code}", code=str(row.answer.exit_code)))
    if row.tokens:
        tokens = format_token_count(row.tokens)
        parts.append(tokens if row.form == "full" else _sent_text(row, tokens))
    return " · ".join(parts)


def _output_text(row: ToolRow) -> str:
    """Return how much a call brought; empty of one that failed, whose outcome says why."""
    ends = row.shown_lines
    if row.state == "failed" and row.answer.exit_code is None:
        return ""
    if row.form != "full" or (row.answer.size and not row.answer_seq):
        return format_size(row.answer.size)
    header_lines = count_header_lines(row.call.name, row.shown.text)
    lines = ends.lines - header_lines
    if lines <= 0 or not (row.digest or row.state != "interrupted"):
        return ""
    # Where others stand above them, what is counted: the cache counts all lines of an output.
    builtin = BUILTIN_TOOLS.get(row.call.name)
    if not header_lines:
        return tr.plural(lines, "%n line", "%n lines")
    if builtin is not None and builtin.counted is not None:
        return translate(builtin.counted(count_matching_lines(row.shown.text) if builtin.grouped else lines))
    return tr.plural(lines, "%n line printed", "%n lines printed")


def _denial_text(model_text: str) -> str:
    """Return why a call was denied, from what the model reads of it; empty if the user gave none."""
    reason, rule = denial_reason(model_text), denying_rule(model_text)
    if reason:
        return tr("“{reason}”", reason=escape_invisible(ellipsize(" ".join(reason.split()), _REASON_CHARS)))
    if rule:
        return tr("by the rule {rule}", rule=escape_invisible(ellipsize(rule, _REASON_CHARS)))
    return tr("in plan mode") if model_text == REFUSED_IN_PLAN else ""


def _sent_text(row: ToolRow, tokens: str) -> str:
    if row.badge in ("", "in_window", "pinned", "recalled"):
        return tr("{tokens} in context", tokens=tokens)
    return tr("{tokens} while in context", tokens=tokens)  # now a marker or a note stands for it
