from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from tests.reference.sweep import margins_of

from codekin.assignments import class_codeword_score
from codekin.assignments.exact import nth_assignment
from codekin.code import Assignment
from codekin.codebooks import CODEBOOKS
from codekin.decoding import MinimumLossDecoder
from codekin_studies import load_study, paper_studies, run_study, study_status, write_report
from codekin_studies.configuration import data_among
from codekin_studies.engine.workspace import Workspace
from codekin_studies.exhaustive.tasks import (
    CANDIDATES,
    PREDICTORS,
    choose_task,
    load_splits,
    load_sweep,
    sweep_task,
)
from codekin_studies.page_parts import Report
from codekin_studies.splits.dichotomies import load_problem, n_splits, one_vs_rest_confusion, split_signs, train_splits

TREE = {"name": "decision_tree", "min_samples_split": 3}


@pytest.fixture
def finished(study_file, tmp_path):
    study = load_study(str(study_file))
    status = run_study(study, tmp_path / "out", data_home=tmp_path, n_jobs=1)
    return study, Workspace(tmp_path / "out" / study.name, tmp_path), status


def test_a_study_does_what_its_data_allows_and_says_what_is_missing(finished, tmp_path):
    study, _, status = finished
    assert status.missing == ("absent",)
    assert status.is_finished
    assert status.n_run == status.n_tasks == 2 * (2 + 1 + 2)
    assert run_study(study, tmp_path / "out", data_home=tmp_path, n_jobs=1).n_run == 0
    assert study_status(study, tmp_path / "out", only=["tiny"], data_home=tmp_path).n_done == 5


@pytest.mark.parametrize("data", ["tiny", "trees"])
def test_every_assignment_is_worth_what_the_library_says(finished, data):
    study, workspace, _ = finished
    sweep = load_sweep(study, data, "dense-6", workspace)
    (entry,) = data_among(study, [data])
    task = sweep_task(study, entry, study.option("codebooks")[0])
    margins, _ = load_splits(task, workspace)
    problem = load_problem(data, entry.get("n_test"), 0)
    scores = {name: sweep.values(name) for name in PREDICTORS}
    assert len(sweep.n_correct) == factorial(5)
    for rank in range(0, 120, 13):
        order = nth_assignment(rank, 5, 5)
        coding_matrix = sweep.codebook.matrix[order]
        predicted = MinimumLossDecoder(coding_matrix, "hinge").decode(margins_of(coding_matrix, margins))
        assert sweep.n_correct[rank] == (predicted == problem.y_test).sum()
        score = class_codeword_score(sweep.codebook, Assignment(order), sweep.class_distances["means"])
        assert scores["means"][rank] == pytest.approx(score)
        found = sweep.lookup(order.tolist())
        assert found["rank"] == rank
        assert found["accuracy"] == pytest.approx(100 * (predicted == problem.y_test).mean())


def test_learnability_foresees_the_squared_error_of_least_squares(finished):
    study, workspace, _ = finished
    sweep = load_sweep(study, "tiny", "dense-6", workspace)
    distances = sweep.class_distances["learnability"]
    full = distances - np.diag(distances.sum(axis=1))
    values = sweep.values("learnability")
    for rank in range(0, 120, 29):
        bits = sweep.codebook.matrix[nth_assignment(rank, 5, 5)].astype(float)
        assert values[rank] == pytest.approx(np.mean([bit @ full @ bit for bit in bits.T]))


def test_equidistant_codebooks_have_constant_scores_and_fewer_distinct_assignments(finished):
    study, workspace, _ = finished
    result = Report(study, workspace).by_data(sweep_task)["tiny"]["hadamard-7"]
    assert result["n_distinct"] < 120
    assert result["predictors"]["means"]["r_squared"] is None
    assert result["predictors"]["loss"]["lowest"] is not None


def test_the_page_stands_alone_and_says_what_is_missing(finished, tmp_path):
    study, workspace, _ = finished
    page = write_report(study, tmp_path / "out", data_home=tmp_path)
    text = page.read_text(encoding="utf-8")
    for expected in (
        "tiny, linear SVMs",
        "trees, decision trees",
        "Skipped",
        "<code>absent</code>",
        "codekin study run",
    ):
        assert expected in text
    assert text.count('<img src="data:image/png;base64,') == 2 * (1 + 2 + 1)
    assert "http" not in text.replace("http://www.w3.org", "").replace("<meta http-equiv", "")
    assert f'<a href="{study.name}/index.html">' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert (workspace.folder / "figures" / "tiny-variation.svg").exists()


def test_a_study_without_results_has_no_page(study_file, tmp_path):
    with pytest.raises(ValueError, match="Nothing of the study 'small' is finished"):
        write_report(load_study(str(study_file)), tmp_path)


def test_splits_are_all_the_ways_to_divide_the_classes():
    signs = split_signs(np.arange(1, n_splits(5) + 1), 5)
    divisions = {tuple(column * column[-1]) for column in signs.T}
    assert len(divisions) == signs.shape[1] == 15
    assert all(len(set(division)) == 2 for division in divisions)


def test_averages_are_the_ends_of_the_line_and_the_means_of_the_extreme_thousandths(finished):
    study, workspace, _ = finished
    sweep = load_sweep(study, "tiny", "dense-6", workspace)
    values, accuracies = sweep.values("means"), sweep.accuracies
    found = sweep.averages("means")
    slope, intercept = np.polyfit(values, accuracies, 1)
    assert found["line_low"] == pytest.approx(intercept + slope * values.min())
    assert found["line_high"] == pytest.approx(intercept + slope * values.max())
    # Of 120 assignments a thousandth is one.
    assert found["extreme_low"] == accuracies[values.argmin()]
    assert found["extreme_high"] == accuracies[values.argmax()]
    assert load_sweep(study, "tiny", "hadamard-7", workspace).averages("means") is None


def test_a_tenth_and_a_thousandth_of_many_assignments_are_averaged(finished):
    study, workspace, _ = finished
    small = load_sweep(study, "tiny", "dense-6", workspace)
    n = 3_000
    values = np.random.default_rng(0).permutation(n).astype(float)
    many = replace(small, n_correct=(n - values).astype(int), n_test=n)
    object.__setattr__(many, "values", lambda _: values)
    found = many.averages("loss")
    assert found["tenth_low"] == pytest.approx(100 * (n - np.arange(300)).mean() / n)
    assert found["tenth_high"] == pytest.approx(100 * (n - np.arange(n - 300, n)).mean() / n)
    assert found["extreme_low"] == pytest.approx(100 * (n - np.arange(3)).mean() / n)
    assert found["extreme_high"] == pytest.approx(100 * (n - np.arange(n - 3, n)).mean() / n)
    assert found["line_high"] == pytest.approx(100 / n)


@pytest.mark.usefixtures("study_file")
def test_samples_of_unit_norm_are_a_choice_of_their_own(study_file, tmp_path):
    plain = load_problem("tiny", 60, 0)
    scaled = load_problem("tiny", 60, 0, scaling="unit_norm")
    np.testing.assert_allclose(np.linalg.norm(scaled.X_test, axis=1), 1, rtol=1e-6)
    largest = np.abs(plain.X_train).max()
    assert largest == 1
    np.testing.assert_allclose(
        scaled.X_train * np.linalg.norm(plain.X_train, axis=1)[:, None], plain.X_train, atol=1e-6
    )
    text = study_file.read_text()
    explicit, other = (
        text.replace("n_test = 60", f"n_test = 60\nscaling = '{name}'") for name in ("largest", "unit_norm")
    )
    keys = []
    for content in (text, explicit, other):
        study_file.write_text(content)
        study = load_study(str(study_file))
        keys.append(sweep_task(study, study.option("data")[0], study.option("codebooks")[0]).key)
    assert keys[0] == keys[1] != keys[2]
    assert run_study(study, tmp_path / "out", only=["tiny"], n_jobs=1).is_finished
    page = write_report(study, tmp_path / "out").read_text(encoding="utf-8")
    assert "Every sample of <code>tiny</code> is divided by its Euclidean norm" in page


@pytest.mark.usefixtures("study_file")
def test_a_split_does_not_depend_on_its_company():
    problem = load_problem("tiny", 60, 0)
    together, alone = (train_splits(problem, np.array(splits), TREE, 0)[1] for splits in ([3, 7], [7]))
    np.testing.assert_array_equal(together[:, 1], alone[:, 0])


@pytest.mark.usefixtures("study_file")
def test_confusion_counts_every_training_sample_once():
    problem = load_problem("tiny", 60, 0)
    counts = one_vs_rest_confusion(problem, {"name": "linear_svm", "C": 1.0}, 0)
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(problem.y_train))
    assert np.trace(counts) > counts.sum() / 2


@pytest.mark.parametrize("name", paper_studies())
def test_the_papers_studies_are_complete_and_can_be_planned(name, tmp_path):
    study = load_study(name)
    status = study_status(study, tmp_path, data_home=tmp_path)
    assert status.n_done == 0


def test_the_papers_codebooks_have_the_papers_distances():
    codes = {code["name"]: code for code in load_study("exhaustive").option("codebooks")}
    for name, expected in (("dense-8", 3), ("dense-15", 5)):
        code = codes[name]
        assert CODEBOOKS[code["codebook"]](10, **code["options"], rng=code["seed"]).min_distance == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'exhaustive'", "'title' is missing"),
        ("title = ", "this is not TOML"),
        ("kind = 'x'\ntitle = 't'", "'kind' must be one of .*exhaustive.* Got 'x' instead"),
        ("kind = 'exhaustive'\ntitle = 't'\nseed = 0\nsplits_per_task = 1", "'data' is missing"),
    ],
)
def test_a_study_that_cannot_be_understood_is_one_sentence(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        study_status(load_study(str(path)), tmp_path)


def test_a_study_that_is_not_there_names_those_that_are():
    with pytest.raises(FileNotFoundError, match="There is no study 'nothing'. The paper's are .*exhaustive"):
        load_study("nothing")


def test_a_penalty_can_be_chosen_by_cross_validation(study_file, tmp_path):
    study_file.write_text(study_file.read_text().replace("C = 1.0", 'C = "cross-validated"'))
    study = load_study(str(study_file))
    status = run_study(study, tmp_path / "out", only=["tiny"], n_jobs=1)
    assert status.stages[0] == ("choosing C", 1, 1)
    workspace = Workspace(tmp_path / "out" / study.name)
    found = workspace.journal.result(choose_task(study, study.option("data")[0]))
    assert found["C"] == CANDIDATES[int(np.argmax(found["accuracies"]))]
    assert "by 3-fold cross-validation" in write_report(study, tmp_path / "out").read_text(encoding="utf-8")
