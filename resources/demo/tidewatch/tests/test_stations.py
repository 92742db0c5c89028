import unittest

from tidewatch import stations
from tidewatch.stations import STATIONS_FILE, UnknownStation, load_stations, station_of


class Stations(unittest.TestCase):
    def test_both_stations_are_there(self):
        self.assertEqual(sorted(load_stations()), ["harbour", "northgate"])

    def test_an_unknown_one_is_named_with_those_there_are(self):
        with self.assertRaisesRegex(UnknownStation, "harbour, northgate"):
            station_of("moon")

    def test_the_small_reader_agrees_with_the_library(self):
        library = stations.tomllib
        self.addCleanup(setattr, stations, "tomllib", library)
        stations.tomllib = None
        small = load_stations()
        stations.tomllib = library
        self.assertEqual(small, load_stations())

    def test_the_file_is_found_from_anywhere(self):
        self.assertTrue(STATIONS_FILE.is_absolute())
