"""The model figures that servers report in their own lists and formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.model_spec import ModelSpec
from helix_desktop.providers.model_list import parse_model, parse_model_list
from tests.support.tables import for_each

OPENROUTER: dict[str, Any] = {
    "id": "vendor/model",
    "context_length": 1_000_000,
    "architecture": {"input_modalities": ["text", "image"]},
    "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000001"},
    "top_provider": {"context_length": 400_000, "max_completion_tokens": 64_000},
    "supported_parameters": ["tools", "reasoning"],
}
MISTRAL: dict[str, Any] = {
    "id": "m",
    "max_context_length": 262_144,
    "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
}


@for_each(
    ("reported", "figures"),
    [
        (
            OPENROUTER,
            ModelSpec(
                window=400_000,
                output=64_000,
                price_in=2.0,
                price_cached=0.1,
                price_out=10.0,
                tools=True,
                images=True,
                reasoning=True,
            ),
        ),
        (MISTRAL, ModelSpec(window=262_144, tools=True, images=False)),
        (
            {"context_window": 131_072, "max_completion_tokens": 65_536},
            ModelSpec(window=131_072, output=65_536),
        ),
        ({"max_model_len": 65_536}, ModelSpec(window=65_536)),
        ({"max_input_tokens": 1_000_000, "max_tokens": 128_000}, ModelSpec(window=1_000_000, output=128_000)),
        ({"pricing": {"prompt": "-1", "completion": "-1"}}, ModelSpec()),  # a router: it depends
        ({"pricing": {"prompt": "0", "completion": "0"}}, ModelSpec(free=True)),
        ({"pricing": {"prompt": "0", "completion": "0", "request": "0", "image": 0}}, ModelSpec(free=True)),
        (
            {"pricing": {"prompt": "0", "completion": "0", "request": "0.005"}},
            ModelSpec(),
        ),  # for each request
        ({"pricing": {"prompt": "0", "completion": "0", "image": "1.5"}}, ModelSpec()),
        ({"pricing": {"prompt": None, "completion": ""}}, ModelSpec()),
        ({"context_length": True, "max_model_len": "large"}, ModelSpec()),
    ],
)
def test_each_server_s_format(reported: dict[str, Any], figures: ModelSpec) -> None:
    assert parse_model(reported) == figures


def test_models_without_chat_are_left_out() -> None:
    models: list[dict[str, Any]] = [{"id": "b"}, {"id": "a"}, {"id": "e", "type": "embedding"}, {"id": ""}]
    models.append({"id": "old", "capabilities": {"completion_chat": False}})
    assert list(parse_model_list(json.dumps({"data": models}))) == ["a", "b"]
    assert parse_model_list('{"data": null}') == {}


@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"data": 3}', '{"models": []}', "\ud800"])
def test_an_invalid_list_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_model_list(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*OPENROUTER, *MISTRAL, "max_model_len"]), JSON))
def test_any_report_is_handled_and_no_figure_is_nonsense(reported: dict[str, Any]) -> None:
    figures = parse_model(reported)
    assert 0 <= figures.window <= 100_000_000
    assert bool(figures.price_in) == bool(figures.price_out)


def test_the_levels_of_reasoning_are_read_as_anthropic_and_openrouter_list_them() -> None:
    level = {"supported": True}
    effort = {"supported": True, "max": level, "low": level, "xhigh": {"supported": False}, "high": level}
    assert parse_model({"capabilities": {"effort": effort}}).efforts == ("low", "high", "max")
    listed = {"supported_efforts": ["high", "ultra", "low", None], "mandatory": True}
    assert parse_model({"reasoning": listed}).efforts == ("low", "high")
    assert parse_model({"reasoning": {"supported_efforts": None}, "capabilities": []}).efforts == ()
