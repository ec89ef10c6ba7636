"""scikit-learn's callbacks for bits that are learned one by one.

scikit-learn has callbacks since version 1.9. With older versions nobody can register one, and fitting works without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from codekin.learners import Learner
from codekin.learners.independent import BitTask

__all__ = ["CallbackSupportMixin", "begin_callbacks", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    if not TYPE_CHECKING:

        class CallbackSupportMixin:
            """Stands for scikit-learn's class of this name, without any callbacks."""

        def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
            """Stands for scikit-learn's decorator of this name: there is nothing to clean up after ``fit``."""
            return fit


class _NoContext:
    """Stands for scikit-learn's context where there is none."""

    def call_on_fit_task_end(self, *, estimator: Any) -> None:
        """Nobody listens."""


def begin_callbacks(owner: Any, learner: Learner, n_fits: int) -> Any:
    """The callback context of a whole fit, with one task per fitted bit (``n_fits``, folds of calibration included).

    The callbacks are called on behalf of ``owner``. Bits that are learned together have no tasks.
    """
    if not hasattr(owner, "_init_callback_context"):
        return _NoContext()
    tasks = getattr(learner, "tasks", None)
    n_tasks = 0 if tasks is None else n_fits
    context = owner._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=False)
    context.call_on_fit_task_begin(estimator=owner)
    has_listeners = getattr(owner, "_skl_callbacks", None) or hasattr(owner, "_parent_callback_ctx")
    if tasks is not None and has_listeners:
        tasks.extend(BitTask(context.subcontext(task_name="bit", task_id=task), owner) for task in range(n_tasks))
    return context
