"""Run the window of accessibility tests: `python -m tests.support.atspi FOLDER`.

Processes that the window starts import the main module again unless it is a package's: a second of imports.
"""

from __future__ import annotations

import tests.support.plain_imports  # noqa: F401 - first: what comes after it is imported faster
from tests.support.atspi.app import main

main()
