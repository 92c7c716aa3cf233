"""Run the readers of exported models in C and JavaScript, and onnxruntime."""

import json
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from scipy import sparse

from sstruct.export import reader_path

HERE = Path(__file__).parent
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror", "-O1"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]


@cache
def c_program():
    """Return the path of the compiled program, with sanitizers if the compiler has them."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    folder = Path(mkdtemp())
    source, program = folder / "driver.c", folder / "driver"
    source.write_text('#include "driver.h"\n')
    include = [f"-I{HERE}", f"-I{reader_path('c').parent}"]
    for sanitize in (SANITIZE, []):
        command = [compiler, *STRICT, *sanitize, *include, source, "-o", program, "-lm"]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode == 0 and subprocess.run([program]).returncode == 2:
            return program
    raise AssertionError(made.stderr)


def run(*command):
    """Return the exit status and the output of a program, which must not write to stderr."""
    done = subprocess.run([*map(str, command)], capture_output=True, encoding="utf-8")
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def node(*arguments):
    """Run driver.mjs."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node.js is not installed")
    command, *others = arguments
    return run(program, HERE / "driver.mjs", command, reader_path("javascript"), *others)


def packed(rows):
    """Return a sequence, dense or CSR, as the bytes that the program in C reads."""
    if not sparse.issparse(rows):
        rows = np.asarray(rows, dtype=np.float64)
        return struct.pack("=qq", len(rows), -1) + rows.tobytes()
    rows = sparse.csr_array(rows)
    arrays = [rows.indptr.astype(np.int64), rows.indices.astype(np.int32)]
    arrays.append(rows.data.astype(np.float64))
    sizes = struct.pack("=qq", rows.shape[0], rows.nnz)
    return sizes + b"".join(array.tobytes() for array in arrays)


def c_labels(path, sequences):
    """Return the labels that the program in C predicts, as text; `sequences` are arrays."""
    rows = path.with_suffix(".rows")
    rows.write_bytes(b"".join(map(packed, sequences)))
    status, text = run(c_program(), "predict", path, rows)
    assert status == 0, text
    return [line.split("\t") if line else [] for line in text.split("\n")[:-1]]


def js_labels(path, sequences):
    """Return the labels that sstruct.js predicts; items are lists of numbers or feature dicts."""
    rows = path.with_suffix(".rows.json")
    rows.write_text(json.dumps(sequences))
    status, text = node("predict", path, rows)
    assert status == 0, text
    return json.loads(text)


def onnx_labels(path, sequences):
    """Return the labels that onnxruntime predicts for sequences of numbers."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return [
        session.run(None, {"X": np.asarray(x, dtype=np.float64)})[0].tolist() for x in sequences
    ]


def as_text(labels):
    """Return labels as the program in C prints them."""
    return [str(label).lower() if isinstance(label, bool) else str(label) for label in labels]


def outcomes(paths):
    """Return for each file the errors of the readers in C and JavaScript, "ok" for a valid file."""
    in_c = run(c_program(), "check", *paths)[1].split("\n")[:-1]
    in_js = node("check", *paths)[1].split("\n")[:-1]
    assert len(in_c) == len(in_js) == len(paths)
    return list(zip(in_c, in_js))
