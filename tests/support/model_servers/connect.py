"""A model behind a server of a test."""

from __future__ import annotations

from typing import Any

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_factory import create_model
from helix_desktop.providers.streaming import StreamedModel


def connect_model(
    dialect: DialectName, info: ModelInfo, base_url: str, key: str = "", *, http: HttpClient, **options: Any
) -> StreamedModel:
    """Create a model; `options` are those of `create_model`."""
    return create_model(Endpoint(info.provider, base_url, key, http, dialect), info, **options)
