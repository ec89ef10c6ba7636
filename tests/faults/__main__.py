"""``python -m tests.faults``: provoke every fault, feed every broken input, and print the outcomes.

The exit code is 1 if an outcome is not as expected.
"""

import os

# Before NumPy is imported: a process of one thread can be forked safely, and nobody's machine is taken over.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

from tests.faults.running import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
