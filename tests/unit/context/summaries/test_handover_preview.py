"""The handover as it would be now: without a model, from the log alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.context.summaries.handover import choose_cut, previous_handover
from helix_desktop.context.summaries.handover_revision import HandoverPreviewWriter, preview_handover
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.summary import SECTIONS, SummaryCoverage
from tests.support.histories import (
    DEFAULT_ACTIONS,
    DrawnRandom,
    SessionSimulator,
    apply_action,
    disable_folding,
    histories,
)
from tests.support.session_rewrites import exclude, write_checkpoint

AS_SENT = PROFILES["balanced"], 128_000
"""The policy of the preview, and the tokens of the window."""


@given(histories(), st.data())
def test_written_again_as_the_log_grows_it_is_what_it_would_be_from_scratch(
    simulator: SessionSimulator, data: st.DataObject
) -> None:
    """Whatever happened in between, a repeated step too; nothing is recorded."""
    writer, rng = HandoverPreviewWriter(), DrawnRandom(data.draw)
    for action in ("turn", rng.pick(DEFAULT_ACTIONS), "fail_and_retry", "turn"):
        log = list(simulator.log)
        present = writer.write(simulator.transcript, *AS_SENT)
        assert present == preview_handover(simulator.transcript, *AS_SENT)
        assert simulator.log == log
        assert [section.title for section in present.sections] == [*SECTIONS]
        apply_action(simulator, action, rng)
    assert writer.write(simulator.transcript, *AS_SENT) == preview_handover(simulator.transcript, *AS_SENT)


def test_what_the_user_excludes_is_not_in_it() -> None:
    """Nor in the handover that is written next; an excluded handover feeds neither. Undo brings it back."""
    simulator = SessionSimulator(disable_folding(PROFILES["balanced"]))
    writer = HandoverPreviewWriter()
    for word in ("Always zebra, never yak.", "Always quokka.", "On."):
        simulator.send_message(word)
        simulator.step("So it is.", 0)

    def names(word: str) -> tuple[bool, bool]:
        cut = choose_cut(simulator.transcript, 0)
        assert cut is not None
        handover_sections = simulator.handover_at(cut).sections
        present = writer.write(simulator.transcript, *AS_SENT).sections
        return word in str(present), word in str(handover_sections)

    assert names("zebra") == (True, True)
    exclude(simulator, 0)
    assert names("zebra") == (False, False)
    simulator.undo(0)
    assert names("zebra") == (True, True)
    assert simulator.hand_over(0) is not None
    simulator.send_message("More of it.")
    simulator.step("So it is.", 0)
    assert names("quokka") == (True, True)
    exclude(simulator, 0)
    handover = simulator.transcript.window.handover
    assert handover is not None
    assert handover[0] in simulator.transcript.rewrites.excluded
    assert previous_handover(simulator.transcript) is None
    assert not names("quokka")[1]


def test_what_is_quoted_is_counted_as_kept() -> None:
    """As in the handover that would be made: the user's own words stand below it, the newest that fit."""
    simulator = SessionSimulator(disable_folding(PROFILES["balanced"]))
    for number in range(60):
        simulator.send_message(f"Never touch module{number}x.")
        simulator.step("So it is.", 0)

    def instructions(policy: ContextPolicy) -> SummaryCoverage:
        coverage = preview_handover(simulator.transcript, policy, 128_000).coverage
        return next(kind for kind in coverage if kind.kind == "instructions")

    all_fit = instructions(PROFILES["balanced"])
    assert all_fit.named + all_fit.verbatim == all_fit.total == 60
    assert not all_fit.missing
    few_fit = instructions(replace(PROFILES["balanced"], user_text_tokens=40))
    assert few_fit.verbatim < all_fit.verbatim
    assert few_fit.missing


def test_it_goes_on_from_the_newest_checkpoint() -> None:
    """What a model wrote since the last compaction stands in it, as in the handover that would be made."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Go on.")
    simulator.record(AssistantSpoke("It is begun.", "test/model", 1))
    write_checkpoint(simulator, "Threads were rejected, as they hide errors")
    sections = preview_handover(simulator.transcript, *AS_SENT).sections
    [details] = [section for section in sections if section.title == "Technical Details"]
    assert "Threads were rejected, as they hide errors" in [bullet.text for bullet in details.bullets]
