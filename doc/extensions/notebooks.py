"""Notebooks of the gallery that run in the browser, with JupyterLite."""


def with_installation(notebook, filename):
    """Install sstruct in the first cell; called by sphinx-gallery."""
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": ["%pip install -q sstruct"],
    }
    notebook["cells"] = [cell, *notebook["cells"]]


def setup(app):
    # jupyterlite_sphinx adds a font to all pages, which must not load anything from other servers.
    files = app.registry.css_files
    files[:] = [each for each in files if not each[0].startswith("https://fonts.googleapis.com")]
    return {"parallel_read_safe": True}
