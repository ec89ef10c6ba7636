"""The page of the demo: what was compared, what came out, and what an informed assignment does to a coding matrix."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from codekin._system.files import whole_file
from codekin._version import __version__
from codekin.assignments import assign
from codekin.class_distances import CLASS_DISTANCES
from codekin.codebooks import CODEBOOKS
from codekin.demo.comparison import PROBLEMS, DemoResult, loaded
from codekin.demo.diagnoses import Diagnoses
from codekin.pages import Beside, Cell, Column, Command, Page, Paragraph, Picture, Section, Table, write_page
from codekin.plots import (
    AssignmentViews,
    assignment_views,
    draw_coding_matrices,
    draw_distances,
    draw_policy_comparison,
    save_figure,
)

N_BITS_DRAWN = 8


def example_views(seed: int = 0) -> AssignmentViews:
    """One codebook for the ten digits, under a typical random assignment and under a preserving one.

    Parameters
    ----------
    seed : int, default=0
        Of the codebook and of the assignments.

    Returns
    -------
    AssignmentViews
    """
    digits = loaded("digits")
    rng = np.random.default_rng(seed)
    codebook = CODEBOOKS["dense_random"](len(digits.class_names), N_BITS_DRAWN, rng=rng)
    distances = CLASS_DISTANCES["means"](digits.X, digits.y)
    by_score = sorted((assign(codebook, distances, "random", rng=rng) for _ in range(99)), key=lambda one: one.score)
    chosen = {"random": by_score[len(by_score) // 2], "preserving": assign(codebook, distances, "preserving", rng=rng)}
    matrices = {policy: codebook.coding_matrix(result.assignment) for policy, result in chosen.items()}
    return assignment_views(distances.matrix(), matrices, digits.class_names)


def write_demo(result: DemoResult, diagnoses: Diagnoses, folder: str | Path) -> Path:
    """Write the numbers, the figures and the page that shows them.

    Parameters
    ----------
    result : DemoResult
        The comparisons on small data.
    diagnoses : Diagnoses
        What came out on texts.
    folder : path-like
        Where to; made if it is missing.

    Returns
    -------
    Path
        The page.
    """
    output = Path(folder)
    output.mkdir(parents=True, exist_ok=True)
    with whole_file(output / "results.json") as stream:
        stream.write(json.dumps({**result.as_dict(), "diagnoses": diagnoses.as_dict()}, indent=1).encode())
    views = example_views()
    figures = {"codewords": draw_coding_matrices(views, class_label="digit"), "distances": draw_distances(views)}
    for dataset, comparisons in result.comparisons.items():
        title = f"{dataset}, {PROBLEMS[dataset].learner_name}, {result.n_draws} draws"
        figures[f"accuracy-{dataset}"] = draw_policy_comparison(comparisons, title=title)
    pictures = {name: save_figure(figure, output / "figures" / name)[1] for name, figure in figures.items()}
    return write_page(_page(result, diagnoses, views, pictures), output / "index.html")


def _page(result: DemoResult, diagnoses: Diagnoses, views: AssignmentViews, pictures: Mapping[str, Path]) -> Page:
    return Page(
        title="Similar codewords for similar classes",
        lead=_lead(result),
        sections=[
            Section("What was compared", [Paragraph(text) for text in _method(result)]),
            _example_section(views, pictures),
            *(_dataset_section(result, dataset, pictures[f"accuracy-{dataset}"]) for dataset in result.comparisons),
            _diagnoses_section(diagnoses),
            Section(
                "Once more", [Paragraph("The same numbers come from the same command:"), Command(_command(result))]
            ),
        ],
        footer=(
            f"codekin {__version__}, scikit-learn {version('scikit-learn')}, NumPy {version('numpy')}, "
            f"Python {platform.python_version()}. {result.n_draws} draws with the seeds 0 to {result.n_draws - 1}, "
            f"{result.seconds + diagnoses.seconds:.0f} seconds. All numbers: results.json beside this page."
        ),
    )


def _lead(result: DemoResult) -> str:
    gains = [
        comparison.gain("preserving")
        for comparisons in result.comparisons.values()
        for comparison in comparisons
        if comparison.codebook not in result.equidistant
    ]
    n_clear = sum(gain.is_positive for gain in gains)
    largest = max(gain.value for gain in gains)
    return (
        "Nothing but the order of the rows of a coding matrix is changed here: the codewords, the learner and the cost "
        "stay the same. Giving similar classes similar codewords raised the test accuracy by more than two standard "
        f"errors in {n_clear} of {len(gains)} comparisons, by up to {largest:.1f} points."
    )


def _method(result: DemoResult) -> list[str]:
    return [
        "A classifier with an error-correcting output code gives each class a codeword, learns one binary predictor "
        "per bit, and answers with the class whose codeword fits the predictions best. `random` deals the codewords "
        "out by chance, as is usual. `preserving` measures which classes are hard to tell apart and gives them "
        "codewords that are close together, so that fewer bits have to cut between similar classes.",
        f"Each comparison has {result.n_draws} draws. A draw is a split of the samples (70 % to learn, 30 % to test) "
        "and a codebook; both policies get the same draws, and the gain is the mean of their differences. Behind ± "
        "stands the standard error of the mean.",
    ]


def _dataset_section(result: DemoResult, dataset: str, picture: Path) -> Section:
    problem = PROBLEMS[dataset]
    notes = []
    if any(comparison.codebook in result.equidistant for comparison in result.comparisons[dataset]):
        names = ", ".join(f"`{name}`" for name in sorted(result.equidistant))
        notes.append(
            Paragraph(
                f"All codewords of {names} are equally far apart: there are no similar codewords to give to similar "
                "classes, and no gain is to be expected."
            )
        )
    columns = [Column("codebook"), Column("bits"), Column("random, %"), Column("preserving, %"), Column("gain, points")]
    rows: list[list[Cell | str | float | None]] = []
    for comparison in result.comparisons[dataset]:
        random, preserving, gain = (
            comparison.mean("random"),
            comparison.mean("preserving"),
            comparison.gain("preserving"),
        )
        rows.append(
            [
                comparison.codebook,
                comparison.n_bits,
                Cell(str(random), random.value),
                Cell(str(preserving), preserving.value),
                Cell(f"{gain:+}", gain.value, is_strong=gain.is_positive),
            ]
        )
    table = Table(
        columns,
        rows,
        caption="Test accuracy. Gains of more than two standard errors are bold. A heading sorts by its column.",
    )
    figure = Picture(
        picture,
        f"Test accuracy on {dataset}: for each codebook the mean under random and preserving assignment.",
        "Markers are means, bars their standard errors, thin strokes the single draws.",
    )
    title = f"{dataset.capitalize()}, {problem.learner_name}"
    return Section(title, [Paragraph(problem.title), Beside([figure, table]), *notes])


def _example_section(views: AssignmentViews, pictures: Mapping[str, Path]) -> Section:
    before, after = views.n_changes["random"], views.n_changes["preserving"]
    return Section(
        "What the assignment does",
        [
            Paragraph(
                f"One codebook for the ten digits, {N_BITS_DRAWN} bits, assigned by chance (the median of 99 random "
                "assignments) and on purpose. The digits are listed so that neighbours have similar means. Both "
                "matrices have the same codewords, in different rows; columns are put in a readable order and begin "
                "with +1, which changes no classifier."
            ),
            Beside(
                [
                    Picture(
                        pictures["codewords"],
                        "The coding matrix under a random and under a preserving assignment, row by row.",
                        f"Every change of colour down a column is a border between similar digits that a bit has to "
                        f"learn: {before} under the random assignment, {after} under the preserving one.",
                    ),
                    Picture(
                        pictures["distances"],
                        "For all pairs of digits: bits in which their codewords differ, against their distance.",
                        "A dot is a pair of digits; the closest pair is named. Under the preserving assignment close "
                        "digits get close codewords, as far as the codebook allows; r is the correlation.",
                    ),
                ]
            ),
        ],
    )


def _diagnoses_section(diagnoses: Diagnoses) -> Section:
    columns = [Column("width"), Column("bits"), Column("random, %"), Column("preserving, %"), Column("gain, points")]
    rows: list[list[Cell | str | float | None]] = []
    for trellis in diagnoses.trellises:
        random, preserving = (float(np.mean(trellis.accuracies[policy])) for policy in ("random", "preserving"))
        rows.append(
            [
                trellis.width,
                trellis.n_bits,
                Cell(f"{random:.1f}", random),
                Cell(f"{preserving:.1f}", preserving),
                Cell(f"{trellis.gain:+.1f}", trellis.gain, is_strong=trellis.gain > 0),
            ]
        )
    n_seeds = len(diagnoses.trellises[0].accuracies["random"])
    answers: list[list[Cell | str | float | None]] = [
        [
            Cell(text if place == 0 else "", text),
            candidate.code,
            candidate.title,
            Cell(f"{candidate.probability:.0%}", candidate.probability),
        ]
        for text, candidates in diagnoses.answers.items()
        for place, candidate in enumerate(candidates)
    ]
    return Section(
        "Diagnoses, a trellis",
        [
            Paragraph(
                f"{diagnoses.n_samples:,} texts of diagnoses in {diagnoses.n_classes} categories of ICD-10-CM "
                "(NCHS/CDC, public domain), words and pairs of words weighted by how rare they are. The codewords are "
                "the paths of a trellis, all bits are learned at once by AROW, and the best category is a shortest "
                "path. `preserving` gives the paths in their order to the categories in the classification's order."
            ),
            Table(columns, rows, caption=f"Test accuracy, mean of {n_seeds} orders of the samples."),
            Paragraph(
                "Beyond the paper, and what `TrellisClassifier` does by default: paths searched for what makes the "
                "bits learnable, and the best categories rescored with a sparse vector for each. At width 2 that is "
                f"right for {diagnoses.default_accuracy:.1f} % of the test texts. What it makes of texts that were "
                "typed in:"
            ),
            Table(
                [Column("text"), Column("code"), Column("category"), Column("probability")],
                answers,
                caption="The five most probable categories. Probabilities are normalised over all categories.",
            ),
        ],
    )


def _command(result: DemoResult) -> str:
    return "codekin demo --quick" if len(result.comparisons["digits"]) < 3 else f"codekin demo --draws {result.n_draws}"
