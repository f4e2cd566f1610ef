"""Templates: blocks vanish without a measurement, words replace missing values, mistakes are reported by line."""

from types import SimpleNamespace

import pytest

from ladder.errors import LadderError
from ladder.report.telling import templates
from ladder.report.telling.chapter_study import NotMeasured, look_up

KNOWN_TIMES = {"openmp": "25 ms"}


def time(line):
    """The time of a line; some lines weren't measured."""
    if line in ("warp", "graph"):
        raise NotMeasured("no time" if line == "graph" else r"\nomeasurement{}")
    return look_up("line", line, KNOWN_TIMES)


def render(tmp_path, text):
    path = tmp_path / "text.tex"
    path.write_text(text)
    functions = {"time": time, "absent": lambda: None, "gemv": SimpleNamespace(time=time), "MAX": "max"}
    return templates.render(path, functions)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ('It takes <<time("openmp")>>.', "It takes 25 ms."),
        ('It takes <<gemv.time("openmp")>>.', "It takes 25 ms."),
        ('A<% measured %>, <<time("warp")>><% endmeasured %>.', "A."),
        ('<% measured %><<time("warp")>><% otherwise %>None.<% endmeasured %>', "None."),
        ('<% measured %><<time("openmp")>><% otherwise %>None.<% endmeasured %>', "25 ms"),
        ('<% measured time("warp") %>A<% otherwise %>B<% endmeasured %>', "B"),
        ('<% measured time("openmp") %>A<% otherwise %>B<% endmeasured %>', "A"),
        ("<% measured %><<absent()>><% otherwise %>B<% endmeasured %>", "B"),
        # The innermost block vanishes, and one around it only with what stands in it itself.
        ('<% measured %>A<% measured %>, <<time("warp")>><% endmeasured %>.<% endmeasured %>', "A."),
        ('<% measured %>A<% measured %>B<% otherwise %>C<% endmeasured %><<time("warp")>><% endmeasured %>', ""),
        # What stands otherwise may lack a measurement, too.
        (
            "<% measured %>A<% measured %><<absent()>><% otherwise %><<absent()>><% endmeasured %><% endmeasured %>B",
            "B",
        ),
        ("<% measured %><<absent()>><% otherwise %><<absent()>><% endmeasured %>", r"\nomeasurement{}"),
        # Outside of blocks words stand in the place of what is missing, of the argument of a function, too.
        ('<<time("warp")>>, <<time("graph")>>, <<absent()>>', r"\nomeasurement{}, no time, \nomeasurement{}"),
        ('<<time(time("graph"))>>', "no time"),
        ("a\n<% measured %>\nb\n<% otherwise %>\nc\n<% endmeasured %>\nd\n", "a\nb\nd\n"),
        ("a <# said <<nowhere>> #>b\n", "a b\n"),
        # What is LaTeX's own stays (None: the whole text): braces, comments, and signs of other template languages.
        (r"\result{a/b} {{x}} {% y %} {# z #} 5\,\% $a < b$ % < is a sign" + "\n\n", None),
    ],
)
def test_blocks_vanish_with_what_was_not_measured(tmp_path, text, rendered):
    assert render(tmp_path, text) == (text if rendered is None else rendered)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ('\n<<time("opnmp")>>', 2, "There is no line 'opnmp'. Did you mean 'openmp'?"),
        ('a\n<% measured %>\n\n<<tim("openmp")>>\n<% endmeasured %>', 4, "there is no 'tim' .*. Did you mean 'time'"),
        ("\n\n<<gemv.tome(1)>>", 3, "There is no name 'tome'. Did you mean 'time'?"),
        ("a\n\n<<time()>>", 3, r"time\(\) missing 1 required positional argument"),
        ("<% measured %>\n<% otherwise %>\n", 2, "Unexpected end of template|unexpected end"),
        ("\n<% mesured %>", 2, "Encountered unknown tag 'mesured'"),
        ("\n<<time(>>", 2, "unexpected"),
        ('<% measured time("opnmp") %>\n\nA<% endmeasured %>', 1, "Did you mean 'openmp'"),
    ],
)
def test_a_mistake_is_reported_with_its_line(tmp_path, text, line, sentence):
    with pytest.raises(LadderError, match=rf"text\.tex:{line}: (?i:.*{sentence})"):
        render(tmp_path, text)
