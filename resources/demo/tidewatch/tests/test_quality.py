import unittest
from datetime import timedelta

from tests.helpers import NORTHGATE, row
from tidewatch.quality import check, describe, find_gaps, find_spikes, find_stuck, without_spikes
from tidewatch.readings import load


class Spikes(unittest.TestCase):
    def test_a_lone_reading_away_from_the_line_is_a_spike(self):
        found = find_spikes(row([1.0, 1.1, 1.7, 1.3, 1.4]))
        self.assertEqual([finding.detail for finding in found], ["+0.500 m"])

    def test_a_steep_tide_is_none(self):
        self.assertEqual(find_spikes(row([1.0, 1.3, 1.6, 1.9, 2.2])), [])

    def test_a_spike_is_put_on_the_line_and_flagged(self):
        cleaned = without_spikes(row([1.0, 1.1, 1.7, 1.3, 1.4]))
        self.assertEqual(cleaned[2].level, 1.2)
        self.assertEqual(cleaned[2].flag, "suspect")


class Gaps(unittest.TestCase):
    def test_a_long_step_is_a_gap(self):
        readings = row([1.0, 1.1, 1.2, 1.3])
        readings[3] = readings[3]._replace(time=readings[3].time + timedelta(minutes=40))
        self.assertEqual([finding.detail for finding in find_gaps(readings)], ["50 min"])


class Stuck(unittest.TestCase):
    def test_six_equal_readings_are_stuck_and_five_are_not(self):
        self.assertEqual(len(find_stuck(row([1.0] * 6 + [1.1]))), 1)
        self.assertEqual(find_stuck(row([1.0] * 5 + [1.1])), [])

    def test_a_run_at_the_end_counts(self):
        self.assertEqual(len(find_stuck(row([1.1] + [1.0] * 6))), 1)


class Record(unittest.TestCase):
    def test_the_northgate_record_has_the_gap_of_the_recalibration(self):
        found = check(load(NORTHGATE))
        self.assertIn("gap", {finding.kind for finding in found})
        self.assertTrue(all(line.startswith("2025-03-") for line in describe(found)))
