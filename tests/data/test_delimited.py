"""Whatever pandas writes is read back as it was, without being told how it is written; what is refused has its line."""

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsil_kit._data.files.readers import read_table
from compsil_kit._data.files.sniff import SAMPLE

TEXTS = ["Rome", "Oslo, N", 'so "x"', "a;b|c", "Zürich", "two\nlines", "12 cm", "2020-01-01"]
NAMES = st.lists(st.from_regex(r"[A-Za-z_ü][\w ,;|.-]{0,9}", fullmatch=True), min_size=3, max_size=6, unique=True)


@st.composite
def frames(draw):
    names = draw(NAMES)
    rows = draw(st.integers(4, 30))
    floats = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: value + 0.123456789)
    kinds = {
        "float": arrays.arrays(float, rows, elements=floats),
        "holes": arrays.arrays(float, rows, elements=floats | st.just(np.nan)),
        "count": arrays.arrays(np.int64, rows, elements=st.integers(-(2**62), 2**62)),
        "word": st.lists(st.sampled_from(TEXTS), min_size=rows, max_size=rows),
        "flag": arrays.arrays(bool, rows),
    }
    columns = {name: draw(kinds[draw(st.sampled_from(sorted(kinds)))]) for name in names[2:]}
    return pd.DataFrame({names[0]: draw(kinds["float"]), names[1]: draw(kinds["float"]), **columns})


@settings(max_examples=150, deadline=None)
@given(frames(), st.sampled_from(",;\t|"), st.sampled_from(".,"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_what_pandas_writes_is_read_back(tmp_path_factory, frame, sep, decimal, encoding):
    path = tmp_path_factory.mktemp("written") / "data.csv"
    frame.to_csv(path, index=False, sep=sep, decimal=decimal, encoding=encoding)
    expected = pd.read_csv(path, sep=sep, decimal=decimal, encoding=encoding)
    pd.testing.assert_frame_equal(read_table(str(path)), expected, check_exact=True)


def test_lines_are_counted_through_line_breaks_in_quotes(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('name,x\n"in\nthree\nlines",1\n\n"quoted",2\nplain,3\nplain,unknown\nplain,5\n')
    with pytest.raises(ValueError, match=r"column 'x' is numeric except in 1 of 5 cells \(line 8\)"):
        read_table(str(path))


def test_lines_are_counted_from_the_top_of_the_file_where_comments_stand_there(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('# from the lab\n#,"open\nname,x\n' + "plain,1\n" * 3 + "plain,unknown\n")
    with pytest.raises(ValueError, match=r"column 'x' is numeric except in 1 of 4 cells \(line 7\)"):
        read_table(str(path))


def test_separators_in_quotes_do_not_make_up_for_one_that_a_line_lacks(tmp_path):
    """Beyond the sample, where only their number tells whether a line is too short."""
    path, plain = tmp_path / "data.csv", "plain,1\n"
    rows = SAMPLE // len(plain) + 1
    path.write_text("name,x\n" + plain * rows + '"quoted",2\n"with, three, more, separators",3\nshort\n')
    with pytest.raises(ValueError, match=rf"line {rows + 4} has 1 "):
        read_table(str(path))


def test_a_line_in_another_encoding_is_named_wherever_it_stands(tmp_path):
    path, plain = tmp_path / "data.csv", b"plain,1\n"
    rows = SAMPLE // len(plain) + 1
    path.write_bytes(b"name,x\n" + plain * rows + "Zürich,2\n".encode("cp1252"))
    with pytest.raises(ValueError, match=rf"line {rows + 2} is not utf-8, as the lines before it are"):
        read_table(str(path))
