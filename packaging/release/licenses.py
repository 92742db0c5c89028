"""./helix package licenses: the licenses of all that is shipped, as one text, printed by the frozen app."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from environment import SetupFailed
from frozen.build import NAME as PROGRAM
from frozen.build import frozen_tree
from system_tools import run

NAME = "THIRD-PARTY-NOTICES.txt"
# Qt's license requires its full text and that of the one it builds upon.
DUTIES = ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE")


def build(root: Path, words: Sequence[str]) -> int:
    """Write dist/THIRD-PARTY-NOTICES.txt. Raises SetupFailed."""
    text = run(frozen_tree(root) / PROGRAM, "licenses", "--texts")
    if lacking := [duty for duty in DUTIES if duty not in text]:
        raise SetupFailed(
            f"the app's licenses lack the {' and the '.join(lacking)}: it must not be shipped so."
        )
    (root / "dist").mkdir(exist_ok=True)
    (root / "dist" / NAME).write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"{Path('dist', NAME)}\n")
    return 0
