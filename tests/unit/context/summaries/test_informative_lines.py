"""The lines of an output that carry its facts, in what observer and summarizer read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.informative_lines import (
    error_line,
    informative_source_lines,
    last_informative_line,
    shorten_output,
)

PYTEST = """exit code 1 (sandboxed, no network)
tests/test_errors.py::test_error_is_raised PASSED
tests/test_parse.py::test_lexer FAILED
    def test_lexer():
>       assert tokens == 3
E       AssertionError: assert 4 == 3
tests/test_parse.py:12: AssertionError
1 failed, 36 passed in 0.42s
"""


def test_the_error_and_the_result_of_a_run() -> None:
    """The error that was raised, not the name of a passed test; the result is the last line."""
    assert error_line(PYTEST) == "E       AssertionError: assert 4 == 3"
    assert last_informative_line(PYTEST) == "1 failed, 36 passed in 0.42s"
    assert error_line("tests/test_errors.py::test_error PASSED\n36 passed") == "36 passed"
    assert last_informative_line("done\n\n=====\nexit code 0\n") == "done"
    assert last_informative_line("") == ""
    assert last_informative_line("1 failed \u202e2 passed\u202c\n") == "1 failed 2 passed"
    assert error_line("Error: a\u2067b") == "Error: ab"


@pytest.mark.parametrize(
    "fact",
    ["src/main.c:3:7: error: unknown type name 'foo'", "peak memory: 812.5 MB", "closes #4711", "loss=0.125"],
)
def test_a_fact_in_the_middle_of_a_long_output_stays(fact: str) -> None:
    """Among a thousand lines that say nothing."""
    text = "\n".join([*["nothing to see here, move along"] * 500, fact, *["and nothing here"] * 500])
    shortened = shorten_output(text, 600)
    assert fact in shortened
    assert len(shortened) <= 640


@given(st.text(max_size=4_000), st.integers(60, 900))
def test_an_output_is_shortened_to_its_cap(text: str, cap: int) -> None:
    """Whatever it holds; one that fits stays as it is; head and tail are its own."""
    shortened = shorten_output(text, cap)
    assert len(shortened) <= max(len(text), cap + 8) if len(text) <= cap else len(shortened) <= cap + 8
    if len(text) <= cap:
        assert shortened == text
    else:
        assert shortened.splitlines()[:1] in ([], ["…"], text.splitlines()[:1]) or text.startswith(
            shortened.partition(" …")[0]
        )


SOURCE = '''"""Links of a text."""

import re
from collections.abc import Iterator

LOGGER = logging.getLogger(__name__)
LINK_RE = re.compile(r"^[a-z]{2,32}:")
_rules = [
    # by name
    ("text", text),
    ("link", link),
]


class Parser:
    def skip(self, pos: int) -> int:
        level = 0
        while pos < self.end:
            try:
                pos += 1
                level -= 1
            except IndexError:
                return 0
            if level > 32:
                raise ValueError("too many links in a text")
        return pos
'''


def test_source_is_shortened_to_what_it_defines() -> None:
    """Constants, lists, definitions, limits and messages; no counters, handlers or imports."""
    text = SOURCE + "\n".join(f"    pos += {number}\n    nextLine += 1" for number in range(300))
    assert shorten_output(text, 600).splitlines() == [
        '"""Links of a text."""',
        "…",
        'LINK_RE = re.compile(r"^[a-z]{2,32}:")',
        '_rules = [ ("text", text), ("link", link), ]',
        "class Parser:",
        "def skip(self, pos: int) -> int:",
        "if level > 32:",
        'raise ValueError("too many links in a text")',
    ]
    numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.splitlines(), 1))
    assert '8→_rules = [ ("text", text), ("link", link), ]' in shorten_output(numbered, 600)
    assert informative_source_lines(text, 60) == 'LINK_RE = re.compile(r"^[a-z]{2,32}:")\nif level > 32:'
    rules = f"import a\nimport b\nMAX = 20\n_rules = [{', '.join(map(str, range(900)))}]\n"
    _, cut = informative_source_lines(rules, 160).splitlines()
    assert cut.startswith("_rules = [0, 1, 2, ")
    assert 120 < len(cut) < 160
    assert informative_source_lines(PYTEST, 600) == ""


def test_no_word_of_a_shortened_output_is_cut() -> None:
    words = [f"word{number}" for number in range(900)]
    for cap in range(200, 240):
        assert set(shorten_output(" ".join(words), cap).split()) <= {*words, "…"}


@given(st.integers(200, 900))
def test_what_is_left_of_a_text_of_lines_begins_and_ends_with_whole_lines(cap: int) -> None:
    """Of `NOT SEEN SERVER` the first word was cut, and the rest said the opposite."""
    lines = [f"NOT SEEN state {number} -> {number + 1}" for number in range(200)]
    shortened = shorten_output("\n".join(lines), cap).replace(" … ", "\n…\n")
    assert set(shortened.splitlines()) <= {*lines, "…"}


def test_source_without_a_fact_keeps_its_beginning_and_its_end() -> None:
    """Not a mere sign that something is left out."""
    text = "\n".join(f"from package.parts import name_{number}" for number in range(90))
    short = shorten_output(text, 600)
    assert short.startswith("from package.parts import name_0\n")
    assert short.endswith("import name_89")
    assert len(short) <= 620


def test_matching_lines_of_a_search_are_not_joined() -> None:
    """A definition that goes on is whole where its lines stand below it, and alone where another one does."""
    hits = "src/a.py\n  62:def due_folds(\n  211:def tokens_freed(transcript: Transcript) -> int:\n"
    shortened = shorten_output(f"4 matching lines in 1 file:\n{hits}{'x' * 600}\n  9:import os\n", 300)
    assert "62:def due_folds(\n" in shortened
    assert "211:def tokens_freed" in shortened
    lines = "import os\n" + "\n".join(
        f"{n}:{line}" for n, line in enumerate(["def put(", "    key,", ")"], 4)
    )
    assert "4:def put( key, )" in shorten_output(f"{lines}\n5:def get(): ...\n{'x' * 600}", 300)
