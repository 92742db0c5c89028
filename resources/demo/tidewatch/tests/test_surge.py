import unittest

from tests.helpers import START, row
from tidewatch.harmonics import Tide
from tidewatch.surge import Residual, residuals, skew, surges

FLAT = Tide(3.0, (), 0.0)


class Surges(unittest.TestCase):
    def of(self, levels, minutes=20):
        return surges(residuals(row(levels, minutes), FLAT))

    def test_the_residual_is_observed_minus_predicted(self):
        self.assertEqual(residuals(row([3.25]), FLAT), [Residual(START, 0.25)])

    def test_a_long_stretch_is_a_surge_with_its_peak(self):
        found = self.of([3.0, 3.3, 3.5, 3.6, 3.4, 3.0])
        self.assertEqual([surge.peak for surge in found], [0.6])

    def test_a_short_one_is_none(self):
        self.assertEqual(self.of([3.0, 3.5, 3.5, 3.0]), [])

    def test_one_that_lasts_to_the_end_counts(self):
        self.assertEqual(len(self.of([3.0, 3.3, 3.3, 3.3, 3.3])), 1)

    def test_skew_takes_the_two_tops(self):
        self.assertEqual(skew(5.312, 5.004), 0.308)
