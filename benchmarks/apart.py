"""Run single measurements in separate processes, and keep their results in a journal.

Makes no claim; ``budget_time.py``, ``training_memory.py`` and ``cost_curves.py`` use it. A measurement is a task, plain
values for JSON, that the script itself carries out when it is called as ``python SCRIPT --task JSON``: in a process of
its own, bound to one processor, so that peaks and CPU times are those of this task.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from contenders import ONE_THREAD, peak_bytes

MARK = "result: "


def carry_out(measure):
    """If this process was started for a task, measure it, print the result, and end."""
    if "--task" not in sys.argv:
        return
    task = json.loads(sys.argv[sys.argv.index("--task") + 1])
    if hasattr(os, "sched_setaffinity") and task.get("n_threads", 1) == 1:
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    print(MARK + json.dumps(measure(task)), flush=True)
    raise SystemExit(0)


def result_of(script, task, *, time_limit=3600):
    """The result of a task in a process of its own, or one sentence on why there is none."""
    command = [sys.executable, script, "--task", json.dumps(task)]
    environment = os.environ | ({} if task.get("n_threads", 1) > 1 else ONE_THREAD)
    try:
        run = subprocess.run(command, env=environment, capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {time_limit:g} seconds"
    lines = run.stdout.decode(errors="replace").splitlines()
    found = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if run.returncode != 0 or not found:
        return f"failed: {run.stderr.decode(errors='replace').strip()[-2000:]}"
    return json.loads(found[-1])


class Journal:
    """Results of tasks, one line of JSON each; a task that is in it is not measured again."""

    def __init__(self, path):
        self.path = Path(path)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.entries = [json.loads(line) for line in lines if line.endswith("}")]

    def of(self, script, task, *, only_known=False, **options):
        """The result of a task, measured now unless it is known; None if it failed, which is printed."""
        for entry in self.entries:
            if entry["task"] == task:
                return entry["result"]
        if only_known:
            return None
        result = result_of(script, task, **options)
        if isinstance(result, str):
            print(f"{json.dumps(task)}: {result}", flush=True)
            return None
        self.entries.append({"task": task, "result": result})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(self.entries[-1]) + "\n")
        return result


def cpu_seconds():
    """The CPU seconds of this process and of the processes that it started and waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def reset_peak():
    """Forget the peak of this process so far, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def bytes_of_rows(X):
    """What sparse rows take in memory."""
    return sum(array.nbytes for array in (X.data, X.indices, X.indptr))


def microseconds_of(predict, X, n_rows=5_000, n_rounds=3):
    """CPU microseconds per prediction, the best of some rounds."""
    rows = X[:n_rows]
    predict(rows)
    times = []
    for _ in range(n_rounds):
        begin = cpu_seconds()
        predict(rows)
        times.append(cpu_seconds() - begin)
    return float(1e6 * np.min(times) / rows.shape[0])


__all__ = [
    "Journal",
    "bytes_of_rows",
    "carry_out",
    "cpu_seconds",
    "microseconds_of",
    "peak_bytes",
    "reset_peak",
    "result_of",
]
