import contextlib
import io
import unittest

from tests.helpers import HARBOUR, NORTHGATE
from tidewatch.cli import main


def run(*arguments):
    """The exit code and output of a command."""
    out = io.StringIO()
    with contextlib.redirect_stderr(out):
        code = main([str(argument) for argument in arguments], out)
    return code, out.getvalue()


class Commands(unittest.TestCase):
    def test_a_report_has_a_title_and_a_table(self):
        code, text = run("report", HARBOUR, "--day", "2025-03-12")
        self.assertEqual(code, 0)
        self.assertTrue(text.startswith("# Old Harbour, 2025-03-12\n"))
        self.assertIn("| water | time | level (m) |", text)

    def test_a_day_without_readings_says_so(self):
        self.assertIn("No readings.", run("report", HARBOUR, "--day", "2024-01-01")[1])

    def test_check_ends_with_1_when_something_was_found(self):
        code, text = run("check", NORTHGATE, "--station", "northgate")
        self.assertEqual(code, 1)
        self.assertIn("gap", text)

    def test_fit_lists_constituents(self):
        code, text = run("fit", HARBOUR)
        self.assertEqual(code, 0)
        self.assertIn("M2", text)
        self.assertIn("surge of", text)

    def test_trouble_is_one_line_and_exit_code_2(self):
        for arguments in (("check", "nowhere.csv"), ("fit", HARBOUR, "--station", "moon")):
            code, text = run(*arguments)
            self.assertEqual((code, text.count("\n")), (2, 1))
