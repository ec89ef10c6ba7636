import numpy as np
import pytest

from codekin_studies import load_study, run_study, write_report
from codekin_studies.engine.workspace import Workspace
from codekin_studies.splits.dichotomies import split_signs
from codekin_studies.splits.svm import fit_svms
from codekin_studies.synthetic import lines_of_bits, sweep_task, three_line_samples

LINES = {"angles": [0.0, 20.0, 110.0], "offset": 0.03, "gap": 0.03, "seed": 0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    output = tmp_path_factory.mktemp("out")
    study = load_study("synthetic")
    run_study(study, output, n_jobs=1)
    return study, output


def test_exactly_twelve_of_720_assignments_fit_the_samples(finished):
    study, output = finished
    found = Workspace(output / study.name).journal.result(sweep_task(study))
    assert (found["n_assignments"], found["n_perfect"], found["best"]) == (720, 12, 100)
    assert found["second_best"] < 95
    assert found["one_vs_rest"] < 95


def test_the_page_shows_samples_assignments_and_bits(finished):
    study, output = finished
    text = write_report(study, output).read_text(encoding="utf-8")
    assert text.count("<img src=") == 4
    assert "89.83" in text


def test_classes_lie_on_the_sides_that_their_codewords_name():
    X, y, codewords = three_line_samples(20, **LINES)
    turns = np.deg2rad(LINES["angles"])
    heights = X @ np.array([-np.sin(turns), np.cos(turns)]) - LINES["offset"]
    np.testing.assert_array_equal(np.sign(heights), codewords[y])
    assert np.abs(heights).min() > LINES["gap"]
    assert np.bincount(y).tolist() == [20] * 6


def test_lines_that_leave_too_few_regions_are_refused():
    with pytest.raises(ValueError, match="fewer than 6 regions"):
        three_line_samples(20, angles=[0.0, 0.0, 90.0], offset=0.0, gap=0.01, seed=0)


def test_the_lines_of_bits_are_those_of_their_splits():
    X, y, codewords = three_line_samples(20, **LINES)
    fitted = fit_svms(X, split_signs(np.arange(1, 32), 6)[y], C=1000.0)
    lines = lines_of_bits(codewords, np.column_stack([fitted.weights.T, fitted.bias]))
    margins = X @ lines[:, :2].T + lines[:, 2]
    np.testing.assert_array_equal(np.sign(margins), codewords[y])
