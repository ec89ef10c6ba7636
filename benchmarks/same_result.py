"""Whether results are the same to the last byte for every kind of worker.

    python benchmarks/same_result.py

Rows are models, searches and studies; columns are the workers: this process, two processes, joblib's loky, a Dask
cluster of two processes, the same with one or all of them killed (SIGKILL) while they work, and Ray if it is installed.
A cell says "same" if every file (of a model or study) or every array equals that of one process.

Claim: all cells are the same.
"""

import argparse
import logging
import os
import signal
import sys
import tempfile
from contextlib import ExitStack, nullcontext
from importlib.util import find_spec
from pathlib import Path

from joblib import parallel_config

import codekin_studies as studies
from codekin._system.parallel import with_workers
from codekin.assignments import assign
from codekin.classes.tree_distances import TreeDistances
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.learners import AROW
from codekin.storage import save_model

STUDY = """
kind = "exhaustive"
title = "All splits of yeast"
seed = 0
splits_per_task = 64
codebooks = []
[[data]]
name = "yeast"
n_test = 200
learner = { name = "decision_tree", min_samples_split = 3 }
confusion = "inverse_folds"
"""


# ----- what is computed ---------------------------------------------------------------------------------------------


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def trellis_model(data, folder, validation=None):
    learner = AROW(n_epochs=4, average=True, fit_intercept=True)
    classifier = ExtremeClassifier(5, estimator=learner, taxonomy=data.class_tree, rerank=None, random_state=0)
    classifier.set_params(assignment="preserving").fit(data.X, data.y, validation=validation)
    return files_of(save_model(classifier, folder / "model"))


def trellis_model_with_validation(data, folder):
    return trellis_model(data, folder, (data.test.X, data.test.y))


def estimators_of_bits(data, _folder):
    classifier = ECOCClassifier(codebook="dense_random", n_bits=20, assignment="random", random_state=0)
    predictors = classifier.fit(data.X, data.y).model_.bits.predictors
    return [predictor.coef_.tobytes() + predictor.intercept_.tobytes() for predictor in predictors]


def restarts_of_searches(data, _folder):
    distances, codebook = TreeDistances(data.class_tree), trellis_codebook(len(data.class_names), 2)
    found = [assign(codebook, distances, method, n_restarts=4, rng=0) for method in ("portfolio", "tree_swaps")]
    return [(result.codeword_of_class.tolist(), result.score, result.history.tolist()) for result in found]


def splits_of_a_study(_data, folder):
    path = folder / "yeast.toml"
    path.write_text(STUDY)
    studies.run_study(studies.load_study(str(path)), folder / "out")
    return files_of(folder / "out" / "yeast" / "arrays")


ROWS = (trellis_model, trellis_model_with_validation, estimators_of_bits, restarts_of_searches, splits_of_a_study)


# ----- who computes it ----------------------------------------------------------------------------------------------


def arm(folder, n_deaths):
    """In a worker: kill it after it has finished its first part, before it returns it."""
    from codekin._system import parallel
    from codekin_studies.engine import runner

    def fatal(function):
        def work(*arguments):
            found = function(*arguments)
            for death in range(n_deaths):
                try:
                    Path(folder, str(death)).touch(exist_ok=False)
                except OSError:  # another worker has been killed already, or all is over
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return work

    parallel._call, runner._perform = fatal(parallel._call), fatal(runner._perform)


def columns(stack):
    """Functions by name; each creates a context in which the work is shared."""
    found = {
        "one process": lambda _: with_workers(1),
        "n_jobs=2": lambda _: with_workers(2),
        "loky": lambda _: parallel_config(backend="loky", n_jobs=2),
    }
    if find_spec("distributed"):
        import dask
        from distributed import Client, LocalCluster

        # By default Dask gives up on a dead worker that is not replaced within 15 s, which a busy machine may exceed.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        client = stack.enter_context(Client(stack.enter_context(LocalCluster(**options))))

        def dask(folder, n_deaths=0):
            while len(client.run(os.getpid, on_error="ignore")) < 2:  # replacements of killed workers are starting
                client.wait_for_workers(2)
            if n_deaths:
                (folder / "deaths").mkdir()
                client.run(arm, folder / "deaths", n_deaths)
            return parallel_config(backend="dask", client=client, wait_for_workers_timeout=120)

        found["dask"] = dask
        found["dask, one killed"] = lambda folder: dask(folder, 1)
        found["dask, all killed"] = lambda folder: dask(folder, 2)
    if find_spec("ray"):
        import ray
        from ray.util.joblib import register_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        stack.callback(ray.shutdown)
        register_ray()
        found["ray"] = lambda _: parallel_config(backend="ray", n_jobs=2)
    return found


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    data = make_sparse_topics(64, 1500, n_features=800, rng=0)
    is_same = True
    with ExitStack() as stack:
        ways = columns(stack)
        print(f"| {' | '.join(['', *ways])} |\n|{'---|' * (1 + len(ways))}")
        for row in ROWS:
            with tempfile.TemporaryDirectory() as home:
                Path(home, "here").mkdir()
                with nullcontext() if row is not splits_of_a_study else with_workers(1):
                    expected = row(data, Path(home, "here"))
                cells = []
                for number, way in enumerate(ways.values()):
                    folder = Path(home, str(number))
                    folder.mkdir()
                    with way(folder):
                        cells.append("same" if row(data, folder) == expected else "OTHER")
                    deaths = folder / "deaths"
                    if deaths.is_dir() and not any(deaths.iterdir()):
                        cells[-1] += ", BUT NOBODY DIED"
            print(f"| {row.__name__.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)
            is_same &= set(cells) == {"same"}
    if not is_same:
        print("BELOW THE CLAIM")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
