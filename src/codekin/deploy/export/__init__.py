"""Models that run without codekin: as ONNX, or as a page for browsers."""

from codekin.deploy.export.onnx_model import export_onnx, padded_rows
from codekin.deploy.export.page import export_page

__all__ = ["export_onnx", "export_page", "padded_rows"]
