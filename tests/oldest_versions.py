"""Print pip constraints that pin dependencies to the oldest versions in pyproject.toml."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# The newest linters, tools of the documentation and of the benchmarks will do.
NOT_PINNED = ("lint", "docs", "benchmarks")


def oldest_versions(text):
    """Return "name==version" for each "name>=version" that a pyproject.toml requires.

    Extras in brackets are left out: constraints of pip cannot have them.
    """
    content = tomllib.loads(text)
    extras = content["project"]["optional-dependencies"]
    requirements = content["build-system"]["requires"] + content["project"]["dependencies"]
    requirements += [r for name, some in extras.items() if name not in NOT_PINNED for r in some]
    pins = {}
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)", requirement)
        if match is None:
            raise ValueError(
                f"{requirement!r} in pyproject.toml is not of the form 'name>=version'"
            )
        name, _, version = match.groups()
        if pins.setdefault(name, version) != version:
            raise ValueError(
                f"pyproject.toml has two lower bounds of {name}: {pins[name]}, {version}"
            )
    return [f"{name}=={version}" for name, version in pins.items()]


if __name__ == "__main__":
    print("\n".join(oldest_versions(PROJECT.read_text())))
