"""The folder of a report: it replaces the files of an earlier report and no others."""

import os

import pandas as pd
import pytest

from absentia.reports.report_page import Page
from lab.experiments.reporting.report_folder import ReportFolder, check_folder


def report(path, *names):
    folder = ReportFolder(path)
    for name in names:
        folder.table(pd.DataFrame({"a": [len(names)]}), name)
    return folder.page(Page("Results")).parent


def test_a_report_replaces_a_report_and_nothing_else(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "scores.csv").write_text("1")
    with pytest.raises(ValueError, match=r"has files that no report wrote, such as scores\.csv"):
        check_folder(mine)
    check_folder(mine, force=True)
    (mine / "index.html").write_text("<html>absentia</html>")
    with pytest.raises(ValueError, match="has files that no report wrote"):
        check_folder(mine)
    for name in ("index.html", "scores.csv"):
        (mine / name).unlink()
    (mine / "results.sqlite").touch()
    check_folder(mine)
    check_folder(tmp_path / "new" / "one")

    ours = report(tmp_path / "ours", "scores")
    check_folder(ours)
    (ours / "mine.csv").write_text("1")
    with pytest.raises(ValueError, match=r"such as mine\.csv"):
        check_folder(ours)


def test_a_report_with_fewer_files_removes_those_of_the_last(tmp_path):
    """They would stand beside its page as if they were its own."""
    (tmp_path / "outside.csv").write_text("precious")
    for names in (["scores", "cells", "ranks"], ["scores"], ["scores"], ["scores", "cells"]):
        folder = report(tmp_path / "report", *names)
        check_folder(folder)
        assert {path.stem for path in folder.glob("*.csv")} == set(names)
    page = folder / "index.html"
    listed = '<meta data-file="../outside.csv" data-sha256="">'
    page.write_text(page.read_text().replace("<title>", f"{listed}<title>"))
    report(folder, "scores")
    assert (tmp_path / "outside.csv").read_text() == "precious"


def test_what_is_no_file_stays_in_the_folder_of_a_report(tmp_path):
    """Folders, pipes and links to nowhere are ignored, and never read."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.png").symlink_to("nowhere")
    for _ in range(2):
        check_folder(tmp_path)
        report(tmp_path, "scores")
    assert len(list(tmp_path.iterdir())) == 5


def test_a_page_that_lists_no_files_is_no_reports(tmp_path):
    """As `describe --html index.html` writes one."""

    (tmp_path / "index.html").write_text(Page("My table").render())
    with pytest.raises(ValueError, match=r"such as index\.html"):
        check_folder(tmp_path)
    check_folder(tmp_path, force=True)


@pytest.mark.parametrize("name", ["scores.csv", "ranks-by-rate.csv"])
def test_no_report_replaces_its_input_even_with_force(tmp_path, name):
    table = tmp_path / name
    table.write_text("a\n1\n")
    with pytest.raises(ValueError, match="is an input"):
        check_folder(tmp_path, inputs=[table], force=True)
    linked = tmp_path / "linked.csv"
    linked.symlink_to(table)
    with pytest.raises(ValueError, match="is an input"):
        check_folder(tmp_path, inputs=[linked], force=True)
