"""The page about very many classes: accuracy against bits, what orders score, and what a better score gains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codekin.code import FloatArray
from codekin.code.trellis import TrellisGraph
from codekin.data import DATASETS
from codekin.pages.html import Block, Cell, Page, Paragraph, Section, Table
from codekin_studies.configuration import paper_number
from codekin_studies.extreme import results
from codekin_studies.extreme.orders import ORDERS, orders_of, trees_of
from codekin_studies.extreme.tasks import CHILDREN, leaf_tasks
from codekin_studies.page_parts import Report, Row, Rows, table

METHOD = (
    "The codewords are the paths of a trellis (W-LTLS). The number of classes and the width determine the codebook; "
    "the only choice left is which class gets which path. Bits are learned by AROW and decoded by the exponential "
    "loss; of a few passes the one with the best validation accuracy is kept. A run draws the order of the samples "
    "and, for random assignments, the assignment.",
    "Depth-first gives the paths, in their order, to the classes in the depth-first order of a class tree: the "
    "taxonomy that came with the data, or a clustering of the class means. The searches start from there and lower "
    "the class-codeword score of the same tree by swaps. Learnability ignores the score: it looks for the paths "
    "whose bits are easiest for least squares, starting from the order of the taxonomy. Searches were repeated "
    "several times with fewer classes, and run once with very many.",
    "z is the number of standard deviations by which a score is below the mean of random assignments; mean and "
    "deviation are exact. After ± are two standard deviations of the runs, as in the paper.",
)

LIKE = {"aloi.bin": "icd10cm_category", "LSHTC1": "wordnet_hypernym", "LSHTC2": "wordnet_hypernym"}
LIKE |= {"ODP": "debian_dirs100k"}
"""For each of the paper's data sets, ours with the nearest numbers of classes and samples."""


def extreme_page(report: Report) -> Page:
    """The page of a study of very many classes, with everything that is finished."""
    found = results.collect(report.study, report.workspace)
    gains = [gain for one in found for gain in results.search_gains(one)]
    question = [_question_section(report, found, gains)] if gains else []
    more = leaves_section(report), _paper_section(report, found)
    sections = [*question, *(_data_section(report, one) for one in found), *(one for one in more if one is not None)]
    return report.page(_lead(found) + results.answer(gains), METHOD, sections)


def _lead(found: Sequence[results.Found]) -> str:
    over_random = [
        gain.value
        for one in found
        for width in one.widths
        if (gain := one.gain(width, trees_of(one.data)[0], "random")) is not None
    ]
    if not over_random:
        return ""
    return (
        f"Depth-first beat random assignments in {sum(value > 0 for value in over_random)} of {len(over_random)} "
        f"comparisons, by {results.signed(min(over_random))} to {results.signed(max(over_random))} points. "
    )


def _question_section(report: Report, found: Sequence[results.Found], gains: Sequence[results.SearchGain]) -> Section:
    picture = report.picture(
        results.draw_search_gains(gains, title="A better score than depth-first's"),
        "searches",
        "Accuracy of searched orders above that of depth-first orders, against how much lower their score is.",
        "One point per width and class tree; bars of two standard errors.",
    )
    rows: Rows = []
    for one in found:
        for width in one.widths:
            for tree in trees_of(one.data):
                gain = one.gain(width, f"{tree}-searched", tree)
                if gain is None:
                    continue
                start, end = (one.assignments[width, order]["scores"][tree] for order in (tree, f"{tree}-searched"))
                scores = start["score"], end["score"], start["z"], end["z"]
                gains_here = results.gain_cell(gain), results.gain_cell(one.gain(width, "learnability", tree))
                rows.append([one.name, width, TREE_NAMES[tree], *scores, *gains_here])
    question = (
        "The paper finds that depth-first orders have far lower scores than random ones and are more accurate. Do "
        "still lower scores give still better accuracy with very many classes? " + results.answer(gains)
    )
    gains_table = table(
        "data | width | class tree | score, depth-first :.4f | searched :.4f | z, depth-first :.0f | searched :.0f | "
        "gain of the search, points | gain of learnability, points",
        rows,
        "Scores and gains over the depth-first order of the same class tree, run by run; after ± the standard error, "
        "bold if the gain is more than two of them.",
    )
    title = "Does a better score than depth-first's give better accuracy?"
    return Section(title, [Paragraph(question), picture, gains_table])


TREE_NAMES = {"given": "taxonomy", "learned": "clustering"}


def _data_section(report: Report, found: results.Found) -> Section:
    lines = {
        ORDERS[order].title: runs
        for order in orders_of(found.data)
        if (runs := [one for width in found.widths if (one := found.runs(width, order)) is not None])
    }
    n_classes = DATASETS[found.name].n_classes
    figure = results.draw_accuracy_by_bits(
        lines, title=f"{found.name}, {n_classes:,} classes", one_vs_rest=found.one_vs_rest
    )
    blocks: list[Block] = [
        report.picture(
            figure,
            found.name,
            f"Test accuracy on {found.name} against the number of bits, by order.",
            "Bars: two standard deviations of the runs. Orders of the same codebook are next to each other.",
        ),
        _table(found),
    ]
    if found.one_vs_rest is not None:
        blocks.append(
            Paragraph(
                f"One-vs-rest, {n_classes:,} predictors learned by AROW with positives shown {found.oversample:g} "
                f"times: {found.one_vs_rest} %{_in_brackets(found.name, n_classes, 'one_vs_rest')}."
            )
        )
    return Section(found.name, [*blocks, report.again(found.name)])


def _table(found: results.Found) -> Table:
    trees = trees_of(found.data)
    rows: Rows = []
    for width in found.widths:
        for order in orders_of(found.data):
            runs = found.runs(width, order)
            if runs is None:
                continue
            scores = found.assignments[width, order]["scores"]
            row: Row = [width, runs.n_bits, ORDERS[order].title]
            for tree in trees:
                row += [scores[tree]["score"], scores[tree]["z"]]
            quantity = {"random": "random", trees[0]: "preserving"}.get(order)
            paper = "" if quantity is None else _in_brackets(found.name, runs.n_bits, quantity)
            row += [len(found.accuracies[width, order]), Cell(f"{runs}{paper}", runs.mean)]
            row.append(None if order == "random" else results.gain_cell(found.gain(width, order, "random")))
            rows.append(row)
    scores_of_trees = " | ".join(f"score, {TREE_NAMES[tree]} :.4f | z :.1f" for tree in trees)
    return table(
        f"width | bits | order | {scores_of_trees} | runs | accuracy, % | over random, points",
        rows,
        "Scores and z of random orders are those of the first run. After the accuracies ± two standard "
        "deviations of the runs, after the gains ± their standard errors; bold: more than two of these.",
    )


def _in_brackets(data: str, n_bits: int, quantity: str) -> str:
    number = paper_number("extreme", quantity, data=data, codebook=str(n_bits))
    spread = paper_number("extreme", f"{quantity}:two_deviations", data=data, codebook=str(n_bits))
    if number is None:
        return ""
    return f" ({number:g})" if spread is None else f" ({number:.2f} ± {spread:.2f})"


def _paper_section(report: Report, found: Sequence[results.Found]) -> Section | None:
    """The paper's gains, and ours on the most similar data."""
    ours = {one.name: one for one in found}
    headings = (
        "the paper's data | width | bits | random :.2f | preserving :.2f | gain :+.2f | ours | bits | random | "
        "depth-first | gain :+.2f"
    )
    rows: Rows = []
    for data in report.study.option("data"):
        like = ours.get(LIKE.get(data["name"], ""))
        for width in data["widths"]:
            n_bits = TrellisGraph(DATASETS[data["name"]].n_classes, width).n_edges
            numbers = [
                paper_number("extreme", quantity, data=data["name"], codebook=str(n_bits))
                for quantity in ("random", "preserving")
            ]
            if numbers[0] is None or numbers[1] is None:
                continue
            row: Row = [data["name"], width, n_bits, *numbers, numbers[1] - numbers[0]]
            tree = trees_of(data)[0]
            runs = [like.runs(width, order) if like else None for order in ("random", tree)]
            if like is None or runs[0] is None or runs[1] is None:
                row += [None] * 5
            else:
                gain = runs[1].mean - runs[0].mean
                row += [like.name, runs[0].n_bits, Cell(str(runs[0]), runs[0].mean)]
                row += [Cell(str(runs[1]), runs[1].mean), gain]
            rows.append(row)
    if not ours:
        return None
    text = (
        "The paper's data sets may not be redistributed; if you have them, run this study on them. Its numbers are "
        "shown next to those of our data set with the nearest numbers of classes and samples and the same kind of "
        "class tree. The data differ: compare the direction and the size of the gains, not the accuracies."
    )
    return Section("Beside the paper", [Paragraph(text), table(headings, rows)])


LEAVES_METHOD = (
    "A label tree is a code, too: every child of a node is a bit that ignores the classes elsewhere, and which class "
    f"is at which leaf is an assignment. Nodes have {CHILDREN} children, each node is a softmax over them that is "
    "trained on its own samples, and a beam search finds the class. Preserving uses the depth-first order of the "
    "taxonomy, halving repeatedly halves the class means, and learnability does the same with the class vectors of "
    "ridge regression."
)


def leaves_section(report: Report) -> Section | None:
    """The gains of the policies for leaves, with everything that is finished."""
    rows: Rows = []
    for data in report.study.option("data"):
        accuracies: dict[str, FloatArray] = {}
        for policy in data.get("leaves", ()):
            done = results.finished(leaf_tasks(report.study, data, policy), report.workspace.journal)
            if done:
                accuracies[policy] = np.array([one["accuracy"] for one in done])
        for policy, own in accuracies.items():
            is_compared = policy != "random" and "random" in accuracies
            gain = results.gain_of(own, accuracies["random"]) if is_compared else None
            rows.append([data["name"], policy, len(own), float(own.mean()), results.gain_cell(gain)])
    if not rows:
        return None
    headings = "data | leaves | runs | accuracy, % :.2f | over random, points"
    caption = "After the gains ± their standard errors; bold: more than two of these."
    return Section("Leaves of label trees", [Paragraph(LEAVES_METHOD), table(headings, rows, caption)])
