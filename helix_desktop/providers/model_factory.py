"""Create a model by its dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.anthropic import MessagesDialect
from helix_desktop.providers.dialect import Dialect, NewId, new_call_id
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.openai_chat import ChatDialect
from helix_desktop.providers.openai_responses import ResponsesDialect
from helix_desktop.providers.plain_form import PlainForm
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.providers.streaming import STALL_S, StreamedModel, WindowLimits

DIALECTS: Mapping[DialectName, Callable[[ModelInfo, NewId], Dialect]] = {
    "openai-chat": ChatDialect,
    "openai-responses": ResponsesDialect,
    "anthropic": MessagesDialect,
}


def create_model(
    endpoint: Endpoint,
    info: ModelInfo,
    *,
    retry_policy: RetryPolicy | None = None,
    new_id: NewId = new_call_id,
    stall_s: float = STALL_S,
    limits: WindowLimits | None = None,
    plain_form: PlainForm | None = None,
) -> StreamedModel:
    dialect = DIALECTS[endpoint.dialect](info, new_id)
    return StreamedModel(info, endpoint, dialect, retry_policy, stall_s, limits, plain_form)
