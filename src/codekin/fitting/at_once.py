"""Several codes learned at the same time, each on a thread of its own.

The bits of a trellis learn together, so a pass takes one thread; codes do not depend on each other. Their states are in
memory at the same time, twice the weights of all codes, as one code takes twice its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Any, TypeVar

from codekin._system.memory import available_memory
from codekin._system.stored_rows import StoredRows
from codekin._system.threads import available_threads, limited_threads
from codekin._system.workers import n_workers
from codekin.coding import Codebook
from codekin.fitting.learner_choice import memory_limit
from codekin.fitting.memory_needs import BYTES_PER_KEPT_WEIGHT, bytes_converted
from codekin.fitting.plan import Plan
from codekin.progress import Joint, Stopped, listening

Result = TypeVar("Result")


def codes_at_once(plan: Plan, codebook: Codebook, X: Any, *, keeps_all: bool = False) -> int:
    """How many codes of a plan learn from samples ``X`` at the same time.

    One after the other on trees, whose nodes share the threads; with joblib's workers, who share the bits; with samples
    on disk; and with learners that do not say how much memory they take. Otherwise as many as there are threads, if
    they fit into the memory that the learner is allowed and that is available. ``keeps_all``: whether the weights of
    finished codes are kept as they were learned, too.
    """
    learner: Any = plan.learner
    most = min(plan.n_members, getattr(learner, "n_threads", None) or available_threads())
    in_training = getattr(learner, "bytes_at_once", None)
    if most <= 1 or plan.has_tree or in_training is None or isinstance(X, StoredRows) or n_workers() > 1:
        return 1
    n_weights = (int(X.shape[1]) + 1) * codebook.n_bits  # perhaps with a bias
    kept = BYTES_PER_KEPT_WEIGHT[plan.precision] + (BYTES_PER_KEPT_WEIGHT["float32"] if keeps_all else 0)
    limits = [limit for limit in (memory_limit(learner), available_memory()) if limit is not None]
    own = bytes_converted(learner, X)
    for n_codes in range(most, 1, -1):
        of_weights = n_weights * (n_codes * in_training + (plan.n_members - n_codes) * kept)
        if all(of_weights + n_codes * own <= limit for limit in limits):
            return n_codes
    return 1


def shared_threads(plan: Plan, n_codes: int) -> Plan:
    """The plan for one of several codes at a time, which share the threads that its learner may use."""
    learner: Any = plan.learner
    n_threads = getattr(learner, "n_threads", None)
    if n_codes == 1 or n_threads is None:
        return plan
    return replace(plan, learner=replace(learner, n_threads=max(n_threads // n_codes, 1)))


def all_at_once(tasks: Mapping[int, Callable[[], Result]]) -> dict[int, Result]:
    """The results of all tasks, each on a thread; a single one runs on the calling thread.

    Reports of progress are added up. If a task fails, or the calling thread is interrupted, the others end at their
    next report, and the error is raised.
    """
    if len(tasks) <= 1:
        return {number: task() for number, task in tasks.items()}
    joint = Joint(len(tasks))
    n_threads = max(available_threads() // len(tasks), 1)

    def run(task: Callable[[], Result]) -> Result:
        try:
            with limited_threads(n_threads), listening(joint.listener()):
                return task()
        except BaseException:
            joint.stop()
            raise

    pool, running = ThreadPoolExecutor(len(tasks)), {}
    try:
        for number, task in tasks.items():
            running[number] = pool.submit(copy_context().run, run, task)
        return {number: future.result() for number, future in running.items()}
    except BaseException:
        joint.stop()
        for future in running.values():
            error = future.exception()
            if error is not None and not isinstance(error, Stopped):
                raise error from None  # what stopped the others
        raise
    finally:
        joint.stop()  # if it is interrupted here, nothing runs on
        pool.shutdown()
