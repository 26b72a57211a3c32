"""The command line: ``sagdiv fit data.csv "y ~ w + [x ~ z]" -o result/``."""

from __future__ import annotations

import sys

__all__ = ["app"]


def app() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from sagdiv.cli.commands import commands
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in ("typer", "click", "rich"):
            raise
        sys.stderr.write(f'sagdiv: this needs {missing}: pip install "sagdiv[cli]"\n')
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    commands()
