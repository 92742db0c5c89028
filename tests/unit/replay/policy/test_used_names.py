"""Names that calls use: which messages hold them, found by words, and whether a request's window has one."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FormChosen, SweepMade, SweepReason
from helix_desktop.domain.identifiers import argument_text, identifiers_in
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.replay.next_call_identifiers import occurs_in
from helix_desktop.replay.policy.replay import NameUse, UsedNames, WindowNames

pieces = st.sampled_from(
    [
        "src",
        "/",
        "app",
        ".py",
        ".lock",
        "_",
        "readFile",
        " ",
        "\n",
        ":3",
        "#12",
        "-",
        "é",
        "~",
        "ValueError",
        "'",
    ]
)
texts = st.lists(pieces, max_size=14).map("".join)
messages = st.lists(st.tuples(texts, texts), max_size=6)


@given(messages, messages)
def test_a_name_is_held_by_each_message_before_in_whose_texts_it_occurs(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    """Also if the message came, and was read, before the first call that uses the name."""
    names = UsedNames()
    for part, start in ((first, 0), (second, 2 * len(first))):
        names.add(events_of(part, start))
        while names.read(1):
            pass
    texts_before: list[tuple[int, str]] = []
    for number, (text, arguments) in enumerate(first + second):
        used = names.by_call().get(2 * number + 2, [])
        texts_before.append((2 * number + 1, text))
        expected = {
            name: sorted({seq for seq, earlier in texts_before if occurs_in(name, earlier)})
            for name in identifiers_in(argument_text(as_json(arguments)))
        }
        assert {use.name: use.holders for use in used} == {
            name: seqs for name, seqs in expected.items() if seqs
        }
        texts_before.append((2 * number + 2, arguments))


def events_of(part: list[tuple[str, str]], start: int) -> list[RecordedEvent]:
    """A message of the user and an answer with one call for each pair."""
    events: list[Event] = []
    for text, arguments in part:
        call = ToolCall("call", "write", as_json(arguments))
        events += [UserSpoke(text, 1), AssistantSpoke("", "model", 1, (call,))]
    return [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, start + 1)]


def as_json(arguments: str) -> str:
    return json.dumps({"text": arguments})


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
