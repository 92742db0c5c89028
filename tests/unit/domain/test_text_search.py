"""Words in stored bytes: nothing is missed or misplaced, however long a line."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.search_query import normalize, parse_query
from helix_desktop.domain.text_search import MatchSummary, find_matches
from helix_desktop.tools.cache.paging import split_lines

CUT = 128 * 1024  # where a line without end is cut first, in bytes
LETTERS = st.text(st.sampled_from("aAbBßéÉ \u017f\u212a\n\r\u2028\u0301\ufffd"), max_size=60)


def sight(query: str, data: bytes, about: str = "") -> MatchSummary | None:
    """A whole look at a content."""
    return find_matches(parse_query(query), data, about, lambda: True)


@given(LETTERS, st.lists(LETTERS.filter(str.strip), min_size=1, max_size=3))
def test_what_is_found_is_what_a_plain_look_finds(text: str, parts: list[str]) -> None:
    query = " ".join(parts)
    needles = parse_query(query)
    found = sight(query, text.encode())
    folded = [normalize(line) for line in split_lines(text)]
    if not all(any(needle in line for line in folded) for needle in needles):
        assert found is None
        return
    assert found is not None
    counts = {n: sum(needle in line for needle in needles) for n, line in enumerate(folded, 1)}
    matching = [n for n, count in counts.items() if count]
    assert found.lines == len(matching)
    best = sorted(matching, key=lambda n: (-counts[n], n))[:3]
    assert [spot.line for spot in found.best] == sorted(best)


@pytest.mark.parametrize("word", ["needle", "Nädel", "\u2603\u2603\u2603", "strasse", "a\u0301b"])
def test_no_word_is_lost_where_a_long_line_is_cut(word: str) -> None:
    written = "straße" if word == "strasse" else unicodedata.normalize("NFD", word)
    for shift, filler in itertools.product(range(-2, 24), ("x", "é")):
        before = filler * ((CUT - shift) // len(filler.encode()))
        line = f"{before}{written}{filler * 3000}"
        found = sight(word, f"head\n{line}\ntail {word}\n".encode())
        assert found is not None
        assert (found.lines, [spot.line for spot in found.best]) == (2, [2, 3])
        spot = found.best[0]
        assert normalize(word) in normalize(spot.excerpt), "the excerpt shows it"
        shown = spot.excerpt.strip("…")
        assert unicodedata.normalize("NFC", line[spot.char :]).startswith(unicodedata.normalize("NFC", shown))


def test_a_line_in_many_pieces_counts_once_and_shows_its_best_place() -> None:
    line = " alpha ".join(["x" * 50_000] * 20) + " alpha omega " + "y" * 50_000
    found = sight("alpha omega", f"one alpha\n{line}\nomega\n".encode())
    assert found is not None
    assert found.lines == 3
    assert [spot.line for spot in found.best] == [1, 2, 3]
    assert "alpha omega" in found.best[1].excerpt
    assert line[found.best[1].char :].startswith(found.best[1].excerpt.strip("…"))


def test_line_numbers_are_those_of_recall_in_long_contents() -> None:
    lines = [f"{number} level \u2028 \r {'z' * (number % 90)}\n" for number in range(1, 20_001)]
    lines[15_432] = "15433 SURGE\r\n"
    data = "".join(lines).encode()
    found = sight("surge", data)
    assert found is not None
    assert (found.lines, found.best[0].line, found.best[0].excerpt) == (1, 15_433, "15433 SURGE")
    assert split_lines(data.decode())[15_432] == "15433 SURGE\r\n"
    every = sight("level surge", data)
    assert every is not None
    assert every.lines == 20_000


def test_the_lines_with_most_of_the_words_are_shown() -> None:
    text = "one\ntwo\none\none two three\ntwo three\none\nthree two one\n"
    found = sight("one two three", text.encode())
    assert found is not None
    assert found.lines == 7
    assert [(spot.line, spot.excerpt) for spot in found.best] == [
        (4, "one two three"),
        (5, "two three"),
        (7, "three two one"),
    ]


def test_what_is_said_of_a_content_counts_as_part_of_it() -> None:
    about = "run_command make test\nok"
    assert sight("run_command zebra", b"one zebra\n", about) is not None
    assert sight("run_command zebra", b"one\n", about) is None
    named = sight("MAKE", b"one\n", about)
    assert named == MatchSummary(0, ())


def test_bytes_that_are_no_text_are_searched_all_the_same() -> None:
    data = bytes(range(256)) * 40 + b"\n\xff\xfe\0SURGE\0\x1b[2J\xc3(\n"
    found = sight("surge", data)
    assert found is not None
    (spot,) = found.best
    assert spot.line == len(split_lines(data.decode(errors="replace")))
    assert spot.excerpt == "\ufffd\ufffd\ufffdSURGE\ufffd\ufffd[2J\ufffd("


def test_an_excerpt_is_one_line_and_hides_nothing() -> None:
    line = "a\tzebra\u202e\u2028[CACHED] recall_cached_content(" + "b" * 300
    found = sight("zebra", line.encode())
    assert found is not None
    excerpt = found.best[0].excerpt
    assert excerpt.startswith("a zebra\ufffd\ufffd[CACHED]")
    assert excerpt.endswith("…")
    assert len(excerpt) <= 162


def test_a_look_ends_when_it_is_no_longer_wanted() -> None:
    data = b"level\n" * 200_000
    asked = iter([True, True, False])
    assert find_matches(["zebra"], data, "", lambda: next(asked)) is None
    assert not list(asked), "it went on until then"
    asked = iter([True, True, False])
    assert find_matches(["level"], data, "", lambda: next(asked)) is None
