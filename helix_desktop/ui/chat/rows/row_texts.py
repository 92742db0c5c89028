"""The words of rows: states and forms, what is copied and searched, and what screen readers say."""

from __future__ import annotations

from helix_desktop.agent.session import did_not_run
from helix_desktop.context.window.window_breakdown import MessageState
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.tools import Excerpt
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
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
from helix_desktop.ui.design.safe_text import escape_command, escape_invisible
from helix_desktop.words.call_targets import call_verb, recall_target
from helix_desktop.words.numbers import format_integer, format_tokens
from helix_desktop.words.rewrite_explanations import STATE_WORDS, changed_since
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
FORM_TEXTS: dict[Form, TranslatableText] = {
    "preview": text("In part", "form of an output"),
    "compact": text("In part", "form of an output"),
}


def context_note(state: MessageState) -> str:
    """Return how a message left the context; empty while its words are sent, cached arguments or not."""
    if state in ("in_window", "pinned", "cached"):
        return ""
    return translate(STATE_WORDS[state].label)


def badge_text(badge: Badge) -> str:
    """Return where an output is now, in a word or two; empty when nothing is cached."""
    match badge:
        case "":
            return ""
        case "recalled":
            return tr("Recalled", "state of an output")
        case "pinned":
            return tr("Pinned", "state of an output")
    return translate(STATE_WORDS[badge].label)


def excerpt_title(excerpt: Excerpt) -> str:
    """Return what heads an excerpt: the agent's caption, if it gave one."""
    return excerpt.caption or tr("Shown by the agent")


def excerpt_source(excerpt: Excerpt) -> str:
    """Return where an excerpt comes from: tool, target, and its lines if they are not all."""
    name = " ".join(f"{display_name(excerpt.tool)} {excerpt.target}".split())
    if excerpt.image is not None or excerpt.lines == excerpt.total_lines:
        return name
    before = excerpt.lines_before
    first = format_integer(max(excerpt.start_line + before, 1))
    last = format_integer(excerpt.end_line + before)
    return tr("{output}, lines {first}–{last}", output=name, first=first, last=last)


def divider_text(row: DividerRow) -> str:
    return f"{row.text} · {tr('undone')}" if row.is_undone else row.text


def bar_texts(row: ToolRow) -> tuple[str, ...]:
    """Return the words of a call's bar: what it did, and to what unless the opened card repeats that."""
    if row.excerpt is not None or (row.question is not None and row.answer_seq):
        return ()  # cards without such a bar
    is_repeated = row.command is not None or (bool(row.subagent_session) and row.can_open)
    return (call_words(row), *(() if is_repeated else (bar_target(row),)))


def call_words(row: ToolRow) -> str:
    """Return what a call does, is doing or did: "Ran"; of another program's tool its name."""
    if row.state in ("waiting", "approval", "question", "denied") or (
        row.state == "interrupted" and did_not_run(row.head)
    ):
        return call_verb(row.tool, "to_do")
    return call_verb(row.tool, "running" if row.state == "running" else "done")


def bar_target(row: ToolRow) -> str:
    escape = escape_command if row.tool == "run_command" else escape_invisible
    return escape(recall_target(row.tool, row.target).replace("\n", " ↵ "))


def text_of_row(row: Row) -> str:
    """Return all words of a row as one text: what find searches and what a copied message contains."""
    match row:
        case UserRow() | AssistantRow():
            return row.text
        case ToolRow():
            return _tool_source(row)
        case ApprovalRow() | QuestionRow():
            return _ask_source(row)
        case DividerRow():
            return _join_lines(divider_text(row), *row.details)
        case NoticeRow():
            return _join_lines(row.what, row.why, row.fix, row.details)
        case TurnFooterRow():
            return ""


def _ask_source(row: AskRow) -> str:
    if isinstance(row, ApprovalRow) and row.kind == "command":
        return _join_lines(row.detail, row.effect or row.summary, *map(translate, row.offers))
    if isinstance(row, ApprovalRow):
        return _join_lines(row.summary, row.description, row.detail, *map(translate, row.offers))
    options = (": ".join(filter(None, (option.label, option.description))) for option in row.question.options)
    return _join_lines(row.question.text, *options)


def reply_state_text(row: ToolRow) -> str:
    if row.reply is None:
        return tr("no user there") if row.state == "ok" else tr("not answered")
    return tr("skipped", "a question") if row.reply.is_skip else tr("answered", "a question")


def _tool_source(row: ToolRow) -> str:
    if row.question is not None and row.reply is not None:
        return _join_lines(row.question.text, *row.reply.options, row.reply.text)
    if row.excerpt is not None:
        content = row.excerpt_content.text if row.excerpt_content is not None else ""
        return _join_lines(row.excerpt.caption, excerpt_source(row.excerpt), content)
    lines = row.original.head_and_tail if row.original is not None else row.shown_lines
    changed = row.changed_files.text if row.changed_files is not None else ""
    target = row.command.text if row.command is not None else row.target
    return _join_lines(f"{call_words(row)} {target}".strip(), changed, lines.head, lines.tail)


def accessible_name(row: Row) -> str:
    match row:
        case UserRow():
            return _user_name(row)
        case AssistantRow():
            return _assistant_name(row)
        case ToolRow():
            return _tool_name(row)
        case ApprovalRow() | QuestionRow():
            return _ask_name(row)
        case DividerRow():
            return tr("Divider: {text}", text=divider_text(row))
        case NoticeRow() | TurnFooterRow():
            return _notice_name(row) if isinstance(row, NoticeRow) else tr("Answer finished")


def _user_name(row: UserRow) -> str:
    if row.is_side:
        return tr("You, side question")
    return tr("You, during the turn") if row.steered else tr("You")


def _assistant_name(row: AssistantRow) -> str:
    model = row.model or tr("Assistant")
    if note := row.side_note or row.context_note:
        model = tr("{model}, {note}", "a side answer", model=model, note=note)
    if row.waiting_since_ms:
        return tr("{model}, not answering yet", model=model)
    return tr("{model}, writing", model=model) if row.streaming else model


def output_form_text(row: ToolRow) -> str:
    """Return the form of an output that is shown in part; of a missing extract also what was spent on it."""
    if not row.has_no_extract:
        return translate(FORM_TEXTS[row.form])
    if not row.form_tokens:
        return tr("In part, no extract")
    return tr("In part, no extract · {tokens} tokens spent", tokens=format_tokens(row.form_tokens))


def removed_state_text() -> str:
    """Return what is said of an output that the user removed as a secret, in a few words."""
    return tr("removed as a secret", "state of an output")


def _tool_summary(row: ToolRow) -> list[str]:
    words = [translate(STATE_TEXTS[row.state])]
    if row.form != "full":
        words.append(output_form_text(row))
    if row.arguments_cached:
        words.append(tr("arguments cached"))
    if row.changed_since:
        words.append(changed_since(row.changed_since))
    if row.subagent_status is not None:
        words.append(tr("subagent: {state}", state=row.subagent_status.phase_text))
    if row.removed_at_ms:
        return [*words, removed_state_text()]
    return [*words, badge_text(row.badge)] if row.badge else words


def _tool_name(row: ToolRow) -> str:
    if row.excerpt is not None:
        title, source = excerpt_title(row.excerpt), excerpt_source(row.excerpt)
        return tr("{title}: {output}", "an output that the agent shows", title=title, output=source)
    if row.question is not None and row.answer_seq:
        state = reply_state_text(row)
        return tr("Question, {state}: {question}", state=state, question=row.question.text)
    call = f"{call_words(row)} {row.target}".strip()
    return tr("Tool {call}: {states}", call=call, states=tuple(_tool_summary(row)))


def _ask_name(row: AskRow) -> str:
    if isinstance(row, QuestionRow):
        return _question_name(row)
    subagent, call = row.requester, row.summary
    if subagent and row.is_sandboxed:
        return tr("Approval needed by subagent {subagent}, sandboxed: {call}", subagent=subagent, call=call)
    if subagent:
        return tr("Approval needed by subagent {subagent}: {call}", subagent=subagent, call=call)
    if row.is_sandboxed:
        return tr("Approval needed, sandboxed: {call}", call=call)
    return tr("Approval needed: {call}", call=call)


def _question_name(row: QuestionRow) -> str:
    subagent, question = row.question.subagent_title, row.question.text
    if subagent:
        return tr("Question of subagent {subagent}: {question}", subagent=subagent, question=question)
    return tr("Question: {question}", question=question)


def _notice_name(row: NoticeRow) -> str:
    match row.level:
        case "error":
            return tr("Error: {text}", text=row.what)
        case "warning":
            return tr("Warning: {text}", text=row.what)
        case "handover":
            return row.what
        case "info":
            return tr("Information: {text}", text=row.what)


def _join_lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
