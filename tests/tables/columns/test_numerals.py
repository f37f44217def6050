"""Numbers as people write them."""

import numpy as np
import pytest

from absentia.tables.columns.numerals import limits_of, mark_of, number_of, shown_sign

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("word", "point", "comma"),
    [
        ("1,234", 1234, 1.234),
        ("1.234", 1.234, 1234),
        ("1,23", 1.23, 1.23),
        ("0,415", 0.415, 0.415),  # no thousands begin with a zero
        ("0.415", 0.415, 0.415),
        ("-0.415 %", -0.415, -0.415),
        ("012,345", 12.345, 12.345),
        ("0.000,5", NAN, NAN),
        ("1,234,567.8", 1234567.8, NAN),
        ("1.234.567,8", NAN, 1234567.8),
        ("$1,200.50", 1200.5, NAN),
        ("1.200,50 €", NAN, 1200.5),
        ("1 200,50 EUR", NAN, 1200.5),
        ("1'200.50 CHF", 1200.5, NAN),
        ("-$5", -5, -5),
        ("$-5", -5, -5),
        ("($5.00)", NAN, NAN),
        ("(5.00)", NAN, NAN),
        ("-($5)", NAN, NAN),
        ("12 %", 12, 12),
        ("12,5%", 12.5, 12.5),
        ("1e5", 1e5, 1e5),
        ("2,5e3", NAN, NAN),
        ("2.5e3", 2500, 2500),
        ("500,0-", NAN, NAN),
        ("12-", NAN, NAN),
        ("5,-", NAN, NAN),
        ("1e400", NAN, NAN),
        (".5", 0.5, 0.5),
        ("true", 1, 1),
        ("nan", NAN, NAN),
        ("1_000", NAN, NAN),
        ("0x10", NAN, NAN),
        ("1,2,3", NAN, NAN),
        ("V57", NAN, NAN),
        ("12:30", NAN, NAN),
        ("%", NAN, NAN),
        ("", NAN, NAN),
    ],
)
def test_numbers_with_points_and_commas(word, point, comma):
    np.testing.assert_equal([number_of(word), number_of(word, ",")], [point, comma])


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (["1,234", "12,345"], ""),
        (["1,234", "0,5"], ","),
        (["1.234", "1.200,50 €"], ","),
        (["1,5", "0.25"], "."),
        (["<0,5", "1,234"], ","),
        (["1 234,567 €", "12"], ","),
        (["1'234.567", "0,5"], "."),
        (["1,234,567", "0,5"], "."),
        (["0,415", "1,234"], ","),
        (["1", "2", "x"], ""),
    ],
)
def test_a_column_decides_what_its_commas_mean(words, sign):
    assert shown_sign(words) == sign


@pytest.mark.parametrize(
    ("word", "limits"),
    [
        ("<0.5", (-INF, 0.5)),
        ("≤ 2", (-INF, 2)),
        ("> 1,234.5", (1234.5, INF)),
        (">=7", (7, INF)),
        ("80+", (80, INF)),
        ("5 or more", (5, INF)),
        ("less than 5", (-INF, 5)),
        ("0.1-0.2", (0.1, 0.2)),
        ("10 – 20", (10, 20)),
        ("10 to 20", (10, 20)),
        ("[70-80)", (70, 80)),
        ("(0, 10]", (0, 10)),
        ("(0, 10)", (0, 10)),
        ("(1,234)", (-INF, INF)),  # a loss of 1234 in accountants' brackets
        ("< 5 %", (-INF, 5)),
        ("20-10", (-INF, INF)),
        ("-5", (-INF, INF)),
        ("A+", (-INF, INF)),
        ("< much", (-INF, INF)),
        ("2024-01-02", (-INF, INF)),
    ],
)
def test_limits(word, limits):
    assert limits_of(word) == limits


def test_signs_of_money():
    assert [mark_of(word) for word in ("5 kr", "£3", "7", "x €")] == ["kr", "£", "", ""]
