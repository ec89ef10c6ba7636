"""`import codekin` costs at most 0.15 s more than `import sklearn` alone.

All sides run in new processes, in turn, so that a change in the machine's load affects all of them. The second pair is
what users of either library import; it has no bar.
"""

import argparse
import statistics
import subprocess
import sys
import time

BAR_SECONDS = 0.15
PAIRS = (
    ("import sklearn", "import codekin"),
    ("from sklearn.multiclass import OutputCodeClassifier", "from codekin import ECOCClassifier"),
)


def seconds(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    n_rounds = parser.parse_args().rounds
    statements = [statement for pair in PAIRS for statement in pair]
    for statement in statements:  # the first time also reads the disk and writes byte code
        seconds(statement)
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(n_rounds):
        for statement in statements:
            times[statement].append(seconds(statement))
    medians = {statement: statistics.median(values) for statement, values in times.items()}
    for theirs, ours in PAIRS:
        print(f"{medians[theirs]:.3f} s  {theirs}")
        print(f"{medians[ours]:.3f} s  {ours}   ratio {medians[ours] / medians[theirs]:.2f}")
    difference = medians[PAIRS[0][1]] - medians[PAIRS[0][0]]
    is_met = difference <= BAR_SECONDS
    print(f"difference of the first pair {difference:+.3f} s, at most {BAR_SECONDS} s: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
