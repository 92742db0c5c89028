"""The words of rows: states, outcomes, figures, what is copied and searched, what screen readers say."""

from __future__ import annotations

import re
from collections.abc import Callable

from helix_desktop.agent.session import SubagentActivity, SubagentProgress, did_not_run
from helix_desktop.agent.tool_calls.approvals import denying_rule
from helix_desktop.context.intake.descriptions import count_header_lines, count_matching_lines
from helix_desktop.context.log.mode_notes import REFUSED_IN_PLAN
from helix_desktop.context.window.message_states import MessageState
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.files.file_use import is_test_command, tool_kind
from helix_desktop.domain.messages import TurnOutcome
from helix_desktop.domain.question import denial_reason
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.permissions.command_match import without_settings
from helix_desktop.permissions.reading_commands import reading_use, split_command
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from helix_desktop.ui.chat.rows.changed_file_rows import edited_text
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AskRow,
    AssistantRow,
    Badge,
    DividerRow,
    NoticeRow,
    QuestionRow,
    Row,
    ToolRow,
    ToolState,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.design.safe_text import clean_output, escape_command, escape_invisible
from helix_desktop.words.call_targets import call_verb, failed_tests_text, shown_target
from helix_desktop.words.context_changes import large_output_text
from helix_desktop.words.numbers import (
    format_size,
    format_token_count,
    format_tokens,
    format_usd,
)
from helix_desktop.words.state_words import OUTDATED, REPEATED, STATE_WORDS
from helix_desktop.words.times import format_duration, format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

STATE_TEXTS: dict[ToolState, TranslatableText] = {
    "waiting": text("waiting", "state of a tool call"),
    "approval": text("needs approval"),
    "question": text("needs your answer"),
    "running": text("running", "state of a tool call"),
    "ok": text("done", "state of a tool call"),
    "failed": text("failed", "state of a tool call"),
    "denied": text("denied", "state of a tool call"),
    "interrupted": text("interrupted", "state of a tool call"),
    "stopped": text("stopped", "state of a tool call"),
}

RUNNING_PHASES: dict[SubagentActivity | TurnOutcome, TranslatableText] = {
    "queued": text("Queued"),
    "thinking": text("Thinking"),
    "working": text("Working"),
    "waiting": text("Waiting for you"),
    "full": text("Waiting for a handover summary"),
}
_PHASES: dict[SubagentActivity | TurnOutcome, TranslatableText] = {
    **RUNNING_PHASES,
    "done": text("Done", "end of a subagent"),
    "stopped": text("Stopped", "end of a subagent"),
    "failed": text("Failed", "end of a subagent"),
    "interrupted": text("Interrupted", "end of a subagent"),
}


def phase_text(status: SubagentProgress) -> str:
    return translate(_PHASES[status.phase])


def subagent_figures(row: ToolRow, now_ms: int, fits: Callable[[str], bool] = bool) -> str:
    """Return its subagent's model calls, tokens, cost, and how long it works or worked, as one line of words.

    Where not all of it fits, the first ones are left out: half of a figure would read as another one.
    """
    status = row.subagent_status
    parts = list[str]()
    if status is None:
        return ""

    def about(figure: str) -> str:
        return tr("≈ {figure}", figure=figure) if status.estimated else figure

    if status.steps:
        parts.append(tr.plural(status.steps, "%n model call", "%n model calls"))
    if status.spent_tokens:
        tokens = about(format_token_count(status.spent_tokens))
        parts.append(tr("{tokens} used", tokens=tokens))
    if status.cost:
        parts.append(about(format_usd(status.cost)))
    if status.started_at_ms and status.phase in RUNNING_PHASES:
        parts.append(format_elapsed((now_ms - status.started_at_ms) // 1000))
    if row.answer.duration_ms:
        parts.append(format_elapsed(row.answer.duration_ms // 1000))
    return next(filter(fits, (" · ".join(parts[start:]) for start in range(len(parts)))), "")


def context_note(state: MessageState) -> str:
    """Return how a message left the context; empty while its words are sent, cached arguments or not."""
    if state in ("in_window", "pinned", "cached"):
        return ""
    return translate(STATE_WORDS[state].label)


def badge_text(badge: Badge) -> str:
    """Return where an output is now, in a word or two; empty where none is stored."""
    match badge:
        case "":
            return ""
        case "recalled":
            return tr("Recalled", "state of an output")
        case "pinned":
            return tr("Pinned", "state of an output")
        case "repeated":
            return translate(REPEATED.label)
    return translate(STATE_WORDS[badge].label)


def divider_text(row: DividerRow) -> str:
    return f"{row.text} · {tr('undone')}" if row.is_undone else row.text


def bar_texts(row: ToolRow) -> tuple[str, ...]:
    """Return the words of a call's bar: what it did, and to what unless the opened card repeats that."""
    if row.question is not None and row.answer_seq:
        return ()  # a card without such a bar
    return (call_words(row), *(() if row.is_target_repeated else (bar_target(row),)))


def call_words(row: ToolRow) -> str:
    """Return what a call does, is doing or did: "Ran"; of another program's tool its name."""
    is_failed = row.state == "failed" and tool_kind(row.call.name) != "command"  # that ran, whatever it found
    if (
        is_failed
        or row.state in ("waiting", "approval", "question", "denied")
        or (row.state == "interrupted" and did_not_run(row.shown_lines.head))
    ):
        return call_verb(row.call.name, "to_do", row.target)
    return call_verb(row.call.name, "running" if row.state == "running" else "done", row.target)


def bar_target(row: ToolRow) -> str:
    escape = escape_command if tool_kind(row.call.name) == "command" else escape_invisible
    return escape(shown_target(row.call.name, row.target))


def text_of_row(row: Row) -> str:
    """Return all words of a row as one text: what find searches and what a copied message contains."""
    match row:
        case UserRow() | AssistantRow():
            return row.text
        case ToolRow():
            reply = row.answer.reply
            if row.question is not None and reply is not None:
                return _join_lines(row.question.text, *reply.options, reply.text)
            lines = row.original.head_and_tail if row.original is not None else row.shown_lines
            changed = row.changed_files.text if row.changed_files is not None else ""
            return _join_lines(
                f"{call_words(row)} {row.command or row.target}".strip(), changed, lines.head, lines.tail
            )
        case ApprovalRow() | QuestionRow():
            return _ask_source(row)
        case DividerRow():
            return _join_lines(divider_text(row), *row.details)
        case NoticeRow():
            return _join_lines(row.what, row.why, row.fix, row.details)
        case TurnFooterRow():
            return ""


def _ask_source(row: AskRow) -> str:
    if isinstance(row, ApprovalRow):
        request = row.request
        offers = map(translate, row.offers)
        if request.kind == "command":
            return _join_lines(row.detail, translate(request.effect) or row.summary, *offers)
        words = row.detail or edited_text(request.edits)
        return _join_lines(row.summary, request.description, words, *offers)
    options = (": ".join(filter(None, (option.label, option.description))) for option in row.question.options)
    return _join_lines(row.question.text, *options)


def reply_state_text(row: ToolRow) -> str:
    if row.answer.reply is None:
        return tr("no user there") if row.state == "ok" else tr("not answered")
    return tr("skipped", "a question") if row.answer.reply.is_skip else tr("answered", "a question")


def accessible_name(row: Row) -> str:
    match row:
        case UserRow(is_side=True):
            return tr("You, side question")
        case UserRow():
            return tr("You, during the turn") if row.steered else tr("You")
        case AssistantRow():
            model = row.model or tr("Assistant")
            if note := row.side_note or row.context_note:
                model = tr("{model}, {note}", "a side answer", model=model, note=note)
            if row.waiting_since_ms:
                return tr("{model}, not answering yet", model=model)
            return tr("{model}, writing", model=model) if row.streaming else model
        case ToolRow():
            return _tool_name(row)
        case ApprovalRow() | QuestionRow():
            return _ask_name(row)
        case DividerRow():
            text = " · ".join(filter(None, (divider_text(row), row.undo_first)))
            return tr("Divider: {text}", text=text)
        case TurnFooterRow():
            return tr("Answer finished")
        case NoticeRow(level="error"):
            return tr("Error: {text}", text=row.what)
        case NoticeRow(level="warning"):
            return tr("Warning: {text}", text=row.what)
        case NoticeRow(level="info"):
            return tr("Information: {text}", text=row.what)
        case NoticeRow():
            return row.what


def output_form_texts(row: ToolRow) -> tuple[str, ...]:
    """Return which part of an output is or was sent, and how much is; empty if all of it is or was."""
    if not row.is_part or row.removed_at_ms:
        return ()
    form = large_output_text(row.form, row.shown.text, by_user=row.chosen_by == "user")
    return (form, _sent_text(row)) if _is_sent(row) and row.answer.full_tokens else (form,)


def removed_state_text() -> str:
    return tr("removed as a secret", "state of an output")


def _tool_summary(row: ToolRow) -> list[str]:
    words = [*filter(None, (translate(STATE_TEXTS[row.state]), result_text(row)))]
    words += output_form_texts(row)
    if row.arguments_cached:
        words.append(translate(STATE_WORDS["cached"].label))
    if row.is_outdated:
        words.append(translate(OUTDATED))
    if row.subagent_status is not None:
        words.append(tr("subagent: {state}", state=phase_text(row.subagent_status)))
    if row.removed_at_ms:
        return [*words, removed_state_text()]
    return [*words, badge_text(row.badge)] if row.badge else words


def _tool_name(row: ToolRow) -> str:
    if row.question is not None and row.answer_seq:
        state = reply_state_text(row)
        return tr("Question, {state}: {question}", state=state, question=row.question.text)
    call = f"{call_words(row)} {row.target}".strip()
    return tr("Tool {call}: {states}", call=call, states=tuple(_tool_summary(row)))


def _ask_name(row: AskRow) -> str:
    if isinstance(row, QuestionRow):
        subagent = row.question.subagent_title
        question = row.question.text
        if subagent:
            return tr("Question of subagent {subagent}: {question}", subagent=subagent, question=question)
        return tr("Question: {question}", question=question)
    subagent = row.request.subagent_title
    call = row.summary
    if subagent and row.is_sandboxed:
        return tr("Approval needed by subagent {subagent}, sandboxed: {call}", subagent=subagent, call=call)
    if subagent:
        return tr("Approval needed by subagent {subagent}: {call}", subagent=subagent, call=call)
    if row.is_sandboxed:
        return tr("Approval needed, sandboxed: {call}", call=call)
    return tr("Approval needed: {call}", call=call)


def _join_lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


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
    return escape_invisible(ellipsize(" ".join(next(shown, "").split()), _RESULT_CHARS))


def figures_text(row: ToolRow) -> str:
    """Lines (or why it failed), time, exit code and tokens of a call, as one line of words.

    Of an output that is shown in part: its size, and the tokens of that part. A subagent's stand in its line.
    The time of another agent's call is not known, and 0.
    """
    if row.subagent_status is not None:
        return ""
    if row.state == "interrupted" and not row.answer_seq:
        return tr("output not saved")
    if row.state == "interrupted" and did_not_run(row.shown_lines.head):
        return tr("did not run")
    parts = list(filter(None, [_output_text(row)]))
    took_ms = row.answer.duration_ms
    if took_ms and row.answer.outcome != "denied":
        duration = format_duration(took_ms)
        was_cut_off = row.state == "interrupted"  # it ran on after its last output was saved
        parts.append(tr("at least {duration}", duration=duration) if was_cut_off else duration)
    if row.answer.exit_code:  # 0 is what "done" says
        parts.append(tr("exit code {code}", code=str(row.answer.exit_code)))
    if row.tokens:
        parts.append(_sent_text(row) if row.is_part else format_token_count(row.tokens))
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
    reason = denial_reason(model_text)
    rule = denying_rule(model_text)
    if reason:
        return tr("“{reason}”", reason=escape_invisible(ellipsize(" ".join(reason.split()), _REASON_CHARS)))
    if rule:
        return tr("by the rule {rule}", rule=escape_invisible(ellipsize(rule, _REASON_CHARS)))
    return tr("in plan mode") if model_text == REFUSED_IN_PLAN else ""


def _is_sent(row: ToolRow) -> bool:
    return row.badge in ("", "in_window", "pinned", "recalled")


def _sent_text(row: ToolRow) -> str:
    """Return how much of an output is sent, or was until a marker or a note came to stand for it."""
    tokens = format_token_count(row.tokens)
    if whole := row.answer.full_tokens:
        part = format_tokens(row.tokens)
        size = format_tokens(output_tokens(whole))
        tokens = tr("{part} of {whole} tokens", part=part, whole=size)
    if _is_sent(row):
        return tr("{tokens} in context", tokens=tokens)
    return tr("{tokens} while in context", tokens=tokens)
