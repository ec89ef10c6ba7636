"""Which class gets which codeword matters: random against preserving assignments, and a page about it.

    python examples/00_demo.py --output out/demo    # about a minute; `make demo` runs it
    python examples/00_demo.py --quick              # two draws of two codebooks

The page is index.html in the output folder; results.json beside it holds all numbers.
"""

import argparse
import json
import platform
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.assignments import EquidistantCodebookWarning, assign
from codekin.classes.distances import CLASS_DISTANCES
from codekin.codebooks import CODEBOOKS
from codekin.data import load_dataset, vectorized
from codekin.pages.html import Beside, Cell, Column, Command, Page, Paragraph, Picture, Section, Table, write_page
from codekin.code.geometry import codeword_distances
from codekin.plots import CodewordDistanceDisplay, CodingMatrixDisplay
from codekin.plots.assignments import readable_columns, similarity_order
from codekin.plots.code_displays import draw_idea
from codekin.plots.fit_displays import PolicyComparison, draw_policy_comparison
from codekin.plots.style import new_figure, save_figure

POLICIES = ("random", "preserving")

# --- Ten classes -----------------------------------------------------------------------------------------------------
# Two small data sets, each with a learner for its bits, what people call the learner, and the data set in a sentence.
PROBLEMS = {
    "digits": (
        make_pipeline(MaxAbsScaler(), LinearSVC()),
        "linear SVM",
        "1,797 images of handwritten digits, 8 x 8 pixels, in 10 classes (scikit-learn's copy of the UCI set).",
    ),
    "yeast": (
        DecisionTreeClassifier(min_samples_split=3),
        "decision tree",
        "1,484 proteins of yeast with 8 features; the 10 classes, of very different sizes, are places in the cell "
        "(Horton and Nakai, 1996; UCI, CC BY 4.0). The trees are those of the paper: Gini, split from 3 samples on.",
    ),
}
CODES = (
    ("dense_random", 5),
    ("dense_random", 8),
    ("dense_random", 15),
    ("sparse_random", 15),
    ("spectral", 8),
    ("hadamard", None),
)
QUICK_CODES = (("dense_random", 5), ("hadamard", None))


def one_draw(problem, codebook, n_bits, seed):
    """Test accuracies under both policies. A draw is a split of the data and a codebook, the same for both."""
    learner, *_ = PROBLEMS[problem]
    data = load_dataset(problem)
    X_train, X_test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.3, stratify=data.y, random_state=seed
    )
    accuracies = {}
    for policy in POLICIES:
        classifier = ECOCClassifier(learner, codebook=codebook, n_bits=n_bits, assignment=policy, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquidistantCodebookWarning)  # the page says so, once
            classifier.fit(X_train, y_train)
        accuracies[policy] = 100 * classifier.score(X_test, y_test)
        codebook, n_bits = classifier.codebook_, None  # the next policy gets the very same codewords
    return accuracies, codebook


def compare_policies(n_draws, codes=CODES, n_jobs=-1):
    """What each codebook achieves on each problem, and which codebooks have all their codewords equally far apart."""
    comparisons, equidistant = {}, set()
    for problem in PROBLEMS:
        comparisons[problem] = []
        for name, n_bits in codes:
            draws = Parallel(n_jobs)(delayed(one_draw)(problem, name, n_bits, seed) for seed in range(n_draws))
            codebook = draws[0][1]
            accuracies = {policy: np.array([found[policy] for found, _ in draws]) for policy in POLICIES}
            comparison = PolicyComparison(name, codebook.n_bits, accuracies)
            comparisons[problem].append(comparison)
            if codebook.is_equidistant:
                equidistant.add(name)
            print(
                f"{problem:7} {name:14}{codebook.n_bits:3} bits   random {comparison.mean('random')}   "
                f"preserving {comparison.mean('preserving')}   gain {comparison.gain('preserving'):+}"
                f"{'   (equidistant)' * codebook.is_equidistant}"
            )
    return comparisons, equidistant


# --- 374 classes -----------------------------------------------------------------------------------------------------
# From the text of a diagnosis to its ICD-10 category. The codewords are the paths of a trellis; a preserving assignment
# gives them to the categories in the classification's own order.
WIDTHS = (2, 5)
TYPED = (
    "type 2 diabetes with kidney disease",
    "car driver injured in collision with a pick-up truck",
    "glaucoma of both eyes",
    "second degree burn of the neck",
)


def learn_diagnoses(n_seeds):
    """Test accuracies with the paper's recipe at two widths, then the default recipe and its answers to typed texts."""
    texts = load_dataset("icd10cm")
    data, vectorizer = vectorized(texts)
    held_out = data.validation.X, data.validation.y

    def fitted(**settings):
        classifier = ExtremeClassifier(taxonomy=data.class_tree, **settings)
        classifier.fit(data.train.X, data.train.y, validation=held_out)
        return classifier, 100 * classifier.score(data.test.X, data.test.y)

    found = {"n_classes": len(texts.class_names), "n_samples": len(data.train.y), "accuracy_percent": []}
    for width in WIDTHS:
        row = {"width": width}
        for policy in POLICIES:
            models = [
                fitted(width=width, assignment=policy, estimator="arow", rerank=None, random_state=seed)
                for seed in range(n_seeds)
            ]
            row["n_bits"] = models[0][0].codebook_.n_bits
            row[policy] = [round(accuracy, 3) for _, accuracy in models]
        found["accuracy_percent"].append(row)
        means = [f"{policy} {np.mean(row[policy]):.1f}" for policy in POLICIES]
        print(f"diagnoses, width {width}:", *means, sep="   ")
    # Beyond the paper: what codekin does by default.
    default, accuracy = fitted(random_state=0)
    found["default_accuracy_percent"] = round(accuracy, 3)
    print(f"diagnoses, width 2, learnability order, re-ranked: {accuracy:.1f}")
    classes, probabilities = default.top_k_proba(vectorizer.transform(TYPED), 5)
    found["answers"] = {}
    for text, best, its_probabilities in zip(TYPED, classes, probabilities, strict=True):
        print(text)
        found["answers"][text] = []
        for k, probability in zip(best, its_probabilities, strict=True):
            code, title = texts.class_names[k], texts.class_titles[k]
            found["answers"][text].append({"code": code, "title": title, "probability": round(float(probability), 4)})
            print(f"  {probability:4.0%}  {code}  {title}")
    return found


# --- What an assignment does to a coding matrix ----------------------------------------------------------------------
N_BITS_DRAWN = 5


def example_displays(seed=0):
    """One codebook for the ten digits, under a typical random assignment (the median of 99) and a preserving one.

    By policy, its coding matrix, and its distances between codewords beside those between digits.
    """
    digits, rng = load_dataset("digits"), np.random.default_rng(seed)
    codebook = CODEBOOKS["dense_random"](len(digits.class_names), N_BITS_DRAWN, rng=rng)
    distances = CLASS_DISTANCES["means"](digits.X, digits.y)
    by_score = sorted((assign(codebook, distances, "random", rng=rng) for _ in range(99)), key=lambda one: one.score)
    chosen = {"random": by_score[len(by_score) // 2], "preserving": assign(codebook, distances, "preserving", rng=rng)}
    order = similarity_order(distances.matrix())
    names, of_digits = [digits.class_names[k] for k in order], distances.matrix()[np.ix_(order, order)]
    codes, pairs = {}, {}
    for policy, result in chosen.items():
        matrix, bits = readable_columns(codebook.coding_matrix(result.assignment)[order])
        codes[policy] = CodingMatrixDisplay(matrix, names, bits=bits)
        pairs[policy] = CodewordDistanceDisplay(of_digits, codeword_distances(matrix, matrix), names)
    return codes, pairs


# --- The page --------------------------------------------------------------------------------------------------------
def write_results(folder, comparisons, equidistant, diagnoses, *, command, seconds):
    """Leave the numbers, the figures and the page that shows them; the path of the page."""
    n_draws = len(next(iter(comparisons.values()))[0].accuracies["random"])
    numbers = {
        "codekin": version("codekin"),
        "n_draws": n_draws,
        "seconds": round(seconds, 1),
        "accuracy_percent": [
            {
                "dataset": problem,
                "learner": PROBLEMS[problem][1],
                "codebook": one.codebook,
                "n_bits": one.n_bits,
                "is_equidistant": one.codebook in equidistant,
                **{policy: values.round(3).tolist() for policy, values in one.accuracies.items()},
            }
            for problem in comparisons
            for one in comparisons[problem]
        ],
        "diagnoses": diagnoses,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    codes, pairs = example_displays()
    digits = {policy: comparisons["digits"][0].mean(policy).value for policy in POLICIES}
    figures = {"idea": draw_idea(codes, digits, class_label="digit")}
    for policy in POLICIES:
        figures[f"codewords-{policy}"] = codes[policy].plot(new_figure(3.6).subplots()).figure_
        figures[f"distances-{policy}"] = pairs[policy].plot().figure_
    for problem, its_comparisons in comparisons.items():
        title = f"{problem}, {PROBLEMS[problem][1]}, {n_draws} draws"
        figures[f"accuracy-{problem}"] = draw_policy_comparison(its_comparisons, title=title)
    pictures = {name: save_figure(figure, folder / "figures" / name)[1] for name, figure in figures.items()}
    page = Page(
        title="Similar codewords for similar classes",
        lead=lead(comparisons, equidistant),
        opening=opening(pictures["idea"], digits, n_draws),
        sections=[
            method_section(n_draws),
            matrix_section(codes, pictures),
            *(problem_section(name, comparisons[name], equidistant, pictures) for name in comparisons),
            diagnoses_section(diagnoses),
            Section("Once more", [Paragraph("The same numbers come from the same command:"), Command(command)]),
        ],
        footer=(
            f"codekin {version('codekin')}, scikit-learn {version('scikit-learn')}, NumPy {version('numpy')}, "
            f"Python {platform.python_version()}. {n_draws} draws with the seeds 0 to {n_draws - 1}, "
            f"{seconds:.0f} seconds. All numbers: results.json beside this page."
        ),
    )
    return write_page(page, folder / "index.html")


def lead(comparisons, equidistant):
    gains = [one.gain("preserving") for some in comparisons.values() for one in some if one.codebook not in equidistant]
    return (
        "Nothing but the order of the rows of a coding matrix is changed here: the codewords, the learner and the cost "
        "stay the same. Giving similar classes similar codewords raised the test accuracy by more than two standard "
        f"errors in {sum(gain.is_positive for gain in gains)} of {len(gains)} comparisons, by up to "
        f"{max(gain.value for gain in gains):.1f} points."
    )


def opening(picture, accuracies, n_draws):
    accuracy = {policy: f"{value:.1f} %" for policy, value in accuracies.items()}
    return Picture(
        picture,
        f"One codebook of {N_BITS_DRAWN} bits for ten digits. Left to chance, {accuracy['random']} are right; with "
        f"similar codewords for similar digits, {accuracy['preserving']}.",
        f"A row is a digit's codeword, a column a question that a linear predictor answers: blue or not? Both tables "
        f"have the same ten codewords. Accuracies are means of {n_draws} draws, each with a codebook of its own.",
    )


def method_section(n_draws):
    texts = (
        "A classifier with an error-correcting output code gives each class a codeword, learns one binary predictor "
        "per bit, and answers with the class whose codeword fits the predictions best. `random` deals the codewords "
        "out by chance, as is usual. `preserving` measures which classes are hard to tell apart and gives them "
        "codewords that are close together, so that fewer bits have to cut between similar classes.",
        f"Each comparison has {n_draws} draws. A draw is a split of the samples (70 % to learn, 30 % to test) "
        "and a codebook; both policies get the same draws, and the gain is the mean of their differences. Behind ± "
        "stands the standard error of the mean.",
    )
    return Section("What was compared", [Paragraph(text) for text in texts])


def matrix_section(codes, pictures):
    explanation = Paragraph(
        f"One codebook for the ten digits, {N_BITS_DRAWN} bits, assigned by chance (the median of 99 random "
        "assignments) and on purpose. The digits are listed so that neighbours have similar means. Both matrices have "
        "the same codewords, in different rows; columns are put in a readable order and begin with +1, which changes "
        "no classifier. Every change of colour down a column is a border between similar digits that a bit has to "
        "learn. In the plots below, a dot is a pair of digits, and the closest pair is named. Under the preserving "
        "assignment close digits get close codewords, as far as the codebook allows; r is the correlation."
    )
    codewords = [
        Picture(
            pictures[f"codewords-{policy}"],
            f"The coding matrix under a {policy} assignment, row by row.",
            f"A {policy} assignment: {codes[policy].n_changes} changes of colour.",
        )
        for policy in POLICIES
    ]
    distances = [
        Picture(
            pictures[f"distances-{policy}"],
            "For all pairs of digits: bits in which their codewords differ, against their distance.",
            f"Pairs of digits under a {policy} assignment.",
        )
        for policy in POLICIES
    ]
    return Section("What the assignment does", [explanation, Beside(codewords), Beside(distances)])


def problem_section(problem, comparisons, equidistant, pictures):
    _, learner_name, about = PROBLEMS[problem]
    columns = [Column("codebook"), Column("bits"), Column("random, %"), Column("preserving, %"), Column("gain, points")]
    rows = []
    for one in comparisons:
        random, preserving, gain = one.mean("random"), one.mean("preserving"), one.gain("preserving")
        cells = [Cell(str(random), random.value), Cell(str(preserving), preserving.value)]
        rows.append([one.codebook, one.n_bits, *cells, Cell(f"{gain:+}", gain.value, is_strong=gain.is_positive)])
    caption = "Test accuracy. Gains of more than two standard errors are bold. A heading sorts by its column."
    figure = Picture(
        pictures[f"accuracy-{problem}"],
        f"Test accuracy on {problem}: for each codebook the mean under random and preserving assignment.",
        "Markers are means, bars their standard errors, thin strokes the single draws.",
    )
    notes = [
        Paragraph(
            f"All codewords of `{name}` are equally far apart: there are no similar codewords to give to similar "
            "classes, and no gain is to be expected."
        )
        for name in sorted(equidistant)
    ]
    title = f"{problem.capitalize()}, {learner_name}"
    return Section(title, [Paragraph(about), Beside([figure, Table(columns, rows, caption=caption)]), *notes])


def diagnoses_section(diagnoses):
    columns = [Column("width"), Column("bits"), Column("random, %"), Column("preserving, %"), Column("gain, points")]
    rows = []
    for row in diagnoses["accuracy_percent"]:
        random, preserving = float(np.mean(row["random"])), float(np.mean(row["preserving"]))
        gain = Cell(f"{preserving - random:+.1f}", preserving - random, is_strong=preserving > random)
        rows.append(
            [row["width"], row["n_bits"], Cell(f"{random:.1f}", random), Cell(f"{preserving:.1f}", preserving), gain]
        )
    answers = [
        [Cell(text if place == 0 else "", text), one["code"], one["title"], Cell(f"{share:.0%}", share)]
        for text, candidates in diagnoses["answers"].items()
        for place, one in enumerate(candidates)
        for share in (one["probability"],)
    ]
    return Section(
        "Diagnoses, a trellis",
        [
            Paragraph(
                f"{diagnoses['n_samples']:,} texts of diagnoses in {diagnoses['n_classes']} categories of ICD-10-CM "
                "(NCHS/CDC, public domain), words and pairs of words weighted by how rare they are. The codewords are "
                "the paths of a trellis, all bits are learned at once by AROW, and the best category is a shortest "
                "path. `preserving` gives the paths in their order to the categories in the classification's order."
            ),
            Table(columns, rows, caption=f"Test accuracy, mean of {len(row['random'])} orders of the samples."),
            Paragraph(
                "Beyond the paper, and what `ExtremeClassifier` does by default: paths searched for what makes the "
                "bits learnable, and the best categories rescored with a sparse vector for each. At width 2 that is "
                f"right for {diagnoses['default_accuracy_percent']:.1f} % of the test texts. Its predictions for texts "
                "typed by hand:"
            ),
            Table(
                [Column("text"), Column("code"), Column("category"), Column("probability")],
                answers,
                caption="The five most probable categories. Probabilities are normalised over all categories.",
            ),
        ],
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Random against preserving assignments, and a page about it.")
    parser.add_argument("--output", type=Path, default=Path("out/demo"), help="the folder of the page")
    parser.add_argument("--quick", action="store_true", help="two draws of two codebooks, one seed")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    comparisons, equidistant = compare_policies(2, QUICK_CODES) if options.quick else compare_policies(12)
    diagnoses = learn_diagnoses(1 if options.quick else 3)
    seconds = time.perf_counter() - started
    command = "python examples/00_demo.py" + " --quick" * options.quick
    page = write_results(options.output, comparisons, equidistant, diagnoses, command=command, seconds=seconds)
    print(f"{seconds:.0f} seconds. The page:\n{page}")


if __name__ == "__main__":
    main()
