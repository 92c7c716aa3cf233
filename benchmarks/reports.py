"""Where benchmarks write what they have found."""

import json
from pathlib import Path


def add_output(parser):
    """Add --output, a folder."""
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))


def write(report, folder, name):
    """Write JSON into a folder, which is made where it is missing; return the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.json"
    target.write_text(json.dumps(report, indent=1))
    print(f"\nwrote {target}")
    return target
