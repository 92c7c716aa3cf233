"""Write an ExportedModel in the format of a file name."""

import os
from dataclasses import replace

from sstruct._checks.files import replaced_file
from sstruct._checks.shown import shortened
from sstruct._export.exported_model import exported_classes
from sstruct._export.json_file import json_content
from sstruct._export.onnx_file import onnx_content

CONTENTS = {".json": json_content, ".onnx": onnx_content}


def content_for(path):
    """Return the function that makes the content of a file with this suffix."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path, found {shortened(path)}")
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1] if isinstance(name, str) else None
    if suffix not in CONTENTS:
        raise ValueError(f"path must end in .json or .onnx, found {shortened(name)}")
    folder = os.path.dirname(name) or os.curdir
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"path is in {folder!r}, which is not an existing folder; create it"
        )
    return CONTENTS[suffix]


def write_model(model, path):
    """Write an ExportedModel to a file whose name ends in .json or .onnx."""
    import sstruct

    model = replace(model, classes=exported_classes(model.classes))
    content = content_for(path)(model, f"sstruct {sstruct.__version__}")
    with replaced_file(path) as draft:
        draft.write_bytes(content)
