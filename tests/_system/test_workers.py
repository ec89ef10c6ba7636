"""Results don't depend on where the work is done, nor on lost workers.

The cluster is a real one: a Dask scheduler and two worker processes, which are killed with SIGKILL.
"""

import logging
import os
import signal
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse

from codekin._system.parallel import available_threads, n_workers, share_work, with_workers
from codekin.assignments import assign
from codekin.assignments.budget import Budget
from codekin.cli.main import main
from codekin.code import Codebook
from codekin.data import make_sparse_topics
from codekin.data.writing import export_dataset
from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.learners import AROW
from codekin.learners.arow import AROWBits
from codekin.storage import load_assignment, load_model, save_model
from codekin_studies.engine.runner import run_stages
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster for all of them

N_CLASSES, N_SAMPLES, N_FEATURES = 40, 600, 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Dask cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="needs codekin[distributed]")
    dask = pytest.importorskip("dask")
    folder = tmp_path_factory.mktemp("cluster")
    with (
        # Where a worker has died another one is waited for, also on a busy machine.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of the cluster, all of whose workers are there: also those in the place of killed ones.

    It is not Dask's default one, which would outlive the cluster in Dask's settings and reach the tests after these.
    """
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        while len(client.run(os.getpid, on_error="ignore")) < 2:
            client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=N_SAMPLES)
    y[:N_CLASSES] = np.arange(N_CLASSES)
    centres = rng.random((N_CLASSES, N_FEATURES)) < 0.05
    X = sparse.random_array((N_SAMPLES, N_FEATURES), density=0.03, rng=rng, dtype=np.float32)
    return sparse.csr_array(X + sparse.csr_array(centres[y].astype(np.float32))), y


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# ----- a whole model ------------------------------------------------------------------------------------------------


def fitted_folder(samples, folder, *, has_validation, n_jobs=None):
    """The files of a trellis model; several bits for each worker, and all that AROW can add to them."""
    X, y = samples
    learner = AROW(n_epochs=3, average=True, fit_intercept=True)
    classifier = ExtremeClassifier(4, estimator=learner, assignment="preserving", n_jobs=n_jobs, random_state=0)
    classifier.fit(X[:500], y[:500], validation=(X[500:], y[500:]) if has_validation else None)
    return folder_bytes(save_model(classifier, folder))


@pytest.mark.parametrize("has_validation", [False, True], ids=["all passes", "the best pass"])
def test_a_model_has_the_same_bytes_wherever_it_is_fitted(client, samples, tmp_path, has_validation):
    found = {}

    def fit(name, n_jobs=None):
        found[name] = fitted_folder(samples, tmp_path / name, has_validation=has_validation, n_jobs=n_jobs)

    fit("here")
    fit("n_jobs=1", n_jobs=1)
    fit("n_jobs=2", n_jobs=2)
    with parallel_config(backend="loky", n_jobs=2):
        fit("loky")
    with parallel_config(backend="dask"):
        fit("dask")
        if has_validation:
            client.run(die_after_a_pass, tmp_path / "killed")
            fit("dask, a worker killed")
    assert (tmp_path / "killed").exists() == has_validation
    assert [name for name in found if found[name] != found["here"]] == []


def test_a_model_has_the_same_bytes_when_ray_fits_it(samples, tmp_path):
    ray = pytest.importorskip("ray", reason="needs Ray")
    from ray.util.joblib import register_ray

    expected = fitted_folder(samples, tmp_path / "here", has_validation=True)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        register_ray()
        with parallel_config(backend="ray", n_jobs=2):
            assert fitted_folder(samples, tmp_path / "ray", has_validation=True) == expected
    finally:
        ray.shutdown()


def die_after_a_pass(flag):
    """In a worker: have the first one of all that makes a pass of AROW killed after it."""
    learning = AROWBits.learning

    def fatal(self, *arguments, **options):
        yield from learning(self, *arguments, **options)
        kill_once(flag)

    AROWBits.learning = fatal


def kill_once(flag):
    """Kill the process unless this was done before."""
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_estimators_of_bits_are_the_same_wherever_they_are_fitted(client, samples):
    X, y = samples
    found = {}

    def fit(name, n_jobs=None):
        classifier = ECOCClassifier(
            codebook="dense_random", n_bits=12, assignment="random", n_jobs=n_jobs, random_state=0
        ).fit(X, y)
        found[name] = [bit.coef_.tobytes() + bit.intercept_.tobytes() for bit in classifier.model_.bits.predictors]

    fit("here")
    fit("n_jobs=2", n_jobs=2)
    with parallel_config(backend="dask"):
        fit("dask")
    assert [name for name in found if found[name] != found["here"]] == []


def test_restarts_of_a_search_find_the_same_wherever_they_are_made(client):
    rng = np.random.default_rng(0)
    codebook, told = Codebook(np.unique(rng.choice([-1, 1], size=(12, 6)), axis=0)), []
    points = rng.normal(size=(codebook.n_codewords, 2))
    class_distances = np.linalg.norm(points[:, None] - points, axis=2)

    def search(**options):
        return assign(codebook, class_distances, "greedy", n_restarts=5, rng=0, **options)

    with parallel_config(backend="dask"):
        elsewhere = search(progress=told.append)
    for found in (search(n_jobs=2), elsewhere):
        assert found.codeword_of_class.tolist() == search().codeword_of_class.tolist()
        assert found.history.tolist() == search().history.tolist()
    assert len(told) == 5
    assert told[-1].score == elsewhere.score


def test_a_time_limit_holds_for_restarts_elsewhere(client):
    with parallel_config(backend="dask"):
        found = Budget("waiting", time_limit=100.0, n_restarts=4).run_restarts(wait_for_the_deadline, seed=0)
    assert [one.index for one in found] == [0, 1, 2, 3]
    assert all(0 < one.n_evaluations <= 50_000 for one in found)


class Waited(NamedTuple):
    index: int
    n_evaluations: int
    objective: float = 0.0


def wait_for_the_deadline(index, seed, deadline):
    milliseconds = round(1e3 * (deadline - perf_counter()))
    return Waited(index, milliseconds)


def squared(task, workspace):
    return Outcome({"square": task.parameters["x"] ** 2, "process": os.getpid()}, {"x": np.ones(3)})


def test_tasks_of_a_study_are_done_by_the_cluster_and_written_down_here(client, tmp_path):
    workspace, tasks = Workspace(tmp_path), [Task("square", {"x": x}) for x in range(4)]
    with parallel_config(backend="dask"):
        assert run_stages([Stage("squares", tasks)], {"square": squared}, workspace) == 4
    results = [workspace.journal.records[task.key].result for task in tasks]
    assert [result["square"] for result in results] == [0, 1, 4, 9]
    assert os.getpid() not in {result["process"] for result in results}
    assert workspace.load(tasks[3], "x").tolist() == [1, 1, 1]


# ----- from the command line, and in the partitions of others ------------------------------------------------------


def test_commands_share_their_work_with_a_cluster_and_write_the_same_bytes(client, tmp_path):
    export_dataset(make_sparse_topics(32, 600, n_features=400, rng=0), tmp_path)
    address = client.scheduler.address

    def train(name, *options):
        arguments = ["train", tmp_path / "train.svm", tmp_path / name, "--width", "4", "--estimator", "arow", "--quiet"]
        assert main([str(argument) for argument in [*arguments, "--assignment", "preserving", *options]]) == 0
        return folder_bytes(tmp_path / name)

    def assigned(name, *options):
        arguments = ["assign", "--taxonomy", tmp_path / "taxonomy.txt", "--method", "greedy", "--n-restarts", "4"]
        assert main([str(argument) for argument in [*arguments, "--output", tmp_path / name, *options]]) == 0
        return load_assignment(tmp_path / name).assignment.codeword_of_class.tolist()

    assert train("elsewhere", "--scheduler", address) == train("here")
    assert assigned("elsewhere.json", "--scheduler", address) == assigned("here.json")


def predicted(block, folder):
    """The labels of a block, and whether the weights are mapped from the model's file."""
    return load_once(folder).predict(block)


@lru_cache
def load_once(folder):
    return load_model(folder)


def is_mapped(path):
    load_once(path.parent)
    return str(path) in Path("/proc/self/maps").read_text()


def test_a_saved_model_predicts_in_partitions_and_is_mapped_once_for_all_processes(client, samples, tmp_path):
    array = pytest.importorskip("dask.array")
    X, y = samples
    classifier = ExtremeClassifier(2, assignment="preserving", random_state=0).fit(X, y)
    folder = save_model(classifier, tmp_path / "model")
    partitions = array.from_array(X.toarray(), chunks=(100, -1))
    labels = partitions.map_blocks(predicted, folder, drop_axis=1, dtype=y.dtype)
    assert labels.compute().tolist() == classifier.predict(X).tolist()
    if Path("/proc/self/maps").exists():
        assert list(client.run(is_mapped, folder / "arrays.safetensors").values()) == [True, True]


def test_a_saved_model_predicts_the_partitions_of_a_data_frame(client, samples, tmp_path):
    frames = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = samples
    folder = save_model(ExtremeClassifier(2, assignment="preserving", random_state=0).fit(X, y), tmp_path / "model")
    frame = frames.from_pandas(pandas.DataFrame(X.toarray()), npartitions=3)
    labels = frame.map_partitions(labels_of, folder, meta=("label", y.dtype))
    assert labels.compute().tolist() == load_model(folder).predict(X).tolist()


def labels_of(frame, folder):
    import pandas

    return pandas.Series(predicted(frame.to_numpy(), folder), index=frame.index, name="label")


# ----- sharing work -------------------------------------------------------------------------------------------------


def times(shared, part):
    return float(shared.sum()) * part, os.getpid(), n_workers(), available_threads()


def test_parts_come_back_in_their_order_from_workers_that_have_none_themselves(client):
    shared = np.ones(10**6)
    with parallel_config(backend="dask"):
        assert n_workers() == 2
        found = list(share_work(times, shared, range(6)))
    assert [value for value, *_ in found] == [10**6 * part for part in range(6)]
    assert os.getpid() not in {process for _, process, *_ in found}
    assert {(workers, threads) for *_, workers, threads in found} == {(1, 1)}


def test_without_workers_nobody_is_asked():
    assert n_workers() == 1
    with with_workers(None):
        assert n_workers() == 1
    with with_workers(2):
        assert n_workers() == 2
        with with_workers(1):
            assert n_workers() == 1
    with pytest.raises(ValueError, match=r"The 'n_jobs' parameter must be a number of workers.* Got 0 instead\."):
        with_workers(0).__enter__()
