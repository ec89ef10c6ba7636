"""`import codekin` costs at most 0.15 s more than `import sklearn` alone.

Both sides run in new processes, alternating, so that a change in the machine's load hits both.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
BAR_SECONDS = 0.15


def seconds(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - started


def main() -> int:
    statements = ("import sklearn", "import codekin")
    for statement in statements:  # the first time also reads the disk and writes byte code
        seconds(statement)
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(ROUNDS):
        for statement in statements:
            times[statement].append(seconds(statement))
    base, ours = (statistics.median(times[statement]) for statement in statements)
    print(f"import sklearn   median of {ROUNDS}: {base:.3f} s")
    print(f"import codekin   median of {ROUNDS}: {ours:.3f} s   ratio {ours / base:.2f}")
    met = ours - base <= BAR_SECONDS
    print(f"difference {ours - base:+.3f} s; bar {BAR_SECONDS} s: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
