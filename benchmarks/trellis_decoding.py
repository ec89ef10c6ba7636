"""Decoding on a trellis: samples per second and core, against a vectorised NumPy recursion, and its growth with K.

    python benchmarks/trellis_decoding.py [--repeats 9] [--picture out/trellis_decoding.png]

Claims: for 100,000 classes and width 5 at least a million samples per second on one core, from single-precision
margins to classes, even under the exponential loss, whose evaluation costs more than the paths; at least four times as
fast as the same recursion in NumPy (under the linear loss, where the lengths are the margins; under the exponential one
both sides spend most of their time in NumPy's exp); and a cost that grows like the number of bits, that is, like log K,
from 100 to 10 million classes (see the picture, where a cost proportional to K would rise by five decades).
Both sides run on one thread and take turns. Times are CPU seconds, the minimum of several runs, since other work on the
machine only adds to them.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np

from codekin.code.trellis import TrellisGraph
from codekin.decoding import ShortestPathDecoder
from codekin.decoding.losses import get_loss

WIDTHS = (2, 5, 10)


def least(sides, repeats):
    times = {name: [] for name in sides}
    for run in sides.values():
        run()  # compile, allocate
    for _ in range(repeats):
        for name, run in sides.items():
            start = process_time()
            run()
            times[name].append(process_time() - start)
    return {name: min(values) for name, values in times.items()}


def shortest_paths_in_numpy(lengths, graph):
    """Ranks of the shortest paths for all samples at once, slice by slice from the sink."""
    n, b, m, digits = len(lengths), graph.width, graph.n_slices, graph.digits
    top = int(digits[-1])
    first_end = b + (m - 1) * b**2
    first_final = first_end + b * top
    first_shortcut = graph.n_edges
    ends = lengths[:, first_end:first_final].reshape(n, top, b) + lengths[:, first_final : first_final + top, None]
    rank = ends.argmin(axis=1)
    cost = ends.min(axis=1)
    for i in range(m - 1, -1, -1):
        digit, onward = int(digits[i]), graph.n_paths // b ** (i + 1)
        first_shortcut -= digit
        shortcut = lengths[:, first_shortcut : first_shortcut + digit]
        is_shorter = shortcut < cost[:, :digit]
        cost[:, :digit] = np.where(is_shorter, shortcut, cost[:, :digit])
        rank[:, :digit] = np.where(is_shorter, onward, rank[:, :digit])
        rank = rank + onward * np.arange(b) + np.minimum(np.arange(b), digit)
        n_before, first = (b, b + (i - 1) * b**2) if i else (1, 0)
        ways = lengths[:, first : first + n_before * b].reshape(n, n_before, b) + cost[:, None, :]
        chosen = ways.argmin(axis=2)
        cost = np.take_along_axis(ways, chosen[:, :, None], axis=2)[:, :, 0]
        rank = np.take_along_axis(rank, chosen, axis=1)
    return rank[:, 0]


def against_numpy(repeats, n_classes=100_000, n_samples=40_000, block=2_000):
    print(f"{n_classes:,} classes, {n_samples:,} samples, single precision margins, one thread; millions per second")
    print(f"{'width':>5}{'bits':>6}  {'loss':<12}{'decode':>8}{'NumPy':>8}{'ratio':>7}{'top 5':>8}{'log Z':>8}")
    results = []
    for width in WIDTHS:
        graph = TrellisGraph(n_classes, width)
        margins = np.random.default_rng(0).normal(size=(n_samples, graph.n_edges)).astype(np.float32)
        few = margins[:4_000]
        for loss in (get_loss("linear"), get_loss("exponential")):
            decoder = ShortestPathDecoder(graph, loss, n_threads=1)

            def numpy_decode(margins=margins, graph=graph, loss=loss):
                # In blocks that stay in the cache, which is NumPy's best case.
                parts = (margins[start : start + block] for start in range(0, n_samples, block))
                return np.concatenate([shortest_paths_in_numpy(-2 * loss.agreement(part), graph) for part in parts])

            agreement = (decoder.decode(margins) == numpy_decode()).mean()
            assert agreement > 0.999, agreement  # NumPy's sums are in single precision: near ties may differ
            sides = {
                "decode": lambda decoder=decoder, margins=margins: decoder.decode(margins),
                "numpy": numpy_decode,
                "top": lambda decoder=decoder, few=few: decoder.top_k(few, 5),
                "log Z": lambda decoder=decoder, few=few: decoder.log_partition(few),
            }
            times = least(sides, repeats)
            rate, ratio = n_samples / times["decode"] / 1e6, times["numpy"] / times["decode"]
            is_good = width != 5 or (rate >= 1 and (ratio >= 4 or loss.name != "linear"))
            results.append(is_good)
            rates = f"{rate:>8.2f}{n_samples / times['numpy'] / 1e6:>8.2f}{ratio:>7.1f}"
            rates += "".join(f"{len(few) / times[name] / 1e6:>8.2f}" for name in ("top", "log Z"))
            print(f"{width:>5}{graph.n_edges:>6}  {loss.name:<12}{rates}{'' if is_good else '  BELOW THE CLAIM'}")
    return all(results)


def growth(repeats, picture, n_samples=50_000):
    sizes = [10**exponent for exponent in range(2, 8)]
    print(f"\nnanoseconds per sample and bit, {n_samples:,} samples: a constant is a cost of O(n_bits)")
    print(f"{'width':>5}" + "".join(f"{n_classes:>12,}" for n_classes in sizes))
    curves, results = {}, []
    for width in WIDTHS:
        bits, seconds = [], []
        for n_classes in sizes:
            graph = TrellisGraph(n_classes, width)
            margins = np.random.default_rng(0).normal(size=(n_samples, graph.n_edges)).astype(np.float32)
            decoder = ShortestPathDecoder(graph, n_threads=1)
            times = least({"decode": lambda decoder=decoder, margins=margins: decoder.decode(margins)}, repeats)
            bits.append(graph.n_edges)
            seconds.append(times["decode"] / n_samples)
        curves[width] = np.array(bits), np.array(seconds)
        per_bit = 1e9 * curves[width][1] / curves[width][0]
        results.append(per_bit.max() <= 3 * per_bit.min())
        print(f"{width:>5}" + "".join(f"{value:>12.2f}" for value in per_bit))
    draw(sizes, curves, picture)
    print(f"picture: {picture}")
    return all(results)


def draw(sizes, curves, picture):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for width, (bits, seconds) in curves.items():
        (line,) = axes.plot(sizes, 1e6 * seconds, "o-", label=f"width {width}")
        scale = (seconds / bits).mean()
        axes.plot(sizes, 1e6 * scale * bits, ":", color=line.get_color())
        axes.annotate(f"{bits[-1]} bits", (sizes[-1], 1e6 * seconds[-1]), (6, -3), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="number of classes K", ylabel="microseconds per sample, one core")
    axes.set_xlim(right=sizes[-1] * 12)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_title("Decoding on a trellis costs O(n_bits); dotted: proportional to n_bits", fontsize=10)
    axes.legend(loc="upper left")
    axes.grid(alpha=0.3)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--picture", type=Path, default=Path("out/trellis_decoding.png"))
    arguments = parser.parse_args()
    results = [against_numpy(arguments.repeats), growth(arguments.repeats, arguments.picture)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
