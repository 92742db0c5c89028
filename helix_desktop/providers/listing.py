"""Which models a server offers."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from helix_desktop.context.errors import ModelError, ModelNonsense
from helix_desktop.providers.dialect import DialectName
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import Http, HttpFault
from helix_desktop.providers.refusal import sample
from helix_desktop.providers.retry import Transient

_PAGE = {"openai-chat": "/models", "openai-responses": "/models", "anthropic": "/models?limit=1000"}
"""Where each dialect lists its models; Anthropic's pages have 20 unless more are asked for, at most 1,000."""


class _ListedModel(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ListedModel] | None


async def list_models(
    provider: str, base_url: str, key: str = "", *, http: Http, dialect: DialectName = "openai-chat"
) -> tuple[str, ...]:
    """The names of the models that a server offers, sorted; asked once, without retries.

    Raises ModelUnreachable, ModelRefused, ModelNonsense.
    """
    endpoint = Endpoint(provider, base_url, key, http, dialect)
    try:
        async with endpoint.send("GET", _PAGE[dialect]) as reply:
            status, body, headers = reply.status, await reply.text(), reply.headers
    except HttpFault as fault:
        raise _final(endpoint.unreachable(fault)) from fault
    if status != HTTPStatus.OK:
        raise _final(endpoint.refusal(status, body, headers))
    try:
        listed = msgspec.json.decode(body, type=_ModelList)
    except (msgspec.DecodeError, UnicodeEncodeError) as fault:
        raise ModelNonsense(
            f"{provider} answered with something that is no list of models.",
            endpoint.redact(sample(body)),
            f"Check the base URL {endpoint.base_url}: most end in /v1.",
        ) from fault
    return tuple(sorted({model.id for model in listed.data or ()}))


def _final(failure: ModelError | Transient) -> ModelError:
    return failure.error if isinstance(failure, Transient) else failure
