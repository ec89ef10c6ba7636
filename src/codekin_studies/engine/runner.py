"""Run the unfinished tasks of a study in several processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from joblib import Parallel, delayed

from codekin._system.files import sha256
from codekin._system.parallel import (
    available_threads,
    end_with,
    limited_threads,
    n_workers,
    process_to_end_with,
    returned_as,
    with_workers,
)
from codekin.progress import report, subscribe
from codekin_studies.engine.workspace import Outcome, Record, Stage, Task, Workspace, software_versions

TASKS_PER_ROUND = 4
"""How many tasks each worker gets before results are saved, if joblib's backend returns them all at once."""


TaskFunction = Callable[[Task, Workspace], Outcome]


def unfinished(stages: Iterable[Stage], workspace: Workspace, *, is_checked: bool = False) -> list[Stage]:
    """The stages without finished tasks; none that is empty. With ``is_checked``, their files are verified."""
    records = workspace.journal.records

    def is_left(task: Task) -> bool:
        return not workspace.is_finished(records.get(task.key), is_checked=is_checked)

    left = [Stage(stage.name, [task for task in stage.tasks if is_left(task)]) for stage in stages]
    return [stage for stage in left if stage.tasks]


def run_stages(
    stages: Iterable[Stage], functions: Mapping[str, TaskFunction], workspace: Workspace, *, n_jobs: int | None = None
) -> int:
    """Run what is not finished, stage after stage, and save each result at once; returns how many tasks were run.

    The functions must be importable by other processes. ``n_jobs`` of them share the work; by default the workers of
    the enclosing ``joblib.parallel_config``, or one process per processor without one. Results do not depend on it. All
    of them use the folders of the workspace.
    """
    stages = list(stages)
    if n_jobs is None:
        n_jobs = n_workers() if n_workers() > 1 else available_threads()
    report("looking for what is finished")
    with workspace.locked():
        journal = workspace.journal
        left = unfinished(stages, workspace, is_checked=True)
        n_tasks, total = _size(stages)
        n_left, weight_left = _size(left)
        n_done, done, n_run = n_tasks - n_left, total - weight_left, 0
        for stage in left:
            report(stage.name, done, total, detail=f"{n_done} of {n_tasks} tasks")
            for task, record in _performed(stage.tasks, functions, workspace, n_jobs):
                journal.append(record)
                n_run, n_done, done = n_run + 1, n_done + 1, done + task.weight
                report(stage.name, done, total, detail=f"{n_done} of {n_tasks} tasks")
    return n_run


def _performed(
    tasks: Sequence[Task], functions: Mapping[str, TaskFunction], workspace: Workspace, n_jobs: int
) -> Iterator[tuple[Task, Record]]:
    """The results of the workers as they arrive; in rounds if joblib's backend can only return lists."""
    n_threads, parent = 1 if n_jobs > 1 else None, process_to_end_with()
    if n_jobs == 1:
        yield from (_perform(functions[task.kind], task, workspace, n_threads, parent) for task in tasks)
        return
    return_as = returned_as("generator_unordered")
    n_at_once = TASKS_PER_ROUND * n_jobs if return_as == "list" else len(tasks)
    with _dead_workers_named(workspace), Parallel(n_jobs=min(n_jobs, len(tasks)), return_as=return_as) as pool:
        for start in range(0, len(tasks), n_at_once):
            yield from pool(
                delayed(_perform)(functions[task.kind], task, workspace, n_threads, parent)
                for task in tasks[start : start + n_at_once]
            )


@contextmanager
def _dead_workers_named(workspace: Workspace) -> Iterator[None]:
    """Explain in one sentence that a process of the pool is gone."""
    try:
        yield
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A worker process ended before its task did: it was killed, or memory was short. What is finished is kept "
            f"in {workspace.folder}; the same command continues."
        ) from error


def _size(stages: list[Stage]) -> tuple[int, float]:
    return sum(len(s.tasks) for s in stages), sum(task.weight for s in stages for task in s.tasks)


def _perform(
    function: TaskFunction, task: Task, workspace: Workspace, n_threads: int | None, parent: int | None
) -> tuple[Task, Record]:
    end_with(parent)
    started, cpu_started = time.perf_counter(), time.process_time()
    # A task that shares the machine with others starts no workers.
    # Stages within a task are not reported: they would hide those of the study.
    with limited_threads(n_threads), with_workers(n_threads), subscribe(lambda _: None):
        outcome = function(task, workspace)
    workspace.save(task, outcome.arrays)
    what = task.key, task.kind, dict(task.parameters), dict(outcome.result), tuple(outcome.arrays)
    checksums = {name: sha256(workspace.array_path(task.key, name)) for name in outcome.arrays}
    seconds = round(time.perf_counter() - started, 3), round(time.process_time() - cpu_started, 3)
    return task, Record(*what, *seconds, software_versions(), checksums)
