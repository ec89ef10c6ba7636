import json

import joblib
import numpy as np
import pytest

from codekin.demo import run_demo
from codekin.demo.comparison import PROBLEMS, QUICK_CODES

pytestmark = pytest.mark.xdist_group("demo")


def test_every_code_is_compared_on_every_problem(quick_result):
    assert list(quick_result.comparisons) == list(PROBLEMS)
    for comparisons in quick_result.comparisons.values():
        assert [comparison.codebook for comparison in comparisons] == [codebook for codebook, _ in QUICK_CODES]
        for comparison in comparisons:
            assert {policy: values.shape for policy, values in comparison.accuracies.items()} == {
                "random": (2,),
                "preserving": (2,),
            }


def test_accuracies_are_percentages_above_chance(quick_result):
    values = np.concatenate([v for cs in quick_result.comparisons.values() for c in cs for v in c.accuracies.values()])
    assert values.min() > 25
    assert values.max() <= 100


def test_equidistant_codebooks_are_known(quick_result):
    assert quick_result.equidistant == {"hadamard"}


def test_the_numbers_do_not_depend_on_the_number_of_workers(quick_result):
    seen = []
    with joblib.parallel_config(backend="threading"):
        again = run_demo(n_draws=2, is_quick=True, n_jobs=2, progress=lambda done, total: seen.append((done, total)))
    assert again.as_dict()["accuracy_percent"] == quick_result.as_dict()["accuracy_percent"]
    n_parts = 2 * len(QUICK_CODES) * len(PROBLEMS)
    assert seen == [(done, n_parts) for done in range(1, n_parts + 1)]


def test_the_result_can_be_written_as_json(quick_result):
    entries = json.loads(json.dumps(quick_result.as_dict()))["accuracy_percent"]
    assert entries[0]["dataset"] == "digits"
    assert entries[0]["codebook"] == "dense_random"
    assert len(entries[0]["random"]) == 2
