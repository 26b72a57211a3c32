"""The report: complete, self-contained, and opened in a browser where there is one."""

import dataclasses
import re
from html.parser import HTMLParser

import chromium
import numpy as np
import pytest

import sagdiv
from sagdiv.baselines import TSLS
from sagdiv.datasets import make_continuous
from sagdiv.losses import LogisticLoss
from sagdiv.report import findings, report_html, save_figures
from sagdiv.report.curve import curve_figure

pytest.importorskip("formulaic")

RUN = {
    "command": "sagdiv fit 'data <1>.csv' 'y ~ w + [x ~ z]'",
    "data": "data <1>.csv",
    "sha256": 64 * "a",
    "version": sagdiv.__version__,
    "seconds": 0.5,
}
FILLED = "[...document.querySelectorAll('figure svg.chart')].filter(s => s.clientWidth)"
VOID = {"meta", "link", "path", "rect", "circle", "img", "br"}


@pytest.fixture(scope="module")
def table():
    draw = make_continuous("sin", 400, random_state=0)
    x, (z, w) = draw.X[:, 0], draw.Z.T
    return {"y": draw.y, "x": x, "z": z, "w": w, "works": draw.y > 0, "<b>odd</b> & $w": w}


@pytest.fixture(scope="module")
def found(table):
    return findings(sagdiv.from_formula("y ~ w + [x ~ z]", table))


@pytest.fixture(scope="module")
def page(found):
    return report_html(found, RUN)


class Balance(HTMLParser):
    """Checks that every tag is closed, and collects what a page refers to."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [
            value for name, value in attrs if name in ("src", "href", "srcset", "action")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def titles(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_the_page_is_well_formed_and_refers_to_nothing(page):
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert parser.links == ["data:,"]
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttp", page)
    assert len(page) < 300_000


def test_the_page_says_everything(page, found):
    for words in (
        *("What x does to y", "Should you believe it?", found.headline, "Diagnostics", "Data"),
        *("KernelSAGDIV(", "arXiv:2402.05639", 64 * "a", "400 rows", "Is IV needed?"),
        "sagdiv fit &#x27;data &lt;1&gt;.csv&#x27;",
    ):
        assert words in page
    assert all(reason in page for reason in found.reasons)


def test_names_from_a_table_cannot_become_markup(table):
    fit = sagdiv.from_formula("y ~ `<b>odd</b> & $w` + [x ~ z]", table)
    page = report_html(findings(fit), RUN)
    assert "<b>" not in page
    assert "&lt;b&gt;odd&lt;/b&gt; &amp; $w" in page


def test_the_curve_is_what_the_model_predicts(found, table):
    (curve,) = found.curves
    grid = {"x": curve.x, "w": np.full(len(curve.x), curve.held["w"])}
    np.testing.assert_allclose(curve.estimate, found.fit.predict(grid), rtol=1e-12)
    assert list(curve.as_dict()) == [
        *("x", "estimate", "lower", "upper", "band_lower", "band_upper", "ordinary_regression")
    ]


def test_a_binary_outcome_is_not_drawn_among_its_data(table):
    estimator = sagdiv.KernelSAGDIV(LogisticLoss())
    found = findings(sagdiv.from_formula("works ~ w + [x ~ z]", table, estimator))
    assert not found.outcome_on_scale
    page = report_html(found, RUN)
    assert "index h of works" in page
    assert '<path class="points' not in page


def test_how_to_cite(page):
    assert titles(page)[-2:] == ["Do it again", "How to cite"]
    entries = re.findall(r"@(\w+)\{", page)
    assert entries == ["inproceedings", "software"]
    assert f"version = {{{sagdiv.__version__}}}" in page


# One number for the level: in the bands, in the diagnostics and in the words about them.
def test_another_level(table):
    found = findings(sagdiv.from_formula("y ~ w + [x ~ z]", table), level=0.8)
    assert str(found.analysis.average_derivative(level=0.8)) in dict(found.numbers)["Average slope"]
    assert "95 %" not in report_html(found, RUN)


def test_the_summary_speaks_of_the_curve_that_is_drawn(found):
    (curve,) = found.curves
    low, high = np.quantile(found.fit.X["x"], [0.01, 0.99])
    np.testing.assert_allclose(curve.x[[0, -1]], [low, high])
    assert f"over x from {low:.3g} to {high:.3g}" in dict(found.numbers)["Curve"]
    half = (curve.band.critical_value * curve.band.standard_error).mean()
    assert f"mean half width {half:.3g}" in dict(found.numbers)["Curve"]


def test_rows_outside_the_chart_are_counted(found, page):
    (n_outside,) = re.findall(r"(\d+) of 400 rows lie beyond the edges", page)
    x = found.fit.X["x"]
    beyond = int(((x < found.curves[0].x[0]) | (x > found.curves[0].x[-1])).sum())
    assert beyond <= int(n_outside) <= beyond + 16  # 2 % at the top and the bottom each


def test_a_line_off_the_middle_of_its_intervals_is_explained(found):
    (curve,) = found.curves
    words = "around the estimate before that"
    centred = dataclasses.replace(curve, estimate=curve.band.estimate)
    shifted = dataclasses.replace(curve, estimate=0.9 * curve.band.upper + 0.1 * curve.band.lower)
    assert words not in curve_figure(found, centred)
    assert words in curve_figure(found, shifted)


def test_a_treatment_of_two_values_is_two_points(table):
    treated = {**table, "x": (table["x"] > 0).astype(int)}
    found = findings(sagdiv.from_formula("y ~ w + [x ~ z]", treated))
    page = report_html(found, RUN)
    assert "The effect: y against x" in titles(page)
    assert f"<p>{dict(found.numbers)['Effect']}</p>" in page
    figure = curve_figure(found, found.curves[0])
    assert '<path class="line' not in figure
    assert re.findall(r'class="tick x"[^>]*>([^<]*)<', figure) == ["0", "1", "0", "1"]
    assert figure.count('<circle class="circle structural"') == 4  # two charts


def test_an_effect_by_another_estimator(table):
    treated = {**table, "x": (table["x"] > 0).astype(int)}
    found = findings(sagdiv.from_formula("y ~ w + [x ~ z]", treated, TSLS()), n_refits=20)
    effect = dict(found.numbers)["Effect"]
    assert f"x from 0 to 1 changes h by {np.diff(found.curves[0].estimate)[0]:.3g} [" in effect
    assert f"<p>{effect}</p>" in report_html(found, RUN)


FORMULAS = {
    "y ~ w + [x + I(x**2) ~ z + I(z**2)]": ["x"],
    "y ~ w + [x + x:w ~ z + z:w]": ["x"],
    "y ~ region + [I(exp(x / 5)) ~ z]": ["x"],
    "y ~ w + [region ~ z + I(z**2)]": ["region"],
    "y ~ C(k) + [x + w ~ z + I(z**2) + region]": ["x", "w"],
}


def test_the_question_is_a_sentence(table):
    table = {**table, "k": np.arange(400) % 3}
    formula = "y ~ C(k) + [x + I(x**2) + w ~ z + I(z**2) + `<b>odd</b> & $w`]"
    page = report_html(findings(sagdiv.from_formula(formula, table, TSLS()), n_refits=0), RUN)
    assert "<h1>What x and w do to y</h1>" in page
    assert (
        "How y would respond if x and w were changed, given k; learnt from how z and &lt;b&gt;odd"
        "&lt;/b&gt; &amp; $w move them, in 400 rows." in page
    )


# Curves are over columns of the table, whatever functions of them the model is made of.
@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
@pytest.mark.parametrize("formula", FORMULAS)
def test_curves_of_functions_of_columns(table, formula, tmp_path):
    rng = np.random.RandomState(0)
    table = {**table, "region": rng.choice(["north", "south"], 400), "k": rng.randint(3, size=400)}
    found = findings(sagdiv.from_formula(formula, table))
    assert [curve.treatment for curve in found.curves] == FORMULAS[formula]
    for curve in found.curves:
        grid = found.fit.grid(curve.treatment)
        np.testing.assert_array_equal(curve.estimate, found.fit.predict(grid))
        assert next(iter(curve.as_dict())) == curve.treatment
    Balance().feed(report_html(found, RUN))
    pytest.importorskip("matplotlib")
    save_figures(found, tmp_path)
    assert (tmp_path / "curve.png").exists()


# The stand-in that speaks of the data draws a curve beside that of the fit: on the same scale.
def test_the_paper_with_a_binary_outcome(table, tmp_path):
    estimator = sagdiv.KernelSAGDIV.paper(loss=LogisticLoss(), random_state=0)
    fit = sagdiv.from_formula("works ~ [x ~ z]", table, estimator)
    found = findings(fit, n_refits=0)
    assert found.analysis.model.loss == LogisticLoss()
    page = report_html(found, RUN)
    assert "P(Y = 1 | Z) = F(E[h(X) | Z]), F logistic" in page
    assert "Y - h(X)" not in page
    pytest.importorskip("skops")
    sagdiv.save(fit, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(table), fit.predict(table))


def test_clusters_of_the_fit_widen_its_intervals(table):
    pairs = {**table, "pair": np.arange(400) // 4}
    copied = {name: np.repeat(column, 4) for name, column in pairs.items()}
    copied["pair"] = np.arange(1600) // 4
    formula = "y ~ w + [x ~ z]"
    plain, clustered = (
        findings(sagdiv.from_formula(formula, copied, cluster=cluster))
        for cluster in (None, "pair")
    )
    assert clustered.analysis.n_clusters == 400
    assert "clustered by pair" in clustered.uncertainty
    assert "in 400 clusters" in dict(clustered.numbers)["Data"]
    errors = [found.analysis.average_derivative().standard_error for found in (plain, clustered)]
    assert errors[1] > 1.3 * errors[0]


@pytest.mark.parametrize("n_refits", [0, 20])
def test_other_estimators(table, n_refits):
    found = findings(sagdiv.from_formula("y ~ [x ~ z]", table, TSLS()), n_refits=n_refits)
    assert (found.curves[0].band is None) == (n_refits == 0)
    page = report_html(found, RUN)
    assert ("95 % intervals" in page) == (n_refits > 0)
    assert "the estimator was not examined" in page
    assert found.verdict == "neutral"  # no green light for what nobody looked at
    assert '<section class="verdict neutral">' in page
    assert "Risk along the descent" not in page


def test_the_same_seed_gives_the_same_page(table, page):
    again = findings(sagdiv.from_formula("y ~ w + [x ~ z]", table))
    assert report_html(again, RUN) == page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if chromium.BINARY is None:
        pytest.skip("no Chromium on the path: the report was not opened in a browser")
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_opens_from_the_disk(browser, file, tmp_path, width, dark):
    browser.open(file, width=width, dark=dark)
    picture = browser.screenshot(tmp_path / "report.png")
    assert browser.complaints == []
    assert browser.requests == [file.resolve().as_uri()]
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 30_000
    # Nothing wider than the window, and each chart in the one size that fits.
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    sizes = set(browser.evaluate(f"{FILLED}.map(s => s.getAttribute('class'))"))
    assert sizes == {"chart narrow" if width == 400 else "chart wide"}
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")


CONTRAST = """
(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [r, g, b] = parse(color).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return parse(color)[3] === 0 ? ground(element.parentElement) : color;
  };
  const text = document.querySelectorAll("p, li, td, th, dt, dd, h1, h2, h3, pre, svg text");
  return Math.min(...[...text].map((element) => {
    const style = getComputedStyle(element);
    const a = luminance(element.closest("svg") ? style.fill : style.color);
    const b = luminance(ground(element));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read(browser, file, dark):
    browser.open(file, width=1400, dark=dark)
    assert browser.evaluate(CONTRAST) > 4.5  # what accessibility guidelines ask for


@pytest.mark.parametrize("width", [400, 1400])
def test_values_under_the_pointer(browser, file, found, width):
    browser.open(file, width=width)
    chart = f"{FILLED}[0]"
    readout = "document.querySelector('.readout').textContent"
    assert browser.evaluate(readout) == ""
    browser.evaluate(f"{chart}.scrollIntoView({{block: 'center'}})")
    box = browser.evaluate(
        f"(b => [b.left, b.top, b.width, b.height])({chart}.getBoundingClientRect())"
    )
    browser.move_to(box[0] + box[2] / 2, box[1] + box[3] / 2)
    words = browser.evaluate(readout)
    x, h, low, high, *_ = (float(n) for n in re.findall(r"-?\d+\.?\d*", words))
    (curve,) = found.curves
    at = int(np.argmin(abs(curve.x - x)))
    assert 30 < at < 70
    np.testing.assert_allclose(
        [h, low, high], [curve.estimate[at], curve.band.lower[at], curve.band.upper[at]], rtol=1e-3
    )
    browser.evaluate("document.querySelector('figure[data-curve]').focus()")
    browser.press("End")
    assert browser.evaluate(readout).startswith(f"x = {curve.x[-1]:.4g}")
    assert browser.complaints == []


def test_it_prints(browser, file):
    browser.open(file, width=1400, dark=True)
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 6
