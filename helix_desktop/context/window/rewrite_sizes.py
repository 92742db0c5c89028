"""What each rewrite made of the next request, in tokens as the gauge counted them then: said everywhere."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.used_tokens import estimate_of, latest_report, projected_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, SweepMade, SweepReason
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.store import ReportedUsage

ContextRewrite: TypeAlias = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded


class RewriteSize(NamedTuple):
    """Tokens of the next request before a rewrite, and after it."""

    before: int
    after: int


class RewriteSizes:
    """Counts event by event, from the newest report of the model until then.

    What comes later changes no size: no message, no report, no undo.
    """

    def __init__(self) -> None:
        self.window = 0  # tokens of the managed window; 0: not known yet
        self._overhead = -1  # tokens by our count of what is sent beside messages and handover; -1: not known
        self._handover_tokens: dict[int, int] = {}  # by our count, with the user's words that it quotes

    def apply(self, recorded: RecordedEvent, transcript: Transcript) -> RewriteSize | None:
        """Return the size of a rewrite, which the transcript has already; None of anything else.

        Also of a sweep that was recorded with a handover, which counts it, and before the first answer.
        """
        seq = recorded.seq
        handovers = transcript.rewrites.handovers
        match recorded.event:
            case AssistantSpoke() as response:
                self.window = response.share_window or self.window
                if response.estimate and not response.sent_after:  # else the window is not what was sent
                    answer = transcript.window.entry_tokens(transcript.messages.items[-1])
                    sent = self._messages(transcript) - answer
                    self._overhead = max(0, response.estimate - sent)
            case HandoverMade(before=before, after=after) as handover:
                self._learn_handover(seq, handover, transcript)
                return RewriteSize(before, after)
            case SweepMade(reason=SweepReason.HANDOVER) if seq - 1 in handovers:
                self._learn_handover(seq - 1, handovers[seq - 1], transcript)
            case (SweepMade() | FoldMade() | ObservationsPlaced() | Excluded()) as rewrite:
                if self._overhead >= 0:
                    return RewriteSize(self._used(transcript, rewrite.saved), self._used(transcript))
        return None

    def _learn_handover(self, seq: int, handover: HandoverMade, transcript: Transcript) -> None:
        """Learn how much a handover is with the user's words in it, which depend on the policy."""
        report = _model_report(transcript)
        after = estimate_of(handover.after, report, report.ratio if report is not None else 1.0)
        quoted = after - max(0, self._overhead) - transcript.window.tokens[0]
        self._handover_tokens[seq] = max(handover.tokens, quoted)

    def _messages(self, transcript: Transcript) -> int:
        """Return the tokens by our count of the messages in the window, and of the handover before them."""
        tokens = transcript.window.tokens[0]
        active = transcript.window.handover
        if active is None:
            return tokens
        excluded = transcript.rewrites.excluded.get(active[0])
        if excluded is not None:
            return tokens + excluded.tokens
        return tokens + self._handover_tokens.get(active[0], active[1].tokens)

    def _used(self, transcript: Transcript, more: int = 0) -> int:
        """Return the tokens of the next request as the model counts them, with so `more` by our count."""
        report = _model_report(transcript)
        ratio = report.ratio if report is not None else 1.0
        return projected_tokens(self._overhead + self._messages(transcript) + more, report, ratio)


def _model_report(transcript: Transcript) -> ReportedUsage | None:
    """Return the newest report of the model that gets the next request: the last, or one chosen since."""
    return latest_report(transcript, transcript.chosen_model or transcript.last_model)
