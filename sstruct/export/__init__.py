"""Export of fitted models and pipelines to JSON and ONNX, and readers in C and JavaScript."""

from sstruct.export._pipelines import export_model
from sstruct.export._readers import reader_path

__all__ = ["export_model", "reader_path"]
