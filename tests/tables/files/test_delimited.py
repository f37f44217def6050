"""Delimited text as people have it: encodings, separators, and rows that do not fit the header."""

import io
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from absentia.tables.files.delimited import (
    _MISSING,
    cells_as_written,
    read_csv,
    read_delimited,
)
from lab.data import datasets

TEXT = "größe;y\n1,5;ja\n;nein\n"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"],
)
@pytest.mark.parametrize("first", ["", "sep=;\n", '"sep=;"\r\n', "SEP=; \n", "sep=;\r"])
def test_encodings_and_the_line_of_excel(encoding, first):
    frame = read_delimited((first + TEXT).encode(encoding), "t.csv")
    assert list(frame.columns) == ["größe", "y"]
    assert frame["y"].tolist() == ["ja", "nein"]
    assert frame["größe"].isna().tolist() == [False, True]


def test_a_byte_order_mark_of_big_endian():
    content = b"\xfe\xff" + TEXT.encode("utf-16-be")
    assert list(read_delimited(content, "t.csv").columns) == ["größe", "y"]


def test_separators_inside_quotes_do_not_count():
    frame = read_delimited(b'"a, b, c";y\n1;2\n', "t.csv")
    assert list(frame.columns) == ["a, b, c", "y"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("lines", "names"),
    [
        # As many commas as semicolons in the header.
        (["size (m, net);mass (kg, wet);y", "1,5;2,5;0", "2,5;,5;1"], 3),
        (["size, m;mass, kg;y", "1.5;2.5;0", "2.5;0.5;1"], 3),
        (["size, m;mass, kg;y", "1,5;2,5;0", "2,5;0,5;1"], 3),
        (["size (a; b),mass (c; d),y", "1.5,2.5,0", "2.5,0.5,1"], 3),
        (["size; m,mass; kg,y", "1.5,2.5,0", "2.5,0.5,1"], 3),
        (["a|b,y", '"1,5",0', '"2,5",1'], 2),
    ],
)
def test_a_tie_of_separators_is_decided_by_what_fits(lines, names, end):
    frame = read_delimited(end.join(lines).encode(), "t.csv")
    assert frame.shape == (2, names)
    assert frame.columns[-1] == "y"
    assert frame["y"].tolist() == [0, 1]


def test_one_column_has_no_separator():
    frame = read_delimited(b"a\n1;5\n2;5\n", "t.csv")
    assert frame.to_dict("list") == {"a": ["1;5", "2;5"]}


def test_lines_may_end_as_they_did_on_old_macintoshes():
    frame = read_delimited(b"a,b\r1,x\r2,y\r", "t.csv")
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2,yes,\n3,4,no,\n",
        "a,b,y,\n1,2,yes,\n3,4,no,\n",
        "a,b,y\n1,2,yes,,\n3,4,no,,\n",
        "a,b,y\n1,2,yes, \n3,4,no\n",
    ],
)
def test_a_separator_at_the_end_moves_nothing(text, tmp_path):
    frame = read_delimited(text.encode(), "t.csv")
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4], "y": ["yes", "no"]}
    (tmp_path / "mine.csv").write_text(text.replace("y", "target", 1))
    data = datasets.load("mine", tmp_path)
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    assert data.y.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2,3\n4,5,6\n", "has 2 names, but its rows have 3 values"),
        (b"a\n1,2,3\n4,,\n", "has 1 name, but its rows have 3 values"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 values, but those before it have 2"),
        (b"a,b\n", "has a header but no rows"),
        (b" \n", "is empty"),
        (b"a,b\n1,\x002\n", "contains NUL bytes"),
        (b"\xff\xfea\x00\x00\xd8b\x00", "is damaged"),
    ],
)
def test_what_cannot_be_read_right_is_refused(content, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        read_delimited(content, "t.csv")


@pytest.mark.parametrize("last", ["NA", "?", "nan"])
def test_a_value_without_a_name_is_no_separator_at_the_end_even_if_it_is_missing(last):
    text = f"a,b,y\n1,2,yes,{last}\n3,4,no,{last}\n"
    with pytest.raises(ValueError, match=r"has 3 names, but its rows have 4 values"):
        read_csv(text, source="the table")
    text = f"a,b,y\n1,2,yes,\n3,4,no,{last}\n"
    with pytest.raises(ValueError, match="name every column"):
        read_csv(text, source="the table")
    plain = read_csv("a,b,y\n1,2,yes,\n3,4,no,\n", source="the table")
    assert plain.to_dict("list") == {"a": [1, 3], "b": [2, 4], "y": ["yes", "no"]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "a,b,c\n1,2,3\n4,5\n7,8,9\n6\n",
            "2 rows have fewer values than my.csv .*line 3",
        ),
        ('a,b\n"x\ny",2\n\n4\n', "1 row has fewer values .*line 5"),
        ("a,b,\n1,2\n3\n", "1 row has fewer values .*line 3"),
    ],
)
def test_rows_with_fewer_values_than_names_are_noted(text, found):
    """A value left out in the middle moves those after it, and nothing else shows that."""
    notes = []
    frame = read_delimited(text.encode(), "my.csv", notes.append)
    assert frame.iloc[-1].isna().sum() >= 1
    assert len(notes) == 1
    assert re.match(found, notes[0])
    with pytest.warns(UserWarning, match=found):
        read_csv(text, source="my.csv")


@pytest.mark.parametrize(
    "text", ["a,b\n1,\n2,3\n", "a,b,\n1,2\n3,\n", "a\n1\n\n2\n", "a,b\n1,2\n\n \n"]
)
def test_empty_cells_and_lines_are_no_short_rows(text):
    notes = []
    read_delimited(text.encode(), "my.csv", notes.append)
    assert not notes


def test_a_header_with_a_name_too_many_is_refused():
    """Which of the names it is nobody can tell, and all columns after it would be another's."""
    text = "id,a,b\n1,2\n3,4\n5,6,7\n"
    with pytest.raises(ValueError, match="has 3 names, but 2 of its 3 rows have 2 values"):
        read_delimited(text.encode(), "my.csv")


def test_threads_that_read_at_once_leave_filters_of_warnings_alone():
    content = ("a,b,y\n" + "1,2,yes,\n" * 3000).encode()
    read_delimited(content, "table.csv")  # a filter that matches in one context only stays
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as threads:
        frames = list(threads.map(lambda _: read_delimited(content, "table.csv"), range(40)))
    assert warnings.filters == before
    assert all(list(frame.columns) == ["a", "b", "y"] for frame in frames)


def test_whole_numbers_beside_missing_ones_keep_all_digits():
    """As floating point 9007199254740993 is 9007199254740992."""
    text = "id,id,x,big\n9007199254740993,12345678901234567,1e300,1e17\n,,2,\n3,4,,5\n"
    frame = read_delimited(text.encode(), "ids.csv")
    assert frame["id"].tolist() == [9007199254740993, pd.NA, 3]
    assert frame["id.1"].tolist() == [12345678901234567, pd.NA, 4]
    assert frame["x"].tolist()[:2] == [1e300, 2.0]
    assert frame["big"].dtype == np.float64


@pytest.mark.parametrize("missing", ["", "NA", "?", "null"])
def test_a_missing_value_beside_numbers_of_twenty_digits_is_missing(missing):
    text = f"id,code\n1,10000000000000000001\n2,{missing}\n3,10000000000000000002\n"
    codes = read_delimited(text.encode(), "codes.csv")["code"]
    assert codes.isna().tolist() == [False, True, False]
    assert codes.dropna().astype(str).tolist() == ["10000000000000000001", "10000000000000000002"]


@pytest.mark.parametrize("missing", ["", "NA", "?"])
def test_targets_of_twenty_digits_may_be_missing(missing, tmp_path):
    codes = ["10000000000000000001", "10000000000000000002", missing]
    rows = "".join(f"{k},{codes[k % 3]}\n" for k in range(30))
    (tmp_path / "mine.csv").write_text("a,target\n" + rows)
    with pytest.raises(ValueError, match="10 rows without a target"):
        datasets.load("mine", tmp_path)


@pytest.mark.parametrize("code", ["9007199254740993", "10000000000000000001"])
def test_separators_at_the_end_beside_long_codes_give_no_warning(code):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_delimited(f"a,b\n{code},1,,\n,2,,\n".encode(), "t.csv")
    assert str(frame["a"][0]) == code
    assert frame["a"].isna().tolist() == [False, True]
    assert frame["b"].tolist() == [1, 2]


def test_the_words_for_missing_values_are_those_of_pandas():
    text = "x,y\n" + "".join(f"{word},1\n" for word in _MISSING)
    assert pd.read_csv(io.StringIO(text), na_values=["?"])["x"].isna().all()
    pandas_words = pd._libs.parsers.STR_NA_VALUES
    assert set(pandas_words) <= set(_MISSING)


LONG = "n" * 200_000


@pytest.mark.parametrize(
    "cell", [LONG, f'"{LONG},{LONG}"', f'" ""{LONG}""\n{LONG}, "', f"  {LONG} "]
)
def test_a_very_long_value_turns_no_check_off(cell):
    """The csv module takes no value of more than 131,072 characters."""
    notes = []
    rows = f"1,{cell},p\n" + "2,q,r\n" * 50
    read_delimited(f"a,b,y\n{rows}3,s\n".encode(), "t.csv", notes.append)
    last = 53 + cell.count("\n")
    assert notes == [
        f"1 row has fewer values than t.csv has columns (the first in line {last}): the last "
        "columns count as missing there. If another value is missing, write its separator."
    ]
    with pytest.raises(ValueError, match="but 50 of its 51 rows have 2 values"):
        read_delimited(f"a,b,y\n1,{cell},p\n{'2,q' + chr(10)}".encode() + b"2,q\n" * 49, "t.csv")


def test_a_very_long_name_is_a_name():
    frame = read_delimited(f"a,{LONG},y\n1,2,p\n".encode(), "t.csv")
    assert list(frame.columns) == ["a", LONG, "y"]


def test_the_note_on_repeated_names_says_what_they_are_called():
    notes = []
    frame = read_delimited(b"a,a,,,a.1,\n1,2,3,4,5,\n6,7,8,9,1,\n", "t.csv", notes.append)
    assert notes == ["The column name 'a' appears 2 times: the later ones are renamed to 'a.2'."]
    assert frame["a.2"].tolist() == [2, 7]


def test_separators_only_and_a_first_line_that_names_none():
    with pytest.raises(ValueError, match=r"t\.csv contains only separators"):
        read_delimited(b",,,\n,,,\n", "t.csv")
    for line in ("sep=\r\n", '"sep="\n', "sep=\n"):
        assert read_delimited(f"{line}a,b\n1,2\n".encode(), "t.csv").to_dict("list") == {
            "a": [1],
            "b": [2],
        }


@pytest.mark.parametrize("title", ["Report 7", "Report 7,", '"Report 7",,', "Report 7;;"])
@pytest.mark.parametrize("rows", ["x,y\n1,2\n3,4\n", "\n,\nx,y\n1,2\n", "x;y\n1;2\n3;4\n"])
def test_a_title_above_the_header_is_passed_over(title, rows):
    notes = []
    content = f"{title}\n{rows}".encode()
    frame = read_delimited(content, "my.csv", notes.append)
    assert frame[["x", "y"]].iloc[0].tolist() == [1, 2]
    assert frame.shape[1] == 2
    line = 2 if rows.startswith("x") else 4
    assert notes == [
        f"'Report 7' above the columns is taken for a title: row {line} has their names."
    ]
    assert cells_as_written(content, "my.csv", ["y"])["y"][0] == "2"


def test_a_first_row_of_one_cell_above_numbers_may_be_a_title():
    notes = []
    with pytest.raises(ValueError, match="has 1 name, but its rows have 2 values"):
        read_delimited(b"Report 7\n1,2\n3,4\n", "my.csv", notes.append)
    assert notes == ["The first row has only one cell, 'Report 7': if it is a title, remove it."]


@pytest.mark.parametrize(
    "text", [",x\n0,1.5\n1,2.5\n", "x\n1\n2\n", "x,\n1,\n2,\n", 'x\n"a, b"\n"c"\n', "a,b\n1,2\n"]
)
def test_what_is_no_title(text):
    notes = []
    read_delimited(text.encode(), "my.csv", notes.append)
    assert "title" not in "".join(notes)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,2\n"3,4\n5,6\n', 3),
        ('a,b\n1,"x\ny"\n3,4\n5,"6\n7,8\n', 5),
        ('a,"b\n1,2\n', 1),
        ('a,b\n"1,2\n', 2),
    ],
)
def test_the_row_of_an_open_quote_is_named(text, line):
    with pytest.raises(ValueError, match=f"begins in line {line} is never closed"):
        read_delimited(text.encode(), "my.csv")
