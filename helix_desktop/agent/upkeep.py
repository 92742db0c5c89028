"""Upkeep: what is due to the window before a request is made: folds, sweeps, observations in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helix_desktop.agent.ports import Clock, Counter
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.context import fold, note, observation, panic, planner, sweep
from helix_desktop.context.budget import Gauge, gauge
from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, first_line
from helix_desktop.context.event import Event, Recorded
from helix_desktop.context.event_rewrite import FoldMade, SweepMade
from helix_desktop.context.event_summary import ObservationsPlaced
from helix_desktop.context.fold import Fold
from helix_desktop.context.index import HEAD, index_over
from helix_desktop.context.layout import Item
from helix_desktop.context.observation import Stretch
from helix_desktop.context.policy import Policy
from helix_desktop.context.rewrite_kind import PlacementReason, SweepReason
from helix_desktop.context.sweep import LEAST_STEPS, Sweep
from helix_desktop.context.window import Frame, Projector, Window, project


class Upkeep:
    """Keeps one session's window by its policy, without a model; also measures it.

    `observing` is the stretch that is being observed: no fold reaches across its ends.
    """

    def __init__(
        self,
        session: Session,
        counter: Counter,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._session, self._counter, self._clock, self._settings = session, counter, clock, settings
        self.observing: Stretch | None = None
        self._projector = Projector()
        self._measured: tuple[int, Policy, Frame] | None = None
        self._known: tuple[Window, Gauge] | None = None

    def measure(self) -> tuple[Window, Gauge]:
        """The window as it would be sent now, and its gauge."""
        policy, frame, _ = self._settings()
        transcript = self._session.transcript
        state = (transcript.last_seq, policy, frame)
        known = self._known
        if known is None or self._measured is None or not _same(self._measured, state):
            window = self._projector.project(transcript, policy, frame)
            known = (window, gauge(window, transcript, policy, frame))
            self._known, self._measured = known, state
        return known

    async def tidy(self) -> None:
        """Record what is due now and costs no model call. One rewrite carries all others that are ready."""
        policy, frame, _ = self._settings()
        if not policy.enabled:
            return
        transcript = self._session.transcript
        cold = planner.cold(transcript, policy, frame.info.label, self._clock())
        ride = sweep.riding(transcript, policy)
        due = ride if ride is not None and planner.sweep_pays(transcript, policy, ride, cold) else None
        folds = fold.due(transcript, policy, ride, due.masked[0] if due else 0, cold, self._edges)
        placed = await self._place(cold, bool(folds or due))
        if placed:  # from there on the request is written afresh
            ride = sweep.riding(transcript, policy)
            folds = fold.due(transcript, policy, ride, transcript.items[0].seq, cold, self._edges)
        if folds:
            await self._fold(folds, policy, frame.info.window)
        if placed or folds:
            reason = SweepReason.FOLD if folds else SweepReason.OBSERVATIONS
            await self._sweep(lambda: sweep.riding(transcript, policy), reason)
        elif due is not None:
            reason = SweepReason.COLD if cold else SweepReason.BATCH
            await self._sweep(lambda: planner.sweep_due(transcript, policy, cold), reason)

    async def _place(self, cold: bool, rewriting: bool) -> bool:
        """Put prepared observations in place, if now is the time."""
        policy, _, _ = self._settings()
        transcript = self._session.transcript
        made = observation.waiting(transcript)
        if made is None:
            return False
        reason = self._placing(policy, cold, rewriting)
        if reason is None:
            return False
        return await self.place(made, reason)

    def _placing(self, policy: Policy, cold: bool, rewriting: bool) -> PlacementReason | None:
        if not policy.observe_at:
            return None
        if policy.observe_place_at <= policy.observe_at:
            return PlacementReason.IMMEDIATE
        if cold:
            return PlacementReason.COLD
        if rewriting:
            return PlacementReason.REWRITE
        _, now = self.measure()
        reached = now.used >= policy.observe_place_at * now.window
        return PlacementReason.THRESHOLD if reached else None

    async def place(self, made: int, reason: PlacementReason) -> bool:
        """Let prepared observations take the place of what they cover, if that makes the window smaller.

        Returns whether they did; otherwise nothing is recorded.
        """

        policy, _, _ = self._settings()
        threshold = policy.observe_place_at if reason is PlacementReason.THRESHOLD else 0.0

        def decide() -> list[Event]:
            if observation.waiting(self._session.transcript) != made:
                return []
            saved = self._saved_by(made)
            return [ObservationsPlaced(made, reason, saved, threshold)] if saved > 0 else []

        return bool(await self._session.record_decided(decide))

    def _saved_by(self, made: int) -> int:
        """Tokens by which the window becomes smaller when these observations are put in place."""
        policy, frame, _ = self._settings()
        twin = self._session.transcript.fork()
        placed = ObservationsPlaced(made, PlacementReason.MANUAL, 0)
        twin.apply(Recorded(twin.last_seq + 1, twin.last_at, placed))
        return self.measure()[0].estimate - project(twin, policy, frame).estimate

    @property
    def _edges(self) -> tuple[int, ...]:
        """Where observations that are being made, or wait for their place, begin and end."""
        transcript = self._session.transcript
        made = observation.waiting(transcript)
        edges = (self.observing.after, self.observing.upto) if self.observing else ()
        if made is None:
            return edges
        waiting = transcript.rewrites.observed[made]
        return (*edges, waiting.after, waiting.upto)

    async def _fold(self, folds: Sequence[Fold], policy: Policy, window: int) -> None:
        for one in folds:
            await self._record_fold(one, policy, window)
        condensed = fold.condense_due(self._session.transcript, policy, window, self._edges)
        if condensed is not None:
            await self._record_fold(condensed, policy, window)

    async def _record_fold(self, one: Fold, policy: Policy, window: int) -> bool:
        """Store the index entry and record the note, unless it would be no smaller."""
        transcript = self._session.transcript
        known = transcript.last_rewrite
        text, entries = index_over(transcript, one.after, one.upto)
        data = text.encode("utf-8", "surrogatepass")
        digest = digest_of(data)
        items = transcript.between(one.after, one.upto)
        words = note_text(one, items, digest, entries, policy, window)
        tokens, index_tokens = await self._counter.count([words, text])
        saved = fold.freed(transcript, one, tokens)
        if saved <= 0:
            return False
        steps = items[-1].step - items[0].step + 1
        made = FoldMade(one.after, one.upto, words, tokens, digest, entries, steps, saved, one.how)
        about = f"e{one.after + 1}-e{one.upto}"
        content = Content(digest, data, "fold", about, first_line(HEAD), index_tokens, "index")

        def decide() -> list[Event]:
            return [made] if transcript.last_rewrite == known else []  # else what was counted is not there

        return bool(await self._session.record_decided(decide, [content]))

    async def _sweep(self, plan: Callable[[], Sweep | None], reason: SweepReason) -> None:
        def decide() -> list[Event]:
            made = plan()
            return [SweepMade(made.masked, made.saved, reason)] if made is not None else []

        await self._session.record_decided(decide)

    async def sweep_all(self, reason: SweepReason, newest: int = LEAST_STEPS) -> None:
        """Turn everything but the newest steps into markers."""
        policy, _, _ = self._settings()
        await self._sweep(lambda: planner.sweep_all(self._session.transcript, policy, newest), reason)

    async def sweep_images(self, reason: SweepReason, newest: bool = False) -> None:
        """Let text and hash stand for the images the person sent; those of the newest message by `newest`."""
        await self._sweep(lambda: planner.sweep_images(self._session.transcript, newest), reason)

    async def leave_out(self, seqs: Sequence[int]) -> None:
        """Turn these messages into markers, those that are none yet."""

        def plan() -> Sweep | None:
            transcript = self._session.transcript
            fresh = tuple(seq for seq in seqs if transcript.item(seq) and seq not in transcript.masked)
            return Sweep(fresh, max(0, sweep.saved_by(transcript, fresh)), 0.0) if fresh else None

        await self._sweep(plan, SweepReason.REFUSED)

    async def truncate(self) -> None:
        """Leave out what can be left out, so that only its index entry stands in the window."""
        policy, frame, _ = self._settings()
        for one in panic.truncations(self._session.transcript):
            await self._record_fold(one, policy, frame.info.window)


def note_text(
    one: Fold, items: Sequence[Item], digest: str, entries: int, policy: Policy, window: int
) -> str:
    """The note of a fold, by what it is."""
    if one.how == "truncate":
        return note.truncated(digest, entries, len(items))
    if one.how == "condense":
        words = fold.condensed_tokens(policy, window)
        return note.condensed(items, digest, entries, words, policy)
    return note.folded(items, digest, entries)


def _same(one: tuple[int, Policy, Frame], other: tuple[int, Policy, Frame]) -> bool:
    return one[0] == other[0] and one[1] is other[1] and one[2] is other[2]
