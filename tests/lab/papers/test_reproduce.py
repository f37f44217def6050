"""One command per table of the papers: its cells, its numbers, its verdicts."""

import numpy as np
import pandas as pd
import pytest

from lab.__main__ import main
from lab.data.datasets import Dataset, records
from lab.experiments.methods import METHODS
from lab.experiments.running.cells import Context
from lab.experiments.suites import PROTOCOLS
from lab.papers.printed import TARGETS, Target
from lab.papers.reproduce import compared, widths_on_complete_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small tables under the names of all recorded sets."""
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    weather = ("temp", "rh", "wind", "rain")
    for name, record in records().items():
        d = 26 if name in ("secom", "aps_scania_9000") else 10 if name == "ionosphere" else 5
        columns = weather if name == "forest_fires" else [f"c{j}" for j in range(d)]
        X = rng.normal(size=(120, len(columns)))
        frame = pd.DataFrame(X, columns=columns)
        signal = X[:, 0] + X[:, 1] - X[:, 2]
        classes = record.task == "classification"
        frame["target"] = (signal > 0.5).astype(int) if classes else signal.round(3)
        if name == "heart_four_sites":
            frame.loc[:40, "c3"] = np.nan
        frame.to_csv(place / f"{name}.csv", index=False)
    return place


@pytest.mark.parametrize("name", TARGETS)
def test_every_table_has_a_smoke_run(name, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", name, "--data", str(folder), "--size", "smoke", "--no-verify"]
    assert main([*command, "--quiet"]) == 0
    first = capsys.readouterr().out
    page = (tmp_path / "reproduced" / f"{name}.md").read_text()
    assert page.startswith(f"# {name}")
    assert first.partition("\n\n")[0] in page
    if TARGETS[name].suite:
        assert " 0 of them failed" not in first
        assert main([*command, "--quiet"]) == 0
        assert "0 cells" in capsys.readouterr().out  # all of them were finished before


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_tables_name_what_the_suites_have(target):
    assert set(target.deviations) or target.name == "smieja-table-4"
    if not target.suite:
        return
    cells = [c for c in PROTOCOLS[target.suite].cells(Context("full")) if target.wanted(c)]
    places = {target.place(cell) for cell in cells}
    assert cells
    if target.same_data:
        assert set(target.printed) <= places
    assert {cell.method for cell in cells} <= {
        *METHODS, "complete", "egk-independent", "robust-joint"
    }  # fmt: skip


def test_a_suite_without_its_data_stops_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABSENTIA_CACHE", str(tmp_path))
    for command in (["reproduce", "smieja-table-5"], ["run", "smieja-regression"]):
        assert main([*command, "--data", str(tmp_path)]) == 1
        error = capsys.readouterr().err
        assert "python -m lab data fetch abalone airfoil" in error
        assert "ABSENTIA_DATA" in error


def test_verdicts_need_two_standard_deviations():
    printed = {("a", "x"): (0.8, 0.01), ("b", "x"): (0.8, None), ("c", "x"): (0.5, 0.1)}
    found = {("a", "x"): (0.819, None), ("b", "x"): (0.9, 0.02), ("d", "x"): (0.1, 0.0)}
    target = Target("t", "", "", "", printed)
    verdicts = {line.place[0]: line.verdict for line in compared(target, found)}
    assert verdicts == {"a": "agrees", "b": "higher", "c": "", "d": ""}


def test_the_width_of_a_smooth_target_is_found_in_both_readings():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    data = Dataset("d", "regression", X, np.sin(3 * X[:, 0]), ("a", "b"))
    facts = widths_on_complete_rows(data, 2.0**-10, None)
    assert facts["smoothing, standardised"] > 2.0**-4
    assert facts["loss of R², standardised"] > facts["loss of R², unit interval"] > 0


def test_an_unknown_table_is_named_with_those_there_are(capsys):
    assert main(["reproduce", "smieja-table-9"]) == 1
    assert "smieja-table-2" in capsys.readouterr().err
    assert main(["reproduce", "--list"]) == 0
    assert "williams-table-2" in capsys.readouterr().out
