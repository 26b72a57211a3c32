"""The paper's rule of fair comparison: every method gets as many random variables.

A triplet (X, Y, Z) counts as three of them, a further value of Z as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["RULES", "Budget", "Rule", "most_of_each", "share_out"]

Rule = Literal["triplets", "triplets and instruments"]
RULES: tuple[str, ...] = get_args(Rule)

_PER_TRIPLET = 3
_EXTRA_PER_TRIPLET = 2  # M = 2 N: what the paper found to serve


@dataclass(frozen=True)
class Budget:
    """Rows that a method gets.

    Attributes
    ----------
    n_triplets : int
    n_extra : int
        Values of Z without X and Y.
    """

    n_triplets: int
    n_extra: int = 0

    @property
    def samples(self) -> int:
        """Random variables that these rows amount to."""
        return _PER_TRIPLET * self.n_triplets + self.n_extra


def share_out(samples: int, rule: Rule = "triplets") -> Budget:
    """Return the rows that a number of random variables buys under a rule.

    Parameters
    ----------
    samples : int
    rule : {"triplets", "triplets and instruments"}
        All in triplets; or N triplets and 2 N further values of Z.

    Examples
    --------
    >>> share_out(3000)
    Budget(n_triplets=1000, n_extra=0)
    >>> share_out(3000, "triplets and instruments")
    Budget(n_triplets=600, n_extra=1200)
    """
    if rule not in RULES:
        raise ValueError(f"budget must be one of {', '.join(map(repr, RULES))}, got {rule!r}.")
    extra = 0 if rule == "triplets" else _EXTRA_PER_TRIPLET
    n_triplets = samples // (_PER_TRIPLET + extra)
    if n_triplets < 1:
        raise ValueError(f"{samples} random variables do not make a row under the rule {rule!r}.")
    return Budget(n_triplets, extra * n_triplets)


def most_of_each(samples: int) -> Budget:
    """Return the rows of which the first ones are enough for any rule.

    Examples
    --------
    >>> most_of_each(3000)
    Budget(n_triplets=1000, n_extra=1200)
    """
    split = samples // (_PER_TRIPLET + _EXTRA_PER_TRIPLET)
    return Budget(samples // _PER_TRIPLET, _EXTRA_PER_TRIPLET * split)
