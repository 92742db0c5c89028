"""The replay of a policy decides what the live engine decides that is asked before each request."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from helix_desktop.context.policy_numbers import FIELDS as POLICY_FIELDS
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import RequestTooLarge
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    HandoverTrigger,
    Pinned,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import OpeningGiven, PolicyChosen, StandingText
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced, checkpoint_in
from helix_desktop.domain.messages import ModelInfo, Usage
from helix_desktop.replay import Replayer
from helix_desktop.replay.billing import RequestTotals
from helix_desktop.replay.next_call_identifiers import IdentifierCoverageCounter, find_uses
from helix_desktop.replay.policy.policy_replay import PolicyReplay, replayed_part
from helix_desktop.replay.policy.replay import ReplayStopped, SessionReplay
from helix_desktop.replay.recording import SessionFacts, as_message, with_turn_ends
from helix_desktop.replay.token_counters import LineTokenCounter, MessageTokenCounter
from tests.support.policy_replay import replay_policy
from tests.support.synthetic_recordings import make_session

WINDOW = 12_000
MODEL = ModelInfo("replay", "recorded", WINDOW, reserve=0)
FORMS = {"intake_above": 0, "preview_above": 0.8, "handle_digits": 12}
"""What is decided when an output arrives is in the log: it does not depend on the policy replayed."""
POLICIES = {
    name: msgspec.structs.replace(PROFILES[profile], **FORMS, **fields)
    for name, profile, fields in (
        ("balanced", "balanced", {}),
        ("lean", "lean", {}),
        ("handovers", "classic", {"handover_at": 0.4, "handover_least_messages": 4, "checkpoint_tokens": 0}),
        ("observations", "lean", {"observe_at": 0.1, "observe_place_at": 0.12}),
        ("off", "off", {}),
    )
}


class LiveRun(NamedTuple):
    """What the live engine did: its log, the tokens of each request, and what was measured of these."""

    log: tuple[RecordedEvent, ...]
    estimates: list[int]
    totals: RequestTotals
    coverage: IdentifierCoverageCounter
    summary_tokens: list[int]


def run_live(messages: list[dict[str, Any]], policy: ContextPolicy) -> LiveRun:
    """Feed a recording to the live engine and take every request."""
    counter = MessageTokenCounter.bundled()
    totals = RequestTotals(counter, WINDOW)
    coverage = IdentifierCoverageCounter()
    uses = find_uses(list(map(as_message, messages)))
    estimates = []
    with closing(Replayer(policy, WINDOW)) as replayer:
        for message, is_turn_end in with_turn_ends(messages):
            if message["role"] == "assistant":
                request = tuple(map(as_message, replayer.request()))
                estimates.append(replayer._estimate)
                totals.add(request)
                coverage.add(len(estimates), uses[len(estimates) - 1], request)
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return LiveRun(tuple(replayer.session.log), estimates, totals, coverage, replayer.summaries)


def session(seed: int, steps: int) -> list[dict[str, Any]]:
    """A recording without a system prompt: only the log of a session is replayed."""
    return make_session(seed, steps)[1:]


@functools.cache
def live_session(seed: int, steps: int, policy: str = "lean") -> LiveRun:
    return run_live(session(seed, steps), POLICIES[policy])


@functools.cache
def live_session_without_checkpoints(seed: int, steps: int, policy: str) -> LiveRun:
    """As a replay has it: a checkpoint would take one of the numbers by which notes name messages."""
    return run_live(session(seed, steps), replace(POLICIES[policy], checkpoint_tokens=0))


def rewrites_of(log: Sequence[RecordedEvent]) -> list[tuple[int, str, int]]:
    """The time, kind and gain of each rewrite in a log."""
    return [
        (recorded.at // 1_000, str(type(event).__struct_config__.tag), gain_of(event))
        for recorded in log
        if isinstance(event := recorded.event, SweepMade | FoldMade | ObservationsPlaced | HandoverMade)
    ]


def gain_of(event: Event) -> int:
    if isinstance(event, HandoverMade):
        return event.before - event.after
    assert isinstance(event, SweepMade | FoldMade | ObservationsPlaced)
    return event.saved


def rewrites_in(replay: PolicyReplay) -> list[tuple[int, str, int]]:
    return [
        (rewrite.at, rewrite.kind, rewrite.tokens_before - rewrite.tokens_after)
        for rewrite in replay.rewrites
    ]


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "off"])
def test_a_policy_is_replayed_as_the_live_engine_would_have_managed_the_session(name: str) -> None:
    """Also one under which the session did not run: what its own policy did is left out.

    Its checkpoints, too: they cover messages of its own numbers.
    """
    recorded = live_session(7, 40)
    assert any(checkpoint_in(entry.event) for entry in recorded.log)
    live = live_session_without_checkpoints(7, 40, name)
    replay = replay_policy(recorded.log, POLICIES[name], MODEL, 0)
    assert rewrites_in(replay) == rewrites_of(live.log)
    assert [point.tokens for point in replay.points] == live.estimates
    totals = live.totals.result(live.summary_tokens)
    assert replay.sent == pytest.approx(totals.input_tokens, rel=0.0015)
    assert replay.billed == pytest.approx(totals.billed, rel=0.02)
    assert replay.coverage == pytest.approx(live.coverage.result.share)
    assert replay.is_exact
    assert replay.window == WINDOW
    assert replay.rewrites
    for rewrite in replay.rewrites:
        after = [point.tokens for point in replay.points if point.seq >= rewrite.seq]
        assert not after or after[0] < rewrite.tokens_before, "it stands at the first request with it"


@pytest.mark.parametrize("name", POLICIES)
def test_which_event_a_request_was_sent_after_is_not_that_of_a_replay(name: str) -> None:
    """Other rewrites have other numbers there, and each request comes right before its answer."""
    log = live_session(7, 24).log

    def replayed(*, is_rewritten_meanwhile: bool) -> PolicyReplay:
        def reported(seq: int, event: Event) -> Event:
            if not isinstance(event, AssistantSpoke):
                return event
            return msgspec.structs.replace(
                event,
                model=MODEL.label,
                estimate=100 * seq,
                usage=Usage(100 * seq + 3_000, 10),
                sent_after=seq - 1 if is_rewritten_meanwhile else 0,
            )

        events = [msgspec.structs.replace(entry, event=reported(entry.seq, entry.event)) for entry in log]
        return replay_policy(events, POLICIES[name], MODEL, 0)

    assert replayed(is_rewritten_meanwhile=True) == replayed(is_rewritten_meanwhile=False)


def test_what_the_user_did_to_single_outputs_stays_whatever_the_policy() -> None:
    """Pins, chosen forms and repeated steps name events, whose numbers differ in each run."""
    log = live_session(3, 30).log
    replay = SessionReplay(SessionFacts(MODEL), LineTokenCounter.bundled())
    output = next(entry for entry in reversed(log) if isinstance(entry.event, ToolAnswered))
    size = 9_000
    replay.add(log)
    before = replay.run(POLICIES["balanced"])
    at = log[-1].at
    seq = log[-1].seq
    added: list[Event] = [Pinned(output.seq), FormChosen(output.seq, "preview", "x", size)]
    added += [entry.event for entry in live_session(4, 2).log[1:]]
    replay.add([RecordedEvent(seq + n, at, event) for n, event in enumerate(added, 1)])
    after = replay.run(POLICIES["balanced"])
    assert after.points[: len(before.points)] == before.points
    assert after.points[len(before.points)].tokens > before.points[-1].tokens + size / 2


def test_what_the_user_excluded_is_out_of_the_replay_until_that_is_undone() -> None:
    """Its events name others by number, and may come in another part of the log than those."""
    log = live_session(3, 24).log
    of_policy = next(entry.seq for entry in log if isinstance(entry.event, FoldMade))
    output = next(entry for entry in reversed(log) if isinstance(entry.event, ToolAnswered))
    assert isinstance(output.event, ToolAnswered)
    at = log[-1].at
    next_seq = log[-1].seq + 1
    turn = [entry.event for entry in live_session(4, 1).log[1:]]

    def sent(*events: Event) -> int:
        replay = SessionReplay(SessionFacts(MODEL), LineTokenCounter.bundled())
        replay.add(log)
        for seq, event in enumerate((*events, *turn), next_seq):
            replay.add([RecordedEvent(seq, at, event)])
        return replay.run(POLICIES["off"]).sent

    excluded = Excluded((output.seq,), "x", 1, "0" * 64)
    assert sent(excluded) < sent() - output.event.tokens / 2
    assert sent(excluded, Undone(next_seq)) == sent(Excluded((of_policy,), "x", 9_999, "0" * 64)) == sent()


def test_a_name_that_only_an_excluded_output_held_is_not_covered() -> None:
    log = live_session(3, 24).log
    events = [entry.event for entry in log]
    output = next(event for event in events if isinstance(event, ToolAnswered))
    answer = next(event for event in events if isinstance(event, AssistantSpoke) and event.calls)
    path = "src/only_in_this_output.py"
    output = msgspec.structs.replace(output, text=f"see {path}")
    use = msgspec.structs.replace(answer.calls[0], arguments=msgspec.json.encode({"path": path}).decode())
    last = log[-1]

    def coverage(*events: Event) -> float:
        added = (answer, output, *events, msgspec.structs.replace(answer, calls=(use,)))
        replay = [RecordedEvent(last.seq + n, last.at, event) for n, event in enumerate(added, 1)]
        roomy = msgspec.structs.replace(MODEL, window=10 * WINDOW)
        share = replay_policy([*log, *replay], POLICIES["off"], roomy, 0).coverage
        assert share is not None
        return share

    assert coverage(Excluded((last.seq + 2,), "x", 1, "0" * 64)) < coverage()


def requests_before_the_stop(messages: list[dict[str, Any]], policy: ContextPolicy) -> int:
    """Return how many requests the live engine sends until it stops one as too large."""
    sent = 0
    with closing(Replayer(policy, WINDOW)) as replayer:
        for message in messages:
            if message["role"] == "assistant":
                try:
                    replayer.request()
                except RequestTooLarge:
                    return sent
                sent += 1
            replayer.feed(message)
    raise AssertionError("each request fits")


def test_the_first_request_that_is_stopped_is_the_one_that_the_live_engine_stops() -> None:
    """That leaves the answer no room; what was sent counts all requests."""
    messages = session(3, 24)
    off = POLICIES["off"]
    log = run_live(messages, POLICIES["lean"]).log
    fits = requests_before_the_stop(messages, off)
    replay = replay_policy(log, off, MODEL, 0)
    assert replay.first_too_large == fits + 1
    assert replay.sent == sum(point.tokens for point in replay.points)
    answer_room = msgspec.structs.replace(MODEL, reserve=WINDOW // 4)
    stopped = replay_policy(log, off, answer_room, 0).first_too_large
    assert 0 < stopped <= fits, "before the context window is full"
    used = [point.tokens for point in replay.points]
    assert used[stopped - 2] + answer_room.reserve <= WINDOW < used[stopped - 1] + answer_room.reserve
    roomy = msgspec.structs.replace(MODEL, window=100 * WINDOW)
    assert not replay_policy(log, off, roomy, 0).first_too_large


def test_each_request_counts_as_the_provider_reported_it() -> None:
    """By its own report, though later ones differ; unreported, as it was shown then."""
    log = list(live_session(7, 12, "off").log)
    reported = list[int]()
    for position, recorded in enumerate(log):
        if isinstance(answer := recorded.event, AssistantSpoke):
            ratio = 1.1 - len(reported) / 100
            reported.append(round(answer.estimate * ratio))
            usage = Usage(reported[-1], 5) if len(reported) != 3 else None
            answer = msgspec.structs.replace(answer, usage=usage, ratio=1.0 if usage else ratio)
            log[position] = msgspec.structs.replace(recorded, event=answer)
    replay = SessionReplay(SessionFacts(MODEL, ratio=0.8), LineTokenCounter.bundled())
    replay.add(log)
    for result in (replay.approximate(POLICIES["off"]), replay.run(POLICIES["off"])):
        assert [point.tokens for point in result.points] == reported
        assert result.sent == sum(reported)


def test_a_repeated_step_takes_its_messages_out_of_the_window() -> None:
    log = list(live_session(3, 12).log)
    middle = log[len(log) // 2]
    added = [
        TurnRetried(0, middle.seq),
        *(entry.event for entry in live_session(4, 2).log[1:]),
    ]
    log += [RecordedEvent(log[-1].seq + n, log[-1].at, event) for n, event in enumerate(added, 1)]
    points = replay_policy(log, POLICIES["off"], MODEL, 0).points
    assert points[-2].tokens < points[-3].tokens


def test_the_first_picture_counts_what_the_session_began_with() -> None:
    log = live_session(7, 4, "off").log
    begun = OpeningGiven((StandingText("personal", "Be brief.", 250),))
    later = [RecordedEvent(recorded.seq + 1, recorded.at, recorded.event) for recorded in log]
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    replay.add([RecordedEvent(1, log[0].at, begun), *later])
    assert replay.approximate(POLICIES["off"]).sent == replay.run(POLICIES["off"]).sent


def test_the_first_picture_has_every_request_and_no_coverage() -> None:
    """Without rewrites it is exact; with them it is of the same size."""
    live = live_session(7, 40)
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    replay.add(live.log)
    for name in ("off", "balanced", "handovers"):
        first = replay.approximate(POLICIES[name])
        exact = replay.run(POLICIES[name])
        assert [point.seq for point in first.points] == [point.seq for point in exact.points]
        assert not first.is_exact
        assert first.coverage is None
        if name == "off":
            assert first.sent == exact.sent
            assert first.billed == pytest.approx(exact.billed)
        assert 0.5 < first.sent / exact.sent < 2
    folding = msgspec.structs.replace(PROFILES["lean"], sweep="fixed", sweep_fixed=1_000_000)
    (early, *_), (late, *_) = (
        replay.approximate(msgspec.structs.replace(folding, anchor_tokens=names)).rewrites
        for names in (0, 40_000)
    )
    assert early.seq < late.seq, "a fold waits until its names pay as well"


@functools.cache
def long_log() -> tuple[RecordedEvent, ...]:
    with closing(Replayer("off", window=1 << 40)) as replayer:
        for message, is_turn_end in with_turn_ends(session(7, 250)):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return tuple(replayer.session.log)


@pytest.mark.parametrize("name", ["plain", "classic", "balanced", "lean"])
def test_the_bill_of_the_first_picture_is_near_the_exact_one(name: str) -> None:
    """Plain caches outputs by age alone, however many tokens it protects; it made a handover of them.

    Of the last two turns the picture keeps in a small context what the engine knows to be outdated.
    """
    model = msgspec.structs.replace(MODEL, window=128_000)
    replay = SessionReplay(SessionFacts(model, 500), LineTokenCounter.bundled())
    replay.add(long_log())
    first = replay.approximate(PROFILES[name])
    exact = replay.run(PROFILES[name])
    assert first.billed == pytest.approx(exact.billed, rel=0.25)
    assert first.sent == pytest.approx(exact.sent, rel=0.3)


NOT_IN_FIRST_PICTURES = frozenset({
    *("profile", "subagent_profile", "intake_ask", "intake_deadline_s"),  # nothing of one session's replay
    *("budget_tokens", "budget_cost", "cache_ttl_s"),  # nor these
    *("protect_recalls", "protect_argument_steps"),  # no text is read
    *("reflect_at", "handover_least_messages", "condense_message", "handle_digits", "panic_to"),
})  # fmt: skip
"""The fields that a first picture leaves out, as it says."""


class _ReadPolicy:
    """A policy that remembers which of its fields are read."""

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy
        self.read = set[str]()

    def __getattr__(self, name: str) -> Any:
        if name not in ContextPolicy.__struct_fields__:
            return partial(getattr(ContextPolicy, name), self)
        self.read.add(name)
        return getattr(self.policy, name)


def test_a_field_of_the_policy_that_first_pictures_forget_is_named() -> None:
    """A trigger of compaction has fields of its own: one that is read nowhere in them is found, too."""
    replay = SessionReplay(
        SessionFacts(msgspec.structs.replace(MODEL, window=128_000), 500), LineTokenCounter.bundled()
    )
    replay.add(long_log())
    compacted = msgspec.structs.replace(PROFILES["classic"], handover_at=0.3)
    policies: list[Any] = [_ReadPolicy(policy) for policy in (*PROFILES.values(), compacted)]
    for policy in policies:
        replay.approximate(policy)
    read = set[str]().union(*(policy.read for policy in policies))
    assert read == {*ContextPolicy.__struct_fields__} - NOT_IN_FIRST_PICTURES


@pytest.mark.parametrize("kind", [kind for kind in HandoverTrigger if kind.is_by_policy])
def test_a_first_picture_compacts_as_the_engine_does_by_each_trigger(kind: HandoverTrigger) -> None:
    """Each at its lowest: a trigger that first pictures forget compacts nothing in them."""
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    replay.add(live_session(7, 40).log)
    late = msgspec.structs.replace(POLICIES["handovers"], handover_at=0.95)
    lowest = POLICY_FIELDS[kind.policy_field].minimum or 1
    policy = msgspec.structs.replace(late, **{kind.policy_field: lowest})
    for result in (replay.run, replay.approximate):
        handovers = [
            sum(it.kind == "handover-made" for it in result(each).rewrites) for each in (late, policy)
        ]
        assert handovers[0] < handovers[1], result


def test_a_first_picture_keeps_the_outputs_of_a_tool_that_is_never_cached() -> None:
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    replay.add(live_session(7, 40).log)
    tools = {
        recorded.event.name
        for recorded in live_session(7, 40).log
        if isinstance(recorded.event, ToolAnswered)
    }
    policy = msgspec.structs.replace(POLICIES["lean"], observe_at=0.0, never_cache=tuple(tools))
    assert {rewrite.kind for rewrite in replay.approximate(POLICIES["lean"]).rewrites} >= {"sweep-made"}
    assert {rewrite.kind for rewrite in replay.approximate(policy).rewrites} <= {"handover-made"}


def test_a_picture_is_exact_up_to_where_its_replay_is_and_an_estimate_from_there() -> None:
    live = live_session(7, 40)
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    policy = POLICIES["balanced"]
    replay.add(live.log)
    estimate = replay.approximate(policy)
    parts = list[PolicyReplay]()

    def look() -> bool:
        parts.append(replay.picture(estimate))
        return False

    exact = replay.run(policy, look)
    assert parts[0] == estimate
    assert 0 < parts[-1].exact_points < len(exact.points)
    for part in parts:
        begun = part.exact_points
        assert part.points == exact.points[:begun] + estimate.points[begun:]
        assert part.sent == sum(point.tokens for point in part.points)
        assert not part.is_exact
    assert parts[-1].billed not in (estimate.billed, exact.billed), (
        "what is exact, and the estimate of the rest"
    )


def test_a_picture_has_nothing_of_a_replay_that_decided_otherwise_in_the_meantime() -> None:
    """One that came to the same goes on with the session, until it reads what differs."""
    log = live_session(7, 60).log
    policy = POLICIES["handovers"]
    changed = msgspec.structs.replace(policy, handover_keep=0.3)
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    pictures = list[PolicyReplay]()
    replay.add(log[:20])
    assert replay.run(policy).points == replay.run(changed, lambda: True).points, "no decision read it yet"
    replay.add(log[20:])
    estimate = replay.approximate(changed)

    def look() -> bool:
        pictures.append(replay.picture(estimate))
        return False

    exact = replay.run(changed, look)
    assert exact.points != replay.run(policy).points
    for picture in pictures:
        assert picture.points[: picture.exact_points] == exact.points[: picture.exact_points]


def test_an_empty_session_is_replayed() -> None:
    replay = replay_policy([], PROFILES["balanced"], MODEL, 100)
    assert (replay.points, replay.rewrites, replay.sent, replay.coverage) == ((), (), 0, None)


@pytest.mark.parametrize("name", ["balanced", "handovers", "observations"])
def test_what_follows_the_newest_request_changes_no_replay_yet(name: str) -> None:
    """Such as a choice, an undo or an output: the next request is the first with it."""
    log = live_session(7, 40).log
    user = UserSpoke("And now?", 40)
    for end in range(len(log), 0, -17):
        cut = log[:end]
        newest = end
        later: list[Event] = [PolicyChosen(), Pinned(newest), Unpinned(newest), user]
        whole = [*cut, *(RecordedEvent(end + n, cut[-1].at + n, event) for n, event in enumerate(later, 1))]
        part = replayed_part(whole)
        assert len(part) < len(whole)
        assert replay_policy(whole, POLICIES[name], MODEL, 500) == replay_policy(
            part, POLICIES[name], MODEL, 500
        )
    assert list(replayed_part([])) == []


@pytest.mark.parametrize("name", ["balanced", "handovers", "observations"])
def test_a_replay_goes_on_with_its_session_as_if_it_had_begun_anew(name: str) -> None:
    """Also one that was called off, and with names that no call had used before."""
    log = live_session(7, 40).log
    replay = SessionReplay(SessionFacts(MODEL, 500), LineTokenCounter.bundled())
    for start in range(0, len(log), 30):
        replay.add(log[start : start + 30])
        with suppress(ReplayStopped):
            replay.run(POLICIES[name], partial(next, iter((False, True)), True))
        assert replay.run(POLICIES[name]) == replay_policy(log[: start + 30], POLICIES[name], MODEL, 500)


FIELDS: dict[str, dict[str, Any]] = {
    "balanced": {"sweep_fixed": 9_000, "protect_steps": 5, "condense_keep": 0.2},
    "handovers": {"reflect_at": 0.3, "handover_keep": 0.2},
    "off": {"protect_steps": 5, "handover_at": 0.5},
}


@pytest.mark.parametrize("name", list(FIELDS))
def test_a_replay_that_read_no_field_that_differs_is_the_replay_of_the_changed_policy(name: str) -> None:
    """Also when the field is read later, as the session goes on, and when the first one was called off."""
    log = live_session(7, 25).log
    replay = SessionReplay(SessionFacts(MODEL), LineTokenCounter.bundled())
    base = POLICIES[name]
    for start, end in ((0, 40), (40, len(log))):
        replay.add(log[start:end])
        with suppress(ReplayStopped):
            replay.run(base, partial(next, iter((False, True)), True))
        for field, value in FIELDS[name].items():
            changed = msgspec.structs.replace(base, **{field: value})
            assert replay.run(changed) == replay_policy(log[:end], changed, MODEL, 0), field
            replay.run(base)


def test_a_field_that_no_decision_read_changes_nothing_at_once() -> None:
    log = live_session(3, 40).log
    replay = SessionReplay(SessionFacts(MODEL), LineTokenCounter.bundled())
    replay.add(log)
    result = replay.run(POLICIES["balanced"])
    changed = msgspec.structs.replace(POLICIES["balanced"], sweep_fixed=9_000, preview_tokens=100)
    assert replay.run(changed, lambda: True) == result  # would be called off if it was played


LARGE_MODEL = ModelInfo("replay", "recorded", 128_000)


def messages() -> list[dict[str, Any]]:
    """Twelve reads, each third of a file of some 6,000 tokens."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Read them."}]
    for number in range(12):
        lines = 700 if number % 3 == 0 else 20
        text = "\n".join(f"value_{number}_{line} = compute({line})" for line in range(lines))
        call = {"id": f"c{number}", "name": "Read", "arguments": f'{{"file_path": "f{number}.py"}}'}
        found.append({"role": "assistant", "content": "I read.", "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{number}", "name": "Read", "content": text})
    return [*found, {"role": "assistant", "content": "All of them are read."}]


def recorded_under(profile: str, session: Sequence[dict[str, Any]] = ()) -> list[RecordedEvent]:
    with closing(Replayer(profile, LARGE_MODEL.window)) as replayer:
        for message, is_turn_end in with_turn_ends([*session] or messages()):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return list(replayer.session.log)


def replay_of(log: list[RecordedEvent]) -> SessionReplay:
    replay = SessionReplay(SessionFacts(LARGE_MODEL, 500), LineTokenCounter.bundled())
    replay.add(log)
    return replay


def test_off_sends_in_full_what_the_policy_in_force_had_shortened() -> None:
    """As if it had been off from the start: it said that it sends every request unchanged."""
    log = recorded_under("balanced")
    outputs = [recorded.event for recorded in log if isinstance(recorded.event, ToolAnswered)]
    assert sum(output.form == "preview" for output in outputs) == 4
    short = replay_of(log)
    full = replay_of(recorded_under("off"))
    off = PROFILES["off"]
    assert [point.tokens for point in short.run(off).points] == [
        point.tokens for point in full.run(off).points
    ]
    assert short.approximate(off).sent == short.run(off).sent


@pytest.mark.parametrize("profile", ["lean", "balanced"])
def test_a_policy_that_shortens_it_too_has_it_as_it_came(profile: str) -> None:
    replay = replay_of(recorded_under("balanced"))
    largest = max(point.tokens for point in replay.run(PROFILES[profile]).points)
    assert largest < max(point.tokens for point in replay.run(PROFILES["off"]).points) / 2
    assert replay.approximate(PROFILES[profile]).sent < replay.approximate(PROFILES["off"]).sent / 2


@pytest.mark.parametrize("profile", ["lean", "balanced"])
def test_a_policy_shortens_what_came_in_full_while_it_was_off(profile: str) -> None:
    """As if it had been in force from the start: it said that large outputs stay whole."""
    full = replay_of(recorded_under("off"))
    short = replay_of(recorded_under(profile))
    policy = PROFILES[profile]
    assert [point.tokens for point in full.run(policy).points] == [
        point.tokens for point in short.run(policy).points
    ]
    estimated = full.approximate(policy).sent
    exact = full.run(policy).sent
    assert abs(estimated - exact) < exact * 0.1


def test_a_lower_threshold_shortens_more() -> None:
    replay = replay_of(recorded_under("balanced"))
    policy = PROFILES["balanced"]
    lower = replace(policy, intake_above=100, preview_tokens=100)
    assert replay.run(lower).sent < replay.run(policy).sent
    assert replay.approximate(lower).sent < replay.approximate(policy).sent


def test_names_that_only_the_whole_output_has_are_not_in_a_preview() -> None:
    """Line 350 of a file of 700 is in no preview of it, and the agent asks for what stands there."""
    search_call = {"id": "c99", "name": "Grep", "arguments": '{"pattern": "value_0_350"}'}
    session = [
        *messages()[:3],
        {"role": "assistant", "content": "Where is it used?", "tool_calls": [search_call]},
        {"role": "tool", "tool_call_id": "c99", "name": "Grep", "content": "No match."},
        {"role": "assistant", "content": "Nowhere."},
    ]
    replay = replay_of(recorded_under("off", session))
    assert replay.run(PROFILES["off"]).coverage == 1.0
    assert (replay.run(PROFILES["balanced"]).coverage or 0.0) < 1.0
