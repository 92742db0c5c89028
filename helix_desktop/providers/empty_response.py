"""Errors for empty answers, the same in every dialect."""

from __future__ import annotations

from helix_desktop.domain.errors import InvalidModelResponse, ModelRequestRejected
from helix_desktop.domain.messages import StopReason
from helix_desktop.domain.translatable_text import TextContext, verbatim

text = TextContext("Providers")


def missing_answer_error(provider: str, missing_field: str) -> InvalidModelResponse:
    """Return the error for a reply without an answer; `missing_field` names what should be there."""
    return InvalidModelResponse(
        text("Empty response from {provider}.", provider=provider),
        text("The response has no {field} field.", field=missing_field),
        text("Check that the base URL is for a chat model, and check the API type."),
        remedies=("provider_settings",),
    )


def unnamed_call_error(provider: str) -> InvalidModelResponse:
    """Return the error for a tool call without a tool's name."""
    return InvalidModelResponse(
        text("A tool call from {provider} has no name.", provider=provider),
        text("The model or its server can't call tools correctly."),
        text("Send the message again, or choose another model."),
    )


def empty_answer_error(
    provider: str, stop: StopReason, explanation: str = ""
) -> InvalidModelResponse | ModelRequestRejected:
    """Return the error for an answer without text and calls; `explanation` is the provider's own text."""
    if stop == "filter":
        return ModelRequestRejected(
            text("{provider} blocked the response (content filter).", provider=provider),
            verbatim(explanation) if explanation else text("It was blocked before the first word."),
            text("Rephrase the message, or choose another model."),
        )
    if stop == "length":
        return InvalidModelResponse(
            text("Empty response from {provider}.", provider=provider),
            text("The output limit was used up before the first word."),
            text("Raise the server's output limit, or choose a model with a larger context window."),
        )
    return InvalidModelResponse(
        text("Empty response from {provider}.", provider=provider),
        text("It ended without text or a tool call."),
        text("Try again. If it happens again, check the model's context window on the server."),
        remedies=("provider_settings", "choose_model"),
    )
