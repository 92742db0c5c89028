"""Notes: the text of a folded stretch. Labelled as reference, in a form that nobody would take for a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from helix_desktop.context.digest import handle
from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.layout import Item
from helix_desktop.context.ledger import LEGEND, ledger_of
from helix_desktop.context.policy import Policy
from helix_desktop.context.target import kind_of

TITLE = "[Folded steps]"
_CHARS_PER_TOKEN = 3.5
_LEDGER_MESSAGES = 800  # newest messages that the ledger of a condensed note is made from: more than fill it
_LEAST_WORDS, _MOST_WORDS = 60, 400  # characters of one message in a condensed note
_PATH_CAP, _COMMAND_CAP = 36, 48  # characters
_LARGE = 4096  # bytes; the size of a smaller result says nothing
_KILO = 1024
_OURS = re.compile(r"\s*(?:user:|did:|\[)", re.IGNORECASE)  # how a line of the note's own begins


def folded(items: Sequence[Item], index: str, entries: int) -> str:
    """The note of a fold: what was said verbatim, each call in a few words, the rest behind the index."""
    return "\n".join([_head("Earlier steps", index, entries), *_lines(items)])


def condensed(items: Sequence[Item], index: str, entries: int, words: int, policy: Policy) -> str:
    """The note that replaces older notes: the person's words, the beginnings of the agent's, a ledger.

    `words` bounds the agent's words in tokens, the policy the other two; the newest of each are kept.
    """
    said = [one for one in items if isinstance(one.event, AssistantSpoke) and one.event.text.strip()]
    room, user_room = int(words * _CHARS_PER_TOKEN), policy.user_text_tokens
    cap = min(max(room // max(1, len(said)), _LEAST_WORDS), _MOST_WORDS)
    kept: list[str] = []
    for item in reversed(items):
        match item.event:
            case UserSpoke(text=text, tokens=tokens) if min(tokens, policy.condense_message) <= user_room:
                user_room -= min(tokens, policy.condense_message)
                kept.append(f"user: {_plain(_ends(text, tokens, policy.condense_message))}")
            case AssistantSpoke(text=text) if text.strip() and room > 0:
                line = _short(text, cap)
                room -= len(line)
                kept.append(line)
            case _:
                pass
    ledger = ledger_of(items[-_LEDGER_MESSAGES:]).text(policy.ledger_tokens)
    parts = [_head("Earlier steps, in brief", index, entries), *reversed(kept)]
    return "\n".join([*parts, f"[Artifacts: {LEGEND}]", ledger] if ledger else parts)


def truncated(index: str, entries: int, messages: int) -> str:
    """The note that stands for messages that had to go without any words."""
    return _head(f"{messages} earlier messages, left out for want of room", index, entries)


def _head(what: str, index: str, entries: int) -> str:
    return f"{TITLE} {what}, for reference; {entries} outputs in {handle(index)}"


def _lines(items: Iterable[Item]) -> list[str]:
    lines: list[str] = []
    done: list[tuple[str, str]] = []
    for item in items:
        said = ""
        match item.event:
            case UserSpoke(text=text):
                said = f"user: {_plain(text)}"
            case AssistantSpoke(text=text) if text.strip():
                said = _plain(text)
            case ToolAnswered() as answer:
                done.append((" ".join(answer.name.split()), _phrase(answer)))
            case _:
                pass
        if said:
            lines += _did(done)
            done = []
            lines.append(said)
    return lines + _did(done)


def _did(done: Sequence[tuple[str, str]]) -> list[str]:
    """One line for a run of calls; calls of one tool in a row share its name."""
    if not done:
        return []
    parts: list[str] = []
    former = ""
    for name, phrase in done:
        parts.append(f", {phrase}" if name == former else f"; {name} {phrase}".rstrip())
        former = name
    return ["did: " + "".join(parts).lstrip("; ")]


def _phrase(answer: ToolAnswered) -> str:
    target = " ".join(answer.target[:400].split())
    if kind_of(answer.name) == "command":
        target = _head_of(target, _COMMAND_CAP)
    elif len(target) > _PATH_CAP:
        target = "…" + target[-(_PATH_CAP - 1) :]
    size = f" {answer.size // _KILO}K" if answer.size >= _LARGE else ""
    failed = f" exit {answer.exit_code}" if answer.exit_code else "" if answer.ok else " failed"
    return f"{target}{size}{failed}".strip()


def _head_of(text: str, cap: int) -> str:
    return text if len(text) <= cap else text[: cap - 1] + "…"


def _short(text: str, cap: int) -> str:
    return _head_of(" ".join(_plain(text[: cap * 2]).split()), cap)


def _ends(text: str, tokens: int, cap: int) -> str:
    """A message, or head and tail of a longer one in about `cap` tokens; all of it stands in the index."""
    if tokens <= cap:
        return text
    room = max(40, len(text) * cap // tokens)
    return f"{text[: room * 3 // 4]} […] {text[-room // 4 :]}"


def _plain(text: str) -> str:
    """Words as they stand in a note; a line that looks like one of the note's own is marked as quoted."""
    lines = text.strip().splitlines(keepends=True)
    return "".join(f"| {line}" if _OURS.match(line) else line for line in lines)
