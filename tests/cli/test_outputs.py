"""Nothing is overwritten unasked, files appear whole, and the place is checked before training."""

import csv
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from absentia.cli import main, model_commands
from absentia.cli.terminal import check_output, write_table
from absentia.recipe import training
from absentia.tables.files.formats import replaced


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

    monkeypatch.setattr(training, "new_steps", refuse)


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
        (["compare", "t.csv", "-t", "y", "--report", "site"], "index.html already exists"),
        (["compare", "t.csv", "-t", "y", "--report", "mine"], "methods.png already exists"),
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
    (tmp_path / "mine" / "methods.png").write_text("precious")
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
    fit, predictions = training.fit, model_commands.predictions
    options = ["--force"] * force

    def slow(work, name):
        def work_and_appear(*args, **settings):
            (tmp_path / name).write_text("precious")
            return work(*args, **settings)

        return work_and_appear

    monkeypatch.setattr(training, "fit", slow(fit, "m.absentia"))
    train = ["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m.absentia"]
    assert main([*train, *options]) == 0
    assert ("m.absentia was created in the meantime" in capsys.readouterr().err) is not force
    monkeypatch.setattr(model_commands, "predictions", slow(predictions, "p.csv.gz"))
    model = "m.absentia" if force else "m_2.absentia"
    assert main(["predict", model, "t.csv", "-o", "p.csv.gz", *options]) == 0
    assert len(pd.read_csv("p.csv.gz" if force else "p_2.csv.gz")) == 30
    for name in ("m.absentia", "p.csv.gz"):
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


def test_a_pipe_is_named_as_such(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.csv")
    assert main(["describe", str(tmp_path / "pipe.csv")]) == 1
    assert (
        "pipe.csv is a device or a pipe; read it through standard input" in capsys.readouterr().err
    )


def test_the_draft_of_a_killed_program_is_removed_by_the_next_one(tmp_path):
    """A draft that is being written stays, however old it is."""
    place = tmp_path / "out[1].csv"
    script = (
        "import sys\nfrom absentia.tables.files.formats import replaced\n"
        "with replaced(sys.argv[1]) as draft:\n"
        "    draft.write_text('ha')\n    print('writing', flush=True)\n    sys.stdin.read()\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "writing\n"
    killed, living = writers
    killed.kill()
    killed.wait()
    drafts = list(tmp_path.glob(".*.draft"))
    assert len(drafts) == 2
    for draft in drafts:
        os.utime(draft, (0, 0))
    with replaced(place) as draft:
        assert len(list(tmp_path.glob(".*.draft"))) == 2  # this one, and that of the living
        draft.write_text("a\n1\n")
    assert place.read_text() == "a\n1\n"
    living.communicate("")
    assert place.read_text() == "ha"
    assert os.listdir(tmp_path) == ["out[1].csv"]
    for writer in writers:
        writer.stdin.close()
        writer.stdout.close()


@pytest.mark.parametrize("command", ["train", "predict"])
def test_kills_while_writing_leave_what_was_there(table, monkeypatch, command):
    """Killed at any moment of writing, a command leaves the old file or the new one."""
    assert main(["train", "t.csv", "-t", "y", "-o", "m", "--method", "logistic", "-q"]) == 0
    output = "m" if command == "train" else "p.csv"
    arguments = ["train", "t.csv", "-t", "y", "--method", "logistic", "-q"]
    if command == "predict":
        arguments = ["predict", "m", "t.csv"]
        assert main([*arguments, "-o", output]) == 0
    with open(output, "rb") as file:
        before = file.read()
    script = (
        "import os, signal, sys\nimport absentia.tables.files.formats as formats\n"
        "from absentia.cli import main\n"
        "kill = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\n"
        "formats.os.replace = kill\nmain(sys.argv[1:])\n"
    )
    run = [sys.executable, "-c", script, *arguments, "-o", output, "--force"]
    assert subprocess.run(run, capture_output=True).returncode == -9
    with open(output, "rb") as file:
        assert file.read() == before
    (draft,) = [name for name in os.listdir() if name.endswith(".draft")]
    os.utime(draft, (0, 0))
    assert main([*arguments, "-o", output, "--force"]) == 0
    assert not [name for name in os.listdir() if name.endswith(".draft")]


def test_force_writes_through_a_link_and_two_runs_keep_one_whole_file(table):
    pd.DataFrame({"a": [0]}).to_csv("real.csv", index=False)
    os.symlink("real.csv", "link.csv")
    check_output("link.csv", force=True)
    frames = [pd.DataFrame({"a": [k] * 2000}) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda frame: write_table(frame, "link.csv"), frames))
    assert os.path.islink("link.csv")
    found = pd.read_csv("real.csv")["a"]
    assert len(found) == 2000
    assert found.nunique() == 1
    assert not [name for name in os.listdir() if name.endswith(".draft")]
