"""Tests in forked processes have the results that they have in one, and no failure of a process is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = ("-p", "tests.support.forked_tests", "--processes", "2")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


def run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, code: str, *options: str
) -> pytest.RunResult:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(f"import os, pytest\n{code}")
    return pytester.runpytest_subprocess(*PROCESSES, *options)


def test_every_result_is_reported(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what a test printed, in each phase; a module's fixture is there for a batch of its tests."""
    done = run(
        pytester,
        monkeypatch,
        """
@pytest.fixture(scope="module")
def process(): return os.getpid()
@pytest.fixture
def broken(): yield; print("printed after"); assert 0
@pytest.mark.parametrize("number", range(50))
def test_passes(number, process, tmp_path): assert (os.getpid(), os.listdir(tmp_path)) == (process, [])
def test_fails(): print("printed in it"); assert [1] == [2]
def test_breaks(broken): pass
def test_skips(): pytest.skip("not here")
@pytest.mark.xfail
def test_is_expected_to_fail(): assert 0
""",
        "-rs",
    )
    done.assert_outcomes(passed=51, failed=1, errors=1, skipped=1, xfailed=1)
    done.stdout.fnmatch_lines(["printed after", "*assert ?1? == ?2?", "printed in it", "SKIPPED * not here"])
    assert (
        done.stdout.str().count("printed") == 2 + 2
    )  # where it is printed, and in the code that is displayed
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_a_process_that_ends_leaves_tests_without_a_result(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(
        pytester, monkeypatch, "def test_passes(): pass\ndef test_ends(): os._exit(0)\ndef test_next(): pass"
    )
    done.stdout.fnmatch_lines(["*a process ended early: no result of *::test_ends, *::test_next*"])
    assert done.ret == pytest.ExitCode.INTERRUPTED


def test_what_is_found_after_the_last_test_fails_the_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(
        pytester,
        monkeypatch,
        """
class Left:
    def __del__(self): raise ValueError("when deleted")
def test_leaves_garbage(): left = Left(); left.itself = left
""",
    )
    done.stderr.fnmatch_lines(["*ValueError: when deleted"])
    done.stdout.fnmatch_lines(["*a process failed after its last test (see above)*"])
    assert done.ret == pytest.ExitCode.INTERRUPTED


def test_after_the_first_failure_no_more_tests_are_begun(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = '@pytest.mark.parametrize("number", range(500))\ndef test_fails(number): assert 0'
    done = run(pytester, monkeypatch, many, "-x")
    done.stdout.fnmatch_lines(["*stopping after * failures*"])
    assert done.parseoutcomes()["failed"] < 500
    assert done.ret == pytest.ExitCode.TESTS_FAILED
