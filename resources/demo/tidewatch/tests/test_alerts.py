import unittest

from tests.helpers import START
from tidewatch.alerts import alerts, colour_of, describe, worst
from tidewatch.extremes import Extreme
from tidewatch.stations import Station

STATION = Station("x", "Test Quay", "TQ-1", 0.0, 60, 4.0, 4.5, 5.0)


class Alerts(unittest.TestCase):
    def test_a_level_has_the_highest_colour_it_reaches(self):
        self.assertEqual(
            [colour_of(level, STATION) for level in (3.99, 4.0, 4.5, 6.0)], [None, "yellow", "amber", "red"]
        )

    def test_only_high_waters_raise_one(self):
        found = alerts([Extreme("low", START, 9.0), Extreme("high", START, 4.6)], STATION)
        self.assertEqual([(alert.colour, alert.over) for alert in found], [("amber", 0.1)])

    def test_the_text_is_in_local_time(self):
        (alert,) = alerts([Extreme("high", START, 4.6)], STATION)
        self.assertEqual(
            describe(alert, STATION), "AMBER Test Quay 2025-03-10 01:00: 4.60 m, 0.10 m over the amber mark"
        )

    def test_the_worst_is_the_strongest_colour(self):
        found = alerts([Extreme("high", START, 4.1), Extreme("high", START, 5.1), Extreme("high", START, 4.7)], STATION)
        self.assertEqual(worst(found).colour, "red")
        self.assertIsNone(worst([]))
