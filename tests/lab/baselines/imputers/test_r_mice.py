"""The adapter to R: what is handed over and read back, and the real thing where R is there."""

import stat
import sys

import numpy as np
import pytest

from lab.baselines import MultipleImputationClassifier, RMiceImputer, r_mice_is_available

# Speaks the adapter's side of the conversation: reads what R would read, fills each hole with the
# mean of the rows that are not ignored plus the number of the draw, writes what R would write.
STAND_IN = """#!{python}
import csv, pathlib, sys
script, folder, n_draws = sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
assert "ignore = is_new" in pathlib.Path(script).read_text()
rows = list(csv.reader(open(folder / "table.csv")))
header, rows = rows[0], rows[1:]
new = [line == "1" for line in (folder / "is_new.txt").read_text().split()]
assert len(new) == len(rows)
training = [row for row, is_new in zip(rows, new) if not is_new]
means = []
for column in zip(*training):
    values = [float(v) for v in column if v != "NA"]
    means.append(sum(values) / len(values))
for k in range(1, n_draws + 1):
    filled = [[m + k if v == "NA" else v for v, m in zip(row, means)] for row in rows]
    with open(folder / f"draw{{k}}.csv", "w") as out:
        csv.writer(out).writerows([header, *filled])
"""


@pytest.fixture
def stand_in(tmp_path):
    path = tmp_path / "Rscript"
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def test_tables_go_over_and_come_back(stand_in):
    X = np.array([[1.0, 10.0], [3.0, np.nan], [np.nan, 30.0]])
    imputer = RMiceImputer(n_draws=2, rscript=stand_in, random_state=0).fit(X)
    new = np.array([[np.nan, 1 / 3], [100.0, np.nan]])
    draws = imputer.draws(new)
    np.testing.assert_allclose(draws[0], [[3.0, 1 / 3], [100.0, 21.0]])
    np.testing.assert_allclose(draws[1], [[4.0, 1 / 3], [100.0, 22.0]])
    assert draws[0, 0, 1] == 1 / 3  # what was observed has not gone through text
    np.testing.assert_array_equal(imputer.transform(new), draws[0])


def test_it_stands_in_for_our_own(stand_in, two_classes):
    X, y = two_classes(0.2)
    pooled = MultipleImputationClassifier(
        imputer=RMiceImputer(rscript=stand_in), n_draws=2, random_state=0
    )
    assert pooled.fit(X, y).score(X, y) > 0.6


def test_what_r_says_is_passed_on(tmp_path):
    path = tmp_path / "Rscript"
    path.write_text("#!/bin/sh\necho 'there is no package called mice' >&2\nexit 1\n")
    path.chmod(0o755)
    imputer = RMiceImputer(rscript=str(path)).fit([[1.0, 2.0], [2.0, np.nan]])
    with pytest.raises(RuntimeError, match="no package called mice"):
        imputer.transform([[1.0, np.nan]])
    assert not r_mice_is_available(str(path))


def test_without_r_the_way_out_is_named():
    with pytest.raises(RuntimeError, match="ChainedEquationsImputer"):
        RMiceImputer(rscript="no-such-program").fit([[1.0], [2.0]])


@pytest.mark.skipif(not r_mice_is_available(), reason="R with its package mice is not installed")
def test_the_real_one_follows_the_regression():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    # Not too close: mice drops a predictor whose correlation is above 0.99.
    X = np.column_stack([x, 2 * x + 0.5 * rng.standard_normal(100)])
    X[:20, 1] = np.nan
    imputer = RMiceImputer(n_draws=20, method="norm", random_state=0).fit(X)
    draws = imputer.draws([[1.0, np.nan], [-1.0, np.nan]])[:, :, 1]
    # Noise of 0.5 in each of twenty draws: four standard errors.
    np.testing.assert_allclose(draws.mean(axis=0), [2.0, -2.0], atol=0.5)
    assert (draws.std(axis=0) > 0).all()
