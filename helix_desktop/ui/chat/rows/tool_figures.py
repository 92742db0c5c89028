"""The figures of a call on its card as text: lines or why it failed, time, exit code, tokens."""

from __future__ import annotations

from helix_desktop.agent.session import did_not_run
from helix_desktop.agent.tool_calls.approvals import denial_reason, denying_rule
from helix_desktop.context.intake.descriptions import count_matching_lines
from helix_desktop.context.log.notes import REFUSED_IN_PLAN
from helix_desktop.domain.own_tools import OWN_TOOLS
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.chat.rows.row_types import ToolRow, ToolState
from helix_desktop.ui.design.safe_text import escape_invisible
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
_REASON_CHARS = 60  # of why a call failed or was denied; the opened card has all


def outcome_text(row: ToolRow) -> str:
    """Return how a call ended if not well: also tests that failed in a command that ended with 0."""
    failed = failed_tests_text(row.tail or row.head) if row.command is not None and row.answer_seq else ""
    if row.state == "ok" or (row.state == "failed" and failed):
        return failed
    if row.state == "failed" and row.exit_code:
        return tr("Exit code {code}", code=str(row.exit_code))
    return translate(_OUTCOMES.get(row.state, ""))


def figures_text(row: ToolRow) -> str:
    """Lines (or why it failed), time, exit code and tokens of a call, as one line of words.

    Of an output that is shown in part: its size, and the tokens of that part. A subagent's stand in its line.
    """
    if row.subagent_status is not None:
        return ""
    if row.state == "interrupted" and not row.answer_seq:
        return tr("output not saved")
    if row.state == "interrupted" and did_not_run(row.head):
        return tr("did not run")
    parts = list(filter(None, [_output_text(row)]))
    if row.duration_ms is not None:
        duration = format_duration(row.duration_ms)
        was_cut_off = row.state == "interrupted"  # it ran on after its last output was saved
        parts.append(tr("at least {duration}", duration=duration) if was_cut_off else duration)
    if row.exit_code:  # 0 is what "done" says
        parts.append(tr("exit code {code}", code=str(row.exit_code)))
    if row.tokens:
        tokens = format_token_count(row.tokens)
        parts.append(tokens if row.form == "full" else _sent_text(row, tokens))
    return " · ".join(parts)


def _output_text(row: ToolRow) -> str:
    """Return how much a call brought, or in place of it why it failed or was denied."""
    if row.state == "denied" and (why := _denial_text(row.head)):
        return why
    if row.state == "failed" and row.exit_code is None and row.head:
        sentence = row.head.split("\n", 1)[0].split(". ", 1)[0]
        return escape_invisible(ellipsize(sentence, _REASON_CHARS))
    if row.form != "full" or row.is_choosing_form:
        return format_size(row.size_bytes)
    if row.lines > row.header_lines and (row.digest or row.state != "interrupted"):
        return _lines_text(row)
    return ""


def _lines_text(row: ToolRow) -> str:
    """Return how many lines a call brought; where others stand above them, what is counted.

    The cache counts all lines of an output.
    """
    lines = row.lines - row.header_lines
    if not row.header_lines:
        return tr.plural(lines, "%n line", "%n lines")
    if row.tool == "search_text":
        return tr.plural(count_matching_lines(row.head + "\n"), "%n matching line", "%n matching lines")
    own = OWN_TOOLS.get(row.tool)
    if own is not None and own.counted is not None:
        return translate(own.counted(lines))
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
    return tr("{tokens} earlier", tokens=tokens)  # now a marker or a note stands for it
