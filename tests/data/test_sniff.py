"""Text tables as people have them: the right frame, or a message with the line and the option that helps."""

import io
import re
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from compsil_kit._data.files import sniff
from compsil_kit._data.files.readers import make_given, read_file, read_table
from compsil_kit._data.files.refused import RefusedError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(3, 2, size=(60, 3)).round(2), columns=["a", "b", "c"])
COUNTS = pd.DataFrame(RNG.integers(0, 900, size=(60, 3)), columns=["a", "b", "c"])
GERMAN = FRAME.to_csv(index=False, sep=";", decimal=",")
PLAIN = FRAME.to_csv(index=False)


@pytest.fixture
def put(tmp_path):
    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(tmp_path / name)

    return write


@pytest.fixture
def read(put):
    def reads(content, name="data.csv", **options):
        frame, layout = read_file(put(content, name), make_given(**options))
        return frame, str(layout)

    return reads


@pytest.fixture
def refusal(put):
    def refuses(content, name="data.csv", **options):
        path = put(content, name)
        with pytest.raises(ValueError, match=re.escape(path)) as caught:
            read_table(path, **options)
        assert caught.value.__cause__ is None
        return str(caught.value).removeprefix(f"{path}: ")

    return refuses


def same(found, expected=FRAME):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN, "separator ',', decimal point"),
        (GERMAN, "separator ';', decimal comma"),
        (FRAME.to_csv(index=False, sep="\t"), "separator tab, decimal point"),
        (FRAME.to_csv(index=False, sep="|", decimal=","), "separator '|', decimal comma"),
        (FRAME.to_csv(index=False, decimal=","), "separator ',', decimal comma"),
        (FRAME.to_csv(index=False, quoting=1), "separator ',', decimal point"),
        (GERMAN.replace("\n", "\r\n"), "separator ';', decimal comma"),
        (GERMAN.replace("\n", "\r"), "separator ';', decimal comma"),
        ("\n\n" + PLAIN, "separator ',', decimal point, encoding utf-8, header in line 3"),
        ('# lab, 5" wide; new\n#\n' + PLAIN, "separator ',', decimal point, encoding utf-8, header in line 3"),
        ("sep=;\n" + GERMAN, "separator ';', decimal comma, encoding utf-8, header in line 2"),
        ("# lab, 2020\n" + GERMAN, "separator ';', decimal comma, encoding utf-8, header in line 2"),
        ("# a,b,c\n" + PLAIN, "separator ',', decimal point, encoding utf-8, header in line 2"),
        (PLAIN.replace("\n", ",\n"), "separator ',', decimal point"),
        (GERMAN.replace("\n", ";\n"), "separator ';', decimal comma"),
        (PLAIN.replace("\n", ",\n").replace(",\n", "\n", 1), "separator ',', decimal point"),
        (GERMAN.encode("utf-16"), "separator ';', decimal comma, encoding utf-16, header in line 1"),
        (GERMAN.encode("utf-8-sig"), "separator ';', decimal comma"),
        (PLAIN.encode("utf-32"), "separator ',', decimal point, encoding utf-32, header in line 1"),
    ],
)  # fmt: skip
def test_every_way_of_writing_gives_the_same_table(read, text, said):
    found, layout = read(text)
    same(found)
    assert layout == (said if "encoding" in said else f"{said}, encoding utf-8, header in line 1")


def test_without_a_header(read, put):
    found, said = read(FRAME.to_csv(index=False, header=False))
    same(found, FRAME.set_axis(["column 1", "column 2", "column 3"], axis=1))
    assert said.endswith("no header")
    same(read(FRAME.to_csv(index=False, header=False, sep=";", decimal=","))[0], found)
    iris = FRAME.assign(kind="setosa").to_csv(index=False, header=False)
    assert read(iris)[0].shape == (60, 4)


def test_the_last_comment_is_the_header_where_it_names_every_column(read, refusal):
    """As programs write it that mark their header with #; its names stay as they are written."""
    body = FRAME.to_csv(index=False, header=False)
    for above, line in (("", 1), ("# lab, 2020\n", 2), ("# x,y,z\n\n", 3)):
        found, said = read(f"{above}#a,b,c\n{body}")
        same(found, FRAME.set_axis(["#a", "b", "c"], axis=1))
        assert said.endswith(f"header in line {line}")
        told = refusal(f"{above}#a,b,c\n{body}1,2\n")
        assert told.startswith(f"not a readable table: line {line + 61} has 2 fields, line {line} has 3.")
    plain = FRAME.set_axis(["column 1", "column 2", "column 3"], axis=1)
    same(read(f"# lab, 2020\n{body}")[0], plain)
    same(read(f"#a,b,c\n{body}", header=False)[0], plain)


def test_names_that_are_numbers(read):
    for names in ([0, 1, 2], [2019, 2020, 2021]):
        text = (FRAME + 0.001).set_axis(names, axis=1).to_csv(index=False)
        same(read(text)[0], pd.read_csv(io.StringIO(text)))
    text = COUNTS.set_axis([0, 1, 2], axis=1).to_csv()
    same(read(text)[0], pd.read_csv(io.StringIO(text)))
    text = COUNTS.set_axis(["city", 2020, 2021], axis=1).to_csv(index=False)
    same(read(text)[0], pd.read_csv(io.StringIO(text)))


def test_whole_numbers_in_the_first_line_may_be_both(refusal, put):
    text = COUNTS.set_axis([2019, 2020, 2021], axis=1).to_csv(index=False)
    said = refusal(text)
    assert said == (
        "line 1 may hold names of columns or numbers. Pass --header if it names the columns, --no-header if it is the "
        "first row."
    )
    assert read_table(put(text), header=True).shape == (60, 3)
    assert read_table(put(text), header=False).shape == (61, 3)


@pytest.mark.parametrize("name", ["x", "Länge"])
def test_one_column(read, name):
    numbers = RNG.normal(3, 2, 30).round(1)
    frame = pd.DataFrame({name: numbers})
    same(read(frame.to_csv(index=False))[0], frame)
    found, said = read(f"{name}\n" + "".join(f"{value}\n".replace(".", ",") for value in numbers))
    same(found, frame)
    assert said == "one column, decimal comma, encoding utf-8, header in line 1"


@pytest.mark.parametrize("text", ["1,2\n3,4\n5,7\n" * 9, "x\n1,2\n2,4\n3,7\n"])
def test_pairs_or_decimal_commas(refusal, put, text):
    said = "the separator is not clear: pass --sep ',' for two columns, --sep ';' for decimal commas."
    assert refusal(text) == said
    assert read_table(put(text), sep=";").shape[1] == 1
    found = read_table(put(text), sep=",", header=False if text[0] == "1" else None)
    assert len(found.reset_index().columns) >= 2


def test_the_separator_that_is_said_must_be_there(refusal):
    assert refusal(PLAIN, sep=";") == "--sep ';' does not occur in the first line, which has ','."
    assert "does not occur" in refusal("a;b\n1;2\n3;4\n", sep="tab")
    assert refusal("a;b\n" + "1.5,2\n" * 9).startswith("line 1 and the lines below it have different separators.")


def test_words_beside_numbers(read):
    found, _ = read("Name;Wert\n" + "".join(f"Müller;{at % 7},5\n" for at in range(30)))
    assert found["Wert"].dtype == float


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-8"])
def test_encodings(read, encoding):
    frame = FRAME.set_axis(["Länge", "Größe", "Höhe"], axis=1)
    found, said = read(frame.to_csv(index=False, sep=";", decimal=",").encode(encoding))
    same(found, frame)
    assert ("encoding utf-8" in said) == (encoding == "utf-8")
    same(read(frame.to_csv(index=False).encode(encoding), encoding=encoding)[0], frame)


def test_an_encoding_that_does_not_fit(refusal):
    text = "Länge,b\n1.5,2\n".encode("latin-1")
    assert refusal(text, encoding="utf-8").startswith("not a readable table: line 1 is not utf-8. Pass another --enc")
    assert refusal(text, encoding="klingon").startswith("unknown encoding 'klingon'")
    late = PLAIN.encode() + b"1,2,3\n" * 300_000 + "1,2,ü\n".encode("latin-1")
    assert refusal(late) == (
        "not a readable table: line 300062 is not utf-8, as the lines before it are. Pass --encoding, for example "
        "--encoding windows-1252."
    )
    assert refusal(PLAIN.encode("utf-16-le")).endswith("If it is UTF-16, pass --encoding utf-16-le.")


@pytest.mark.parametrize("text", ["", "\n \n", "# only\n# words\n", b"\xef\xbb\xbf"])
def test_empty(refusal, text):
    assert refusal(text) == "not a readable table: it is empty."


@pytest.mark.parametrize("many", [3, 400_000])
def test_ragged_lines_are_named(refusal, many):
    good = "a,b,c\n" + "1.5,2,3\n" * many
    mend = "Mend this line, or pass --sep if the separator is another one."
    for line, fields in (("1,2,3,4", "4 fields"), ("1,2", "2 fields"), ("secret", "1 field")):
        said = refusal(f"{good}\n{line}\n" + "1.5,2,3\n" * 3)
        assert said == f"not a readable table: line {many + 3} has {fields}, line 1 has 3. {mend}"
    said = refusal(f'{good}1,"2,3\n1,2,3\n')
    assert said == f"not a readable table: line {many + 2} opens a quote that is never closed. Mend this line."


def test_fields_beyond_a_last_separator(refusal):
    text = "a,b\n" + "1.5,2,\n" * 400_000 + "1,2,3\n"
    assert refusal(text).startswith("not a readable table: line 400002 has a value after its last separator")


def test_a_last_column_with_a_name_is_kept_where_it_is_empty(read):
    assert list(read("a,b,notes\n" + "1.5,2,\n" * 5)[0].columns) == ["a", "b", "notes"]
    late = read("a,b,notes\n" + "1.5,2,\n" * 500 + "1.5,2,7\n")[0]
    assert late["notes"].iloc[-1] == 7


@pytest.mark.parametrize("word", ["unknown", "-", "?", "12 cm", "none!"])
@pytest.mark.parametrize("many", [1, 7])
def test_a_few_cells_that_are_no_numbers(refusal, put, word, many):
    frame = FRAME.astype(object)
    frame.loc[5 : 4 + many, "b"] = word
    text = frame.assign(city="Rome\nItaly").to_csv(index=False)
    said = refusal(text)
    lines = "line 12" if many == 1 else "lines 12, 14, 16, 18, 20, ..."
    assert said == (
        f"column 'b' is numeric except in {many} of 60 cells ({lines}). If these mean a missing value, pass "
        "--na-values with what they say, and --missing drop. To leave the column out, pass --exclude 'b'."
    )
    assert read_table(put(text), na_values=[word])["b"].isna().sum() == many
    assert list(read_table(put(text), exclude=["b"]).columns) == ["a", "c", "city"]
    assert list(read_table(put(text), columns=["a", "c"]).columns) == ["a", "b", "c", "city"]
    assert "column 'b'" in refusal(text, columns=["a", "b"])


def test_a_few_cells_in_a_long_file_and_in_json_lines(refusal):
    text = "a,b\n" + "1.5,2\n" * 500_000 + "x,2\n" + "1.5,2\n"
    assert "column 'a' is numeric except in 1 of 500,002 cells (line 500002)" in refusal(text)
    text = '{"a": 1.5}\n{"a": 2.5}\n{"a": "unknown"}\n'
    assert "column 'a' is numeric except in 1 of 3 cells (line 3)" in refusal(text, "data.jsonl")


def test_columns_of_text_stay_text(read):
    days = [str(date(2020, 1, 1) + timedelta(at)) for at in range(60)]
    german = [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days]
    frame = FRAME.assign(day=days, german=german, at=[f"{day} 10:00:00" for day in days], address="10.0.0.1", code="A1")
    for sep, decimal in ((",", "."), (";", ","), ("\t", ",")):
        same(read(frame.to_csv(index=False, sep=sep, decimal=decimal))[0], frame)


@pytest.mark.parametrize(("decimal", "group"), [(".", ","), (",", "."), (",", " "), (".", "'"), (",", "\u00a0")])
@pytest.mark.parametrize("sep", [",", ";"])
def test_thousands(read, decimal, group, sep):
    frame = FRAME.assign(b=(FRAME["b"] * 1e5).round(2), c=[999, 1000, 1234567] * 20)
    written = frame.astype({"a": object, "b": object, "c": object})
    swap = str.maketrans({",": group, ".": decimal})
    for name in frame:
        written[name] = [f"{value:,}".translate(swap) for value in frame[name]]
    same(read(written.to_csv(index=False, sep=sep))[0], frame)


def test_thousands_or_decimals(refusal, put):
    text = "a;b\n" + "1,234;5\n2,345;6\n" * 9
    said = refusal(text)
    assert said == (
        "column 'a' has numbers whose marks are not clear. Pass --thousands ',' if it groups thousands, --decimal ',' "
        "if it is the decimal mark. To leave the column out, pass --exclude 'a'."
    )
    assert read_table(put(text), thousands=",")["a"].iloc[0] == 1234
    assert read_table(put(text), decimal=",")["a"].iloc[0] == 1.234
    late = "a;b\n" + "1;2\n" * 400_000 + "1,5;2\n"
    assert "(line 400002). It has numbers with a decimal comma, where the file has decimal points. Pass" in refusal(
        late
    )
    mixed = "a;b;c\n" + "1,5;2.25;7,25\n" * 9
    assert "column 'b' has numbers with a decimal point, where the file has decimal commas." in refusal(mixed)


def test_row_names_as_r_writes_them(read):
    text = "a,b,c\n" + FRAME.rename(index=lambda at: f"row {at}").to_csv(header=False)
    found, said = read(text)
    same(found, pd.read_csv(io.StringIO(text)))
    assert said.endswith("row names in the first column")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "--sep must be one character such as ';' or '|', or the word tab or space; got ';;'."),
        ({"sep": "1"}, "--sep must be one character"),
        ({"decimal": ";"}, "--decimal must be one of '.', ','; got ';'."),
        ({"thousands": "."}, "--thousands '.' is the decimal mark of the file. Pass --decimal, too."),
        ({"thousands": ".", "decimal": "."}, "--thousands and --decimal must differ; both are '.'."),
        ({"exclude": ["z"]}, "--exclude: 'z' is not a column of the data, which has a, b, c."),
    ],
)
def test_wrong_options(put, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(put(PLAIN), **options)


def test_options_of_text_files_are_refused_elsewhere(put):
    with pytest.raises(ValueError, match="--sep, --decimal and the like are for CSV and TSV files"):
        read_table(put(b"", "data.parquet"), sep=";")


def test_a_tsv_file_without_tabs(read):
    same(read(GERMAN, "data.tsv")[0])
    same(read(FRAME.to_csv(index=False, sep="\t", decimal=","), "data.tsv")[0])


def test_words_before_numbers_are_row_names_and_no_decimals(read, put):
    """A comma between a word and a number separates; between two numbers of which one is negative, too."""
    frame, said = read("x\nfoo,1\nbar,2\nbaz,4\n")
    assert frame["x"].tolist() == [1, 2, 4]
    assert "separator ','" in said
    frame, said = read("1,-2\n3,-4\n5,-1\n")
    assert frame.shape == (3, 2)
    frame, said = read("rome,3\noslo,4\nlima,4\n", header=False)
    assert frame.shape == (3, 2)


def test_quotes_that_are_never_closed_and_long_numbers(refusal):
    assert refusal('a,b\n1,2\n"3,4\n').startswith("not a readable table: line 3 opens a quote that is never closed.")
    assert refusal('# c\na,b\n1,2\n"3,4\n').startswith("not a readable table: line 4 opens a quote")
    told = refusal("id,b\n12345678901234567890123,1\n22345678901234567890123,2\n")
    assert told.startswith("column 'id' holds whole numbers of more than 19 digits, as identifiers do.")
    assert refusal("# c\n# d\na,b\n1,2\n3\n").startswith("not a readable table: line 5 has 1 field, line 3 has 2.")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a,b\n1,2\n", True),
        ("a\n1\n", True),
        ("a;b\n1;2\n", False),
        ("# c\na,b\n1,2\n", False),
        ("1.5,2\n2.5,3\n", False),
    ],
)
def test_what_is_written_plainly_need_not_be_told(put, text, plain):
    assert read_file(put(text), make_given())[1].is_plain is plain


# --- the parts, one by one --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# a\nx\n", 1),
        ("\n \nx\n", 0),
        ("# a\n\n# b\nx\n# c\n", 3),
        ("sep=;\nx\n", 1),
        ('"sep=;"\nx\n', 1),
        ("x\nsep=;\n", 0),
        ("# a\nsep=;\nx\n", 1),
        ("# a\n", 1),
    ],
)
def test_comments_stand_above_the_table(text, count):
    assert sniff._comments(sniff.lines_of(text)) == count


def test_lines_end_as_those_of_files_do():
    assert sniff.lines_of("a\r\nb\rc\x0bd\ne") == ["a\r\n", "b\r", "c\x0bd\n", "e"]
    assert sniff.lines_of("a\nb\nc\n", 2) == ["a\n", "b\n"]


@pytest.mark.parametrize(("length", "many", "kept"), [(3000, 20, 8), (1024, 20, 16), (1025, 20, 16), (1000, 9, 9)])
def test_the_head_is_so_many_whole_lines_as_tell_enough(length, many, kept):
    """16,384 characters, and 8 lines at least."""
    text = ("x" * (length - 1) + "\n") * many
    assert sniff._head(text) == text[: length * kept]


@pytest.mark.parametrize(
    ("head", "share", "uniform", "strict"),
    [
        ("a,b\n1,2\n3,4\n", 4 / 6, True, True),
        ("a,b\n1,2,3\n1,2,3\n", 6 / 8, True, False),
        ("a,b\n1,2,3,4\n", 4 / 6, False, False),
        ("a,b,c\n1,2\n", 2 / 5, False, False),
        ("a,b,c\n1,2,x\n1,2\n", 4 / 8, False, False),
        ("a\n1\n", 1 / 2, False, False),
        ("a,b\n", 0.0, True, True),
    ],
)
def test_how_well_a_separator_fits(head, share, uniform, strict):
    assert sniff._quality(head, ",") == (share, uniform)
    assert sniff._quality(head, ",", strict=True) == (share, strict)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("x\n7,5\n2,5\n", True),
        ("x\n\n 7,5 \n2,5\n", True),
        ("x\n", False),
        ("x,y\n1,5\n2,5\n", False),
        ("1,5\n7,5\n", False),
        ("1,5\n7,5\n3\n", True),
        ("x\n1,5\nword\n", False),
    ],
)
def test_one_column_of_decimal_commas(head, expected):
    assert sniff._is_one_column(head) is expected


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_before_a_comma_may_be_a_column(first):
    with pytest.raises(RefusedError, match="the separator is not clear"):
        sniff._is_one_column("x\n" + "".join(f"{at + first},{at % 3}\n" for at in range(5)))


def test_only_two_whole_numbers_may_be_one():
    pair, point, three = [(1, ["1", "2"])], [(1, ["1.5", "2"])], [(1, ["1", "2", "3"])]
    for rows, sep in ((pair, ";"), (point, ","), (three, ","), ([*pair, *point], ",")):
        sniff._refuse_pairs(rows, sep)
    with pytest.raises(RefusedError, match="the separator is not clear"):
        sniff._refuse_pairs(pair * 3, ",")


@pytest.mark.parametrize(("mark", "spelled"), [("\t", "tab"), (";", "';'")])
def test_the_other_separator_is_spelled_as_the_option_takes_it(monkeypatch, mark, spelled):
    monkeypatch.setattr(sniff, "_detected", lambda head, candidates: ",")
    with pytest.raises(RefusedError, match=f"Pass --sep {spelled}, for example"):
        sniff.find_separator(f"a{mark}b\n1,5{mark}2\n3{mark}4\n5{mark}6\n")


def test_a_separator_that_is_said_may_separate_nothing():
    assert sniff._agreed(";", "1,5") == ";"
    assert sniff._agreed(";", "x") == ";"
    assert sniff._agreed(",", "a,b;c") == ","
    with pytest.raises(RefusedError, match=r"--sep a tab does not occur in the first line, which has '\|'"):
        sniff._agreed("\t", "a|b")


def test_cells_of_columns_without_what_is_missing():
    rows = [(1, ["1", "x"]), (2, ["NA"]), (3, ["3", "", "z"])]
    assert sniff.columns_of(rows, frozenset({"NA", ""})) == [["1", "3"], ["x"], ["z"]]
    assert sniff.columns_of([], frozenset()) == [[]]
    # Eight rows at least, and no more than 4,000 cells.
    assert [len(column) for column in sniff.columns_of([(1, ["1"] * 2)] * 3000, frozenset())] == [2000, 2000]
    assert {len(column) for column in sniff.columns_of([(1, ["1"] * 1000)] * 20, frozenset())} == {8}


@pytest.mark.parametrize(("cells", "blank"), [([], True), ([" "], True), (["", ""], False), (["x"], False)])
def test_what_pandas_passes_over(cells, blank):
    assert sniff.is_blank(cells) is blank


@pytest.mark.parametrize(("sep", "shown"), [("", "none"), ("\t", "a tab"), (";", "';'")])
def test_separators_in_words(sep, shown):
    assert sniff._shown(sep) == shown


YEARS = b"#a,b,c\n2019,2020,2021\n5,6,7\n8,9,1\n"
UNKNOWN = b"#a,b\n?,1.5\n2.5,?\n3.5,4.5\n"


@pytest.mark.parametrize(
    ("sample", "settings", "width", "header"),
    [
        # The last line of a part may be cut, and a quote may go on beyond it; the only line is kept.
        (b"a,b\n1,2\n3,4\n5", {"whole": False}, 2, 1),
        (b'a,b,c\n1,2,3\n4,"5\n6', {"whole": False}, 3, 1),
        (b"a,b\n5", {"whole": False}, 2, 1),
        (b"a,b", {"whole": False}, 2, 1),
        (b"a,b,\n", {}, 3, 1),
        (b"a,b\tc,d\n1,2\t3,4\n5,6\t7,8\n", {"usual": "\t"}, 2, 1),
        # A line above numbers that might be years, or a value that is missing, names the columns all the same.
        (YEARS, {}, 3, 1),
        (UNKNOWN, {"given": sniff.Given(na_values=("?",))}, 2, 1),
        (UNKNOWN, {}, 2, 2),
    ],
)
def test_the_first_part_of_a_file(sample, settings, width, header):
    found = sniff.sniff(sample, **{"given": sniff.Given(), "whole": True, **settings})
    assert (found.width, found.header, found.trailing) == (width, header, False)


def test_a_whole_file_ends_in_a_whole_line():
    with pytest.raises(RefusedError, match="line 4 has 1 field, line 1 has 2"):
        sniff.sniff(b"a,b\n1,2\n3,4\n5", sniff.Given(), whole=True)


def test_what_means_missing():
    usual = sniff.Given().missing
    assert "?" not in usual
    assert sniff.Given(na_values=("?",)).missing == usual | {"?"}


@pytest.mark.parametrize(
    ("text", "detected", "expected"),
    [("a,b;c\nx,y;z\nu,v;w\n", ";", ";"), ("a,b;c\nx,y;z\nu,v;w\n", ",", ","), ("x, y\nfoo\nbar; baz\n", "", ",")],
)
def test_what_is_detected_holds_unless_another_one_fits_better(monkeypatch, text, detected, expected):
    monkeypatch.setattr(sniff, "_detected", lambda head, candidates: detected)
    assert sniff.find_separator(text) == expected


def test_four_hundred_rows_tell_enough():
    assert len(sniff.parsed("1,2\n" * 401, ",")) == 400
