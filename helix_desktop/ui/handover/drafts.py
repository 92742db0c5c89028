"""A draft of a handover as its window words it: purpose, sizes, warnings."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.agent.compaction.handover_writer import CountedPart, HandoverDraft, HandoverScope
from helix_desktop.context.summaries.handover import HandoverPartKind
from helix_desktop.context.summaries.handover_revision import editable_sections, fields_to_markdown, to_fields
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION
from helix_desktop.words.numbers import (
    format_token_change,
    format_token_count,
    format_tokens,
    format_whole_percent,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

_LITTLE_GAIN = 0.10  # of the context that a handover frees: below, the user is warned


class OpenDraft(msgspec.Struct, frozen=True):
    """A draft that the window holds: what it is for, and what the model would get of it as it was written.

    One made without a model has no `parts`.
    """

    draft: HandoverDraft
    scope: HandoverScope
    parts: tuple[CountedPart, ...] = ()

    @property
    def upto(self) -> int:
        return WHOLE_CONVERSATION if self.scope.is_whole else self.draft.range.upto

    @property
    def fields(self) -> dict[str, str]:
        return to_fields(editable_sections(self.draft.event))

    def text(self, fields: dict[str, str]) -> str:
        """Return its sections with the user's changes, if there are any."""
        return self.draft.text if fields == self.fields else fields_to_markdown(fields)


def sizes_as_sent(parts: Sequence[CountedPart]) -> str:
    """Return the tokens of what the model gets, and of its parts."""
    names: dict[HandoverPartKind, str] = {
        "sections": tr("sections"),
        "ledger": tr("files, commands and errors"),
        "missing": tr("what they leave out"),
        "user": tr("your messages"),
        "agent": tr("the agent's own words"),
        "quotes": tr("messages of the earlier session"),
    }
    tokens = dict.fromkeys(names.values(), 0) | {tr("introduction and index"): 0}
    for part, count in parts:
        tokens[names.get(part.kind, tr("introduction and index"))] += count
    sizes = ", ".join(f"{name} {format_tokens(count)}" for name, count in tokens.items() if count)
    return tr("{tokens}: {parts}", tokens=format_token_count(sum(tokens.values())), parts=sizes)


def sweep_note(tokens: int) -> str:
    """Return how much of what a handover frees is cached along with it; empty for nothing."""
    if not tokens:
        return ""
    return tr(
        "Of what this frees, {tokens} are older outputs, cached along with it.",
        tokens=format_token_count(tokens),
    )


def draft_warnings(opened: OpenDraft) -> list[str]:
    """Return why a draft may not be worth it: it frees little, or nothing, or may say too little."""
    event = opened.draft.event
    warnings = list[str]()
    freed = event.before - event.after
    tokens = format_token_count(abs(freed))
    if opened.scope.is_whole or freed >= max(1, event.before * _LITTLE_GAIN):
        pass
    elif freed == 0:
        warnings.append(tr("It frees nothing."))
    elif freed < 0:
        warnings.append(tr("It would make the context {tokens} larger.", tokens=tokens))
    else:
        share = format_whole_percent(freed / event.before)
        words = tr("It frees only {tokens}, {share} of the context.", tokens=tokens, share=share)
        warnings.append(words)
    if opened.draft.doubt:
        use = tr("Edit it, write it again, or use it as it is: everything it covers can be recalled.")
        why = translate(opened.draft.doubt)
        warnings.append(translate(join_sentences(tr("This draft may say too little."), why, use)))
    return warnings


def purpose_text(opened: OpenDraft, former_title: str, messages: str) -> str:
    """Return what becomes of a draft: for a new session, in place of `former_title`, or of `messages`."""
    scope = opened.scope
    event = opened.draft.event
    if scope.is_whole:
        return tr("A new session starts with this handover summary and can recall everything it covers.")
    if scope.rerun_seq:
        return tr(
            "“{title}” is written again from the original messages. The current text stays in the log, "
            "and undo restores it.",
            title=former_title,
        )
    return tr(
        "Replaces {messages}. Context: {tokens}. You can undo this.",
        messages=messages,
        tokens=format_token_change(event.before, event.after),
    )


def use_text(scope: HandoverScope) -> str:
    if scope.is_whole:
        return tr("Start new session")
    return tr("Replace") if scope.rerun_seq else tr("Compact")
