"""Values as LaTeX, compared with texts written by hand: units, digits, lists, heads and rows of tables."""

import pytest

from ladder.report import cells, latex, numbers, phrases
from ladder.report.latex import Missing


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (90.0, r"\qty{90.0}{\second}"),
        (1.0, r"\qty{1.00}{\second}"),
        (0.5, r"\qty{500}{\milli\second}"),
        (1e-3, r"\qty{1.00}{\milli\second}"),
        (4.56e-4, r"\qty{456}{\micro\second}"),
        (1e-6, r"\qty{1.00}{\micro\second}"),
        (3.2e-8, r"\qty{32.0}{\nano\second}"),
    ],
)
def test_a_time_reads_in_the_unit_that_gives_at_least_1(value, text):
    assert latex.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (45600.0, r"\qty{45.6}{\kilo\joule}"),
        (1000.0, r"\qty{1.00}{\kilo\joule}"),
        (250.0, r"\qty{250}{\joule}"),
        (1.0, r"\qty{1.00}{\joule}"),
        (0.02, r"\qty{20.0}{\milli\joule}"),
        (0.0002, r"\qty{0.200}{\milli\joule}"),
    ],
)
def test_an_energy_reads_in_its_own_unit(value, text):
    assert latex.joules(value) == text


@pytest.mark.parametrize(
    ("value", "number", "prefix"),
    [
        (3.35e12, "3.35", r"\tera"),
        (1e12, "1.00", r"\tera"),
        (999e9, "999", r"\giga"),
        (1e9, "1.00", r"\giga"),
        (2.5e6, "2.50", r"\mega"),
        (1e6, "1.00", r"\mega"),
        (1e3, "1.00", r"\kilo"),
        (12.0, "12.0", ""),
        (1.0, "1.00", ""),
    ],
)
def test_a_rate_has_a_decimal_prefix_and_the_unit_of_its_kind(value, number, prefix):
    assert latex.rate(value, "flops") == rf"\qty{{{number}}}{{{prefix}\flops}}"
    assert latex.rate(value, "bandwidth") == rf"\qty{{{number}}}{{{prefix}\bytes}}"


def test_quantities_have_as_many_digits_as_are_asked_for():
    assert latex.seconds(0.01234, 2) == r"\qty{12}{\milli\second}"
    assert latex.joules(1234.0, 2) == r"\qty{1.2}{\kilo\joule}"
    assert latex.rate(1234.0, "flops", 4) == r"\qty{1.234}{\kilo\flops}"
    assert latex.percent(0.12345) == r"\qty{12.3}{\percent}"
    assert latex.percent(0.12345, 2) == r"\qty{12}{\percent}"
    assert latex.percent(1.5, 2) == r"\qty{150}{\percent}"
    assert latex.digits(-9.999) == "-10.0"


def test_memory_is_in_powers_of_two():
    assert latex.memory(2**34) == r"\qty{16.0}{\gibi\byte}"
    assert latex.memory(80 * 10**9) == r"\qty{74.5}{\gibi\byte}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, r"\num{0}"),
        (0.001, r"\num{0.00100}"),
        (0.000999, r"\num{9.99e-4}"),
        (12345.0, r"\num{12300}"),
        (1e5, r"\num{1.00e5}"),
        (-2.5e6, r"\num{-2.50e6}"),
        (1.234e-16, r"\num{1.23e-16}"),
        (9.999e-7, r"\num{1.00e-6}"),
    ],
)
def test_a_number_far_from_1_has_an_exponent_and_as_many_digits(value, text):
    assert latex.number(value) == text


def test_a_number_with_an_exponent_has_as_many_digits_as_are_asked_for():
    assert latex.number(1.234e-16, 1) == r"\num{1e-16}"
    assert latex.number(1.264e-16, 2) == r"\num{1.3e-16}"
    assert latex.number(0.0264, 1) == r"\num{0.03}"


def test_rates_of_cells_are_in_multiples_of_their_unit():
    assert cells.rate(2.5e12, 1e9) == "2500"
    assert cells.rate(2.5e12, 1e12) == "2.50"
    assert cells.rate(None, 1e9) == "--"


def test_every_sign_that_means_something_to_latex_is_escaped():
    assert latex.escape("&%$#_{}") == r"\&\%\$\#\_\{\}"
    assert latex.escape("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_names_of_the_code_may_be_broken_and_published_machines_are_marked():
    assert latex.code("a_b,c") == r"\texttt{a\_\allowbreak{}b,\allowbreak{}c}"
    assert latex.code("a/b-1 (published)") == r"\texttt{a/\allowbreak{}b-\allowbreak{}1}\published{}"
    assert latex.prose("50 %\n  of `x_1` & `y`") == r"50 \% of \texttt{x\_\allowbreak{}1} \& \texttt{y}"


def test_lists_read_as_in_a_sentence():
    assert [latex.enumeration(items) for items in ([], [1], [1, 2], [1, 2, 4])] == ["", "1", "1 and 2", "1, 2 and 4"]


def test_a_span_is_one_count_or_the_lowest_and_the_highest():
    assert phrases.span([12, 9, 10]) == r"\numrange{9}{12}"
    assert phrases.span([10, 10]) == r"\num{10}"
    assert phrases.span([]) is None


def test_the_heads_of_groups_stand_above_their_own_columns():
    over, *titles = latex.group_head(["Size"], {"Time": ["a", "b"], "Rate": ["c", "d", "e"], "Share": ["f"]})
    assert over == (
        r" & \multicolumn{2}{c}{Time} & \multicolumn{3}{c}{Rate} & \multicolumn{1}{c}{Share} \\"
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-6}\cmidrule(lr){7-7}" + "\nSize"
    )
    assert titles == ["a", "b", "c", "d", "e", "f"]


def test_a_table_has_its_head_its_rows_in_order_and_rules_between():
    rows = [["1", "2"], None, ["3", "4"]]
    lines = [r"a & b \\", r"\midrule", r"1 & 2 \\", r"\midrule", r"3 & 4 \\", r"\bottomrule"]
    short = [r"\begin{tabular}{lr}", r"\toprule", *lines, r"\end{tabular}", ""]
    assert latex.table("lr", ["a", "b"], rows).split("\n") == short
    head = [r"\toprule", r"a & b \\", r"\midrule"]
    long = [r"\begin{longtable}{lr}", r"\longcaption", *head, r"\endfirsthead", *head, r"\endhead"]
    long += [*lines[2:], r"\end{longtable}", ""]
    assert latex.long_table("lr", ["a", "b"], rows).split("\n") == long
    for make_table in (latex.table, latex.long_table):
        assert make_table("lr", ["a", "b"], [], "Nothing.") == "\\emph{Nothing.}\n"


def test_a_number_that_was_not_measured_is_defined_as_unmeasured():
    values = numbers.fill_missing({"a/b": r"\num{1}", "a/c": None, "a/d": Missing("no machine")})
    assert numbers.text(values).splitlines() == [
        r"\defineresult{a/b}{\num{1}}",
        r"\defineunmeasured{a/c}{\nomeasurement{}}",
        r"\defineunmeasured{a/d}{no machine}",
    ]
