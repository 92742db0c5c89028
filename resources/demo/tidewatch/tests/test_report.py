import unittest

from tests.helpers import HARBOUR
from tidewatch.clock import show_clock
from tidewatch.readings import load
from tidewatch.report import daily_report, extremes_of_day
from tidewatch.stations import station_of


class DailyReport(unittest.TestCase):
    def setUp(self):
        self.readings = load(HARBOUR)
        self.station = station_of("harbour")

    def highs(self, day):
        found = extremes_of_day(self.readings, self.station, day)
        return [(show_clock(one.time), round(one.level, 2)) for one in found if one.kind == "high"]

    def test_a_calm_day_has_no_alerts(self):
        self.assertIn("No alerts.", daily_report(self.readings, self.station, "2025-03-10"))

    def test_every_full_day_has_three_or_four_waters(self):
        for day in ("2025-03-11", "2025-03-12", "2025-03-13", "2025-03-16"):
            with self.subTest(day):
                self.assertIn(len(extremes_of_day(self.readings, self.station, day)), (3, 4))

    def test_the_gale_of_the_14th_raises_amber_in_the_evening(self):
        highs = self.highs("2025-03-14")
        self.assertEqual(len(highs), 2, f"high waters found: {highs}")
        self.assertIn("AMBER Old Harbour 2025-03-14", daily_report(self.readings, self.station, "2025-03-14"))
