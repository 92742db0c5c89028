"""Which tests failed and how many, or that all passed, read from the output of a test run."""

from __future__ import annotations

import re

TESTS_PASSED = re.compile(
    r"(?:[=\s]*|test result: ok\. |Tests:? )(?:\d+ \w+, )*[1-9]\d* pass(?:ed|ing)\b"
    r"|Ran [1-9]\d* tests? in |OK \([1-9]\d* tests?, |100% tests passed\b|ok \S+ (?:[\d.]+s\b|\(cached\))"
    r"|[1-9]\d* examples?, 0 failures\b|(?:\[INFO\] )?Tests run: [1-9]\d*, Failures: 0, Errors: 0\b"
)
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
_STATUS = re.compile(r"OK(?: \(.*\))?")  # of unittest, below the line that says how many tests ran
_SOME_FAILED = re.compile(r"[=\s]*(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b")  # also where no time stands
_RESULT_LINES = 2  # newest ones: unittest takes two lines for a result
_MAX_CHARS = 1_000  # of a line about tests
_NUMBER = re.compile(r"\d+: ")  # of a line of a preview
_MAY_NAME = ("FAIL", "ERROR", "Failed", "not ok ", "\u203a", "✕", "✗", "✘", "×", "rspec ")
_FAILED_TESTS = tuple(
    re.compile(form)
    for form in (
        r"(?:FAIL|ERROR): (?P<name>\w+ \(\S+\)).*",  # unittest
        r"(?P<name>\w+ \(\S+\)).* \.\.\. (?:FAIL|ERROR)",  # the same with -v
        r"(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) (?P<name>\S+\.py(?:::.+?)?)(?: - .*)?",  # pytest
        r"(?P<name>\S+\.py::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?",  # the same with -v
        r"--- FAIL: (?P<name>\S+).*",  # go test
        r"test (?P<name>\S+) \.\.\. FAILED",  # cargo
        r"● (?P<name>.+ \u203a .+)",  # jest
        r"[✕✗✘×] (?P<name>.+?)(?: \(?\d+ ?ms\)?)?",  # the same, and vitest
        r"not ok \d+(?: -)? (?P<name>.+)",  # node, TAP
        r"rspec (?P<name>\./\S+:\d+) # .*",
        r"(?P<name>\S+ > .+) FAILED",  # gradle
        r"\[ERROR\] +(?P<name>\w+\.\w+):\d+ .*",  # maven
        r"\d+ - (?P<name>\S+) \((?:Failed|Timeout|SEGFAULT)\).*",  # ctest
    )
)


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


def passed_tests(output: str) -> str:
    """Return the newest result of tests in an output, on one line; empty if a test failed, or none ran."""
    result = status = ""
    for line in reversed(output.splitlines()):
        plain = _plain(line)
        if failed_tests(plain) is not None or _SOME_FAILED.match(plain):
            return ""
        if not result and _STATUS.fullmatch(plain):
            status = f": {plain}"
        elif not result and TESTS_PASSED.match(plain):
            result = f"{plain.strip('= ')}{status}"
    return result


def lines_on_tests(output: str) -> list[str]:
    """Return the lines that say how tests went: the newest result, then each test that failed, once."""
    results: list[str] = []
    failed: dict[str, str] = {}
    for line in output.splitlines():
        plain = _plain(line)
        if name := _failed_test(plain):
            failed.setdefault(name, line)
        elif _is_result(plain):
            results.append(line)
    return [*results[-_RESULT_LINES:], *failed.values()]


def _failed_test(line: str) -> str:
    if not any(word in line for word in _MAY_NAME):
        return ""
    found = next(filter(None, (form.fullmatch(line) for form in _FAILED_TESTS)), None)
    return found["name"] if found is not None else ""


def _is_result(line: str) -> bool:
    return bool(TESTS_PASSED.match(line) or _STATUS.fullmatch(line)) or failed_tests(line) is not None


def _plain(line: str) -> str:
    return _NUMBER.sub("", " ".join(line[:_MAX_CHARS].split()), count=1)
