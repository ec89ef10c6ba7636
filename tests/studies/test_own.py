"""A study of one's own file: any format, split or folds, any learner, up to twelve classes by streaming."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from tests.blobs import make_blobs_with_tree
from tests.reference.sweep import n_correct

from codekin.cli.main import main
from codekin.codebooks import dense_random
from codekin_studies import load_study, run_study, study_status, write_report
from codekin_studies.engine.workspace import Workspace
from codekin_studies.exhaustive.tasks import Sweep
from codekin_studies.own import streaming
from codekin_studies.own.samples import read_samples
from codekin_studies.own.tasks import load_sweep
from codekin_studies.splits import sweeps
from codekin_studies.splits.dichotomies import n_splits

LEARNER = '{ name = "sklearn.tree.DecisionTreeClassifier", max_depth = 2 }'
STUDY = f"""kind = "own"
title = "Mine"
seed = 0
splits_per_task = 8
[[data]]
name = "mine"
file = "mine.csv"
label = "kind"
ignore = ["row"]
folds = 3
learner = {LEARNER}
distances = "distances.csv"
[[codebooks]]
name = "dense-5"
codebook = "dense_random"
options = {{ n_bits = 5 }}
seed = 1
[[codebooks]]
name = "my-codebook"
file = "codebook.csv"
"""
NAMES = ("ant", "bee", "cat", "dog", "eel")


def write_table(path, n=120):
    """A table with a name of each row, a column of words and a gap."""
    data = make_blobs_with_tree(5, n, n_features=3, noise=1.0, rng=np.random.default_rng(0)).train
    lines = ["row,a,b,c,colour,kind"]
    for place, (x, y) in enumerate(zip(data.X, data.y, strict=True)):
        cells = [f"{value:.6g}" for value in x] + ["red" if x[0] > 0 else "blue"]
        cells[1] = "" if place == 7 else cells[1]
        lines.append(",".join([f"no {place}", *cells, NAMES[y]]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "mine.csv")
    matrix = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    rows = [f"{name},{','.join(map(str, row))}" for name, row in zip(NAMES, matrix, strict=True)]
    (tmp_path / "distances.csv").write_text("\n".join([f",{','.join(NAMES)}", *rows]) + "\n")
    codewords = dense_random(5, n_bits=6, rng=3).matrix
    (tmp_path / "codebook.csv").write_text("\n".join(",".join(map(str, row)) for row in codewords) + "\n")
    (tmp_path / "mine.toml").write_text(STUDY)
    return tmp_path


def test_every_assignment_of_a_file_is_worth_what_trying_it_gives(folder):
    study = load_study(str(folder / "mine.toml"))
    run_study(study, folder / "out", n_jobs=1)
    workspace = Workspace(folder / "out" / "mine")
    for code in ("dense-5", "my-codebook"):
        sweep = load_sweep(study, "mine", code, workspace)
        assert sweep.n_test == 120  # every sample, once
        for rank, order in list(enumerate(permutations(range(5))))[::17]:
            assert sweep.n_correct[rank] == n_correct(sweep.codebook.matrix, sweep.margins, sweep.y, list(order))
            found = sweep.lookup(list(order))
            assert (found["rank"], found["n_correct"]) == (rank, sweep.n_correct[rank])
            assert found["n_more_accurate"] == (sweep.n_correct > sweep.n_correct[rank]).sum()


def test_values_and_summary_agree_with_the_sweep_that_keeps_everything(folder):
    study = load_study(str(folder / "mine.toml"))
    run_study(study, folder / "out", n_jobs=1)
    workspace = Workspace(folder / "out" / "mine")
    sweep = load_sweep(study, "mine", "dense-5", workspace)
    kept = Sweep(
        *(sweep.codebook, sweep.n_correct, sweep.n_test, sweep.split_losses, sweep.class_distances, sweep.class_names)
    )
    for name in ("loss", "confusion", "means", "learnability", "given"):
        np.testing.assert_allclose(sweep.values(name), kept.values(name), atol=1e-9)
    summary = next(record.result for record in workspace.journal.records.values() if record.kind == "own.sweep")
    expected = kept.summary()
    for name in ("worst", "mean", "best", "quartiles"):
        assert summary[name] == pytest.approx(expected[name])
    assert summary["best_assignment"] == expected["best_assignment"]
    for name, found in expected["predictors"].items():
        assert summary["predictors"][name]["r_squared"] == pytest.approx(found["r_squared"])
        assert summary["predictors"][name]["slope"] == pytest.approx(found["slope"])


def test_parts_of_the_assignments_together_are_all_of_them(monkeypatch):
    monkeypatch.setattr(streaming, "PART", 24)
    rng = np.random.default_rng(0)
    codebook, y = dense_random(5, n_bits=6, rng=3), rng.integers(5, size=60)
    raw = np.concatenate([np.zeros((1, 60)), rng.normal(size=(n_splits(5), 60))])
    margins, losses = sweeps.rounded_margins(raw, 15), np.append(0, rng.random(n_splits(5)))
    distances = {"means": np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))}
    tables = streaming.split_values(codebook, losses, distances)
    given = codebook, margins, y, tables, distances
    parts = [streaming.swept_part(*given, part) for part in range(streaming.n_parts(5))]
    assert len(parts) == 5
    histogram = np.sum([arrays["histogram"] for _, arrays in parts], axis=0)
    summary = streaming.summary_of(codebook, [result for result, _ in parts], histogram, list(tables))
    monkeypatch.undo()
    result, arrays = streaming.swept_part(*given, 0)
    at_once = streaming.summary_of(codebook, [result], arrays["histogram"], list(tables))
    assert summary["n_assignments"] == histogram.sum() == 120
    assert summary["worst"] < summary["best"]
    apart, together = (found.pop("predictors")["means"]["r_squared"] for found in (summary, at_once))
    assert apart == pytest.approx(together)
    for name, value in at_once.items():
        assert summary[name] == (value if value is None else pytest.approx(value))
    for _, of_part in parts:
        np.testing.assert_array_equal(of_part["n_correct"], arrays["n_correct"][of_part["ranks"]])


def test_eleven_classes_are_counted_as_slowly_one_by_one():
    rng = np.random.default_rng(0)
    codebook, y = dense_random(11, n_bits=6, rng=0), rng.integers(11, size=30)
    raw = np.concatenate([np.zeros((1, 30)), rng.normal(size=(n_splits(11), 30))])
    margins = sweeps.rounded_margins(raw, 15)
    ranks = np.array([0, 5, 39_916_799, 20_000_000])
    counts = sweeps.count_correct(codebook, margins, y, ranks=ranks)
    for rank, count in zip(ranks, counts, strict=True):
        order = sweeps.nth_assignment(int(rank), 11, 11)
        assert count == n_correct(codebook.matrix, margins, y, order)


def test_a_study_of_a_file_is_on_a_page_and_is_found_again_from_elsewhere(folder, tmp_path, monkeypatch, capsys):
    assert main(["study", "run", str(folder / "mine.toml"), "--output", str(folder / "out"), "--n-jobs", "1"]) == 0
    page = (folder / "out" / "mine" / "index.html").read_text()
    assert "DecisionTreeClassifier" in page
    assert "given distances" in page
    assert "reliability" in page
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["study", "report", "--output", str(folder / "out")]) == 0
    capsys.readouterr()
    shown = ["study", "show", str(folder / "mine.toml"), "--data", "mine", "--codebook", "dense-5"]
    assert main([*shown, "--output", str(folder / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_more_accurate"] == 0


def test_a_new_configuration_runs_as_it_is(folder, capsys):
    (folder / "mine.toml").unlink()
    assert main(["study", "new", str(folder / "mine.csv"), "--label", "kind"]) == 0
    assert "codekin study run" in capsys.readouterr().out
    study = load_study(str(folder / "mine.toml"))
    assert study.options["data"][0]["ignore"] == ["row"]
    run_study(study, folder / "out", n_jobs=1)
    assert write_report(study, folder / "out").is_file()
    assert main(["study", "new", str(folder / "mine.csv"), "--label", "kind"]) == 2  # nothing is overwritten


def test_a_changed_file_is_studied_again_and_a_moved_one_is_not(folder):
    path = folder / "mine.toml"
    n_tasks = run_study(load_study(str(path)), folder / "out", n_jobs=1).n_run
    (folder / "moved").mkdir()
    for name in ("mine.csv", "distances.csv", "codebook.csv", "mine.toml"):
        (folder / name).rename(folder / "moved" / name)
    moved = load_study(str(folder / "moved" / "mine.toml"))
    assert run_study(moved, folder / "out", n_jobs=1).n_run == 0
    write_table(folder / "moved" / "mine.csv", n=130)
    assert run_study(moved, folder / "out", n_jobs=1).n_run == n_tasks


@pytest.mark.parametrize("name", ["mine.npz", "mine.svm", "mine.tsv", "mine.parquet", "mine.jsonl"])
def test_other_formats_give_the_same_samples(folder, name):
    samples = read_samples(folder / "mine.csv", label="kind", ignore=("row", "colour"))
    X, labels, path = np.nan_to_num(samples.X), [NAMES[k] for k in samples.y], folder / name
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": labels}
    if name == "mine.npz":
        np.savez(path, X=X.astype(np.float32), y=np.array(labels))
    elif name == "mine.svm":
        rows = [" ".join(f"{k}:{value}" for k, value in enumerate(row, start=1)) for row in X]
        path.write_text("".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True)))
    elif name == "mine.tsv":
        rows = ["\t".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        path.write_text("\n".join(["\t".join(columns), *rows]) + "\n")
    elif name == "mine.jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table(columns), path)
    found = read_samples(path, label=None if name in ("mine.npz", "mine.svm") else "kind")
    np.testing.assert_allclose(found.X, X, rtol=1e-6)
    assert [found.class_names[k] for k in found.y] == labels


def test_gaps_are_filled_and_features_scaled_by_training_samples_only(folder):
    from codekin_studies.own.samples import problem_of_fold

    samples = read_samples(folder / "mine.csv", label="kind", ignore=("row",))
    assert samples.feature_names == ("a", "b", "c", "colour=blue", "colour=red")
    assert np.isnan(samples.X[7, 1])
    fold = np.arange(60), np.arange(60, 120)
    problem = problem_of_fold(samples, fold, "standard")
    np.testing.assert_allclose(problem.X_train.mean(axis=0), 0, atol=1e-6)
    moved = samples.X.copy()
    moved[60:] += 100
    other = problem_of_fold(replace(samples, X=moved), fold, "standard")
    np.testing.assert_array_equal(problem.X_train, other.X_train)


WRONG = [
    ('file = "mine.csv"', 'file = "no.csv"', "line 7: There is no file .*no.csv"),
    ('label = "kind"', 'label = "sort"', "mine.csv: 'label' must name the column .* 'kind'. Got 'sort'"),
    ('ignore = ["row"]', 'ignore = ["raw"]', "mine.csv: 'raw' is no column of features. Those are row, a"),
    ('ignore = ["row"]\n', "", "column 'row' has 120 different texts, .* ignore = \\['row'\\]"),
    ("folds = 3\n", "", "'data\\[0\\]' must say one of 'n_test', 'folds' and 'test_file'. Got none"),
    ("folds = 3", "folds = 3\nn_test = 30", "must say one of .* Got 'n_test' and 'folds'"),
    ("folds = 3", "folds = 99", "'data\\[0\\].folds' must be from 2 to .* Got 99"),
    ("folds = 3", "n_test = 119", "'data\\[0\\].n_test' must be from 5 to 115"),
    ("DecisionTreeClassifier", "DecisionTree", "There is no sklearn.tree.DecisionTree."),
    ("sklearn.tree.DecisionTreeClassifier", "os.path.join", "os.path.join is not of scikit-learn, .* --trust os"),
    ("sklearn.tree.DecisionTreeClassifier", "sklearn.tree.export_text", "sklearn.tree.export_text is not a classifier"),
    ("DecisionTreeClassifier", "DecisionTreeRegressor", "DecisionTreeRegressor .* its bits have no margins"),
    ("max_depth = 2", "depth = 2", "DecisionTreeClassifier has no parameter 'depth'. It has "),
    ("max_depth = 2", "max_depth = -2", "The 'max_depth' parameter of DecisionTreeClassifier must be"),
    ('file = "codebook.csv"', 'file = "distances.csv"', "a codebook has entries -1 and \\+1 only"),
    ('file = "codebook.csv"', 'file = "codebook.csv"\nseed = 1', "'codebooks\\[1\\].seed' is not known"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), WRONG)
def test_every_mistake_is_one_sentence_and_leaves_nothing_behind(folder, capsys, old, new, sentence):
    path = folder / "mine.toml"
    assert old in STUDY
    path.write_text(STUDY.replace(old, new))
    assert main(["study", "run", str(path), "--output", str(folder / "out")]) == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert re.search(sentence, error), error
    assert not (folder / "out" / "mine").exists()


def test_learners_of_a_trusted_package_are_imported(folder, monkeypatch):
    (folder / "my_learners.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\nclass Mine(DecisionTreeClassifier):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    path = folder / "mine.toml"
    path.write_text(STUDY.replace("sklearn.tree.DecisionTreeClassifier", "my_learners.Mine"))
    options = ["--output", str(folder / "out"), "--no-report", "--n-jobs", "1"]
    assert main(["study", "run", str(path), *options]) == 2
    assert main(["study", "run", str(path), *options, "--trust", "my_learners"]) == 0
    assert study_status(load_study(str(path)), folder / "out").is_finished


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
def test_a_killed_study_of_a_file_ends_with_the_same_result(folder):
    path = folder / "mine.toml"
    path.write_text(STUDY.replace("splits_per_task = 8", "splits_per_task = 1"))
    run_study(load_study(str(path)), folder / "calm", n_jobs=1)
    command = [sys.executable, "-m", "codekin", "study", "run", str(path), "--output", str(folder / "disturbed")]
    command += ["--n-jobs", "1", "--no-report", "--quiet"]
    journal = folder / "disturbed" / "mine" / "journal.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    calm, disturbed = (Workspace(folder / name / "mine").journal.records for name in ("calm", "disturbed"))
    assert {key: record.result for key, record in calm.items()} == {
        key: record.result for key, record in disturbed.items()
    }
    assert {key: record.checksums for key, record in calm.items()} == {
        key: record.checksums for key, record in disturbed.items()
    }
