"""A question to the user, by the agent or by an MCP server in a call, and the user's reply."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal

import msgspec

from helix_desktop.domain.messages import ToolCall

ASK_USER = "ask_user"
"""The name of the tool that asks the user."""
MAX_OPTIONS = 4
_QUESTION_CHARS = 160  # of a question beside its reply
SKIPPED = "The user skipped this question: decide yourself and say what you decided, or go on without it."
NO_USER = "No user is there to answer. Decide yourself, and say in your answer what you decided and why."
UNANSWERED = "The turn ended before the user answered this question."
DENIED = "The user did not allow this call. Do not repeat it; ask what to do instead, or go on without it."
DENIED_TOO = "The user did not allow this call. Do what they said on another call of this step."
CORRECTED = "The user did not allow this call. Do what they say instead: "
CORRECTED_ALONE = (  # one of several calls of a step
    "The user did not allow this call. Each other call of this step has its own result. "
    "Do what they say instead: "
)
_USER_SAYS = " The user says: "  # in logs of before, behind DENIED


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


FieldValue = str | int | float | bool | tuple[str, ...] | None
"""What a field of a form holds; None: nothing."""


FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]


class FormField(msgspec.Struct, frozen=True):
    """A field of a server's form. `choices` are values, each with its title.

    `least` and `most` bound a number, the characters of a text, or how many choices are taken.
    `is_secret`: by its name it asks for a password or key, which servers must not do.
    """

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    is_required: bool = False
    default: FieldValue = None
    choices: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    format: Literal["", "email", "uri", "date", "date-time"] = ""
    is_secret: bool = False


class ServerQuestion(Question, frozen=True):
    """A question of an MCP server: a form, or a page to open at `url`."""

    server: str = ""
    fields: tuple[FormField, ...] = ()
    url: str = ""


class ServerReply(QuestionReply, frozen=True):
    """The reply to a server's question; `content` holds the fields that have a value: name and value.

    Accepting a page to open means that it is opened, at `url`.
    """

    action: Literal["accept", "decline", "cancel"] = "cancel"
    content: tuple[tuple[str, FieldValue], ...] = ()
    url: str = ""


AskUser = Callable[[ServerQuestion], Coroutine[Any, Any, ServerReply | None]]
"""Asks the user who waits for a call; None: no user is there."""


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


_ACTIONS = {"accept": "The user accepted", "decline": "The user declined", "cancel": "The user canceled"}


def server_reply_note(question: ServerQuestion, reply: ServerReply | None) -> str:
    """Return for a call's output what its server asked and what came of it, without the values sent."""
    words = "Declined, as no user is there" if reply is None else _ACTIONS[reply.action]
    names = ", ".join(name for name, _ in reply.content) if reply is not None else ""
    return f"[{question.server} asked: {' '.join(question.text.split())} – {words}{names and f': {names}'}]"


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


def denial_reason(model_text: str) -> str:
    """Return the reason that the user gave, in what the model reads of a denied call; empty: none."""
    words_before = CORRECTED, CORRECTED_ALONE, f"{DENIED}{_USER_SAYS}"
    return next(filter(None, (model_text.partition(words)[2] for words in words_before)), "")


def late_reply_text(question: Question, reply: QuestionReply) -> str:
    """Return the user's message that answers a question of a turn that has ended."""
    return f"Your question: {question.text.strip()}\n\nMy answer: {reply.words}"
