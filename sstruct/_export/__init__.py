"""Models in formats that other programs read: JSON and ONNX."""
