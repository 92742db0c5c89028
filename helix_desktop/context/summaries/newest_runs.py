"""The newest run of each command: what a later run of the same thing makes outdated."""

from __future__ import annotations

import re
from functools import lru_cache

from helix_desktop.context.summaries.artifact_ledger import Ledger
from helix_desktop.context.summaries.ledger_entries import CommandRun

_TEST_PROGRAM = re.compile(
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|ctest|rspec|phpunit"
    r"|(?:cargo|go|npm|yarn|pnpm|mvn|gradle|make|dotnet|swift|mix) test)\b"
)
_OUTPUT_OPTION = re.compile(
    r"(?<!\s)\s+(?:-[qvsx]+|-r[a-zA-Z]+|--(?:quiet|verbose|no-header|(?:tb|color)[= ]\S+)|2>&1)(?=\s|$)"
)
"""An option that changes what tests print, or where they stop, not which ones run."""
_INTERPRETER = re.compile(r"\S*python[\d.]* -m (?=\w)")
_OTHER_EXIT_CODE = re.compile(r"[|;\n]|(?<!&)&(?!&)")
"""What lets a command line end with the exit code of something other than its tests."""
_RESULT_OF_TESTS = re.compile(
    r"\b\d+ (?:passed|failed|failures?|errors?)\b|^OK\b|\btest result: |\bTests:"
    r"|^(?:FAILED|ERROR) \S+::|^FAILED \(|\bRan \d+ tests?\b|--- FAIL: "
)
_OTHER_STEP = re.compile(r"[;\n]|(?<!&)&(?!&)|\|\|")
_FOLDER = re.compile(r"\s*cd\b")
_GIT_STEP = re.compile(r"\bgit(?: +-\S+(?: +[\w.]+=\S+)?)* +(commit|push|pull|merge|rebase)\b")
_REMEMBERED = 4_096  # commands


def newest_runs(ledger: Ledger) -> list[CommandRun]:
    """Return each command's newest run; of the same tests, whatever they print, only the newest one.

    Once all tests pass, those of them that failed before are over, too; and once a step with git succeeds,
    the same one that failed, whatever its options were.
    """
    newest: dict[str, CommandRun] = {}
    for run in ledger.commands.values():
        key = _topic(run)
        newest.pop(key, None)
        if run.ok and run.exit_code == 0:
            for other in [other for other in newest if not newest[other].ok and _ends(run, key, other)]:
                del newest[other]
        newest[key] = run
    return list(newest.values())


def _topic(run: CommandRun) -> str:
    """Return what a run is of: its tests, where its result is theirs, else its command."""
    if run.exit_code is None:
        return run.command
    tests, is_alone = _tests_of(run.command)
    failed_in_pipe = not run.ok and run.exit_code == 0 and _ends_with_tests(run.command)
    is_theirs = is_alone or failed_in_pipe or _RESULT_OF_TESTS.search(run.result)
    return tests if tests and is_theirs else run.command


def _ends_with_tests(command: str) -> bool:
    """Return True if only pipes follow the tests: a failure in the output is one of theirs."""
    steps = _OTHER_STEP.split(_OUTPUT_OPTION.sub("", command))
    return _TEST_PROGRAM.search(steps[-1]) is not None and "&&" not in steps[-1]


@lru_cache(_REMEMBERED)
def _tests_of(command: str) -> tuple[str, bool]:
    """Return the tests that a command runs, and whether its exit code is theirs.

    Without the options that change what they print; empty if it runs none, or several: then it is not known
    which of them a result is of.
    """
    parts = _OTHER_EXIT_CODE.split(_OUTPUT_OPTION.sub("", command))
    of_tests = [part for part in parts if _TEST_PROGRAM.search(part)]
    if len(of_tests) != 1:
        return "", False
    steps = [step for step in of_tests[0].split("&&") if _FOLDER.match(step) or _TEST_PROGRAM.search(step)]
    tests = " && ".join(" ".join(_INTERPRETER.sub("", step).split()) for step in steps)
    return tests, len(parts) == 1


def _ends(run: CommandRun, key: str, failed: str) -> bool:
    """Return True if a run that succeeded makes a failed one outdated."""
    if _TEST_PROGRAM.search(key) and failed.startswith((f"{key} ", f"{key}/")):
        return True
    step = _GIT_STEP.search(run.command)
    return step is not None and step[1] in _GIT_STEP.findall(failed)
