"""Make the pictures of the README and the documentation, and the table of docs/tutorial/choose.md, from measurements.

    python tools/pictures.py                  # all of them, less than a minute
    python tools/pictures.py frontier which memory   # what follows from the tables of the measurements

Each picture is drawn for light and for dark pages. The numbers of "idea" are computed here by the demo's functions;
those of the others are read from docs/measurements, so that they are as old as the tables there.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
from guide_numbers import contender, number, row_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from codekin._system.files import whole_file
from codekin.plots.code_displays import draw_idea
from codekin.plots.style import INK, PALETTE, darken, figure_style

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "tutorial" / "choose.md"
DARK_PAPER = "#0d1117"
N_COLOURS = 64
N_DRAWS = 20

Point = tuple[float, float]


def save_on_both_papers(figure: Figure, name: str) -> None:
    """Write docs/pictures/NAME-light.png and NAME-dark.png, with few colours, since they are loaded often."""
    (DOCS / "pictures").mkdir(exist_ok=True)
    for paper, colour in (("light", "white"), ("dark", DARK_PAPER)):
        if paper == "dark":
            darken(figure)
        drawn = io.BytesIO()
        with figure_style():
            figure.savefig(drawn, format="png", dpi=200, facecolor=colour)
        path = DOCS / "pictures" / f"{name}-{paper}.png"
        with whole_file(path) as stream:
            Image.open(drawn).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(
                stream, "png", optimize=True
            )
        print(f"{path.relative_to(DOCS.parent)}: {path.stat().st_size:,} bytes")


# --- The idea --------------------------------------------------------------------------------------------------------
def idea() -> None:
    """One codebook for ten digits, by chance and on purpose, with the mean test accuracy of each."""
    demo = runpy.run_path(str(DOCS.parent / "examples" / "00_demo.py"), run_name="demo")
    draws = [demo["one_draw"]("digits", "dense_random", demo["N_BITS_DRAWN"], seed)[0] for seed in range(N_DRAWS)]
    accuracies = {policy: float(np.mean([draw[policy] for draw in draws])) for policy in demo["POLICIES"]}
    print(f"digits, {demo['N_BITS_DRAWN']} linear SVMs, {N_DRAWS} draws:", accuracies)
    codes, _ = demo["example_displays"]()
    save_on_both_papers(draw_idea(codes, accuracies, class_label="digit"), "idea")


# --- The frontier ----------------------------------------------------------------------------------------------------
FRONTIER = "wordnet_hypernym"
# What it is called in the picture, its row, and where its name goes: points right and up, and the alignment.
SHOWN = (
    ("codekin", "ours, default", (13, -4), "left"),
    ("PECOS", "PECOS XR-Linear", (-6, 9), "left"),
    ("omikuji, 1 tree", "omikuji, 1 tree", (9, -7), "left"),
    ("omikuji, 3 trees", "omikuji, 3 trees", (9, -4), "left"),
    ("napkinXC", "napkinXC PLT", (-8, -4), "right"),
    ("one-vs-rest", "one-vs-rest AROW", (6, -20), "right"),
    ("flat softmax", "flat softmax", (6, -20), "right"),
    ("the paper, width 10", "paper, width 10", (9, -4), "left"),
)


@figure_style()
def frontier() -> None:
    """Accuracy against megabytes, with the microseconds of a prediction beside the name."""
    figure = Figure(figsize=(6.0, 3.7), layout="constrained")
    axes = figure.subplots()
    for shown, row, offset, side in SHOWN:
        found, is_ours = contender(FRONTIER, row), row == "ours, default"
        colour, marker = (PALETTE["blue"], "D") if is_ours else (PALETTE["grey"], "o")
        axes.plot(found.megabytes, found.accuracy, marker, color=colour, markersize=12 if is_ours else 8)
        axes.annotate(
            f"{shown}, {found.microseconds:,.0f} µs",
            (found.megabytes, found.accuracy),
            offset,
            textcoords="offset points",
            ha=side,
            size=12 if is_ours else 10.5,
            weight="bold" if is_ours else "normal",
            color=colour if is_ours else INK,
        )
    axes.set(xscale="log", xlim=(2, 3_500))
    axes.set_xlabel("megabytes on disk (µs: time of one prediction)", size=11)
    axes.set_ylabel("test texts right, %", size=11)
    axes.set_title("12,582 classes of text", size=12)
    axes.set_xticks([3, 10, 30, 100, 300, 1000, 3000], ["3", "10", "30", "100", "300", "1,000", "3,000"], size=10.5)
    axes.minorticks_off()
    axes.tick_params(labelsize=10.5)
    axes.margins(y=0.14)
    axes.grid(visible=True)
    save_on_both_papers(figure, "frontier")


# --- Memory in training ----------------------------------------------------------------------------------------------
STAGES = {"reading": "read, order classes", "trial": "trial", "trees": "trees", "candidates": "candidates"}
STAGES |= {"vectors": "class vectors", "saving": "save, measure"}


@figure_style()
def memory() -> None:
    """What `codekin train` holds in each of its stages."""
    with (DOCS / "measurements" / "results" / "memory-5.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    figure = Figure(figsize=(6.0, 4.4), layout="constrained")
    for axes, row in zip(figure.subplots(len(rows), 1), rows, strict=True):
        libraries, samples, *held = (number(row[part]) for part in ("libraries", "samples", *STAGES))
        places = np.arange(len(held))
        for left, sizes, name, colour in (
            (0, libraries, "libraries", "grey"),
            (libraries, samples, "samples", "sky"),
            (libraries + samples, held, "what a stage holds", "blue"),
        ):
            axes.barh(places, sizes, left=left, color=PALETTE[colour], height=0.72, label=name)
        axes.set_yticks(places, list(STAGES.values()), size=10)
        axes.invert_yaxis()
        axes.set_title(f"{row['set']}: {number(row['peak']):,.0f} MB at most", size=11)
        axes.tick_params(labelsize=10)
        axes.grid(visible=True, axis="x")
        axes.set_axisbelow(True)
    figure.axes[-1].set_xlabel("megabytes", size=10.5)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=10, frameon=False)
    save_on_both_papers(figure, "memory")


# --- Which codekin for my K? -----------------------------------------------------------------------------------------
def measured() -> dict[str, str]:
    """What the chart says of each answer, from the tables of the measurements."""
    letters = row_of("predictors", set="letter", learner="logistic")
    coded, native = (row_of("symbols", name=name) for name in ("12 columns, 15 rounds", "native, 100 rounds"))
    accuracy, seconds = "HistGradientBoosting: accuracy, %", "fit, s"
    texts = {name: [contender(name, row) for row in ("ours, default", "PECOS XR-Linear")] for name in TEXTS}
    lines = {
        name: f"{TEXTS[name]} classes of text:\n"
        + "\n".join(
            f"{who} {one.accuracy:.1f} %, {one.megabytes:.3g} MB, {one.microseconds:.0f} µs"
            for who, one in zip(("codekin", "PECOS"), both, strict=True)
        )
        for name, both in texts.items()
    }
    return lines | {
        "letters": f"26 letters: {number(letters['default']):.1f} %\nLogisticRegression: {letters['native']} %",
        "symbols": f"100 classes, boosting: {coded[accuracy]} % in {number(coded[seconds]):.0f} s\n"
        f"boosting alone: {native[accuracy]} % in {number(native[seconds]):.0f} s",
    }


TEXTS = {"wordnet_hypernym": "12,582", "debian_dirs100k": "102,673"}


@figure_style()
def chart() -> None:
    """Questions from top to bottom, and what to use, with what it was measured to do."""
    says = measured()
    limited = "A learner that stops at\nten classes, or boosting\nof very many?"
    sparse = "Texts, embeddings or\nsparse samples, in 100\nclasses or more?"
    steps = (
        ("Two or three\nclasses?", "yes", "your learner as it is", "There is nothing to encode."),
        (limited, "yes", "ECOCClassifier(…, n_symbols=10)", says["symbols"]),
        (sparse, "no", "ECOCClassifier(learner)", says["letters"]),
        ("More than\n50,000 classes?", "no", "ExtremeClassifier()", says["wordnet_hypernym"]),
        (None, "yes", "ExtremeClassifier(), two trees", says["debian_dirs100k"]),
    )
    heights = [0.75, 1.0, 1.0, 1.18, 1.18]
    gap, width, split = 0.28, 6.0, 2.15
    total = sum(heights) + gap * (len(steps) - 1) + 0.1
    figure = Figure(figsize=(width, total))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(total, 0))
    axes.axis("off")
    top = 0.05
    for place, ((question, verdict, answer, numbers), height) in enumerate(zip(steps, heights, strict=True)):
        middle = top + height / 2
        if question:
            _box(axes, (0.05, top), split - 0.1, height, colour=PALETTE["grey"])
            axes.text(split / 2, middle, question, ha="center", va="center", size=10.5, linespacing=1.35)
            _arrow(axes, (split - 0.05, middle), (split + 0.55, middle))
            _word(axes, (split + 0.24, middle - 0.07), verdict)
            down = "no" if verdict == "yes" else "yes"
            below = top + height + (gap if place < len(steps) - 2 else 0)  # the last one turns to the right
            _arrow(axes, (split / 2, top + height), (split / 2, below))
            _word(axes, (split / 2 + 0.2, top + height + 0.2), down)
        else:
            axes.plot([split / 2, split / 2], [top - gap, middle], color=INK, linewidth=1.0)
            _arrow(axes, (split / 2, middle), (split + 0.55, middle))
        _box(axes, (split + 0.58, top), width - split - 0.63, height, colour=PALETTE["blue"])
        axes.text(split + 0.7, top + 0.24, answer, va="center", size=10.5, weight="bold")
        axes.text(split + 0.7, top + 0.44, numbers, va="top", size=10, linespacing=1.35)
        top += height + gap
    save_on_both_papers(figure, "which")


def _box(axes: Axes, corner: Point, width: float, height: float, *, colour: str) -> None:
    shape = FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.08")
    shape.set(facecolor="none", edgecolor=colour, linewidth=1.6)
    axes.add_patch(shape)


def _arrow(axes: Axes, start: Point, end: Point) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0})


def _word(axes: Axes, at: Point, text: str) -> None:
    axes.text(*at, text, ha="center", va="bottom", size=10)


# Data, classes, the guide's rows: the default and what to compare it with.
OF_TABLES = {"digits": "ten digits", "vowel": "eleven vowels", "letter": "26 letters", "clinc150": "150 intents"}
OF_TEXTS = (
    ("clinc150", "150", "ours, default"),
    ("icd10cm_category", "1,532", "ours, default"),
    ("wordnet_hypernym", "12,582", "ours, default"),
    ("debian_dirs100k", "102,673", "ours, default"),
)


def page_tables() -> dict[str, list[str]]:
    """The tables of the page by their names, as lines of Markdown."""
    made = ("`ECOCClassifier()`, %", "`LogisticRegression()`, %", "one-vs-rest, %", "fit, s", "one-vs-rest, s")
    few = [f"| | classes | {' | '.join(made)} |", "|---|---:|---:|---:|---:|---:|---:|"]
    for name, title in OF_TABLES.items():
        row = row_of("predictors", set=name, learner="logistic")
        cells = [row["classes"], f"{number(row['default']):.1f}", row["native"], row["one-vs-rest"]]
        few.append(f"| {title} | {' | '.join([*cells, row['default, s'], row['one-vs-rest, s']])} |")
    texts = ["| | classes | | accuracy, % | MB | training, s | prediction, µs |", "|---|---:|---|---:|---:|---:|---:|"]
    for name, n_classes, ours in OF_TEXTS:
        for row, who in ((ours, "codekin"), ("PECOS XR-Linear", "PECOS")):
            of = contender(name, row)
            numbers = [f"{of.accuracy:.1f}", *(f"{value:.3g}" for value in (of.megabytes, of.seconds, of.microseconds))]
            texts.append(f"| {name} | {n_classes} | {who} | {' | '.join(numbers)} |")
    return {"few classes": few, "texts": texts}


def with_current_tables(page: str) -> str:
    """The text of the page with the tables that the measurements give today."""
    for name, lines in page_tables().items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, n_found = block.subn(lambda match, lines=lines: match[1] + "\n".join(lines) + "\n" + match[2], page)
        if n_found != 1:
            raise LookupError(f"{PAGE.name} has {n_found} blocks called {name!r}, where one is expected.")
    return page


def which() -> None:
    """Draw the chart and bring the tables of the page up to date."""
    chart()
    PAGE.write_text(with_current_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


PICTURES: dict[str, Callable[[], None]] = {"idea": idea, "frontier": frontier, "which": which, "memory": memory}


def main() -> None:
    """Make the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], help="all by default")
    for name in parser.parse_args().names or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
