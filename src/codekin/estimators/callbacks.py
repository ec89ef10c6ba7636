"""scikit-learn's callbacks hear of every bit that is learned on its own."""

from __future__ import annotations

from typing import Any

from codekin.learners import IndependentBits, JointLearner
from codekin.learners.independent import BitTask


def begin_callbacks(owner: Any, learner: IndependentBits | JointLearner, n_fits: int) -> Any:
    """Announce one task for every fit of a bit.

    Parameters
    ----------
    owner : estimator
        In whose name the callbacks are called.
    learner : IndependentBits or JointLearner
        Its tasks are filled in; bits that are learned together have none.
    n_fits : int
        How many bits are fitted, those of the folds of a calibration included.

    Returns
    -------
    sklearn.callback.CallbackContext
        Of the whole fit, which has begun.
    """
    n_tasks = n_fits if isinstance(learner, IndependentBits) else 0
    context = owner._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=False)
    context.call_on_fit_task_begin(estimator=owner)
    has_listeners = getattr(owner, "_skl_callbacks", None) or hasattr(owner, "_parent_callback_ctx")
    if isinstance(learner, IndependentBits) and learner.tasks is not None and has_listeners:
        learner.tasks.extend(
            BitTask(context.subcontext(task_name="bit", task_id=task), owner) for task in range(n_tasks)
        )
    return context
