"""Two trellises are learned at the same time, to the same bytes as one after the other.

    python benchmarks/member_threads.py [--sets ...] [--widths 2 10] [--data-home FOLDER] [--rounds 5]

Fits of two codes without a re-ranking, two passes each, in random orders of the classes: AROW at width 2, softmax
above. One thread and two take turns; the best of all rounds counts. The last row is the same number of independent
loops on one thread and on two: what the machine allows at the moment. On a busy machine that is nothing; so there is
also the CPU time of learning alone, of both codes one after the other, and of the slower one of two at the same time:
what two free cores would take.
"""

import argparse
import time

from budget_time import splits_of
from vector_threads import SETS, loop, measured, show

from codekin import ExtremeClassifier
from codekin._system.parallel import limited_threads, on_threads
from codekin.fitting import codes
from codekin.fitting.codes import in_parallel
from codekin.learners import AROW, Softmax


def noted(seconds):
    """Learn codes as usual, and add the CPU time of the slowest one of those that learn at the same time."""

    def timed(task):
        begin = time.thread_time()
        return task(), time.thread_time() - begin

    def run(tasks):
        found = in_parallel({number: lambda task=task: timed(task) for number, task in tasks.items()})
        seconds[-1] += max(of_task for _, of_task in found.values())
        return {number: learned for number, (learned, _) in found.items()}

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--widths", nargs="+", type=int, default=[2, 10])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| | one thread, s | CPU, s | two threads, s | CPU, s | ratio |\n|---|---:|---:|---:|---:|---:|")
    is_same, learning = True, {}
    for data in options.sets:
        (train, _, _), _ = splits_of(data, options.data_home)
        for width in options.widths:
            learner, weights = (AROW if width == 2 else Softmax)(n_epochs=2), {}
            settings = {"rerank": None, "n_codes": 2, "assignment": "random", "code": "trellis", "random_state": 0}

            seconds = learning[data, width] = {1: [], 2: []}

            def fit(n_threads, *given, settings=settings, weights=weights, seconds=seconds):
                train, width, learner = given
                seconds[n_threads].append(0.0)
                codes.in_parallel = noted(seconds[n_threads])
                with limited_threads(n_threads):
                    model = ExtremeClassifier(width, estimator=learner, **settings).fit(*train).model_
                weights[n_threads] = [member.bits.weights.tobytes() for member in model.codes]

            given = train, width, learner
            actions = {n: lambda n=n, fit=fit, given=given: fit(n, *given) for n in (1, 2)}
            fit(1, *given)
            show(f"{data}, width {width}", measured(actions, options.rounds))
            is_same &= weights[1] == weights[2]
    loop(1)
    show(
        "independent loops",
        measured({n: lambda n=n: on_threads(loop, [10_000_000] * 4, n_threads=n) for n in (1, 2)}, options.rounds),
    )
    print("\n| learning alone, CPU s | both codes | the slower of two at once | ratio |\n|---|---:|---:|---:|")
    for (data, width), seconds in learning.items():
        one, two = min(seconds[1][1:]), min(seconds[2])
        print(f"| {data}, width {width} | {one:.3f} | {two:.3f} | {two / one:.2f} |")
    print(f"\nthe same bytes: {'yes' if is_same else 'NO'}")
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
