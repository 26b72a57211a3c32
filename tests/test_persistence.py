"""Saved models come back bit for bit; what this library did not write is refused."""

import json
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sagdiv
from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.baselines import KIV, MMRIV, TSLS, DualIV, KernelTikhonov, SieveIV
from sagdiv.datasets import make_continuous
from sagdiv.losses import LogisticLoss, ProbitLoss
from sagdiv.steps import inverse_sqrt

# What an instrument of so few rows can identify is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")

skops_io = pytest.importorskip("skops.io", reason="needs the extra io")

ESTIMATORS = {
    "kernel": KernelSAGDIV(),
    "stochastic": KernelSAGDIV(batch_size=10, random_state=0),
    "paper": KernelSAGDIV.paper(random_state=0),
    "open": SAGDIV(outcome=LinearRegression(), step=inverse_sqrt, random_state=0),
    "straight start": SAGDIV(init="linear", random_state=0),
    "tsls": TSLS(),
    "splines": TSLS("spline", n_knots=4),
    "sieve": SieveIV(random_state=0),
    "kiv": KIV(random_state=0),
    "dualiv": DualIV(random_state=0),
    "mmriv": MMRIV(),
    "tikhonov": KernelTikhonov(),
}


@pytest.fixture(scope="module")
def sample():
    return make_continuous("sin", 300, random_state=0)


@pytest.fixture(scope="module")
def saved(sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.skops"
    sagdiv.save(KernelSAGDIV().fit(sample.X, sample.y, sample.Z), path)
    return path


@pytest.fixture
def path(saved, tmp_path):
    """A copy that a test may damage."""
    return shutil.copy(saved, tmp_path / "model.skops")


def rewrite(path, change):
    """Pass every member of an archive through ``change(name, content)``; None leaves it out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if (changed := change(name, content)) is not None:
                archive.writestr(name, changed)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_round_trip_changes_nothing(sample, tmp_path, name):
    model = ESTIMATORS[name].fit(sample.X, sample.y, sample.Z)
    sagdiv.save(model, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))
    assert again.score(sample.X, sample.y, sample.Z) == model.score(sample.X, sample.y, sample.Z)
    assert repr(again) == repr(model)


@pytest.mark.parametrize("loss", [LogisticLoss(0.3), ProbitLoss()])
def test_binary_models_come_back(sample, tmp_path, loss):
    y = (sample.y > 0).astype(float)
    model = KernelSAGDIV(loss).fit(sample.X, y, sample.Z)
    sagdiv.save(model, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    assert again.loss == loss
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))


def test_a_loaded_model_keeps_learning(sample, saved):
    model = sagdiv.load(saved)
    model.partial_fit(sample.X, sample.y, sample.Z)
    assert model.moments_.n == 600


def test_a_formula_comes_back_with_its_table(sample, tmp_path):
    pytest.importorskip("formulaic")
    group = np.where(np.arange(300) % 2, "a", "b").tolist()
    table = {"y": sample.y, "x": sample.X[:, 0], "z": sample.Z[:, 0], "group": group}
    model = sagdiv.from_formula("y ~ group + [x ~ z]", table)
    sagdiv.save(model, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.score(table) == model.score(table)
    np.testing.assert_array_equal(again.X, model.X)


def test_the_version_is_noted(path):
    with zipfile.ZipFile(path) as archive:
        note = json.loads(archive.read("sagdiv.json"))
    assert note["sagdiv"] == sagdiv.__version__
    assert note["format"] == 1


@pytest.mark.parametrize(("number", "version"), [(0, "0.0.1"), (2, "9.9")])
def test_another_format_says_who_wrote_it(path, number, version):
    note = json.dumps({"format": number, "sagdiv": version}).encode()
    rewrite(path, lambda name, content: note if name == "sagdiv.json" else content)
    with pytest.raises(ValueError, match=rf"written by sagdiv {version} in format {number}"):
        sagdiv.load(path)


def test_another_version_of_the_same_format_is_read(path, saved, sample):
    note = json.dumps({"format": 1, "sagdiv": "0.0.9"}).encode()
    rewrite(path, lambda name, content: note if name == "sagdiv.json" else content)
    again, model = sagdiv.load(path), sagdiv.load(saved)
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("sagdiv.persistence", "os"),
        ("sagdiv.persistence", "import_module"),
        ("sagdiv.persistence", "save"),
        ("sagdiv.steps", "step_sizes"),
        ("sagdiv.kernel_sagdiv", "Gone"),
        ("sagdiv_evil", "Thing"),
    ],
)
def test_a_tampered_file_is_refused(path, module, name):
    def change(member, content):
        if member != "schema.json":
            return content
        schema = json.loads(content)
        schema["__module__"], schema["__class__"] = module, name
        return json.dumps(schema).encode()

    rewrite(path, change)
    with pytest.raises(ValueError, match="not a type of this library"):
        sagdiv.load(path)


def test_a_foreign_function_inside_is_refused(path):
    def change(member, content):
        if member != "schema.json":
            return content
        schema = json.loads(content)
        schema["content"]["content"]["evil"] = {
            "__module__": "os",
            "__class__": "system",
            "__loader__": "FunctionNode",
        }
        schema["content"]["key_types"]["content"].append(
            schema["content"]["key_types"]["content"][0]
        )
        return json.dumps(schema).encode()

    rewrite(path, change)
    with pytest.raises(ValueError, match="not a type of this library"):
        sagdiv.load(path)


# Where a file may name a class it must not be able to call it with arguments of its own choice, or
# to call any function at all.
@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("ConstructorFromReduceNode", "sagdiv.kernel_sagdiv", "KernelSAGDIV"),
        ("ConstructorFromReduceNode", "sagdiv.persistence", "save"),
        ("ConstructorFromReduceNode", "sagdiv.steps", "inverse_sqrt"),
        ("ListNode", "sagdiv.steps", "inverse_sqrt"),
        ("FunctionNode", "sagdiv.persistence", "save"),
    ],
)
def test_nothing_of_ours_is_called(path, loader, module, name):
    def change(member, content):
        if member != "schema.json":
            return content
        schema = json.loads(content)
        attributes = schema["content"]["content"]
        attributes["loss"] = {
            "__module__": module,
            "__class__": name,
            "__loader__": loader,
            "content": [] if loader == "ListNode" else attributes["loss"],
        }
        return json.dumps(schema).encode()

    rewrite(path, change)
    with pytest.raises(ValueError, match=rf"holds {module}\.{name}, which is not a type"):
        sagdiv.load(path)


def test_of_methods_predict_alone_is_saved(sample, tmp_path):
    init = KernelSAGDIV().fit(sample.X, sample.y, sample.Z).predict
    model = SAGDIV(init=init, random_state=0).fit(sample.X, sample.y, sample.Z)
    sagdiv.save(model, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))
    model.set_params(init=init.__self__.fit)
    with pytest.raises(TypeError, match=r"it holds .*KernelSAGDIV\.fit, which is not a type"):
        sagdiv.save(model, tmp_path / "model.skops")


@pytest.mark.parametrize(
    "content", [b"", b"not a model", pickle.dumps([1, 2])], ids=["empty", "text", "pickle"]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged, or not a file that sagdiv\.save wrote"):
        sagdiv.load(path)


def test_a_file_of_skops_itself_is_refused(tmp_path):
    skops_io.dump(LinearRegression(), tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"not a file that sagdiv\.save wrote"):
        sagdiv.load(tmp_path / "model.skops")


def test_damaged_files_are_refused(path):
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            sagdiv.load(path)


def test_a_schema_without_its_arrays_is_refused(path):
    rewrite(path, lambda name, content: None if name.endswith(".npy") else content)
    with pytest.raises(ValueError, match="cannot be read"):
        sagdiv.load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        sagdiv.load(tmp_path / "model.skops")


def test_what_could_not_be_loaded_is_not_saved(sample, tmp_path):
    model = SAGDIV(step=np.vectorize(inverse_sqrt)).fit(sample.X, sample.y, sample.Z)
    with pytest.raises(TypeError, match="SAGDIV cannot be saved"):
        sagdiv.save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        sagdiv.save(KernelSAGDIV(), path)
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name]
