"""From the text that templates render to values."""

import pytest

from compsil_airflow.coerce import cast


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ks", "2:5", [2, 3, 4, 5]),
        ("ks", "2:9:3", [2, 5, 8]),
        ("ks", "2, 3,5", [2, 3, 5]),
        ("ks", "[2, 3, 5]", [2, 3, 5]),
        ("ks", "(2, 3)", [2, 3]),
        ("ks", "7", [7]),
        ("ks", "range(2, 5)", range(2, 5)),
        ("ks", "range(2, 9, 3)", range(2, 9, 3)),
        ("ks", ["2", 3], [2, 3]),
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
        ("z", "1.5", 1.5),
        ("columns", "a, b", ["a", "b"]),
        ("columns", '["a, b", "c"]', ["a, b", "c"]),
        ("columns", "['a', 'b']", ["a", "b"]),
        ("columns", "", None),
        ("columns", ["a"], ["a"]),
        ("scale", "none", None),
        ("scale", "robust", "robust"),
        ("min_probability", "0.8", 0.8),
        ("fallback_k", "null", None),
        ("labels_path", "", None),
        ("data", "2:5", "2:5"),
    ],
)
def test_text_becomes_what_it_stands_for(name, text, value):
    found = cast(name, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ks", "two"),
        ("ks", "2:3:4:5"),
        ("ks", "9:2:-1"),
        ("ks", "2;3"),
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
def test_text_that_stands_for_nothing_names_its_parameter(name, text):
    with pytest.raises(ValueError, match=f"^{name} must "):
        cast(name, text)


def test_long_text_is_not_repeated_whole():
    with pytest.raises(ValueError, match="xxx\\.\\.\\.") as caught:
        cast("z", "x" * 5000)
    assert len(str(caught.value)) < 120
