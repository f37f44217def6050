"""Nothing is overwritten unasked, files appear whole, and the place is checked before training."""

import csv
import gc
import hashlib
import io
import os

import numpy as np
import pandas as pd
import pytest

from absentia.cli import learning, main
from absentia.cli.files import check_output, replaced, write_table


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)})
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    frame.loc[::6, "b"] = None
    frame.to_csv("t.csv", index=False)
    return frame


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("training has begun")

    monkeypatch.setattr(learning, "new_model", refuse)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["train", "t.csv", "-t", "y", "-o", "t.csv"], "t.csv is an input"),
        (["train", "t.csv", "-t", "y", "-o", "t.csv", "--force"], "t.csv is an input"),
        (["train", "t.csv", "-t", "y", "-o", "./link.csv", "--force"], "is an input"),
        (["train", "t.csv", "-t", "y", "-o", "old"], "old already exists"),
        (["train", "t.csv", "-t", "y", "-o", "folder"], "folder is a folder"),
        (["train", "t.csv", "-t", "y", "-o", "nowhere/m"], "There is no folder nowhere"),
        (["predict", "old", "t.csv", "-o", "t.csv", "--force"], "t.csv is an input"),
        (["predict", "old.csv", "t.csv", "-o", "old.csv", "-f"], "old.csv is an input"),
        (["predict", "m", "t.csv", "-o", "old.csv"], "old.csv already exists"),
        (["predict", "m", "t.csv", "-o", "nowhere.csv"], "nowhere.csv already exists"),
        (
            ["predict", "m", "t.csv", "-o", "x.doc"],
            "x.doc is not a kind of file that can be written",
        ),
        (["describe", "t.csv", "--plot", "old.png"], "old.png already exists"),
        (["describe", "t.csv", "--plot", "holes.gif"], "a name that ends in .png, .svg, .pdf"),
        (["compare", "t.csv", "-t", "y", "--report", "t.csv"], "t.csv is a file"),
        (["compare", "t.csv", "-t", "y", "--report", "site"], "has files that no report wrote"),
        (["compare", "t.csv", "-t", "y", "--report", "mine"], "has files that no report wrote"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_there_stays(table, no_training, capsys, tmp_path, command, sentence):
    os.symlink("t.csv", "link.csv")
    os.symlink("not/mounted.csv", "nowhere.csv")
    for name in ("old", "old.csv", "old.png"):
        (tmp_path / name).write_text("precious")
    for name in ("folder", "site", "mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "scores.csv").write_text("precious")
    (tmp_path / "site" / "index.html").write_text("precious")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(command) == 1
    assert sentence in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert os.path.islink("nowhere.csv")


def test_a_place_that_cannot_be_written_is_found_before_training(table, no_training, capsys):
    # /proc takes no files, from the superuser neither.
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs a folder that nobody can write into")
    assert main(["train", "t.csv", "-t", "y", "-o", "/proc/self/m"]) == 1
    assert "Nothing can be written into /proc/self" in capsys.readouterr().err


def test_force_replaces_and_keep_overwrites_no_column(table, capsys, tmp_path):
    (tmp_path / "m").write_text("old")
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m", "--force"]) == 0
    assert "always 'no' would score 0." in capsys.readouterr().err
    table.assign(prediction="mine").to_csv("new.csv", index=False)
    assert main(["predict", "m", "new.csv", "--keep", "-o", "out.csv"]) == 0
    assert "'prediction_2'" in capsys.readouterr().err
    out = pd.read_csv("out.csv")
    assert (out["prediction"] == "mine").all()
    assert set(out["prediction_2"]) == {"yes", "no"}
    assert sorted(os.listdir()) == ["m", "new.csv", "out.csv", "t.csv"]


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_appears_meanwhile_is_kept(table, capsys, tmp_path, monkeypatch, force):
    """As are the model and the predictions: they may have taken hours."""
    fit, predictions = learning.fit, learning.predictions
    options = ["--force"] * force

    def slow(work, name):
        def work_and_appear(*args, **settings):
            (tmp_path / name).write_text("precious")
            return work(*args, **settings)

        return work_and_appear

    monkeypatch.setattr(learning, "fit", slow(fit, "m.skops"))
    train = ["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m.skops"]
    assert main([*train, *options]) == 0
    assert ("m.skops was created in the meantime" in capsys.readouterr().err) is not force
    monkeypatch.setattr(learning, "predictions", slow(predictions, "p.csv.gz"))
    model = "m.skops" if force else "m_2.skops"
    assert main(["predict", model, "t.csv", "-o", "p.csv.gz", *options]) == 0
    assert len(pd.read_csv("p.csv.gz" if force else "p_2.csv.gz")) == 30
    for name in ("m.skops", "p.csv.gz"):
        assert ((tmp_path / name).read_bytes() == b"precious") is not force


KEPT = """\
id,zip,n,word,text,long,a, b ,
9007199254740993,00123,1,None,x,0.12345678901234567890,0.5,1,
,01234,,n/a,"a, b",1e400,,2,
12345678901234567,99999,3,?,NA,1.10,-1,,
"""


@pytest.mark.parametrize("source", ["new.csv", "new.tsv", "-"])
def test_keep_changes_no_cell(table, source, monkeypatch, capsys):
    """Ids are joined by later: not a digit, a zero or a word may be lost."""
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    with open("new.csv", "w") as file:
        file.write(KEPT)
    if source == "new.tsv":
        pd.DataFrame(csv.reader(io.StringIO(KEPT))).to_csv(source, sep="\t", header=0, index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(KEPT.encode())))
    assert main(["predict", "m", source, "--keep", "-o", "out.csv"]) == 0
    written = list(csv.reader(io.StringIO(KEPT)))
    with open("out.csv", newline="") as file:
        kept = list(csv.reader(file))
    assert kept[0] == [*(name.strip() for name in written[0][:-1]), "prediction"]
    assert [row[:-1] for row in kept[1:]] == [row[:-1] for row in written[1:]]
    assert {row[-1] for row in kept[1:]} <= {"yes", "no"}
    assert main(["predict", "m", "new.csv", "--keep", "-o", "out.parquet"]) == 0
    typed = pd.read_parquet("out.parquet")
    assert typed["id"].tolist() == [9007199254740993, pd.NA, 12345678901234567]
    assert typed["a"].dtype == np.float64


def test_keep_changes_no_cell_of_a_spreadsheet(table, capsys):
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    day = pd.Timestamp("2026-03-01")
    cells = {"zip": ["00123", "7"], "n": [1, None], "day": [day, None], "word": ["NA", "x"]}
    pd.DataFrame({**cells, "a": [0.5, 1.25]}).to_excel("new.xlsx", index=False)
    assert main(["predict", "m", "new.xlsx", "--keep", "-o", "out.csv"]) == 0
    with open("out.csv") as file:
        rows = [line.split(",")[:-1] for line in file]
    assert rows[1:] == [["00123", "1", "2026-03-01", "NA", "0.5"], ["7", "", "", "x", "1.25"]]


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def write_half():
        with replaced(path) as draft:
            draft.write_text("ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    write_table(pd.DataFrame({"a": [1]}), str(path))
    assert path.read_text() == "a\n1\n"
    write_table(pd.DataFrame({"a": [1], "b": [2]}), str(tmp_path / "out.tsv.gz"))
    assert pd.read_csv(tmp_path / "out.tsv.gz", sep="\t").shape == (1, 2)
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.tsv.gz"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    path = tmp_path / f"{'o' * 246}.csv"
    check_output(path)
    write_table(pd.DataFrame({"a": [1]}), str(path))
    assert path.read_text() == "a\n1\n"


def test_a_pipe_is_not_replaced_even_with_force(tmp_path):
    os.mkfifo(tmp_path / "out.csv")
    with pytest.raises(ValueError, match="is a device or a pipe"):
        check_output(tmp_path / "out.csv", force=True)


def test_the_standard_input_is_no_file_to_protect(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("a file of that name")
    check_output("out.csv", inputs=["-"])


def test_a_report_replaces_a_report_and_nothing_else(tmp_path):
    import pandas as pd

    from absentia.cli import files
    from absentia.reports.report_folder import ReportFolder
    from absentia.reports.report_page import Page

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "scores.csv").write_text("1")
    with pytest.raises(ValueError, match=r"has files that no report wrote, .* such as scores\.csv"):
        files.check_folder(mine)
    files.check_folder(mine, force=True)
    (mine / "index.html").write_text("<html>absentia</html>")
    with pytest.raises(ValueError, match="has files that no report wrote"):
        files.check_folder(mine)
    (mine / "index.html").unlink()
    (mine / "results.sqlite").touch()  # says nothing of the files beside it
    with pytest.raises(ValueError, match="has files that no report wrote"):
        files.check_folder(mine)
    (mine / "scores.csv").unlink()
    files.check_folder(mine)  # a contest that was stopped goes on
    files.check_folder(tmp_path / "new" / "one")

    ours = ReportFolder(tmp_path / "ours")
    ours.table(pd.DataFrame({"a": [1]}), "scores")
    ours.page(Page("Results"))
    files.check_folder(ours.path)
    (ours.path / "scores.csv").write_text("changed since")
    with pytest.raises(ValueError, match=r"such as scores\.csv"):
        files.check_folder(ours.path)
    (ours.path / "scores.csv").unlink()
    files.check_folder(ours.path)
    (ours.path / "mine.csv").write_text("1")
    with pytest.raises(ValueError, match=r"such as mine\.csv"):
        files.check_folder(ours.path)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("moved", [0, 1])
def test_a_report_that_was_stopped_is_written_again(tmp_path, monkeypatch, before, moved):
    """At any moment: the page lists what is written and what is replaced."""
    import pandas as pd

    from absentia.cli import files
    from absentia.reports import report_folder
    from absentia.reports.report_page import Page

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
    files.check_folder(tmp_path)
    report(3)
    files.check_folder(tmp_path)
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
    import pandas as pd

    from absentia.cli import files
    from absentia.reports.report_folder import ReportFolder
    from absentia.reports.report_page import Page

    def report(*names):
        folder = ReportFolder(tmp_path / "report")
        for name in names:
            folder.table(pd.DataFrame({"a": [len(names)]}), name)
        return folder.page(Page("Results")).parent

    outside = tmp_path / "outside.csv"
    for names in (["scores", "cells", "ranks"], ["scores"], ["scores"], ["scores", "cells"]):
        folder = report(*names)
        files.check_folder(folder)
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
    from absentia.cli import files
    from absentia.reports.report_folder import ReportFolder
    from absentia.reports.report_page import Page

    page = ReportFolder(tmp_path).page(Page("Groups\r\nof patients"))
    files.check_folder(tmp_path)
    page.write_text(page.read_text().replace("<h1>", "<p>My notes.</p><h1>"))
    with pytest.raises(ValueError, match=r"changed since, such as index\.html"):
        files.check_folder(tmp_path)
    files.check_folder(tmp_path, force=True)


def test_what_is_no_file_stays_in_the_folder_of_a_report(tmp_path):
    """Folders, pipes and links to nowhere: ignored, or refused by name, but never read."""
    import pandas as pd

    from absentia.cli import files
    from absentia.reports.report_folder import ReportFolder
    from absentia.reports.report_page import Page

    def report():
        folder = ReportFolder(tmp_path)
        folder.table(pd.DataFrame({"a": [1]}), "scores")
        folder.page(Page("Results"))

    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.png").symlink_to("nowhere")
    for _ in range(2):
        files.check_folder(tmp_path)
        report()
    before = (tmp_path / "index.html").read_bytes()
    (tmp_path / "scores.csv").unlink()
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)):
        make(tmp_path / "scores.csv")
        with pytest.raises(ValueError, match=r"scores\.csv is not a file"):
            files.check_folder(tmp_path, force=True)
        with pytest.raises(ValueError, match=r"scores\.csv is not a file"):
            report()
        (os.rmdir if make is os.mkdir else os.unlink)(tmp_path / "scores.csv")
    assert (tmp_path / "index.html").read_bytes() == before


def test_a_page_that_lists_no_files_is_no_reports(tmp_path):
    """As `describe --html index.html` writes one."""
    from absentia.cli import files
    from absentia.reports.report_page import Page

    (tmp_path / "index.html").write_text(Page("My table").render())
    with pytest.raises(ValueError, match=r"such as index\.html"):
        files.check_folder(tmp_path)
    files.check_folder(tmp_path, force=True)


@pytest.mark.parametrize("name", ["scores.csv", "ranks-by-rate.csv"])
def test_no_report_replaces_its_input_even_with_force(tmp_path, name):
    from absentia.cli import files

    table = tmp_path / name
    table.write_text("a\n1\n")
    with pytest.raises(ValueError, match="is an input"):
        files.check_folder(tmp_path, inputs=[table], force=True)
    linked = tmp_path / "linked.csv"
    linked.symlink_to(table)
    with pytest.raises(ValueError, match="is an input"):
        files.check_folder(tmp_path, inputs=[linked], force=True)
