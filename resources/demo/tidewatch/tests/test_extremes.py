import math
import unittest

from tests.helpers import row
from tidewatch.extremes import find_extremes, highest, mean_range, ranges


def tide(hours, minutes=10):
    """A plain tide of 12.42 hours as readings."""
    count = int(hours * 60 / minutes)
    return row([3.0 + 2.0 * math.sin(2 * math.pi * n * minutes / 60 / 12.42) for n in range(count)], minutes)


class FindExtremes(unittest.TestCase):
    def test_two_days_have_four_of_each(self):
        kinds = [extreme.kind for extreme in find_extremes(tide(49))]
        self.assertEqual((kinds.count("high"), kinds.count("low")), (4, 4))

    def test_they_alternate(self):
        kinds = [extreme.kind for extreme in find_extremes(tide(49))]
        self.assertTrue(all(first != second for first, second in zip(kinds, kinds[1:])))

    def test_of_two_close_ones_the_higher_counts(self):
        found = find_extremes(row([1.0, 2.0, 1.8, 2.2, 1.0]))
        self.assertEqual(
            [(extreme.kind, extreme.level) for extreme in found if extreme.kind == "high"], [("high", 2.2)]
        )

    def test_the_ends_are_never_extremes(self):
        self.assertEqual(find_extremes(row([1.0, 2.0, 3.0])), [])


class Ranges(unittest.TestCase):
    def test_ranges_lie_between_neighbours(self):
        found = find_extremes(tide(49))
        self.assertTrue(all(3.9 < value <= 4.0 for value in ranges(found)))
        self.assertAlmostEqual(mean_range(found), 4.0, delta=0.01)

    def test_nothing_has_no_range_and_no_highest(self):
        self.assertIsNone(mean_range([]))
        self.assertIsNone(highest([]))
