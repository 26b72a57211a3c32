"""The commands: fit, predict, report, datasets, bench."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from sagdiv.cli.bench import bench
from sagdiv.cli.failures import UserError, one_line
from sagdiv.cli.methods import LossName, Method, NaAction, make_estimator, refits_of
from sagdiv.cli.progress import stages
from sagdiv.cli.results import MODEL, new_file, new_folder, read_run
from sagdiv.cli.tables import PREDICTED, TableOptions

__all__ = ["commands"]

_EXAMPLES = """
[bold]Examples[/bold]

  sagdiv datasets engel -o engel.csv

  sagdiv fit engel.csv "food ~ kids + \\[logexp ~ logincome]" -o result/

  sagdiv predict result/ engel.csv -o curve.csv

[bold]Exit codes[/bold]

  0 done, 1 something in the input, 2 no such option, 70 a mistake in sagdiv, 130 interrupted
"""

commands = typer.Typer(
    name="sagdiv",
    help="From a table to a causal curve: nonparametric instrumental variable regression.",
    epilog=_EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)
commands.add_typer(bench)

_FIT_EXAMPLES = """
[bold]Examples[/bold]

  sagdiv datasets engel -o engel.csv

  sagdiv fit engel.csv "food ~ kids + \\[logexp ~ logincome]" -o result/

  sagdiv fit engel.csv --outcome food --treatment logexp --instrument logincome --control kids

  sagdiv fit people.parquet "works ~ C(region) + \\[income ~ tax]" --loss logistic --na-action drop
"""

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless it fails.")]
_Delimiter = Annotated[
    str | None,
    typer.Option(help="Between the columns of a text table.  \\[default: a comma, a tab in .tsv]"),
]
_Decimal = Annotated[str, typer.Option(help="The decimal mark of a text table.")]
_Encoding = Annotated[str, typer.Option(help="Of a text table.")]
_Replace = Annotated[bool, typer.Option("--replace", help="Replace a file that is there already.")]
_NaAction = Annotated[
    NaAction, typer.Option(help="Where a value is missing: stop, or leave the row out.")
]
_Names = list[str]


def _column(words: str) -> Any:
    return typer.Option(help=words, metavar="<column>")


def _version(asked: bool) -> None:
    if asked:
        from sagdiv import __version__

        typer.echo(f"sagdiv {__version__}")
        raise typer.Exit


@commands.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@commands.command(epilog=_FIT_EXAMPLES)
def fit(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet or Feather.")],
    formula: Annotated[
        str | None,
        typer.Argument(
            help='"outcome ~ control + \\[treatment ~ instrument]"; or use the options.'
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")] = Path(
        "result"
    ),
    outcome: Annotated[str | None, _column("What responds.")] = None,
    treatment: Annotated[_Names | None, _column("What is changed; may be repeated.")] = None,
    instrument: Annotated[_Names | None, _column("What moves it; may be repeated.")] = None,
    control: Annotated[_Names | None, _column("Held still; may be repeated.")] = None,
    cluster: Annotated[
        str | None,
        _column("Labels of groups of rows that belong together; widens the intervals as it must."),
    ] = None,
    loss: Annotated[
        LossName, typer.Option(help="logistic and probit are for an outcome of 0 and 1.")
    ] = LossName.squared,
    method: Annotated[Method, typer.Option(help="Estimator.")] = Method.kernel,
    na_action: _NaAction = NaAction.refuse,
    level: Annotated[float, typer.Option(help="Of intervals and bands.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")] = 0,
    refits: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Bootstrap fits behind the bands of other methods than kernel, which needs none; "
            "0 for no bands.  \\[default: 100; for deep 0, as each fit takes long]",
        ),
    ] = None,
    delimiter: _Delimiter = None,
    decimal: _Decimal = ".",
    encoding: _Encoding = "utf-8",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier result.")] = False,
    quiet: _Quiet = False,
) -> None:
    """Fit the curve, and write model, curve, figures and report to a folder."""
    with one_line():
        from sagdiv.cli.fitting import fit_table

        _check_level(level)
        if refits == 1:
            raise UserError("--refits must be 0, for no bands, or at least 2.")
        text = _formula(formula, outcome, treatment, instrument, control)
        table = TableOptions(data, delimiter, decimal, encoding)
        with stages(quiet=quiet) as stage:
            estimator = make_estimator(method, loss, seed, stage.epochs)
            with new_folder(output, replace=replace) as folder:
                found, notes = fit_table(
                    *(table, text, estimator, folder, stage),
                    na_action=na_action,
                    cluster=cluster,
                    level=level,
                    seed=seed,
                    n_refits=refits_of(method) if refits is None else refits,
                )
        if not quiet:
            from sagdiv.cli.summary import print_summary

            print_summary(found, output, notes)


@commands.command(epilog="[bold]Example[/bold]\n\n  sagdiv predict result/ new.csv -o curve.csv")
def predict(
    result: Annotated[Path, typer.Argument(help="Folder that `sagdiv fit` wrote.")],
    data: Annotated[
        Path, typer.Argument(help="Table with the regressors of the formula; others are kept.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV file.  \\[default: the terminal]")
    ] = None,
    na_action: _NaAction = NaAction.refuse,
    delimiter: _Delimiter = None,
    decimal: _Decimal = ".",
    encoding: _Encoding = "utf-8",
    replace: _Replace = False,
    quiet: _Quiet = False,
) -> None:
    """Evaluate a fitted curve at the rows of a table, and write it beside their columns as h."""
    with one_line():
        read_run(result)
        with stages(quiet=quiet) as stage:
            with stage("loading the model"):
                model = _load(result)
            table = TableOptions(data, delimiter, decimal, encoding)
            with stage(f"reading {data}"):
                frame = table.read(model.regressor_columns, others=True)
            if PREDICTED in frame:
                raise UserError(
                    f"{data} has a column {PREDICTED!r} already, which is what the prediction is "
                    "called; rename it."
                )
            complete = frame[list(model.regressor_columns)].notna().all(axis=1)
            dropped = na_action is NaAction.drop and not complete.all()
            if dropped:
                frame = frame[complete].reset_index(drop=True)
                if not quiet:
                    n_dropped = int((~complete).sum())
                    rows = "row" + "s" * (n_dropped != 1)
                    typer.echo(f"{n_dropped} {rows} left out for missing values", err=True)
            with nullcontext() if dropped else table.lines_for_rows():
                frame[PREDICTED] = model.predict(frame)
            if output is None:
                frame.to_csv(sys.stdout, index=False)
                sys.stdout.flush()  # so that a reader who left is noticed here
                return
            with new_file(output, replace=replace) as temporary:
                frame.to_csv(temporary, index=False)


@commands.command(
    epilog="[bold]Example[/bold]\n\n  sagdiv report result/ --level 0.9 -o report.html"
)
def report(
    result: Annotated[Path, typer.Argument(help="Folder that `sagdiv fit` wrote.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="HTML file.  \\[default: report.html in the folder]"),
    ] = None,
    level: Annotated[float | None, typer.Option(help="Of intervals and bands.")] = None,
    replace: _Replace = False,
    quiet: _Quiet = False,
) -> None:
    """Write the report of a result again, perhaps at another level."""
    with one_line():
        from sagdiv.report import findings, report_html

        run = read_run(result)
        level = float(run.get("level", 0.95)) if level is None else level
        _check_level(level)
        target = result / "report.html" if output is None else output
        with stages(quiet=quiet) as stage:
            with stage("loading the model"):
                model = _load(result)
            with stage("computing bands and diagnostics"):
                found = findings(
                    model,
                    level=level,
                    n_refits=int(run.get("refits", 0)),
                    random_state=int(run.get("seed", 0)),
                )
            # Its own report is what the result is asked to write again.
            with new_file(target, replace=replace or output is None) as temporary:
                temporary.write_text(report_html(found, run), encoding="utf-8")
        if not quiet:
            typer.echo(f"wrote {target}")


@commands.command(
    epilog="[bold]Example[/bold]\n\n  sagdiv datasets engel -o engel.csv", name="datasets"
)
def list_datasets(
    name: Annotated[str | None, typer.Argument(help="One of the tables; all are listed.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file.")] = None,
    replace: _Replace = False,
) -> None:
    """List the tables of real data that can be tried, or write one as CSV."""
    with one_line():
        from sagdiv.cli.tables_to_try import describe, names, table

        if name is None:
            for known in names():
                typer.echo(describe(known))
            return
        loaded = table(name)
        if output is None:
            raise UserError(f"name a file for the table: sagdiv datasets {name} -o {name}.csv")
        with new_file(output, replace=replace) as temporary:
            loaded.frame.to_csv(temporary, index=False)
        loss = " --loss logistic" if loaded.binary else ""
        missing = " --na-action drop" if loaded.needs_dropping else ""
        typer.echo(f'wrote {output}; try: sagdiv fit {output} "{loaded.formula}"{loss}{missing}')


def _formula(
    formula: str | None,
    outcome: str | None,
    treatment: _Names | None,
    instrument: _Names | None,
    control: _Names | None,
) -> str:
    roles = (outcome, treatment, instrument, control)
    if formula is not None:
        if any(roles):
            raise UserError("give a formula, or --outcome, --treatment and so on, but not both.")
        return formula
    if not (outcome and treatment and instrument):
        raise UserError(
            'say what to fit: a formula such as "y ~ w + [x ~ z]", or --outcome, --treatment and '
            "--instrument."
        )
    before = f"{_sum(control)} + " if control else ""
    return f"{_sum([outcome])} ~ {before}[{_sum(treatment)} ~ {_sum(instrument)}]"


def _sum(names: _Names) -> str:
    return " + ".join(name if name.isidentifier() else f"`{name}`" for name in names)


def _load(result: Path) -> Any:
    from sagdiv.formula import StructuralFit
    from sagdiv.persistence import load

    model = load(result / MODEL)
    if not isinstance(model, StructuralFit):
        raise UserError(f"{result / MODEL} holds no model that `sagdiv fit` wrote.")
    if not hasattr(model, "_typical"):
        raise UserError(f"{result} was written by an earlier version; fit again with --replace.")
    return model


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UserError(f"--level must lie between 0 and 1, got {level:g}.")
