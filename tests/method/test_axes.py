import numpy as np
import pytest

from compsil_kit._method.reference_data import fix_axes, principal_axes

RANDOM = np.random.default_rng(0)


def rotation(d):
    return np.linalg.qr(RANDOM.normal(size=(d, d)))[0]


def centred(*shape):
    points = RANDOM.normal(size=shape)
    return points - points.mean(axis=0)


@pytest.mark.parametrize("shape", [(80, 5), (6, 20), (50, 1)], ids=["tall", "wide", "one column"])
def test_principal_axes_are_a_singular_value_decomposition(shape):
    points = centred(*shape)
    scores, spread, axes = principal_axes(points)
    np.testing.assert_allclose(scores * spread @ axes, points, atol=1e-9)
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-12)
    np.testing.assert_allclose(scores.T @ scores, np.eye(len(axes)), atol=1e-12)
    np.testing.assert_allclose(spread, np.linalg.svd(points, compute_uv=False)[: len(spread)])


def test_null_axes_are_dropped():
    scores, spread, axes = principal_axes(np.column_stack([centred(40, 2), np.zeros((40, 3))]))
    assert (scores.shape, spread.shape, axes.shape) == ((40, 2), (2,), (2, 5))
    assert principal_axes(np.zeros((4, 3)))[0].shape == (4, 0)
    assert principal_axes(np.zeros((4, 0)))[2].shape == (0, 0)


def test_signs_do_not_depend_on_the_decomposition():
    spread, axes = np.array([5.0, 3.0, 1.0]), rotation(3)
    fixed = fix_axes(spread, axes)
    np.testing.assert_allclose(np.abs((fixed * axes).sum(axis=1)), 1)
    for signs in ([-1, 1, 1], [1, -1, -1], [-1, -1, -1]):
        np.testing.assert_allclose(fix_axes(spread, axes * np.array(signs)[:, None]), fixed, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-8])
def test_equal_singular_values_give_the_same_axes_for_any_basis(noise):
    spread, axes = np.array([5.0, 2.0, 2.0, 2.0, 1.0]), rotation(5)
    spread = np.sort(spread + noise * RANDOM.normal(size=5))[::-1]
    fixed = fix_axes(spread, axes)
    np.testing.assert_allclose(fixed @ fixed.T, np.eye(5), atol=1e-12)
    for _ in range(5):
        turned = axes.copy()
        turned[1:4] = rotation(3) @ axes[1:4]
        np.testing.assert_allclose(fix_axes(spread, turned), fixed, atol=1e-9)


def test_axes_of_two_standardised_columns_do_not_depend_on_rounding():
    """Two standardised columns always have the axes (1, 1) and (1, -1), whose components tie."""
    spread, axes = np.array([2.0, 1.0]), np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    for last_bit in (-1e-15, 0.0, 1e-15):
        fixed = fix_axes(spread, -axes + np.array([[last_bit, 0.0], [last_bit, 0.0]]))
        np.testing.assert_allclose(fixed, axes, atol=1e-12)
