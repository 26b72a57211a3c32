"""The digits design: what is shown, what is true, and which images are kept for testing."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sagdiv.datasets import make_digits_iv
from sagdiv.datasets.digits import DigitsDesign

IMAGES, DIGITS = load_digits(return_X_y=True)
DIGIT_OF = {(image / 16).tobytes(): digit for image, digit in zip(IMAGES, DIGITS, strict=True)}


def read(images):
    return np.array([DIGIT_OF[image.tobytes()] for image in images.reshape(len(images), -1)])


@pytest.mark.parametrize(
    ("scenario", "X_shape", "Z_shape"),
    [("x", (8, 8), (1,)), ("z", (1,), (8, 8)), ("xz", (8, 8), (8, 8))],
)
def test_shapes(scenario, X_shape, Z_shape):
    data = make_digits_iv(scenario, 20, 7, random_state=0)
    assert (data.X.shape, data.y.shape) == ((20, *X_shape), (20,))
    assert (data.Z.shape, data.Z_extra.shape) == ((20, *Z_shape), (7, *Z_shape))
    assert make_digits_iv(scenario, 20).Z_extra is None
    assert data.sample_X(5, random_state=0).shape == (5, *X_shape)


# The digit on the image is the nearest to 1.5 x + 5, and h* reads it back.
@pytest.mark.parametrize("function", ["abs", "linear"])
def test_h_star_reads_the_digit(function):
    data = make_digits_iv("xz", 300, function=function, random_state=0)
    x = (read(data.X) - 5) / 1.5
    np.testing.assert_allclose(data.h_star(data.X), np.abs(x) if function == "abs" else x)


def test_images_show_the_same_numbers_as_the_tables():
    tables = [make_digits_iv(scenario, 400, random_state=0) for scenario in ("x", "z")]
    z, x = tables[0].Z[:, 0], tables[1].X[:, 0]
    np.testing.assert_array_equal(read(tables[1].Z), np.rint(1.5 * z + 5).clip(0, 9))
    # The same draws of z, noise and x in both scenarios.
    np.testing.assert_array_equal(read(tables[0].X), np.rint(1.5 * x + 5).clip(0, 9))
    np.testing.assert_array_equal(tables[1].h_star(tables[1].X), np.abs(x))


# X is endogenous and Z is not: y - h*(x) moves with x and not with z.
def test_confounding():
    data = make_digits_iv("z", 4000, random_state=0)
    noise = data.y - data.h_star(data.X)
    assert np.corrcoef(noise, data.X[:, 0])[0, 1] > 0.4
    assert abs(np.corrcoef(noise, read(data.Z))[0, 1]) < 0.05


def test_test_images_are_in_no_fit():
    data = make_digits_iv("x", 5000, random_state=0)
    fit = {image.tobytes() for image in data.X}
    test = {image.tobytes() for image in data.sample_X(3000, random_state=1)}
    assert not fit & test
    assert len(test) > 300
    assert len(fit) > 1000


def test_same_seed_same_draw():
    first, second, other = (make_digits_iv("xz", 30, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert not np.array_equal(first.y, other.y)


def test_refusals():
    with pytest.raises(ValueError, match="scenario must be one of 'x', 'z', 'xz'"):
        make_digits_iv("y", 10)
    with pytest.raises(ValueError, match="function must be one of"):
        DigitsDesign("x", "cubic")
    with pytest.raises(ValueError, match="n must be at least 1"):
        make_digits_iv("x", 0)
    data = make_digits_iv("x", 5, random_state=0)
    with pytest.raises(ValueError, match="not among scikit-learn's digits"):
        data.h_star(data.X + 0.5)
