"""The folder of a report: it replaces the files of an earlier report and no others."""

import gc
import hashlib
import os

import pandas as pd
import pytest

from absentia.reports.report_page import Page
from lab.experiments.reporting import report_folder
from lab.experiments.reporting.report_folder import ReportFolder, check_folder


def test_a_report_replaces_a_report_and_nothing_else(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "scores.csv").write_text("1")
    with pytest.raises(ValueError, match=r"has files that no report wrote, .* such as scores\.csv"):
        check_folder(mine)
    check_folder(mine, force=True)
    (mine / "index.html").write_text("<html>absentia</html>")
    with pytest.raises(ValueError, match="has files that no report wrote"):
        check_folder(mine)
    (mine / "index.html").unlink()
    (mine / "results.sqlite").touch()  # says nothing of the files beside it
    with pytest.raises(ValueError, match="has files that no report wrote"):
        check_folder(mine)
    (mine / "scores.csv").unlink()
    check_folder(mine)  # a contest that was stopped goes on
    check_folder(tmp_path / "new" / "one")

    ours = ReportFolder(tmp_path / "ours")
    ours.table(pd.DataFrame({"a": [1]}), "scores")
    ours.page(Page("Results"))
    check_folder(ours.path)
    (ours.path / "scores.csv").write_text("changed since")
    with pytest.raises(ValueError, match=r"such as scores\.csv"):
        check_folder(ours.path)
    (ours.path / "scores.csv").unlink()
    check_folder(ours.path)
    (ours.path / "mine.csv").write_text("1")
    with pytest.raises(ValueError, match=r"such as mine\.csv"):
        check_folder(ours.path)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("moved", [0, 1])
def test_a_report_that_was_stopped_is_written_again(tmp_path, monkeypatch, before, moved):
    """At any moment: the page lists what is written and what is replaced."""

    def report(number):
        folder = report_folder.ReportFolder(tmp_path)
        for name in ("scores", "cells", *["ranks"] * (number == 1)):
            folder.table(pd.DataFrame({"a": [number]}), name)
        folder.page(Page("Results"))

    if before:
        report(1)
    left = iter([False] * moved)
    monkeypatch.setattr(report_folder, "os", Stopping(left))
    with pytest.raises(KeyboardInterrupt):
        report(2)
    monkeypatch.undo()
    check_folder(tmp_path)
    report(3)
    check_folder(tmp_path)
    assert (tmp_path / "cells.csv").read_text() == "a\n3\n"
    assert not (tmp_path / "ranks.csv").exists()
    gc.collect()  # drafts of a report that was given up
    assert not list(tmp_path.glob(".report.*"))


class Stopping:
    """``os``, whose ``replace`` is interrupted after some calls."""

    path = os.path

    def __init__(self, calls):
        self.calls = calls

    def replace(self, *paths):
        if next(self.calls, True):
            raise KeyboardInterrupt
        os.replace(*paths)


def test_a_report_with_fewer_files_removes_those_of_the_last(tmp_path):
    """They would stand beside its page as if they were its own, and be those of others next."""

    def report(*names):
        folder = ReportFolder(tmp_path / "report")
        for name in names:
            folder.table(pd.DataFrame({"a": [len(names)]}), name)
        return folder.page(Page("Results")).parent

    outside = tmp_path / "outside.csv"
    for names in (["scores", "cells", "ranks"], ["scores"], ["scores"], ["scores", "cells"]):
        folder = report(*names)
        check_folder(folder)
        assert {path.stem for path in folder.glob("*.csv")} == set(names)
    (folder / "cells.csv").write_text("changed since")
    outside.write_text("precious")
    page = folder / "index.html"
    digest = hashlib.sha256(b"precious").hexdigest()
    listed = f'<meta data-file="../outside.csv" data-sha256="{digest}">'
    page.write_text(page.read_text().replace("<title>", f"{listed}<title>"))
    report("scores")  # as with --force
    assert (folder / "cells.csv").read_text() == "changed since"
    assert outside.read_text() == "precious"


def test_a_page_that_was_changed_is_not_replaced(tmp_path):
    page = ReportFolder(tmp_path).page(Page("Groups\r\nof patients"))
    check_folder(tmp_path)
    page.write_text(page.read_text().replace("<h1>", "<p>My notes.</p><h1>"))
    with pytest.raises(ValueError, match=r"changed since, such as index\.html"):
        check_folder(tmp_path)
    check_folder(tmp_path, force=True)


def test_what_is_no_file_stays_in_the_folder_of_a_report(tmp_path):
    """Folders, pipes and links to nowhere: ignored, or refused by name, but never read."""

    def report():
        folder = ReportFolder(tmp_path)
        folder.table(pd.DataFrame({"a": [1]}), "scores")
        folder.page(Page("Results"))

    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.png").symlink_to("nowhere")
    for _ in range(2):
        check_folder(tmp_path)
        report()
    before = (tmp_path / "index.html").read_bytes()
    (tmp_path / "scores.csv").unlink()
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)):
        make(tmp_path / "scores.csv")
        with pytest.raises(ValueError, match=r"scores\.csv is not a file"):
            check_folder(tmp_path, force=True)
        with pytest.raises(ValueError, match=r"scores\.csv is not a file"):
            report()
        (os.rmdir if make is os.mkdir else os.unlink)(tmp_path / "scores.csv")
    assert (tmp_path / "index.html").read_bytes() == before


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
