"""The order of what a search over everything finds: names and whole words first, then the newest."""

from __future__ import annotations

from helix_desktop.domain.store import SessionSummary
from helix_desktop.services.search_everything import SearchFindings, SearchHit, SearchPart, SearchRequest


def found(query: str, *hits: SearchHit, titles: dict[str, str] | None = None) -> SearchFindings:
    """Return what a search finds in the workspace `w`; sessions have these titles."""
    names = {hit.session: f"About {hit.session}" for hit in hits} | (titles or {})
    summaries = {session: SessionSummary(session, title, 0, 0) for session, title in names.items()}
    findings = SearchFindings(SearchRequest(query, per_session=2))
    findings.add(SearchPart("w", hits, summaries=summaries))
    return findings


def order(findings: SearchFindings) -> list[str]:
    return [hit.excerpt for session in findings.sessions() for hit in session.hits]


def message(session: str, at: int, words: str) -> SearchHit:
    return SearchHit("message", session, at, words)


def test_whole_words_come_before_parts_of_words_and_equal_ones_newest_first() -> None:
    part = message("a", 9, "the lexers of both")
    old = message("b", 1, "the lexer, at last")
    new = message("b", 2, "a lexer")
    assert order(found("lexer", part, old, new)) == [new.excerpt, old.excerpt, part.excerpt]


def test_a_file_of_that_name_comes_first_with_or_without_its_ending() -> None:
    word = message("a", 9, "look at lexer.py")
    other = SearchHit("file", "b", 8, "src/old_lexer.py")
    named = SearchHit("file", "c", 1, "src/Lexer.py")
    for query in ("lexer.py", "LEXER"):
        assert order(found(query, word, other, named))[0] == named.excerpt, query
    output = SearchHit(
        "output", "d", 9, "def advance():", digest="ab", tool="read_file", target="src/lexer.py"
    )
    assert order(found("lexer", word, output))[0] == output.excerpt, "the output of a file called so"
    assert order(found("lexer", output, named)) == [named.excerpt, output.excerpt], "the file itself first"


def test_a_session_of_that_title_comes_first() -> None:
    word = message("a", 9, "the lexer loops")
    titled = message("b", 1, "some lexers")
    findings = found("lexer loops", word, titled, titles={"b": "Lexer loops"})
    assert order(findings) == [titled.excerpt, word.excerpt]


def test_a_file_of_that_name_is_listed_beyond_the_limit_of_its_session() -> None:
    files = [SearchHit("file", "a", at, f"old/{at}/my_lexer.py") for at in range(9, 5, -1)]
    named = SearchHit("file", "a", 1, "src/lexer.py")
    findings = found("lexer", *files, named)
    assert order(findings) == [named.excerpt, files[0].excerpt, files[1].excerpt]
    assert [session.has_more for session in findings.sessions()] == [True]
