"""The protocols: their cells, and one cell of each from rows to scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from absentia import amputation
from absentia.densities import GaussianDensity
from lab.data.datasets import Dataset
from lab.data.sources import in_unit_interval, without_scaling
from lab.experiments.methods import METHODS
from lab.experiments.running.cells import SIZES, Cell, Context
from lab.experiments.suites import PROTOCOLS, protocol_named
from lab.experiments.suites.maintenance import (
    _bootstrap,
    _successive_parts,
    _telling_columns,
)
from lab.experiments.suites.measuring_order import _Key, _train, area_under_loss
from lab.experiments.suites.trial import dataset, holes
from lab.experiments.suites.williams import harmonic_function

#: Data sets of the protocols' smoke sizes, made up: columns, task, whether they have holes.
MADE_UP = {
    "heart_statlog": (6, "classes", 0.0),
    "concrete": (5, "quantity", 0.0),
    "laser": (4, "quantity", 0.0),
    "ionosphere": (8, "classes", 0.0),
    "secom": (30, "classes", 0.1),
    "iris": (4, "classes", 0.0),
    "hepatitis": (5, "classes", 0.1),
    "auto_mpg": (4, "quantity", 0.1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, (d, kind, rate) in MADE_UP.items():
        X = rng.normal(size=(150, d))
        signal = X[:, 0] + X[:, 1] - X[:, 2]
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)])
        frame = frame.mask(rng.random(X.shape) < rate)
        frame["target"] = (signal > 0.5).astype(int) if kind == "classes" else signal.round(3)
        frame.to_csv(place / f"{name}.csv", index=False)
    return str(place)


@pytest.fixture(scope="module")
def context(folder):
    return Context(size="smoke", folder=folder, verify=False)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_one_cell_of_each(name, context):
    protocol = PROTOCOLS[name]
    cells = protocol.cells(context)
    chosen = {cell.method: cell for cell in cells}
    ours = next((m for m in ("genrbf", "expected-rbf", "egk", "measure-next") if m in chosen), None)
    scores, facts = protocol.run(chosen[ours], context)
    values = {score.metric: score.value for score in scores}
    assert np.isfinite(values[protocol.metric])
    assert facts
    again, _ = protocol.run(chosen[ours], context)
    if name != "smieja-timing":
        unmeasured = [s for s in scores if s.metric != "fit_seconds"]
        assert unmeasured == [s for s in again if s.metric != "fit_seconds"]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_cells_are_distinct_and_grow_with_the_size(name):
    counts = []
    for size in SIZES:
        cells = PROTOCOLS[name].cells(Context(size=size))
        # Of the largest a part is enough: what one loop makes distinct there, it does here.
        looked_at = cells if size != "full" else cells[:5000]
        assert len({cell.key for cell in looked_at}) == len(looked_at)
        assert {cell.protocol for cell in looked_at} == {name}
        counts.append(len(cells))
    assert counts[0] < counts[1] < counts[2]


def test_the_papers_sizes():
    cells = PROTOCOLS["smieja-classification"].cells(Context(size="full"))
    assert len({cell.dataset for cell in cells}) == 8
    assert {cell.rate for cell in cells} == {k / 10 for k in range(1, 10)}
    assert {cell.mechanism for cell in cells} == {"mcar", "mar", "mar-exempt", "mnar"}
    assert {cell.sample for cell in cells} == set(range(10))
    assert {"genrbf", "karma", "geom", "mice", "missforest", "gmm"} <= {c.method for c in cells}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_metric_of_appendix_d_is_in_every_suite_that_compares_machines(name):
    """Two suites compare a few methods only."""
    methods = {cell.method for cell in PROTOCOLS[name].cells(Context(size="full"))}
    without = ("acquisition", "williams-semi-supervised")
    assert ("genrbf-mahalanobis" in methods) == (name not in without)


def test_robust_machines_have_a_cell(context):
    protocol = PROTOCOLS["anderson"]
    cell = next(c for c in protocol.cells(context) if c.method == "robust")
    scores, facts = protocol.run(cell, context)
    assert {s.metric for s in scores} == {"error", "accuracy", "fit_seconds"}
    assert facts["tau"] in (0.1, 1.0)


def test_tau_is_tuned_jointly_and_the_linear_machines_have_no_width(context):
    protocol = PROTOCOLS["anderson"]
    cells = {cell.method: cell for cell in protocol.cells(context)}
    _, joint = protocol.run(cells["robust-joint"], context)
    _, stepwise = protocol.run(replace(cells["robust-joint"], method="robust"), context)
    assert {joint["C"], stepwise["C"]} <= {1.0, 32.0}
    assert joint["tau"] in (0.1, 1.0)
    for name in ("expected-linear", "robust-linear"):
        scores, facts = protocol.run(cells[name], context)
        assert facts["gamma"] == 1.0
        assert 0 <= scores[0].value <= 1
    diagonal = METHODS["expected-linear"].source("classification", 0)
    X = np.array([[1.0, 2.0], [0.0, np.nan], [2.0, 3.0], [-1.0, 0.5]])
    (K, _), *_ = without_scaling(diagonal).fit(X, X).at(1.0)({})
    beliefs = GaussianDensity().fit(X).condition(X)
    extra = np.trace(beliefs.covariance(), axis1=1, axis2=2)
    means = beliefs.mean()
    np.testing.assert_allclose(K, means @ means.T + np.diag(extra), rtol=1e-12)


def test_the_harmonic_function_is_linear_along_a_path():
    """Each row without a label is the mean of its neighbours."""
    path = np.diag(np.ones(5), 1)
    W = path + path.T + np.diag(np.arange(6.0))  # the diagonal makes no difference
    f = harmonic_function(W, np.array([0, 5]), np.array([0.0, 9, 9, 9, 9, 1]))
    np.testing.assert_allclose(f, np.linspace(0, 1, 6), rtol=0, atol=1e-9)


def test_rows_without_a_label_take_part_in_semi_supervised_learning(context):
    protocol = PROTOCOLS["williams-semi-supervised"]
    cells = [c for c in protocol.cells(context) if c.method == "expected-rbf"]
    found = {cell.variant: protocol.run(cell, context) for cell in cells}
    assert len(found) == 4
    for variant, (scores, facts) in found.items():
        assert 0 <= scores[0].value <= 1
        assert ("C" in facts) == ("semi" not in variant)


def test_a_model_of_the_shift_protocol_is_tested_at_every_rate(context):
    protocol = PROTOCOLS["shift"]
    cell = next(c for c in protocol.cells(context) if c.method == "genrbf")
    scores, _ = protocol.run(cell, context)
    accuracies = {s.rate: s.value for s in scores if s.metric == "accuracy"}
    assert sorted(accuracies) == [0.0, 0.4, 0.8]


def test_holes_are_those_of_amputation():
    X = np.random.default_rng(0).normal(size=(60, 6))
    np.testing.assert_array_equal(holes(X, "mcar", 0.3, 5), amputation.mcar(X, 0.3, random_state=5))
    assert holes(X, "mnar", 0.3, 5).shape == (60, 3)
    assert holes(X, "mar", 0.0, 5) is X


def test_exempt_anchor_rows_lose_nothing_and_the_rate_is_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 5))
    X[60:] = X[20:60]  # a row equal to an anchor is exempt too
    near, away = (np.isnan(holes(X, name, 0.3, 5)) for name in ("mar", "mar-exempt"))
    assert near.sum() == away.sum() == 150
    anchors = np.random.RandomState(5).choice(100, size=5, replace=False)
    exempt = (X[:, None] == X[anchors]).all(axis=2).any(axis=1)
    assert 5 < exempt.sum() <= 10
    assert not away[exempt].any()
    assert near[exempt].any()
    # With the same draws, other values differ only by those that make up for the exempt ones.
    assert (near & ~away)[~exempt].sum() == 0
    with pytest.raises(ValueError, match=f"{exempt.sum()} rows are exempt"):
        holes(X, "mar-exempt", 0.98, 5)


def test_the_settings_of_struski_are_those_of_its_suite_only(context):
    cells = {name: PROTOCOLS[name].cells(Context(size="full")) for name in PROTOCOLS}
    settings = {"knn-10", "svr-imputation-0.001"}
    for name, of_suite in cells.items():
        assert bool(settings & {cell.method for cell in of_suite}) == (name == "struski-regression")
    cell = Cell("struski-regression", "laser", "knn-10", "mar-distance", 0.3)
    found = {
        variant: PROTOCOLS["struski-regression"].run(replace(cell, variant=variant), context)
        for variant in {cell.variant for cell in cells["struski-regression"]}
    }
    assert len({scores[0].value for scores, _ in found.values()}) == 3
    width = 1 / (4 * 2.0**-6)
    assert [facts["gamma"] == width for _, facts in found.values()].count(True) == 2


def test_columns_in_the_unit_interval_have_the_scale_of_the_filled_rows():
    X = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 100.0]
    X[0, 0] = np.nan
    source = in_unit_interval(METHODS["mean"].source("regression", 0))
    (K, _), *_ = source.fit(X, X).at(1.0)({})
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    scaled = (filled - filled.min(axis=0)) / np.ptp(filled, axis=0)
    np.testing.assert_allclose(K, rbf_kernel(scaled, gamma=1.0), rtol=0, atol=1e-12)


def test_holes_can_be_made_in_data_that_has_some(context):
    cell = PROTOCOLS["real-holes"].cells(context)[0]
    assert np.isnan(dataset(cell, context).X).any()
    with pytest.raises(ValueError, match="missing values in every column"):
        # Every column of it has holes, so nothing is left: better to hear of it than to go on.
        dataset(cell, context, complete=True)


def test_parts_in_time_share_the_failures():
    y = np.zeros(300, dtype=int)
    y[::10] = 1
    parts = _successive_parts(y, True, 0)
    assert [int(y[part].sum()) for part in parts] == [10, 10, 10]
    assert np.concatenate(parts).tolist() == list(range(300))
    rows = _bootstrap(parts[0], y, np.random.RandomState(0))
    assert y[rows].mean() == 0.5
    assert set(rows) <= set(parts[0])


def test_telling_columns_are_found_without_the_holes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 6))
    X[:, 4] += 2 * y
    X[:, 1] -= 3 * y
    X[rng.random(X.shape) < 0.3] = np.nan
    assert _telling_columns(X, y, 2).tolist() == [1, 4]


def test_protocols_by_name():
    with pytest.raises(ValueError, match="There is no protocol 'x'"):
        protocol_named("x")
    for protocol in PROTOCOLS.values():
        assert protocol.description
        assert protocol.source
    assert all(method.description for method in METHODS.values())


def test_rows_of_the_acquisition_experiment_are_of_all_classes():
    """The first rows of a file that is sorted by class are of one class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    data = Dataset(
        "sorted", "classification", rng.normal(size=(180, 3)) + y[:, None], y, ("a", "b", "c")
    )
    cell = Cell("acquisition", "sorted", "random", "mcar", 0.45, 0, 0, "nothing known")
    trained = _train(_Key(cell, Context(size="smoke"), data))
    assert np.unique(trained.y_test).tolist() == [0, 1, 2]
    assert len(trained.y_test) == 10
    # Shares from 0 to 90 % over few rows: a standard error of about 0.04.
    assert np.isnan(trained.X).mean() == pytest.approx(0.45, abs=0.15)


def test_an_acquisition_run_that_is_stopped_has_as_many_splits_of_every_table():
    for size in SIZES:
        cells = PROTOCOLS["acquisition"].cells(Context(size=size))
        splits = [(cell.sample, cell.fold) for cell in cells]
        assert splits == sorted(splits)
        of_one = [(cell.dataset, cell.variant, cell.method) for cell in cells]
        per_split = len(of_one) // len(set(splits))
        assert of_one == of_one[:per_split] * len(set(splits))


def test_outcomes_of_the_acquisition_experiment_are_those_of_the_model():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 40)
    X = rng.normal(size=(120, 3)) + np.repeat([0.0, 1.0, 2.0], 40)[:, None]
    data = Dataset("letters", "classification", X, y, ("a", "b", "c"))
    cell = Cell("acquisition", "letters", "random", "mcar", 0.45, 0, 0, "nothing known")
    trained = _train(_Key(cell, Context(size="smoke"), data))
    table = np.where(rng.random(trained.X_test.shape) < 0.5, np.nan, trained.X_test)
    losses, hits = trained.outcomes(table)
    chances = trained.model.predict_proba(table)
    for row, label in enumerate(trained.y_test):
        place = trained.model.classes_.tolist().index(label)
        assert losses[row] == pytest.approx(-np.log(chances[row, place]))
    np.testing.assert_array_equal(hits, trained.model.predict(table) == trained.y_test)
    assert 0 < hits.sum() < len(hits)


def test_area_under_loss_counts_cost_and_not_steps():
    losses = [np.array([2.0, 2.0]), np.array([1.0, 1.0]), np.array([0.0, 0.5])]
    spent = [np.zeros(2), np.array([1.0, 3.0]), np.array([3.0, 4.0])]
    # Row 0: 2 for 1, 1 for 2, 0 for 1 of 4; row 1: 2 for 3, 1 for 1.
    assert area_under_loss(losses, spent, 4.0) == pytest.approx((4 / 4 + 7 / 4) / 2)
