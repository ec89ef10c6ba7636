"""Training from the command line: what its options do, and that an interruption changes nothing."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from codekin import load_model
from codekin.cli.main import main
from codekin.codebooks import trellis_codebook
from codekin.learners import passes
from codekin.learners.tree_nodes import FinishedNodes
from codekin.storage import load_input
from tests.cli.conftest import CODEKIN, ENVIRONMENT


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_summary_says_what_was_made(topics, topics_model, succeed, tmp_path):
    options = ("--taxonomy", topics / "taxonomy.txt", "--width", 2)
    text = succeed("train", topics / "train.svm", tmp_path / "model", *options)
    assert text.startswith("accuracy                        not measured")
    assert "32 classes, 400 features, " in text
    assert "600 samples" in text
    assert "rho" not in text
    detailed = succeed("train", topics / "train.svm", tmp_path / "model", *options, "--details")
    assert "32 classes, 21 bits: trellis codebook, ordered assignment, arow learner\n" in detailed
    assert contents(tmp_path / "model") == contents(topics_model)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_json_is_one_object_on_stdout_and_progress_is_elsewhere(topics, run, tmp_path):
    shown = run("train", topics / "train.svm", tmp_path / "model", "--json", "--n-epochs", 2)
    summary = json.loads(shown.out)
    assert (summary["n_samples"], summary["n_features"], summary["n_classes"], summary["n_epochs"]) == (600, 400, 32, 2)
    assert summary["model_bytes"] == sum(map(len, contents(tmp_path / "model").values()))
    assert "reading" in shown.err
    assert run("train", topics / "train.svm", tmp_path / "model", "--quiet").err == ""


def test_options_are_those_of_the_estimator(topics, succeed, tmp_path):
    succeed(
        "train", topics / "train.svm", tmp_path / "model", "--width", 4, "--loss", "hinge", "--assignment", "random",
        "--r", 0.5, "--fit-intercept", "--average", "--class-weight", "balanced", "--n-epochs", 3, "--random-state", 7,
    )  # fmt: skip
    model = load_model(tmp_path / "model")
    assert (model.codebook_.trellis.width, model.loss_.name, model.assignment_.method) == (4, "hinge", "random")
    learner = model.learner_
    assert (learner.r, learner.n_epochs, learner.fit_intercept, learner.average) == (0.5, 3, True, True)
    assert (learner.class_weight, model.random_state) == ("balanced", 7)


def test_the_learner_is_chosen_by_width_by_name_or_by_validation(topics, succeed, tmp_path):
    def trained(*options):
        return json.loads(succeed("train", topics / "train.svm", tmp_path / "model", "--json", *options))["learner"]

    assert [trained("--width", width) for width in (2, 4)] == ["arow", "softmax"]
    assert trained("--estimator", "softmax") == "softmax"
    assert load_model(tmp_path / "model").loss_.name == "logistic"
    summary = json.loads(
        succeed("train", topics / "train.svm", tmp_path / "model", "--json", "--width", 4,
                "--validation", topics / "test.svm")
    )  # fmt: skip
    assert summary["nll"] <= summary["nll_before"]
    assert summary["learner"] == load_model(tmp_path / "model").report().learner


@pytest.mark.parametrize(("most", "options", "width"), [(29, (), 3), (30, ("--width", "auto"), 4)])
def test_a_number_of_bits_chooses_the_width(most, options, width, topics, succeed, tmp_path):
    given = ("--max-bits", most, *options)
    summary = json.loads(succeed("train", topics / "train.svm", tmp_path / "model", "--json", *given))
    assert (summary["width"], summary["n_bits"]) == (width, trellis_codebook(32, width).n_bits)
    assert summary["n_bits"] <= most < trellis_codebook(32, width + 1).n_bits


@pytest.mark.parametrize("option", ["--max-model-bytes", "--budget"])
def test_a_budget_chooses_the_recipe_and_inspect_shows_what_was_tried(option, topics, succeed, tmp_path):
    model = tmp_path / "model"
    held_out = ("--validation", topics / "test.svm", "--time-limit", 0.01)
    shown = succeed(
        "train", topics / "train.svm", model, option, "40kB", "--max-microseconds", 1e6, "--details", *held_out
    )
    assert sum(path.stat().st_size for path in model.iterdir()) <= 40_000
    for text in (shown, succeed("inspect", model)):
        assert "chosen within 39.1 KiB and 1e+06 microseconds" in text
    trials = json.loads(succeed("inspect", model, "--json"))["trials"]
    assert trials[-1]["fits"]
    assert trials[-1]["recipe"]["precision"] == "int8"


def test_neither_the_number_of_threads_nor_the_memory_of_the_weights_changes_anything(topics, succeed, tmp_path):
    common = (
        "train",
        topics / "train.svm",
        "--taxonomy",
        topics / "taxonomy.txt",
        "--n-features",
        20_000,
        "--width",
        2,
    )
    succeed(*common, tmp_path / "first", "--n-threads", 1, "--max-memory", "3MB")  # not enough for 21 bits at once
    succeed(*common, tmp_path / "second")
    weights = [load_model(tmp_path / name).model_.bits.weights for name in ("first", "second")]
    np.testing.assert_array_equal(*weights)


def test_texts_are_made_into_features_that_travel_with_the_model(icd, succeed, tmp_path):
    succeed("train", icd / "test.tsv", tmp_path / "model", "--hashing", "--n-features", 4096, "--ngrams", "1")
    vectorizer = load_input(tmp_path / "model").vectorizer
    assert (vectorizer.n_columns, vectorizer.n_features, vectorizer.blocks[0].ngrams) == (4096, 4096, (1, 1))


def test_validation_stops_early_calibrates_and_prunes(icd, succeed, tmp_path):
    options = (
        "--taxonomy",
        icd / "taxonomy.txt",
        "--validation",
        icd / "validation.tsv",
        "--max-features",
        4000,
        "--assignment",
        "preserving",
        "--json",
    )
    full = json.loads(succeed("train", icd / "train.tsv", tmp_path / "full", "--n-epochs", 3, *options))
    pruned = json.loads(
        succeed("train", icd / "train.tsv", tmp_path / "pruned", "--n-epochs", 3, "--prune", 0.01, *options)
    )
    measured = json.loads(succeed("evaluate", tmp_path / "full", icd / "validation.tsv", "--json"))
    assert full["validation_accuracy"] == pytest.approx(measured["accuracy"])  # that of the finished model
    assert full["validation_accuracy"] > 0.75
    assert full["temperature"] != 1
    assert pruned["model_bytes"] < full["model_bytes"]


def test_the_summary_begins_with_the_accuracy_on_validation_samples(icd, succeed, tmp_path):
    options = ("--validation", icd / "validation.tsv", "--n-epochs", 1)
    first, *others = succeed("train", icd / "test.tsv", tmp_path / "model", *options, "--details").splitlines()
    assert re.match(r"accuracy +\d+\.\d% +\(on [\d,]+ samples that the model has not learned from", first)
    for start in ("among the best 5 ", "always the most frequent class ", "the nearest class mean ", "next:"):
        assert any(line.startswith(start) for line in others)
    assert any("microseconds from text to class" in line for line in others)
    assert any(line.endswith("a page to type texts into") for line in others)
    assert any(re.search(r"error .* on [\d,]+ training samples", line) for line in others)


def test_files_whose_columns_are_not_a_label_and_a_text_get_a_note(run, tmp_path):
    source = tmp_path / "numbered.tsv"
    lines = [f"{i}\t{'cat' if i % 2 else 'dog'}\tthe {'mews' if i % 2 else 'barks'} {i}" for i in range(20)]
    source.write_text("\n".join(lines) + "\n")
    notes = run("train", source, tmp_path / "model", "--n-epochs", 1).err
    assert "no two lines have the same label" in notes
    assert "every line has more than two columns" in notes
    source.write_text("\n".join(line.split("\t", 1)[1] for line in lines) + "\n")
    notes = run("train", source, tmp_path / "model", "--n-epochs", 1).err
    assert "same label" not in notes
    assert "two columns" not in notes


def test_validation_samples_of_unknown_classes_are_refused_or_counted(topics, run, tmp_path):
    some, none = tmp_path / "some.svm", tmp_path / "none.svm"
    none.write_text("77 1:1\n78 2:1\n")
    shown = run("train", topics / "train.svm", tmp_path / "model", "--validation", none, "--quiet")
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert f"{none}: none of its 2 samples has a label of the training samples. Got 77, for example." in shown.err
    assert not (tmp_path / "model").exists()
    some.write_text("3 1:1\n78 2:1\n")
    shown = run("train", topics / "train.svm", tmp_path / "model", "--validation", some, "--quiet")
    assert (shown.code, shown.err.count("\n")) == (0, 1)
    assert "1 of the 2 validation samples have labels that no training sample has, 78 for example" in shown.err
    assert "0.0%  (on 2 samples that the model has not learned from; 1 sample of classes without" in shown.out


def test_halving_can_be_asked_for(topics, succeed, tmp_path):
    succeed("train", topics / "train.svm", tmp_path / "model", "--assignment", "halving", "--rerank", "none", "--quiet")
    model = load_model(tmp_path / "model")
    assert model.codebook_.tree is not None
    assert model.assignment_.method == "halving"


def test_an_assignment_from_a_file_goes_with_a_budget(topics, succeed, tmp_path):
    order = tmp_path / "order.json"
    succeed("assign", "--taxonomy", topics / "taxonomy.txt", "--output", order, "--quiet")
    summary = succeed(
        "train", topics / "train.svm", tmp_path / "model", "--assignment", order, "--max-model-bytes", "1MB",
        "--rerank", "none", "--json", "--quiet",
    )  # fmt: skip
    assert json.loads(summary)["ranking"] is None


def test_data_come_from_a_pipe_too(topics, topics_model, succeed, tmp_path):
    data = (topics / "train.svm").read_bytes()
    succeed("train", "-", tmp_path / "model", "--taxonomy", topics / "taxonomy.txt", "--width", 2, stdin=data)
    assert contents(tmp_path / "model") == contents(topics_model)


# ----- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--width", 1), "'--width': must be 'auto' or a whole number of at least 2. Got '1' instead"),
        (("--loss", "hinges"), "'--loss': must be one of auto, hinge, squared_hinge"),
        (("--max-model-bytes", "5XB"), "'--max-model-bytes'"),
        (
            ("--max-model-bytes", "1"),
            "There is no model within 1 B: labels and everything else besides the weights take",
        ),
        (("--max-microseconds", "-1"), "'--max-microseconds': must be a number above 0. Got '-1' instead"),
        (("--n-codes", "0"), "'--n-codes': must be 'auto' or a whole number of at least 1. Got '0' instead"),
        (("--prune", "2"), "'--prune': must be 'auto', 'none' or a number from 0 to 1. Got '2' instead"),
        (("--r", "-1"), "'--r': must be a number above 0. Got '-1' instead"),
        (("--estimator", "softmax", "--r", "2"), "--r 2.0 needs --estimator arow. Got --estimator softmax."),
        (("--estimator", "softmax", "--average"), "--average needs --estimator arow. Got --estimator softmax."),
        (("--time-limit", "5"), "--time-limit 5.0 needs a budget, --max-model-bytes or --max-microseconds"),
        (
            ("--max-bits", "9", "--width", "3"),
            "--max-bits 9 needs an automatic --width, which it chooses. Got --width 3.",
        ),
        (
            ("--n-reserved", "5", "--n-codes", "2"),
            "--n-reserved 5 needs a single code without re-ranking. Got --n-codes 2",
        ),
        (("--patience", "3"), "--patience 3 needs --validation FILE"),
        (("--taxonomy-layout", "paths"), "--taxonomy-layout paths needs --taxonomy FILE."),
        (("--resume", "--no-checkpoint"), "--resume needs checkpoints. Got --no-checkpoint."),
        (("--hashing",), "--hashing needs texts. Got features in "),
        (("--features", "words"), "--features words needs texts. Got features in "),
        (("--ngrams", "1,2"), "--word-ngrams 1,2 needs texts. Got features in "),
        (("--min-df", "2"), "--min-df 2 needs texts. Got features in "),
        (("--max-features", "9"), "--max-features 9 needs texts. Got features in "),
        (("--format", "npz", "--index-base", "1"), "--index-base 1 needs features with numbers, as svmlight files"),
        (("--assignment", "best"), "--assignment must be one of auto, preserving, breaking, random"),
        (("--assignment", "halving", "--code", "trellis"), "--assignment halving needs a tree. Got --code trellis."),
        (("--assignment", "tabu", "--code", "tree"), "--assignment tabu needs a trellis. Got --code tree."),
        (("--assignment", "none.json"), "none.json: there is no such file"),
        (("--taxonomy", "none.txt"), "none.txt: there is no such file"),
        (("--validation", "none.svm"), "none.svm: there is no such file"),
        (("--prune", "0.1"), "--prune 0.1 needs --validation samples"),
        (
            ("--word-ngrams", "2-1"),
            "must be one or two whole numbers from 1 on, the smaller one first, like 1,2. Got '2-1'",
        ),
        (("--n-epochs", "0"), "--n-epochs"),
        (("--format", "xls"), "'--format': must be one of auto, svmlight"),
        (("--n-features", "3"), "there are 3 features"),
    ],
)
def test_a_wrong_value_is_one_sentence_and_leaves_nothing(arguments, message, topics, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("train", topics / "train.svm", "model", *arguments, "--quiet")
    assert shown.code == 2
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"cat\ndog\ncat\n", b"3 5 2\n0\n1\n0\n"], ids=["svmlight", "xmc"])
@pytest.mark.parametrize("options", [(), ("--max-model-bytes", "1MB"), ("--cache", "../cache")], ids=str)
def test_samples_without_features_train_no_model(content, options, run, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "data").write_bytes(content)
    shown = run("train", "../data", "model", "--quiet", *options)
    assert shown.code == 2
    assert shown.out == ""
    assert shown.err == "codekin: ../data: none of its 3 samples has any feature to learn from.\n"
    assert list(Path().iterdir()) == []


TEXTS = b"fruit\tred apple\ncar\tfast car\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--hashing", "--min-df", "2"), "--min-df 2 needs a vocabulary. Got --hashing."),
        (("--hashing", "--max-features", "2"), "--max-features 2 needs a vocabulary. Got --hashing."),
        (
            ("--features=characters", "--ngrams=1"),
            "--word-ngrams 1,1 needs --features with words. Got",
        ),
        (("--n-features", "64"), "--n-features 64 needs --hashing where there are texts, as in -; without it"),
        (
            ("--index-base", "1"),
            "--index-base 1 needs features with numbers, as svmlight files have them. Got tsv in -.",
        ),
        (("--min-df", "100"), "No features can be made from these 2 texts: nothing is in 100 of them."),
        (("--cache", "cache"), "--cache cache needs samples in a file. Got - instead, the standard input."),
        (("--validation", "-"), "The standard input can be read only once. Got - for DATA and for --validation."),
    ],
)
def test_what_texts_or_a_pipe_have_no_use_for_is_refused(arguments, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("train", "-", "model", *arguments, "--quiet", stdin=TEXTS)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert message in shown.err
    assert list(tmp_path.iterdir()) == []


def test_members_need_a_way_to_find_orders(topics, run, succeed, tmp_path):
    order = tmp_path / "order.json"
    succeed("assign", "--taxonomy", topics / "taxonomy.txt", "--output", order, "--quiet")
    shown = run("train", topics / "train.svm", tmp_path / "model", "--assignment", order, "--n-codes", 2, "--quiet")
    assert shown.code == 2
    assert "--n-codes 2 needs an --assignment that says how orders are found, by a name or a function." in shown.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1:1\nb 2:x\n", "data.svm, line 2"),
        (b"", "data.svm: there are no samples in it"),
        (b"a 1:1\na 2:1\n", "at least 2 classes"),
    ],
)
def test_a_broken_file_is_named_with_its_line(content, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.svm").write_bytes(content)
    shown = run("train", "data.svm", "model", "--quiet")
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert message in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["data.svm"]


@pytest.mark.parametrize("scale", ["e20", "e30", "e-30"])
@pytest.mark.parametrize("options", [(), ("--estimator", "softmax"), ("--rerank", "centroid")], ids=str)
def test_samples_of_impossible_size_are_one_sentence_before_training(scale, options, run, tmp_path):
    lines = [f"{k % 4} {k % 4 + 1}:{k}{scale} 5:1{scale}" for k in range(1, 41)]
    (tmp_path / "huge.svm").write_text("\n".join(lines) + "\n")
    shown = run("train", tmp_path / "huge.svm", tmp_path / "model", "--quiet", *options)
    assert shown.code == 2
    assert "for learners in single precision. Got" in shown.err
    assert shown.err.rstrip().endswith("scale the features.")
    assert not (tmp_path / "model").exists()


def test_a_sample_of_impossible_size_is_not_predicted(topics_model, run):
    shown = run("predict", topics_model, stdin=b"1:1 2:1\n1:1e20\n")
    assert (shown.code, shown.out) == (2, "")
    assert "The values of X must be at most 1e+15 for learners in single precision. Got 1e+20;" in shown.err


def test_a_taxonomy_without_a_class_is_named(topics, run, tmp_path):
    (tmp_path / "taxonomy.txt").write_text("root 0\nroot 1\n")
    shown = run("train", topics / "train.svm", tmp_path / "model", "--taxonomy", tmp_path / "taxonomy.txt", "-q")
    assert shown.code == 2
    assert "30 classes are not in the taxonomy" in shown.err


def test_what_is_in_the_way_is_found_before_the_training(topics, run, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "notes.txt").write_text("mine")
    shown = run("train", tmp_path / "no.svm", tmp_path / "model")
    assert shown.code == 2
    assert "is not a model folder" in shown.err


# ----- interruptions --------------------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(monkeypatch):
    """A function: lets the training be interrupted after so many epochs."""

    def after(n_epochs):
        told = passes.Passes._report

        def report(self, epoch_report):
            told(self, epoch_report)
            if epoch_report.epoch == n_epochs + 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(passes.Passes, "_report", report)
        return lambda: monkeypatch.setattr(passes.Passes, "_report", told)

    return after


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_a_resumed_training_ends_with_the_same_bytes(n_epochs, topics, topics_model, run, interrupted, tmp_path):
    mend = interrupted(n_epochs)
    arguments = ("train", topics / "train.svm", tmp_path / "model", "--taxonomy", topics / "taxonomy.txt", "--width=2")
    shown = run(*arguments, "--quiet")
    assert (shown.code, shown.out) == (130, "")
    assert f"Continue with: codekin train {topics / 'train.svm'}" in shown.err
    assert shown.err.endswith("--quiet --resume\n")
    assert not (tmp_path / "model").exists()
    mend()
    shown = run(*arguments, "--resume")
    assert shown.code == 0
    assert "resuming from the checkpoint" in shown.err
    assert contents(tmp_path / "model") == contents(topics_model)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_resumed_training_of_a_tree_ends_with_the_same_bytes(topics, succeed, run, monkeypatch, tmp_path):
    arguments = ("--code=tree", "--width=3", "--quiet")
    succeed("train", topics / "train.svm", tmp_path / "undisturbed", *arguments)
    add, learned = FinishedNodes.add, []

    def interrupt(self, node, of_node):
        add(self, node, of_node)
        learned.append(node)
        if len(learned) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FinishedNodes, "add", interrupt)
    assert run("train", topics / "train.svm", tmp_path / "model", *arguments, "--n-threads=1").code == 130
    assert (tmp_path / "model.checkpoint").is_dir()
    monkeypatch.setattr(FinishedNodes, "add", add)
    succeed("train", topics / "train.svm", tmp_path / "model", *arguments, "--resume")
    assert contents(tmp_path / "model") == contents(tmp_path / "undisturbed")
    assert not (tmp_path / "model.checkpoint").exists()


def test_an_interruption_before_the_first_epoch_leaves_nothing(topics, run, interrupted, tmp_path):
    interrupted(0)
    shown = run("train", topics / "train.svm", tmp_path / "model", "--code", "trellis", "--quiet")
    assert shown.code == 130
    assert "nothing to resume from" in shown.err
    assert list(tmp_path.iterdir()) == []


def test_resuming_with_other_options_or_without_a_checkpoint(topics, run, interrupted, tmp_path):
    mend = interrupted(2)
    arguments = ("train", topics / "train.svm", tmp_path / "model", "--quiet", "--width", 2)
    run(*arguments)
    mend()
    shown = run(*arguments, "--resume", "--r", 2)
    assert shown.code == 2
    assert "is of another training: its r is 1.0, not 2.0" in shown.err
    assert run(*arguments).code == 0  # starts again
    assert run(*arguments, "--resume").code == 0  # nothing to resume


@pytest.fixture(scope="module")
def long_training(topics, tmp_path_factory):
    """The arguments of a training of many epochs, but for the model, and the folder of the model it ends with."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "data.svm").write_bytes((topics / "train.svm").read_bytes() * 20)
    options = ["--n-epochs", "100", "--width", "8", "--assignment", "random", "--quiet"]
    assert main(["train", str(folder / "data.svm"), str(folder / "model"), "--no-checkpoint", *options]) == 0
    return [str(folder / "data.svm"), *options], folder / "model"


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_the_middle_of_a_training_and_the_way_on(name, code, long_training, run, tmp_path):
    (data, *options), undisturbed = long_training
    arguments = ["train", data, str(tmp_path / "model"), *options]
    # In the background of a shell Ctrl-C is ignored, which the process would inherit.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*CODEKIN, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGINT, before)
    description = tmp_path / "model.checkpoint" / "checkpoint.json"
    deadline = time.monotonic() + 60
    while not description.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (code, "", 1)
    assert err.endswith("--assignment random --quiet --resume\n")
    assert 1 <= json.loads(description.read_text())["progress"]["epoch"] < 100
    assert not (tmp_path / "model").exists()
    assert run(*arguments, "--resume").code == 0
    assert contents(tmp_path / "model") == contents(undisturbed)
    assert not description.parent.exists()
