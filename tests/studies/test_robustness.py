import json
import shutil
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from codekin.assignments.exact import nth_assignment
from codekin.data import DATASETS, Dataset, Split
from codekin.data.registry import DatasetEntry
from codekin.decoding import MinimumLossDecoder
from codekin_studies import load_study, run_study, write_report
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness import page
from codekin_studies.robustness.results import Case, found_cases
from codekin_studies.robustness.sweeping import codebook_of, conditions, margins_under, swept_problem
from codekin_studies.robustness.tasks import settings_of
from codekin_studies.splits.dichotomies import least_squares, splits_of

STUDY = """
kind = "robustness"
title = "Robustness"
seed = 0
n_checked = 50
n_steps = 5
n_restarts = 2
[corruptions]
noise = 0.1
blur = 0.2
occlusion = 0.5
contrast = 0.5
code_bits = 0.2
weight_bits = 0.02
[[data]]
name = "patches"
n_test = 120
n_swept = 100
picture = [4, 4, 1]
ridge = 0.01
width = 1.0
transfer = [0.1]
radii = [0.05, 2.0]
network = { n_assignments = 6, n_hidden = 16, n_epochs = 60, n_samples = 20 }
capacities = [
  { features = 0, n_attacked = 60, n_samples = 20, seconds = 1.0 },
  { features = 30, n_attacked = 10, n_samples = 20, seconds = 1.0 },
]
[[codebooks]]
name = "dense-6"
codebook = "dense_random"
options = { n_bits = 6 }
seed = 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 5
    X = np.clip(rng.random((5, 16))[y] + 0.3 * rng.standard_normal((400, 16)), 0, 1)
    data = Dataset("patches", Split(y, X), tuple("abcde"))
    folder = tmp_path_factory.mktemp("robust")
    path = folder / "robust.toml"
    path.write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATASETS, "patches", DatasetEntry(lambda _: data, 5, "made up"))
        study = load_study(str(path))
        run_study(study, folder / "out", n_jobs=1)
        yield study, Workspace(folder / "out" / study.name)


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of the finished study, to be changed."""
    study, workspace = finished
    return study, Workspace(Path(shutil.copytree(workspace.folder, tmp_path / "out" / study.name)))


def cases(study):
    data = study.option("data")[0]
    return [one for capacity in data["capacities"] for one in settings_of(study, data, capacity)]


def test_swept_accuracies_under_every_condition_are_those_of_the_decoder(finished):
    study, workspace = finished
    for case in cases(study):
        for condition, task in case.sweeps().items():
            n_correct, given = workspace.load(task, "n_correct"), task.parameters
            codebook, margins = codebook_of(given, workspace), margins_under(condition, given, workspace)
            y = swept_problem(given, None).y_test
            assert len(n_correct) == factorial(5)
            for rank, count in enumerate(n_correct):
                matrix = codebook.matrix[nth_assignment(rank, 5, 5)]
                splits, sides = splits_of(matrix)
                right = MinimumLossDecoder(matrix, "hinge").decode((margins[splits] * sides[:, None]).T) == y
                assert count == right.sum()


def test_bits_trained_for_an_assignment_have_the_accuracy_of_the_sweep(finished):
    study, workspace = finished
    clean = cases(study)[0].sweeps()["clean"]
    problem, codebook = swept_problem(clean.parameters, None), codebook_of(clean.parameters, workspace)
    for rank in range(0, factorial(5), 7):
        matrix = codebook.matrix[nth_assignment(rank, 5, 5)]
        margins = least_squares(problem, matrix, 0, ridge=0.01)[1]
        n_right = (MinimumLossDecoder(matrix, "hinge").decode(margins) == problem.y_test).sum()
        # Single precision may turn the prediction of a sample on a border.
        assert abs(int(n_right) - int(workspace.load(clean, "n_correct")[rank])) <= 1


def test_attacks_leave_nothing_at_a_large_radius_and_less_at_larger_ones(finished):
    study, workspace = finished
    found = found_cases(study, study.option("data")[0], workspace)["dense-6"]
    assert [case.capacity for case in found] == ["plain", "30 features", "network"]
    for case in found:
        accuracies = np.array([case.under_attack.accuracies(place) for place in range(3)])
        assert accuracies[0].mean() > 40
        assert (np.diff(accuracies, axis=0) <= 0).all()
        assert not accuracies[-1].any()


def test_corruption_costs_accuracy_and_the_comparison_says_so(finished):
    study, workspace = finished
    for case in cases(study):
        found = workspace.journal.result(case.compare())["conditions"]
        assert list(found) == conditions(case.respond().parameters)
        assert found["clean"]["slope"] == pytest.approx([1, 0])
        for name in ("occlusion", "code_bits", "transfer 0.1"):
            assert found[name]["mean"] < found["clean"]["mean"]
        for one in found.values():
            assert one["min"] <= one["mean"] <= one["max"]
            errors = one["errors"]
            assert errors["within"]["all"] + errors["beyond"]["all"] == pytest.approx(100 - one["mean"], abs=5)


def test_matched_pairs_are_found_or_their_absence_is_reported(finished):
    study, workspace = finished
    for case in cases(study):
        task = case.pairs()
        found = workspace.journal.result(task)
        assert found["n_pairs"] == 0 or found["score_difference"] > 0


def test_a_run_whose_journal_lost_its_end_continues_to_the_same_results(copied):
    study, workspace = copied
    lines = workspace.journal_path.read_bytes().splitlines(keepends=True)
    before = {json.loads(line)["key"]: json.loads(line)["result"] for line in lines[1:]}
    arrays = {path.name: path.read_bytes() for path in (workspace.folder / "arrays").iterdir()}
    kept = 1 + len(before) // 2
    workspace.journal_path.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
    assert run_study(study, workspace.folder.parent, n_jobs=1).n_run == len(before) - kept + 1
    assert {key: record.result for key, record in workspace.journal.records.items()} == before
    assert {path.name: path.read_bytes() for path in (workspace.folder / "arrays").iterdir()} == arrays


def test_networks_are_trained_for_assignments_of_all_strata(finished):
    study, workspace = finished
    tasks = settings_of(study, study.option("data")[0])[0].networks()
    ranks = np.concatenate([workspace.load(task, "ranks") for task in tasks])
    assert len(set(ranks.tolist())) == 6


def test_the_page_has_a_verdict_every_figure_and_every_table(finished):
    study, workspace = finished
    text = write_report(study, workspace.folder.parent).read_text(encoding="utf-8")
    assert "preserving assignments are more accurate than breaking ones in" in text
    for code in study.option("codebooks"):
        assert f" with {code['name']}" in text.split("On clean samples, preserving gains over breaking, in points: ")[1]
    assert text.count("<img src=") == 4
    assert "counts of assignments of all strata" in text
    assert "in 3 of 3 cases" in text


def test_a_page_of_half_a_run_shows_what_is_there(copied):
    study, workspace = copied
    lines = workspace.journal_path.read_bytes().splitlines(keepends=True)
    n_swept = sum(b'"robustness.attack"' not in line and b'"robustness.network"' not in line for line in lines)
    workspace.journal_path.write_bytes(b"".join(lines[:n_swept]))
    text = write_report(study, workspace.folder.parent).read_text(encoding="utf-8")
    assert "Not finished, or not begun" in text


def test_losses_have_a_minus_sign_and_names_keep_their_hyphens(monkeypatch):
    case = Case("half-wide", "dense-6", compared={"conditions": {"clean": {"difference": [-1.25, 0.1]}}})
    assert page._clean_gains([case]) == "−1.2 (half-wide)"


def test_conditions_that_leave_nothing_right_do_not_count_for_the_verdict():
    relation = {"difference": [1.0, 0.1], "slope": [1.0, 0.1], "at_equal_accuracy": [0.0, 1.0]}
    compared = {name: {**relation, "mean": mean} for name, mean in (("clean", 80.0), ("noise", 60.0), ("blur", 0.2))}
    case = Case("plain", "dense-8", compared={"conditions": compared})
    assert "in 1 of 1 corrupted or attacked cases" in page.verdict("digits", {"dense-8": [case]})
