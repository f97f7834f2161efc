"""The other criteria beside the composite: exact values, textbook choices, plain words."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, pairwise_distances, silhouette_samples
from threadpoolctl import threadpool_info

from compsil_kit import ClusteringError, Comparison, Interrupted, SelectionResult, compare, select_k
from compsil_kit.criteria.criteria import Criterion, gap_rule, knee
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.method.plan import Plan
from compsil_kit.method.subsample import FURTHER_RUNS, REFERENCES, derive_seed
from compsil_kit.settings.rules import CRITERIA

KS = [2, 3, 4, 5]
SMALL = {"ks": KS, "n_subsamples": 4, "n_references": 3}


@pytest.fixture(scope="module")
def found(blobs):
    return compare(blobs, **SMALL)


@pytest.fixture(scope="module")
def fits(blobs, found):
    """The clusterings of all the data: one per seed and k, as the comparison makes them."""
    return {(seed, k): KMeans(k, n_init=1, random_state=seed).fit(blobs) for seed in found.plan.seeds for k in KS}


def mean_over_runs(fits, measure):
    return [np.mean([measure(fit) for (_, k), fit in fits.items() if k == wanted]) for wanted in KS]


def test_the_paper_table_for_its_imbalanced_set():
    assert compare(imbalanced_blobs()[0], n_jobs=2).choices == {
        "composite": 5, "micro": 2, "macro": 5, "full-micro": 2, "full-macro": 5, "calinski-harabasz": 10,
        "davies-bouldin": 5, "elbow": 5, "gap": 3,
    }  # fmt: skip


def macro_silhouette(points, labels):
    values = silhouette_samples(points, labels)
    return np.mean([values[labels == c].mean() for c in np.unique(labels)])


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("full-micro", lambda X, fit: silhouette_samples(X, fit.labels_).mean()),
        ("full-macro", lambda X, fit: macro_silhouette(X, fit.labels_)),
        ("calinski-harabasz", lambda X, fit: calinski_harabasz_score(X, fit.labels_)),
        ("davies-bouldin", lambda X, fit: davies_bouldin_score(X, fit.labels_)),
    ],
)
def test_all_data_values_are_those_of_scikit_learn(blobs, found, fits, name, measure):
    expected = mean_over_runs(fits, lambda fit: measure(blobs, fit))
    np.testing.assert_allclose(found.values[name], expected, rtol=1e-9)
    runs = {k: [measure(blobs, fit) for (_, other), fit in fits.items() if other == k] for k in KS}
    errors = [np.std(runs[k], ddof=1) / 2 for k in KS]
    np.testing.assert_allclose(found.errors[name], errors, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_repeats", [1, 4, 6])
def test_inertia_is_that_of_scikit_learn(blobs, n_repeats):
    """To the end, that is: k-means that stops early leaves its centres a little beside the means."""
    model = KMeans(n_init=1, tol=0, max_iter=1000)
    found = compare(blobs, criteria=["elbow"], clusterer=model, n_repeats=n_repeats, **SMALL)
    assert found.n_repeats == n_repeats
    first = found.plan.seeds[0]
    seeds = [*found.plan.seeds, *(derive_seed(first, i, stream=FURTHER_RUNS) for i in range(2))][:n_repeats]
    assert len(set(seeds)) == n_repeats
    expected = [
        np.mean([KMeans(k, n_init=1, tol=0, max_iter=1000, random_state=seed).fit(blobs).inertia_ for seed in seeds])
        for k in KS
    ]
    np.testing.assert_allclose(found.values["elbow"], expected, rtol=1e-9)


def test_subsample_values_are_those_of_select_k(blobs, found):
    selection = select_k(blobs, ks=KS, n_subsamples=4)
    np.testing.assert_array_equal(found.selection.micro, selection.micro)
    np.testing.assert_array_equal(found.values["composite"], selection.scores)
    np.testing.assert_array_equal(found.errors["composite"], selection.sem)
    np.testing.assert_array_equal(found.values["micro"], selection.curve["micro"])
    np.testing.assert_array_equal(found.values["macro"], selection.curve["macro"])
    assert {name: found.choices[name] for name in selection.choices} == selection.choices


def test_silhouettes_follow_the_metric(blobs):
    found = compare(blobs, criteria=["full-micro", "elbow"], metric="manhattan", ks=[3], n_subsamples=1)
    fit = KMeans(3, n_init=1, random_state=found.plan.seeds[0]).fit(blobs)
    expected = silhouette_samples(blobs, fit.labels_, metric="manhattan").mean()
    assert found.values.loc[3, "full-micro"] == pytest.approx(expected)
    assert found.values.loc[3, "elbow"] == pytest.approx(fit.inertia_, rel=1e-3)


def test_inertia_of_a_clusterer_that_is_not_k_means(blobs):
    found = compare(blobs, criteria="elbow", clusterer=lambda X, k, seed: np.arange(len(X)) % k, **SMALL)
    parts = [[blobs[at::k] for at in range(k)] for k in KS]
    expected = [sum(((part - part.mean(axis=0)) ** 2).sum() for part in split) for split in parts]
    np.testing.assert_allclose(found.values["elbow"], expected)


# The gap statistic.


def naive_gap(X, k, run_seeds, null_seeds):
    """Tibshirani, Walther and Hastie in plain loops: mean of the references' log dispersions minus the data's."""

    def log_dispersion(points, seed):
        labels = KMeans(k, n_init=1, random_state=seed).fit_predict(points)
        total = 0.0
        for c in range(k):
            members = [point for point, label in zip(points, labels, strict=True) if label == c]
            centre = [sum(values) / len(members) for values in zip(*members, strict=True)]
            total += sum(math.dist(point, centre) ** 2 for point in members)
        return math.log(total)

    low, high = X.min(axis=0), X.max(axis=0)
    nulls = [log_dispersion(np.random.default_rng(seed).uniform(low, high, size=X.shape), seed) for seed in null_seeds]
    observed = [log_dispersion(X, seed) for seed in run_seeds]
    mean = sum(nulls) / len(nulls)
    spread = math.sqrt(sum((value - mean) ** 2 for value in nulls) / len(nulls))
    return mean - sum(observed) / len(observed), spread * math.sqrt(1 + 1 / len(nulls))


def test_gap_against_plain_loops(blobs, found):
    seeds = found.plan.seeds
    null_seeds = [derive_seed(seeds[0], i, stream=REFERENCES) for i in range(3)]
    assert not set(seeds) & set(null_seeds)
    expected = [naive_gap(blobs, k, seeds, null_seeds) for k in KS]
    np.testing.assert_allclose(found.values["gap"], [gap for gap, _ in expected], rtol=1e-9)
    np.testing.assert_allclose(found.errors["gap"], [error for _, error in expected], rtol=1e-6)
    assert found.n_references == 3


@pytest.mark.parametrize(
    ("gaps", "errors", "expected"),
    [
        ([0.1, 0.5, 0.4, 0.9], [0.01] * 4, 1),
        ([0.1, 0.5, 0.55, 0.9], [0.01, 0.01, 0.1, 0.01], 1),
        ([0.5, 0.5, 0.9], [0.0] * 3, 0),
        ([0.1, 0.2, 0.3, 0.4], [0.01] * 4, 3),
        ([0.4], [0.1], 0),
        ([np.nan, 0.3, 0.2], [np.nan, 0.1, 0.1], 1),
        ([0.1, np.nan, 0.3, 0.4], [0.0, np.nan, 0.0, 0.0], 3),
        ([np.nan, np.nan], [np.nan, np.nan], None),
    ],
)
def test_the_rule_of_tibshirani_and_its_fallback(gaps, errors, expected):
    assert gap_rule(np.array(gaps), np.array(errors)) == expected


# The elbow.


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 5, 2, 1.8, 1.7, 1.6, 1.5], 2),
        ([100, 20, 18, 16, 14, 12, 10], 1),
        ([100, 80, 60, 40, 20, 18, 16], 4),
        (1 / np.arange(1, 11), 1),
        ([100, 30, 31, 12, 14, 11, 10], 1),
        ([100, 40, 12, 13, 12, 13, 12], 2),
        # Two bends alike: the first, whatever rounding says.
        ([100, 10, 5, 0.5, 0.25], 1),
        ([90, 9, 4.5, 0.45, 0.225], 1),
        # The first drop is larger, the second one larger for what was left.
        ([1000, 500, 450, 45, 40], 3),
        ([1, 2, 3, 10], 2),
        # Straight in the logarithm, or bent down throughout.
        (3 * 0.7 ** np.arange(12), None),
        ([5, 5, 5, 5], None),
        ([10, 9, 8, 7, 6], None),
        (np.linspace(100, 7, 11), None),
        ([5, 3, 1], None),
        ([5, 3], None),
        ([5], None),
        ([10, np.nan, 2, 1], None),
        ([10, 4, 2, np.nan], None),
        ([10, np.inf, 2, 1], None),
    ],
)
def test_knees_of_textbook_curves(values, expected):
    values = np.array(values, dtype=float)
    assert knee(values, values, range(2, 2 + len(values))) == expected


def test_a_knee_is_found_where_it_was_drawn():
    rng = np.random.default_rng(0)
    for at in range(1, 13):
        slopes = np.r_[0.0, np.full(at, -0.5), np.full(13 - at, -0.05)]
        values = np.exp(np.cumsum(slopes))
        for scale in (1e-300, 1e-6, 1, 7, 1e6, 1e300):
            assert knee(scale * values, values, range(2, 16)) == at
        assert knee(values * np.exp(rng.normal(0, 0.02, 14)), values, range(2, 16)) == at


def test_scale_does_not_matter():
    rng = np.random.default_rng(2)
    for _ in range(100):
        values = np.sort(rng.exponential(size=9))[::-1]
        at = knee(values, values, range(2, 11))
        assert {knee(scale * values, values, range(2, 11)) for scale in (1e-200, 0.1, 3, 1e200)} == {at}


def test_knee_against_plain_loops():
    """Any ks: the largest change of slope, with the logarithms' differences over the distance of the ks."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        ks = sorted(rng.choice(np.arange(2, 40), size=8, replace=False).tolist())
        values = np.sort(rng.uniform(1, 100, size=8))[::-1]
        slopes = [math.log(values[i + 1] / values[i]) / (ks[i + 1] - ks[i]) for i in range(7)]
        bends = [slopes[i + 1] - slopes[i] for i in range(6)]
        expected = bends.index(max(bends)) + 1 if max(bends) > 0 else None
        assert knee(values, values, ks) == expected


def test_candidates_that_are_far_apart_count_as_far_apart():
    values = np.array([100.0, 70.0, 45.0, 30.0, 1.0])
    assert knee(values, values, [2, 3, 4, 5, 6]) == 2
    assert knee(values, values, [2, 3, 4, 5, 50]) == 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100, 50, 20, 0, 0, 0], 3),
        ([100, 10, 0, 0], 2),
        ([100, 0, 0], 1),
        # What rounding leaves of nothing is nothing.
        ([100, 10, 4e-29, 2e-30, 0, 1e-29], 2),
        # The last k is no bend; the bend before it counts.
        ([100, 50, 20, 15, 0], 2),
        ([100, 10, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
@pytest.mark.parametrize("scale", [1e-200, 1, 1e200])
@pytest.mark.filterwarnings("error")
def test_inertia_may_reach_zero(values, expected, scale):
    values = scale * np.array(values, dtype=float)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert knee(values, values, range(2, 2 + len(values))) == expected


@pytest.mark.filterwarnings("error")
def test_as_many_clusters_as_distinct_points():
    """The points alone end with an inertia of 0; points that differ by next to nothing go on with as good as 0."""
    X = np.repeat([[0.0, 0.0], [1.0, 7.0], [5.0, 3.0], [9.0, 9.0]], 10, axis=0)
    settings = {"criteria": "elbow", "clusterer": "agglomerative", "n_subsamples": 2}
    found = compare(X, ks=range(2, 5), **settings)
    assert found.values.loc[4, "elbow"] == 0
    assert found.choices["elbow"] is None
    nearly = X + np.random.default_rng(0).normal(0, 1e-9, X.shape)
    assert compare(nearly, ks=range(2, 8), **settings).choices["elbow"] == 4


def test_no_curve_breaks_the_knee():
    rng = np.random.default_rng(1)
    for size in range(1, 30):
        for values in (rng.normal(size=size), np.sort(rng.exponential(size=size))[::-1], np.zeros(size)):
            at = knee(values, values, range(2, 2 + size))
            assert at is None or 0 < at < size - 1


# What a comparison says.


def made_up(choices, **changes):
    """A comparison whose criteria choose as told."""
    names = list(choices)
    rows = [np.array([float(k == choices[name]) if choices[name] else np.nan for k in KS]) for name in names]
    plan = Plan(
        n_rows=100, n_features=2, ks=tuple(KS), n_subsamples=3, n_calibration=0, sample_size=80, seeds=(1, 2, 3),
        clusterer="kmeans", metric="euclidean", dtype="float64",
    )  # fmt: skip
    criteria = tuple(Criterion(name, row, np.zeros(4)) for name, row in zip(names, rows, strict=True))
    return Comparison(plan, None, criteria, 3, 2, **changes)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ({"composite": 3, "micro": 3, "macro": 3}, "All 3 criteria choose k = 3."),
        ({"micro": 4}, "micro: k = 4."),
        (
            {"composite": 3, "micro": 2, "macro": 3, "full-micro": 2, "full-macro": 2},
            "3 of 5 choose k = 2: micro, full-micro, full-macro.\n2 of 5 choose k = 3: composite, macro.\n"
            "The composite's k = 3 is also chosen by 1 of the other 4 criteria.",
        ),
        (
            {"composite": 5, "micro": 2, "macro": 2},
            "2 of 3 choose k = 2: micro, macro.\n1 of 3 choose k = 5: composite.\n"
            "No other criterion chooses k = 5. Inspect the clusterings before relying on it.",
        ),
        ({"micro": 2, "macro": 3}, "1 of 2 choose k = 2: micro.\n1 of 2 choose k = 3: macro."),
        ({"micro": 2, "macro": None}, "1 of 2 choose k = 2: micro.\nNo choice: macro."),
        ({"composite": None}, "No choice: composite."),
    ],
)
def test_who_agrees_with_whom(choices, text):
    found = made_up(choices)
    assert found.choices == choices
    assert found.explain() == text


def test_tables(found):
    assert isinstance(found.values, pd.DataFrame)
    assert found.values.index.name == "k"
    assert found.values.index.tolist() == found.errors.index.tolist() == KS
    assert tuple(found.values.columns) == tuple(found.errors.columns) == CRITERIA == tuple(found.choices)


def test_text_in_a_terminal(found):
    lines = repr(found).splitlines()
    assert lines[0] == "Comparison over k in 2..5; * marks each choice"
    assert lines[2].split() == ["k", *CRITERIA]
    assert [line.split()[0] for line in lines[3:]] == [str(k) for k in KS]
    for at, name in enumerate(CRITERIA, start=1):
        starred = [int(line.split()[0]) for line in lines[3:] if line.split()[at].startswith("*")]
        assert starred == [found.choices[name]]
    assert len({len(line) for line in lines[2:]}) == 1


def test_undefined_values_are_dashes_in_a_terminal():
    assert repr(made_up({"micro": None})).splitlines()[3].split() == ["2", "–"]


def test_strict_json(found):
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["format"] == "compsil-kit/comparison"
    assert data["ks"] == KS
    assert data["choices"] == found.choices
    assert data["values"]["gap"] == found.values["gap"].tolist()
    assert data["errors"]["elbow"] == found.errors["elbow"].tolist()
    assert (data["n_repeats"], data["n_references"], data["n_failed"]) == (4, 3, 0)
    assert SelectionResult.from_dict(data["selection"]).best_k == found.choices["composite"]
    undefined = json.loads(json.dumps(made_up({"micro": None}).to_dict(), allow_nan=False))
    assert undefined["values"]["micro"] == [None] * 4
    assert undefined["selection"] is None


# Which criteria, on which data.


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ("all", CRITERIA),
        (["all"], CRITERIA),
        ("gap", ("gap",)),
        (["elbow", "composite"], ("composite", "elbow")),
        (("micro", "micro"), ("micro",)),
    ],
)
def test_a_choice_of_criteria(blobs, found, criteria, expected):
    some = compare(blobs, criteria=criteria, **SMALL)
    assert tuple(some.choices) == expected
    for name in expected:
        np.testing.assert_array_equal(some.values[name], found.values[name])
    assert (some.selection is None) == (not {"composite", "micro", "macro"} & set(expected))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"criteria": ["luck"]}, ValueError, "criteria must be among composite, .*gap; got 'luck'"),
        ({"criteria": "luck"}, ValueError, "criteria must be among"),
        ({"criteria": []}, TypeError, "criteria must be 'all' or a list of names"),
        ({"criteria": None}, TypeError, "criteria must be 'all' or a list of names; got None"),
        ({"criteria": {"gap"}}, TypeError, "got a value of type set"),
        ({"criteria": np.array(["gap", "micro"])}, TypeError, "got a value of type ndarray"),
        ({"n_references": 1}, ValueError, "n_references must be an integer of at least 2; got 1"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be an integer of at least 1; got 0"),
        ({"ks": [1]}, ValueError, "at least 2; got 1"),
        ({"progress": "yes"}, TypeError, "progress must be"),
        ({"clusterer": "luck"}, ValueError, "clusterer must be one of"),
    ],
)
def test_wrong_settings(blobs, settings, error, message):
    with pytest.raises(error, match=message):
        compare(blobs, **settings)


def test_sparse_data(blobs):
    X = sparse.csr_array(np.where(blobs > 0, blobs, 0))
    with pytest.raises(ValueError, match="criteria calinski-harabasz, davies-bouldin, elbow, gap need dense points"):
        compare(X, **SMALL)
    criteria = ["composite", "micro", "macro", "full-micro", "full-macro"]
    found = compare(X, criteria=criteria, **SMALL)
    dense = compare(X.toarray(), criteria=criteria, **SMALL)
    np.testing.assert_allclose(found.values, dense.values, rtol=0, atol=1e-9)
    assert found.n_failed == 0


def test_distances(blobs):
    distances = pairwise_distances(blobs)
    settings = {"metric": "precomputed", "clusterer": "agglomerative", **SMALL}
    with pytest.raises(ValueError, match="need dense points, but X is distances alone"):
        compare(distances, **settings)
    found = compare(distances, criteria=["composite", "full-micro"], **settings)
    assert found.n_failed == 0
    assert found.choices["full-micro"] in KS


# Failures, threads, progress, interrupts.


def fails_at(*ks):
    def clusterer(points, k, seed):
        if k in ks:
            raise ValueError("not this one")
        return KMeans(k, n_init=1, random_state=seed).fit_predict(points)

    return clusterer


def test_a_failure_is_raised(blobs):
    with pytest.raises(ClusteringError, match="not this one"):
        compare(blobs, criteria="elbow", clusterer=fails_at(4), **SMALL)


def test_failures_can_be_skipped(blobs, found):
    some = compare(blobs, clusterer=fails_at(4), on_failure="skip", **SMALL)
    # Four subsamples, four runs on all the data, three references.
    assert some.n_failed == 11
    assert some.values.loc[4].isna().all()
    rest = some.values.drop(index=4)
    np.testing.assert_allclose(rest, found.values.drop(index=4), rtol=1e-9)
    assert 4 not in some.choices.values()
    assert some.choices["elbow"] is None
    assert "No choice: elbow." in some.explain()
    assert json.loads(json.dumps(some.to_dict(), allow_nan=False))["values"]["gap"][2] is None
    assert repr(some).splitlines()[5].split()[1:] == ["–"] * 9
    assert "nan" not in some._repr_html_()


def test_when_everything_fails(blobs):
    nothing = compare(blobs, clusterer=fails_at(*KS), on_failure="skip", **SMALL)
    assert set(nothing.choices.values()) == {None}
    assert nothing.n_failed == 4 * 11
    assert nothing.explain().startswith("No choice: composite, micro")


def test_a_clusterer_that_writes_into_its_input_reaches_nothing(blobs):
    def greedy(points, k, seed):
        points -= points.mean(axis=0)
        return np.arange(len(points)) % k

    X = np.array(blobs)
    for criterion in ("composite", "elbow"):
        with pytest.raises(ClusteringError, match="read-only"):
            compare(X, criteria=criterion, clusterer=greedy, **SMALL)
    np.testing.assert_array_equal(X, blobs)
    assert X.flags.writeable


def test_workers_do_not_matter(blobs, found):
    again = compare(blobs, n_jobs=2, **SMALL)
    pd.testing.assert_frame_equal(again.values, found.values, check_exact=True)
    pd.testing.assert_frame_equal(again.errors, found.errors, check_exact=True)


def test_another_seed_is_another_run(blobs, found):
    other = compare(blobs, random_state=43, **SMALL)
    assert not np.array_equal(other.values["gap"], found.values["gap"])
    assert not set(other.plan.seeds) & set(found.plan.seeds)


@pytest.mark.parametrize(
    ("criteria", "total"), [("all", 4 + 6 + 3), ("composite", 4), ("elbow", 6), (["gap", "micro"], 4 + 6 + 3)]
)
def test_progress_counts_to_what_was_announced(blobs, criteria, total):
    seen = []
    compare(blobs, criteria=criteria, n_repeats=6, progress=lambda *counts: seen.append(counts), **SMALL)
    assert seen == [(done, total) for done in range(1, total + 1)]


@pytest.mark.parametrize("stop_at", [2, 6, 10])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_the_threads_as_they_were(blobs, stop_at, n_jobs):
    """In the subsamples, in the runs on all the data, and in the references."""

    def stop(done, total):
        assert total == 11
        if done == stop_at:
            raise KeyboardInterrupt("enough")

    def settings():
        return {(pool["filepath"], pool["user_api"]): pool["num_threads"] for pool in threadpool_info()}

    before = settings()
    with pytest.raises(Interrupted, match=f"stopped after {stop_at} of 11 steps") as stopped:
        compare(blobs, n_jobs=n_jobs, progress=stop, **SMALL)
    assert settings() == before
    finished = {2: None, 6: ["composite", "micro", "macro"], 10: [name for name in CRITERIA if name != "gap"]}[stop_at]
    kept = stopped.value.result
    assert kept is None if finished is None else list(kept.values.columns) == finished
    assert compare(blobs, criteria="micro", **SMALL).choices["micro"] in KS
