"""The demo: random against preserving assignments on embedded data sets, and a page about it."""

from codekin.demo.comparison import DemoResult, run_demo
from codekin.demo.diagnoses import Diagnoses, run_diagnoses
from codekin.demo.page import example_views, write_demo

__all__ = ["DemoResult", "Diagnoses", "example_views", "run_demo", "run_diagnoses", "write_demo"]
