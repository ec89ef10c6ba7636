"""The build step that pyproject.toml cannot express: kernels that are compiled when codekin is built."""

import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithKernels(build_py):
    """Copy the sources, then compile their kernels; where that fails, Numba compiles them at their first use."""

    def run(self) -> None:
        super().run()
        library = ROOT / "src" if self.editable_mode else Path(self.build_lib)
        into = library / "codekin" / "kernels" / "compiled"
        done = subprocess.run([sys.executable, ROOT / "tools" / "compile_kernels.py", into], check=False)
        if done.returncode != 0:
            self.warn("the kernels could not be compiled in advance; they are compiled at their first use.")


setup(cmdclass={"build_py": BuildWithKernels})
