import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codekin.decoding.losses import LOSSES, STABLE_UNITS, get_loss

margins = st.floats(-19, 19, allow_nan=False)


@pytest.mark.parametrize("name", LOSSES)
@given(f=margins)
def test_the_closed_form_is_half_the_difference_of_two_losses(name, f):
    loss = LOSSES[name]
    f = np.array([f])
    expected = (loss(-f) - loss(f)) / 2
    np.testing.assert_allclose(loss.agreement(f), expected, rtol=1e-9, atol=1e-12 * np.abs(loss(-np.abs(f))).max())


@pytest.mark.parametrize("name", LOSSES)
@given(f=margins)
def test_single_precision_stays_within_the_promised_error(name, f):
    loss = LOSSES[name]
    exact, f32 = np.array([f]), np.array([f], dtype=np.float32)
    for single, double in (
        (loss.agreement(f32), loss.agreement(exact)),
        ((loss(f32) + loss(-f32)) / 2, (loss(exact) + loss(-exact)) / 2),
    ):
        assert single.dtype == np.float32
        error = np.abs(single.astype(np.float64) - double)
        # A margin so close to zero that it underflows changes sign to zero; Hamming decoding never uses this path.
        if name != "hamming":
            assert error <= STABLE_UNITS * np.finfo(np.float32).eps * (1 + np.abs(double))


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ("linear", "squared")])
@given(a=margins, b=margins)
def test_a_larger_agreement_never_costs_more(name, a, b):
    low, high = sorted([a, b])
    assert LOSSES[name](np.array([high]))[0] <= LOSSES[name](np.array([low]))[0] + 1e-12


def test_the_paper_names_three_losses():
    z = np.array([-2.0, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(get_loss("hinge")(z), [3, 1, 0.5, 0])
    np.testing.assert_allclose(get_loss("exponential")(z), np.exp(-z))
    np.testing.assert_allclose(get_loss("hamming")(z), [1, 0.5, 0, 0])


def test_exponential_loss_is_clipped_instead_of_overflowing():
    assert np.isfinite(get_loss("exponential")(np.array([-1e6]))).all()


def test_a_callable_is_a_loss():
    loss = get_loss(lambda z: np.maximum(0, 2 - z))
    np.testing.assert_allclose(loss.agreement(np.array([0.5])), 0.5)


@pytest.mark.parametrize(("bad", "error"), [("hinges", ValueError), (3, TypeError)])
def test_an_unknown_loss_is_named(bad, error):
    with pytest.raises(error, match="'loss'"):
        get_loss(bad)
