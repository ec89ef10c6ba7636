"""The paper's question for label trees: how much does it matter which class is at which leaf?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codekin.estimators import TrellisClassifier
from codekin_studies.configuration import Study
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.extreme.orders import load_many_classes

LEAVES = "extreme.leaves"
POLICIES = ("random", "preserving", "learnability", "halving")
"""How leaves are assigned to classes; "preserving" is the depth-first order of the taxonomy."""
WIDTH = 16


def leaf_tasks(study: Study, data: Mapping[str, Any], policy: str | None = None) -> list[Task]:
    """The tasks that train label trees: all runs of one policy for leaves, or of all."""
    return [
        Task(
            LEAVES,
            {"data": data["name"], "policy": name, "run": run},
            label=f"{data['name']}, label tree, {name} leaves, run {run}",
            weight=data.get("seconds", 1.0),
        )
        for run in range(int(study.option("n_runs")))
        for name in ([policy] if policy else data.get("leaves", ()))
    ]


def run_leaves(task: Task, workspace: Workspace) -> Outcome:
    """Train and test a label tree."""
    given = task.parameters
    known = load_many_classes(given["data"], workspace.data_home)
    leaves: Any = given["policy"]
    if leaves == "preserving":
        leaves = np.argsort(known.given_tree().class_order())
    classifier = TrellisClassifier(WIDTH, code="tree", assignment=leaves, rerank=None, random_state=given["run"])
    classifier.fit(known.data.X, known.encoded_labels)
    assert known.data.test is not None
    return Outcome({"accuracy": 100 * float(classifier.score(known.data.test.X, known.data.test.y))})
