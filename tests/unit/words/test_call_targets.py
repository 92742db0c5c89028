"""What a call did, in a few words."""

from __future__ import annotations

import pytest

from helix_desktop.words.call_targets import failed_tests_text, shown_target


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("FAILED tests/test_a.py::test_b\n==== 1 failed, 12 passed in 0.31s ====\n", "1 failed"),
        ("3 failed, 1 error in 2.10s", "3 failed"),
        ("2 errors in 0.10s", "2 failed"),
        ("==== 12 passed, 3 warnings in 4.02s ====", ""),
        ("Tests:       1 failed, 3 passed, 4 total\nSnapshots:   0 total\nTime:  1 s\nRan all.", "1 failed"),
        ("      Tests  2 failed | 3 passed (5)\n   Start at  12:00:00\n   Duration  1s", "2 failed"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n\nerror: test failed", "1 failed"),
        ("test result: ok. 4 passed; 0 failed; 0 ignored", ""),
        ("Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2)", "3 failed"),
        ("Ran 7 tests in 0.1s\n\nFAILED (errors=2)", "2 failed"),
        ("--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tpkg\t0.002s\nFAIL", "Tests failed"),
        ("ok  \tpkg\t0.002s", ""),
        ("  3 passing (12ms)\n  1 failing", "1 failed"),
        ("# pass 3\n# fail 2", "2 failed"),
        ("# pass 3\n# fail 0", ""),
        ("3 examples, 1 failure", "1 failed"),
        ("3 examples, 0 failures", ""),
        ("12 tests completed, 4 failed", "4 failed"),
        ("[ERROR] Tests run: 9, Failures: 1, Errors: 1, Skipped: 0", "2 failed"),
        ("50% tests passed, 1 tests failed out of 2", "1 failed"),
        ("grep: 3 failed logins", ""),
        ("1 failed\n" + "more\n" * 20, ""),
        ("", ""),
    ],
)
def test_the_end_of_a_test_run_says_how_many_tests_failed(output: str, text: str) -> None:
    """Also where the command ended with 0; other words about failures say nothing of tests."""
    assert failed_tests_text(output) == text


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("index", "what was compacted"),
        ("index, 'tide'", "what was compacted, 'tide'"),
        ("index, 'tide' · 3 lines in e23, e31 and 4 more", "what was compacted, 'tide' · 3 lines"),
        ("index · table of 71", "what was compacted · table of 71"),
        ("e12", "earlier messages"),
        ("e12-e31, 'tide'", "earlier messages, 'tide'"),
        ("0a9443523603 e4-e9", "earlier messages"),
        ("read_file e12.txt", "e12.txt"),
        ("read_file a.log · 2 lines for '^a|b', \"a = 1\"", "a.log · 2 lines"),
        ("mcp__hub__find x, lines 3-9", "mcp__hub__find x, lines 3-9"),
        ("index.html", "index.html"),
        ("e2e/test_cli.py", "e2e/test_cli.py"),
    ],
)
def test_a_recall_of_compacted_messages_shows_no_event_numbers(target: str, words: str) -> None:
    assert shown_target("recall_cached_content", target) == words
    assert shown_target("read_file", target) == target


@pytest.mark.parametrize(
    ("tool", "target", "words"),
    [
        ("list_directory", ".", "the workspace"),
        ("list_directory", "", "the workspace"),
        ("list_directory", "src", "src"),
        ("search_text", "def run in .", "def run in the workspace"),
        ("search_text", "def run in src", "def run in src"),
        ("run_command", "", ""),
    ],
)
def test_the_workspace_is_named_where_a_call_is_about_all_of_it(tool: str, target: str, words: str) -> None:
    assert shown_target(tool, target) == words
