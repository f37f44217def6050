"""Names that would move the cursor, break a picture or run in a spreadsheet."""

import io

import numpy as np
import pandas as pd
import pytest

from absentia import describe_missingness
from absentia.reports.safe_text import as_plot_labels, printable, spreadsheet_text
from lab.experiments.reporting.report_folder import write_csv

ESCAPE = "in\x1b[2J\x1b]0;title\x07come"
FORMULA = r"$\frac{$"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain naïve 数 €", "plain naïve 数 €"),
        ("no\u00a0break", "no\u00a0break"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b1m\x7f", "\\x9b1m\\x7f"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert printable(text) == shown
    printable(text).encode()


def test_line_breaks_stay_where_lines_are_meant():
    assert printable("a\nb\x1b", lines=True) == "a\nb\\x1b"


def test_labels_are_short_and_never_alike():
    alike = [f"measurement_of_the_{side}_arm_in_the_morning" for side in ("left", "right")]
    names = [*alike, "x" * 60, "$a$", "age\x1b"]
    labels = as_plot_labels(names)
    assert labels == [*alike, "x" * 11 + "…" + "x" * 10, r"\$a\$", "age\\x1b"]


def table_of(*names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, len(names)))
    X[rng.random(X.shape) < 0.3] = np.nan
    return pd.DataFrame(X, columns=list(names))


def test_reports_print_no_escape_sequences():
    text = str(describe_missingness(table_of(ESCAPE, "age", "b\nc"), mcar_test=False))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "in\\x1b[2J" in text
    assert "b\\nc" in text


@pytest.mark.parametrize("name", [FORMULA, "$$", "$", ESCAPE, "\x00", r"\$x$"])
def test_pictures_can_have_any_name(name):
    figure = describe_missingness(table_of(name, "age"), mcar_test=False).plot()
    for kind in ("png", "svg"):
        figure.savefig(io.BytesIO(), format=kind)


def test_spreadsheets_see_no_formulas(tmp_path):
    frame = pd.DataFrame({"=cmd|' /C calc'!A0": ["@x", "+1", "ok"], "n": [-1.5, 2.0, 3.0]})
    write_csv(frame, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines == ["'=cmd|' /C calc'!A0,n", "'@x,-1.5", "'+1,2.0", "ok,3.0"]
    assert spreadsheet_text("\t=1") == "'\t=1"
