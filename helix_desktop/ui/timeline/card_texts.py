"""What the timeline's cards, groups, points and phases are called; no Qt."""

from __future__ import annotations

from helix_desktop.domain.events.rewrite import Form
from helix_desktop.ui.timeline.card_data import (
    Attempt,
    FoldCard,
    FormCard,
    Group,
    HandoverCard,
    ManualActionCard,
    ObservationsCard,
    Phase,
    PlacedCard,
    PointKind,
    SweepCard,
    TimelineCard,
    UndoCard,
)
from helix_desktop.words.rewrite_explanations import STATE_WORDS
from helix_desktop.words.rewrites import masked_contents_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def card_title(card: TimelineCard) -> str:
    match card:
        case HandoverCard():
            title = card.title
        case FoldCard():
            title = fold_card_text(card)
        case ObservationsCard():
            title = _observations_title(card)
        case PlacedCard():
            title = tr("{messages} compacted", messages=card.messages or tr("Older messages"))
        case SweepCard():
            title = masked_contents_text(card.outputs, card.steps, card.image_messages)
        case UndoCard():
            title = _undo_title(card)
        case ManualActionCard():
            title = card.text
        case FormCard():
            title = _form_title(card)
        case _:
            title = translate(card.what)
    return title


def _undo_title(card: UndoCard) -> str:
    if card.kind == "undo":
        return tr("Undone: {title}", title=card.name)
    return tr("Redone: {title}", title=card.name)


def _form_title(card: FormCard) -> str:
    match card.form:
        case "full":
            return tr("Full output sent: {output}", output=card.output)
        case "preview" | "compact":
            return tr("Part of the output sent: {output}", output=card.output)


def send_form_text(form: Form) -> str:
    match form:
        case "full":
            return tr("Send full output")
        case "preview":
            return tr("Send preview")
        case "compact":
            return tr("Send extract…")


def chooser_text(card: FormCard) -> str:
    """Return who chose the form of a large output, and why it is not another one."""
    if card.has_failed and card.instructions:
        return tr("Preview instead of the requested extract")
    if card.has_failed and card.chooser == "rule":
        return tr("No choice was made")
    match card.chooser:
        case "rule":
            return tr("By the policy: over the size limit")
        case "agent":
            return tr("Chosen by the agent")
        case "timeout":
            return tr("Not chosen in time")
        case "user":
            return tr("Chosen by you")


def _observations_title(card: ObservationsCard) -> str:
    count = len(card.facts)
    if card.is_reflection:
        return tr.plural(
            count, "%n fact about older messages, merged", "%n facts about older messages, merged"
        )
    return tr.plural(count, "%n fact about older messages", "%n facts about older messages")


def fold_card_text(card: FoldCard) -> str:
    match card.kind:
        case "condense":
            return tr.plural(card.steps, "%n step compacted further", "%n steps compacted further")
        case "truncate":
            return tr("Context full: {messages} compacted", messages=card.messages)
    return tr.plural(card.steps, "%n step compacted", "%n steps compacted")


def running_text(what: Attempt) -> str:
    return tr("Compacting") if what == "handover" else tr("Writing down facts")


def phase_text(phase: Phase) -> str:
    match phase:
        case "read":
            return tr("Read", "phase of a compaction: the history is read")
        case "summarize":
            return tr("Write")
        case "check":
            return tr("Check")
        case "write":
            return tr("Save", "phase of a compaction: the handover is recorded")


def card_group_text(group: Group | None) -> str:
    """Return what the filter calls a kind of cards; None: all."""
    texts: dict[Group | None, str] = {
        None: tr("All"),
        "handovers": tr("Handovers"),
        "compacted": translate(STATE_WORDS["handed_over"].label),
        "cached": translate(STATE_WORDS["cached"].label),
        "yours": tr("Yours"),
    }
    return texts[group]


def explain_group(group: Group | None) -> str:
    """Return what the cards of a kind are about; empty where the name says it."""
    texts: dict[Group | None, str] = {
        "handovers": tr("Handovers, and those prepared for the next compaction."),
        "compacted": tr("Notes, facts and handovers that replaced older messages."),
        "cached": tr("Outputs and arguments that became markers, and large outputs sent in part."),
        "yours": tr("What you pinned, left out, undid, or sent to the agent in another form."),
    }
    return texts.get(group, "")


def point_kind_text(kind: PointKind) -> str:
    """Return what a point of the chart follows; empty for a step of the conversation."""
    texts: dict[PointKind, str] = {
        "sweep": tr("after outputs were cached"),
        "fold": tr("after steps were compacted"),
        "observations": tr("after messages were compacted as facts"),
        "handover": tr("after messages were compacted as a handover"),
        "form": tr("after you sent an output in another form"),
        "exclude": tr("after you left something out"),
        "undo": tr("after an undo"),
        "redo": tr("after a redo"),
        "failure": tr("after a failed attempt"),
    }
    return texts.get(kind, "")
