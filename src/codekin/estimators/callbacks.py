"""scikit-learn's callbacks for bits that are learned one by one."""

from __future__ import annotations

from typing import Any

from codekin.learners import Learner
from codekin.learners.independent import BitTask


def begin_callbacks(owner: Any, learner: Learner, n_fits: int) -> Any:
    """The callback context of a whole fit, with one task per fitted bit (``n_fits``, folds of calibration included).

    The callbacks are called on behalf of ``owner``. Bits that are learned together have no tasks.
    """
    tasks = getattr(learner, "tasks", None)
    n_tasks = 0 if tasks is None else n_fits
    context = owner._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=False)
    context.call_on_fit_task_begin(estimator=owner)
    has_listeners = getattr(owner, "_skl_callbacks", None) or hasattr(owner, "_parent_callback_ctx")
    if tasks is not None and has_listeners:
        tasks.extend(BitTask(context.subcontext(task_name="bit", task_id=task), owner) for task in range(n_tasks))
    return context
