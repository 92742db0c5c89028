"""Links: each kind round-trips; everything else is refused with a remedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.services.links import Link, is_link, parse_link
from tests.support.tables import for_each

HOME = "0c7f6b52-0f5e-4bb4-9d1c-2f1d9f6f2a10"
LINKS = st.builds(
    lambda home, digest, session, kind: Link(
        str(home), digest.hex() if kind == 1 else "", session.hex if kind == 2 else ""
    ),
    st.uuids(),
    st.binary(min_size=32, max_size=32),
    st.uuids(),
    st.integers(0, 2),
)


@given(LINKS)
def test_a_link_round_trips(link: Link) -> None:
    assert parse_link(link.text) == link
    assert link.text.isascii()
    assert len(link.text) <= 160


@for_each(
    "text",
    [
        "",
        "helix:",
        "helix:open",
        f"helix://open?workspace={HOME}",
        f"helix:open?workspace={HOME.upper()}",
        f"helix:open?workspace={HOME}&trust=1",
        f"helix:open?workspace={HOME}#x",
        f"helix:open?workspace={HOME} ",
        f"helix:open?workspace=../{HOME}",
        f"helix:run?workspace={HOME}",
        f"helix:content/{'a' * 63}?workspace={HOME}",
        f"helix:content/{'g' * 64}?workspace={HOME}",
        f"helix:content/{'٣' * 64}?workspace={HOME}",
        f"helix:session/..%2f..?workspace={HOME}",
        f"https://open?workspace={HOME}",
    ],
)
def test_an_invalid_link_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_link(text)
    assert refused.value.why
    assert refused.value.fix


@for_each("char", ["\n", "\r", "\t", "\0", "\x1b", "\u202e", "\u200b", "\u2028"])
def test_invisible_characters_are_refused(char: str) -> None:
    with pytest.raises(InvalidInput, match="hidden characters"):
        parse_link(f"helix:open?workspace={HOME}{char}")


def test_an_overlong_link_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(InvalidInput, match="too long"):
        parse_link("helix:" + "a" * 10_000_000)


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_link(text)
    assert is_link(f"helix:{text}")
