"""What a model answers when a handover is due: used in any form, asked for again, or no summary at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.summary import NO_MODEL, HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelResponse
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import NO_SWEEP
from tests.support.scripted_model import ScriptedReply, text_reply, thinking_script
from tests.support.written_handovers import written, written_forms

FACTS = [f"the agent says word{number} six hundred times [e4, e5]" for number in range(6)]
GOOD = written(FACTS, "## {title}")
FOREIGN = [
    f"lib/billing_{number}.rs has `add_invoice_{number}` and `round_tax_{number}` [e4, e5]"
    for number in range(6)
]
SENTENCE = "The agent says word0 and word1 six hundred times [e4, e5]."


async def rig_whose_writer_answers(*answers: ScriptedReply) -> AgentRig:
    """Return a conversation in which a handover was due once; the last answer is given again and again."""
    left = list(answers)
    rig, _ = await begin_with(
        script=thinking_script(12),
        summary=lambda _: left.pop(0) if len(left) > 1 else left[0],
        policy=NO_SWEEP,
    )
    await rig.run_and_wait("Think.")
    return rig


@pytest.mark.parametrize("form", written_forms(FACTS))
async def test_one_request_is_enough_in_any_form(form: str) -> None:
    rig = await rig_whose_writer_answers(text_reply(written_forms(FACTS)[form]))
    (handover,) = rig.events(HandoverMade)
    assert handover.model == "test/scripted"
    assert [section.title for section in handover.sections] == [*TITLES]
    assert all(section.bullets[0].sources == (4, 5) for section in handover.sections)
    assert len(rig.model.summary_requests) == 1


@pytest.mark.parametrize("left_out", TITLES)
async def test_five_of_six_sections_are_used_at_once(left_out: str) -> None:
    parts = [part for part in written(FACTS, "## {title}", between="%%").split("%%") if left_out not in part]
    rig = await rig_whose_writer_answers(text_reply("\n".join(parts)))
    (handover,) = rig.events(HandoverMade)
    assert len(rig.model.summary_requests) == 1
    assert [section.title for section in handover.sections if not section.bullets] == [left_out]


BAD: dict[str, tuple[ScriptedReply, str]] = {
    "a refusal": (text_reply("I can't help with that."), "Sections are missing: "),
    "a refusal below headings": (
        text_reply(written(["I'm sorry, I can't help [e4, e5]"] * 6, "## {title}")),
        "It is a refusal.",
    ),
    "nothing": ([ModelResponse("")], "The model sent no text."),
    "blank lines": (text_reply(" \n\n "), "The model sent no text."),
    "a sentence": (text_reply(SENTENCE), "Sections are missing: "),
    "empty sections": (text_reply(written(["None"] * 6, "## {title}")), "It is empty."),
    "another session": (text_reply(written(FOREIGN, "## {title}")), "don't occur in the history"),
    "nothing of the history": (
        text_reply(written(["Work went on as the user wished"] * 6, "## {title}")),
        "name no entries",
    ),
    "broken JSON": (text_reply('{"Project Background": ["the agent says wor'), "Sections are missing: "),
}
DOUBTFUL: dict[str, tuple[ScriptedReply, str]] = {
    "two sections": (
        text_reply("\n".join(GOOD.splitlines()[:4])),
        "Sections are missing: Completed Work, Current Issues, TODO Items, User Preferences.",
    ),
    "a cut text": ([ModelResponse(GOOD[:-40], stop="length")], "It ended before it was whole"),
}


@pytest.mark.parametrize("kind", BAD | DOUBTFUL)
async def test_what_can_t_be_used_is_asked_for_again_with_the_reason(kind: str) -> None:
    answer, reason = (BAD | DOUBTFUL)[kind]
    rig = await rig_whose_writer_answers(answer, text_reply(GOOD))
    (handover,) = rig.events(HandoverMade)
    assert handover.model == "test/scripted"
    assert all(section.bullets for section in handover.sections)
    first, second = (request.messages[-1].text for request in rig.model.summary_requests)
    assert second.startswith(first)
    assert reason in second[len(first) :]


@pytest.mark.parametrize("kind", BAD)
async def test_after_three_answers_none_is_asked_for_and_the_messages_stay(kind: str) -> None:
    """A tenth of the window is free then: a summary without a model comes when it is full, or after more."""
    rig = await rig_whose_writer_answers(BAD[kind][0])
    assert len(rig.model.summary_requests) == 3
    assert len(rig.events(HandoverFailed)) == 1
    assert no_summaries(rig.events(HandoverMade))


@pytest.mark.parametrize("kind", DOUBTFUL)
async def test_what_can_be_read_is_used_if_no_better_text_comes(kind: str) -> None:
    answer, reason = DOUBTFUL[kind]
    rig = await rig_whose_writer_answers(answer)
    assert len(rig.model.summary_requests) == 3
    (handover,) = rig.events(HandoverMade)
    assert handover.model == "test/scripted"
    assert handover.sections[0].bullets
    assert reason in handover.fallback


def no_summaries(handovers: Sequence[HandoverMade]) -> bool:
    return not any(handover.model == NO_MODEL for handover in handovers)
