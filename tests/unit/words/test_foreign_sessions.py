"""What a user reads after an import of other agents' sessions."""

from __future__ import annotations

import pytest

from helix_desktop.domain.store_reports import ImportResult
from helix_desktop.words.foreign_sessions import sessions_text


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (ImportResult("x", new=("main", "branch")), "1 session imported, 1 branch or subagent"),
        (ImportResult("x", unchanged=("main", "branch")), "1 already here"),
        # Continued here: what is newer there became a session of its own, with another id.
        (ImportResult("x", unchanged=("apart", "branch")), "1 already here"),
        (ImportResult("x", extended=("branch",)), "1 continued with what is new"),
        (ImportResult("x"), "Nothing to import: the session has no messages"),
    ],
)
def test_an_import_says_what_became_of_its_session(result: ImportResult, sentence: str) -> None:
    assert sessions_text(result, ("main",)) == sentence
