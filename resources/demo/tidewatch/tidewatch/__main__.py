"""`python -m tidewatch`."""

import sys

from tidewatch.cli import main

sys.exit(main(sys.argv[1:]))
