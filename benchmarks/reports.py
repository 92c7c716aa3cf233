"""Write results of benchmarks as JSON and CSV files, with the conditions of the measurement."""

import csv
import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path


def add_output(parser):
    """Add the option --output, a folder."""
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))


def add_load(parser):
    """Add the option --load, the load of the machine by other processes."""
    parser.add_argument("--load", choices=["quiet", "busy", "not recorded"], default="not recorded")


def parsed(parser):
    """Parse the command line, with --output and --load as further options."""
    add_output(parser)
    add_load(parser)
    return parser.parse_args()


def write(report, folder, name):
    """Write a report as JSON into a folder, created if missing; return the path of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.json"
    target.write_text(json.dumps(report, indent=1))
    print(f"\nwrote {target}")
    return target


def machine():
    """Return the description of the machine for the rows of a table."""
    kind = f"{platform.machine().replace('_', '-')}, {os.cpu_count()} cores"
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return kind
    wide = "AVX-512" if " avx512f" in flags else "AVX2" if " avx2" in flags else "SSE2"
    return f"{kind}, {wide}"


def command():
    """Return the command line of this script, without --load and --output."""
    words = sys.argv[1:]
    for option in ("--load", "--output"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])


def commit():
    """Return the commit of this clone; "unknown" without git or in an archive of the sources."""
    head = ("git", "-C", str(Path(__file__).parent), "rev-parse", "--short=7", "HEAD")
    try:
        return subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def origin(command, load):
    """Return the columns that describe how a row was measured."""
    return {
        "command": command,
        "commit": commit(),
        "date": date.today().isoformat(),
        "machine": machine(),
        "load": load,
    }


class Table:
    """A CSV file with a row for each key; new rows replace rows with the same key.

    order: the possible keys, in the order of rows; None for the order in which they were added
    """

    def __init__(self, path, keys, order=None):
        self.path, self.keys, self.order, self.rows = path, keys, order, {}
        if path.exists():
            with open(path, newline="") as lines:
                rows = {self._key(row): row for row in csv.DictReader(lines)}
            self.rows = {key: rows[key] for key in rows if order is None or key in order}

    def _key(self, row):
        return tuple(str(row.get(key)) for key in self.keys)

    def put(self, row):
        """Add or replace a row, and write the file."""
        self.rows[self._key(row)] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "w", newline="") as lines:
            writer = csv.DictWriter(lines, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows[key] for key in self.order or self.rows if key in self.rows)
