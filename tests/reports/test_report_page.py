"""Pages stand alone, escape every name, and say what the values behind them say."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from absentia import describe_missingness
from absentia.cli import main
from absentia.reports.report_page import Page

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", HOSTILE, "c"])
    return X.mask(rng.random(X.shape) < 0.2)


def check(page):
    HTMLParser().feed(page)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    # Nothing is fetched from anywhere.
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<script>") == 1
    assert not plt.get_fignums()


def test_everything_that_is_added_is_escaped():
    page = Page(HOSTILE, HOSTILE)
    page.verdict(HOSTILE)
    page.tiles({HOSTILE: HOSTILE})
    page.section(HOSTILE)
    page.paragraph(HOSTILE)
    page.table(pd.DataFrame({HOSTILE: [HOSTILE]}), folded=HOSTILE)
    page.picture(plt.figure(), HOSTILE)
    plt.close("all")
    check(page.render())
    assert page.render().count("&lt;script&gt;alert") == 14


def test_the_page_of_a_table_has_its_numbers(frame):
    report = describe_missingness(frame)
    page = report.to_html("mine")
    check(page)
    assert f"<b>{100 * report.rate:.1f} %</b>" in page
    assert f'data-value="{report.patterns.counts.max()}"' in page


def test_the_notebook_table_is_escaped_and_short(frame):
    html = describe_missingness(frame)._repr_html_()
    assert "<script>" not in html
    assert html.count("<meter") == 3


def test_describe_writes_a_page_once(frame, tmp_path, capsys):
    source, target = tmp_path / "mine.csv", tmp_path / "mine.html"
    frame.to_csv(source, index=False)
    assert main(["describe", str(source), "--html", str(target)]) == 0
    check(target.read_text("utf-8"))
    assert main(["describe", str(source), "--html", str(target)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["describe", str(source), "--html", str(source), "--force"]) == 1


def test_control_characters_are_written_out_wherever_they_are():
    page = Page("a \x1b[2Jtitle", "sub\x07title")
    page.verdict("a\u202everdict")
    page.tiles({"na\x1bme": "1\x1b"})
    page.section("sec\x1btion")
    page.paragraph("text\x1b")
    page.table(pd.DataFrame({"he\x1bad": ["ce\x1bll"]}))
    text = page.render()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert text.count("\\x1b") == 9  # the title is on the page and in its head
