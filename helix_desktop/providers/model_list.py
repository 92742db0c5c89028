"""List the models of a server, with their reported specs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from helix_desktop.domain.errors import InvalidModelResponse, ModelError
from helix_desktop.domain.model_spec import DialectName, ModelSpec
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.error_classification import body_excerpt
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.reported_specs import parse_model_list
from helix_desktop.providers.retry import TransientError

text = TextContext("Providers")

LIST_PATHS: Mapping[DialectName, str] = {
    "openai-chat": "/models",
    "openai-responses": "/models",
    "anthropic": "/models?limit=1000",
}
"""Where each dialect lists its models; Anthropic's pages have 20 entries by default, at most 1,000."""


async def list_models(endpoint: Endpoint) -> dict[str, ModelSpec]:
    """Return the chat models of a server with their reported specs, by name; without retries.

    Raises ModelUnreachable, ModelRequestRejected, InvalidModelResponse.
    """
    try:
        async with endpoint.send("GET", LIST_PATHS[endpoint.dialect]) as reply:
            status, body, headers = reply.status, await reply.text(), reply.headers
    except HttpError as fault:
        raise as_model_error(endpoint.network_error(fault)) from fault
    if status != HTTPStatus.OK:
        raise as_model_error(endpoint.error_for_status(status, body, headers))
    try:
        return parse_model_list(body)
    except ValueError as fault:
        raise InvalidModelResponse(
            text("{provider} didn't return a list of models.", provider=endpoint.provider),
            endpoint.redact_text(body_excerpt(body)),
            text("Check the base URL {url}: most end in /v1.", url=endpoint.base_url),
        ) from fault


def as_model_error(error: ModelError | TransientError) -> ModelError:
    """Return the final error of a failure that is not retried."""
    return error.error if isinstance(error, TransientError) else error
