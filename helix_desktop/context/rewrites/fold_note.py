"""Notes: the text of a folded stretch. Labelled as reference, in a form that nobody would take for a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.artifact_ledger import LEGEND, build_ledger
from helix_desktop.domain.call_target import tool_kind
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke

TITLE = "[Folded steps]"
_CHARS_PER_TOKEN = 3.5
_LEDGER_MESSAGES = 800  # newest messages that the ledger of a condensed note is made from: more than fill it
_MIN_CHARS, _MAX_CHARS = 60, 400  # characters of one message in a condensed note
_PATH_CAP, _COMMAND_CAP = 36, 48  # characters
_LARGE_BYTES = 4096  # bytes; the size of a smaller result says nothing
_KILO = 1024
_NOTE_LINE = re.compile(r"\s*(?:user:|did:|\[)", re.IGNORECASE)  # how a line of the note's own begins


def render_fold_note(items: Sequence[LogItem], index: str, entries: int) -> str:
    """The note of a fold: what was said verbatim, each call in a few words, the rest behind the index."""
    return "\n".join([_header("Earlier steps", index, entries), *_lines(items)])


def render_condensed_note(
    items: Sequence[LogItem], index: str, entries: int, agent_tokens: int, policy: ContextPolicy
) -> str:
    """The note that replaces older notes: the person's words, the beginnings of the agent's, a ledger.

    `words` bounds the agent's words in tokens, the policy the other two; the newest of each are kept.
    """
    said = [one for one in items if isinstance(one.event, AssistantSpoke) and one.event.text.strip()]
    room, user_room = int(agent_tokens * _CHARS_PER_TOKEN), policy.user_text_tokens
    cap = min(max(room // max(1, len(said)), _MIN_CHARS), _MAX_CHARS)
    kept: list[str] = []
    for item in reversed(items):
        match item.event:
            case UserSpoke(text=text, tokens=tokens) if min(tokens, policy.condense_message) <= user_room:
                user_room -= min(tokens, policy.condense_message)
                kept.append(
                    f"user: {_quote_lookalikes(_head_and_tail(text, tokens, policy.condense_message))}"
                )
            case AssistantSpoke(text=text) if text.strip() and room > 0:
                line = _one_line(text, cap)
                room -= len(line)
                kept.append(line)
            case _:
                pass
    ledger = build_ledger(items[-_LEDGER_MESSAGES:]).text(policy.ledger_tokens)
    parts = [_header("Earlier steps, in brief", index, entries), *reversed(kept)]
    return "\n".join([*parts, f"[Artifacts: {LEGEND}]", ledger] if ledger else parts)


def render_truncation_note(index: str, entries: int, messages: int) -> str:
    """The note that stands for messages that had to go without any words."""
    return _header(f"{messages} earlier messages, left out for want of room", index, entries)


def _header(what: str, index: str, entries: int) -> str:
    return f"{TITLE} {what}, for reference; {entries} outputs in {bare_marker(index)}"


def _lines(items: Iterable[LogItem]) -> list[str]:
    lines: list[str] = []
    done: list[tuple[str, str]] = []
    for item in items:
        said = ""
        match item.event:
            case UserSpoke(text=text):
                said = f"user: {_quote_lookalikes(text)}"
            case AssistantSpoke(text=text) if text.strip():
                said = _quote_lookalikes(text)
            case ToolAnswered() as answer:
                done.append((" ".join(answer.name.split()), _call_phrase(answer)))
            case _:
                pass
        if said:
            lines += _call_lines(done)
            done = []
            lines.append(said)
    return lines + _call_lines(done)


def _call_lines(calls: Sequence[tuple[str, str]]) -> list[str]:
    """One line for a run of calls; calls of one tool in a row share its name."""
    if not calls:
        return []
    parts: list[str] = []
    former = ""
    for name, phrase in calls:
        parts.append(f", {phrase}" if name == former else f"; {name} {phrase}".rstrip())
        former = name
    return ["did: " + "".join(parts).lstrip("; ")]


def _call_phrase(answer: ToolAnswered) -> str:
    target = " ".join(answer.target[:400].split())
    if tool_kind(answer.name) == "command":
        target = _truncate(target, _COMMAND_CAP)
    elif len(target) > _PATH_CAP:
        target = "…" + target[-(_PATH_CAP - 1) :]
    size = f" {answer.size // _KILO}K" if answer.size >= _LARGE_BYTES else ""
    failed = f" exit {answer.exit_code}" if answer.exit_code else "" if answer.ok else " failed"
    return f"{target}{size}{failed}".strip()


def _truncate(text: str, cap: int) -> str:
    return text if len(text) <= cap else text[: cap - 1] + "…"


def _one_line(text: str, cap: int) -> str:
    return _truncate(" ".join(_quote_lookalikes(text[: cap * 2]).split()), cap)


def _head_and_tail(text: str, tokens: int, cap: int) -> str:
    """A message, or head and tail of a longer one in about `cap` tokens; all of it stands in the index."""
    if tokens <= cap:
        return text
    room = max(40, len(text) * cap // tokens)
    return f"{text[: room * 3 // 4]} […] {text[-room // 4 :]}"


def _quote_lookalikes(text: str) -> str:
    """Words as they stand in a note; a line that looks like one of the note's own is marked as quoted."""
    lines = text.strip().splitlines(keepends=True)
    return "".join(f"| {line}" if _NOTE_LINE.match(line) else line for line in lines)
