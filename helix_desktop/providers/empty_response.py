"""Errors for empty answers, the same in every dialect."""

from __future__ import annotations

from helix_desktop.domain.errors import InvalidModelResponse, ModelRequestRejected
from helix_desktop.domain.messages import StopReason


def missing_answer_error(provider: str, missing_field: str) -> InvalidModelResponse:
    """Return the error for a reply without an answer; `missing_field` names what should be there."""
    return InvalidModelResponse(
        f"{provider} sent no answer.",
        f"Its reply holds no {missing_field}.",
        "Check that the base URL is that of a chat model, and the dialect.",
        remedies=("provider_settings",),
    )


def unnamed_call_error(provider: str) -> InvalidModelResponse:
    """Return the error for a tool call without a tool's name."""
    return InvalidModelResponse(
        f"{provider} called a tool without naming it.",
        "The model or its server cannot call tools properly.",
        "Send the message again, or choose another model.",
    )


def empty_answer_error(
    provider: str, stop: StopReason, explanation: str = ""
) -> InvalidModelResponse | ModelRequestRejected:
    """Return the error for an answer without text and calls; `explanation` is the provider's own text."""
    if stop == "filter":
        return ModelRequestRejected(
            f"{provider} held the answer back.",
            explanation or "Its content filter stopped it before the first word.",
            "Say it differently, or choose another model.",
        )
    if stop == "length":
        return InvalidModelResponse(
            f"{provider} gave no answer.",
            "The room for the answer was used up before its first word.",
            "Raise the limit of output tokens at the server, or choose a model with a larger window.",
        )
    return InvalidModelResponse(
        f"{provider} gave an empty answer.",
        "It ended without any text and without calling a tool.",
        "Send the message again. If it stays empty, check the window that the server gives this model.",
        remedies=("provider_settings", "choose_model"),
    )
