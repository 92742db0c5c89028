"""One number with one denominator (invariant 9), and when it makes a handover due (invariant 6)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries.legal_ranges import HandoverRange, furthest_range
from helix_desktop.context.window.used_tokens import (
    UsageGauge,
    count_window,
    estimate_of,
    first_tokenizer_ratio,
    gauge_of,
    is_outdated,
    measure_usage,
    message_limit,
    model_reports,
    projected_tokens,
    tokenizer_ratio,
    used_tokens,
)
from helix_desktop.domain.events.rewrite import Excluded, Undone
from helix_desktop.domain.events.session import HoldSet, InstructionsAdded, StandingText
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.store import ReportedUsage, WindowCount
from tests.support.histories import MODEL, SessionSimulator, build_history, histories
from tests.support.rewrite_histories import histories_with_rewrites
from tests.support.session_rewrites import exclude
from tests.support.tables import for_each

BALANCED = PROFILES["balanced"]


def measured(simulator: SessionSimulator) -> UsageGauge:
    return measure_usage(simulator.window(), simulator.transcript, simulator.policy, simulator.frame)


def reported(
    tokens: int, estimate: int, ratio: float = 1.0, least: tuple[int, int] = (0, 0)
) -> ReportedUsage:
    """The newest report, and the tokens and estimate of the shortest request that was reported."""
    return ReportedUsage(
        tokens, estimate, ratio, 5, True, True, least_input=least[0], least_estimate=least[1]
    )


def test_a_long_answer_makes_the_number_an_estimate() -> None:
    """Its tokens are by our count, whatever the report says of the request before it."""
    simulator = build_history(2)
    simulator.step("Reading. " * 100, 0, usage_ratio=1.3)
    assert not measured(simulator).is_reported


def test_a_report_calibrates_later_estimates() -> None:
    """The reported part counts as reported, later messages by the ratio of report to estimate."""
    simulator = build_history(12)
    simulator.step("Reading.", 1, usage_ratio=1.3)
    sent = simulator.sent_requests[-1].window.estimate
    reported = int(sent * 1.3)
    after = measured(simulator)
    grown = simulator.window().estimate - sent
    assert after.is_reported
    assert after.used == reported + round(grown * reported / sent)
    frame = simulator.frame
    simulator.frame = msgspec.structs.replace(frame, tools_tokens=frame.tools_tokens + 100)
    assert not measured(simulator).is_reported, "the provider has not seen the new tool"
    simulator.frame = frame
    simulator.answer_call(0, "output " * 300)
    later = measured(simulator)
    assert not later.is_reported
    assert later.ratio == pytest.approx(1.3, abs=0.01)
    assert later.used - after.used == pytest.approx(1.3 * (simulator.window().estimate - sent - grown), abs=2)


def test_a_rewrite_changes_the_total_by_what_it_saves_and_its_undo_brings_it_back() -> None:
    """The provider's last difference from Helix's count stays, though the median ratio says otherwise."""
    simulator = build_history(5)
    for ratio in (1.1, 1.1, 1.4):
        simulator.step("Reading.", 1, usage_ratio=ratio)
        simulator.answer_all_calls("output " * 300)
    before = measured(simulator)
    estimate = simulator.window().estimate
    assert before.used > estimate * before.ratio + 50, "the last report differs from the median"
    assert exclude(simulator, -1)
    now = measured(simulator)
    saved = estimate - simulator.window().estimate
    excluded = simulator.log[-1].event
    assert isinstance(excluded, Excluded)
    assert excluded.saved == saved
    assert not now.is_reported
    assert saved > 0
    assert before.used - now.used == pytest.approx(saved * before.ratio, abs=1)
    simulator.undo(0)
    assert measured(simulator) == before


def test_an_undone_handover_brings_the_report_before_it_back() -> None:
    """The reports of the short requests since say nothing about the long one."""
    simulator = build_history(8)
    simulator.step("Reading.", 1, usage_ratio=0.9)
    reported = simulator.sent_requests[-1].window.estimate
    simulator.answer_all_calls("output " * 300)
    long = simulator.window().estimate
    assert simulator.hand_over(400)
    simulator.step("Reading on.", 0, usage_ratio=1.6)
    assert simulator.window().estimate < long
    handover_seq = next(item.seq for item in reversed(simulator.log) if isinstance(item.event, HandoverMade))
    simulator.record(Undone(handover_seq))
    after = measured(simulator)
    estimate = simulator.window().estimate
    assert estimate > long
    assert after.used == round(int(reported * 0.9) + (estimate - reported) * after.ratio)
    assert not after.is_reported


@for_each(
    ("report", "estimates", "used"),
    [
        # Of a request that is nearly gone, hardly anything of the difference is left.
        (reported(12_000, 10_000), (12_000, 10_000, 5_000, 1_000, 0), (14_000, 12_000, 7_000, 1_400, 0)),
        # A report far below our count leaves no request without tokens.
        (reported(4_000, 10_000), (12_000, 10_000, 8_000, 4_000, 0), (6_000, 4_000, 2_000, 1_000, 0)),
        # Little but prompt and tools, which the model counts otherwise than messages, is in what a handover
        # leaves: it counts as the shortest request that was reported.
        (
            reported(26_000, 20_000, 1.3, least=(6_200, 4_000)),
            (20_000, 14_000, 9_000, 4_000, 2_000, 0),
            (26_000, 18_200, 12_200, 6_200, 3_100, 0),
        ),
        # An output that the model counts at half of our tokens, and that left, says nothing of what stays.
        (
            reported(9_300, 14_800, least=(4_900, 3_500)),
            (15_800, 14_800, 9_150, 3_500, 0),
            (10_300, 9_300, 7_100, 4_900, 0),
        ),
    ],
)
def test_a_request_counts_by_the_reports_of_longer_and_shorter_ones(
    report: ReportedUsage, estimates: tuple[int, ...], used: tuple[int, ...]
) -> None:
    ratio = report.ratio
    assert tuple(projected_tokens(estimate, report, ratio) for estimate in estimates) == used
    assert tuple(estimate_of(tokens, report, ratio) for tokens in used) == estimates


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_by_our_count_is_more_by_the_model_s(
    estimate: int, reported: int, shortest: int, shortest_reported: int
) -> None:
    """Whatever was reported: a request never shrinks on screen while messages are added."""
    least, least_input = min((shortest, shortest_reported), (estimate, reported))
    report = ReportedUsage(
        reported, estimate, 1.0, 5, True, True, least_input=least_input, least_estimate=least
    )
    used = [projected_tokens(estimate * share // 20, report, 1.0) for share in range(31)]
    assert used == sorted(used)
    assert used[0] == 0
    assert used[20] == reported


def test_the_shortest_reported_request_is_remembered() -> None:
    simulator = build_history(1)
    for ratio in (1.5, 1.3, 1.3):
        simulator.step("Reading.", 1, usage_ratio=ratio)
        simulator.answer_all_calls("output " * 300)
    (report,) = model_reports(simulator.transcript).values()
    shortest = simulator.sent_requests[-3].window.estimate
    assert (report.least_estimate, report.least_input) == (shortest, int(shortest * 1.5))
    assert report.estimate > shortest


def test_a_report_of_a_part_of_the_request_counts_as_none() -> None:
    """Servers that leave out the tools, or what they had cached, would make a full window look empty."""
    simulator = build_history(2)
    for ratio in (0.1, 0.45):
        simulator.step("Reading.", 1, usage_ratio=ratio)
        simulator.answer_all_calls("output " * 300)
        gauge = measured(simulator)
        assert (gauge.is_reported, gauge.ratio, gauge.used) == (False, 1.0, simulator.window().estimate)
    simulator.step("Reading.", 1, usage_ratio=0.8)
    assert measured(simulator).ratio == 0.8


def test_rows_stand_still_while_reports_differ_a_little() -> None:
    """What the model counts per token of ours is one number through small changes of its reports."""
    simulator = build_history(2)
    ratios = set()
    for ratio in (1.29, 1.305, 1.32, 1.3, 1.31):
        simulator.step("Reading.", 1, usage_ratio=ratio)
        simulator.answer_all_calls("output " * 100)
        ratios.add(measured(simulator).ratio)
    assert ratios == {1.3}


def test_the_ratio_of_the_first_reports_stays_as_the_session_goes_on() -> None:
    simulator = build_history(2)
    label = MODEL.label
    assert first_tokenizer_ratio(simulator.transcript, label, 0.8) == 0.8, "none was reported"
    for _ in range(5):
        simulator.step("Reading.", 0, usage_ratio=1.3)
    assert first_tokenizer_ratio(simulator.transcript, label, 0.8) == 1.3
    for _ in range(8):
        simulator.step("Reading.", 0, usage_ratio=2.0)
    assert first_tokenizer_ratio(simulator.transcript, label, 0.8) == 1.3
    assert tokenizer_ratio(simulator.transcript, label) == 2.0
    assert first_tokenizer_ratio(simulator.transcript, "another/model", 0.8) == 0.8


def test_another_model_is_estimated_from_scratch() -> None:
    """A report of one model says nothing about another one's tokens."""
    simulator = build_history(2)
    simulator.step("Reading.", 0, usage_ratio=1.3)
    simulator.frame = msgspec.structs.replace(simulator.frame, info=ModelInfo("test", "other", 8_000))
    assert measured(simulator).ratio == 1.0
    assert measured(simulator).used == simulator.window().estimate


@given(histories())
def test_the_gauge_is_sane(simulator: SessionSimulator) -> None:
    """Over any history: not negative, bounded ratio, and pressure exactly from its thresholds on."""
    now = measured(simulator)
    assert now.used >= 0
    assert 0.5 <= now.ratio <= 3.0
    assert now.is_due == now.trigger.is_due == (now.used >= now.handover_threshold)
    assert now.is_full == (now.used >= now.panic_threshold)
    assert now.fits == (now.used + MODEL.reserve <= MODEL.window)


@given(
    histories() | histories_with_rewrites(),
    st.booleans(),
    st.sampled_from([2_000, 4_000, 128_000]),
    st.integers(0, 900),
)
def test_a_stored_count_matches_the_log(
    simulator: SessionSimulator, images: bool, window: int, reserve: int
) -> None:
    """For any model and policy since; where it cannot know, it says so."""
    count = count_window(simulator.transcript, simulator.policy, simulator.frame.info.window)
    info = msgspec.structs.replace(simulator.frame.info, images=images, window=window)
    simulator.frame = msgspec.structs.replace(simulator.frame, info=info, tools_tokens=77, ratio=1.2)
    assert is_outdated(None, simulator.policy, window)
    if reserve:
        simulator.policy = msgspec.structs.replace(simulator.policy, user_text_tokens=reserve)
    if is_outdated(count, simulator.policy, window):
        assert simulator.transcript.window.handover is not None
        count = count_window(simulator.transcript, simulator.policy, window)
    stored = msgspec.json.decode(msgspec.json.encode(count), type=WindowCount)
    assert used_tokens(stored, simulator.frame) == measured(simulator).used


def full(steps: int = 14) -> SessionSimulator:
    """Return a history that fills more than 85 % of its window with text, which no sweep takes."""
    simulator = SessionSimulator(BALANCED, ModelInfo("test", "small", 20_000, reserve=1_000))
    simulator.send_message("Begin.")
    while not measured(simulator).is_due or simulator.transcript.messages.steps < steps:
        simulator.step("thinking aloud " * 80, 1)
    simulator.answer_all_calls("x")
    return simulator


def due(simulator: SessionSimulator, now: int = 10**9) -> HandoverRange | None:
    return compaction_due.handover_due(simulator.transcript, simulator.policy, measured(simulator), now)


def test_one_judgment_says_why_no_handover_is_made() -> None:
    """Each state of the outlook has its cause; what would free too little is not even tried."""
    simulator = full()
    assert outlook(simulator).state == "due"
    assert outlook(build_history(3)).state == "room"
    simulator.policy = msgspec.structs.replace(BALANCED, handover_least_gain=0.5, handover_keep=0.5)
    too_little = outlook(simulator)
    assert (too_little.state, too_little.least) == ("too_little", 10_000)
    assert too_little.freed is not None
    assert too_little.freed < too_little.least
    assert due(simulator) is None
    assert compaction_due.handover_now(simulator.transcript, simulator.policy, measured(simulator)) is None
    simulator.policy = msgspec.structs.replace(BALANCED, handover_least_messages=1_000)
    assert outlook(simulator) == compaction_due.CompactionOutlook("too_little")
    simulator.policy = BALANCED
    simulator.record(HandoverFailed("No handover was made.", spent=900))
    now = simulator.transcript.last_compaction_at_ms
    assert (outlook(simulator, now).state, outlook(simulator, now).pause_ms) == ("waiting", 120_000)
    simulator.record(HoldSet(True))
    assert outlook(simulator, now).state == "hold"
    info = msgspec.structs.replace(simulator.frame.info, reserve=5_000)
    simulator.frame = msgspec.structs.replace(simulator.frame, info=info)
    assert outlook(simulator, now).state == "full", "the answer has no room: that is not on hold"
    simulator.policy = PROFILES["off"]
    assert outlook(simulator) == compaction_due.NO_COMPACTION


def outlook(simulator: SessionSimulator, now: int = 10**9) -> compaction_due.CompactionOutlook:
    """Return what becomes of the window at a time."""
    return compaction_due.compaction_outlook(simulator.transcript, simulator.policy, measured(simulator), now)


def test_failures_double_the_wait_and_then_open_the_breaker() -> None:
    """60, 120, 240 s; after three in a row only the user can start one; success closes the breaker."""
    simulator = full()
    waits = []
    for _ in range(3):
        waits.append(compaction_due.cooldown_ms(simulator.transcript, simulator.policy))
        since = simulator.transcript.last_compaction_at_ms
        has_failed = len(waits) > 1
        is_held_up = due(simulator, since + waits[-1] - 1) is None
        assert is_held_up == has_failed, "without a failure it does not wait where the next step may not fit"
        assert due(simulator, since + waits[-1]) is not None
        simulator.record(HandoverFailed("No handover was made."))
    assert waits == [60_000, 120_000, 240_000]
    assert compaction_due.is_breaker_open(simulator.transcript)
    assert due(simulator) is None
    assert (
        compaction_due.handover_now(simulator.transcript, simulator.policy, measured(simulator)) is not None
    )
    simulator.hand_over(500)
    assert not compaction_due.is_breaker_open(simulator.transcript)
    assert compaction_due.cooldown_ms(simulator.transcript, simulator.policy) == 60_000


def test_a_clock_set_back_stops_no_handover() -> None:
    """The wait counts elapsed time: an hour that repeats is none."""
    simulator = full()
    simulator.record(HandoverFailed("No handover was made."))
    since = simulator.transcript.last_compaction_at_ms
    assert due(simulator, since) is None
    assert due(simulator, since - 3_600_000) is not None


def test_an_undo_waits_for_the_cooldown() -> None:
    """A handover that the user undid is not repeated immediately."""
    simulator = full()
    simulator.hand_over(500)
    simulator.undo(len(simulator.transcript.rewrites.sweeps))
    since = simulator.transcript.last_event_at_ms
    assert due(simulator, since + 59_999) is None
    assert due(simulator, since + 60_000) is not None


@given(histories(), st.integers(0, 400))
def test_the_expected_savings_are_correct(simulator: SessionSimulator, keep: int) -> None:
    """With a summary of the expected length, the savings are the difference between the windows."""
    cut = furthest_range(simulator.transcript, keep)
    if cut is not None:
        check_savings(simulator, cut)


def test_instructions_that_newer_ones_replaced_are_saved_too() -> None:
    """A handover leaves them out, of each file the newest text stays."""
    simulator = build_history(2)
    for words in ("Use tabs.", "Use blanks, four of them."):
        simulator.record(InstructionsAdded(StandingText("project", words, len(words), "AGENTS.md"), True))
    for number in (2, 3):
        simulator.step(f"Step {number}.", 1)
        simulator.answer_call(0, "output")
    cut = furthest_range(simulator.transcript, 0)
    assert cut is not None
    assert cut.upto > simulator.transcript.window.added_instructions[-1].seq
    check_savings(simulator, cut)


def test_a_handover_that_the_user_excluded_saves_no_more_than_its_line() -> None:
    """It is not in the window: a line stands in its place."""
    simulator = build_history(4)
    simulator.hand_over(400)
    assert exclude(simulator, 0)
    assert simulator.transcript.window.handover is not None
    cut = furthest_range(simulator.transcript, 0)
    assert cut is not None
    check_savings(simulator, cut)


def check_savings(simulator: SessionSimulator, cut: HandoverRange) -> None:
    """Check the savings against the windows before and after a handover."""
    before = simulator.window().estimate
    now = UsageGauge(before, MODEL.window, MODEL.window, MODEL.reserve, 0, False)
    expected = compaction_due.expected_savings(simulator.transcript, simulator.policy, now, cut)
    summary_tokens = compaction_due.SUMMARY_TOKENS + simulator.policy.ledger_tokens
    had_handover = simulator.transcript.window.handover is not None
    handover = simulator.handover_at(cut)
    words = [simulator.transcript.messages.item(seq) for seq in handover.words]
    summary_tokens += sum(item.word_tokens for item in words if item is not None)
    simulator.record(msgspec.structs.replace(handover, tokens=summary_tokens))
    framing = 0 if had_handover else 4
    assert before - simulator.window().estimate == expected - framing


@for_each("size", [128_000, 200_000, 1_000_000])
def test_with_the_defaults_shares_are_of_128k_and_the_end_is_at_95_percent_of_the_model(size: int) -> None:
    """A larger model changes when there is no room, not when older parts leave."""
    info = ModelInfo("openai", "large", window=size, reserve=4_000)
    gauge = gauge_of(64_000, BALANCED, info)
    assert (gauge.window, gauge.share, gauge.handover_threshold) == (128_000, 0.5, 108_800)
    assert (gauge.panic_threshold, gauge.limit) == (
        round(size * 0.95),
        min(round(size * 0.95) - 1, size - 4_000),
    )
    reserved = 4_000 if size == 128_000 else 0
    assert (gauge.reserve_in_window, gauge.free) == (reserved, 64_000 - reserved)
    assert message_limit(BALANCED, gauge) == 0.85 * size - 4_000


def test_a_request_may_take_more_than_is_managed() -> None:
    info = ModelInfo("openai", "large", window=200_000, reserve=4_000)
    within, beyond, beyond_all = (gauge_of(used, BALANCED, info) for used in (128_000, 128_001, 196_001))
    assert (within.exceeds_managed, beyond.exceeds_managed, beyond.free) == (False, True, 0)
    assert (beyond.fits, beyond.is_full, beyond_all.fits, beyond_all.is_full) == (True, False, False, True)
    assert not beyond_all.exceeds_managed, "the model has no room for it either"
    full = gauge_of(300_000, BALANCED, msgspec.structs.replace(info, window=128_000))
    assert not full.exceeds_managed, "all of it is managed"


def test_a_handover_at_the_managed_share_still_leaves_a_small_model_its_answer() -> None:
    info = ModelInfo("openai", "long-answers", window=130_000, reserve=32_000)
    assert gauge_of(0, BALANCED, info).handover_threshold == 98_000 - 12_800
