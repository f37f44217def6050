"""What is killed while it writes leaves the file as it was."""

import gzip
import io
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow
import pytest

from absentia import SVC, load, save
from absentia.cli.terminal import write_table
from absentia.tables.files import formats
from absentia.tables.files.formats import read_bytes, replaced
from absentia.tables.files.formats import write_table as write_file

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def killed(script, *arguments):
    """Run a script that ends by killing itself."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_draft_takes_the_place_of_a_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with replaced(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["answers.csv"]


def test_a_failure_leaves_the_file_and_nothing_else(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")

    def fail():
        with replaced(path) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["answers.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_named(tmp_path):
    def fill():
        with replaced(tmp_path / "answers.csv"), open("/dev/full", "w") as device:
            device.write("no room")

    with pytest.raises(OSError, match=r"No space left on device: '.*answers\.csv'"):
        fill()


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    with replaced(tmp_path / "whole") as draft:
        draft.write_text("")
    assert os.stat(tmp_path / "whole").st_mode == os.stat(usual).st_mode


KILL = """
    import os, signal, sys
    def die(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz"])
def test_a_table_that_is_killed_while_it_is_written_is_the_old_one(tmp_path, name):
    out = tmp_path / name
    script = (
        KILL
        + """
    import pandas as pd
    from absentia.cli.terminal import write_table
    write = pd.DataFrame.to_csv
    def half(frame, path, **options):
        write(frame.head(3), path, **options)
        die()
    pd.DataFrame.to_csv = half
    write_table(pd.DataFrame({"a": range(100)}), sys.argv[1])
"""
    )
    if name == "out.csv":
        killed(script, out)
        assert names(tmp_path) == []
    # What is left over is in nobody's way.
    write_table(pd.DataFrame({"a": range(3)}), out)
    before = out.read_bytes()
    killed(script, out)
    assert out.read_bytes() == before
    assert names(tmp_path) == [name]


def test_a_model_that_is_killed_while_it_is_saved_is_the_old_one(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    path = tmp_path / "model.absentia"
    save(SVC(C=3.0).fit(X, X[:, 0] > 0), path)
    killed(
        KILL
        + """
    from absentia import SVC, save
    from absentia.persistence import model_files
    model_files._read = die
    save(SVC(), sys.argv[1])
""",
        path,
    )
    assert load(path).C == 3.0
    assert names(tmp_path) == ["model.absentia"]


def test_a_page_that_is_killed_while_it_is_written_is_the_old_one(tmp_path):
    rng = np.random.default_rng(0)
    table = tmp_path / "table.csv"
    X = rng.normal(size=(30, 2))
    np.savetxt(table, X, delimiter=",", header="a,b", comments="")
    page = tmp_path / "page.html"
    page.write_text("old")
    killed(
        KILL
        + """
    from pathlib import Path
    def half(path, text, **options):
        path.write_bytes(text.encode()[:100])
        die()
    Path.write_text = half
    from absentia.cli import main
    main(sys.argv[1:])
""",
        "describe",
        table,
        "--html",
        page,
        "--force",
    )
    assert page.read_text() == "old"


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    where = tmp_path / "nowhere"
    with (
        pytest.raises(FileNotFoundError, match=f"There is no folder {where} to write a.abs into"),
        replaced(where / "a.abs"),
    ):
        pass


FRAME = pd.DataFrame({"age": [41.5, np.nan, 63.0], "ward": ["north", "south", None]})


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.xlsx", "t.parquet", "t.feather", "t.arrow", "t"]
)
def test_every_format_is_the_same_table(name, tmp_path):
    path = tmp_path / name
    if name.endswith(".xlsx"):
        FRAME.to_excel(path, index=False)
    else:
        write_file(FRAME, path)
    notes = []
    frame, cells = read_bytes(path.read_bytes(), name, notes.append)
    pd.testing.assert_frame_equal(frame.astype(FRAME.dtypes), FRAME)
    assert frame.attrs.get("separator") in (None, ",", "\t")
    assert list(cells().columns) == ["age", "ward"]
    assert not notes


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx", "t.csv.gz", "t.ods"])
def test_a_damaged_file_is_one_sentence(name):
    with pytest.raises(ValueError, match=r"cannot be (read|unpacked)|known kind"):
        read_bytes(b"no such thing", name)


def test_a_packed_file_has_a_bound(monkeypatch):
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    assert read_bytes(content + gzip.compress(b"3,4\n"), "t.csv.gz")[0].shape == (1001, 2)
    with pytest.raises(ValueError, match="it ends too early"):
        read_bytes(content[:-9], "t.csv.gz")
    monkeypatch.setattr(formats, "_MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="larger than 1,000 bytes when unpacked"):
        read_bytes(content, "t.csv.gz")


def test_an_excel_file_has_a_bound(tmp_path, monkeypatch):
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)
    monkeypatch.setattr(formats, "_MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="larger than 1,000 bytes when unpacked"):
        read_bytes((tmp_path / "t.xlsx").read_bytes(), "t.xlsx")


class SimpleReader:
    """A reader of Arrow files that knows the columns and reads nothing."""

    def __init__(self, open_file):
        self.open_file = open_file

    def __call__(self, content):
        self.schema = self.open_file(content).schema
        return self


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.parquet", "t.xlsx", "t.feather", "t.arrow"]
)
def test_a_table_of_too_many_cells_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    frame = pd.DataFrame({"a": np.zeros(2000), "b": 1.0})
    if name == "t.xlsx":
        frame.to_excel(tmp_path / name, index=False)
    else:
        write_table(frame, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert read_bytes(content, name, most_cells=4002)[0].shape == (2000, 2)
    for reader in ("read_csv", "read_parquet", "read_excel"):
        monkeypatch.setattr(pd, reader, None)
    if "arrow" in name or "feather" in name:
        monkeypatch.setattr(pyarrow.ipc, "open_file", SimpleReader(pyarrow.ipc.open_file))
    with pytest.raises(ValueError, match=r"(at most 1,000 cells are|8,000 bytes when unp)"):
        read_bytes(content, name, most_cells=1000)


def test_text_that_unpacks_far_beyond_its_cells_is_refused():
    """Reading text takes up to twenty times its size, though it is one cell."""
    content = gzip.compress(b"a,b\n" + b"1" * 20_000)
    with pytest.raises(ValueError, match="larger than 8,000 bytes when unpacked"):
        read_bytes(content, "t.csv.gz", most_cells=1000)


def packed(frame, compression="zstd", **options):
    stream = io.BytesIO()
    frame.to_feather(stream, compression=compression, **options)
    return stream.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_packed_arrow_file_has_a_bound_before_it_is_unpacked(compression):
    words = pd.Categorical(["word" * 100_000, "other"] * 5)
    for column in (words, ["word" * 100_000] * 10):
        content = packed(pd.DataFrame({"a": column}), compression)
        assert len(content) < 20_000
        assert read_bytes(content, "t.feather", most_cells=10**6)[0].shape == (10, 1)
        pool = pyarrow.default_memory_pool()
        before = pool.bytes_allocated()
        with pytest.raises(ValueError, match="larger than 800 bytes when unpacked"):
            read_bytes(content, "t.feather", most_cells=100)
        assert pool.bytes_allocated() - before < 10_000
    # What is not packed takes no more than the file.
    content = packed(pd.DataFrame({"a": ["word" * 1000] * 10}), "uncompressed")
    assert read_bytes(content, "t.arrow", most_cells=100)[0].shape == (10, 1)


def test_the_size_of_an_arrow_file_is_that_of_all_its_batches():
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame({"a": np.zeros(5000), "b": pd.Categorical(["u", "v"] * 2500)})
    stream = io.BytesIO()
    polars.from_pandas(frame).write_ipc(stream, compression="lz4")
    for content in (packed(frame, chunksize=100), packed(frame, "uncompressed"), stream.getvalue()):
        read, _ = read_bytes(content, "t.arrow", most_cells=10_000)
        assert read["a"].tolist() == frame["a"].tolist()
        with pytest.raises(ValueError, match="5,000 rows and 2 columns or more; at most 9,999"):
            read_bytes(content, "t.arrow", most_cells=9_999)


def test_damaged_arrow_files_are_refused_or_read():
    frame = pd.DataFrame({"a": np.arange(300.0), "b": pd.Categorical(["u", "v", None] * 100)})
    rng = np.random.default_rng(0)
    refused = 0
    for compression in ("lz4", "uncompressed"):
        whole = np.frombuffer(packed(frame, compression, chunksize=100), np.uint8)
        for _ in range(400):
            content = whole.copy()
            at = rng.integers(0, len(content), rng.integers(1, 5))
            content[at] = rng.integers(0, 256, len(at))
            try:
                read_bytes(content[: None if rng.random() < 0.9 else -9].tobytes(), "t.arrow")
            except ValueError as error:
                refused += "cannot be read as Arrow" in str(error)
    assert refused > 100


def test_the_first_version_of_feather_is_named():
    with pytest.raises(ValueError, match="write it again as Feather 2"):
        read_bytes(b"FEA1" + bytes(100), "t.feather")


def test_an_excel_file_with_a_title_finds_its_header_with_one_note(tmp_path):
    path = tmp_path / "t.xlsx"
    FRAME.to_excel(path, index=False, startrow=2)
    import openpyxl

    book = openpyxl.load_workbook(path)
    book.active["A1"] = "Ward report, March"
    book.save(path)
    notes = []
    frame, cells = read_bytes(path.read_bytes(), "t.xlsx", notes.append)
    pd.testing.assert_frame_equal(frame.astype(FRAME.dtypes), FRAME)
    assert cells()["ward"].tolist() == ["north", "south", ""]
    assert notes == [
        "'Ward report, March' above the columns is taken for a title: row 3 has their names."
    ]


def test_the_draft_of_a_killed_program_is_removed_and_that_of_a_running_one_is_kept(tmp_path):
    path = tmp_path / "answers.csv"
    for wait in (False, True):
        code = (
            "import sys; from absentia.tables.files.formats import replaced\n"
            f"with replaced({str(path)!r}) as draft:\n"
            "    draft.write_text('half')\n"
            "    print('ready', flush=True)\n"
            "    sys.stdin.readline()\n"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], **pipes) as writer:
            assert writer.stdout.readline() == b"ready\n"
            (draft,) = tmp_path.glob(".answers.csv.*")
            os.utime(draft, (0, 0))
            if not wait:
                writer.kill()
                writer.wait()
            with replaced(path) as own:
                own.write_text("whole")
            assert draft.exists() is wait
            if wait:
                writer.communicate(b"go\n")
        assert path.read_text() == ("half" if wait else "whole")
    assert os.listdir(tmp_path) == ["answers.csv"]


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    for text in ("first", "second"):  # a link to nowhere, and to a file
        with replaced(tmp_path / "link.csv") as draft:
            draft.write_text(text)
        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "real.csv").read_text() == text


def test_a_symbolic_link_to_itself_is_left_alone(tmp_path):
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    itself = pytest.raises(OSError, match="symbolic link that leads to itself")
    with itself, replaced(tmp_path / "loop.csv") as draft:
        draft.write_text("lost")
    assert os.readlink(tmp_path / "loop.csv") == "loop.csv"


def test_many_programs_write_one_file(tmp_path):
    path = tmp_path / "answers.csv"
    texts = [letter * 10**6 for letter in "abcdefgh"]

    def write(text):
        with replaced(path) as draft:
            draft.write_text(text)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts * 4))
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["answers.csv"]
