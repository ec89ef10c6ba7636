import pytest

from codekin.demo import run_demo, run_diagnoses


@pytest.fixture(scope="session")
def quick_result():
    return run_demo(n_draws=2, is_quick=True)


@pytest.fixture(scope="session")
def quick_diagnoses():
    return run_diagnoses(n_seeds=1)
