"""The pages of the documentation as programs: run their Python, check what they say it prints.

``python docs/pages.py`` (or ``make docs``) runs every page in a folder of its own, writes what its
blocks print into the page, and keeps the figures that they save in ``docs/figures``. The tests run
the same blocks and compare.
"""

from __future__ import annotations
import __future__

import contextlib
import io
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
GENERATED = {ROOT / "docs" / "api.md"}

_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.M | re.S
)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of Python, and the block of text behind it: what it prints."""

    code: str
    printed: str | None
    line: int
    span: tuple[int, int]


def pages() -> list[Path]:
    """Return every page that a person wrote."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page not in GENERATED]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(m["code"], m["printed"], text.count("\n", 0, m.start()) + 1, m.span("printed"))
        for m in _BLOCK.finditer(text)
    ]


def run(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page, one after the other; return what each printed.

    The folder has the tables that are beside the page, and gets the figures.
    """
    names = {"__name__": page.stem}
    printed = []
    for table in page.parent.glob("*.csv"):
        shutil.copy(table, folder)
    with contextlib.chdir(folder):
        for block in blocks(page):
            # Empty lines first, so that a traceback shows the line of the page.
            code = "\n" * block.line + block.code
            flags = __future__.annotations.compiler_flag
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(page), "exec", flags, dont_inherit=True), names)
            printed.append(out.getvalue())
    return printed


def same(one: str, other: str, tolerance: float = 0.1) -> bool:
    """Return whether two texts agree in their words, and nearly in their numbers."""
    if _NUMBER.sub("0", one).split() != _NUMBER.sub("0", other).split():
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= 0.01 + tolerance * abs(float(b)) for a, b in pairs)


def rewrite(page: Path, printed: list[str]) -> None:
    """Write into a page what its blocks printed, where it says that."""
    text = page.read_text(encoding="utf-8")
    for block, now in reversed(list(zip(blocks(page), printed, strict=True))):
        if block.printed is not None:
            start, end = block.span
            text = text[:start] + now + text[end:]
    page.write_text(text, encoding="utf-8")


def main() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages()
    for page in chosen:
        print(page.relative_to(ROOT), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rewrite(page, run(page, Path(folder)))
            for figure in Path(folder).glob("*.png"):
                shutil.copy(figure, FIGURES / figure.name)


if __name__ == "__main__":
    main()
