"""Reading a table from a file, with a sentence for everything that can be wrong with it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from sagdiv.cli.failures import UserError
from sagdiv.formula.errors import FormulaError, unknown_name

__all__ = ["PREDICTED", "TableOptions", "read_table"]

PREDICTED = "h"
"""The column of predictions."""

_FIRST_ROW = re.compile(r"(\d+) of \d+ rows: (\d+)\b.*?\(counted from 1\)")

_SUFFIXES = ".csv, .tsv, .txt, .parquet, .feather or .arrow"
_TEXT = (".csv", ".tsv", ".txt")
_SNIFFED = 1 << 20
_ROWS_AT_ONCE = 500_000
_BYTES_PER_VALUE = 24  # of a parsed column, with what parsing it needs for a while


@dataclass(frozen=True)
class TableOptions:
    """A file and how to read it."""

    path: Path
    delimiter: str | None
    decimal: str
    encoding: str

    def read(self, columns: Iterable[str], *, others: bool = False) -> Any:
        """Return the named columns, or all if ``others`` are wanted too, as a pandas data frame."""
        return read_table(
            self.path,
            columns,
            others=others,
            delimiter=self.delimiter,
            decimal=self.decimal,
            encoding=self.encoding,
        )

    @contextmanager
    def lines_for_rows(self) -> Iterator[None]:
        """Add the line of a text table to errors that name a row: it is what an editor shows."""
        try:
            yield
        except FormulaError as error:
            row = _FIRST_ROW.search(str(error))
            line = self._line(int(row[2])) if row and self.path.suffix.lower() in _TEXT else None
            if row is None or line is None:
                raise
            first = "the first is" if int(row[1]) > 1 else "it is"
            end = row.end() - 1  # before the closing bracket
            message = f"{str(error)[:end]}; {first} on line {line} of {self.path}{str(error)[end:]}"
            raise FormulaError(message) from error

    def _line(self, row: int) -> int | None:
        """Return on which line of the file a row of data ends, empty lines and all."""
        with self.path.open(encoding=self.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=_delimiter(self.path, self.delimiter))
            rows = filter(None, reader)
            return reader.line_num if next(islice(rows, row, None), None) else None


def read_table(
    path: Path,
    columns: Iterable[str] | None = None,
    *,
    others: bool = False,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Any:
    """Return the named columns of a table as a pandas data frame; None is all of them.

    With ``others`` too, those that are named must be there.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file {_SUFFIXES}.")
    if not path.exists():
        raise UserError(f"there is no file {path}{_nearest_file(path)}")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")
    wanted = None if columns is None else list(columns)
    suffix = path.suffix.lower()
    if suffix in _TEXT:
        return _read_text(path, wanted, others, delimiter, decimal, encoding)
    if suffix in (".parquet", ".feather", ".arrow"):
        return _read_arrow(path, wanted, others, suffix)
    hint = " Save the sheet as CSV." if suffix in (".xls", ".xlsx", ".ods") else ""
    raise UserError(f"{path} is not one of {_SUFFIXES}.{hint}")


def _read_text(
    path: Path,
    wanted: list[str] | None,
    others: bool,
    delimiter: str | None,
    decimal: str,
    encoding: str,
) -> Any:
    import pandas as pd

    start = _beginning(path, encoding)
    delimiter = _delimiter(path, delimiter)
    if len(delimiter) != 1 or len(decimal) != 1 or delimiter == decimal:
        raise UserError("--delimiter and --decimal must be one character each, and differ.")
    header, widths = _header(path, start, delimiter)
    _check_delimiter(path, header, delimiter, more=widths > 1)
    if widths > len(header):
        raise UserError(
            f"{path} has {len(header)} names in its header, but {widths} columns in the line "
            "below; is the decimal mark the delimiter?"
        )
    _check_names(header, wanted)
    wanted = None if others else wanted
    n_columns = len(header) if wanted is None else len(wanted)
    lines = start.count("\n")
    n_rows = path.stat().st_size * lines / max(len(start), 1) if lines > 1 else lines
    _check_memory(path, n_rows * n_columns * _BYTES_PER_VALUE)
    try:
        # All columns are parsed, block by block, because pandas overlooks lines that are too long
        # when it is asked for some columns only.
        blocks: Iterable[Any] = pd.read_csv(
            path,
            sep=delimiter,
            decimal=decimal,
            encoding=encoding,
            skipinitialspace=True,
            low_memory=False,
            chunksize=_ROWS_AT_ONCE,
        )
        chosen = slice(None) if wanted is None else wanted
        kept = [block.rename(columns=str.strip).loc[:, chosen] for block in blocks]
        return pd.concat(kept, ignore_index=True)
    except UnicodeDecodeError as error:
        raise _not_text(path, encoding) from error
    except (pd.errors.ParserError, csv.Error) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise UserError(
            f"{path} cannot be read as a table separated by {delimiter!r}: {reason}."
        ) from error


def _delimiter(path: Path, given: str | None) -> str:
    delimiter = given or ("\t" if path.suffix.lower() == ".tsv" else ",")
    return {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)  # as shells pass it on


def _read_arrow(path: Path, wanted: list[str] | None, others: bool, suffix: str) -> Any:
    import pandas as pd

    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ImportError(f'{suffix} files need pyarrow: pip install "sagdiv[cli]".') from error
    try:
        if suffix == ".parquet":
            footer = pyarrow.parquet.ParquetFile(path)
            names, n_rows = footer.schema_arrow.names, footer.metadata.num_rows
        else:
            with pa.memory_map(str(path)) as source:
                names, n_rows = pa.ipc.open_file(source).schema.names, 0
        _check_names(names, wanted)
        wanted = None if others else wanted
        n_columns = len(names) if wanted is None else len(wanted)
        _check_memory(path, n_rows * n_columns * _BYTES_PER_VALUE)
        read = pd.read_parquet if suffix == ".parquet" else pd.read_feather
        return read(path, columns=wanted)
    except pa.ArrowException as error:
        raise UserError(f"{path} is damaged, or not what {suffix} says.") from error


def _beginning(path: Path, encoding: str) -> str:
    """Return the first megabyte as text, up to the end of a line."""
    with path.open("rb") as file:
        raw = file.read(_SNIFFED)
        whole = not file.read(1)
    if b"\0" in raw and not encoding.lower().startswith("utf-16"):
        raise UserError(f"{path} is not a text table: it holds bytes of zero.")
    if not whole and b"\n" in raw:
        raw = raw[: raw.rindex(b"\n") + 1]
    try:
        return raw.decode(encoding)
    except LookupError as error:
        raise UserError(f"--encoding {encoding!r} is not known; try utf-8 or latin-1.") from error
    except UnicodeDecodeError as error:
        raise _not_text(path, encoding) from error


def _not_text(path: Path, encoding: str) -> UserError:
    return UserError(f"{path} is not text in {encoding}; try --encoding latin-1.")


def _header(path: Path, start: str, delimiter: str) -> tuple[list[str], int]:
    """Return the names of the columns, and how many the first row of data has."""
    reader = csv.reader(StringIO(start.lstrip("\ufeff")), delimiter=delimiter)
    try:
        rows = list(islice(filter(None, reader), 2))
    except csv.Error as error:
        raise UserError(f"the header of {path} cannot be read: {error}.") from error
    if not rows:
        raise UserError(f"{path} has no header line.")
    return [name.strip() for name in rows[0]], len(rows[-1])


def _check_delimiter(path: Path, header: list[str], delimiter: str, *, more: bool) -> None:
    if len(header) > 1:
        return
    for other, words in {";": "';'", "\t": "'\\t' (a tab)", "|": "'|'", ",": "','"}.items():
        if other != delimiter and other in header[0]:
            # A header of one name above rows of several: numbers such as 0,5.
            too = " --decimal ','" if more and delimiter == "," else ""
            raise UserError(
                f"{path} has a single column {header[0][:60]!r}: it seems to be separated by "
                f"{words}; pass --delimiter {words.split()[0]}{too}."
            )


def _check_names(names: list[str], wanted: list[str] | None) -> None:
    for name in wanted or ():
        if name not in names:
            raise unknown_name("column", name, names)
        if names.count(name) > 1:
            raise UserError(f"there are {names.count(name)} columns {name!r}; rename all but one.")


def _check_memory(path: Path, needed: float) -> None:
    available = _available_memory()
    if available is not None and needed > available:
        raise UserError(
            f"{path} would take about {needed / 2**30:.1f} GB in memory, and "
            f"{available / 2**30:.1f} GB are free: fit a sample of its rows, or all of them in "
            "blocks with KernelSAGDIV.partial_fit."
        )


def _available_memory() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((1024.0 * int(line.split()[1]) for line in lines if "MemAvailable" in line), None)


def _nearest_file(path: Path) -> str:
    from difflib import get_close_matches

    folder = path.parent
    names = [other.name for other in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(path.name, names, n=1)
    return f"; did you mean {folder / close[0]}?" if close else "."
