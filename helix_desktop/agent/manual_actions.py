"""Manual actions: what the user can see of one session's window, and change in it."""

from __future__ import annotations

from helix_desktop.agent.intake.output_forms import OutputForms
from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.session import Session
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.handover_draft import HandoverDraft
from helix_desktop.agent.window.manager import ContextManager
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.cost import BackgroundWork, CostEstimate, SpendReply
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.rewrite import Form, Pinned, Redone, Undone, Unpinned
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import ToolAnswered


class ManualActions:
    """The user's actions on the window of one session."""

    def __init__(
        self,
        session: Session,
        context_manager: ContextManager,
        compactor: Compactor,
        forms: OutputForms,
        settings: RunSettingsSource,
        model_choice: ModelChoice,
    ) -> None:
        self.session, self.model_choice = session, model_choice
        self._context_manager, self._compactor, self._forms, self._settings = (
            context_manager,
            compactor,
            forms,
            settings,
        )

    def measure(self) -> tuple[Window, UsageGauge]:
        """Return the window of the next request, and its usage."""
        return self._context_manager.measure()

    @property
    def policy(self) -> ContextPolicy:
        """The context policy, scaled to the model's window."""
        return self._settings()[0]

    def rows(self) -> tuple[WindowItem, ...]:
        """Return the items of the next request."""
        return self._context_manager.rows()

    @property
    def message_limit(self) -> int:
        """The tokens of the largest message that can ever be sent, by our count."""
        _, gauge = self.measure()
        fixed = sum(row.tokens for row in self.rows() if row.kind in ("system", "tools", "mcp"))
        return int((gauge.handover_threshold - gauge.reserve) / gauge.ratio) - fixed

    async def undo(self, seq: int) -> None:
        """Undo a sweep, fold, handover or placement of observations by recording a counter-event."""
        if self.session.transcript.can_undo(seq):
            await self.session.record(Undone(seq))

    async def redo(self, seq: int) -> None:
        """Redo what was undone."""
        if self.session.transcript.can_redo(seq):
            await self.session.record(Redone(seq))

    async def choose_form(self, seq: int, form: Form, instructions: str = "") -> None:
        """Show the output recorded as `seq` in a form; `instructions` say what a compact one must contain.

        Undone like any rewrite. Raises OutputFormUnavailable if it cannot have that form, StoreError if its
        bytes cannot be read, ModelError if no model wrote the extract, ModelNotChosen.
        """
        if form == "compact":
            self.model_choice.require()
        await self._forms.choose(seq, form, instructions)

    async def pin(self, seq: int) -> None:
        """Pin the output recorded as `seq`: no rewrite shortens it or removes it from the window."""
        item = self.session.transcript.item(seq)
        if item is not None and isinstance(item.event, ToolAnswered) and item.event.digest:
            await self.session.record(Pinned(seq))

    async def unpin(self, seq: int) -> None:
        """Unpin an output: rewrites may change it again."""
        if seq in self.session.transcript.rewrites.pinned:
            await self.session.record(Unpinned(seq))

    def handover_cuts(self) -> list[CutPoint]:
        """Return the legal cuts at which a handover is worthwhile now, the furthest first."""
        policy, _, _ = self._settings()
        _, gauge = self.measure()
        transcript = self.session.transcript
        available_cuts = cuts.available_cuts(
            transcript, int(gauge.window * policy.handover_keep / gauge.ratio)
        )
        return [cut for cut in available_cuts if planner.is_worthwhile(transcript, policy, gauge, cut)]

    def compact(self, focus: str = "") -> None:
        """Start a manual handover. Raises CompactionRefused if there is nothing to cover, ModelNotChosen."""
        self.model_choice.require()
        self._context_manager.compact(HandoverTrigger.MANUAL, self._cut(0), focus)

    async def draft_handover(self, focus: str = "", upto: int = 0) -> HandoverDraft:
        """Write a handover up to the cut at event `upto` (0: the furthest) without recording it.

        Progress is published as for a recorded handover. Raises CompactionRefused if there is nothing to
        cover, no legal cut at `upto`, or a handover is running; ModelNotChosen. Model failures are
        described in the draft.
        """
        self.model_choice.require()
        return await self._compactor.draft(self._cut(upto), focus)

    async def commit_handover(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft as it is, or with the user's own text of its six sections.

        Raises InvalidInput if the text cannot be parsed; CompactionRefused if the history changed since
        the draft was written, or if the window would not shrink enough.
        """
        await self._compactor.commit(draft, text)

    def _cut(self, upto: int) -> CutPoint:
        """Return the cut that ends at an event (0: the furthest). Raises CompactionRefused."""
        policy, _, _ = self._settings()
        _, gauge = self.measure()
        transcript = self.session.transcript
        available_cuts = cuts.available_cuts(
            transcript, int(gauge.window * policy.handover_keep / gauge.ratio)
        )
        if not available_cuts:
            raise CompactionRefused(
                "Nothing to compact yet.",
                "The newest complete turn always stays whole.",
                "Send another message first.",
            )
        cut = next((candidate for candidate in available_cuts if upto in {0, candidate.upto}), None)
        if cut is None:
            raise CompactionRefused(
                f"Can't compact up to e{upto}.",
                "A handover ends between finished steps, and the newest part stays.",
                "Choose another range.",
            )
        if not planner.is_worthwhile(transcript, policy, gauge, cut):
            raise CompactionRefused(  # before starting: a recorded refusal counts towards the breaker
                "Not enough to compact yet.",
                f"It would free less than {policy.handover_least_gain * 100:.0f} % of the context window.",
                "Compaction starts by itself when the context window fills.",
            )
        return cut

    def observe(self) -> None:
        """Start manual observations: distill what is older than the newest turn, and place the result.

        If everything is observed, refine the observations; if some are pending, place them. Raises
        CompactionRefused if there is nothing to observe, ModelNotChosen.
        """
        self.model_choice.require()
        self._context_manager.observe()

    def answer_spend_ask(self, work: BackgroundWork, answer: SpendReply) -> None:
        """Answer a spend request: run the background work with a model, without one, or not at all."""
        self._context_manager.answer_spend_ask(work, answer)

    async def estimate_handover(self, focus: str = "", upto: int = 0) -> CostEstimate:
        """Return the cost estimate of a draft up to event `upto` (0: furthest). Raises CompactionRefused."""
        return await self._compactor.estimate(self._cut(upto), focus)

    def cancel_observation(self) -> None:
        """Cancel the running observations; nothing changes."""
        self._context_manager.cancel_observation()

    def cancel_compaction(self) -> None:
        """Cancel the running handover; nothing changes."""
        self._context_manager.cancel_compaction()

    async def wait_for_background_work(self) -> None:
        """Wait for the running handover and observations, if any."""
        await self._context_manager.wait_for_background_work()
