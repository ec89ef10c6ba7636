"""Write the answers of the corpus: ``python -m tests.golden``, or some cases by name."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.cases import ANSWERS, CASES, answers, environment, page_answers


def _in_lines(value: Any, depth: int = 0) -> str:
    """JSON with a line for each part of a case, so that a change shows what it changes."""
    if depth == 3 or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    rows = (f"{' ' * (depth + 1)}{json.dumps(key)}: {_in_lines(part, depth + 1)}" for key, part in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{' ' * depth}}}"


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(CASES)
    kept = json.loads(ANSWERS.read_text(encoding="utf-8"))["cases"] if sys.argv[1:] else {}
    for name in chosen:
        print(name, flush=True)  # noqa: T201
        with tempfile.TemporaryDirectory() as home:
            kept[name] = answers(name, Path(home))
            if CASES[name].has_page:
                kept[name]["page"] = page_answers(Path(home))
    written = {"environment": environment(), "cases": {name: kept[name] for name in CASES}}
    ANSWERS.write_text(_in_lines(written) + "\n", encoding="utf-8")
