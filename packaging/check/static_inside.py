"""The part of check/static.py that needs libraries; runs on the Python of build/static-env.

static_inside.py bill < BILL                         held against CycloneDX's own schema
static_inside.py scripts SHELLCHECK WORKFLOW...      each `run:` of a workflow, read by shellcheck
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def bill_complaint(text: str) -> str:
    """Return the schema's complaint about a bill; empty if it is valid."""
    schema = importlib.import_module("cyclonedx.schema")
    validation = importlib.import_module("cyclonedx.validation.json")
    problems = validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text)
    return str(problems) if problems else ""


def scripts(workflow: Path) -> Iterator[tuple[str, str]]:
    """Yield the shell scripts of a workflow, each with its place."""
    yaml = importlib.import_module("ruamel.yaml").YAML(typ="safe")
    jobs: dict[str, Any] = yaml.load(workflow.read_text(encoding="utf-8"))["jobs"]
    for name, job in jobs.items():
        shell = job.get("defaults", {}).get("run", {}).get("shell", "bash")
        for number, step in enumerate(job.get("steps", ()), 1):
            if "run" in step and step.get("shell", shell) == "bash":
                yield f"{workflow}, job {name}, step {number} ({step.get('name', 'unnamed')})", step["run"]


def script_complaint(shellcheck: str, script: str) -> str:
    """Return the problem of one script: an embedded expression, or a finding of shellcheck."""
    if "${{" in script:
        return "an expression stands in a script, where its value is run as code; hand it over in `env:`\n"
    line = [shellcheck, "--shell=bash", "-"]
    done = subprocess.run(line, input=script, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main(arguments: Sequence[str]) -> int:
    """Check the given files and print the problems; return 1 if there are any."""
    kind, *rest = arguments
    if kind == "bill":
        problems = bill_complaint(sys.stdin.read())
    else:
        shellcheck, *workflows = rest
        checked = (
            (place, script_complaint(shellcheck, script))
            for workflow in workflows
            for place, script in scripts(Path(workflow))
        )
        problems = "\n".join(f"{place}:\n{complaint}" for place, complaint in checked if complaint)
    sys.stdout.write(problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
