"""How many tests failed, read from the summary of a test run."""

from __future__ import annotations

import re

_TEST_SUMMARIES = tuple(
    re.compile(form)
    for form in (
        r"=* ?(?P<n>\d+) failed\b.* in \d[\d.:]*m?s\b.*",  # pytest
        r"=* ?(?P<go>\d+ errors?)\b.* in \d[\d.:]*m?s\b.*",  # the same, where files couldn't be read
        r"\s*Tests:?\s+(?P<n>\d+) failed\b.*",  # jest, vitest
        r"test result: FAILED\. .*; (?P<n>\d+) failed;.*",  # cargo
        r"FAILED \((?:failures=(?P<n>\d+))?(?:, )?(?:errors=(?P<m>\d+))?.*\)",  # unittest
        r"\s*(?P<n>\d+) failing",  # mocha
        r"# fail (?P<n>\d+)",  # node, TAP
        r"\d+ examples?, (?P<n>\d+) failures?.*",  # rspec
        r"\d+ tests? completed, (?P<n>\d+) failed.*",  # gradle
        r"(?:\[\w+\] )?Tests run: \d+, Failures: (?P<n>\d+), Errors: (?P<m>\d+).*",  # maven
        r"\d+% tests passed, (?P<n>\d+) tests? failed out of \d+",  # ctest
        r"(?P<go>FAIL)(?:\s.*)?",  # go test
    )
)
_SUMMARY_LINES = 8  # from the end: jest and cargo say more below


def failed_tests(output: str, *, is_last: bool = True) -> int | None:
    """Return how many tests failed, as the last lines of a test run say; anywhere unless it `is_last`.

    0: some did, and they don't say how many. None: none did, or these are not the lines of a test run.
    """
    lines = output.rstrip().split("\n")
    for line in reversed(lines[-_SUMMARY_LINES:] if is_last else lines):
        if "fail" not in line.lower() and "error" not in line:
            continue
        found = next(filter(None, (form.fullmatch(line) for form in _TEST_SUMMARIES)), None)
        if found is None:
            continue
        numbers = found.groupdict()
        count = int(numbers.get("n") or 0) + int(numbers.get("m") or 0)
        return 0 if numbers.get("go") else count or None
    return None
