"""JSON, LaTeX and TOML, nested or repeated to hold the app up: work by their length, counted as calls.

Markdown has the same in tests/unit/ui/chat/markdown/test_hostile_markdown.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helix_desktop.config.toml_file import read_document, read_fields
from helix_desktop.domain.body_decoding import BodyDecoder, BodyUndecodable
from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.ui.chat.markdown.formulas import draw_formula
from helix_desktop.ui.design.viewer.json_text import indent_json
from tests.support.call_count import calls_of

_JSON = (
    "[", "{", '{"a":', "]", "}", ",", '"a"', ":", "1", "1e9", "-", "null", '"\\u00', '"\\', " ", "[1,",
    "\n",
)  # fmt: skip
_LATEX = (
    "{", "}", "x^{", "x_{", "\\frac{", "\\frac{a}{b}", "\\sqrt{", "\\left(", "\\right)", "^", "_",
    "\\begin{matrix}", "\\end{matrix}", "&", "\\\\", "\\text{", "\\", "a", "\\alpha ", "\\hat{", "\\sum_{",
    "'", "\\operatorname*{",
)  # fmt: skip
_TOML = (
    "a = [", "[", "]", "a = {a = ", "{", "}", "[a]\n", "[[a]]\n", "a.", "a = 1\n", "a.b = 1\n", '"',
    "'''", '"""', "=", "\n", ",", "#", "\\", "[a.", "1", "1979-05-27", "x",
)  # fmt: skip


def check_grows_with_its_length(text: str, work: Callable[[str], object]) -> None:
    """Assert that a text of twice the length takes at most some more than twice the calls."""
    work(text)  # what is loaded at the first use is no work of the text
    once = calls_of(lambda: work(text))
    twice = calls_of(lambda: work(text * 2))
    assert twice < 3 * once + 20_000, (text[:60], once, twice)


def units(of: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Return a few constructs, which are then repeated."""
    return st.lists(st.sampled_from(of), min_size=1, max_size=3)


@given(units(_JSON), st.integers(1, 3_000))
@example(["["], 3_000)
@example(['{"a":'], 3_000)
def test_json(parts: list[str], count: int) -> None:
    """Nested without end, or cut anywhere: it is indented, or it is no JSON."""
    check_grows_with_its_length("".join(parts) * count, lambda text: indent_json(text.encode()))


@given(units(_LATEX), st.integers(1, 60))
@example(["{"], 400)
@example(["x^{"], 400)
@example(["\\operatorname*{", "\\end{matrix}"], 6)  # each group ends with what ends another kind
def test_latex(parts: list[str], count: int) -> None:
    """A formula is drawn, or left as it is written."""
    check_grows_with_its_length("".join(parts) * count, lambda text: draw_formula(text, displayed=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example writes the file anew
@given(units(_TOML), st.integers(1, 400))
@example(["a = ["], 5_000)
@example(["[", "\n"], 400)
@example(["a."], 400)
def test_toml(tmp_path: Path, parts: list[str], count: int) -> None:
    """Settings that are damaged are reported, and no start ends for it."""
    file = tmp_path / "settings.toml"

    def read(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        try:
            read_fields(file)
        except SettingsDamaged:
            read_document(file)

    check_grows_with_its_length("".join(parts) * count, read)


@given(
    st.binary(max_size=300), st.sampled_from(("gzip", "deflate", "x-gzip", "br", "zstd", "gzip, gzip", ""))
)
def test_bodies(data: bytes, encoding: str) -> None:
    """Whatever a server sends is decoded in bounded pieces, or refused."""
    try:
        decoder = BodyDecoder(encoding)
        pieces = list(decoder.feed(data))
    except BodyUndecodable:
        return
    assert all(len(piece) <= 64 * 1024 for piece in pieces)
    assert encoding in ("gzip", "deflate", "x-gzip", "")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_comes_in_pieces(encoding: str) -> None:
    """A thousand times its size, of which only what is asked for is unpacked."""
    import zlib

    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    bomb = packer.compress(bytes(64 * 1024 * 1024)) + packer.flush()
    first = next(iter(BodyDecoder(encoding).feed(bomb)))
    assert len(first) <= 64 * 1024
