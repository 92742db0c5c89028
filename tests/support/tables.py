"""One test for all rows of a table, for tests of plain values.

pytest's own `parametrize` makes a test of each row, and spends more on it than most of them take: three
milliseconds of collecting, preparing and reporting, for thousands of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """Call the test with each row of a table, as `parametrize` does; all that fail are reported together.

    What a test needs a fixture for, or takes long, is better a test of each row.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [(row,) if len(columns) == 1 else tuple(row) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**others: Any) -> None:
            failures = []
            for row in table:
                values = dict(zip(columns, row, strict=True))
                try:
                    test(**others, **values)
                except Exception as failure:  # noqa: BLE001 - raised below, with those of the other rows
                    failure.add_note(f"with {values}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        # Not by `wraps`: pytest would look for fixtures of the test's own parameters.
        run.__module__ = test.__module__
        run.__qualname__ = test.__qualname__
        run.__doc__ = test.__doc__
        run.__name__ = test.__name__
        return run

    return decorate
