"""Reading a formula: which expressions are outcome, treatments, controls and instruments.

Accepted are ``y ~ w + [x ~ z]`` (linearmodels), ``y ~ w | x ~ z`` (pyfixest without fixed effects)
and ``y ~ x + w | z + w`` (R's ivreg: what stands on both sides is exogenous).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from sagdiv.formula.errors import FormulaError

__all__ = ["MOST_LEVELS", "Formula", "Term", "require_formulaic"]

MOST_LEVELS = 100
"""Categories that one expression can have."""

Term: TypeAlias = tuple[str, ...]
"""The expressions whose product a term is; most have one."""

_EXAMPLE = '"outcome ~ control + [treatment ~ instrument]"'
_BRACKET = re.compile(r"(?P<before>.*)\[(?P<inside>[^\[\]]*)\](?P<after>.*)", re.DOTALL)
_WRITE = f"write {_EXAMPLE}"
_BACKTICKED = re.compile("`[^`]*`")
_TWO_WORDS = re.compile(r"(?<![\w`])[^\W\d]\w*(?: +\w+)+(?![\w`(])")
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "`'\""


@dataclass(frozen=True)
class Formula:
    """A formula, taken apart.

    Attributes
    ----------
    text : str
        As it was given.
    outcome : str
    treatments, controls, instruments : tuple of terms
        Endogenous regressors, exogenous regressors, and what moves the treatments without
        entering the outcome.
    lone_bar : bool
        Whether the form was ``y ~ x | z`` with nothing on both sides: R's ivreg takes z for the
        instrument, R's fixest and Python's pyfixest take it for fixed effects.
    """

    text: str
    outcome: str
    treatments: tuple[Term, ...]
    controls: tuple[Term, ...]
    instruments: tuple[Term, ...]
    lone_bar: bool = False

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula in one of the three forms."""
        if not isinstance(text, str):
            raise FormulaError(f"formula must be a string such as {_EXAMPLE}, got {text!r}.")
        require_formulaic()
        outcome, controls, treatments, instruments = _four_parts(" ".join(text.split()))
        outcomes = _terms(outcome)
        if len(outcomes) != 1 or len(outcomes[0]) != 1:
            raise FormulaError(
                f"the outcome {outcome!r} must be one column; fit one model for each."
            )
        formula = cls(
            text,
            outcomes[0][0],
            _terms(treatments),
            _terms(controls),
            _terms(instruments),
            lone_bar=not controls and "[" not in text and len(_split(text, "~")) == 2,
        )
        formula._check()
        return formula

    @property
    def regressors(self) -> tuple[Term, ...]:
        """What h is a function of, the treatments first."""
        return self.treatments + self.controls

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every expression once."""
        terms = (*self.regressors, *self.instruments)
        return tuple(dict.fromkeys([self.outcome, *(part for term in terms for part in term)]))

    def check_bar(self, categories: Collection[str]) -> None:
        """Refuse ``y ~ x | region``, which most who write it mean as fixed effects.

        Parameters
        ----------
        categories : collection of str
            The expressions that are categories.
        """
        parts = {part for term in self.instruments for part in term}
        if not self.lone_bar or parts.isdisjoint(categories):
            return
        y, x, z = self.outcome, _joined(self.treatments), _joined(self.instruments)
        effects = " + ".join(filter(None, map(_category, z.split(" + "))))
        with_effects = _quoted(f"{y} ~ {effects} + [{x} ~ instrument]")
        raise FormulaError(
            f"{self.text!r} can be read in two ways. If {z} stands for fixed effects, an "
            f"instrument is missing; add them as categories: {with_effects}. If {z} is the "
            f"instrument, write {_quoted(f'{y} ~ [{x} ~ {z}]')}."
        )

    def _check(self) -> None:
        if not self.treatments:
            raise FormulaError(
                f"{self.text!r} names no endogenous treatment; write {_EXAMPLE}. In the form "
                '"y ~ x + w | z + w" the treatments are what stands before | and not after it.'
            )
        if not self.instruments:
            raise FormulaError(
                f"{self.text!r} names no instrument for {_listed(self.treatments)}: something that "
                f"moves the treatment and enters the outcome only through it; write {_EXAMPLE}."
            )
        roles = {
            "treatment": self.treatments,
            "control": self.controls,
            "instrument": self.instruments,
        }
        seen: dict[Term, str] = {(self.outcome,): "outcome"}
        for role, terms in roles.items():
            for term in terms:
                if term in seen:
                    raise FormulaError(
                        f"{':'.join(term)} is both {seen[term]} and {role} in {self.text!r}; "
                        "it can be one only."
                    )
                seen[term] = role


def require_formulaic() -> None:
    """Explain what to install where formulaic is missing."""
    try:
        import formulaic  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError('formulas need formulaic: pip install "sagdiv[formula]".') from error


def _four_parts(text: str) -> tuple[str, str, str, str]:
    """Return outcome, controls, treatments and instruments, still as text."""
    outcome, *sides = _split(text, "~")
    if not sides or not outcome:
        raise FormulaError(f"{text!r} is not a formula; write {_EXAMPLE}.")
    if "[" in text:
        match = _BRACKET.fullmatch(sides[0]) if len(sides) == 1 else None
        inside = _split(match["inside"], "~") if match else []
        if match is None or text.count("[") > 1 or len(inside) != 2 or "|" in text:
            raise FormulaError(
                f"{text!r} must have one pair of brackets, [treatments ~ instruments]; several "
                "treatments share it: [x1 + x2 ~ z1 + z2]."
            )
        before, after = match["before"].strip(), match["after"].strip()
        if (before and not before.endswith("+")) or (after and not after.startswith("+")):
            raise FormulaError(
                f"the brackets of {text!r} can only be added to other terms, with +; h may bend "
                "with every regressor anyway."
            )
        controls = " + ".join(part for part in (before[:-1].strip(), after[1:].strip()) if part)
        return outcome, controls, inside[0], inside[1]
    parts = _split(sides[0], "|")
    if len(sides) > 2 or len(parts) > 2 or (len(sides) == 2 and len(parts) == 1):
        raise _fixed_effects(text, outcome, parts, sides[1:])
    if len(sides) == 2:
        return outcome, parts[0], parts[1], sides[1]
    if len(parts) == 1:
        raise FormulaError(f"{text!r} names no instrument; write {_EXAMPLE}.")
    regressors, exogenous = _terms(parts[0]), _terms(parts[1])
    return (
        outcome,
        _joined(term for term in regressors if term in exogenous),
        _joined(term for term in regressors if term not in exogenous),
        _joined(term for term in exogenous if term not in regressors),
    )


def _fixed_effects(text: str, outcome: str, parts: list[str], last: list[str]) -> FormulaError:
    if len(last) != 1 or len(parts) != 3:
        return FormulaError(f"{text!r} has too many parts; write {_EXAMPLE}.")
    effects = [_category(name) for name in _split(parts[1], "+")]
    controls = [parts[0]] if parts[0] not in ("0", "1") else []
    rewritten = (
        f"{outcome} ~ {' + '.join([*controls, *map(str, effects)])} + [{parts[2]} ~ {last[0]}]"
    )
    advice = f", of at most {MOST_LEVELS} categories each"
    if None not in effects and _can_be_read(rewritten):
        advice += f": {_quoted(rewritten)}"
    return FormulaError(
        f"the fixed effects of {text!r} are not absorbed, because h need not be additive in them; "
        f"write them as categorical controls{advice}."
    )


def _category(effect: str) -> str | None:
    """Return a fixed effect as a category, ``a^b`` as their product; None if it is neither."""
    factors = [part for piece in _split(effect, "^") for part in _split(piece, ":")]
    if not all(re.fullmatch(r"\w+|`[^`]+`|C\(.+\)", factor) for factor in factors):
        return None
    return ":".join(factor if factor[:2] == "C(" else f"C({factor})" for factor in factors)


def _can_be_read(text: str) -> bool:
    try:
        Formula.parse(text)
    except FormulaError:
        return False
    return True


def _quoted(formula: str) -> str:
    return f'"{formula}"'


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark that stands in no brackets and no quotes."""
    pieces, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        else:
            depth += (character in _OPENING) - (character in _CLOSING)
        if character == mark and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces]


def _terms(text: str) -> tuple[Term, ...]:
    """Return the terms of a sum; the constant, which h always has, is left out."""
    if not text:
        return ()
    from formulaic import Formula as Parsed
    from formulaic.parser import DefaultFormulaParser

    parser = DefaultFormulaParser(feature_flags=set(), include_intercept=False)
    try:
        parsed = list(Parsed(text, _parser=parser))
        terms = [list(term.factors) for term in parsed]
    except Exception as error:  # the parser lets errors of many classes through
        words = _TWO_WORDS.search(_BACKTICKED.sub("", text))
        hint = f"a name with a blank stands in backticks, `{words[0]}`" if words else _WRITE
        raise FormulaError(f"cannot read {text!r} in the formula; {hint}.") from error
    # A factor that is a mere number rescales its term, which changes nothing for h.
    named = (
        tuple(_spelt(f.expr, f.eval_method.value) for f in term if f.eval_method.value != "literal")
        for term in terms
    )
    return tuple(term for term in named if term)


def _spelt(expression: str, method: str) -> str:
    """Return an expression in which odd column names keep their backticks."""
    is_odd_name = method == "lookup" and not expression.isidentifier()
    return f"`{expression}`" if is_odd_name else expression


def _joined(terms: Iterable[Term]) -> str:
    return " + ".join(":".join(term) for term in terms)


def _listed(terms: Iterable[Term]) -> str:
    return reduce(lambda a, b: f"{a}, {b}", (":".join(term) for term in terms))
