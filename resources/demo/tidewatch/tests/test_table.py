import unittest

from tidewatch.table import aligned, markdown


class Tables(unittest.TestCase):
    def test_numbers_stand_to_the_right(self):
        self.assertEqual(aligned([("M2", "1.9"), ("longer", "10.25")]), ["M2        1.9", "longer  10.25"])

    def test_a_header_gets_a_rule(self):
        self.assertEqual(aligned([("a", "1")], ("name", "n")), ["name  n", "----  -", "a     1"])

    def test_markdown(self):
        self.assertEqual(markdown([("a", 1)], ("x", "y")), ["| x | y |", "|---|---|", "| a | 1 |"])

    def test_nothing_is_nothing(self):
        self.assertEqual(aligned([]), [])
