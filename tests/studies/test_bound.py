import numpy as np
import pytest

from codekin_studies import load_study, run_study, write_report
from codekin_studies.bound import error_and_bound, measure_task
from codekin_studies.engine.workspace import Workspace

STUDY = """
kind = "bound"
title = "Bounds"
seed = 0
n_assignments = 3
losses = ["hinge", "hamming"]
[[data]]
name = "tiny"
n_test = 60
learner = { name = "linear_svm", C = 1.0 }
[[codebooks]]
name = "dense"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 0
[[codebooks]]
name = "one-vs-rest"
codebook = "one_vs_rest"
"""


@pytest.fixture
def finished(study_file, tmp_path):
    path = study_file.with_name("bounds.toml")
    path.write_text(STUDY)
    study = load_study(str(path))
    run_study(study, tmp_path / "out", n_jobs=1)
    records = Workspace(tmp_path / "out" / study.name).journal
    data = study.option("data")[0]
    return (
        study,
        tmp_path / "out",
        {c["name"]: records.result(measure_task(study, data, c)) for c in study.option("codebooks")},
    )


def test_the_bound_holds_for_every_loss_and_assignment(finished):
    for found in finished[2].values():
        for loss in ("hinge", "hamming"):
            pairs = error_and_bound(found, loss)
            assert len(pairs) == 3
            assert (pairs[:, 0] <= pairs[:, 1]).all()


def test_equidistant_codebooks_have_no_spread_of_distances_nor_of_scores(finished):
    found = finished[2]["one-vs-rest"]
    assert found["is_equidistant"]
    assert found["spread_of_distances"] == 0
    assert found["spread_of_scores"] == pytest.approx(0, abs=1e-12)
    assert np.ptp([draw["losses"]["hinge"]["test_error"] for draw in found["draws"]]) == 0


def test_the_page_counts_how_often_the_bound_held(finished):
    study, output, _ = finished
    text = write_report(study, output).read_text(encoding="utf-8")
    assert "This bound held in 12 of 12 measurements" in text
    assert (
        "3 times; its bits were learned by linear SVMs, and training samples were decoded under the hinge and hamming"
        in text
    )
    assert text.count("<img src=") == 2


def test_a_codebook_is_made_for_the_distances_of_class_means(study_file, tmp_path):
    path = study_file.with_name("spectral.toml")
    code = 'name = "spectral"\ncodebook = "spectral"\nclass_distances = "means"\noptions = { repair = true }\n'
    path.write_text(f"{STUDY[: STUDY.index('[[codebooks]]')]}[[codebooks]]\n{code}")
    status = run_study(load_study(str(path)), tmp_path / "out", n_jobs=1)
    assert status.n_run == status.n_tasks == 1
