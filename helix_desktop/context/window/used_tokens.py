"""The usage gauge: how full the window is, by one number with one denominator (invariant 9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise
from math import ceil, floor
from statistics import median

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window, policy_fields
from helix_desktop.context.summaries.handover import user_text_budget
from helix_desktop.context.window.window import PromptFrame, Window, handover_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.messages import ModelInfo, Usage
from helix_desktop.domain.store import CacheEntry, ReportedUsage, WindowCount

_REPORTS = 5  # newest reports of a model that its calibration is the median of
_ESTIMATED_SHARE = 0.02  # of a reported number: the answer that came with the report is by our count
_SEARCHED_MESSAGES = 200  # newest messages among which reports are looked for
_UNCHANGED_SHARE = 0.7  # of a reported request: while that is left, its difference from our count is
USUAL_STEPS_TOKENS = 4_000
"""What usually comes in two steps: a handover is due so long before the request is full."""
_LEAD_SHARE = 0.10  # of the window that this is at least,
_MAX_LEAD_SHARE = 0.15  # and where two usual steps are more, at most
_RATIO_STEP = 0.05  # small enough for the total, so large that rows do not change with every report
_RATIO_HIGH = 3.0  # a provider's tokenizer never needs more for a token of ours
_PLAUSIBLE_EXCESS = 2_000  # tokens that a report may have beyond that: a server's own prompt
_AGREEMENT = 1.25  # between the ratios of two reports of which each confirms the other, at most


_LEAST_CUT = 1_024  # tokens; below, a count that stays the same is no count
_CUT_SHARE = 0.7  # of our count: fewer tokens no tokenizer makes of it
_CUT_GROWTH = 1.1  # of a request by our count, of which its server counts nothing


class CompactionTrigger(msgspec.Struct, frozen=True):
    """What starts a compaction: why, where it is due, and how far that is; below 0 how far beyond it is.

    `limit` is in the unit of its field of the policy, `distance` too, but of a share in tokens.
    """

    kind: HandoverTrigger
    distance: int = 0
    limit: float = 0.0

    @property
    def is_due(self) -> bool:
        return self.distance <= 0


ON_REQUEST = CompactionTrigger(HandoverTrigger.MANUAL)
FULL_WINDOW = CompactionTrigger(HandoverTrigger.OVERFLOW)


class UsageGauge(msgspec.Struct, frozen=True):
    """Projected use of the window in tokens; `is_reported`: the number is the provider's own.

    Shares of the policy count from `window`, the managed one; a request may have up to `model_window` with
    its answer, for which `reserve` is kept. `handover_threshold` is where a handover is due,
    `panic_threshold` where space is freed at once, `ratio` the provider's tokens per token of ours, the
    median of `report_count` reports; 0: from earlier sessions.
    """

    used: int
    window: int
    model_window: int
    reserve: int
    handover_threshold: int
    is_reported: bool
    ratio: float = 1.0
    panic_threshold: int = 1 << 62
    report_count: int = 0

    @property
    def share(self) -> float:
        return self.used / self.window

    @property
    def handover_share(self) -> float:
        return self.handover_threshold / max(1, self.window)

    @property
    def trigger(self) -> CompactionTrigger:
        """The trigger of the policy that compacts next."""
        return self.trigger_at(self.used)

    def trigger_at(self, used: float) -> CompactionTrigger:
        """Return the trigger that compacts next if so many tokens are used."""
        distance = ceil(self.handover_threshold - used)
        return CompactionTrigger(HandoverTrigger.THRESHOLD, distance, round(self.handover_share, 2))

    @property
    def is_due(self) -> bool:
        """True from where the policy compacts on; what else it takes, `compaction_due` says."""
        return self.trigger.is_due

    @property
    def is_full(self) -> bool:
        """True where room is made at once, without waiting for a model."""
        return self.used >= self.panic_threshold

    @property
    def limit(self) -> int:
        """The most tokens of a request for which no room has to be made first."""
        return min(self.model_window - self.reserve, self.panic_threshold - 1)

    @property
    def fits(self) -> bool:
        """Return True if the request leaves the answer its reserve."""
        return self.used + self.reserve <= self.model_window

    @property
    def is_managed_in_part(self) -> bool:
        """Return True if the policy manages less than the model's window."""
        return self.window < self.model_window

    @property
    def exceeds_managed(self) -> bool:
        """Return True if the request takes more than the managed window, which the model has room for."""
        return self.is_managed_in_part and self.fits and self.used > self.window

    @property
    def reserve_in_window(self) -> int:
        """The tokens of the managed window that are kept for the answer; 0 where it fits beside it."""
        return max(0, self.window + self.reserve - self.model_window)

    @property
    def free(self) -> int:
        """The tokens of the managed window that are neither used nor kept for the answer."""
        return max(0, self.window - self.used - self.reserve_in_window)


def handover_threshold(policy: ContextPolicy, info: ModelInfo) -> int:
    """Return the tokens at which a handover is due: by the policy, but in time to be written.

    What usually comes in two steps has to fit meanwhile: before the request is full, or room is made at once.
    """
    managed = managed_window(policy, info.window)
    by_policy = floor(managed * policy.handover_at)
    room = info.window - info.reserve
    if room <= 0:
        return by_policy
    full = min(room, floor(info.window * policy.panic_at))
    lead = max(_LEAD_SHARE * managed, min(USUAL_STEPS_TOKENS, _MAX_LEAD_SHARE * managed))
    return min(by_policy, floor(full - lead))


def message_limit(policy: ContextPolicy, gauge: UsageGauge) -> float:
    """Return the tokens of the largest request that can be sent with its answer.

    A message may need more than the managed window: the model's own counts.
    """
    return policy.handover_at * gauge.model_window - gauge.reserve


def measure_usage(
    window: Window, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
) -> UsageGauge:
    """Return the projected use of the next request, as `projected_tokens`.

    Before the first report, the ratio of earlier sessions is used.
    """
    return _measure(window.estimate, transcript, policy, frame)


def measure_next_request(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> UsageGauge:
    """Return what `measure_usage` returns for the window of a session, without projecting it."""
    return _measure(estimate_next_request(transcript, policy, frame), transcript, policy, frame)


def estimate_next_request(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> int:
    """Return the tokens of a session's next request by our count, as those of its window."""
    entries, images = transcript.window.tokens
    standing = frame.fixed_tokens + transcript.opening_tokens + entries
    standing += handover_tokens(transcript, policy, managed_window(policy, frame.info.window))
    return standing - (0 if frame.info.images else images)


def used_tokens(count: WindowCount, frame: PromptFrame) -> int:
    """Return `used` of a session's gauge from its stored count, without its log; exact unless `is_outdated`.

    The rest of the gauge is asked of open sessions only.
    """
    estimate = frame.fixed_tokens + count.opening + count.entries - (0 if frame.info.images else count.images)
    report = count.reported.get(frame.info.label)
    return projected_tokens(estimate, report, report.ratio if report else frame.ratio)


def count_window(transcript: Transcript, policy: ContextPolicy, model_window: int) -> WindowCount:
    window_size = managed_window(policy, model_window)
    entries, images = transcript.window.tokens
    handed_over = transcript.window.handover is not None
    own_policy = transcript.session_policy
    return WindowCount(
        entries=entries + handover_tokens(transcript, policy, window_size),
        images=images,
        quoted=user_text_budget(policy.user_text_tokens, window_size) if handed_over else None,
        reported=model_reports(transcript),
        chosen=transcript.chosen_model,
        opening=transcript.opening_tokens,
        policy=policy_fields(own_policy) if own_policy is not None else {},
    )


def is_outdated(count: WindowCount | None, policy: ContextPolicy, model_window: int) -> bool:
    """Return True if the count no longer fits the policy and window, so that the log must be read."""
    if count is None:
        return True
    window_size = managed_window(policy, model_window)
    return count.quoted not in (None, user_text_budget(policy.user_text_tokens, window_size))


def model_reports(transcript: Transcript) -> dict[str, ReportedUsage]:
    """Return what a session's models reported, by label; without models not used for a long time."""
    recent = (item.event for item in transcript.messages.reported_items[-_SEARCHED_MESSAGES:])
    labels = dict.fromkeys(event.model for event in recent if isinstance(event, AssistantSpoke))
    reports = {label: latest_report(transcript, label) for label in labels}
    return {label: report for label, report in reports.items() if report is not None}


def _measure(estimate: int, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> UsageGauge:
    """Return the gauge of a request; not reported if more than a small answer came, such as a tool."""
    report = latest_report(transcript, frame.info.label)
    ratio = report.ratio if report else frame.ratio
    gauge = gauge_of(projected_tokens(estimate, report, ratio), policy, frame.info)
    is_reported = report is not None and report.unchanged and report.newest
    if report is not None and is_reported:
        answer = transcript.window.entry_tokens(transcript.messages.items[-1])
        is_reported = estimate == report.estimate + answer and is_small_answer(answer, report)
    reports = report.reports if report else 0
    return msgspec.structs.replace(gauge, is_reported=is_reported, ratio=ratio, report_count=reports)


def is_small_answer(tokens: int, report: ReportedUsage) -> bool:
    """Return True if an answer of `tokens` by our count leaves the number of its report a reported one."""
    return tokens * report.ratio <= report.input * _ESTIMATED_SHARE


def gauge_of(used: int, policy: ContextPolicy, info: ModelInfo) -> UsageGauge:
    """Return the gauge of a request of so many tokens as the model counts them: of replays, too."""
    return UsageGauge(
        used,
        window=managed_window(policy, info.window),
        model_window=info.window,
        reserve=info.reserve,
        handover_threshold=handover_threshold(policy, info),
        is_reported=False,
        panic_threshold=floor(info.window * policy.panic_at) if policy.enabled else 1 << 62,
    )


def projected_tokens(estimate: int, report: ReportedUsage | None, ratio: float) -> int:
    """Return the tokens of a request as the model counts them: `estimate` by our count.

    The newest `report` counts for the request it is about, `ratio` for what came or left since: a rewrite
    changes the total by what its rows say, and its undo brings the former total back. Of a much shorter
    request the report says less than the one of the shortest request before: see `_corners`.
    """
    if report is None or not report.estimate:
        return round(estimate * ratio)
    (low, low_used), (high, high_used) = next(
        (pair for pair in pairwise(_corners(report, ratio)) if estimate < pair[1][0]), ((0.0, 0.0),) * 2
    )
    if high:
        return round(low_used + (estimate - low) * (high_used - low_used) / (high - low))
    return round(report.input + (estimate - report.estimate) * ratio)


def estimate_of(used: int, report: ReportedUsage | None, ratio: float) -> int:
    """Return our count of a request that `projected_tokens` says has `used` tokens."""
    if report is None or not report.estimate:
        return round(used / ratio)
    (low, low_used), (high, high_used) = next(
        (pair for pair in pairwise(_corners(report, ratio)) if used < pair[1][1]), ((0.0, 0.0),) * 2
    )
    if high:
        return round(low + (used - low_used) * (high - low) / (high_used - low_used))
    return round(report.estimate + (used - report.input) / ratio)


def _corners(report: ReportedUsage, ratio: float) -> list[tuple[float, float]]:
    """Return the requests, by our count and by the model's, between which shorter ones lie in proportion.

    How far the report was from our count stays down to the last of them. The shortest reported request is
    one of them: it has little but prompt and tools, whose ratio is not that of messages, and most of them
    stays behind a handover. If the difference would leave a longer request fewer tokens than that one, all
    between the two lie in proportion. Without one the difference shrinks with the rest, from half of the
    request on by either count, so that a report below our count leaves no request without tokens.
    """
    half = report.estimate - report.input / (2 * ratio)
    least = report.least_estimate
    least_input = report.least_input
    corner = max(report.estimate * _UNCHANGED_SHARE, half)
    corner_input = report.input - (report.estimate - corner) * ratio
    if 0 < least < corner and 0 < least_input < corner_input:
        return [(0, 0), (least, least_input), (corner, corner_input)]
    if 0 < least < report.estimate and 0 < least_input < report.input:
        return [(0, 0), (least, least_input), (report.estimate, report.input)]
    corner = max(report.estimate / 2, half)
    return [(0, 0), (corner, report.input - (report.estimate - corner) * ratio)]


def latest_report(transcript: Transcript, model: str) -> ReportedUsage | None:
    """Return the newest report of a model, by its label, in a session; None without one.

    It is one from before a handover, if that was undone since: what it counted is in the window again.
    """
    reports = _reports(transcript, model)
    had_handover = transcript.rewrites.had_undone_handover
    before = (report for report in _reported(transcript, model) if not had_handover(_sent_after(report)))
    seq, response = next(before, reports[0] if reports else (0, None))
    if response is None or (usage := response.usage) is None:
        return None
    least, least_input = min(
        (answer.estimate, answer.usage.input)
        for _, answer in _reported(transcript, model)
        if answer.usage is not None
    )
    return ReportedUsage(
        input=usage.input,
        estimate=response.estimate,
        ratio=_calibrated_ratio(reports),
        least_input=least_input,
        least_estimate=least,
        reports=len(reports),
        unchanged=transcript.window.last_rewrite_seq <= _sent_after((seq, response)),
        newest=transcript.messages.items[-1].seq == seq,
    )


def _calibrated_ratio(reports: list[tuple[int, AssistantSpoke]]) -> float:
    """Return a model's tokens per token of ours: the median of its newest reports, in steps, bounded."""
    ratios = [
        response.usage.input / response.estimate
        for _, response in reports
        if response.usage and response.estimate
    ]
    nearest = round(round(median(ratios) / _RATIO_STEP) * _RATIO_STEP, 2) if ratios else 1.0
    return min(nearest, _RATIO_HIGH)


def tokenizer_ratio(transcript: Transcript, model: str) -> float:
    """Return `_calibrated_ratio` for a model, by its label, from its reports in this session."""
    return _calibrated_ratio(_reports(transcript, model))


def first_tokenizer_ratio(transcript: Transcript, model: str, default: float) -> float:
    """Return the same from the model's first reports, which stays as it is; `default` without any."""
    answers = ((item.seq, item.event) for item in transcript.messages.reported_items)
    own = (
        (seq, it)
        for seq, it in answers
        if isinstance(it, AssistantSpoke) and it.model == model and is_plausible(it)
    )
    reports = list(islice(own, _REPORTS))
    return _calibrated_ratio(reports) if reports else default


def request_ratio(response: AssistantSpoke, default: float) -> float:
    """Return the tokens per token of ours of the request that was answered, as reported of itself.

    Unreported it counts as it was shown then; `default` where that is not recorded either.
    """
    if response.usage is not None and response.estimate and is_plausible(response):
        return response.usage.input / response.estimate
    return default if response.ratio == 1.0 else response.ratio


def replayed_tokens(estimate: int, answer: AssistantSpoke, ratio: float) -> int:
    """Return the tokens of a request in place of the one that was answered, as the model counts them.

    What it has more or less counts `ratio` times our count, as in `projected_tokens`.
    """
    if answer.usage is None or not answer.estimate or not is_plausible(answer):
        return round(estimate * request_ratio(answer, ratio))
    report = ReportedUsage(answer.usage.input, answer.estimate, ratio, 1, unchanged=False, newest=False)
    return projected_tokens(estimate, report, ratio)


def output_tokens(tokens: int) -> int:
    """Return the tokens of an output in a request, by our count: `tokens` of its text, and framing.

    It is counted once and has this number in every place; a provider's count belongs to the total alone.
    """
    return tokens + FRAMING_TOKENS


def content_tokens(entry: CacheEntry) -> int:
    """Return the tokens of a stored content in a request; an output stands there as a message of its own."""
    return output_tokens(entry.tokens) if entry.kind == "output" else entry.tokens


def is_plausible(answer: AssistantSpoke) -> bool:
    """Return True if the provider reported an input that the request can have had.

    It is not above the model's window, nor over three times our count: gateways add up several calls, and
    some servers report any number.
    """
    if answer.usage is None or answer.usage.input <= 0:
        return False
    is_above_window = 0 < answer.window < answer.usage.input
    return not (is_above_window or _is_above_our_count(answer, answer.usage.input))


def _is_above_our_count(answer: AssistantSpoke, reported: int) -> bool:
    if not answer.estimate:
        return False
    return reported > _RATIO_HIGH * answer.estimate + _PLAUSIBLE_EXCESS


def _confirm_each_other(answer: AssistantSpoke, other: AssistantSpoke | None) -> bool:
    """Return True if two implausible reports are much the same multiple of our count.

    One number for requests of different lengths is no count of them. A report that is above the model's
    window and above our count can't be confirmed: the model answered, so the request had room.
    """
    if other is None or answer.usage is None or other.usage is None:
        return False
    if not (answer.estimate and other.estimate) or is_plausible(other):
        return False
    if answer.usage.input == other.usage.input and answer.estimate != other.estimate:
        return False
    if 0 < answer.window < answer.usage.input and _is_above_our_count(answer, answer.usage.input):
        return False
    ratio = answer.usage.input / answer.estimate
    other_ratio = other.usage.input / other.estimate
    return max(ratio, other_ratio) <= _AGREEMENT * min(ratio, other_ratio)


def _sent_after(report: tuple[int, AssistantSpoke]) -> int:
    """Return an event that the request of a report came after, with each rewrite that it had."""
    return report[1].sent_after or report[0]


def _reports(transcript: Transcript, model: str) -> list[tuple[int, AssistantSpoke]]:
    """Return what the model's calibration is made of: its newest answers with reported input."""
    return list(islice(_reported(transcript, model), _REPORTS))


def _reported(transcript: Transcript, model: str) -> Iterator[tuple[int, AssistantSpoke]]:
    """Yield this model's answers with an input that counts, newest first, with their seqs.

    An implausible input counts if the one reported before or after it confirms it.
    """
    newer: AssistantSpoke | None = None
    answers: Iterator[tuple[int, AssistantSpoke | None]] = chain(_answers(transcript, model), [(0, None)])
    for (seq, answer), (_, older) in pairwise(answers):
        if answer is None:
            return
        if is_plausible(answer) or _confirm_each_other(answer, newer) or _confirm_each_other(answer, older):
            yield seq, answer
        newer = answer


def _answers(transcript: Transcript, model: str) -> Iterator[tuple[int, AssistantSpoke]]:
    """Yield the answers with reported input of this model, newest first, with their seqs."""
    oldest = (
        transcript.messages.items[-_SEARCHED_MESSAGES].seq
        if len(transcript.messages.items) > _SEARCHED_MESSAGES
        else 0
    )
    for item in reversed(transcript.messages.reported_items):
        if item.seq < oldest:
            return
        if isinstance(item.event, AssistantSpoke) and item.event.model == model:
            yield item.seq, item.event


def silent_cut(transcript: Transcript, usage: Usage | None, estimate: int, info: ModelInfo) -> int:
    """Return the tokens to which a server cuts requests without a word; 0: nothing shows that it does.

    It counted the newest request, which is not recorded yet, as the one before, though by our count it is
    larger, and has far more than that.
    """
    answers = (item.event for item in reversed(transcript.messages.items))
    former = next(
        (
            event
            for event in answers
            if isinstance(event, AssistantSpoke) and event.usage is not None and event.model == info.label
        ),
        None,
    )
    if usage is None or former is None or former.usage is None or usage.cached or former.usage.cached:
        return 0

    counted = usage.input
    is_same = abs(counted - former.usage.input) * 100 <= counted
    has_grown = estimate >= former.estimate * _CUT_GROWTH
    is_far_below = counted < estimate * _CUT_SHARE
    is_window = _LEAST_CUT <= counted < info.window * _CUT_SHARE
    return counted if is_same and has_grown and is_far_below and is_window else 0
