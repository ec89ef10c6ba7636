"""Models that run without codekin: as ONNX."""

from codekin.export.onnx_model import export_onnx, padded_rows

__all__ = ["export_onnx", "padded_rows"]
