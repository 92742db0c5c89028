import unittest
from datetime import timedelta

from tests.helpers import START, row
from tidewatch.harmonics import Constituent, Tide, fit, predict, predict_many

KNOWN = Tide(3.0, (Constituent("M2", 2.0, 40.0), Constituent("S2", 0.6, 110.0), Constituent("O1", 0.1, 200.0)), 0.0)


def readings_of(tide, hours, minutes=20):
    """Readings of a known tide."""
    count = hours * 60 // minutes
    return row([predict(tide, START + timedelta(minutes=minutes * n)) for n in range(count)], minutes)


class Fit(unittest.TestCase):
    def test_a_known_tide_is_found_again(self):
        found = fit(readings_of(KNOWN, 24 * 16), ("M2", "S2", "O1"))
        self.assertAlmostEqual(found.mean, 3.0, places=6)
        for got, known in zip(found.constituents, KNOWN.constituents):
            self.assertAlmostEqual(got.amplitude, known.amplitude, places=6)
            self.assertAlmostEqual(got.phase, known.phase, places=4)
        self.assertLess(found.rms, 1e-9)

    def test_too_few_readings_are_refused(self):
        with self.assertRaisesRegex(ValueError, "cannot give"):
            fit(readings_of(KNOWN, 2), ("M2", "S2", "K1", "O1"))

    def test_too_short_a_record_is_refused(self):
        with self.assertRaisesRegex(ValueError, "too short"):
            fit(row([3.0] * 20, 0), ("M2", "S2"))


class Predict(unittest.TestCase):
    def test_many_are_the_same_as_one_by_one(self):
        times = [START + timedelta(hours=n) for n in range(5)]
        self.assertEqual(predict_many(KNOWN, times), [predict(KNOWN, time) for time in times])
