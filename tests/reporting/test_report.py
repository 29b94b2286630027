"""The page is one file that asks no network, and nothing in it that came from data can run."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from models import ncl
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_tables import homes

from negcorr import ContentKFold, NCLRegressor, report
from negcorr.bases import AutoBasis, FourierFeatures, LinearFeatures, NestedFeatures
from negcorr.reporting.contents import gather
from negcorr.reporting.held_out import fingerprint

NASTY = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>"


class Elements(HTMLParser):
    """Names of elements and their attributes, as a browser would find them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def rows(n=120, outputs=None, columns=("a", "b", "c")):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list(columns))
    y = np.sin(X.iloc[:, 0].to_numpy()) + 0.3 * rng.normal(size=n)
    return X, y if outputs is None else np.column_stack([y * (k + 1) for k in range(outputs)])


def fitted(X, y, **parameters):
    return ncl(8, 4, **parameters).fit(X, y)


@pytest.fixture
def written(tmp_path):
    def write(model, *args, **kwargs):
        path = report(model, *args, path=tmp_path / "deep" / "page.html", **kwargs)
        return path.read_text(encoding="utf-8")

    return write


def test_a_page_is_one_small_file_without_addresses(written):
    X, y = rows()
    text = written(fitted(X[:80], y[:80]), X[80:], y[80:])
    elements = Elements(text)
    assert len(text) < 3_000_000
    for _, attributes in elements.found:
        assert not {"src", "href", "srcset", "action"} & attributes.keys()
    assert not re.search(r"@import|url\(", text)


def test_nothing_from_the_data_becomes_an_element_or_a_script(written):
    X, y = rows(columns=(NASTY, "b\n\u2028", "🦊"))
    text = written(
        fitted(X[:80], y[:80]),
        X[80:],
        y[80:],
        title=NASTY,
        outputs=[NASTY],
        verdict=NASTY,
        notes=[NASTY],
        tables=[(NASTY, (NASTY, NASTY), ((NASTY, NASTY),))],
        snippet=NASTY,
    )
    elements = Elements(text)
    assert elements.named("img") == []
    assert len(elements.named("script")) == 3
    assert all(not name.startswith("on") for _, found in elements.found for name in found)
    assert text.count("</script>") == 3
    data = json.loads(re.search(r'id="negcorr-data">(.*?)</script>', text, re.S).group(1))
    assert data["outputs"] == [NASTY]


def test_scripts_are_allowed_by_their_digests_alone(written):
    X, y = rows()
    policy = Elements(written(fitted(X, y))).named("meta")[1]["content"]
    assert policy.startswith("default-src 'none'")
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_without_rows_the_page_says_so(written):
    X, y = rows()
    assert "No rows were held out" in written(fitted(X, y))


def test_the_same_model_and_rows_make_the_same_page(written):
    X, y = rows()
    model = fitted(X[:80], y[:80])
    assert written(model, X[80:], y[80:]) == written(model, X[80:], y[80:])


def test_a_compact_model_has_the_same_page(written):
    X, y = rows()
    model = fitted(X[:80], y[:80])
    whole = gather(model, X[80:], y[80:])
    for small in (model.compact(), model.compact(path=True)):
        found = gather(small, X[80:], y[80:])
        for name, values in vars(whole.curves).items():
            np.testing.assert_allclose(getattr(found.curves, name), values, rtol=1e-9, err_msg=name)
        assert (found.facts, found.importances) == (whole.facts, whole.importances)
        np.testing.assert_array_equal(found.held_out[0].lower, whole.held_out[0].lower)
        assert "id='knob'" in written(small, X[80:], y[80:])


@pytest.mark.parametrize(
    "basis",
    [
        "trees",
        FourierFeatures(6, 4, gamma=0.5),
        AutoBasis("fourier", kernels="rbf", n_components=4, n_members=6),
        NestedFeatures([FourierFeatures(3, 2), LinearFeatures(2, 2)], [0.1, 0.5]),
    ],
    ids=["string", "basis", "searched", "nested"],
)
def test_the_code_on_the_page_makes_the_model_again(basis):
    X, y = rows()
    X = X.to_numpy()
    model = NCLRegressor(basis, cv=ContentKFold(3)).fit(X, y)
    space = {"X": X, "y": y}
    exec(gather(model).snippet, space)
    np.testing.assert_array_equal(space["model"].predict(X), model.predict(X))


def test_a_pipeline_has_the_names_of_its_inputs(written):
    X, y = rows(outputs=2)
    model = make_pipeline(StandardScaler(), ncl(n_members=5))
    text = written(model.fit(X[:80], y[:80]), X[80:], y[80:], outputs=["height", "weight"])
    assert "<option value='1'>weight</option>" in text
    assert "<span>b</span>" in text


def test_streamed_models_can_be_told_of(written):
    X, y = rows()
    model = ncl(n_members=5).partial_fit(X[:80], y[:80])
    assert "id='knob'" in written(model, X[80:], y[80:])


def test_what_cannot_be_told_of_is_refused(tmp_path):
    X, y = rows()
    model = fitted(X, y)
    path = tmp_path / "page.html"
    with pytest.raises(TypeError, match="must be an NCLRegressor"):
        report(Ridge().fit(X, y), path=path)
    with pytest.raises(ValueError, match="y=None"):
        report(model, X, path=path)
    with pytest.raises(ValueError, match=r"y has 2 output\(s\), the model has 1"):
        report(model, X, np.column_stack([y, y]), path=path)
    with pytest.raises(ValueError, match="outputs='y' must name each"):
        report(model, outputs="y", path=path)
    assert not path.exists()


def test_a_sample_of_many_rows_is_called_one(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    model = ncl(4, 3, lam=0.5).fit(X, X[:, 0])
    page = report(model, X, X[:, 0], path=tmp_path / "many.html").read_text(encoding="utf-8")
    assert "2000 of 2500 rows, at the chosen λ" in page
    page = report(model, X[:50], X[:50, 0], path=tmp_path / "few.html").read_text(encoding="utf-8")
    assert "50 rows, at the chosen λ" in page


def test_details_stand_before_the_settings_and_numbers_to_the_right(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = ncl(4, 3).fit(X, X[:, 0])
    details = [("Columns", ("Name", "Count", "Words"), (("a", "3", "x"), ("b", "−4", "")))]
    file = report(model, path=tmp_path / "details.html", details=details)
    page = file.read_text(encoding="utf-8")
    assert page.index("The knob λ") < page.index("<h2>Columns</h2>") < page.index("Settings</h2>")
    assert "<tr><td>a</td><td class=number>3</td><td>x</td></tr>" in page


def of_homes(library="pandas"):
    """Inputs of several kinds, one that is left out, and targets."""
    frame = homes(120)
    X = frame[["size", "kind", "built"]].assign(row=np.arange(120))
    if library == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    elif library == "pyarrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False)
    elif library == "unnamed":
        X = X.set_axis(range(4), axis=1)
    elif library == "objects":
        X = X.to_numpy(dtype=object)
    return X, frame["price"].to_numpy()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "unnamed", "objects"])
def test_columns_of_data_frames_are_shuffled_one_by_one(library):
    X, y = of_homes(library)
    found = gather(fitted(X, y), X, y)
    unnamed = library in ("unnamed", "objects")
    names = ["x0", "x1", "x2", "x3"] if unnamed else ["size", "kind", "built"]
    assert sorted(part.name for part in found.importances) == sorted(names)
    assert found.importances[0].name == names[0]
    assert found.importances[0].growth > 0.5
    if library != "objects":
        assert found.fingerprint == fingerprint(*of_homes("pandas"))


def test_the_page_says_what_was_made_of_the_columns(written):
    X, y = of_homes()
    text = written(fitted(X, y), X, y)
    assert "<th>Made of it</th>" in text
    assert "<td>the number and missing or not</td>" in text
    assert "<td>identifier</td>" in text
    assert "1 number, 1 category, 1 date" in text
    assert "Made of it" not in written(fitted(X, y), X, y, details=())
    X, y = rows()
    assert "Made of it" not in written(fitted(X.to_numpy(), y))
