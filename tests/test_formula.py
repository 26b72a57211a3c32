"""From a formula and a table to a fitted curve: what is read, what is refused, what is kept."""

import datetime as dt
import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sagdiv
from sagdiv.baselines import TSLS
from sagdiv.datasets import make_continuous
from sagdiv.formula import FormulaError, StructuralFit

pytest.importorskip("formulaic", reason="needs the extra formula")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 400


def make_table():
    draw = make_continuous("sin", N, random_state=0)
    rng = np.random.RandomState(5)
    return {
        "y": draw.y,
        "x": draw.X[:, 0],
        "z": draw.Z[:, 0],
        "w": draw.Z[:, 1],
        "k": rng.randint(3, size=N),
        "region": rng.choice(["north", "south", "west"], size=N),
        "odd name": rng.rand(N),
    }


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(make_table())


@pytest.fixture(scope="module")
def model(table):
    return sagdiv.from_formula("y ~ w + [x ~ z]", table)


def test_the_estimator_sees_what_the_formula_says(model, table):
    by_hand = sagdiv.KernelSAGDIV(exogenous=["w"])
    by_hand.fit(table[["x", "w"]], table["y"], table[["z"]])
    np.testing.assert_array_equal(model.predict(table), by_hand.predict(table[["x", "w"]]))
    assert model.score(table) == by_hand.score(table[["x", "w"]], table["y"], table[["z"]])
    assert (model.outcome, model.treatments, model.controls) == ("y", ["x"], ["w"])
    assert model.instruments == ["z"]
    assert model.n_rows == N
    assert model.n_dropped == 0


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ [x ~ z] + w",
        "y~w+[x~z]",
        "y ~ 1 + w + [x ~ z]",
        "y ~ 0 + w + [x ~ z]",
        "y ~ w | x ~ z",
        "y ~ x + w | z + w",
        "y ~ x + w | w + z",
    ],
)
def test_all_forms_mean_the_same(model, table, formula):
    other = sagdiv.from_formula(formula, table)
    np.testing.assert_array_equal(other.predict(table), model.predict(table))


# With w on both sides, or in brackets, a category is an instrument like any other.
@pytest.mark.parametrize("formula", ["y ~ x + w | region + w", "y ~ [x ~ region]"])
def test_a_category_as_an_instrument(table, formula):
    model = sagdiv.from_formula(formula, table, TSLS())
    assert model.instruments == ["region[T.south]", "region[T.west]"]


# An advice that is refused in its turn is no advice.
@pytest.mark.parametrize(
    "formula",
    ["y ~ w | k | x ~ z", "y ~ 0 | k^region + C(k) | x ~ z", "y ~ x | region"],
)
def test_advice_can_be_followed(table, formula):
    with pytest.raises(FormulaError) as error:
        sagdiv.from_formula(formula, table)
    for advice in re.findall('"(.*?)"', str(error.value)):
        sagdiv.from_formula(advice, table.assign(instrument=table["z"]), TSLS())


def test_without_controls(table):
    bare = sagdiv.from_formula("y ~ 1 | x ~ z", table)
    assert bare.controls == []
    same = sagdiv.from_formula("y ~ x | z", table)
    np.testing.assert_array_equal(bare.predict(table), same.predict(table))


@pytest.mark.parametrize("kind", ["dict", "polars", "arrow"])
def test_any_table_gives_the_same_answer(table, kind):
    formula = "y ~ region + C(k) + [x ~ z]"
    other = {
        "dict": lambda: make_table(),
        "polars": lambda: pl.DataFrame(make_table()),
        "arrow": lambda: pytest.importorskip("pyarrow").table(make_table()),
    }[kind]()
    expected = sagdiv.from_formula(formula, table).predict(table)
    np.testing.assert_array_equal(sagdiv.from_formula(formula, other).predict(other), expected)


def test_categories_become_dummies_that_new_rows_share(table):
    model = sagdiv.from_formula("y ~ region + C(k) + [x ~ z]", table)
    assert model.controls == ["region[T.south]", "region[T.west]", "C(k)[T.1]", "C(k)[T.2]"]
    south = table[table["region"] == "south"].head(4)
    np.testing.assert_allclose(model.predict(south), model.predict(table)[south.index])
    elsewhere = south.assign(region=["south", "east", "south", "moon"])
    with pytest.raises(FormulaError, match=r"region .* 2 of 4 rows: 2 \('east'\), 4 \('moon'\)"):
        model.predict(elsewhere)


def test_categorical_columns_and_booleans(table):
    expected = sagdiv.from_formula("y ~ region + [x ~ z]", table).predict(table)
    as_category = table.assign(region=table["region"].astype("category"))
    model = sagdiv.from_formula("y ~ region + [x ~ z]", as_category)
    np.testing.assert_array_equal(model.predict(table), expected)
    yes = sagdiv.from_formula("y ~ b + [x ~ z]", table.assign(b=table["w"] > 0))
    assert yes.controls == ["b"]


def test_functions_and_odd_names(table):
    model = sagdiv.from_formula("y ~ log(`odd name`) + [I(x / 2) ~ z + np.exp(w)]", table)
    assert model.controls == ["log(`odd name`)"]
    by_hand = table.assign(a=np.log(table["odd name"]), b=table["x"] / 2, c=np.exp(table["w"]))
    same = sagdiv.from_formula("y ~ a + [b ~ z + c]", by_hand)
    np.testing.assert_array_equal(model.predict(table), same.predict(by_hand))
    assert sagdiv.from_formula("y ~ `odd name` + [x ~ z]", table).controls == ["odd name"]


def test_controls_join_the_instruments_of_estimators_that_do_not_know_them(table):
    model = sagdiv.from_formula("y ~ w + [x ~ z]", table, TSLS())
    by_hand = TSLS().fit(table[["x", "w"]], table["y"], table[["z", "w"]])
    np.testing.assert_allclose(model.estimator.coef_, by_hand.coef_)
    np.testing.assert_allclose(model.score(table), by_hand.score(model.X, model.y, model.Z))


def test_the_estimator_given_is_left_alone(table):
    estimator = sagdiv.KernelSAGDIV(total_step=100.0)
    model = sagdiv.from_formula("y ~ w + [x ~ z]", table, estimator)
    assert model.estimator.total_step_ == 100.0
    assert not hasattr(estimator, "coef_")
    assert estimator.exogenous == ()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_values_are_counted_and_dropped_only_when_asked(frame):
    table = make_table()
    table["x"] = table["x"].copy()
    table["x"][[3, 7]] = np.nan
    table["region"] = np.where(np.arange(N) == 7, None, table["region"]).tolist()
    data = frame(table)
    expected = r"2 of 400 rows: 4, 8 .* by column: x \(2\), region \(1\)"
    with pytest.raises(FormulaError, match=expected):
        sagdiv.from_formula("y ~ region + [x ~ z]", data)
    model = sagdiv.from_formula("y ~ region + [x ~ z]", data, na_action="drop")
    assert (model.n_rows, model.n_dropped) == (N - 2, 2)
    assert model.missing == {"region": 1, "x": 2}
    complete = np.isfinite(table["x"])
    kept = {name: np.asarray(column)[complete] for name, column in table.items()}
    same = sagdiv.from_formula("y ~ region + [x ~ z]", kept)
    np.testing.assert_array_equal(model.predict(kept), same.predict(kept))
    with pytest.raises(FormulaError, match="missing in 2 of 400"):
        model.predict(data)


def test_missing_values_elsewhere_do_not_matter(table):
    with_holes = table.assign(other=np.nan)
    assert sagdiv.from_formula("y ~ w + [x ~ z]", with_holes).n_dropped == 0


def test_nullable_integers(table):
    k = table["k"].astype("Int64").where(table.index > 2)
    model = sagdiv.from_formula("y ~ k + [x ~ z]", table.assign(k=k), na_action="drop")
    assert model.missing == {"k": 3}


def test_the_grid_varies_one_treatment(model, table):
    grid = model.grid(n=11, central=0.8)
    assert list(grid.columns) == ["x", "w"]
    np.testing.assert_allclose(grid["x"].iloc[[0, -1]], table["x"].quantile([0.1, 0.9]))
    assert grid["w"].nunique() == 1
    assert grid["w"].iloc[0] in table["w"].to_numpy()


def test_the_grid_visits_a_treatment_of_few_values_at_these(table):
    table = table.assign(dose=table["x"].rank(pct=True).mul(3).round())
    model = sagdiv.from_formula("y ~ w + [dose ~ z]", table)
    np.testing.assert_array_equal(model.grid()["dose"], [0, 1, 2, 3])


FORMULAS_OF_X = [
    "y ~ region + [I(log(10 + x)) ~ z]",
    "y ~ C(k) + [x + I(x**2) ~ z + I(z**2)]",
    "y ~ w + region + [x + x:w + x:region ~ z + z:w + z:region]",
    "y ~ log(`odd name`) + [I(x + w) ~ z]",
    "y ~ I(w * w) + [x:k ~ z]",
]


# The grid is a table, on which the formula is evaluated: every function of x moves with x.
@pytest.mark.parametrize("formula", FORMULAS_OF_X)
def test_the_grid_is_a_table_of_its_own(table, formula):
    model = sagdiv.from_formula(formula, table, TSLS())
    grid = model.grid("x", n=7)
    assert sorted(grid.columns) == sorted(model.regressor_columns)
    np.testing.assert_allclose(grid["x"], np.linspace(*table["x"].quantile([0.01, 0.99]), 7))
    assert (grid.drop(columns="x").nunique() == 1).all()
    frozen = table.head(7).assign(**{name: grid[name].to_numpy() for name in grid})
    np.testing.assert_array_equal(model.predict(grid), model.predict(frozen))


def test_powers_move_with_their_column(table):
    model = sagdiv.from_formula("y ~ [x + I(x**2) ~ z + I(z**2)]", table, TSLS())
    x = model.grid(n=9)["x"].to_numpy()
    np.testing.assert_allclose(np.diff(model.predict({"x": x}), 3), 0, atol=1e-10)
    np.testing.assert_allclose(model.regressors({"x": x})["I(x ** 2)"], x**2)


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ w + [x ~ z]", ("x",)),
        ("y ~ w + [x + I(x**2) + x:w ~ z + region]", ("x",)),
        ("y ~ [x + C(k) ~ z + region]", ("x", "k")),
        ("y ~ x + [x:w ~ z]", ("w",)),
    ],
)
def test_curves_are_over_columns_of_the_table(table, formula, columns):
    model = sagdiv.from_formula(formula, table, TSLS())
    assert model.treatment_columns == columns
    for name in columns:
        assert np.isfinite(model.predict(model.grid(name))).all()


def test_the_grid_of_a_category_visits_each(table):
    model = sagdiv.from_formula("y ~ C(k) + [region ~ z + I(z**2)]", table, TSLS())
    assert list(model.grid()["region"]) == ["north", "south", "west"]
    np.testing.assert_array_equal(model.grid("k")["k"], [0, 1, 2])
    assert model.grid("k")["region"].unique() == table["region"].mode()[0]
    assert model.grid()["k"].unique() == table["k"].mode()[0]


def test_where_a_column_stands_in_the_model(table):
    model = sagdiv.from_formula("y ~ w + region + [x + I(x**2) ~ z + I(z**2)]", table, TSLS())
    assert [model.column_of(name) for name in ("x", "w", "region")] == [None, 2, None]
    np.testing.assert_array_equal(model.values("w"), table["w"])
    assert model.values("region") is None


def test_wrong_grids(model):
    with pytest.raises(FormulaError, match=r"no regressor 'foo'\. There are: x, w"):
        model.grid("foo")
    with pytest.raises(ValueError, match="central must lie between 0 and 1"):
        model.grid(central=95)
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        model.grid(n=0)


@pytest.mark.parametrize("words", [("no", "yes"), ("N", "Y"), ("False", "True")])
def test_yes_and_no_are_one_and_zero(table, words):
    works = (table["y"] > 0).astype(int)
    loss = sagdiv.KernelSAGDIV(sagdiv.losses.LogisticLoss())
    spelt = table.assign(works=np.array(words)[works])
    model = sagdiv.from_formula("works ~ w + [x ~ z]", spelt, loss)
    np.testing.assert_array_equal(model.y, works)
    assert np.isfinite(model.score(spelt))


def test_two_other_words_as_an_outcome(table):
    spelt = table.assign(works=np.where(table["y"] > 0, "employed", "out"))
    with pytest.raises(FormulaError, match=r"'works' is '\w+' or '\w+'; write 0 and 1 for them"):
        sagdiv.from_formula("works ~ w + [x ~ z]", spelt)


def test_labels_of_groups_are_kept(table):
    labels = table["region"].where(table.index != 3)
    with pytest.raises(FormulaError, match=r"by column: firm \(1\)"):
        sagdiv.from_formula("y ~ w + [x ~ z]", table.assign(firm=labels), cluster="firm")
    model = sagdiv.from_formula(
        "y ~ w + [x ~ z]", table.assign(firm=labels), na_action="drop", cluster="firm"
    )
    assert model.cluster == "firm"
    assert len(model.cluster_) == N - 1
    assert model.cluster_[3] == list("nsw").index(table["region"][4][0])
    with pytest.raises(FormulaError, match="no column 'frim'"):
        sagdiv.from_formula("y ~ w + [x ~ z]", table, cluster="frim")


def test_repr_names_what_was_fitted(model):
    assert isinstance(model, StructuralFit)
    assert repr(model).startswith("StructuralFit('y ~ w + [x ~ z]', KernelSAGDIV(")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (3, "must be a string"),
        ("", "is not a formula"),
        ("y", "is not a formula"),
        ("~ [x ~ z]", "is not a formula"),
        ("y ~ x", "names no instrument"),
        ("y ~ w + [x ~ ]", "names no instrument for x"),
        ("y ~ w + [ ~ z]", "names no endogenous treatment"),
        ("y ~ w | w", "names no endogenous treatment"),
        ("y ~ x + w | w", "names no instrument for x"),
        ("y ~ [x ~ z] + [w ~ z]", "one pair of brackets"),
        ("y ~ w * [x ~ z]", r"with \+"),
        ("y ~ w + [x ~ z] | k", "one pair of brackets"),
        ("y ~ w | k | x ~ z", r'categorical controls, .*: "y ~ w \+ C\(k\) \+ \[x ~ z\]"'),
        ("y ~ 1 | k + region | x ~ z", r'"y ~ C\(k\) \+ C\(region\) \+ \[x ~ z\]"'),
        ("y ~ w | k | x", "too many parts"),
        ("y ~ w | k^region | x ~ z", r'"y ~ w \+ C\(k\):C\(region\) \+ \[x ~ z\]"'),
        ("y ~ w | C(k) | x ~ z", r'"y ~ w \+ C\(k\) \+ \[x ~ z\]"'),
        ("y ~ w | `odd name` | x ~ z", r'"y ~ w \+ C\(`odd name`\) \+ \[x ~ z\]"'),
        # What cannot be rewritten into something that can be read is not.
        ("y ~ w | log(k) | x ~ z", "of at most 100 categories each\\.$"),
        ("y ~ w | k | x w ~ z", "of at most 100 categories each\\.$"),
        ("y ~ x | region", r'fixed effects, .* "y ~ C\(region\) \+ \[x ~ instrument\]"'),
        ("y ~ x | C(k) + region", r'is the instrument, write "y ~ \[x ~ C\(k\) \+ region\]"'),
        ("y ~ [odd name ~ z]", "in backticks, `odd name`"),
        ("y ~ [x ~ the odd name]", "in backticks, `the odd name`"),
        ("y ~ w + [x ~ x]", "x is both treatment and instrument"),
        ("y ~ z + [x ~ z]", "z is both control and instrument"),
        ("y ~ y + [x ~ z]", "y is both outcome and control"),
        ("y + w ~ [x ~ z]", "outcome 'y \\+ w' must be one column"),
        ("y ~ [x + ~ z]", "cannot read"),
        ("y ~ . + [x ~ z]", "cannot read"),
        ("y ~ w + [xx ~ z]", "no column 'xx'; did you mean 'x'"),
        ("y ~ Region + [x ~ z]", "did you mean 'region'"),
        ("y ~ w + [quantity ~ z]", r"no column 'quantity'\. There are: y, x, z"),
        ("region ~ [x ~ z]", r"'region' must be numeric, but has text in 400 of 400 rows"),
        ("y ~ [log(region) ~ z]", "'region' must be numeric"),
        ("C(k) ~ [x ~ z]", "is a category where a number is needed"),
        ("y ~ [log(x) ~ z]", r"log\(x\) is not finite in \d+ of 400 rows: "),
        ("y ~ [I(9 ** 9 ** 9 ** x) ~ z]", "is not finite"),
        ("y ~ [I(0 * x) ~ z]", r"is 0 in every row: its effect cannot be learnt"),
        ("y ~ I(0 * w) + [x ~ z]", r"is 0 in every row: leave it out"),
        ("y ~ [x ~ I(0 * z)]", r"is 0 in every row: an instrument that never moves"),
        ("y ~ C(w) + [x ~ z]", "between 2 and 100"),
        ("y ~ C(w + k) + [x ~ z]", "must name one column"),
        ("y ~ poly(w) + [x ~ z]", "more than a formula can do"),
        ("y ~ [exp(2) ~ z]", "uses no column"),
    ],
)
def test_a_wrong_formula_gets_a_sentence(table, formula, message):
    with pytest.raises(FormulaError, match=message):
        sagdiv.from_formula(formula, table)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('touch {path}')",
        "{{__import__('os').system('touch {path}')}}",
        "I((lambda: open('{path}', 'w'))())",
        "I([open('{path}', 'w') for _ in (1,)])",
        "I(x.__class__.__base__)",
        "np.save('{path}', x)",
    ],
)
def test_nothing_in_a_formula_is_executed(table, tmp_path, expression):
    path = tmp_path / "made"
    with pytest.raises(FormulaError):
        sagdiv.from_formula(f"y ~ [{expression.format(path=path)} ~ z]", table)
    with pytest.raises(FormulaError):
        sagdiv.from_formula(f"y ~ {expression.format(path=path)} + x | z", table)
    assert not list(tmp_path.iterdir())


def test_wrong_columns_get_a_sentence(table):
    def fit(**columns):
        return sagdiv.from_formula("y ~ k + [x ~ z]", table.assign(**columns))

    text = table["k"].astype(str)
    text[[4, 9]] = ["n/a", "?"]
    with pytest.raises(FormulaError, match=r"'k' .* 2 of 400 rows: 5 \('n/a'\), 10 \('\?'\)"):
        fit(k=text)
    with pytest.raises(FormulaError, match=r"stored as text; .* or write C\(k\)"):
        fit(k=table["k"].astype(str))
    with pytest.raises(FormulaError, match="dates or times"):
        fit(k=pd.Timestamp("2020-01-01"))
    with pytest.raises(FormulaError, match="values of type date"):
        fit(k=dt.date(2020, 1, 1))
    with pytest.raises(FormulaError, match="every row has a missing value"):
        sagdiv.from_formula("y ~ k + [x ~ z]", table.assign(k=np.nan), na_action="drop")
    with pytest.raises(FormulaError, match="y is 1 in every row: nothing is left"):
        fit(y=1.0)
    with pytest.raises(FormulaError, match=r"k is not finite in 1 of 400 rows: 1 \(counted"):
        fit(k=np.where(np.arange(N) == 0, np.inf, 1.0))


def test_an_estimator_that_knows_no_instruments(table):
    for estimator in (LinearRegression(), TSLS, "kernel"):
        with pytest.raises(TypeError, match=r"must be fitted with instruments, fit\(X, y, Z\)"):
            sagdiv.from_formula("y ~ w + [x ~ z]", table, estimator)


def test_other_wrong_arguments(table):
    with pytest.raises(ValueError, match="na_action must be 'raise' or 'drop'"):
        sagdiv.from_formula("y ~ [x ~ z]", table, na_action="ignore")
    with pytest.raises(TypeError, match="data must be a data frame in memory"):
        sagdiv.from_formula("y ~ [x ~ z]", table.to_numpy())
    with pytest.raises(TypeError, match="data must be a data frame in memory"):
        sagdiv.from_formula("y ~ [x ~ z]", pl.DataFrame(make_table()).lazy())
