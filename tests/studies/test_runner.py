"""Tasks run once, even if the study is interrupted."""

import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from codekin._system.parallel import with_workers
from codekin.progress import subscribe
from codekin_studies.engine.runner import run_stages, unfinished
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace

N_TASKS = 30

SCRIPT = """
import os, sys, time
from pathlib import Path
import numpy as np
from codekin_studies.engine.workspace import Outcome
from codekin_studies.engine.runner import run_stages
from codekin_studies.engine.workspace import Stage, Task
from codekin_studies.engine.workspace import Workspace

def square(task, workspace):
    time.sleep(0.03)
    number = task.parameters["number"]
    return Outcome({"square": number**2}, {"powers": np.full(20_000, number)})

stages = [Stage(f"stage {s}", [Task("square", {"number": n}) for n in range(s, int(sys.argv[3]), 2)]) for s in range(2)]
print("ready", flush=True)
n_run = run_stages(stages, {"square": square}, Workspace(Path(sys.argv[1])), n_jobs=int(sys.argv[2]))
print(n_run, flush=True)
"""


def run_once(folder, n_jobs=1):
    command = [sys.executable, "-c", SCRIPT, str(folder), str(n_jobs), str(N_TASKS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def results(folder):
    records = Workspace(folder).journal.records
    return {key: (dict(one.parameters), dict(one.result), one.arrays) for key, one in records.items()}


def arrays(folder):
    return {path.name: path.read_bytes() for path in (folder / "arrays").glob("*.npy")}


def test_a_run_killed_five_times_ends_like_an_undisturbed_one_and_does_nothing_twice(tmp_path):
    undisturbed, disturbed = tmp_path / "a", tmp_path / "b"
    assert run_once(undisturbed).communicate()[0].split() == ["ready", str(N_TASKS)]
    moment = random.Random(0)
    n_finished = [0]
    for _ in range(5):
        process = run_once(disturbed)
        process.stdout.readline()
        time.sleep(moment.uniform(0.02, 0.25))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        n_finished.append(len(Workspace(disturbed).journal.records))
    assert n_finished == sorted(n_finished)
    # The last run does what was left, and no more.
    assert run_once(disturbed).communicate()[0].split() == ["ready", str(N_TASKS - n_finished[-1])]
    assert results(disturbed) == results(undisturbed)
    assert arrays(disturbed) == arrays(undisturbed)
    n_lines = len((disturbed / "journal.jsonl").read_text().splitlines())
    assert n_lines == N_TASKS + 1
    assert not list(disturbed.rglob("*.partial"))


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    alone, together = tmp_path / "a", tmp_path / "b"
    for folder, n_jobs in ((alone, 1), (together, 2)):
        # A script has no name that other processes could import its functions by; joblib sends them whole.
        assert run_once(folder, n_jobs).communicate()[0].split() == ["ready", str(N_TASKS)]
    assert results(alone) == results(together)


def double(task, _workspace):
    return Outcome({"double": 2 * task.parameters["n"]}, {"n": np.array([task.parameters["n"]])})


def count_finished(_task, workspace):
    return Outcome({"n_finished": len(Workspace(workspace.folder).journal.records)})


@pytest.mark.parametrize("workers", [nullcontext, lambda: with_workers(1)])
def test_one_process_saves_each_result_before_the_next_task(tmp_path, workers):
    stages = [Stage("counting", [Task("count", {"n": n}) for n in range(6)])]
    with workers():
        run_stages(stages, {"count": count_finished}, Workspace(tmp_path), n_jobs=1)
    assert [one.result["n_finished"] for one in Workspace(tmp_path).journal.records.values()] == [*range(6)]


@pytest.fixture
def stages():
    return [Stage("doubling", [Task("double", {"n": n}, weight=n + 1.0) for n in range(3)])]


def test_a_task_whose_array_was_lost_is_done_again(tmp_path, stages):
    workspace = Workspace(tmp_path)
    assert run_stages(stages, {"double": double}, workspace, n_jobs=1) == 3
    assert run_stages(stages, {"double": double}, workspace, n_jobs=1) == 0
    workspace.array_path(stages[0].tasks[1].key, "n").unlink()
    assert [task.parameters["n"] for task in unfinished(stages, workspace)[0].tasks] == [1]
    assert run_stages(stages, {"double": double}, workspace, n_jobs=1) == 1


def test_a_task_whose_array_was_changed_is_done_again(tmp_path, stages):
    workspace = Workspace(tmp_path)
    run_stages(stages, {"double": double}, workspace, n_jobs=1)
    path = workspace.array_path(stages[0].tasks[1].key, "n")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert [task.parameters["n"] for task in unfinished(stages, workspace, is_checked=True)[0].tasks] == [1]
    assert run_stages(stages, {"double": double}, workspace, n_jobs=1) == 1
    assert path.read_bytes() == content


def test_progress_is_told_by_weight(tmp_path, stages):
    told = []
    with subscribe(told.append):
        run_stages(stages, {"double": double}, Workspace(tmp_path), n_jobs=1)
    assert [(at.detail, at.done, at.total) for at in told if at.total is not None] == [
        ("0 of 3 tasks", 0, 6),
        ("1 of 3 tasks", 1, 6),
        ("2 of 3 tasks", 3, 6),
        ("3 of 3 tasks", 6, 6),
    ]


def test_two_runs_in_one_folder_are_refused(tmp_path, stages):
    pytest.importorskip("fcntl")
    workspace = Workspace(tmp_path)
    with workspace.locked(), pytest.raises(FileExistsError, match="Another run is using"):
        run_stages(stages, {"double": double}, workspace, n_jobs=1)


def test_records_carry_versions_and_parameters(tmp_path, stages):
    workspace = Workspace(tmp_path)
    run_stages(stages, {"double": double}, workspace, n_jobs=1)
    (first, *_) = workspace.journal.records.values()
    assert first.parameters == {"n": 0}
    assert {"codekin", "numpy", "scikit-learn", "python"} <= set(first.versions)


def test_what_a_killed_run_left_half_written_is_cleared_away(tmp_path, stages):
    workspace = Workspace(tmp_path)
    rest = Path(tmp_path / "arrays" / ".x.npy.1234.partial")
    rest.parent.mkdir()
    rest.write_text("half")
    run_stages(stages, {"double": double}, workspace, n_jobs=1)
    assert not rest.exists()


def squared(task, workspace):
    return Outcome({"square": task.parameters["number"] ** 2})


def test_workers_that_return_lists_do_all_tasks_and_have_them_written_down_in_rounds(tmp_path):
    """As those of Ray do, and of joblib's backend "multiprocessing"."""
    tasks, n_done = [Task("square", {"number": n}) for n in range(19)], []
    workspace = Workspace(tmp_path)

    def listen(progress):
        if progress.total is not None:
            n_done.append(len(workspace.journal.records))

    with parallel_config(backend="multiprocessing", n_jobs=2), subscribe(listen):
        n_run = run_stages([Stage("squares", tasks)], {"square": squared}, workspace)
    assert n_run == 19
    assert n_done == list(range(20))
    assert [workspace.journal.records[task.key].result["square"] for task in tasks] == [n**2 for n in range(19)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_soon_after_their_command_was_killed(tmp_path):
    """Although they are in the middle of a task that takes an hour."""
    script = SCRIPT.replace("time.sleep(0.03)", "Path(workspace.folder, str(os.getpid())).touch(); time.sleep(3600)")
    command = [sys.executable, "-c", script, str(tmp_path), "2", "4"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def workers():
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]

    assert wait_for(lambda: len(workers()) == 2)
    running.kill()
    running.wait()
    assert wait_for(lambda: not any(is_alive(pid) for pid in workers()))


def wait_for(has_happened):
    deadline = time.monotonic() + 60
    while not has_happened() and time.monotonic() < deadline:
        time.sleep(0.05)
    return has_happened()


def is_alive(pid):
    """Whether a process is there and more than an entry that its parent has not yet collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
