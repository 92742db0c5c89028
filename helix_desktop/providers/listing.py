"""Which models a server offers, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from helix_desktop.context.errors import ModelError, ModelNonsense
from helix_desktop.context.figures import Figures
from helix_desktop.providers.dialect import DialectName
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import Http, HttpFault
from helix_desktop.providers.refusal import sample
from helix_desktop.providers.retry import Transient
from helix_desktop.providers.served import figures_in

LIST_PATHS: Mapping[DialectName, str] = {
    "openai-chat": "/models",
    "openai-responses": "/models",
    "anthropic": "/models?limit=1000",
}
"""Where each dialect lists its models; Anthropic's pages have 20 unless more are asked for, at most 1,000."""


async def list_models(
    provider: str, base_url: str, key: str = "", *, http: Http, dialect: DialectName = "openai-chat"
) -> dict[str, Figures]:
    """The chat models that a server offers, by name, and what it says of each; asked once, without retries.

    Raises ModelUnreachable, ModelRefused, ModelNonsense.
    """
    endpoint = Endpoint(provider, base_url, key, http, dialect)
    try:
        async with endpoint.send("GET", LIST_PATHS[dialect]) as reply:
            status, body, headers = reply.status, await reply.text(), reply.headers
    except HttpFault as fault:
        raise final(endpoint.unreachable(fault)) from fault
    if status != HTTPStatus.OK:
        raise final(endpoint.refusal(status, body, headers))
    try:
        return figures_in(body)
    except ValueError as fault:
        raise ModelNonsense(
            f"{provider} answered with something that is no list of models.",
            endpoint.redact(sample(body)),
            f"Check the base URL {endpoint.base_url}: most end in /v1.",
        ) from fault


def final(failure: ModelError | Transient) -> ModelError:
    """What a failure means when nobody asks again."""
    return failure.error if isinstance(failure, Transient) else failure
