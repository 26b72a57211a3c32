"""Run benchmarks: ``python -m benchmarks [--quick] [name ...]``; all of them by default.

Further options are those of the one benchmark named: ``python -m benchmarks default --draws 50``.
"""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module

import benchmarks
from benchmarks.common import describe_machine


def main() -> None:
    names = sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name not in ("__main__", "common")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="smallest sizes, to see that it runs")
    arguments, options = parser.parse_known_args()
    if options and len(arguments.names) != 1:
        parser.error(f"name the one benchmark that {' '.join(options)} is for")
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(
            f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(names)}"
        )
    print(describe_machine())
    for name in arguments.names or names:
        print(f"\n## {name}\n", flush=True)
        import_module(f"benchmarks.{name}").main(options + ["--quick"] * arguments.quick)


if __name__ == "__main__":
    main()
