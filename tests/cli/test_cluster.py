"""Problems with a cluster are reported in one sentence; tests/_system/test_workers.py tests that commands use it."""

import sys

import pytest

from codekin._system import parallel as cluster

COMMANDS = {
    "train": ("train", "train.svm", "model"),
    "assign": ("assign", "--distances", "distances.csv"),
    "study": ("study", "run", "synthetic", "--no-report"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_without_dask_the_package_is_named(run, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "distributed", None)
    shown = run(*COMMANDS[command], "--scheduler", "tcp://127.0.0.1:1")
    assert shown.code == 1
    assert shown.err == "codekin: --scheduler needs dask and distributed. Install with: pip install dask distributed.\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("address", "code"), [("tcp://127.0.0.1:1", 1), ("udp://127.0.0.1:1", 2)], ids=["nobody there", "no protocol"]
)
def test_a_scheduler_that_does_not_answer_is_named(run, monkeypatch, tmp_path, command, address, code):
    dask = pytest.importorskip("dask", reason="needs codekin[distributed]")
    pytest.importorskip("distributed", reason="needs codekin[distributed]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 0.2)
    before = dask.config.get("scheduler", None)
    shown = run(*COMMANDS[command], "--scheduler", address)
    assert shown.code == code
    assert dask.config.get("scheduler", None) == before  # other work in this process goes on without a cluster
    assert shown.err.startswith(f"codekin: The Dask scheduler at {address} cannot be reached: ")
    assert shown.err.count("\n") == 1


def test_workers_are_counted_by_the_cluster_or_by_the_user(run):
    shown = run("train", "train.svm", "model", "--n-jobs", 2, "--scheduler", "tcp://127.0.0.1:1")
    assert shown.code == 2
    assert shown.err == "codekin: --scheduler uses all workers of the cluster. Got --n-jobs 2 as well.\n"
    shown = run("train", "train.svm", "model", "--n-jobs", 0)
    assert "--n-jobs must be a number of worker processes, or -1 for one per processor. Got 0 instead" in shown.err
