"""A hundred classes (App. E): searched assignments against random ones, under several class distances."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from codekin.assignments import AssignmentResult, assign
from codekin.classes import ClassDistances
from codekin.classes import distances as class_distances
from codekin.code import Codebook, CodingMatrix, FloatArray
from codekin.data import DATASETS, Dataset, load_dataset
from codekin.decoding import MinimumLossDecoder
from codekin.pages.html import Cell, Page, Picture, Section, Table
from codekin.plots import style
from codekin.plots.fit_displays import Mean
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.schema import Entries, Keys, ListOf, OneOf
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.page_parts import Report, Results, Rows, enumerated, in_pairs, table
from codekin_studies.splits.dichotomies import LEARNER_NAMES, Problem, learned, problem_of, scaling_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARE = "intermediate.compare"
CODES_AT_ONCE = 10
"""How many codes are trained together: linear learners are much faster with many columns at once."""

POLICIES = ("random", "preserving", "breaking", "portfolio")

METRICS: dict[str, Callable[[Dataset, Problem], ClassDistances]] = {
    "names": lambda dataset, _: class_distances.embedding_distances(dataset.extras["glove_100d"]),
    "taxonomy": lambda dataset, _: class_distances.taxonomy_distances(dataset.class_tree),
    "means": lambda _, problem: class_distances.mean_distances(problem.X_train, problem.y_train),
    "human": lambda dataset, _: class_distances.confusion_distances(dataset.extras["human_confusion"]),
    "learnability": lambda _, problem: class_distances.learnability_distances(problem.X_train, problem.y_train),
}
"""Class distances by name."""

TITLES = {"names": "vectors of the class names", "taxonomy": "superclasses", "means": "class means"}
TITLES |= {"human": "human confusion", "learnability": "learnability"}
"""What pages call them."""

EXTRAS = {"names": "glove_100d", "human": "human_confusion"}
"""Which of the extras of a data set they need, if any."""

SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "n_assignments": entries.COUNT,
        "n_random_scores": entries.COUNT,
        "metrics": ListOf(OneOf(METRICS)),
        "data": Entries(
            Keys({"name": entries.DataName(), "learner": entries.learner_table()}, entries.SCALING),
            known_by=(("name",), ("learner", "name")),
        ),
        "codebook": entries.CodebookTable(),
    }
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples, the codebook and all class distances are available."""
    for data, place in entries.placed_data(study, data_names):
        dataset = entries.check_samples(data, place, data_home)
        entries.check_codebook(study.option("codebook"), dataset.n_classes, study.place.at("codebook"))
        for number, metric in enumerate(study.option("metrics")):
            is_missing = metric in EXTRAS and EXTRAS[metric] not in dataset.extras
            if is_missing or (metric == "taxonomy" and dataset.class_tree is None):
                here = study.place.at("metrics", number)
                raise here.error(f"'{here}' is {metric!r}, which the data set {data['name']!r} does not have.")


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """One task per data set, learner and class distance."""
    chosen, metrics = data_among(study, data_names), study.option("metrics")
    tasks = [compare_task(study, data, metric) for data in chosen for metric in metrics]
    return [Stage("searching and learning", tasks)]


def compare_task(study: Study, data: Mapping[str, Any], metric: str) -> Task:
    """Search assignments with one class distance, and train them all."""
    options = ("seed", "n_assignments", "n_random_scores")
    parameters = {
        "data": data["name"],
        **scaling_of(data),
        "learner": dict(data["learner"]),
        "codebook": dict(study.option("codebook")),
        "metric": metric,
        **{name: study.option(name) for name in options},
    }
    return Task(COMPARE, parameters, label=f"{data['name']}, {data['learner']['name']}, {metric}")


def run_compare(task: Task, workspace: Workspace) -> Outcome:
    """Scores and test accuracies of random, preserving and breaking assignments."""
    given = task.parameters
    dataset = load_dataset(given["data"], workspace.data_home)
    problem = problem_of(given, workspace.data_home)
    codebook = entries.make_codebook(given["codebook"], problem.n_classes, {})
    distances = METRICS[given["metric"]](dataset, problem)
    found = {policy: _assignments(policy, codebook, distances, given) for policy in POLICIES}
    matrices = [codebook.coding_matrix(one.assignment) for results in found.values() for one in results]
    accuracies = iter(accuracies_of(problem, matrices, given["learner"], given["seed"]))
    policies = {
        policy: [{"score": float(one.score), "z": float(one.z), "accuracy": next(accuracies)} for one in results]
        for policy, results in found.items()
    }
    scores = random_scores(codebook, distances, given["n_random_scores"], given["seed"])
    return Outcome(
        {"min_distance": float(codebook.min_distance), "n_test": len(problem.y_test), "policies": policies},
        {"random_scores": scores},
    )


FUNCTIONS = {COMPARE: run_compare}


def accuracies_of(
    problem: Problem, coding_matrices: Sequence[CodingMatrix], learner: Mapping[str, Any], seed: int
) -> list[float]:
    """The test accuracies of codes in percent, decoded by the hinge loss.

    ``learner`` holds a ``name`` from ``SPLIT_LEARNERS``, and its options.
    """
    accuracies = []
    for start in range(0, len(coding_matrices), CODES_AT_ONCE):
        some = coding_matrices[start : start + CODES_AT_ONCE]
        margins = learned(problem, np.hstack(some), learner, seed)[1]
        ends = np.cumsum([matrix.shape[1] for matrix in some])[:-1]
        for matrix, own in zip(some, np.split(margins, ends, axis=1), strict=True):
            predicted = MinimumLossDecoder(matrix, "hinge").decode(own)
            accuracies.append(100 * float((predicted == problem.y_test).mean()))
    return accuracies


def _assignments(
    policy: str, codebook: Codebook, distances: ClassDistances, given: Mapping[str, Any]
) -> list[AssignmentResult]:
    """The assignments of a policy; random ones are the same for all class distances."""
    seeds = [np.random.default_rng([given["seed"], draw]) for draw in range(given["n_assignments"])]
    if policy == "random":
        return [assign(codebook, distances, "random", rng=rng) for rng in seeds]
    if policy == "portfolio":
        return [assign(codebook, distances, "portfolio", rng=given["seed"])]
    sense: Any = policy
    return [assign(codebook, distances, "steepest_descent", sense=sense, rng=rng, n_restarts=1) for rng in seeds]


def random_scores(codebook: Codebook, distances: ClassDistances, n_scores: int, seed: int) -> FloatArray:
    """The class-codeword scores of random assignments."""
    rng = np.random.default_rng([seed, n_scores])
    a, d = distances.matrix(), codebook.row_distances()
    a, d = a / np.linalg.norm(a), d / np.linalg.norm(d)
    orders = (rng.permutation(len(d)) for _ in range(n_scores))
    return np.array([float(np.linalg.norm(a - d[np.ix_(order, order)])) for order in orders])


def intermediate_page(report: Report) -> Page:
    """The page of a study of a hundred classes, with everything that is finished."""
    study, leads, sections, shown = report.study, [], [], []
    for data in study.option("data"):
        tasks = {metric: compare_task(study, data, metric) for metric in study.option("metrics")}
        found = report.workspace.results(tasks)
        if found:
            learner = LEARNER_NAMES[data["learner"]["name"]]
            blocks = [*in_pairs(_pictures(report, data, tasks, found)), _table(found), report.again(data["name"])]
            sections.append(Section(f"{data['name']}, {learner}", blocks))
            shown.append(data["name"])
            leads.append(_lead(data["name"], learner, found))
    return report.page(" ".join(leads), _method(report, shown), sections)


def _pictures(report: Report, data: Mapping[str, Any], tasks: Mapping[str, Task], found: Results) -> list[Picture]:
    pictures, learner = [], data["learner"]["name"]
    for metric, result in found.items():
        scores = np.array(report.workspace.load(tasks[metric], "random_scores"))
        points = {
            policy: np.array([[one["score"], one["accuracy"]] for one in result["policies"][policy]])
            for policy in POLICIES
        }
        pictures.append(
            report.picture(
                draw_scores(points, scores, title=f"{LEARNER_NAMES[learner]}, {TITLES[metric]}"),
                f"{data['name']}-{learner}-{metric}",
                f"Test accuracy against class-codeword score, {TITLES[metric]}.",
                f"Class distance: {TITLES[metric]}. At the top the scores of random assignments: sampling "
                "alone would not reach the others.",
            )
        )
    return pictures


def _lead(data_name: str, learner: str, found: Results) -> str:
    gains = {
        metric: _accuracy(one, "preserving").value - _accuracy(one, "random").value for metric, one in found.items()
    }
    best = max(gains, key=lambda metric: gains[metric])
    return (
        f"On {data_name}, learned by {learner}, preserving assignments were on average more accurate than random ones "
        f"under {sum(gain > 0 for gain in gains.values())} of {len(gains)} class distances, by {gains[best]:+.1f} "
        f"points under {TITLES[best]}."
    )


def _method(report: Report, data_names: Collection[str]) -> Iterator[str]:
    code = report.study.option("codebook")
    options = "".join(f", {name} = {value}" for name, value in code.get("options", {}).items())
    n_classes = enumerated(sorted({f"{DATASETS[name].n_classes:,}" for name in data_names}))
    yield (
        f"A codebook ({code['codebook'].replace('_', ' ')}{options}) was assigned to {n_classes} classes at random, by "
        "steepest descent on the class-codeword score (preserving) and by steepest ascent (breaking), as in the paper, "
        f"and by codekin's portfolio of searches. The bits were learned by "
        f"{enumerated(report.learners(data_names))}, and decoded by the hinge loss."
    )
    if "cifar100" in data_names:
        yield (
            "The features of cifar100 are those of a pretrained network. The paper uses another network and the "
            "official split, and prints no numbers for this experiment: compare the order of the policies, not the "
            "accuracies."
        )
    if "learnability" in report.study.option("metrics"):
        yield "Learnability is designed for least squares; for other learners it is an approximation."


def _accuracy(result: Mapping[str, Any], policy: str) -> Mean:
    return Mean.of([one["accuracy"] for one in result["policies"][policy]])


def _table(found: Results) -> Table:
    rows: Rows = []
    for metric, result in found.items():
        by_chance = _accuracy(result, "random").value
        for policy in POLICIES:
            accuracy = _accuracy(result, policy)
            gain = accuracy.value - by_chance
            score, z = (float(np.mean([one[what] for one in result["policies"][policy]])) for what in ("score", "z"))
            more = None if policy == "random" else Cell(f"{gain:+.1f}".replace("-", "−"), gain, is_strong=gain > 0)
            rows.append([TITLES[metric], policy, score, z, Cell(str(accuracy), accuracy.value), more])
    return table(
        "class distance | policy | score :.4f | z :.1f | accuracy, % | gain, points",
        rows,
        "Means over the assignments of a policy; after ± the standard error. z: standard deviations below "
        "the mean score of random assignments, exact.",
    )


@style.figure_style()
def draw_scores(points: Mapping[str, FloatArray], random_scores: FloatArray, *, title: str) -> Figure:
    """Test accuracies against scores, by policy, below a histogram of the scores of random assignments.

    ``points`` holds arrays of shape (n, 2) by policy: scores, and accuracies in percent.
    """
    figure = style.new_figure(3.8)
    top, axes = figure.subplots(2, 1, sharex=True, height_ratios=[1, 4])
    top.hist(random_scores, bins=60, color=style.POLICY_COLOURS["random"], density=True)
    top.set_yticks([])
    style.without_frame(top)
    top.tick_params(labelbottom=False)
    top.set_title(title)
    for policy, values in points.items():
        colour, marker = style.POLICY_COLOURS.get(policy, style.PALETTE["green"]), style.POLICY_MARKERS.get(policy, "^")
        outlined = {"s": 34, "alpha": 0.85, "linewidths": 0.5, "edgecolors": "white"}
        axes.scatter(values[:, 0], values[:, 1], color=colour, marker=marker, label=policy, **outlined)
    everything = np.concatenate(list(points.values()))
    if np.ptp(everything[:, 0]) > 0:
        slope, intercept = np.polyfit(everything[:, 0], everything[:, 1], 1)
        ends = np.array([everything[:, 0].min(), everything[:, 0].max()])
        axes.plot(ends, intercept + slope * ends, color=style.PALETTE["black"], linewidth=1, alpha=0.5, zorder=0)
    axes.set(xlabel="class-codeword score", ylabel="test accuracy, %")
    axes.grid()
    figure.legend(loc="outside lower center", ncols=len(points))
    return figure
