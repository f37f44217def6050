"""The cells of a raw table that hardly fit the rest of their rows."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.cli import main
from absentia.reports.describing import suspects

pd = pytest.importorskip("pandas")


def table():
    rng = np.random.default_rng(0)
    height = rng.normal(170.0, 10.0, size=200)
    frame = pd.DataFrame({"height": height, "weight": height - 100 + rng.normal(0, 5, size=200)})
    frame["ward\x1b[31m"] = np.where(rng.random(200) < 0.5, "A", "B")
    frame["id"] = [f"P{k}" for k in range(200)]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
    frame.loc[3, "height"] = 17.1
    frame.loc[8, "day"] = pd.Timestamp("2204-02-01")
    frame.loc[::7, "weight"] = np.nan
    return frame


def test_a_misplaced_decimal_and_a_wrong_century_are_found_in_their_units():
    found = {cell["column"]: cell for cell in suspects(table())}
    assert found["height"]["row"] == 4
    assert found["height"]["value"] == "17.1"
    assert 150 < float(found["height"]["expected"]) < 190
    assert found["day"]["value"] == "2204-02-01"
    assert found["day"]["expected"].startswith("2024-")
    assert len(suspects(table(), most=1)) == 1
    assert suspects(table().drop(index=[3, 8])) == []


def test_what_cannot_be_judged_has_no_suspects():
    assert suspects(table().head(5)) == []
    assert suspects(pd.DataFrame({"word": ["a", "b"] * 20})) == []
    assert suspects(pd.DataFrame(np.zeros((20, 200)))) == []  # too wide


def test_describe_prints_them_without_control_characters(tmp_path, capsys):
    table().assign(**{"ward\x1b[31m": "A"}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["describe", str(tmp_path / "t.csv")]) == 0
    out = capsys.readouterr().out
    assert "Cells that hardly fit the rest of their rows\n" in out
    assert "  row 4, height: 17.1, expected about 1" in out
    assert "\x1b" not in out
