"""A question of the agent to the user, and the user's reply."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.messages import ToolCall

ASK_USER = "ask_user"
"""The name of the tool that asks the user."""
MAX_OPTIONS = 4
_QUESTION_CHARS = 160  # of a question beside its reply
SKIPPED = "The user skipped this question: decide yourself and say what you decided, or go on without it."
NO_USER = "No user is there to answer. Decide yourself, and say in your answer what you decided and why."
UNANSWERED = "The turn ended before the user answered this question."


class QuestionOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer to choose from: a few words, and what it means."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True):
    """A question that a call asks; the user may always answer in other words, or skip it.

    With `multiple`, several options may be chosen. `subagent_title` is the title of the subagent that asks,
    if any. `is_from_app`: Helix asks it, and only an option answers it.
    """

    call_id: str
    text: str
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    subagent_title: str = ""
    is_from_app: bool = False


class QuestionReply(msgspec.Struct, frozen=True):
    """The user's reply: the labels of the chosen options, and their own words; neither: it was skipped."""

    options: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_skip(self) -> bool:
        return not (self.options or self.text.strip())

    @property
    def words(self) -> str:
        """The answer in the user's words, the options first; empty if it was skipped."""
        return "; ".join(part for part in (", ".join(self.options), self.text.strip()) if part)


class _QuestionArguments(msgspec.Struct, frozen=True):
    question: str
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False


def parse_question(call: ToolCall) -> Question | None:
    """Parse the question of a recorded call; None if it asks none, or not in a valid form."""
    if call.name != ASK_USER:
        return None
    try:
        args = msgspec.json.decode(call.arguments, type=_QuestionArguments, strict=False)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return Question(call.id, args.question, args.options, args.multiple)


def reply_text(reply: QuestionReply) -> str:
    """Return a reply as the agent reads it."""
    if reply.is_skip:
        return SKIPPED
    lines = []
    if reply.options:
        lines.append(f"The user chose: {'; '.join(reply.options)}")
    if own_words := reply.text.strip():
        lines.append(f"The user {'adds' if reply.options else 'answers'}: {own_words}")
    return "\n".join(lines)


def decision_text(question: str, reply: QuestionReply) -> str:
    """Return question and reply on one line, for notes and summaries; empty if it was skipped.

    The reply is whole; of a long question the end stands, which asks.
    """
    return "" if reply.is_skip else answered_text(question, reply.words)


def answered_text(question: str, reply: str) -> str:
    """Return a question, of a long one the end, and what was replied on one line."""
    plain = " ".join(question.split())
    if len(plain) > _QUESTION_CHARS:
        plain = f"…{plain[-_QUESTION_CHARS:].partition(' ')[2] or plain[-_QUESTION_CHARS:]}"
    return f"{plain} – {' '.join(reply.split())}"


def late_reply_text(question: Question, reply: QuestionReply) -> str:
    """Return the user's message that answers a question of a turn that has ended."""
    return f"Your question: {question.text.strip()}\n\nMy answer: {reply.words}"
