"""The command `licences`: what is shipped, under which terms, with their texts if wanted."""

from __future__ import annotations

import argparse
import json

from helix_desktop.app.voice import err, out
from helix_desktop.config.licences import all_parts


def licences(given: argparse.Namespace) -> int:
    """Print name, version and licence of each part; 1 when a text is missing."""
    parts = all_parts()
    if given.json:
        told = [
            {
                "name": one.name,
                "version": one.version,
                "licence": one.licence,
                "where": one.where,
                "files": [name for name, _ in one.texts],
                **({"text": one.text} if given.texts else {}),
            }
            for one in parts
        ]
        out(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for one in parts:
            out(f"{one.name}  {one.version or '-'}  {one.licence or '?'}")
            if given.texts:
                out(f"\n{one.text}\n\n{'-' * 80}")
    lacking = [one.name for one in parts if not one.whole]
    for name in lacking:
        err(f"helix-desktop: the terms of {name} are missing; install Helix Desktop again")
    return 1 if lacking else 0
