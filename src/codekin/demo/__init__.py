"""The demo: random against preserving assignments on two embedded data sets, and a page about it."""

from codekin.demo.comparison import DemoResult, run_demo
from codekin.demo.page import example_views, write_demo

__all__ = ["DemoResult", "example_views", "run_demo", "write_demo"]
