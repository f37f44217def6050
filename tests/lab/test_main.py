"""The commands of the laboratory: ``python -m lab``."""

import pytest

from lab.__main__ import main
from lab.experiments.running import store


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        (["run", "nothing"], 1, "There is no protocol 'nothing'"),
        (["run", "shift", "--size", "huge"], 1, "smoke, small, full"),
        (["run", "shift", "--data", "nowhere"], 1, "There is no folder nowhere"),
        (["report", "nowhere.sqlite"], 1, "There is no file"),
        (["run", "shift", "--seed", "9" * 30], 2, "Invalid value for '--seed'"),
    ],
)
def test_mistakes_get_one_sentence_and_an_exit_code(capsys, command, code, sentence):
    assert main(command) == code
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err
    if code == 1:
        assert err.count("\n") == 1


def test_lists(capsys):
    assert main(["list"]) == 0
    assert "smieja-classification" in capsys.readouterr().out
    assert main(["methods"]) == 0
    assert "conditional-mean" in capsys.readouterr().out


def test_a_report_needs_no_right_to_write_the_results(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    store.Results("r.sqlite").close()
    opened = []
    monkeypatch.setattr(
        store.sqlite3,
        "connect",
        lambda *args, real=store.sqlite3.connect, **kw: opened.append(args) or real(*args, **kw),
    )
    assert main(["report", "r.sqlite"]) == 1
    assert "holds no results yet" in capsys.readouterr().err
    assert all("mode=ro" in str(arguments) for arguments in opened)


def test_the_folder_of_a_report_is_checked_before_anything_is_written(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    store.Results("r.sqlite").close()
    held = [("mesquita", "smoke", 0, 1), ("mesquita", "smoke", 1, 1)]
    monkeypatch.setattr(store.Results, "protocols", lambda self: held)
    for name in ("mesquita-smoke-0", "mesquita-smoke-1"):
        (tmp_path / "out" / name).mkdir(parents=True)
    (tmp_path / "out" / "mesquita-smoke-1" / "scores.csv").write_text("precious")
    assert main(["report", "r.sqlite", "-o", "out"]) == 1
    assert "mesquita-smoke-1 has files that no report wrote" in capsys.readouterr().err
    assert not list((tmp_path / "out" / "mesquita-smoke-0").iterdir())
