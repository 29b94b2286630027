"""The readable account of a fit says what the path says."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from models import ncl
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer
from toy_tables import homes

from negcorr import ncl_path
from negcorr.ensemble.summary import Summary, summarise


def path(outputs=None, **options):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 12))
    shape = 80 if outputs is None else (80, outputs)
    y = features[:, 0].reshape(80, *([1] * (outputs is not None))) + rng.normal(size=shape)
    return ncl_path(features, y, [0, 4, 8, 12], **options)


def values(summary, name):
    """Numbers of the table's row with that name."""
    (row,) = [cells for label, cells in summary.rows if label == name]
    return [float(cell) for cell in row]


@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv"])
def test_every_quantity_is_that_of_the_path(outputs, criterion):
    fitted = path(outputs, criterion=criterion)
    summary = summarise(fitted, "given")
    expected = {
        "lam": fitted.lam,
        "gap = 1 - lam": fitted.gap,
        "degrees of freedom": fitted.dof(),
        "sigma (residual)": np.sqrt(fitted.residual_noise_variance()),
        f"{criterion} at lam": getattr(fitted, criterion)(),
        "training error": fitted.train_error(),
        "average member error": fitted.member_error(),
        "diversity": fitted.diversity(),
        "variance of y": fitted.spectrum.total,
    }
    if criterion == "kfold":
        expected["R2 by kfold"] = 1.0 - np.asarray(fitted.kfold()) / fitted.spectrum.total
    assert {name for name, _ in summary.rows} == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(values(summary, name), np.atleast_1d(value), rtol=1e-3)


def test_facts_say_what_was_fitted():
    fitted = path(criterion="gcv")
    facts = dict(summarise(fitted, "my features").facts)
    assert facts["Features"] == "my features, M = 3 members, H = 4 each"
    assert facts["Samples (sum of weights)"] == "80"
    assert facts["Criterion"] == "gcv"
    assert facts["Solver"] == fitted.solver


def test_samples_are_the_sum_of_weights():
    fitted = path(criterion="gcv", sample_weight=np.full(80, 2.0))
    assert dict(summarise(fitted, "x").facts)["Samples (sum of weights)"] == "160"


def test_unequal_members_show_their_range_of_widths():
    rng = np.random.default_rng(0)
    fitted = ncl_path(rng.normal(size=(60, 9)), rng.normal(size=60), [0, 2, 9], criterion="gcv")
    assert "M = 2 members, H = 2 to 7 each" in dict(summarise(fitted, "x").facts)["Features"]


def test_given_lam_has_no_criterion():
    summary = summarise(path(lam=0.5), "x")
    assert dict(summary.facts)["Criterion"] == "none: lam was given"
    assert not [name for name, _ in summary.rows if name.endswith("at lam")]
    assert values(summary, "lam") == [0.5]


def test_tiny_gaps_are_not_printed_as_zero():
    summary = summarise(path(gap=1e-12), "x")
    assert values(summary, "gap = 1 - lam") == [1e-12]


@pytest.mark.parametrize(
    ("outputs", "header"), [(None, ()), (1, ("output 0",)), (2, ("output 0", "output 1"))]
)
def test_outputs_are_columns_and_a_single_target_has_no_header(outputs, header):
    summary = summarise(path(outputs, criterion="gcv"), "x")
    assert summary.header == header
    assert {len(cells) for _, cells in summary.rows} == {max(len(header), 1)}


def test_useless_members_are_called_so():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(200, 1))
    y = np.sin(8 * x[:, 0])
    model = ncl(30, 5, gap=1e-9, solver="qr").fit(x, y)
    ratio = model.path_.member_error() / y.var()
    assert ratio > 1
    (note,) = [n for n in model.summary().notes if "useless alone" in n]
    assert f"{ratio:.3g} times" in note
    assert "no uncertainty" in note


def test_useful_members_are_not_called_useless():
    assert not [n for n in summarise(path(lam=0.0), "x").notes if "useless" in n]


@pytest.mark.parametrize(("criterion", "said"), [("sure", True), ("cp", True), ("kfold", False)])
def test_sure_says_what_it_does_not_count(criterion, said):
    notes = " ".join(summarise(path(criterion=criterion), "x").notes)
    assert ("training inputs" in notes and "sigma^2" in notes) is said


def test_choice_at_the_small_end_is_noted():
    fitted = path(criterion="gcv").changed(at_small_end=np.array([True]))
    assert any("asks for lam = 1" in note for note in summarise(fitted, "x").notes)


def test_constant_target_is_summarised_without_warning():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = ncl_path(rng.normal(size=(60, 9)), np.ones(60), [0, 4, 9], lam=0.5)
        summary = summarise(fitted, "x")
    assert values(summary, "variance of y") == [0.0]
    assert not [n for n in summary.notes if "useless" in n]


def lines_of(summary):
    lines = str(summary).splitlines()
    assert repr(summary) == str(summary)
    assert lines[0] == summary.title
    for name, value in summary.facts:
        pattern = f"{re.escape(name)} +{re.escape(value)}"
        assert len([line for line in lines if re.fullmatch(pattern, line)]) == 1
    rest = " ".join(lines)
    for note in summary.notes:
        assert note in rest
    return lines


def test_text_of_one_output_has_a_line_for_every_quantity():
    summary = summarise(path(None, criterion="sure"), "my features")
    lines = lines_of(summary)
    for name, (cell,) in summary.rows:
        pattern = re.escape(name) + f" +{re.escape(cell)}"
        assert len([line for line in lines if re.fullmatch(pattern, line)]) == 1


def test_text_of_several_outputs_has_a_line_for_each():
    summary = summarise(path(3, criterion="sure"), "my features")
    lines = lines_of(summary)
    (titles,) = [line for line in lines if line.split()[:3] == ["lam", "gap", "dof"]]
    for j in range(3):
        (line,) = [line for line in lines if line.startswith(f"output {j}")]
        assert line.split()[2:] == [cells[j] for _, cells in summary.rows]
        assert len(line) == len(titles)


def test_a_fit_worse_than_a_constant_says_so():
    rng = np.random.default_rng(0)
    rare = (rng.uniform(size=(60, 12)) < 0.03) * rng.normal(size=(60, 12))
    rare[0] = 1e-3
    fitted = ncl_path(rare, 50.0 * rng.standard_cauchy(size=60), [0, 6, 12], criterion="kfold")
    error = fitted.kfold() / fitted.spectrum.total[0]
    notes = " ".join(summarise(fitted, "x").notes)
    assert ("worse than predicting the mean" in notes) == (error > 1.2)
    assert error > 1.2


class Cells(HTMLParser):
    """Texts of the page and a count of tags left open."""

    def __init__(self):
        super().__init__()
        self.texts, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("outputs", [None, 2])
def test_html_holds_the_same_and_is_well_formed(outputs):
    summary = summarise(path(outputs, criterion="sure"), "my features")
    page = Cells()
    page.feed(summary._repr_html_())
    page.close()
    assert page.open == []
    wanted = [summary.title, *summary.header, *summary.notes]
    wanted += [text for fact in summary.facts for text in fact]
    wanted += [text for name, cells in summary.rows for text in (name, *cells)]
    for text in wanted:
        assert text in page.texts


def test_html_escapes_what_it_shows():
    summary = Summary(
        "<b>t</b>", (("f<", "v&"),), ("<h>",), (("<r>", ("<c>",)),), ("<script>note</script>",)
    )
    page = Cells()
    page.feed(summary._repr_html_())
    page.close()
    for text in ("<b>t</b>", "f<", "v&", "<h>", "<r>", "<c>", "<script>note</script>"):
        assert text in "".join(page.texts)
    assert "<script>" not in summary._repr_html_()


@pytest.mark.parametrize(
    ("basis", "name"),
    [("trees", "trees"), ([PolynomialFeatures(), SplineTransformer()], "list of 2 transformers")],
    ids=["name", "list"],
)
def test_regressor_names_its_basis(basis, name):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ncl(3, 4, basis=basis, lam=0.5).fit(X, X[:, 0])
    assert dict(model.summary().facts)["Features"].startswith(f"{name}, M = ")


def test_columns_of_a_data_frame_are_counted_and_those_left_out_are_named():
    frame = homes(60)[["size", "kind", "built"]].assign(row=np.arange(60), unit="m")
    frame["note\n"] = [f"text {number}" for number in range(60)]
    model = ncl(3, 4, lam=0.5).fit(frame, homes(60)["price"])
    facts = dict(model.summary().facts)
    assert facts["Columns"] == "1 number, 1 category, 1 date"
    assert facts["Columns left out"] == (
        "row (numbers the rows), unit ('m' in every row), note\\n (differs in every row)"
    )
    assert "1 category" in repr(model.summary())


def test_arrays_have_no_columns_to_speak_of():
    X = np.random.default_rng(0).normal(size=(60, 2))
    facts = dict(ncl(3, 4, lam=0.5).fit(X, X[:, 0]).summary().facts)
    assert not {"Columns", "Columns left out"} & facts.keys()


def test_nothing_is_said_of_columns_left_out_where_there_are_none():
    frame = homes(60)[["size", "kind"]]
    facts = dict(ncl(3, 4, lam=0.5).fit(frame, homes(60)["price"]).summary().facts)
    assert facts["Columns"] == "1 number, 1 category"
    assert "Columns left out" not in facts
