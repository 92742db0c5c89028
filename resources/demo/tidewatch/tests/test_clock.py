import unittest
from datetime import datetime, timedelta

from tidewatch.clock import UTC, day_bounds, days_of, hours_between, parse_time, show_clock, show_time


class ParseTime(unittest.TestCase):
    def test_zulu_and_offset_are_the_same_moment(self):
        self.assertEqual(parse_time("2025-03-14T18:50Z"), parse_time("2025-03-14T19:50+01:00"))

    def test_a_time_without_a_zone_is_refused(self):
        with self.assertRaises(ValueError):
            parse_time("2025-03-14T18:50")

    def test_what_is_shown_can_be_read_again(self):
        moment = datetime(2025, 3, 14, 18, 50, tzinfo=UTC)
        self.assertEqual(parse_time(show_time(moment)), moment)


class Days(unittest.TestCase):
    def test_a_local_day_begins_before_or_after_the_utc_day(self):
        start, end = day_bounds("2025-03-14", 60)
        self.assertEqual(show_time(start), "2025-03-13T23:00Z")
        self.assertEqual(hours_between(start, end), 24.0)

    def test_the_wall_clock_follows_the_offset(self):
        self.assertEqual(show_clock(datetime(2025, 3, 14, 23, 30, tzinfo=UTC), 60), "00:30")

    def test_days_come_once_and_in_order(self):
        first = datetime(2025, 3, 14, 22, tzinfo=UTC)
        times = [first + timedelta(hours=n) for n in range(5)]
        self.assertEqual(days_of(times), ["2025-03-14", "2025-03-15"])
