"""The least value of a function of one number."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from codekin.learners.calibration import least_between

FUNCTIONS = {
    "parabola": lambda x: (x - 0.3) ** 2,
    "steep": lambda x: float(np.exp(3 * x) - 40 * x),
    "with a corner": lambda x: abs(x - 1.7) + 0.1 * x,
    "least at its lower end": lambda x: x,
    "least at its upper end": lambda x: -x,
    "with two minima": lambda x: float(np.cos(3 * x) + 0.1 * x),
    "constant": lambda x: 1.0,
    "with steps": lambda x: float(np.round(4 * (x - 0.5) ** 2)),
    "negative log-likelihood": lambda x: float(np.logaddexp(0, -np.exp(x) * 2) + 0.2 * np.exp(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bounds", [(-3.0, 3.0), (-7.5, 2.0), (0.0, 0.00001)])
def test_steps_are_those_of_scipy(name, bounds):
    own, others = [], []

    def own_calls(x):
        own.append(x)
        return FUNCTIONS[name](x)

    def other_calls(x):
        others.append(float(x))
        return FUNCTIONS[name](x)

    found = least_between(own_calls, *bounds)
    assert found == minimize_scalar(other_calls, bounds=bounds, method="bounded").x
    assert own == others
