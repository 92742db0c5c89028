"""Tidewatch: high and low waters, predictions, surges and alerts from tide gauge readings."""

__version__ = "0.4.2"
