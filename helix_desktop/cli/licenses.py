"""The command `licences`: what is shipped, under which terms, with their texts if wanted."""

from __future__ import annotations

import argparse
import json

from helix_desktop.cli.output import print_err, print_out
from helix_desktop.config.licenses import all_components


def licences(args: argparse.Namespace) -> int:
    """Print name, version and licence of each part; 1 when a text is missing."""
    parts = all_components()
    if args.json:
        told = [
            {
                "name": one.name,
                "version": one.version,
                "licence": one.license_name,
                "where": one.location,
                "files": [name for name, _ in one.texts],
                **({"text": one.text} if args.texts else {}),
            }
            for one in parts
        ]
        print_out(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for one in parts:
            print_out(f"{one.name}  {one.version or '-'}  {one.license_name or '?'}")
            if args.texts:
                print_out(f"\n{one.text}\n\n{'-' * 80}")
    lacking = [one.name for one in parts if not one.is_complete]
    for name in lacking:
        print_err(f"helix-desktop: the terms of {name} are missing; install Helix Desktop again")
    return 1 if lacking else 0
