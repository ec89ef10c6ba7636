"""The examples run and show what they claim; the demo, `make demo`, writes its page and its numbers."""

import importlib.util
import json
import re
import runpy
import sys
import warnings

import joblib
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from tests.conftest import ROOT

DEMO, *EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ALT = re.compile(r"^# sphinx_gallery_alt = \"(.{30,110})\"$", re.MULTILINE)
pytestmark = pytest.mark.xdist_group("examples")


@pytest.fixture(scope="module")
def run():
    """A function from the first characters of an example's name to what it printed, its variables and its figures."""
    done = {}
    backend = mpl.get_backend()
    mpl.use("Agg")

    def once(number, capsys):
        if number not in done:
            (path,) = (path for path in EXAMPLES if path.name.startswith(number))
            pyplot.close("all")  # those of other tests
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive", UserWarning)
                variables = runpy.run_path(str(path), run_name="__main__")
            done[number] = capsys.readouterr().out, variables, len(pyplot.get_fignums())
            pyplot.close("all")
        return done[number]

    yield once
    mpl.use(backend)


def numbers_after(words, printed):
    """All numbers that are printed right after these words."""
    return [float(number.replace(",", "")) for number in re.findall(rf"{words}\s*([\d.,]*\d)", printed)]


def test_examples_are_numbered_without_gaps_and_the_demo_is_the_first():
    assert [int(path.name[:2]) for path in (DEMO, *EXAMPLES)] == list(range(len(EXAMPLES) + 1))
    assert len(EXAMPLES) >= 14


def test_examples_are_short_and_begin_with_a_title_and_the_reason():
    problems = []
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        wrong = {
            "has more than 90 lines": len(lines) > 90,
            "does not begin with a docstring": lines[0] != '"""',
            "has no title": lines[2] != "=" * len(lines[1]),
            "gives no reason": len(re.split(r"\.\s", " ".join(lines[4:]).split('"""')[0])) < 2,
        }
        problems += [f"{path.name} {problem}" for problem, holds in wrong.items() if holds]
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_draw_figures_and_describe_each(path, run, capsys):
    _, _, n_figures = run(path.name[:2], capsys)
    assert n_figures >= 1
    assert len(ALT.findall(path.read_text(encoding="utf-8"))) == n_figures


def test_eight_predictors_are_right_about_most_digits(run, capsys):
    printed, *_ = run("01", capsys)
    (share,) = numbers_after("linear predictors get", printed)
    assert share > 92
    assert "standard deviations below a random assignment's" in printed


def test_the_preserving_assignment_is_better_than_all_random_ones(run, capsys):
    _, variables, _ = run("02", capsys)
    assert variables["informed"] > max(variables["by_chance"])


def test_codebooks_matter_more_to_trees_than_to_linear_predictors(run, capsys):
    _, variables, _ = run("03", capsys)
    linear, trees = (list(variables["found"][name].values()) for name in ("linear", "trees"))
    assert np.ptp(linear) < 6 < 10 < np.ptp(trees)
    assert min(variables["found"]["trees"], key=variables["found"]["trees"].get)[0] == "one_vs_rest"


def test_learnability_is_the_best_of_the_distances_and_all_beat_chance(run, capsys):
    _, variables, _ = run("04", capsys)
    accuracies = variables["accuracies"]
    assert max(accuracies, key=accuracies.get) == "learnability"
    assert min(accuracies.values()) > variables["by_chance"]


def test_texts_of_hundreds_of_classes_are_learned_from_a_file(run, capsys):
    printed, variables, _ = run("05", capsys)
    assert "14709 texts, 374 classes" in printed
    assert variables["right"].mean() > 0.9
    assert variables["best"][0] == "E11"


def test_the_model_takes_no_more_bytes_than_it_may(run, capsys):
    printed, *_ = run("06", capsys)
    used, allowed, accuracy = re.search(r"([\d,]+) of ([\d,]+) bytes, accuracy (\S+)", printed).groups()
    assert int(used.replace(",", "")) <= int(allowed.replace(",", ""))
    assert float(accuracy) > 0.75


def test_similar_classes_sharing_symbols_help_most_when_columns_are_few(run, capsys):
    _, variables, _ = run("07", capsys)
    accuracies = variables["accuracies"]
    gains = [accuracies["preserving", n_bits] - accuracies["random", n_bits] for n_bits in (2, 4, 8)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 10 > gains[-1] > 0


def test_new_classes_are_learned_and_old_ones_are_not_forgotten(run, capsys):
    _, variables, _ = run("08", capsys)
    before, between, after = variables["steps"].values()
    assert between[0] == before[0]
    assert after[0] > before[0] - 3
    assert after[1] > 80


def test_classes_that_are_close_in_the_taxonomy_get_close_codewords(run, capsys):
    printed, *_ = run("09", capsys)
    siblings, cousins, others = (float(number) for number in re.findall(r"taxonomy: (\S+) bits", printed))
    assert siblings < cousins < others
    assert "password forgotten: password" in printed
    assert "courier with my delivery: pickup" in printed


def test_samples_on_disk_are_learned_as_well_as_those_in_memory(run, capsys):
    _, variables, _ = run("10", capsys)
    assert np.ptp(list(variables["accuracies"].values())) < 1.5


def test_a_cluster_learns_the_same_weights(run, capsys):
    printed, *_ = run("11", capsys)
    assert "2 workers" in printed
    assert "the same weights, to the last digit: True" in printed


def test_calibration_improves_the_probabilities_and_keeps_the_accuracy(run, capsys):
    printed, *_ = run("12", capsys)
    before, after = numbers_after("log loss", printed)
    assert after < before / 3
    assert abs(np.subtract(*numbers_after("accuracy", printed))) < 1.5


def test_sets_hold_the_true_label_as_often_as_asked(run, capsys):
    printed, *_ = run("13", capsys)
    sizes = []
    for asked, covered, size in re.findall(r"(\d+)% asked for, ([\d.]+)% covered by ([\d.]+) labels", printed):
        assert abs(float(covered) - float(asked)) < 2.5
        sizes.append(float(size))
    assert len(sizes) == 3
    assert sizes == sorted(sizes)


def test_contributions_add_up_to_the_score_and_say_why_it_is_no_seven(run, capsys):
    printed, variables, _ = run("14", capsys)
    assert "true 2, predicted 2, nearly 7" in printed
    explanation, difference = variables["explanation"], variables["difference"]
    total = explanation.contributions.sum(axis=1) + explanation.bias + sum(explanation.other.values())
    assert total == pytest.approx(explanation.scores, abs=1e-4)
    assert difference[:5].sum() < 0 < difference[5:].sum()


def test_the_predictor_answers_like_the_classifier(run, capsys):
    printed, variables, _ = run("15", capsys)
    assert re.findall(r": (\w+) \(", printed) == ["weather", "music", "alarm"]
    loaded, vectorizer, predictor = (variables[name] for name in ("loaded", "vectorizer", "predictor"))
    assert all(
        loaded.predict(vectorizer.transform([text]))[0] == predictor.predict(text) for text in variables["texts"]
    )


def test_easy_bits_and_similar_codewords_make_accurate_assignments(run, capsys):
    _, variables, _ = run("16", capsys)
    loss, score, accuracy = (variables[name] for name in ("loss", "score", "accuracy"))
    assert np.corrcoef(loss, accuracy)[0, 1] < -0.7
    assert np.corrcoef(score, accuracy)[0, 1] < -0.5


# --- The demo -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo():
    """Its module, under a name by which other processes can find it, too."""
    spec = importlib.util.spec_from_file_location("assignments_matter", DEMO)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def compared(demo):
    return demo.compare_policies(2, demo.QUICK_CODES, n_jobs=1)


@pytest.fixture(scope="module")
def diagnoses(demo):
    return demo.learn_diagnoses(1)


@pytest.fixture(scope="module")
def folder(demo, compared, diagnoses, tmp_path_factory):
    page = demo.write_results(tmp_path_factory.mktemp("demo"), *compared, diagnoses, command="make demo", seconds=12.0)
    return page.parent


def test_every_code_is_compared_on_every_problem(demo, compared):
    comparisons, _ = compared
    assert list(comparisons) == list(demo.PROBLEMS)
    for some in comparisons.values():
        assert [one.codebook for one in some] == [codebook for codebook, _ in demo.QUICK_CODES]
        assert all(
            {policy: len(values) for policy, values in one.accuracies.items()} == {"random": 2, "preserving": 2}
            for one in some
        )


def test_accuracies_are_percentages_above_chance(compared):
    values = np.concatenate([v for some in compared[0].values() for one in some for v in one.accuracies.values()])
    assert values.min() > 25
    assert values.max() <= 100


def test_equidistant_codebooks_are_known(compared):
    assert compared[1] == {"hadamard"}


def test_the_numbers_do_not_depend_on_the_number_of_workers(demo, compared):
    with joblib.parallel_config(backend="threading"):
        again, _ = demo.compare_policies(2, demo.QUICK_CODES, n_jobs=2)
    for problem, some in compared[0].items():
        for one, other in zip(some, again[problem], strict=True):
            for policy, values in one.accuracies.items():
                np.testing.assert_array_equal(values, other.accuracies[policy])


def test_preserving_assignments_are_better_at_every_width(diagnoses):
    assert [row["width"] for row in diagnoses["accuracy_percent"]] == [2, 5]
    for row in diagnoses["accuracy_percent"]:
        assert np.mean(row["preserving"]) > np.mean(row["random"]) + 0.5
        assert np.mean(row["preserving"]) > 85


def test_typed_diagnoses_find_their_category(diagnoses):
    answers = diagnoses["answers"]
    assert answers["type 2 diabetes with kidney disease"][0]["code"] == "E11"
    assert answers["glaucoma of both eyes"][0]["code"] == "H40"
    for candidates in answers.values():
        probabilities = [candidate["probability"] for candidate in candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1.001


def test_the_preserving_assignment_that_is_drawn_follows_the_classes(demo):
    codes, pairs = demo.example_displays()
    assert pairs["preserving"].correlation > 0.4
    assert pairs["preserving"].correlation > pairs["random"].correlation
    assert codes["preserving"].n_changes < codes["random"].n_changes


def test_the_folder_holds_the_page_the_numbers_and_the_figures_and_nothing_else(folder):
    of_policies = [f"{what}-{policy}" for what in ("codewords", "distances") for policy in ("random", "preserving")]
    names = ("accuracy-digits", "accuracy-yeast", *of_policies, "idea")
    figures = {f"figures/{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == figures | {"index.html", "results.json"}


def test_the_page_shows_every_mean_and_every_answer(folder, compared, diagnoses):
    page = (folder / "index.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    for one in (one for some in compared[0].values() for one in some):
        assert str(one.mean("random")) in page
        assert str(one.mean("preserving")) in page
    for text, candidates in diagnoses["answers"].items():
        assert text in page
        assert all(candidate["code"] in page for candidate in candidates)
    assert page.count("<img ") == 7


def test_the_page_opens_with_a_picture_of_both_accuracies(folder, compared):
    page = (folder / "index.html").read_text(encoding="utf-8")
    opening = re.search(r'</p>\s*<figure>\s*<img [^>]*alt="([^"]+)"', page[: page.index("<main>")])[1]
    accuracies = compared[0]["digits"][0]
    for policy in ("random", "preserving"):
        assert f"{accuracies.mean(policy).value:.1f} %" in opening


def test_the_numbers_beside_the_page_are_the_results(folder, compared, diagnoses):
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["diagnoses"] == diagnoses
    first = compared[0]["digits"][0]
    assert numbers["accuracy_percent"][0]["random"] == first.accuracies["random"].round(3).tolist()
    assert len(numbers["accuracy_percent"]) == 4


def test_the_last_line_is_the_page(demo, compared, diagnoses, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "compare_policies", lambda *_: compared)
    monkeypatch.setattr(demo, "learn_diagnoses", lambda _: diagnoses)
    demo.main(["--quick", "--output", str(tmp_path / "demo")])
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "demo" / "index.html")
    assert (tmp_path / "demo" / "index.html").exists()
