"""A design file is read or refused; data and seeds follow from it alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.conftest import HEAD, METHODS

from sagdiv.experiments import Budget, Cell, DesignError, Method, read_design, share_out

REPOSITORY = Path(__file__).parents[2] / "experiments"
CELL = Cell("sin", 150, 1)


# The rule of the paper: 3000 random variables are 1000 triplets, or 600 and 1200 further Z.
@pytest.mark.parametrize("samples", [15, 150, 1500, 3000])
def test_every_method_gets_as_many_random_variables(samples):
    whole, split = share_out(samples), share_out(samples, "triplets and instruments")
    assert whole.samples == split.samples == samples
    assert whole.n_extra == 0
    assert split.n_extra == 2 * split.n_triplets


@pytest.mark.parametrize("samples", [3, 7, 16, 1499])
def test_no_method_gets_more(samples):
    assert share_out(samples).samples <= samples
    if samples >= 5:
        assert share_out(samples, "triplets and instruments").samples <= samples


def test_the_budget_of_the_paper():
    assert share_out(3000) == Budget(1000)
    assert share_out(3000, "triplets and instruments") == Budget(600, 1200)


def test_budgets_that_make_no_sense():
    with pytest.raises(ValueError, match="budget must be one of 'triplets', 'triplets and"):
        share_out(3000, "all")
    with pytest.raises(ValueError, match="2 random variables do not make a row"):
        share_out(2)


# Common random numbers: what differs between methods of a cell is the method.
def test_methods_share_the_data_of_a_cell(open_design):
    design, _ = open_design()
    whole = design.sample(CELL, share_out(150))
    split = design.sample(CELL, share_out(150, "triplets and instruments"))
    assert whole.Z_extra is None
    assert split.Z_extra.shape == (60, 2)
    for name in ("X", "y", "Z"):
        assert len(getattr(whole, name)) == 50
        np.testing.assert_array_equal(getattr(whole, name)[:30], getattr(split, name))
    np.testing.assert_array_equal(design.test_X(CELL, whole), design.test_X(CELL, split))


def test_data_depend_on_every_part_of_the_cell_and_on_the_base_seed(open_design):
    design, _ = open_design()
    other_seed = replace(design, base_seed=8)
    draws = [
        design.sample(CELL, share_out(150)).X[:5],
        design.sample(replace(CELL, repetition=0), share_out(150)).X[:5],
        design.sample(replace(CELL, scenario="step"), share_out(150)).X[:5],
        design.sample(replace(CELL, samples=300), share_out(300)).X[:5],
        other_seed.sample(CELL, share_out(150)).X[:5],
        design.test_X(CELL, design.sample(CELL, share_out(150)))[:5],
    ]
    for i, one in enumerate(draws):
        for other in draws[:i]:
            assert not np.isclose(one, other).any()


def test_methods_have_seeds_of_their_own(open_design):
    design, _ = open_design()
    seeds = {design.method_seed(CELL, method) for method in design.methods}
    assert len(seeds) == len(design.methods)


def test_more_methods_and_repetitions_change_nothing_that_was_there(open_design):
    small, _ = open_design('[methods."2SLS"]\nestimator = "sagdiv.baselines.TSLS"')
    large, _ = open_design(head=HEAD.replace("repetitions = 2", "repetitions = 9"))
    cells = list(small.cells())
    assert cells == list(large.cells())[: len(cells)]
    method = small.method("2SLS")
    for cell in cells:
        assert small.fingerprint(cell, method) == large.fingerprint(cell, method)
        assert small.method_seed(cell, method) == large.method_seed(cell, method)


def test_fingerprints_tell_settings_apart(open_design):
    design, _ = open_design()
    method = design.method("2SLS")
    others = [
        replace(design, base_seed=8).fingerprint(CELL, method),
        replace(design, test_points=51).fingerprint(CELL, method),
        design.fingerprint(replace(CELL, repetition=0), method),
        design.fingerprint(CELL, replace(method, params={"basis": "spline"})),
        design.fingerprint(CELL, replace(method, budget="triplets and instruments")),
    ]
    assert len({design.fingerprint(CELL, method), *others}) == 6


def test_objects_among_the_parameters():
    method = Method(
        "m",
        "sagdiv.KernelSAGDIV",
        params={
            "loss": {"class": "sagdiv.losses.LogisticLoss", "scale": 0.5},
            "exogenous": ["w"],
            "x_features": {"object": "sagdiv.features.KernelFeatures"},
        },
    )
    model = method.build(3)
    assert repr(model.loss) == "LogisticLoss(scale=0.5)"
    assert model.exogenous == ["w"]
    assert isinstance(model.x_features, type)
    assert model.random_state == 3


@pytest.mark.parametrize("path", sorted(REPOSITORY.rglob("*.toml")), ids=lambda p: p.stem)
def test_the_designs_of_the_repository_can_be_read(path):
    pytest.importorskip("torch")
    design = read_design(path)
    for method in design.methods:
        for samples in design.samples:
            assert share_out(samples, method.budget).samples == samples


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "title", "is not a TOML file"),
        ("title =", "tittle =", "has tittle, which is unknown; known are base_seed, data"),
        ('title = "For tests"', "", "lacks title"),
        ('["step", "sin"]', '["step", "sine"]', "refuses 'sine': scenario must be one of 'step'"),
        ('["step", "sin"]', '"sin"', "scenarios must be a list of str, got 'sin'"),
        ('["step", "sin"]', '["sin", "sin"]', "scenarios names something twice"),
        ("[150]", "[]", "samples must be a list of int"),
        ("[150]", "[150.0]", "samples must be a list of int"),
        ("[150]", "[4]", r"methods.paper: 4 random variables do not make a row"),
        ("repetitions = 2", "repetitions = 0", "repetitions must be a positive whole number"),
        ("base_seed = 7", 'base_seed = "x"', "base_seed must be a whole number"),
        ("time_limit = 60", "time_limit = -1", "time_limit must be a positive number"),
        ("make_continuous", "make_it_up", "there is no 'sagdiv.datasets.make_it_up' to import"),
        ("baselines.TSLS", "baselines.OLS", "there is no 'sagdiv.baselines.OLS' to import"),
        ("baselines.TSLS", "baselines.tsls", r"methods.2SLS: .*not callable"),
        ("sagdiv.baselines.TSLS", "experiments.misbehaving.not_an_estimator", "has no fit and no"),
        ("[methods.default]", "[methods.default.params]\nlos = 1\n[methods.default]", "los"),
        ('budget = "trip', 'budget = "3 trip', "methods.paper: budget must be one of"),
        ("time_limit = 60", "time_limit = inf", "time_limit must be a positive number of seconds"),
        ("time_limit = 60", "time_limit = true", "time_limit must be a positive number of seconds"),
        ('title = "For tests"', "title = 3", "title must be a text, got 3"),
        ('"sagdiv.datasets.make_continuous"', "3", "data must be a text, got 3"),
        (".make_continuous", "", "data = 'sagdiv.datasets' must name a function, and is <module"),
        ("sagdiv.datasets.make_continuous", "experiments.mistakes.no_sample", "IVSample, got a di"),
        ("sagdiv.datasets.make_continuous", "experiments.mistakes.raises", "KeyError: 'step'"),
        ("sagdiv.datasets.make_continuous", "experiments.mistakes.no_design", "h_star.* 'NoneType"),
        (
            "sagdiv.datasets.make_continuous",
            "experiments.mistakes.wrong_n",
            "returned 4, 4, 4",
        ),
        ("sagdiv.datasets.make_continuous", "experiments.mistakes.wide_h", r"\(3, 1\) for 3 rows"),
        ('"sagdiv.baselines.TSLS"', "3", "methods.2SLS.estimator must be a text, got 3"),
        ("sagdiv.baselines.TSLS", "experiments.mistakes.Raises", "2SLS cannot be made: KeyError"),
        ("sagdiv.baselines.TSLS", "broken.A", "2SLS: 'broken.A' cannot be imported: SyntaxError"),
        ("sagdiv.baselines.TSLS", "raising.A", "'raising.A' cannot be imported: RuntimeError: no"),
        ("sagdiv.baselines.TSLS", "lacking.A", "'lacking.A' cannot be imported: ModuleNotFoundErr"),
        ("[methods.default]", "[methods.d]\nparams = 3", r"methods.d.params must be a table"),
        (
            "[methods.default]",
            "[methods.d]\nparams.x = 1979-05-27",
            r"params.x is a date; put",
        ),
        ('budget = "trip', 'buget = "trip', "methods.paper has buget, which is unknown"),
    ],
)
def test_files_that_are_refused(write, old, new, message, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "raising.py").write_text("raise RuntimeError('no device')\n")
    (tmp_path / "lacking.py").write_text("import not_installed_here\n")
    text = (HEAD + METHODS).replace('"default"', "default").replace('"paper"', "paper")
    assert old in text
    with pytest.raises(DesignError, match=message):
        read_design(write(text.replace(old, new), head=""))


# Three random variables are one triplet, and no triplet with further instruments.
def test_few_samples_where_all_are_spent_on_triplets(open_design):
    design, _ = open_design(
        '[methods.a]\nestimator = "sagdiv.baselines.TSLS"', head=HEAD.replace("[150]", "[3]")
    )
    cell = next(design.cells())
    assert len(design.sample(cell, share_out(3)).X) == 1


def test_none_among_the_parameters():
    params = {"init": {"object": "None"}, "step": 0.5}
    model = Method("m", "sagdiv.KernelSAGDIV.paper", params=params).build(3)
    assert model.init is None
    assert model.step == 0.5


def test_methods_must_be_tables(write):
    with pytest.raises(DesignError, match="methods must be tables"):
        read_design(write("methods = 3\n"))
    with pytest.raises(DesignError, match=r"methods\.a must be a table"):
        read_design(write("[methods]\na = 3\n"))


def test_an_unknown_method(open_design):
    with pytest.raises(DesignError, match="design has no method 'OLS'; there are: default, paper"):
        open_design()[0].method("OLS")
