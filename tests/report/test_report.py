"""The report: complete, self-contained, and opened in a browser where there is one."""

import re
from html.parser import HTMLParser

import chromium
import numpy as np
import pytest

import sagdiv
from sagdiv.baselines import TSLS
from sagdiv.datasets import make_continuous
from sagdiv.losses import LogisticLoss
from sagdiv.report import findings, report_html

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


@pytest.mark.parametrize("n_refits", [0, 20])
def test_other_estimators(table, n_refits):
    found = findings(sagdiv.from_formula("y ~ [x ~ z]", table, TSLS()), n_refits=n_refits)
    assert (found.curves[0].band is None) == (n_refits == 0)
    page = report_html(found, RUN)
    assert ("95 % intervals" in page) == (n_refits > 0)
    assert "the estimator was not examined" in page
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
