import unittest

from tests.helpers import row
from tidewatch.smoothing import moving_mean, moving_median, smooth_readings


class Smoothing(unittest.TestCase):
    def test_no_value_is_lost(self):
        for width in (1, 3, 5, 9):
            self.assertEqual(len(moving_mean([1.0, 2.0, 3.0, 4.0], width)), 4)

    def test_a_straight_line_stays_one_inside(self):
        self.assertEqual(moving_mean([1.0, 2.0, 3.0, 4.0, 5.0], 3)[1:4], [2.0, 3.0, 4.0])

    def test_the_median_drops_an_outlier(self):
        self.assertEqual(moving_median([1.0, 1.0, 9.0, 1.0, 1.0], 3), [1.0] * 5)

    def test_an_even_width_is_refused(self):
        for width in (0, 2, -3):
            with self.assertRaises(ValueError):
                moving_mean([1.0], width)

    def test_readings_keep_their_times(self):
        readings = row([1.0, 1.2, 1.1])
        self.assertEqual([r.time for r in smooth_readings(readings, 3)], [r.time for r in readings])
