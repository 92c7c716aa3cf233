"""Write models as JSON and ONNX files for other programs."""
