"""Tests of Tidewatch; run with `python -m unittest`."""
