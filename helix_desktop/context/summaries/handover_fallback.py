"""A handover without a model: six sections taken from the ledger and the messages themselves.

The last resort of the fallback chain. Every sentence is quoted or counted, and each bullet names its
sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import Ledger, build_ledger
from helix_desktop.domain.events.session import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.summary import SECTIONS, Bullet, HandoverMade, Section
from helix_desktop.domain.tool_call_target import tool_kind

_PER_SECTION = 8
_SENTENCE_CAP = 240
_PREFERS = re.compile(r"\b(always|never|prefer|please|don't|do not|must|only use|make sure)\b", re.IGNORECASE)
_DECIDES = re.compile(r"\b(decided|because|found|cause|fixed|turns out|the bug|root)\b", re.IGNORECASE)


def extractive_handover(items: Sequence[LogItem], previous: HandoverMade | None) -> tuple[Section, ...]:
    """Return the six sections for these messages, updating the previous handover's."""
    ledger = build_ledger(items)
    new = {
        "Project Background": _background(items),
        "Technical Details": _details(items),
        "Completed Work": _completed(ledger),
        "Current Issues": _issues(ledger),
        "TODO Items": _todo(items),
        "User Preferences": _preferences(items),
    }
    old = {section.title: section.bullets for section in previous.sections} if previous else {}
    replaced = {
        "TODO Items",
        "Current Issues",
    }  # an old TODO is done or is asked again; the rest accumulates
    return tuple(
        Section(title, _join(() if title in replaced else old.get(title, ()), new[title]))
        for title in SECTIONS
    )


def _join(old: Sequence[Bullet], new: Sequence[Bullet]) -> tuple[Bullet, ...]:
    by_text = {bullet.text: bullet for bullet in (*old, *new)}
    bullets = list(by_text.values())
    if len(bullets) <= _PER_SECTION:
        return tuple(bullets)
    return (*bullets[:2], *bullets[-(_PER_SECTION - 2) :])


def _background(items: Sequence[LogItem]) -> list[Bullet]:
    messages = [(item.seq, item.event.text) for item in items if isinstance(item.event, UserSpoke)]
    return [Bullet(f"The user asked: {_sentence(text)}", (seq,)) for seq, text in messages[:1]]


def _details(items: Sequence[LogItem]) -> list[Bullet]:
    return [
        Bullet(line, (item.seq,))
        for item in items
        if isinstance(item.event, AssistantSpoke)
        for line in _decision_lines(item.event.text)
    ][-_PER_SECTION:]


def _decision_lines(text: str) -> list[str]:
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text[:4000])
    return [_sentence(sentence) for sentence in sentences if _DECIDES.search(sentence)][:2]


def _completed(ledger: Ledger) -> list[Bullet]:
    changed = [use for use in ledger.files.values() if set(use.flags) & {"w", "e"}]
    passed = [run for run in ledger.commands.values() if run.exit_code == 0]
    bullets = [Bullet(f"Changed {use.path}", (use.seq,)) for use in changed]
    bullets += [Bullet(f"Ran `{_sentence(run.command)}`: exit 0", (run.seq,)) for run in passed]
    return bullets[-_PER_SECTION:]


def _issues(ledger: Ledger) -> list[Bullet]:
    failed = [run for run in ledger.commands.values() if run.exit_code not in (0, None)]
    bullets = [Bullet(f"`{_sentence(run.command)}` ended with {run.exit_code}", (run.seq,)) for run in failed]
    failures = [failure for failure in ledger.failures if tool_kind(failure.tool) != "command"][-3:]
    bullets += [
        Bullet(f"{failure.tool} {failure.target} failed: {failure.text}", (failure.seq,))
        for failure in failures
    ]
    return bullets[-_PER_SECTION:]


def _todo(items: Sequence[LogItem]) -> list[Bullet]:
    messages = [(item.seq, item.event.text) for item in items if isinstance(item.event, UserSpoke)]
    return [Bullet(f"Last request covered here: {_sentence(text)}", (seq,)) for seq, text in messages[-1:]]


def _preferences(items: Sequence[LogItem]) -> list[Bullet]:
    messages = [(item.seq, item.event.text) for item in items if isinstance(item.event, UserSpoke)]
    return [Bullet(_sentence(text), (seq,)) for seq, text in messages if _PREFERS.search(text)][
        -_PER_SECTION:
    ]


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SENTENCE_CAP else line[: _SENTENCE_CAP - 1] + "…"
