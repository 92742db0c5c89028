"""The text of the note that replaces old steps: made without a model, from what was said and called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from helix_desktop.context.intake.descriptions import find_error
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.file_notes import revert_lines
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.mode_notes import newest_mode_note
from helix_desktop.context.log.window_layout import (
    LogItem,
)
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.artifact_ledger import (
    build_ledger,
    described_result,
    legend_of,
    short_command,
    short_text,
)
from helix_desktop.context.summaries.handover import (
    QuotedBlocks,
    RepeatedBlock,
    quoted_tokens,
)
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.files.file_use import is_symbol_lookup, is_test_command, tool_kind
from helix_desktop.domain.secret_forms import has_form_of_secret
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.todo import NO_LIST, TodoList
from helix_desktop.domain.typed_text import TASK_NOTIFICATION, program_texts, typed_text
from helix_desktop.domain.unicode_safety import without_direction_signs

# As measured on 2,399 folds of recorded sessions, in Balanced and Lean together.
TITLE = "[Summary of older steps]"
_CHARS_PER_TOKEN = 3.5
_LEDGER_MESSAGES = 800  # newest messages that the ledger of a condensed note is made from: more than fill it
# Characters of one message in a condensed note.
_MIN_CHARS = 60
_MAX_CHARS = 400
_TARGET_CAP = 160  # characters of a target
_COMMAND_CAP = 80  # characters of a command
_READ_CHARS = 400  # characters that are read of either
_SHORT_RESULT = 100  # characters
_RESULT = " → "
_LARGE_BYTES = 4096  # bytes; the size of a smaller result says nothing
_KILO = 1024
_REMEMBERED_TARGETS = 2_048  # of calls: made when the answer comes, for its names, and again for its note
_RESULT_END = re.compile(r"[→;“”]|, ")  # what separates a result from the next call, and what quotes it
_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"'})
_NOTE_LINE = re.compile(
    r"\s*(?:(?:user|agent|program)(?: e\d+)?:|e\d+(?: user| agent)?:|did(?: e\d+(?:-e\d+)?)?:|todo list \("
    r"|\[[\W_]*(?:user|did|folded|names|cached|artifacts|helix|observations|conversation|summary|paths"
    r"|pinned|recalled|where to recall|attached|pasted|image|extract|project|instructions|environment|mode"
    r"|the user|system|tool|assistant))",
    re.IGNORECASE,
)
"""How a line of the note's own begins, or another of the program's or of who speaks."""


class _Call(NamedTuple):
    """A call in a note: its output's entry, the tool, a few words; and True if these leave something out."""

    seq: int
    tool: str
    phrase: str
    has_more: bool


def render_fold_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    digits: int = HEX_DIGITS,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return a fold's note: messages verbatim, each call in a few words, the rest through the index.

    Of the present `todo_list`, if it is in one of the messages, what is left to do stands at the end.
    """
    lines = [*note_lines(items), *_todo_lines(todo_list), *_mode_lines(items)]
    return "\n".join([_header("Earlier steps", index, entries, digits, items), *lines])


def render_condensed_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    agent_tokens: int,
    user_tokens: int,
    policy: ContextPolicy,
    user_words: Sequence[LogItem] = (),
    todo_list: TodoList = NO_LIST,
    reverts: Mapping[str, FileRevert] = MappingProxyType({}),
    later: Sequence[LogItem] = (),
) -> str:
    """Return the note that replaces older notes: user messages, what the agent's name, and a ledger.

    `agent_tokens` bounds the agent's text, the policy the other two; the newest of each are kept. The user's
    messages stay whole up to `user_tokens` together, a long block of lines once; beyond them each keeps its
    beginning and its end, up to half as many more. `user_words` are the items with words of the user; without
    it they are looked for among all, of the whole session. The present `todo_list` stands behind them, as in
    a fold's note. What is cut has the number of its entry. `reverts` are the user's of what the agent changed
    in files, by path: the ledger says it of them. What failed and went well in `later` messages is left out.
    """
    lines = _agent_lines(items, int(agent_tokens * _CHARS_PER_TOKEN))
    lines |= _words_of_user(user_words or items, user_tokens, policy.condense_message)
    facts = build_ledger(items[-_LEDGER_MESSAGES:])
    facts.mark_reverted(reverts)
    facts.leave_out_mended(later)
    ledger = facts.text(policy.ledger_tokens)
    header = _header("Earlier steps, in brief", index, entries, policy.handle_digits, items)
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words or items)]
    parts = [header, *(line for _, line in sorted(lines.items())), *ends]
    return "\n".join([*parts, f"[Artifacts: {legend_of(ledger)}]", ledger] if ledger else parts)


def _todo_lines(todo_list: TodoList) -> list[str]:
    return todo_list.open_lines if todo_list.is_open else []


def _mode_lines(items: Sequence[LogItem]) -> list[str]:
    note = newest_mode_note(items)
    return [note] if note else []


def _words_of_user(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    """Return what the user wrote and replied to questions, in lines by their seqs."""
    lines = _user_lines(items, user_tokens, cut_tokens)
    for item in items:
        if isinstance(item.event, ToolAnswered) and (decision := user_decision(item.event)) is not None:
            lines[item.seq] = _reply_line(item.event, decision)
    return lines


def _user_lines(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    lines: dict[int, str] = {}
    blocks = QuotedBlocks()
    left = user_tokens
    for item in reversed(items):
        if not isinstance(item.event, UserSpoke):
            continue
        if left <= -user_tokens // 2:
            break
        tasks = _task_lines(item.event.text)
        left -= int(len("".join(tasks)) / _CHARS_PER_TOKEN)
        if tasks:
            lines[item.seq] = "\n".join(tasks)
        text = typed_text(item.event.text)
        if item.event.text.strip() and not text.strip():
            continue
        parts = blocks.split(text)
        tokens = quoted_tokens(parts, item.word_tokens)
        cap = tokens if tokens <= left else cut_tokens
        left -= min(tokens, cap)
        by = "user" if tokens <= cap else f"user e{item.seq}"
        words = f"{by}: {_head_and_tail(_quoted_parts(parts), tokens, cap)}"
        lines[item.seq] = "\n".join([words, *tasks])
        if tokens <= cap:
            blocks.add(item.seq, parts)
    return lines


def _quoted_parts(parts: Sequence[str | RepeatedBlock]) -> str:
    """Return a message of the user, each of its repeats as a line of the note's own."""
    texts = (part.mark if isinstance(part, RepeatedBlock) else _quote_lookalikes(part) for part in parts)
    return "\n".join(filter(None, texts))


def render_truncation_note(
    index: str,
    entries: int,
    messages: int,
    digits: int = HEX_DIGITS,
    user_words: Sequence[LogItem] = (),
    user_tokens: int = 0,
    cut_tokens: int = 0,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return the note that replaces messages for want of room: the user's own words and what is to do stay.

    The words are bounded by `user_tokens` as in a condensed note; a longer message keeps `cut_tokens`.
    """
    header = _header(
        f"{pluralize(messages, 'earlier message')}, left out for want of room", index, entries, digits
    )
    lines = _words_of_user(user_words, user_tokens, cut_tokens) if user_tokens else {}
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words)]
    return "\n".join([header, *(line for _, line in sorted(lines.items())), *ends])


def _header(what: str, index: str, entries: int, digits: int, items: Sequence[LogItem] = ()) -> str:
    """Return the first line of a note: what it stands for, and which entries its index covers."""
    covers = f", covers entries e{items[0].seq}-e{items[-1].seq}" if items else ""
    outputs = pluralize(entries, "output")
    return f"{TITLE} {what}, for reference; {outputs} in {bare_marker(index, digits)}{covers}"


def note_lines(items: Iterable[LogItem]) -> list[str]:
    """Return the lines of a fold's note, but for its header.

    What follows calls is said by who made them, unless it ends the turn: it may follow a result.
    """
    lines: list[str] = []
    done: list[_Call] = []
    paths: set[str] = set()
    for item in items:
        text_line = ""
        match item.event:
            case UserSpoke(text=text, note=note):
                text_line = "\n".join([*revert_lines(note), *_message_lines(text)])
            case AssistantSpoke(text=text, calls=calls) if text.strip():
                is_after_calls = done or (lines and lines[-1].startswith("did"))
                by = "" if calls and is_after_calls else "agent: "
                text_line = f"{by}{_quote_lookalikes(text)}"
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                text_line = _reply_line(output, decision)
            case ToolAnswered() as output:
                phrase = _call_phrase(output, paths)
                done.append(_Call(item.seq, " ".join(output.name.split()), phrase, _has_more(output, phrase)))
            case _:
                pass
        if text_line:
            lines += _call_lines(done)
            done = []
            lines.append(text_line)
    return lines + _call_lines(done)


def _task_lines(text: str) -> list[str]:
    """Return what tasks in the background came to, as programs put it into a message: a line for each."""
    tasks = (program for program in program_texts(text) if program.kind == TASK_NOTIFICATION)
    return [f"program: {_quote_lookalikes(task.line)}" for task in tasks]


def _message_lines(text: str) -> list[str]:
    """Return what a note says of a user's message: the user's words, and a line for each program's text."""
    programs = [f"program: {_quote_lookalikes(each.line)}" for each in program_texts(text)]
    words = typed_text(text)
    return [f"user: {_quote_lookalikes(words)}", *programs] if words or not programs else programs


def _reply_line(output: ToolAnswered, decision: str) -> str:
    """Return a question and the user's reply: what the user decided stays, as their messages do."""
    return f"user: {decision or f'{ellipsize(output.target, _TARGET_CAP)} – skipped'}"


def _call_lines(calls: Sequence[_Call]) -> list[str]:
    """Return one line for a run of calls; consecutive calls of one tool share its name.

    Each has its entry, to recall that output alone, unless the line says all there is to recall.
    """
    if not calls:
        return []
    parts: list[str] = []
    previous = ""
    for call in calls:
        phrase = f"e{call.seq} {call.phrase}".rstrip() if call.has_more else call.phrase
        parts.append(f", {phrase}" if call.tool == previous else f"; {call.tool} {phrase}".rstrip())
        previous = call.tool
    return [f"did: {''.join(parts).lstrip('; ')}"]


def _has_more(output: ToolAnswered, phrase: str) -> bool:
    """Return True if a call's output says more than the note: it is large, or its result is not there."""
    is_change = output.ok and tool_kind(output.name) in ("write", "edit")
    has_result = _RESULT in phrase.removeprefix(target_in_note(output))
    return bool(output.digest) and (output.size >= _LARGE_BYTES or not (is_change or has_result))


def target_in_note(output: ToolAnswered) -> str:
    """Return what a note says of what a call was about, where it says most."""
    return _target_in_note(output.target, output.name)


@lru_cache(maxsize=_REMEMBERED_TARGETS)
def _target_in_note(target: str, tool: str) -> str:
    if tool_kind(tool) == "command":
        return short_command(target[:_READ_CHARS], _COMMAND_CAP)
    return ellipsize(" ".join(target[:_READ_CHARS].split()), _TARGET_CAP)


def _call_phrase(output: ToolAnswered, paths: set[str]) -> str:
    """Return a call in a few words: a path stands whole the first time, then by its last part."""
    target = target_in_note(output)
    if target in paths and " " not in target:
        target = target.rstrip("/").rpartition("/")[2]
    elif tool_kind(output.name) != "command":
        paths.add(target)
    size = f" {output.size // _KILO}K" if output.size >= _LARGE_BYTES else ""
    failed = "" if output.ok else " failed"
    if output.exit_code:
        failed = f" exit {output.exit_code}"
    return f"{target}{size}{failed}{_short_result(output)}".strip()


def _short_result(output: ToolAnswered) -> str:
    """Return what a call gave in a few words, a test's last informative line, or how much a lookup found.

    Of a change of a file only an error says something. What looks like a secret stays in its output alone,
    which the user can have forgotten.
    """
    source = output.text
    result = short_text(output.text, _SHORT_RESULT) if output.text.strip() else "nothing"
    result = result if output.size < _LARGE_BYTES else ""  # of a large one the text is a part
    if tool_kind(output.name) in ("write", "edit") and find_error(result) is None:
        return ""
    if not result and _has_result_in_description(output):
        about = without_direction_signs(output.about)
        source = about
        result = ellipsize(described_result(about, output.exit_code), _SHORT_RESULT)
    return f"{_RESULT}{_quote_result(result)}" if result and not _has_secret(source) else ""


def _has_result_in_description(output: ToolAnswered) -> bool:
    """Return True if the description of an output is its result: of tests, a symbol, or a recall."""
    is_test = tool_kind(output.name) == "command" and is_test_command(output.target)
    return is_test or is_symbol_lookup(output.name) or bool(output.recalled)


# Asked when the answer comes, and again for its note.
_has_secret = lru_cache(maxsize=_REMEMBERED_TARGETS)(has_form_of_secret)


def _quote_result(result: str) -> str:
    """Return a result in quotes if something in it could pass for its end and the next call."""
    if _RESULT_END.search(result) is None:
        return result
    return f"“{result.translate(_PLAIN_QUOTES)}”"


def _agent_lines(items: Sequence[LogItem], max_chars: int) -> dict[int, str]:
    """Return what a condensed note says of the agent's messages, by their seqs: the beginning of each.

    Together they take the characters of an even share for each. First come those that ended their turns, of
    both the newest. One that is cut has its entry.
    """
    said = [
        (item.seq, bool(item.event.calls), " ".join(item.event.text.split()))
        for item in reversed(items)
        if isinstance(item.event, AssistantSpoke) and item.event.text.strip()
    ]
    newest = [
        len(text) for _, _, text in said[: max_chars // _MIN_CHARS + 1]
    ]  # more would have less than that
    even = min(max(max_chars // max(1, len(newest)), _MIN_CHARS), _MAX_CHARS)
    max_chars = min(max_chars, sum(min(size, even) for size in newest))
    lines: dict[int, str] = {}
    for seq, _, text in sorted(said, key=itemgetter(1)):
        room = min(max_chars, _MAX_CHARS)
        if room < min(_MIN_CHARS, len(text)):
            break
        line = _quote_lookalikes(cut_between_words(text, room))
        lines[seq] = f"{f'agent e{seq}' if len(text) > room else 'agent'}: {line}"
        max_chars -= len(line)
    return lines


def _head_and_tail(text: str, tokens: int, cap: int) -> str:
    """Return a message, or head and tail of a longer one in about `cap` tokens; the index has all of it."""
    if tokens <= cap:
        return text
    chars = max(40, len(text) * cap // tokens)
    return f"{text[: chars * 3 // 4]} […] {text[-chars // 4 :]}"


def _quote_lookalikes(text: str) -> str:
    """Return text for a note, with lines that look like the note's own marked as quoted."""
    lines = text.strip().splitlines(keepends=True)
    return "".join(f"| {line}" if _NOTE_LINE.match(line) else line for line in lines)
