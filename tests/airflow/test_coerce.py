"""From the text that templates render to, to values."""

import pytest

from compsil_airflow.parameters import parse_parameter


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ks", "2:5", range(2, 6)),
        ("ks", "2:9:3", range(2, 10, 3)),
        ("ks", "2, 3,5", [2, 3, 5]),
        ("ks", "[2, 3, 5]", [2, 3, 5]),
        ("ks", "(2, 3)", [2, 3]),
        ("ks", "7", [7]),
        ("ks", "range(2, 5)", range(2, 5)),
        ("ks", "range(2, 9, 3)", range(2, 9, 3)),
        ("ks", ["2", 3], [2, 3]),
        ("ks", ("2", "3"), [2, 3]),
        ("ks", range(2, 5), range(2, 5)),
        ("ks", 4, 4),
        ("n_subsamples", " 30 ", 30),
        ("n_jobs", "None", None),
        ("n_jobs", "-1", -1),
        ("sample_size", "auto", "auto"),
        ("sample_size", "500", 500),
        ("sample_size", "0.5", 0.5),
        ("random_state", "7", 7),
        ("random_state", "", None),
        ("random_state", "1,2,3", [1, 2, 3]),
        ("random_state", ["7"], [7]),
        ("random_state", "42:71", range(42, 72)),
        ("z", "1.5", 1.5),
        ("columns", "a, b", ["a", "b"]),
        ("columns", '["a, b", "c"]', ["a, b", "c"]),
        ("columns", "['a', 'b']", ["a", "b"]),
        ("columns", "", None),
        ("columns", ["a"], ["a"]),
        ("columns", ["a, b", "3"], ["a, b", "3"]),
        ("clusterer", "kmeans", "kmeans"),
        ("scale", "none", None),
        ("scale", "robust", "robust"),
        ("min_probability", "0.8", 0.8),
        ("min_confidence", "0.6", 0.6),
        ("n_starts", "5", 5),
        ("n_starts", "auto", "auto"),
        ("fallback_k", "null", None),
        ("labels_path", "", None),
        ("labels_keep", "a, b", ["a", "b"]),
        ("n_batches", "4", 4),
        ("checkpoint", "None", None),
        ("data", "2:5", "2:5"),
    ],
)
def test_text_becomes_a_value(name, text, value):
    found = parse_parameter(name, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ks", "two"),
        ("ks", "2:3:4:5"),
        ("ks", "9:2:-1"),
        ("ks", "2;3"),
        ("ks", ["2", "x"]),
        ("n_subsamples", "3.5"),
        ("n_subsamples", ""),
        ("sample_size", "half"),
        ("random_state", "x"),
        ("z", "wide"),
        ("columns", "[a, b"),
        ("min_probability", "often"),
        ("fallback_k", "3.0"),
    ],
)
def test_text_that_cannot_be_read_names_its_parameter(name, text):
    with pytest.raises(ValueError, match=f"^{name} must "):
        parse_parameter(name, text)


def test_long_text_is_not_repeated_whole():
    with pytest.raises(ValueError, match="xxx\\.\\.\\.") as caught:
        parse_parameter("z", "x" * 5000)
    assert len(str(caught.value)) < 120


def test_the_message_is_that_of_the_keyword():
    with pytest.raises(ValueError, match=r"^ks must look like 2:10, 2:20:2 or 2,3,5; got 'two'\.$"):
        parse_parameter("ks", "two")


def test_a_long_range_is_not_expanded():
    assert parse_parameter("ks", "2:1000000000") == range(2, 1_000_000_001)


def test_every_keyword_of_the_engine_is_read_by_its_definition():
    from compsil_kit._settings.keywords import SelectKeywords, TableKeywords, keywords_of

    for name, keyword in (keywords_of(SelectKeywords) | keywords_of(TableKeywords)).items():
        for word in keyword.choices:
            assert parse_parameter(name, word) == keyword.read(word)
