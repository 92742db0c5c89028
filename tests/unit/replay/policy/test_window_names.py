"""Whether a name is in the window of a request, as its messages are sent after each rewrite."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FormChosen, SweepMade, SweepReason
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay.policy.replay import NameUse, WindowNames

FRAME = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)


def test_a_form_that_the_user_chose_is_gone_when_its_output_is_swept() -> None:
    """As when a request does not fit: the marker stands there then, whatever form was chosen before."""
    answer = ToolAnswered("c", "read", "much else", "d" * 64, 9, 9, 5)
    events: list[Event] = [UserSpoke("Go.", 2), AssistantSpoke("", "m", 5), answer]
    transcript = Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1))
    names = WindowNames(transcript, PROFILES["balanced"], FRAME, {"only_here"}, {1: 1, 2: 2, 3: 3})
    found = []
    for rewrite in (FormChosen(3, "preview", "see only_here", 9), SweepMade((3,), 4, SweepReason.BATCH)):
        transcript.apply(RecordedEvent(transcript.last_seq + 1, 9, rewrite))
        names.add([NameUse("only_here", "only_here", [3])])
        found.append(names.found)
    assert found == [1, 1]
