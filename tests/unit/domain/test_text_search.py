"""Searches as they are typed, and where their words stand."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.text_search import (
    ExcerptSize,
    MatchSummary,
    RankedText,
    WordRank,
    excerpt_of,
    find_matches,
    normalize,
    parse_query,
)
from helix_desktop.tools.cache.lines import decode_lines

CUT = 128 * 1024  # where an endless line is cut first, in bytes
LETTERS = st.text(st.sampled_from("aAbBßéÉ \u017f\u212a\n\r\u2028\u0301\ufffd"), max_size=60)


def find_in(query: str, data: bytes, about: str = "") -> MatchSummary | None:
    return find_matches(parse_query(query), data, about, lambda: True)


@given(LETTERS, st.lists(LETTERS.filter(str.strip), min_size=1, max_size=3))
def test_the_search_finds_what_a_naive_search_finds(text: str, parts: list[str]) -> None:
    query = " ".join(parts)
    needles = parse_query(query)
    sighting = find_in(query, text.encode())
    folded = [normalize(line) for line in decode_lines(text.encode())]
    if not all(any(needle in line for line in folded) for needle in needles):
        assert sighting is None
        return
    assert sighting is not None
    counts = {n: sum(needle in line for needle in needles) for n, line in enumerate(folded, 1)}
    matching = [n for n, count in counts.items() if count]
    assert sighting.lines == len(matching)
    best = [n for n in matching if counts[n] == len(needles)][:3]
    if best:
        assert [position.line for position in sighting.best] == best
    else:
        found = {n: {needle for needle in needles if needle in folded[n - 1]} for n in matching}
        totals = Counter(needle for there in found.values() for needle in there)
        rarity = {n: sum(1 / totals[needle] for needle in found[n]) for n in matching}
        rarest = sorted(rarity.values(), reverse=True)[:3]
        assert sorted((rarity[position.line] for position in sighting.best), reverse=True) == pytest.approx(
            rarest
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "CAFE"),
        ("cafe\u0301", "café"),
        ("crème brûlée", "creme brulee"),
        ("Größe", "grosse"),
        ("İzmir", "izmir"),
        ("ёлка", "елка"),
        ("Ἀθῆναι", "αθηναι"),
    ],
)
def test_accents_and_case_make_no_difference(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("किताब", "कताब"), ("กิน", "กน"), ("각", "가")])
def test_marks_that_make_another_letter_do(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


def test_accents_alone_are_no_query() -> None:
    with pytest.raises(InvalidInput):
        parse_query("\u0301 \u0300")


@pytest.mark.parametrize("word", ["needle", "Nädel", "\u2603\u2603\u2603", "strasse", "a\u0301b"])
def test_no_word_is_lost_where_a_long_line_is_cut(word: str) -> None:
    spelling = "straße" if word == "strasse" else unicodedata.normalize("NFD", word)
    for shift, filler in itertools.product(range(-2, 24), ("x", "é")):
        before = filler * ((CUT - shift) // len(filler.encode()))
        line = f"{before}{spelling}{filler * 3000}"
        sighting = find_in(word, f"head\n{line}\ntail {word}\n".encode())
        assert sighting is not None
        assert (sighting.lines, [position.line for position in sighting.best]) == (2, [2, 3])
        position = sighting.best[0]
        assert normalize(word) in normalize(position.excerpt), "the excerpt shows it"
        excerpt = position.excerpt.strip("…")
        assert unicodedata.normalize("NFC", line[position.char :]).startswith(
            unicodedata.normalize("NFC", excerpt)
        )


def test_a_line_in_many_pieces_counts_once_and_shows_its_best_position() -> None:
    line = " alpha ".join(["x" * 50_000] * 20) + " alpha omega " + "y" * 50_000
    sighting = find_in("alpha omega", f"one alpha\n{line}\nomega\n".encode())
    assert sighting is not None
    assert sighting.lines == 3
    (best,) = sighting.best
    assert best.line == 2
    assert "alpha omega" in best.excerpt
    assert line[best.char :].startswith(best.excerpt.strip("…"))


def test_line_numbers_match_recall_in_long_contents() -> None:
    lines = [f"{number} level \u2028 \r {'z' * (number % 90)}\n" for number in range(1, 20_001)]
    lines[15_432] = "15433 SURGE\r\n"
    data = "".join(lines).encode()
    sighting = find_in("surge", data)
    assert sighting is not None
    assert (sighting.lines, sighting.best[0].line, sighting.best[0].excerpt) == (1, 15_433, "15433 SURGE")
    assert decode_lines(data)[15_432] == "15433 SURGE\r\n"
    every = find_in("level surge", data)
    assert every is not None
    assert every.lines == 20_000


def test_the_description_of_a_content_is_searched_too() -> None:
    about = "run_command make test\nok"
    assert find_in("run_command zebra", b"one zebra\n", about) is not None
    assert find_in("run_command zebra", b"one\n", about) is None
    described = find_in("MAKE", b"one\n", about)
    assert described == MatchSummary(0, (), "one")


def test_binary_data_is_searched_too() -> None:
    data = bytes(range(256)) * 40 + b"\n\xff\xfe\0SURGE\0\x1b[2J\xc3(\n"
    sighting = find_in("surge", data)
    assert sighting is not None
    (position,) = sighting.best
    assert position.line == len(decode_lines(data))
    assert position.excerpt == "\ufffd\ufffd\ufffdSURGE\ufffd\ufffd[2J\ufffd("


def test_an_excerpt_is_one_line_and_hides_nothing() -> None:
    line = "a\tzebra\u202e\u2028[CACHED] recall_cached_content(" + "b" * 300
    sighting = find_in("zebra", line.encode())
    assert sighting is not None
    excerpt = sighting.best[0].excerpt
    assert excerpt.startswith("a zebra\ufffd\ufffd[CACHED]")
    assert excerpt.endswith("…")
    assert len(excerpt) <= 162


def test_a_search_stops_when_canceled() -> None:
    data = b"level\n" * 200_000
    answers = iter([True, True, False])
    assert find_matches(["zebra"], data, "", lambda: next(answers)) is None
    assert not list(answers), "it went on until then"
    answers = iter([True, True, False])
    assert find_matches(["level"], data, "", lambda: next(answers)) is None


def test_lines_with_whole_words_as_they_are_spelled_come_before_others() -> None:
    lines = ["gaugeReader a", "Gauge b", "gauge c", "the gauge_x", "my gauge d", "the gauge e"]
    summary = find_matches(("gauge",), "\n".join(lines).encode(), "", lambda: True, ("gauge",))
    assert summary is not None
    assert (summary.lines, [match.line for match in summary.best]) == (6, [3, 5, 6])


def excerpt(text: str, query: str, room: int = 80, lead: int = 30) -> str:
    """Return the line of a message that a list shows for a search."""
    return excerpt_of(text, normalize(text), parse_query(query), ExcerptSize(room, lead))


@pytest.mark.parametrize("query", ["lexer", "LEXER", '"the lexer"'])
def test_the_excerpt_of_a_message_is_the_line_with_the_words(query: str) -> None:
    assert excerpt("first\n" * 3_000 + "then fix the Lexer\nlast", query) == "then fix the Lexer"


def test_the_excerpt_begins_shortly_before_its_first_word() -> None:
    """A list shows the beginning of it: a word behind 70 characters would be out of sight."""
    text = "some words of a long line " * 4 + "and then the lexer is fixed, and so on"
    assert excerpt(text, "lexer").startswith("…")
    assert 0 < excerpt(text, "lexer").index("lexer") <= 31
    assert 0 < excerpt(text, "lexer", lead=10).index("lexer") <= 11


def test_the_excerpt_is_the_line_with_most_words() -> None:
    text = "What the waters of the sea did\nthe test of the gale at noon\nat last"
    assert excerpt(text, "at gale", lead=4) == "…gale at noon"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Fix the lexer.\nThen\nuse it in the parser.", "Fix the lexer. … use it in the parser."),
        (
            "The lexer, " + "and more " * 30 + "a parser, too",
            "The lexer, and more and more and more … and more a parser, too",
        ),
        (
            "Parsers first. " + "words " * 40 + "the lexer or parser",
            "…words words words words the lexer or parser",
        ),
        ("- Straße: Lexer\n" + "- und so weiter\n" * 9 + "- der Parser", "Straße: Lexer … der Parser"),
    ],
)
def test_the_excerpt_shows_every_word(text: str, line: str) -> None:
    """From one place with all of them, if they are near each other; else from several."""
    assert excerpt(text, "lexer parser") == line


@given(
    st.lists(st.sampled_from(("lexer", "parser", "Straße", "and", "words")), max_size=80).flatmap(
        lambda words: st.lists(st.sampled_from(" \n\t"), min_size=len(words), max_size=len(words)).map(
            lambda gaps: "".join(word + gap for word, gap in zip(words, gaps, strict=True))
        )
    ),
    st.sampled_from(("lexer", "lexer parser", "strasse parser", "parser lexer words")),
)
def test_every_word_is_where_the_list_has_room(text: str, query: str) -> None:
    terms = parse_query(query)
    if all(term in normalize(text) for term in terms):
        folded = normalize(excerpt(text, query))[:85]
        assert all(term in folded for term in terms)


@pytest.mark.parametrize(
    ("typed", "text", "rank"),
    [
        ("fix lexer", "Fix LEXER", WordRank.EXACT),
        ("lexer fix", "fix the lexer.", WordRank.WHOLE),
        ("lexer.py", "src/lexer.py:10", WordRank.WHOLE),
        ("lex", "fix the lexer", WordRank.PART),
        ("lexer", "my_lexer", WordRank.PART),
        ("fix lexer", "the lexer", WordRank.MISSING),
        ("größe", "Die GRÖSSE", WordRank.WHOLE),
    ],
)
def test_the_rank_of_a_text_says_how_well_it_fits(typed: str, text: str, rank: int) -> None:
    assert WordRank(parse_query(typed)).of(RankedText(text)) == rank
