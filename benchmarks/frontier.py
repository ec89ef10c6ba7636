"""Accuracy per byte and per microsecond: codekin and its peers for very many classes.

    pip install napkinxc omikuji liblinear-official
    python benchmarks/frontier.py [--sets ...] [--contenders ...] [--seeds 3] [--pecos-python PATH] [--journal FILE]

Every contender runs in a separate process bound to one processor (see ``contenders.py``). Each measurement is written
to a journal at once, so an interrupted run continues where it stopped, and ``--only-report`` prints the tables and
draws the figures again. Means over the seeds, for contenders that depend on a seed:

    accuracy     of the test samples, in percent, and its standard error
    p@5          precision of the best five classes: a fifth of the share of samples whose class is among them
    MB           size of the model on disk, in its own format
    training     CPU seconds from samples to saved model
    batch        CPU microseconds per test sample, all in one call; the best round of two seconds
    single       the same with one sample per call; the median
    peak         memory of the process in training, in MB, including the samples

At the end the claims are checked, and whether a peer dominates: as accurate, as small and as fast, and better in one.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from contenders import ALL, OURS, PAPER, PEERS, Samples, class_of, result_of, three_digits

PEER_NAMES = [name for name in PEERS if not name.startswith("Vowpal")]
NAMES = [*PAPER, *OURS, *PEER_NAMES]
COLUMNS = ("accuracy", "precision_at_5", "bytes", "training", "prediction", "latency", "peak_bytes", "predictors")
# Data, minimum accuracy, maximum MB, maximum microseconds.
CLAIMS = (
    ("icd10cm_category", 83.5, 5.0, 10.0),
    ("icd10cm_category", 84.3, 1.4, np.inf),
    ("wordnet_hypernym", 47.5, 6.0, 25.0),
    ("debian_dirs100k", 39.5, 60.0, 70.0),
)
# Data, quantity, how many times PECOS's value the default may take.
COST_CLAIMS = (
    ("clinc150", "training", 1.0),
    ("icd10cm_category", "training", 1.0),
    ("wordnet_hypernym", "training", 1.0),
    ("wordnet_hypernym", "peak_bytes", 3.0),
    ("debian_dirs100k", "training", 1.0),
)
MOST_MEMORY = {"debian_dirs100k": 1.5e9}
"""Bytes that training the default may take."""
DEFAULT, PECOS = "ours, default", "PECOS XR-Linear"
BEHIND_BEST = 0.5
"""How far the default may be behind the best of ours, in points."""


def read_journal(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def run(arguments, journal):
    from codekin.data import load_dataset

    done = {(entry["data"], entry["contender"], entry["seed"]) for entry in read_journal(journal)}
    journal.parent.mkdir(parents=True, exist_ok=True)
    for data_name in arguments.sets:
        wanted = [
            (name, seed)
            for seed in range(arguments.seeds)
            for name in arguments.contenders
            if data_name in class_of(name).sets
            and (seed == 0 or class_of(name).is_seeded)
            and (data_name, name, seed) not in done
        ]
        if not wanted:
            continue
        try:
            data = load_dataset(data_name, arguments.data_home)
        except FileNotFoundError as error:
            print(f"{data_name} left out: {error}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            Samples.write(data, Path(folder))
            for name, seed in wanted:
                options = {"pecos_python": arguments.pecos_python, "time_limit": arguments.time_limit}
                result = result_of(name, Path(folder), seed=seed, **options)
                if isinstance(result, str):
                    print(f"{data_name}, {name}: {result}", flush=True)
                    continue
                entry = {"data": data_name, "contender": name, "seed": seed, **result}
                with journal.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(entry) + "\n")
                print(f"{data_name}, {name}, seed {seed}: {result['accuracy']:.2f} %", flush=True)


def summaries(entries, data_name):
    """Means over the seeds by name, in the order of the contenders."""
    found = {}
    for name in NAMES:
        own = [entry for entry in entries if entry["data"] == data_name and entry["contender"] == name]
        if own:
            means = {
                key: None if own[0][key] is None else float(np.mean([entry[key] for entry in own])) for key in COLUMNS
            }
            accuracies = [entry["accuracy"] for entry in own]
            means["error"] = float(np.std(accuracies, ddof=1) / np.sqrt(len(own))) if len(own) > 1 else None
            found[name] = means | {"seeds": len(own)}
    return found


def is_on_frontier(name, points, cost):
    """Whether no other contender is as accurate and as cheap, and better in one of the two."""
    mine = points[name]
    return not any(
        other["accuracy"] >= mine["accuracy"]
        and other[cost] <= mine[cost]
        and (other["accuracy"] > mine["accuracy"] or other[cost] < mine[cost])
        for other in points.values()
    )


def dominated(points):
    """Pairs of one of ours and a peer that is as good in accuracy, bytes and microseconds, and better in one."""
    pairs = []
    for name in [*OURS]:
        for peer in PEER_NAMES:
            if name in points and peer in points:
                a, b = points[name], points[peer]
                is_as_good = (
                    b["accuracy"] >= a["accuracy"] and b["bytes"] <= a["bytes"] and b["prediction"] <= a["prediction"]
                )
                pairs += [(name, peer)] if is_as_good else []
    return pairs


def print_table(data_name, points):
    print(f"\n{data_name}\n")
    print("| | accuracy | p@5 | MB | training, s | batch, µs | single, µs | peak, MB | on the frontier of |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for name, of in points.items():
        error = "" if of["error"] is None else f" ± {of['error']:.2f}"
        cells = [
            f"{of['accuracy']:.1f}{error}",
            "" if of["precision_at_5"] is None else f"{of['precision_at_5']:.1f}",
            three_digits(of["bytes"] / 1e6),
            three_digits(of["training"]),
            three_digits(of["prediction"]),
            three_digits(of["latency"]),
            f"{of['peak_bytes'] / 1e6:,.0f}",
            ", ".join(
                label
                for label, cost in (("bytes", "bytes"), ("time", "prediction"))
                if is_on_frontier(name, points, cost)
            ),
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def check_claims(tables):
    results = []
    print()
    for data_name, accuracy, megabytes, microseconds in CLAIMS:
        points = tables.get(data_name, {})
        fitting = {
            name: of
            for name, of in points.items()
            if name in OURS and of["bytes"] <= 1e6 * megabytes and of["prediction"] <= microseconds
        }
        best = max(fitting, key=lambda name: fitting[name]["accuracy"], default=None)
        is_met = best is not None and fitting[best]["accuracy"] >= accuracy
        found = "nothing" if best is None else f"{fitting[best]['accuracy']:.2f} % by {best}"
        limit = f"{megabytes:g} MB" + ("" if microseconds == np.inf else f" and {microseconds:g} µs")
        print(f"{data_name}: {accuracy} % within {limit}: {found}: {'met' if is_met else 'NOT met'}")
        results.append(is_met)
    for data_name, cost, factor in COST_CLAIMS:
        points = tables.get(data_name, {})
        if DEFAULT in points and PECOS in points:
            ratio = points[DEFAULT][cost] / points[PECOS][cost]
            is_met = ratio <= factor
            verdict = "met" if is_met else "NOT met"
            print(f"{data_name}: {cost} of the default is {ratio:.2f} times PECOS's, at most {factor:g}: {verdict}")
            results.append(is_met)
    for data_name, most in MOST_MEMORY.items():
        if DEFAULT in tables.get(data_name, {}):
            peak = tables[data_name][DEFAULT]["peak_bytes"]
            is_met = peak <= most
            print(f"{data_name}: the default is trained in {peak / 1e9:.2f} GB: {'met' if is_met else 'NOT met'}")
            results.append(is_met)
    for data_name, points in tables.items():
        if DEFAULT in points:
            behind = max(of["accuracy"] for name, of in points.items() if name in OURS) - points[DEFAULT]["accuracy"]
            is_met = behind <= BEHIND_BEST
            print(f"{data_name}: the default is {behind:.2f} points behind our best: {'met' if is_met else 'NOT met'}")
            results.append(is_met)
    for data_name, points in tables.items():
        pairs = dominated(points)
        for name, peer in pairs:
            print(f"{data_name}: {peer} dominates {name}")
        if not pairs:
            print(f"{data_name}: no peer dominates one of ours: met")
        results.append(not pairs)
    return all(results)


GROUPS = (
    ("codekin", OURS, "#0072B2", "o"),
    ("the paper's recipe", PAPER, "#D55E00", "s"),
    ("others", PEERS, "#555555", "^"),
)
COSTS = (("bytes", 1e6, "megabytes on disk"), ("prediction", 1, "microseconds per prediction, one thread"))


def draw(tables, picture):
    """Accuracy against bytes and against microseconds, a row for each data set, with the frontiers.

    Points are numbered, with a key below, since names would overlap.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in NAMES if any(name in points for points in tables.values())]
    number = {name: k + 1 for k, name in enumerate(names)}
    figure, all_axes = plt.subplots(
        len(tables), 2, figsize=(11, 4.4 * len(tables) + 1.8), layout="constrained", squeeze=False, sharey="row"
    )
    for row, (data_name, points) in zip(all_axes, tables.items(), strict=True):
        for axes, (cost, unit, label) in zip(row, COSTS, strict=True):
            front = sorted((n for n in points if is_on_frontier(n, points, cost)), key=lambda n: points[n][cost])
            places = {name: (of[cost] / unit, of["accuracy"]) for name, of in points.items()}
            axes.step(*zip(*(places[name] for name in front), strict=True), where="post", color="#999999", zorder=1)
            for _, group, colour, marker in GROUPS:
                own = [places[name] for name in points if name in group]
                if own:
                    axes.scatter(*zip(*own, strict=True), color=colour, marker=marker, s=26, zorder=2)
            axes.set(xscale="log", xlabel=label)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.margins(x=0.08, y=0.08)
            low, high = axes.get_xlim()
            axes.xaxis.set_minor_formatter("{x:g}" if high < 15 * low else "")
            axes.grid(alpha=0.25)
        row[0].set_ylabel(f"{data_name}: accuracy, %")
    figure.legend(
        handles=[
            mpl.lines.Line2D([], [], color=colour, marker=marker, linestyle="", label=f"{number[name]}  {name}")
            for name in names
            for _, group, colour, marker in GROUPS
            if name in group
        ],
        loc="outside lower center", ncols=4, fontsize=8, frameon=False,
    )  # fmt: skip
    figure.canvas.draw()
    for row, points in zip(all_axes, tables.values(), strict=True):
        for axes, (cost, unit, _) in zip(row, COSTS, strict=True):
            places = {name: (of[cost] / unit, of["accuracy"]) for name, of in points.items()}
            put_numbers(axes, places, number)
    picture.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        figure.savefig(picture.with_suffix(suffix), dpi=130)
    print(f"\npicture: {picture.with_suffix('.png')}")


def put_numbers(axes, places, number, distance=9.0):
    """Write each number next to its point, as far as possible from other points and numbers."""
    dots = {name: axes.transData.transform(place) for name, place in places.items()}
    taken = list(dots.values())
    angles = np.arange(12) * np.pi / 6
    for name, dot in sorted(dots.items(), key=lambda item: item[1][0]):
        spots = dot + distance * axes.figure.dpi / 72 * np.column_stack([np.cos(angles), np.sin(angles)])
        room = [min(np.hypot(*(spot - other)) for other in taken) for spot in spots]
        best = spots[int(np.argmax(room))]
        taken.append(best)
        colour = next(colour for _, group, colour, _ in GROUPS if name in group)
        axes.annotate(
            str(number[name]), places[name], (best - dot) * 72 / axes.figure.dpi, textcoords="offset points",
            ha="center", va="center", fontsize=8, color=colour, annotation_clip=False,
        )  # fmt: skip


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=ALL, default=list(ALL))
    parser.add_argument("--contenders", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--time-limit", type=float, default=1200, help="seconds for each contender, data set and seed")
    parser.add_argument("--journal", type=Path, default=Path("out/frontier.jsonl"))
    parser.add_argument("--picture", type=Path, default=Path("out/frontier.png"))
    parser.add_argument("--only-report", action="store_true")
    return parser.parse_args()


def main():
    arguments = parsed()
    if not arguments.only_report:
        run(arguments, arguments.journal)
    entries = read_journal(arguments.journal)
    tables = {name: found for name in arguments.sets if (found := summaries(entries, name))}
    for data_name, points in tables.items():
        print_table(data_name, points)
    print("\n" + ", ".join(sorted({entry["version"] for entry in entries})))
    is_met = check_claims(tables)
    draw(tables, arguments.picture)
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
