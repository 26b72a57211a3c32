"""Write the tables and figures of the committed rows: ``python experiments/publish.py``.

Tables go to ``experiments/results`` and into the pages that have a place for them, figures to
``docs/figures``. The same rows give the same tables, byte for byte; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sagdiv.experiments import Store, format_table, read_design, summarise
from sagdiv.experiments.figures import draw_all

ROOT = Path(__file__).resolve().parents[1]
RESULTS, FIGURES = ROOT / "experiments" / "results", ROOT / "docs" / "figures"
PAGES = (ROOT / "README.md", ROOT / "docs" / "experiments.md")
DESIGNS = ("continuous", "half", "binary")
ENDINGS = {"markdown": "md", "latex": "tex", "csv": "csv"}

_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def tables() -> dict[Path, str]:
    """Return the content of every file of tables, and of every page that shows one."""
    found = {}
    for name in DESIGNS:
        design, store = _open(name)
        summaries = summarise(design, store.rows())
        for style, ending in ENDINGS.items():
            found[RESULTS / f"{name}.{ending}"] = format_table(summaries, style)

    def place(match: re.Match[str]) -> str:
        table = found[RESULTS / f"{match[2]}.md"]
        return f"{match[1]}\n{table}\n{match[3]}"

    return found | {page: _PLACE.sub(place, page.read_text(encoding="utf-8")) for page in PAGES}


def figures() -> Iterator[Path]:
    """Draw the errors and the curves of every design."""
    for name in DESIGNS:
        design, store = _open(name)
        yield from draw_all(design, store.rows(), FIGURES)


def _open(name: str):
    design = read_design(ROOT / "experiments" / f"{name}.toml")
    return design, Store(RESULTS / f"{name}.jsonl")


def main() -> None:
    for path, content in tables().items():
        path.write_text(content, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    for path in figures():
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
