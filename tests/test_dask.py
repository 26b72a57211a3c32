"""Dask collections: the numbers of the fit in memory, and messages that name the partition."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_binary, make_continuous
from sagdiv.losses import LogisticLoss

pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 4000
COLUMNS = {"X": ["price"], "y": "sales", "Z": ["tax", "rain"], "sample_weight": "weight"}


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", N, random_state=0)


@pytest.fixture(scope="module")
def frame(data):
    columns = {"price": data.X[:, 0], "sales": data.y, "tax": data.Z[:, 0], "rain": data.Z[:, 1]}
    return pd.DataFrame(columns).assign(weight=np.arange(N) % 4 / 2, row=np.arange(N))


@pytest.fixture(scope="module")
def in_memory(data):
    return KernelSAGDIV().fit(data.X, data.y, data.Z)


def take(frame, *names):
    return {name: frame[COLUMNS[name]] for name in names or ("X", "y", "Z")}


def arrays(data, chunks=1100):
    return [da.from_array(A, chunks=(chunks, *A.shape[1:])) for A in (data.X, data.y, data.Z)]


def assert_same(model, expected, X):
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-8, atol=1e-8)
    squares = model.singular_values_**2, expected.singular_values_**2
    np.testing.assert_allclose(*squares, atol=1e-8)
    assert model.moments_.n == expected.moments_.n
    np.testing.assert_array_equal(model.maps_.origin, expected.maps_.origin)


@pytest.mark.parametrize("chunks", [N, 1100, 100])
def test_arrays(data, in_memory, chunks):
    assert_same(KernelSAGDIV().fit(*arrays(data, chunks)), in_memory, data.X)


def test_above_the_size_of_the_pilot_sample(data, in_memory, monkeypatch):
    monkeypatch.setattr("sagdiv.kernel_sagdiv._PILOT_ROWS", 500)
    expected = KernelSAGDIV().fit(data.X, data.y, data.Z)
    assert not np.array_equal(expected.maps_.origin, in_memory.maps_.origin)
    assert_same(KernelSAGDIV().fit(*arrays(data)), expected, data.X)


def test_columns_in_separate_chunks_and_an_instrument_as_a_vector(data, in_memory):
    X, y, Z = arrays(data)
    assert_same(KernelSAGDIV().fit(X, y[:, None], Z.rechunk({1: 1})), in_memory, data.X)
    expected = KernelSAGDIV().fit(data.X, data.y, data.Z[:, 0])
    assert_same(KernelSAGDIV().fit(X, y, Z[:, 0]), expected, data.X)


def test_frames_keep_their_names(frame, in_memory):
    model = KernelSAGDIV().fit(**take(dd.from_pandas(frame, npartitions=5)))
    assert list(model.feature_names_in_) == ["price"]
    assert list(model.instrument_names_in_) == ["tax", "rain"]
    expected = KernelSAGDIV().fit(**take(frame))
    assert_same(model, expected, frame[["price"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["tax"]])


@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # of Dask
def test_parquet(frame, in_memory, tmp_path):
    dd.from_pandas(frame, npartitions=5).to_parquet(tmp_path)
    model = KernelSAGDIV().fit(**take(dd.read_parquet(tmp_path)))
    np.testing.assert_allclose(
        model.predict(frame[["price"]]), in_memory.predict(frame[["price"]].to_numpy()), atol=1e-8
    )


def test_weights_and_exogenous_names(frame):
    frame = frame.rename(columns={"rain": "size"})
    lazy = dd.from_pandas(frame, npartitions=5)
    parts = {"X": ["price", "size"], "y": "sales", "Z": ["tax"], "sample_weight": "weight"}
    models = [
        KernelSAGDIV(exogenous=["size"]).fit(**{k: f[columns] for k, columns in parts.items()})
        for f in (lazy, frame)
    ]
    assert_same(*models, frame[["price", "size"]])
    np.testing.assert_allclose(
        models[0].predict_projected(frame[["tax"]], frame[["price", "size"]]),
        models[1].predict_projected(frame[["tax"]], frame[["price", "size"]]),
        atol=1e-8,
    )


def test_unknown_lengths_and_empty_partitions(frame):
    lazy = dd.from_pandas(frame, npartitions=8)
    lazy = lazy[lazy["row"] >= 1000]  # two partitions become empty, and no length is known
    expected = KernelSAGDIV().fit(**take(frame[1000:]))
    assert_same(KernelSAGDIV().fit(**take(lazy)), expected, frame[["price"]])
    X, y, Z = (lazy[COLUMNS[name]].to_dask_array() for name in "XyZ")
    assert np.isnan(X.chunks[0]).all()
    expected = KernelSAGDIV().fit(*(frame[1000:][COLUMNS[name]].to_numpy() for name in "XyZ"))
    assert_same(KernelSAGDIV().fit(X, y, Z), expected, frame[["price"]].to_numpy())
    assert_same(KernelSAGDIV().fit(lazy[["price"]], y, Z).fit(X, y, Z), expected, X.compute())


def test_a_loss_of_several_passes():
    data = make_binary("sin", 1000, random_state=0)
    expected = KernelSAGDIV(loss=LogisticLoss()).fit(data.X, data.y, data.Z)
    assert_same(KernelSAGDIV(loss=LogisticLoss()).fit(*arrays(data, 300)), expected, data.X)


def test_partial_fit(data, in_memory):
    model = KernelSAGDIV().fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    model.partial_fit(*(A[1000:] for A in arrays(data)))
    expected = KernelSAGDIV().fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    expected.partial_fit(data.X[1000:], data.y[1000:], data.Z[1000:])
    assert_same(model, expected, data.X)


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
def test_without_instruments(data):
    X, y, _ = arrays(data)
    assert_same(KernelSAGDIV().fit(X, y), KernelSAGDIV().fit(data.X, data.y), data.X)


def test_what_stays_in_memory_is_computed(data, frame):
    lazy = dd.from_pandas(frame, npartitions=5)
    model, parts = KernelSAGDIV().fit(**take(frame)), take(lazy)
    np.testing.assert_array_equal(model.predict(parts["X"]), model.predict(frame[["price"]]))
    assert model.score(**parts) == model.score(**take(frame))
    expected = KernelSAGDIV().fit(**take(frame), Z_extra=frame[["tax", "rain"]])
    further = KernelSAGDIV().fit(**parts, Z_extra=parts["Z"])
    assert_same(further, expected, frame[["price"]])
    paper = KernelSAGDIV.paper(random_state=0)
    lazy_answer = paper.fit(**take(lazy.partitions[0])).predict(parts["X"].partitions[0])
    some = frame[: len(lazy_answer)]
    np.testing.assert_array_equal(paper.fit(**take(some)).predict(some[["price"]]), lazy_answer)


# What is refused


def refuse(message, X, y, Z, error=ValueError, **keywords):
    parameters = {k: keywords.pop(k) for k in ("loss", "batch_size") if k in keywords}
    with pytest.raises(error, match=message):
        KernelSAGDIV(**parameters).fit(X, y, Z, **keywords)


def test_chunks_that_do_not_line_up(data):
    X, y, Z = arrays(data, 1000)
    refuse(
        r"row chunks of X are \(1000, 1000, 1000, 1000\) and those of y \(2000, 2000\); line them "
        r"up with y = y.rechunk\({0: X.chunks\[0\]}\)",
        X,
        y.rechunk(2000),
        Z,
    )
    refuse(r"those of Z \(100, 100, 100, 100, 100, 100, ... 40 in all\)", X, y, Z.rechunk((100, 2)))
    y = y.rechunk(2000).rechunk({0: X.chunks[0]})
    KernelSAGDIV().fit(X, y, Z)


def test_partitions_that_do_not_line_up(frame):
    parts = take(dd.from_pandas(frame, npartitions=5))
    parts["y"] = parts["y"].repartition(npartitions=4)
    refuse("X has 5 partitions and y has 4; take both from one data frame", **parts)


def test_partitions_that_divide_the_index_differently(frame):
    parts = take(dd.from_pandas(frame, npartitions=4))
    parts["y"] = dd.from_pandas(frame[10:], npartitions=4)["sales"]
    refuse("partitions of X and y divide the index differently; take both from", **parts)


def test_partitions_of_other_lengths(frame):
    parts = take(dd.from_pandas(frame, npartitions=4))
    parts["y"] = parts["y"].clear_divisions().map_partitions(_without_row_2000)
    refuse(r"In partition 2 .*len\(X\) = 1000, len\(y\) = 999.*row i of each", **parts)


def _without_row_2000(part):
    return part[part.index != 2000]


def test_one_argument_in_memory(data):
    X, y, Z = arrays(data)
    refuse("y is in memory while other arguments are Dask collec", X, data.y, Z, error=TypeError)
    refuse("X is in memory while other", data.X, y, Z, error=TypeError)
    refuse("sample_weight is in memory", X, y, Z, error=TypeError, sample_weight=np.ones(N))


@pytest.mark.parametrize("name", ["X", "y", "Z"])
def test_a_missing_value_in_the_37th_partition(data, name):
    parts = {"X": data.X.copy(), "y": data.y.copy(), "Z": data.Z.copy()}
    parts[name][36 * 100 + 5] = np.nan
    parts = {k: da.from_array(A, chunks=(100, *A.shape[1:])) for k, A in parts.items()}
    refuse(rf"In partition 36 \(the first is 0\): Input {name} contains NaN", **parts)


def test_weights(data):
    X, y, Z = arrays(data)
    weights = np.ones(N)
    weights[1100:1103] = 0, 1, -1
    refuse(
        "In partition 1 .*sample_weight must not be negative; row 2 has -1",
        *(X, y, Z),
        sample_weight=da.from_array(weights, chunks=1100),
    )
    refuse(
        "sample_weight is zero for every row",
        *(X, y, Z),
        sample_weight=da.zeros(N, chunks=1100),
    )


def test_rows_without_weight_are_no_rows(data, frame):
    y, weights = data.y.copy(), np.ones(N)
    y[:1500], weights[:1500] = np.nan, 0
    expected = KernelSAGDIV().fit(data.X[1500:], data.y[1500:], data.Z[1500:])
    X, _, Z = arrays(data)
    parts = [da.from_array(A, chunks=1100) for A in (y, weights)]
    model = KernelSAGDIV().fit(X, parts[0], Z, sample_weight=parts[1])
    assert_same(model, expected, data.X)
    lazy = dd.from_pandas(frame.assign(sales=y, weight=weights), npartitions=5)
    framed = KernelSAGDIV().fit(**take(lazy, *COLUMNS))
    np.testing.assert_allclose(
        framed.predict(frame[["price"]]), expected.predict(data.X), atol=1e-8
    )


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_weights_that_add_up_to_one(data):
    weights = da.full(N, 1 / N, chunks=1100)
    with pytest.warns(UserWarning, match="sample_weight adds up to 1, and an integer weight"):
        KernelSAGDIV().fit(*arrays(data), sample_weight=weights)


def test_the_door_is_that_of_data_in_memory(data):
    X, y, Z = arrays(data)
    refuse("Z is constant: an instrument that never moves", X, y, Z * 0)
    refuse("X is constant: its effect", X * 0 + 1, y, Z)
    refuse("5 sample.* while a minimum of 9 is required", X[:5], y[:5], Z[:5])
    refuse("0 sample.* while a minimum of 9 is required", X[:0], y[:0], Z[:0])
    refuse("y must be one column, got shape", X, Z, Z)
    refuse(r"y must be 0 or 1 for LogisticLoss", X, y, Z, loss=LogisticLoss())
    refuse(r"y is 1 in every row", X, y * 0 + 1, Z, loss=LogisticLoss())
    refuse("batch_size draws single rows and needs them in memory", X, y, Z, batch_size=10)


def test_labels_that_are_words(data, frame):
    lazy = dd.from_pandas(frame.assign(sales=np.where(data.y > 0, "yes", "no")), npartitions=5)
    message = r"In partition \d .*: y must be numbers, got '(yes|no)'; make them 0 and 1, for exam"
    refuse(message, **take(lazy), loss=LogisticLoss())


def test_values_of_a_binary_outcome_are_checked_between_the_extremes(data):
    X, _, Z = arrays(data)
    y = np.zeros(N)
    y[:3] = 1, 0.5, 0
    refuse("y must be 0 or 1", X, da.from_array(y, chunks=1100), Z, loss=LogisticLoss())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own sockets and ports
def test_a_cluster(data, in_memory):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        assert_same(KernelSAGDIV().fit(*arrays(data)), in_memory, data.X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own sockets and ports
def test_a_worker_that_dies_during_the_fit(data, in_memory, tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y, Z = arrays(data)
    once = tmp_path / "died"

    def die_once(values, block_info=None):
        import os
        import signal

        if block_info[0]["chunk-location"] == (2,) and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        model = KernelSAGDIV().fit(X, y.map_blocks(die_once, dtype=float), Z)
    assert once.exists()
    assert_same(model, in_memory, data.X)
