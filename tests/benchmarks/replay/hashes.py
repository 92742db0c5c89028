"""Print hashes of the requests and events of recordings, to compare before and after a change.

    python -m tests.benchmarks.replay.hashes FOLDER [COUNT] > before.txt

COUNT recordings (40) are taken, evenly by size, each with the profiles Balanced and Lean.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import closing
from pathlib import Path

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import RequestInvalid, RequestTooLarge
from helix_desktop.replay import Replayer
from helix_desktop.replay.recording import read_messages, with_turn_ends
from tests.benchmarks.replay.measure import find_recordings


def hash_recording(path: Path, profile: str) -> str:
    """Return a line with the number and the hash of the requests, and of the events."""
    requests = hashlib.sha256()
    events = hashlib.sha256()
    calls = 0
    with closing(Replayer(PROFILES[profile])) as replay:
        for message, is_turn_end in with_turn_ends(list(read_messages(path))):
            if message["role"] == "assistant":
                calls += 1
                try:
                    requests.update(msgspec.json.encode(replay.request()))
                except (RequestTooLarge, RequestInvalid) as error:
                    requests.update(str(error).encode())
            replay.feed(message)
            if is_turn_end:
                replay.end_turn()
        for recorded in replay.session.log:
            events.update(msgspec.json.encode(recorded))
        counts = len(replay.session.log)
        tokens = sum(replay.summaries)
    hashes = f"{calls} {requests.hexdigest()[:16]}  {counts} {events.hexdigest()[:16]}"
    return f"{path.parent.name}/{path.name} {profile}  {hashes}  {tokens}"


def main(folder: str, count: int = 40) -> None:
    paths = sorted(find_recordings([Path(folder)]), key=lambda path: (path.stat().st_size, path.name))
    for path in paths[:: max(1, len(paths) // count)][-count:]:
        for profile in ("balanced", "lean"):
            print(hash_recording(path, profile), flush=True)  # noqa: T201 - run by hand


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
