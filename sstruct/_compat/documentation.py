"""Links from the HTML representation of estimators to the manual, through scikit-learn's hooks."""

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata


class DocumentationLink:
    """Mixin for estimators: the HTML representation links to the page of the class.

    The address of the manual is the project URL "Documentation" in the metadata of the package.
    """

    _doc_link_module = "sstruct"

    @property
    def _doc_link_template(self):
        manual = _manual()
        return f"{manual}/generated/{{module}}.{{name}}.html" if manual else ""

    def _doc_link_url_param_generator(self):
        kind = type(self)
        # Classes of private modules are documented under the public module that exports them.
        parts = kind.__module__.split(".")
        packages = [".".join(parts[: i + 1]) for i in range(len(parts))]
        exporting = (p for p in packages if getattr(sys.modules[p], kind.__name__, None) is kind)
        return {"module": next(exporting, kind.__module__), "name": kind.__name__}


@cache
def _manual():
    """Return the address of the manual, or "" if the metadata of the package do not have it."""
    try:
        urls = metadata("sstruct").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return ""
    pairs = (url.split(", ", 1) for url in urls)
    return next((address.rstrip("/") for label, address in pairs if label == "Documentation"), "")
