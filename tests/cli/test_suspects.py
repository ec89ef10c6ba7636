import csv
import json

import pytest

from codekin import TextClassifier
from codekin.cli.main import main
from codekin.data import read_data
from codekin.measures import class_report


@pytest.fixture(scope="module")
def diagnoses(tmp_path_factory, icd):
    """A file of 1,200 diagnoses, three of them with wrong labels, and a model of the others."""
    folder = tmp_path_factory.mktemp("suspects")
    lines = (icd / "train.tsv").read_text(encoding="utf-8").splitlines()
    counts = {}
    for line in lines:
        counts.setdefault(line.split("\t")[0], []).append(line)
    kept = [line for own in counts.values() if len(own) >= 40 for line in own][:1200]
    labels = [line.split("\t")[0] for line in kept]
    for row in (5, 500, 1000):
        other = labels[(row + 600) % 1200]
        assert other != labels[row]
        kept[row] = f"{other}\t{kept[row].partition(chr(9))[2]}"
    (folder / "train.tsv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert main(["train", str(folder / "train.tsv"), str(folder / "model"), "--features", "words", "--quiet"]) == 0
    return folder


def test_planted_labels_come_first_and_the_list_is_a_csv_file(diagnoses, succeed):
    target = diagnoses / "suspects.csv"
    shown = succeed("suspects", diagnoses / "model", diagnoses / "train.tsv", "-o", target, "--n-listed", 30, "-q")
    assert shown.endswith(f"written to {target}\n")
    with target.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 30
    assert {"6", "501", "1001"} <= {row["row"] for row in rows}
    listed = json.loads(succeed("suspects", diagnoses / "model", diagnoses / "train.tsv", "--json", "-q"))
    assert (listed["n_samples"], listed["n_judged"]) == (1200, 1200)
    assert [str(each["row"]) for each in listed["first"]] == [row["row"] for row in rows[:20]]


def test_a_number_of_rows_without_a_file_is_refused(diagnoses, run):
    shown = run("suspects", diagnoses / "model", diagnoses / "train.tsv", "--n-listed", 3)
    assert (shown.code, shown.out) == (2, "")
    assert "--n-listed 3 needs --output FILE.csv" in shown.err


def test_evaluate_by_class_says_what_the_library_says(diagnoses, succeed):
    shown = json.loads(succeed("evaluate", diagnoses / "model", diagnoses / "train.tsv", "--by-class", "--json", "-q"))
    data, whole = read_data(diagnoses / "train.tsv"), TextClassifier.load(diagnoses / "model")
    X = whole.vectorizer_.transform(list(data.texts))
    report = class_report(whole.predict(list(data.texts)), data.labels, X, data.texts, classes=whole.classes_)
    assert shown["by_class"] == json.loads(json.dumps(report.as_dict()))
    assert shown["by_class"]["confused"]
    tables = succeed("evaluate", diagnoses / "model", diagnoses / "train.tsv", "--by-class", "-q")
    assert str(report) in tables
