"""By hand: what a person can see of one session's window, and do to it."""

from __future__ import annotations

from helix_desktop.agent.intake.output_forms import OutputForms
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
from helix_desktop.domain.errors import CompactionRefused, ModelNotChosen
from helix_desktop.domain.events.rewrite import Form, Pinned, Redone, Undone, Unpinned
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import ToolAnswered


class ManualActions:
    """The window of one session, in a person's hands."""

    def __init__(
        self,
        session: Session,
        context_manager: ContextManager,
        compactor: Compactor,
        forms: OutputForms,
        settings: RunSettingsSource,
    ) -> None:
        self.session = session
        self._context_manager, self._compactor, self._forms, self._settings = (
            context_manager,
            compactor,
            forms,
            settings,
        )
        self.blocked_model = ""
        """The label of the session's model, while no other one may go on; else empty."""

    def block_until_model_chosen(self, label: str) -> None:
        """Ask no model before the person has chosen who goes on for the one of a label; empty: they have."""
        self.blocked_model = label

    def require_model(self) -> None:
        """Raises ModelUnchosen while the session is held for a model that is not to be had."""
        if self.blocked_model:
            raise ModelNotChosen(self.blocked_model)

    def measure(self) -> tuple[Window, UsageGauge]:
        """What the next request would contain, and how full that is."""
        return self._context_manager.measure()

    @property
    def policy(self) -> ContextPolicy:
        """What its window is managed by, with the numbers for its model's window."""
        return self._settings()[0]

    def rows(self) -> tuple[WindowItem, ...]:
        """What the next request contains, one by one."""
        return self._context_manager.rows()

    async def undo(self, seq: int) -> None:
        """Undo a sweep, fold, handover or placing of observations by a counter-event."""
        if self.session.transcript.can_undo(seq):
            await self.session.record(Undone(seq))

    async def redo(self, seq: int) -> None:
        """Let what was undone hold again."""
        if self.session.transcript.can_redo(seq):
            await self.session.record(Redone(seq))

    async def choose_form(self, seq: int, form: Form, instructions: str = "") -> None:
        """Show the output recorded as `seq` in a form; `asked` says what a compact one is to contain.

        Undone like any rewrite. Raises FormRefused when it cannot be, StoreError when its bytes cannot be
        read, ModelError when no model made the extract, ModelUnchosen.
        """
        if form == "compact":
            self.require_model()
        await self._forms.choose(seq, form, instructions)

    async def pin(self, seq: int) -> None:
        """Keep the output recorded as `seq` in the window, whole, on every path."""
        item = self.session.transcript.item(seq)
        if item is not None and isinstance(item.event, ToolAnswered) and item.event.digest:
            await self.session.record(Pinned(seq))

    async def unpin(self, seq: int) -> None:
        """Let a pinned output be managed again."""
        if seq in self.session.transcript.rewrites.pinned:
            await self.session.record(Unpinned(seq))

    def handover_cuts(self) -> list[CutPoint]:
        """What a handover could cover now, each up to another legal cut and worth it; the furthest first."""
        policy, _, _ = self._settings()
        _, now = self.measure()
        transcript = self.session.transcript
        legal = cuts.available_cuts(transcript, int(now.window * policy.handover_keep / now.ratio))
        return [cut for cut in legal if planner.is_worthwhile(transcript, policy, now, cut)]

    def compact(self, focus: str = "") -> None:
        """Start a handover by hand. Raises CompactionRefused when there is nothing to, ModelUnchosen."""
        self.require_model()
        self._context_manager.compact(HandoverTrigger.MANUAL, self._cut(0), focus)

    async def draft_handover(self, focus: str = "", upto: int = 0) -> HandoverDraft:
        """Write a handover up to the cut at event `upto` (0: the furthest) and record nothing.

        Progress is published as of a handover that is made. Raises CompactionRefused when there is nothing to
        hand over, no legal cut there, a handover under way; ModelUnchosen. What fails at the models is told
        in the draft.
        """
        self.require_model()
        return await self._compactor.draft(self._cut(upto), focus)

    async def commit_handover(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft as it is, or with the person's own text of its six sections.

        Raises InputUnusable for a text that cannot be read; CompactionRefused when the history was changed
        since the draft was written, or when the window would not become smaller enough.
        """
        await self._compactor.commit(draft, text)

    def _cut(self, upto: int) -> CutPoint:
        """The cut that ends at an event (0: the furthest). Raises CompactionRefused."""
        policy, _, _ = self._settings()
        _, now = self.measure()
        transcript = self.session.transcript
        legal = cuts.available_cuts(transcript, int(now.window * policy.handover_keep / now.ratio))
        if not legal:
            raise CompactionRefused(
                "Nothing to compact yet.",
                "The newest complete turn always stays whole.",
                "Send another message first.",
            )
        cut = next((one for one in legal if upto in {0, one.upto}), None)
        if cut is None:
            raise CompactionRefused(
                f"Can't compact up to e{upto}.",
                "A handover ends between finished steps, and the newest part stays.",
                "Choose another range.",
            )
        if not planner.is_worthwhile(transcript, policy, now, cut):
            raise CompactionRefused(  # said at once: a refusal on record would count towards the breaker
                "Not enough to compact yet.",
                f"It would free less than {policy.handover_least_gain * 100:.0f} % of the context window.",
                "Compaction starts by itself when the context window fills.",
            )
        return cut

    def observe(self) -> None:
        """Start observations by hand: distil what is older than the newest turn, and put it in place.

        Where all is observed, observations are refined; those that wait for their place are put there. Raises
        CompactionRefused when there is nothing to observe, ModelUnchosen.
        """
        self.require_model()
        self._context_manager.observe()

    def answer_spend_ask(self, work: BackgroundWork, answer: SpendReply) -> None:
        """Let background work begin that waits for the user's yes, with or without a model, or leave it."""
        self._context_manager.answer_spend_ask(work, answer)

    async def estimate_handover(self, focus: str = "", upto: int = 0) -> CostEstimate:
        """Return what a draft up to the cut at event `upto` will take. Raises CompactionRefused."""
        return await self._compactor.estimate(self._cut(upto), focus)

    def cancel_observation(self) -> None:
        """End the observations under way; nothing changes."""
        self._context_manager.cancel_observation()

    def cancel_compaction(self) -> None:
        """End the handover under way; nothing changes."""
        self._context_manager.cancel_compaction()

    async def wait_for_background_work(self) -> None:
        """Wait for the handover and the observations under way, if there are any."""
        await self._context_manager.wait_for_background_work()
