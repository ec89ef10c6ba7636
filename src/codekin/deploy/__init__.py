"""Models at work: single predictions, a server, ONNX files and pages, and an explorer."""
