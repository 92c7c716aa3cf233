"""Where benchmarks write what they have found."""

import json
import os
import subprocess
from datetime import date
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


def machine():
    """What the rows of a table say about the machine."""
    flags = Path("/proc/cpuinfo").read_text()
    wide = "AVX-512" if " avx512f" in flags else "AVX2" if " avx2" in flags else "SSE2"
    return f"{os.uname().machine.replace('_', '-')}, {os.cpu_count()} cores, {wide}"


def origin(command, load):
    """Return the columns that say how a row of a table was measured."""
    head = ("git", "-C", str(Path(__file__).parent), "rev-parse", "--short=7", "HEAD")
    return {
        "command": command,
        "commit": subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip(),
        "date": date.today().isoformat(),
        "machine": machine(),
        "load": load,
    }
