"""The window of the handovers in its stages, over a session with an edited and an undone one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeAlias, cast

from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.compaction.handover_writer import (
    OLDER_MESSAGES,
    CountedPart,
    HandoverDraft,
    HandoverScope,
)
from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.summaries.handover import HandoverPart
from helix_desktop.context.summaries.handover_revision import to_markdown
from helix_desktop.context.summaries.legal_ranges import legal_ranges
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.summary import NO_MODEL, Bullet, HandoverMade, Section, SummaryCoverage
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.handover.drafts import OpenDraft
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION, RangeItem
from helix_desktop.ui.handover.versions import DRAFT
from helix_desktop.ui.handover.window import HandoverWindow
from tests.support.histories import build_history

Stage: TypeAlias = Literal[
    "now", "writing", "draft", "draft for a new session", "draft again", "edited", "replaced", "undone"
]
STAGES: tuple[Stage, ...] = (
    "now", "writing", "draft", "draft for a new session", "draft again", "edited", "replaced", "undone",
)  # fmt: skip

_FIRST = (
    Section("Project Background", (Bullet("The chat renders Markdown while it streams.", (4,)),)),
    Section(
        "Technical Details",
        (
            Bullet("`stream.py` parses the whole message again for every token: 18 ms at 40 KB.", (12, 14)),
            Bullet("The cache key is the block's SHA-256, `9f3a1c04`, in /home/mara/code/helix/" + "x" * 90),
            Bullet("Tests run with pytest -q -n 3.", (14,)),
        ),
    ),
    Section("Current Issues", (Bullet("Scrolling stalls in messages above 300 KB.", (16,)),)),
)
_SECOND = (
    Section("Project Background", (Bullet("The chat renders Markdown while it streams.", (4,)),)),
    Section(
        "Technical Details",
        (Bullet("`stream.py` parses the whole message again for every block: 2 ms at 40 KB.", (12, 16)),),
    ),
    Section("Completed Work", (Bullet("Scrolling stalls in messages above 300 KB.", (16,)),)),
    Section("TODO Items", (Bullet("Measure the renderer with images.", (18,)),)),
)
RULE = Bullet("Never push to main without a review.", (7,))
_MISSING = (SummaryCoverage("instructions", 2, 3, (RULE,)),)


class _Ended:
    """A task that has come to its end."""

    def add_done_callback(self, callback: Callable[[_Ended], object]) -> None:
        callback(self)

    def cancel(self) -> None: ...


class _IdleScope(TaskScope):
    """Starts nothing: what the window shows stays as it is."""

    def start(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        coroutine.close()
        return cast("asyncio.Task[Any]", _Ended())


class SampleConversation:
    """What the window reads of a conversation: the events on record, and the tokens of a handover."""

    def __init__(self) -> None:
        simulator = build_history(9)
        first = simulator.handover_at(legal_ranges(simulator.transcript, 0)[0])
        first = replace(first, sections=_FIRST, tokens=1_900, model="local/gpt-oss:20b", duration_ms=13_400)
        (made,) = simulator.record(first)
        edited = replace(
            first, sections=_SECOND, edited=True, revises=made.seq, former=made.seq, coverage=_MISSING
        )
        (self.revised, self.undone) = simulator.record(edited, replace(edited, revises=0, former=0))
        simulator.record(Undone(self.undone.seq))
        self.first = made
        self.event = first
        self.simulator = simulator
        self.transcript = simulator.transcript
        self.log = simulator.log
        self.policy = simulator.policy
        self.session = self.handovers = self.writer = self.revisions = self

    @staticmethod
    def tokens_as_sent(handover: HandoverMade) -> int:
        return handover.tokens + 212


def sample_draft(
    event: HandoverMade, sections: tuple[Section, ...] = _SECOND, doubt: str = ""
) -> tuple[HandoverDraft, list[CountedPart]]:
    event = replace(
        event, sections=sections, before=104_200, after=31_400, coverage=_MISSING, focus="",
        fallback="The summary model's window is too small; the live model was asked.",
    )  # fmt: skip
    text = to_markdown(sections)
    (cut,) = legal_ranges(build_history(9).transcript, 0)[:1]
    parts = [
        CountedPart(HandoverPart("sections", text), 330),
        CountedPart(HandoverPart("ledger", "rwe src/helix/stream.py 9f3ac21e e31\n$ pytest -q (exit 0)"), 70),
    ]
    draft = HandoverDraft(
        replace(cut, upto=event.upto), text, event, verbatim(doubt) if doubt else "", 31_400
    )
    return draft, parts


def handover_window(
    parent: QWidget, stage: Stage, words: Callable[[str], str] = str, sample: SampleConversation | None = None
) -> HandoverWindow:
    """Return the window at a stage; `words` changes the texts that come with the sample."""
    sample = sample or SampleConversation()

    actions = AsyncActions(_IdleScope(), lambda _: None)
    window = HandoverWindow(parent, cast("Conversation", sample), actions)
    window.ranges.show_ranges(0, _ranges(sample.event.upto, words))
    window.ranges.price.setText(words("gpt-oss:20b would read ≈ 9.1k tokens · price unknown"))
    active = sample.revised.seq
    match stage:
        case "edited" | "undone" | "replaced":
            window.choose(
                {"edited": active, "undone": sample.undone.seq, "replaced": sample.first.seq}[stage]
            )
        case "writing":
            window.write()
            window.show_phase("summarize", to_markdown(_SECOND))
        case "draft" | "draft for a new session" | "draft again":
            draft, parts = sample_draft(sample.event, doubt=words("It is shorter than expected."))
            scope = HandoverScope(active if stage.endswith("again") else 0, stage.endswith("session"))
            window.ranges.show_ranges(scope.rerun_seq, _ranges(sample.event.upto, words))
            window.show_draft(draft, parts, scope)
            window.choose(DRAFT)
        case _:
            draft, _ = sample_draft(replace(sample.event, model=NO_MODEL, duration_ms=0), _FIRST)
            window.show_preview(OpenDraft(draft, OLDER_MESSAGES))
    if stage in ("draft again", "edited"):
        window.fields[0].editor.appendPlainText("- A sentence more.")
        what = words("The edited handover summary can't be read.")
        why = words("It is empty.")
        window.show_error(InvalidInput(verbatim(what), verbatim(why)))
    return window


def _ranges(upto: int, words: Callable[[str], str]) -> list[RangeItem]:
    text = words("As far as possible · 46 messages")
    return [RangeItem(upto, text), RangeItem(3, text), RangeItem(WHOLE_CONVERSATION, text)]
