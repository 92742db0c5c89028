"""Questions that a turn ended without: their answer can still begin the next one."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.question import Question, parse_question


def missed_questions(transcript: Transcript) -> list[Question]:
    """Return the questions that the newest turn ended without a reply to, oldest first.

    A message of the user closes them, and so does a step after them.
    """
    unanswered: set[str] = set()
    for item in reversed(() if transcript.turn_open else transcript.messages.items):
        match item.event:
            case ToolAnswered(call_id=call_id, outcome="interrupted"):
                unanswered.add(call_id)
            case AssistantSpoke(calls=calls) if calls:
                questions = [parse_question(call) for call in calls if call.id in unanswered]
                return [question for question in questions if question is not None]
            case AssistantSpoke() | UserSpoke():
                return []
            case _:
                pass
    return []
