"""What a training that is too large for one machine needs, and where more workers stop helping.

    python benchmarks/cluster_plan.py [--rows 1e7] [--features 1e6] [--classes 1e6] [--width 10] [--workers 1 2 4 ...]

A simulation, not a measurement. The rates of one thread come from ``distribution.py`` on any machine
(``--nanoseconds-per-nonzero``, ``--nanoseconds-per-bit``), the rate of the network from its data sheet. The steps are
those of ``AROW(n_jobs=...)`` on a Dask cluster:

1. the samples and the codewords are sent to the scheduler, from there to one worker, and from worker to worker, so that
   the number of workers that have them doubles with each round;
2. in each pass, each worker goes over all samples for its columns;
3. the weights of all columns come back through the network port of one machine.

Workers don't wait for each other between passes. With validation samples, the margins after each pass come back as
well, and the passes up to the best one are repeated: the column "with validation" assumes that the last but one is
best.
"""

import argparse
from dataclasses import dataclass
from math import ceil, log2

from codekin.codebooks import trellis_codebook

GOOD_ENOUGH = 0.5
"""Workers pay off while they spend at least this share of the time learning."""


@dataclass(frozen=True)
class Plan:
    """A training and the machines for it."""

    n_rows: float
    n_nonzeros: float
    n_features: float
    n_classes: float
    n_bits: int
    n_epochs: int
    n_validation: float
    nanoseconds_per_nonzero: float
    nanoseconds_per_bit: float
    bytes_per_second: float

    @property
    def sample_bytes(self):
        """Row pointers, classes and weights of eight bytes each, and eight for each non-zero."""
        return self.n_rows * (24 + 8 * self.n_nonzeros)

    @property
    def codeword_bytes(self):
        return self.n_classes * self.n_bits

    @property
    def weight_bytes(self):
        return 4 * self.n_features * self.n_bits

    def bits_of_worker(self, n_workers):
        return ceil(self.n_bits / n_workers)

    def worker_bytes(self, n_workers):
        """The samples, the codewords, and the weights and variances of its own columns."""
        return self.sample_bytes + self.codeword_bytes + 8 * self.n_features * self.bits_of_worker(n_workers)

    def scatter_seconds(self, n_workers):
        rounds = 2 + ceil(log2(n_workers)) if n_workers > 1 else 0
        return rounds * (self.sample_bytes + self.codeword_bytes) / self.bytes_per_second

    def learn_seconds(self, n_workers, n_epochs=None):
        of_nonzero = self.nanoseconds_per_nonzero + self.nanoseconds_per_bit * self.bits_of_worker(n_workers)
        return (n_epochs or self.n_epochs) * self.n_rows * self.n_nonzeros * of_nonzero / 1e9

    def gather_seconds(self, n_workers):
        return self.weight_bytes / self.bytes_per_second if n_workers > 1 else 0.0

    def seconds(self, n_workers):
        return self.scatter_seconds(n_workers) + self.learn_seconds(n_workers) + self.gather_seconds(n_workers)

    def seconds_with_validation(self, n_workers):
        if n_workers == 1:
            return self.seconds(1)  # keeps the weights of the best pass
        margins = self.n_epochs * 4 * self.n_validation * self.n_bits / self.bytes_per_second
        again = self.learn_seconds(n_workers, self.n_epochs - 1) + self.gather_seconds(n_workers)
        return self.seconds(n_workers) + margins + again


def in_gb(n_bytes):
    return f"{n_bytes / 1e9:.1f} GB"


def in_minutes(seconds):
    return f"{seconds / 60:.1f}"


def print_plan(plan, workers):
    print(
        f"{plan.n_classes:,.0f} classes, {plan.n_rows:,.0f} rows of {plan.n_nonzeros:g} non-zeros, "
        f"{plan.n_features:,.0f} features, {plan.n_bits:,} bits, {plan.n_epochs} passes"
    )
    print(f"samples {in_gb(plan.sample_bytes)}, codewords {in_gb(plan.codeword_bytes)}, ", end="")
    print(f"weights {in_gb(plan.weight_bytes)}, with variances {in_gb(2 * plan.weight_bytes)}")
    print(
        "\n| workers | memory of each | scatter | learn | gather | minutes | times as fast | busy | with validation |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    last_good = 1
    for n in workers:
        total, learning = plan.seconds(n), plan.learn_seconds(n)
        speedup = plan.seconds(1) / total
        if speedup / n >= GOOD_ENOUGH:
            last_good = n
        cells = [plan.scatter_seconds(n), learning, plan.gather_seconds(n), total]
        print(
            f"| {n} | {in_gb(plan.worker_bytes(n))} | {' | '.join(in_minutes(cell) for cell in cells)} | {speedup:.1f} "
            f"| {speedup / n:.0%} | {in_minutes(plan.seconds_with_validation(n))} |"
        )
    best = min(workers, key=plan.seconds)
    print(f"\nMore than {last_good} workers are less than half busy; the shortest time has {best}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--nonzeros", type=float, default=60, help="of a row")
    parser.add_argument("--features", type=float, default=1e6)
    parser.add_argument("--classes", type=float, default=1e6)
    parser.add_argument("--width", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--validation", type=float, default=1e5, help="how many samples")
    parser.add_argument("--nanoseconds-per-nonzero", type=float, default=86)
    parser.add_argument("--nanoseconds-per-bit", type=float, default=0.81)
    parser.add_argument("--gigabits", type=float, default=10, help="of the network, per second")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32, 64, 128])
    arguments = parser.parse_args()
    plan = Plan(
        arguments.rows,
        arguments.nonzeros,
        arguments.features,
        arguments.classes,
        trellis_codebook(int(arguments.classes), arguments.width).n_bits,
        arguments.epochs,
        arguments.validation,
        arguments.nanoseconds_per_nonzero,
        arguments.nanoseconds_per_bit,
        arguments.gigabits * 1e9 / 8,
    )
    print_plan(plan, arguments.workers)


if __name__ == "__main__":
    main()
