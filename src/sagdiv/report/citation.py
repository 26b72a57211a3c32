"""What to cite, as BibTeX."""

from __future__ import annotations

__all__ = ["citation"]

_PAPER = """@inproceedings{fonseca2024sagdiv,
  title = {Nonparametric Instrumental Variable Regression through Stochastic Approximate Gradients},
  author = {Fonseca, Yuri R. and Peixoto, Caio F. L. and Saporito, Yuri F.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {37},
  year = {2024},
  note = {arXiv:2402.05639}
}"""
_SOFTWARE = (
    "sagdiv: nonparametric instrumental variable regression through stochastic approximate "
    "gradients"
)


def citation(version: str, date: str) -> str:
    """Return the entries of the paper and of the software that computed a result.

    Parameters
    ----------
    version : str
        Of this library.
    date : str
        Of the computation; it begins with the year. May be empty.
    """
    year = f"\n  year = {{{date[:4]}}}," if date[:4].isdigit() else ""
    software = f"""@software{{sagdiv,
  title = {{{_SOFTWARE}}},
  author = {{{{The sagdiv developers}}}},{year}
  version = {{{version}}}
}}"""
    return f"{_PAPER}\n\n{software}"
