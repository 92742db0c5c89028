"""Headers and body fields that go along with requests: what is refused, and which of two counts."""

from __future__ import annotations

from helix_desktop.domain.request_extras import RequestExtras, merge_fields
from tests.support.tables import for_each


@for_each(
    ("extras", "words"),
    [
        (RequestExtras({"Authorization": "Bearer x"}), "carries the API key"),
        (RequestExtras(secret_headers=("X-API-Key",)), "carries the API key"),
        (RequestExtras({"Content-Length": "0"}), "Helix sets it"),
        (RequestExtras({"X Title": "a"}), "isn't a header name"),
        (RequestExtras({"X-Title": "a\r\nHost: evil"}), "characters that headers can't have"),
        (RequestExtras({"X-Title": "a"}, ("x-title",)), "listed twice"),
        (RequestExtras(body={"messages": []}), "Helix sets it"),
        (RequestExtras(body={"max_tokens": 5}), "max output"),
        (RequestExtras(body={"provider": {"order": [None]}}), "can't be null"),
    ],
)
def test_what_would_break_a_request_is_refused_with_the_reason(extras: RequestExtras, words: str) -> None:
    assert words in extras.fault("anthropic")


def test_what_providers_ask_for_is_taken() -> None:
    extras = RequestExtras(
        {"HTTP-Referer": "https://helix.example", "anthropic-beta": "fast"},
        ("X-Gateway-Token",),
        {"service_tier": "flex", "max_tokens": 5, "provider": {"order": ["a", "b"]}},
    )
    assert extras.fault("openai-chat") == ""


def test_what_a_model_says_counts_more_than_what_its_provider_says() -> None:
    general = RequestExtras(
        {"X-Team": "all", "X-App": "helix"}, ("X-Token",), {"a": {"x": 1, "y": 1}, "b": 1}
    )
    own = RequestExtras({"x-team": "lab"}, (), {"a": {"y": 2}})
    both = general.with_narrower(own)
    assert both == RequestExtras(
        {"X-App": "helix", "x-team": "lab"}, ("X-Token",), {"a": {"x": 1, "y": 2}, "b": 1}
    )
    assert not RequestExtras()
    assert merge_fields({"a": {"x": 1}}, {"a": 3}) == {"a": 3}
