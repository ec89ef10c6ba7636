import json

import numpy as np
import pytest

from codekin import load_model
from codekin.cli.assign import NEED_MORE
from codekin.codebooks import CODEBOOKS, dense_random
from codekin.storage import load_assignment

DISTANCES = "class,cat,dog,bus,car\ncat,0,1,4,4\ndog,1,0,4,4\nbus,4,4,0,1\ncar,4,4,1,0\n"


@pytest.fixture
def distances(tmp_path):
    path = tmp_path / "distances.csv"
    path.write_text(DISTANCES)
    return path


def test_similar_classes_get_similar_codewords(distances, succeed, tmp_path):
    shown = json.loads(succeed("assign", "--distances", distances, "-o", tmp_path / "a.json", "--json", "--classes", 4))
    assert shown["is_optimal"]
    assert [example["label"] for example in shown["classes"]] == ["cat", "dog", "bus", "car"]
    nearest = shown["classes"][0]["nearest"]
    assert nearest[0]["label"] == "dog"
    assert nearest[0]["codeword_distance"] == min(other["codeword_distance"] for other in nearest)
    saved = load_assignment(tmp_path / "a.json")
    assert saved.facts["score"] == shown["score"]
    codewords = saved.codebook.codewords(saved.for_labels(["dog", "cat", "car", "bus"]).codeword_of_class)
    assert (codewords[0] != codewords[1]).sum() == nearest[0]["codeword_distance"]


def test_text_for_people_and_what_was_torn(distances, succeed):
    shown = succeed("assign", "--distances", distances, "--method", "breaking", "--explain")
    assert "standard deviations above the mean of random assignments" in shown
    assert "similar classes that ended up far apart" in shown
    assert "cat and dog (1, " in shown or "bus and car (1, " in shown


def test_an_assignment_made_for_a_taxonomy_is_used_by_a_training(topics, succeed, tmp_path):
    common = ("--taxonomy", topics / "taxonomy.txt")
    succeed("assign", *common, "--width", 3, "--method", "tree_swaps", "--time-limit", 0.2, "-o", tmp_path / "a.json")
    succeed("train", topics / "train.svm", tmp_path / "model", "--assignment", tmp_path / "a.json", "--quiet")
    model, saved = load_model(tmp_path / "model"), load_assignment(tmp_path / "a.json")
    assert model.codebook_.trellis.width == 3
    np.testing.assert_array_equal(
        model.assignment_.codeword_of_class, saved.for_labels(model.classes_).codeword_of_class
    )


@pytest.mark.parametrize("name", [name for name in CODEBOOKS if name not in NEED_MORE])
def test_every_codebook_can_be_assigned(name, succeed, tmp_path):
    (tmp_path / "taxonomy.txt").write_text(
        "thing animal\nthing vehicle\nanimal cat\nanimal dog\nvehicle bus\nvehicle car\n"
    )
    needed = ("--n-symbols", 3) if name == "reed_solomon" else ()
    common = ("assign", "--taxonomy", tmp_path / "taxonomy.txt", "--json")
    shown = json.loads(succeed(*common, "--codebook", name, *needed))
    assert shown["codebook"].startswith(name)
    assert shown["n_classes"] == 4


def test_codewords_of_symbols_are_shown_saved_and_loaded(topics, succeed, tmp_path):
    common = ("assign", "--taxonomy", topics / "taxonomy.txt", "--codebook", "dense_random", "--n-symbols", 3)
    shown = json.loads(succeed(*common, "--json", "-o", tmp_path / "a.json"))
    saved = load_assignment(tmp_path / "a.json")
    assert saved.codebook.n_symbols == 3
    first = shown["classes"][0]
    assert first["bits"] == " ".join(map(str, saved.codebook.matrix[first["codeword"]]))
    assert "symbols" in succeed(*common, "--quiet")


def test_real_codewords_are_shown_saved_and_loaded(topics, succeed, tmp_path):
    common = ("assign", "--taxonomy", topics / "taxonomy.txt", "--codebook", "random_projection", "--n-bits", 3)
    shown = json.loads(succeed(*common, "--json", "-o", tmp_path / "a.json"))
    saved = load_assignment(tmp_path / "a.json")
    assert saved.codebook.is_real
    first = shown["classes"][0]
    assert first["bits"].split() == [str(float(x)) for x in saved.codebook.matrix[first["codeword"]].round(2)]
    assert "(class distance, codeword distance)" in succeed(*common, "--quiet")


def test_a_codebook_that_no_assignment_can_improve_is_a_warning_of_one_line(topics, run):
    shown = run("assign", "--taxonomy", topics / "taxonomy.txt", "--codebook", "hadamard", "--quiet")
    assert shown.code == 0
    assert shown.err.startswith("codekin: All codewords of this codebook are equally far apart")
    assert shown.err.count("\n") == 1
    assert "class-codeword score 0.1" in shown.out
    assert "the same for every assignment" in shown.out


def test_a_codebook_of_one_s_own(distances, succeed, tmp_path):
    codebook = dense_random(4, 6, rng=0)
    np.savetxt(tmp_path / "codebook.txt", codebook.matrix, fmt="%d")
    shown = json.loads(succeed("assign", "--distances", distances, "--codebook", tmp_path / "codebook.txt", "--json"))
    assert (shown["n_bits"], shown["n_classes"]) == (6, 4)


def test_distances_are_learned_from_data_and_texts(topics, icd, succeed, tmp_path):
    shown = json.loads(
        succeed(
            "assign", "--data", topics / "train.svm", "--method", "ordered", "--class-distances", "clustering", "--json"
        )
    )
    assert shown["z"] > 2
    lines = (icd / "test.tsv").read_text().splitlines()[:200]
    (tmp_path / "some.tsv").write_text("\n".join(lines))
    shown = json.loads(succeed("assign", "--data", tmp_path / "some.tsv", "--method", "random", "--json"))
    assert shown["method"] == "random"


def test_a_seed_determines_the_result(topics, succeed):
    arguments = ("assign", "--taxonomy", topics / "taxonomy.txt", "--method", "random", "--n-restarts", 5, "--json")
    first, again, other = (json.loads(succeed(*arguments, "--random-state", seed)) for seed in (1, 1, 2))
    assert (first["score"], first["classes"]) == (again["score"], again["classes"])
    assert first["classes"] != other["classes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of --distances, --taxonomy and --data. Got none of them"),
        (("--distances", "DISTANCES", "--taxonomy", "t"), "Got --distances, --taxonomy"),
        (("--distances", "none.csv"), "none.csv: there is no such file"),
        (("--distances", "bad.csv"), "bad.csv, line 2: 'x' is not a number"),
        (("--distances", "DISTANCES", "--method", "best"), "'--method': must be one of"),
        (("--distances", "DISTANCES", "--codebook", "best"), "--codebook must be one of"),
        (("--distances", "DISTANCES", "--codebook", "dense_random", "--n-bits", "1"), "1 bit"),
        (
            ("--distances", "DISTANCES", "--codebook", "dense_random", "--width", "2"),
            "--width 2 needs --codebook trellis",
        ),
        (("--distances", "DISTANCES", "--taxonomy-layout", "edges"), "--taxonomy-layout edges needs --taxonomy FILE"),
        (("--distances", "DISTANCES", "--format", "tsv"), "--format tsv needs --data FILE"),
        (("--distances", "DISTANCES", "--class-distances", "means"), "--class-distances means needs --data FILE, and"),
        (("--distances", "DISTANCES", "--time-limit", "-1"), "'--time-limit': must be a number above 0. Got '-1'"),
        (("--distances", "DISTANCES", "--method", "preserving", "--sense", "breaking"), "has its own sense"),
        (("--distances", "DISTANCES", "--method", "tree_swaps"), "tree"),
        (("--distances", "DISTANCES", "--codebook", "decoc"), "needs a tree of the classes; give one with --taxonomy"),
    ],
)
def test_errors_are_one_sentence_and_leave_nothing(arguments, message, distances, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("0,1\n1,x\n")
    before = set(tmp_path.iterdir())
    shown = run(
        "assign", *(distances if word == "DISTANCES" else word for word in arguments), "-o", "a.json", "--quiet"
    )
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert message in shown.err
    assert set(tmp_path.iterdir()) == before


def test_a_training_names_what_does_not_fit(distances, topics, run, succeed, tmp_path):
    def trained(*options):
        shown = run(
            "train", topics / "train.svm", tmp_path / "model", "--assignment", tmp_path / "a.json", "-q", *options
        )
        assert shown.code == 2
        assert not (tmp_path / "model").exists()
        return shown.err

    succeed("assign", "--distances", distances, "-o", tmp_path / "a.json")
    assert "no codeword for 32 of the 32 classes" in trained()
    succeed("assign", "--distances", distances, "--codebook", "dense_random", "-o", tmp_path / "a.json")
    assert "codewords of the codebook 'dense_random'; codekin train needs" in trained()
    succeed("assign", "--taxonomy", topics / "taxonomy.txt", "--method", "ordered", "-o", tmp_path / "a.json")
    assert "width 2. Got --width 3" in trained("--width", 3)
    (tmp_path / "a.json").write_text('{"format": "codekin-assignment", "format_version": 1}')
    assert "'codebook' is missing" in trained()
    (tmp_path / "a.json").write_text("nonsense")
    assert "is not JSON" in trained()


def test_learnability_is_searched_with_and_without_a_taxonomy(topics, succeed, run, tmp_path):
    for options in ((), ("--taxonomy", topics / "taxonomy.txt")):
        output = ("-o", tmp_path / "a.json", "--json")
        shown = json.loads(
            succeed("assign", "--data", topics / "train.svm", "--method", "learnability", *options, *output)
        )
        assert shown["z"] > 0
        succeed("train", topics / "train.svm", tmp_path / "model", "--assignment", tmp_path / "a.json", "--quiet")
    assert "needs --data" in run("assign", "--taxonomy", topics / "taxonomy.txt", "--method", "learnability").err
