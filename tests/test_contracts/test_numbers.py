"""Numbers that several documents state are those of the table in which they were measured."""

import csv
import re
import sys

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def guides():
    """The module that reads the tables of the guides."""
    sys.path.insert(0, str(ROOT / "tools"))
    import guide_numbers

    yield guide_numbers
    sys.path.remove(str(ROOT / "tools"))


def stated(document, sentence):
    """The numbers that a document has where the sentence has #; the sentence must be there once."""
    text = " ".join((ROOT / document).read_text(encoding="utf-8").split())
    pattern = re.escape(sentence).replace(r"\#", r"(\d+(?:\.\d+)?)")
    (found,) = re.finditer(pattern, text)
    return [float(number) for number in found.groups()]


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("README.md", "Fitting takes # to # times as long"),
        ("docs/why.md", "fitting takes # to # times as long"),
        ("docs/guides/estimators.md", "fitting takes # to # times as long as one-vs-rest"),
        ("docs/measurements/never-behind.md", "`fit` takes # to # times as long as one-vs-rest"),
    ],
)
def test_all_pages_say_the_same_about_the_time_of_fitting(document, sentence, guides):
    medians = [
        guides.number(row["median time"])
        for row in guides.rows_of("never-behind")
        if "learner" in row and "cells" in row
    ]
    assert len(medians) == 10
    assert stated(document, sentence) == [min(medians), max(medians)]


def test_the_page_on_predictors_says_how_long_their_fits_took(guides):
    ratios = [
        guides.number(row["default, s"]) / guides.number(row["one-vs-rest, s"])
        for row in guides.rows_of("predictors")
        if "default, s" in row
    ]
    assert len(ratios) > 40
    assert stated("docs/measurements/predictors.md", "It takes # to # times as long") == [
        round(min(ratios), 1),
        round(max(ratios)),
    ]


def test_the_default_is_ahead_of_logistic_regression_where_the_pages_say_so(guides):
    rows = {row["set"]: row for row in guides.rows_of("predictors") if row.get("learner") == "logistic"}
    gains = [guides.number(row["default"]) - guides.number(row["native"]) for row in rows.values()]
    for row in rows.values():
        assert guides.number(row["log loss, default"]) < guides.number(row["log loss, native"])
    ends = [round(min(gains), 1), round(max(gains))]
    assert ends[0] > 0
    assert stated("README.md", "ahead on all # sets that we tried, by # to # points") == [len(rows), *ends]
    assert stated("docs/measurements/predictors.md", "more accurate on all # sets") == [len(rows)]
    letters, vowels = (
        [guides.number(rows[name][column]) for column in ("default", "native")] for name in ("letter", "vowel")
    )
    assert stated("README.md", "# against # % of the 26 letters, # against # % of the vowels") == letters + vowels
    assert stated("docs/measurements/predictors.md", "letter # and # %, vowel # and # %") == letters + vowels


def test_the_readme_has_the_letters_of_the_guide_on_decoding(guides):
    rows = guides.rows_of("decoding")
    (first,) = (i for i, row in enumerate(rows) if row.get("", "").startswith("letter"))
    of_bits = {row["bits"]: row for row in rows[first : first + 5]}
    one_vs_rest, one_vs_one = (guides.number(rows[first][name]) for name in ("one-vs-rest", "one-vs-one"))
    assert stated("README.md", "one-vs-rest with 26 (# and # %)") == [float(of_bits["5"]["preserving"]), one_vs_rest]
    assert stated("README.md", "one-vs-one with 325 (# and # %") == [float(of_bits["10"]["preserving"]), one_vs_one]


def test_the_readme_has_the_digits_of_the_guide_on_estimators(guides):
    rows = [row for row in guides.rows_of("estimators") if row.get("data") == "digits"]
    (same_bits,) = (row for row in rows if (row["learner"], row.get("bits")) == ("linear SVM", "10"))
    svm, tree = (row for row in rows if "one-vs-rest" in row and "×" not in row["one-vs-rest"])
    shown = {
        "One-vs-rest gets # % right, codekin's default # %": (svm, "one-vs-rest", "ECOCClassifier"),
        "`OutputCodeClassifier` gets # % and codekin's": (same_bits, "OutputCodeClassifier"),
        "code and assignment # %": (same_bits, "ECOCClassifier"),
        "15 trees get # % with codekin. One-vs-rest gets # %": (tree, "ECOCClassifier", "one-vs-rest"),
        "one-vs-one with 45 trees # %, a single tree # %": (tree, "one-vs-one", "on its own"),
        "a random forest of 15 trees # %": (tree, "forest"),
    }
    for sentence, (row, *columns) in shown.items():
        assert stated("README.md", sentence) == [guides.number(row[column]) for column in columns]


def test_the_readme_has_the_table_of_the_frontier(guides):
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("12,582 classes of short texts")[2]
    names = {
        "codekin by default": "ours, default",
        "PECOS XR-Linear": "PECOS XR-Linear",
        "omikuji, 1 tree": "omikuji, 1 tree",
        "omikuji, 3 trees": "omikuji, 3 trees",
        "napkinXC PLT": "napkinXC PLT",
        "one-vs-rest AROW": "one-vs-rest AROW",
        "the paper's trellis, width 2": "paper, width 2",
    }
    for shown, name in names.items():
        measured = guides.contender("wordnet_hypernym", name)
        check_row(text, shown, (measured.accuracy, measured.megabytes, measured.seconds, measured.microseconds))


def check_row(text, shown, numbers):
    """The first table of a text has a row of this name with these numbers, rounded."""
    cells, *_ = re.findall(rf"^\| {re.escape(shown)} \|(.*)\|$", text, re.MULTILINE)
    for cell, number in zip(cells.replace(",", "").replace(" ", "").split("|"), numbers, strict=True):
        half_a_digit = 0.5 * 10.0 ** -len(cell.partition(".")[2])
        assert float(cell) == pytest.approx(number, abs=half_a_digit + 1e-9), shown


def test_the_readme_has_the_table_of_texts():
    results = (ROOT / "docs" / "measurements" / "results" / "texts-1.csv").read_text(encoding="utf-8")
    measured = {row[0]: row[1:5] for row in csv.reader(results.splitlines())}
    names = {
        "`codekin train`": "codekin",
        "`codekin train --features words`": "codekin, words",
        "`TfidfVectorizer` + `LinearSVC`": "TF-IDF + LinearSVC",
        "the same with pairs of words and trigrams": "LinearSVC, words and trigrams",
        "`TfidfVectorizer` + `LogisticRegression`": "TF-IDF + LogisticRegression",
        "fastText, 25 epochs, pairs of words and trigrams": "fastText, characters",
        "omikuji, 3 trees": "omikuji, 3 trees",
        "PECOS XR-Linear": "PECOS XR-Linear",
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for shown, name in names.items():
        check_row(text, shown, map(float, measured[f"icd10cm_category, {name}"]))


def test_what_naive_bayes_loses_in_a_code_is_the_same_on_both_pages(guides):
    row = guides.row_of("estimators", classes="100", bits="67")
    measured = [guides.number(row[column]) for column in ("no code, %", "ECOCClassifier, %")]
    assert stated("docs/why.md", "is right in # % on its own and in # % as the bits of a code") == measured


def test_tables_of_measurements_are_made_from_the_stored_results():
    sys.path.insert(0, str(ROOT / "tools"))
    import measurements

    sys.path.remove(str(ROOT / "tools"))
    named = set()
    for page in measurements.PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert measurements.with_results(text) == text, f"Run: python tools/measurements.py ({page.name})"
        assert not re.search(r"^\|", measurements.PLACE.sub("", text), re.MULTILINE), f"{page.name}: a table by hand"
        named |= set(re.findall(r"results/[\w.-]+\.csv", text))
    assert named == {f"results/{path.name}" for path in (measurements.PAGES / "results").iterdir()}
