import tempfile
import unittest
from pathlib import Path

from tests.helpers import HARBOUR, NORTHGATE, row
from tidewatch.readings import BadFile, interval_minutes, load, of_day, save, shifted, usable


class Load(unittest.TestCase):
    def write(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "data.csv"
        path.write_text(text, encoding="utf-8")
        return path

    def test_the_harbour_record_is_whole(self):
        readings = load(HARBOUR)
        self.assertEqual(len(readings), 8 * 144)
        self.assertEqual(interval_minutes(readings), 10)

    def test_the_northgate_record_is_half_hourly(self):
        self.assertEqual(interval_minutes(load(NORTHGATE)), 30)

    def test_comments_are_skipped_and_order_is_mended(self):
        path = self.write("# a\ntime,level_m,flag\n2025-03-10T01:00Z,2.0,ok\n2025-03-10T00:00Z,1.0,ok\n")
        self.assertEqual([reading.level for reading in load(path)], [1.0, 2.0])

    def test_wrong_lines_are_named(self):
        for line in ("2025-03-10T00:00Z,x,ok", "2025-03-10T00:00Z,1.0", "2025-03-10T00:00Z,1.0,odd", "now,1.0,ok"):
            with self.subTest(line), self.assertRaisesRegex(BadFile, "line 2"):
                load(self.write(f"time,level_m,flag\n{line}\n"))

    def test_an_impossible_level_is_refused(self):
        with self.assertRaisesRegex(BadFile, "cannot be"):
            load(self.write("time,level_m,flag\n2025-03-10T00:00Z,99.0,ok\n"))

    def test_two_readings_at_one_time_are_refused(self):
        with self.assertRaisesRegex(BadFile, "two readings"):
            load(self.write("time,level_m,flag\n2025-03-10T00:00Z,1.0,ok\n2025-03-10T00:00Z,1.1,ok\n"))

    def test_what_is_saved_can_be_loaded(self):
        path = self.write("")
        save(path, row([1.0, 1.25, 1.375]))
        self.assertEqual(load(path), row([1.0, 1.25, 1.375]))


class Select(unittest.TestCase):
    def test_maintenance_is_left_out(self):
        readings = row([1.0, 2.0])
        readings[1] = readings[1]._replace(flag="maint")
        self.assertEqual(usable(readings), readings[:1])

    def test_an_offset_is_added_to_the_millimetre(self):
        self.assertEqual([reading.level for reading in shifted(row([1.0, 2.0]), -0.018)], [0.982, 1.982])

    def test_a_day_is_cut_out(self):
        self.assertEqual(len(of_day(load(HARBOUR), "2025-03-12")), 144)
