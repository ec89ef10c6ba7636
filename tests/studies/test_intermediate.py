import numpy as np
import pytest
from tests.blobs import make_blobs_with_tree
from tests.reference.scores import squared_score_moments

from codekin.classes import DenseDistances
from codekin.codebooks import CODEBOOKS
from codekin.data import DATASETS
from codekin.data.registry import DatasetEntry
from codekin_studies import load_study, run_study, write_report
from codekin_studies.engine.workspace import Workspace
from codekin_studies.intermediate import compare_task, random_scores

STUDY = """
kind = "intermediate"
title = "Twelve classes"
seed = 0
n_assignments = 3
n_random_scores = 50
metrics = ["taxonomy", "means"]
[[data]]
name = "twelve"
learner = { name = "least_squares", ridge = 0.001 }
[codebook]
codebook = "dense_random"
options = { n_bits = 7, n_draws = 100 }
seed = 0
"""


@pytest.fixture
def finished(tmp_path, monkeypatch):
    data = make_blobs_with_tree(12, 600, n_features=8, rng=np.random.default_rng(0))
    monkeypatch.setitem(DATASETS, "twelve", DatasetEntry(lambda _: data, 12, "made up"))
    path = tmp_path / "twelve.toml"
    path.write_text(STUDY)
    study = load_study(str(path))
    run_study(study, tmp_path / "out", n_jobs=1)
    return study, tmp_path / "out"


def test_searched_assignments_are_on_both_sides_of_random_ones(finished):
    study, output = finished
    for metric in study.option("metrics"):
        task = compare_task(study, study.option("data")[0], metric)
        policies = Workspace(output / study.name).journal.result(task)["policies"]
        scores = {policy: [one["score"] for one in rows] for policy, rows in policies.items()}
        assert max(scores["preserving"]) < min(scores["random"]) <= max(scores["random"]) < min(scores["breaking"])
        assert scores["portfolio"][0] <= min(scores["preserving"]) + 1e-9
        assert [len(rows) for rows in policies.values()] == [3, 3, 3, 1]


def test_the_page_has_a_figure_per_class_distance(finished):
    study, output = finished
    text = write_report(study, output).read_text(encoding="utf-8")
    assert text.count("<img src=") == 2
    assert "of 2 class distances" in text


def test_random_scores_have_the_moments_of_all_assignments():
    codebook = CODEBOOKS["dense_random"](12, 7, n_draws=100, rng=0)
    points = np.random.default_rng(0).normal(size=(12, 3))
    distances = DenseDistances(np.linalg.norm(points[:, None] - points, axis=-1))
    scores = random_scores(codebook, distances, 400, seed=0)
    mean, standard_deviation = squared_score_moments(codebook, distances)
    assert abs(np.mean(scores**2) - mean) < 5 * standard_deviation / 20
