import numpy as np
import pytest

from codekin.assignments.exact import nth_assignment
from codekin.code import Codebook
from codekin.codebooks import dense_random, one_vs_rest
from codekin_studies import load_study, run_study, write_report
from codekin_studies.decoding import Outputs, spans_of_assignments, sweep_task, train_task
from codekin_studies.engine.workspace import Workspace

STUDY = """
kind = "decoding"
title = "Decoding"
seed = 0
n_spans = 50
n_trained = 40
n_multinomial = 3
[[data]]
name = "tiny"
n_test = 60
ridge = 0.001
[[codebooks]]
name = "dense-3"
codebook = "dense_random"
options = { n_bits = 3 }
seed = 0
[[codebooks]]
name = "dense-4"
codebook = "dense_random"
options = { n_bits = 4 }
seed = 0
"""


@pytest.fixture
def finished(study_file, tmp_path):
    path = study_file.with_name("learned.toml")
    path.write_text(STUDY)
    study = load_study(str(path))
    run_study(study, tmp_path / "out", n_jobs=1)
    return study, tmp_path / "out"


def test_training_in_full_gives_what_the_moments_give(finished):
    study, output = finished
    workspace = Workspace(output / study.name)
    for code in study.option("codebooks"):
        swept, trained = (make(study, study.option("data")[0], code) for make in (sweep_task, train_task))
        examined, ranks = (workspace.load(task, "ranks") for task in (swept, trained))
        is_known = np.isin(ranks, examined)
        assert is_known.sum() >= 10
        places = np.searchsorted(examined, ranks[is_known])
        in_full = workspace.load(trained, "n_correct")[is_known, 0]
        # Single precision may turn the prediction of a sample on a border.
        assert np.abs(workspace.load(swept, "learned")[places] - in_full).max() <= 1


def test_a_decoder_is_the_regression_of_one_hot_targets_on_the_margins():
    rng = np.random.default_rng(0)
    outputs, y = rng.normal(size=(200, 5)), rng.integers(0, 5, 200)
    columns = dense_random(5, 3, rng=0).matrix.astype(float)
    known = np.column_stack([np.ones(200), outputs @ columns])
    one_hot = np.eye(5)[y]
    scores = known @ np.linalg.lstsq(known, one_hot, rcond=None)[0]
    n_right, explained = Outputs.of(outputs, y, outputs).judged(columns, y)
    assert n_right == (scores.argmax(axis=1) == y).sum()
    variance = ((one_hot - one_hot.mean(axis=0)) ** 2).sum() - ((one_hot - scores) ** 2).sum()
    assert explained == pytest.approx(variance / 200)


def test_assignments_of_one_number_have_the_same_span_and_others_do_not():
    codebook = Codebook([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1], [1, 1, -1]])
    first, span_of_rank = spans_of_assignments(codebook)
    projections = []
    for rank in range(120):
        columns = np.column_stack([codebook.matrix[nth_assignment(rank, 5, 5)], np.ones(5)])
        projections.append((columns @ np.linalg.pinv(columns)).round(6) + 0.0)
    kinds = {tuple(p.ravel()): number for p, number in zip(projections, span_of_rank, strict=True)}
    assert len(kinds) == len(first) == len(set(kinds.values()))
    assert all(kinds[tuple(p.ravel())] == number for p, number in zip(projections, span_of_rank, strict=True))


def test_columns_that_span_everything_leave_one_span():
    assert len(spans_of_assignments(one_vs_rest(5))[0]) == 1


def test_the_page_shows_both_ways_to_decode(finished):
    text = write_report(*finished).read_text(encoding="utf-8")
    assert "by the loss" in text
    assert "with a learned decoder" in text
    assert text.count("<img src=") == 1  # three features: three bits span all that linear bits can say
