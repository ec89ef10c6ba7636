import pytest

from codekin.demo import run_demo


@pytest.fixture(scope="session")
def quick_result():
    return run_demo(n_draws=2, is_quick=True)
