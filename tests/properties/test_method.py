"""Property-based tests of the method on generated data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from samples import made_up
from sklearn.metrics import silhouette_samples

import naive
from compsil_kit import select_k, silhouettes
from compsil_kit._config.values import validate_ks
from compsil_kit._method.selection import (
    TRANSFORMS,
    choose,
    combine,
    selectable,
    summarise,
    weigh,
)
from compsil_kit._method.subsample import make_seeds, resolve_sample_size, subsample_rows

silhouette_values = st.floats(-1, 1, allow_subnormal=False)
trials = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=silhouette_values)
pairs_of_trials = trials.flatmap(
    lambda micro: st.tuples(st.just(micro), hnp.arrays(np.float64, micro.shape, elements=silhouette_values))
)
names = st.sampled_from(sorted(TRANSFORMS))


@st.composite
def labelled_points(draw):
    n = draw(st.integers(4, 30))
    d = draw(st.integers(1, 4))
    k = draw(st.integers(2, min(5, n - 1)))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-100, 100, allow_subnormal=False, width=32)))
    labels = np.append(np.arange(k), draw(hnp.arrays(np.int64, n - k, elements=st.integers(0, k - 1))))
    return X, labels


@given(pairs_of_trials, names)
def test_weights_and_scores_equal_naive_loops(pair, transform):
    micro, macro = pair
    composite = combine(micro, macro, weigh(micro, macro, transform))
    summary = summarise(composite, 1.0)
    for row in range(len(micro)):
        expected = naive.composites(micro[row].tolist(), macro[row].tolist(), transform)
        np.testing.assert_allclose(composite[row], expected, rtol=0, atol=1e-14)
        mean, sem = naive.score(expected)
        np.testing.assert_allclose([summary.mean[row], summary.sem[row]], [mean, sem], rtol=0, atol=1e-14)


@given(trials, names)
def test_equal_averages_have_weight_one_half(micro, transform):
    assert np.all(weigh(micro, micro.copy(), transform) == 0.5)


@given(labelled_points())
def test_silhouettes_equal_scikit_learn(case):
    X, labels = case
    expected = silhouette_samples(X - X.mean(axis=0), labels)
    np.testing.assert_allclose(
        silhouettes(X, labels).per_point, naive.silhouettes_long_double(X, labels).astype(float), rtol=0, atol=1e-6
    )
    assert silhouettes(X, labels).micro == pytest.approx(expected.mean(), abs=1e-3)


@given(labelled_points(), st.permutations(range(5)))
def test_relabelling_clusters_has_no_effect(case, permutation):
    X, labels = case
    renamed = np.array(permutation)[labels]
    a, b = silhouettes(X, labels), silhouettes(X, renamed)
    np.testing.assert_allclose(a.per_point, b.per_point, rtol=0, atol=1e-9)
    assert a.macro == pytest.approx(b.macro, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(0, 6.3))
def test_translation_rotation_and_scale_have_no_effect(seed, shift, scale, angle):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = silhouettes((X @ turn) * scale + shift, labels).per_point
    np.testing.assert_allclose(found, silhouettes(X, labels).per_point, rtol=0, atol=1e-7)


@given(st.integers(2, 100_000), st.integers(2, 200))
def test_automatic_sample_size_equals_the_paper_up_to_a_limit(n, k_max):
    of_the_paper = naive.sample_size(n, k_max)
    assert resolve_sample_size("paper", n, k_max) == of_the_paper
    capped = min(of_the_paper, max(20_000, 30 * k_max))
    assert resolve_sample_size("auto", n, k_max) == (of_the_paper if n <= 50_000 else capped)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.data())
def test_a_subsample_is_a_draw_without_replacement(seed, n, data):
    m = data.draw(st.integers(1, n))
    rows = subsample_rows(seed, n, m)
    assert rows.tolist() == naive.subsample(seed, n, m).tolist()
    assert len(set(rows.tolist())) == m


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(0, 20), st.integers(0, 5))
def test_seeds_do_not_depend_on_the_number_of_subsamples(random_state, n, more, calibration):
    short = make_seeds(random_state, n, calibration)
    long = make_seeds(random_state, n + more, calibration)
    assert long[:n] == short[:n]
    assert short[n:] == long[n + more :]


@given(st.integers(0, 2**31))
def test_consecutive_random_states_have_no_common_seeds(random_state):
    assert not set(make_seeds(random_state, 50, 5)) & set(make_seeds(random_state + 1, 50, 5))


@given(st.lists(st.integers(2, 500), min_size=1))
def test_ks_are_sorted_and_distinct(ks):
    assert validate_ks(ks) == tuple(sorted(set(ks)))


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.sampled_from([0.1, 0.2, 0.3, np.nan])))
def test_ties_go_to_the_smaller_k(values):
    chosen = choose(values, np.ones(len(values), dtype=bool))
    if np.isnan(values).all():
        assert chosen is None
    else:
        assert chosen == np.flatnonzero(values == np.nanmax(values))[0]
        # Rounding errors, which depend on the CPU, must not change the choice.
        for last_bit in (-1e-15, 1e-15):
            assert choose(values + last_bit * np.arange(len(values)), np.ones(len(values), dtype=bool)) == chosen


@given(st.integers(1, 60), st.data())
def test_k_is_selectable_if_at_most_a_fifth_of_its_subsamples_failed(n, data):
    lost = data.draw(st.integers(0, n))
    values = np.ones((1, n))
    values[0, :lost] = np.nan
    assert selectable(values, n)[0] == (5 * lost <= n)


@given(pairs_of_trials, names, st.sampled_from(["max", "lcb"]))
def test_selection_probabilities_sum_to_one(pair, transform, rule):
    micro, macro = pair
    share = made_up(micro, macro, transform=transform, rule=rule).selection_probability
    if micro.shape[1] < 2:
        assert np.isnan(share).all()
    else:
        assert share.sum() == pytest.approx(1.0)


@given(st.integers(0, 10**6), st.sampled_from(["max", "lcb"]))
def test_the_whole_method_equals_a_naive_implementation(seed, rule):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + rng.integers(0, 3, size=(60, 1)) * 4

    def halves(part, k, seed):
        """Return clusters of equal size along the first axis, with noise that depends on the seed."""
        noise = np.random.RandomState(seed).normal(size=len(part)) / 10
        return np.argsort(np.argsort(part[:, 0] + noise)) * k // len(part)

    result = select_k(X, ks=[2, 3, 4], n_subsamples=4, sample_size=30, clusterer=halves, random_state=seed, rule=rule)
    scores, best = naive.select(X, [2, 3, 4], result.plan.seeds, 30, halves, z=1.0 if rule == "lcb" else 0.0)
    np.testing.assert_allclose(result.scores, list(scores.values()), rtol=0, atol=1e-12)
    assert result.best_k == best
