"""The command `licenses`: list what is shipped and under which license, optionally with the texts."""

from __future__ import annotations

import argparse
import json

from helix_desktop.cli.output import print_notice, print_out
from helix_desktop.config.licenses import all_components
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def licenses(args: argparse.Namespace) -> int:
    """Print name, version and license of each component; return 1 if a text is missing."""
    components = all_components()
    if args.json:
        documents = [
            {
                "name": component.name,
                "version": component.version,
                "license": component.license_name,
                "licence": component.license_name,  # the spelling of earlier versions
                "where": component.location,
                "files": [name for name, _ in component.texts],
                **({"text": component.text} if args.texts else {}),
            }
            for component in components
        ]
        print_out(json.dumps(documents, indent=1, ensure_ascii=False))
    else:
        for component in components:
            print_out(f"{component.name}  {component.version or '-'}  {component.license_name or '?'}")
            if args.texts:
                print_out(f"\n{component.text}\n\n{'-' * 80}")
    incomplete = [component.name for component in components if not component.is_complete]
    for name in incomplete:
        print_notice(tr("The license text of {name} is missing. Reinstall Helix Desktop.", name=name))
    return 1 if incomplete else 0
