"""The tool `ask_user`: one question that only the user can answer."""

from __future__ import annotations

from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.question import ASK_USER, MAX_OPTIONS, NO_USER, Question, QuestionOption
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.tool import Arguments, Tool

_MAX_QUESTION, _MAX_LABEL, _MAX_DESCRIPTION = 2_000, 120, 400  # characters


class AskUserArguments(Arguments, frozen=True):
    """The arguments of ask_user."""

    question: str
    options: Annotated[
        tuple[QuestionOption, ...], msgspec.Meta(extra_json_schema={"maxItems": MAX_OPTIONS})
    ] = ()
    multiple: bool = False


class AskUser(Tool[AskUserArguments]):
    """Has the user asked before it runs: their reply is its output. It runs only where no user is there."""

    name = ASK_USER
    arguments_type = AskUserArguments

    async def approval_request(self, call_id: str, args: AskUserArguments) -> Question:
        """Return the question. Raises ToolError if the user could not read it as a question with answers."""
        question = args.question.strip()
        if not question or len(question) > _MAX_QUESTION:
            raise ToolError(
                "The question is empty or too long.",
                f"It may have {_MAX_QUESTION} characters (got {len(question)}).",
                "Ask in a few sentences; explain in your message before the call.",
            )
        _require_options(args.options)
        return Question(call_id, question, args.options, args.multiple and len(args.options) > 1)

    async def run(
        self, call_id: str, args: AskUserArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return that nobody was there to ask."""
        return ToolResult(NO_USER.encode(), target=" ".join(args.question.split()))


def _require_options(options: tuple[QuestionOption, ...]) -> None:
    if len(options) > MAX_OPTIONS:
        raise ToolError(
            f"A question has at most {MAX_OPTIONS} options.",
            f"This one has {len(options)}.",
            "Offer those that differ most; the user can always answer in other words.",
        )
    labels = [option.label.strip() for option in options]
    if any(not label or len(label) > _MAX_LABEL for label in labels):
        raise ToolError(
            "The label of an option is empty or too long.",
            f"It may have {_MAX_LABEL} characters.",
            "Name each in a few words; say what it means in its description.",
        )
    if any(len(option.description) > _MAX_DESCRIPTION for option in options):
        raise ToolError(
            "The description of an option is too long.",
            f"It may have {_MAX_DESCRIPTION} characters.",
            "Explain at length in your message before the call.",
        )
    if len({label.casefold() for label in labels}) < len(labels):
        raise ToolError("Two options have the same label.", fix="Give each another one.")
