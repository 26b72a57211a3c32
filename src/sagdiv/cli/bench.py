"""``sagdiv bench``: comparisons on designs whose answer is known."""

from __future__ import annotations

import json
import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sagdiv.cli.bench_progress import bench_progress
from sagdiv.cli.failures import INTERRUPTED, UserError, one_line
from sagdiv.cli.results import new_file

if TYPE_CHECKING:
    from sagdiv.experiments import Design, Plan, Row, Store

__all__ = ["bench"]

bench = typer.Typer(
    name="bench",
    help="Compare methods where the answer is known: run a design, table it, draw it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class Style(StrEnum):
    """Formats of a table."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"


_DesignPath = Annotated[Path, typer.Argument(metavar="DESIGN", help="TOML file.")]
_Results = Annotated[
    Path | None,
    typer.Option(help="File of rows.  [default: results/DESIGN.jsonl beside the design]"),
]

_RUN_EXAMPLES = """
[bold]Examples[/bold]

  sagdiv bench run experiments/continuous.toml --jobs 2

  sagdiv bench run experiments/continuous.toml --resume --method KIV --method 2SLS
"""


@bench.command(epilog=_RUN_EXAMPLES)
def run(
    design: _DesignPath,
    jobs: Annotated[int, typer.Option(min=1, help="How many fits at the same time.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Do what an earlier run left.")] = False,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method; may be repeated.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failures again.")
    ] = False,
    renew: Annotated[
        bool, typer.Option("--renew", help="Run again what other code computed.")
    ] = False,
    results: _Results = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Run a comparison; every fit becomes a row as soon as it is done."""
    with one_line():
        from sagdiv.experiments import plan
        from sagdiv.experiments import run as run_jobs

        found, store = _open(design, results)
        again = resume or retry_failed or renew
        if store.path.exists() and not again:
            raise UserError(
                f"{store.path} holds rows already; pass --resume to do what is missing, or name "
                "another file with --results."
            )
        todo = plan(found, store, methods=method or (), retry_failed=retry_failed, renew=renew)
        if not quiet:
            _tell(todo, store.path)
        with bench_progress(len(todo.jobs), quiet=quiet) as on_row:
            try:
                run_jobs(todo.jobs, store, n_jobs=jobs, on_row=on_row)
            except KeyboardInterrupt:
                typer.echo(
                    f"sagdiv: interrupted; what is done is in {store.path}: go on with --resume.",
                    err=True,
                )
                raise typer.Exit(INTERRUPTED) from None


@bench.command(epilog="[bold]Example[/bold]\n\n  sagdiv bench table experiments/continuous.toml")
def table(
    design: _DesignPath,
    style: Annotated[Style, typer.Option("--format", help="Of the table.")] = Style.markdown,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File.  [default: the terminal]")
    ] = None,
    results: _Results = None,
) -> None:
    """Summarise the rows of a comparison."""
    with one_line():
        from sagdiv.experiments import format_table, of_mixed_code, summarise

        found, store = _open(design, results)
        rows = _rows(found, store)
        if of_mixed_code(found, rows):
            typer.echo(
                "note: these rows were computed by several versions of the code; "
                f"sagdiv bench run {design} --renew makes them alike",
                err=True,
            )
        text = format_table(summarise(found, rows), style.value)
        if output is None:
            typer.echo(text, nl=False)
            return
        with new_file(output) as temporary:
            temporary.write_text(text, encoding="utf-8")


@bench.command(
    epilog="[bold]Example[/bold]\n\n  sagdiv bench plot experiments/continuous.toml -o figures/"
)
def plot(
    design: _DesignPath,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder.  [default: that of the rows]"),
    ] = None,
    results: _Results = None,
) -> None:
    """Draw box plots of the errors, and the curves of one draw, as PNG and PDF."""
    with one_line():
        from sagdiv.experiments.figures import draw_all

        found, store = _open(design, results)
        rows = _rows(found, store)
        for path in draw_all(found, rows, store.path.parent if output is None else output):
            typer.echo(f"wrote {path}")


@bench.command(
    epilog="[bold]Example[/bold]\n\n  sagdiv bench add experiments/continuous.toml 'My method' "
    "mymodule.MyEstimator --param degree=3"
)
def add(
    design: _DesignPath,
    name: Annotated[str, typer.Argument(help="In tables and figures.")],
    estimator: Annotated[
        str, typer.Argument(help="Dotted name of a class with fit(X, y, Z) and predict(X).")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, an argument of the class; may be repeated."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="'triplets', or 'triplets and instruments' for a fit(..., Z_extra)."),
    ] = None,
) -> None:
    """Add a method to a design; its rows are what the next run finds missing."""
    with one_line():
        from sagdiv.experiments import read_design

        _import_from_here()
        before = read_design(design)
        if name in [method.name for method in before.methods]:
            raise UserError(f"{design} has a method {name!r} already; choose another name.")
        lines = [f"\n[methods.{_quoted(name)}]", f"estimator = {_quoted(estimator)}"]
        if budget is not None:
            lines.append(f"budget = {_quoted(budget)}")
        if param:
            lines += [f"\n[methods.{_quoted(name)}.params]", *map(_assignment, param)]
        with new_file(design) as temporary:
            text = design.read_text(encoding="utf-8").rstrip("\n") + "\n" + "\n".join(lines) + "\n"
            temporary.write_text(text, encoding="utf-8")
            shutil.copymode(design, temporary)
            try:
                read_design(temporary)  # refuses what could not be run
            except ValueError as error:
                message = str(error).replace(str(temporary), str(design))
                raise UserError(f"{design} stays as it is: {message}") from error
        typer.echo(f"added; next: sagdiv bench run {design} --resume")


def _open(path: Path, results: Path | None) -> tuple[Design, Store]:
    from sagdiv.experiments import Store, read_design

    _import_from_here()
    design = read_design(path)
    default = path.parent / "results" / f"{design.name}.jsonl"
    return design, Store(default if results is None else results)


def _rows(design: Design, store: Store) -> list[Row]:
    rows = store.rows()
    if not rows:
        raise UserError(f"{store.path} has no rows yet; run the design {design.name} first.")
    return rows


def _import_from_here() -> None:
    """Let designs name modules of the folder in which the command is given."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def _tell(todo: Plan, path: Path) -> None:
    typer.echo(f"{len(todo.jobs)} fits to do, {todo.n_kept} rows kept; rows go to {path}")
    if todo.n_other_settings:
        typer.echo(
            f"note: {todo.n_other_settings} fits are in that file under other settings than the "
            "design has now; those rows are left alone and do not count"
        )
    if todo.n_outside:
        typer.echo(
            f"note: {todo.n_outside} fits in that file are not part of the design as it is now"
        )
    if todo.n_other_revisions:
        typer.echo(
            f"note: {todo.n_other_revisions} of the rows kept were computed by other code than "
            "this; --renew runs them again"
        )


def _assignment(param: str) -> str:
    name, equals, value = param.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"--param must be NAME=VALUE, got {param!r}.")
    return f"{name} = {_toml(value)}"


def _toml(value: str) -> str:
    """Return a value as TOML: numbers and true or false as they are, None, all else as words."""
    import tomllib

    if value == "None":
        return '{ object = "None" }'
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return _quoted(value)
    return value if isinstance(parsed, bool | int | float | list | dict) else _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
