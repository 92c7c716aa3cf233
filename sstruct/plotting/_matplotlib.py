"""matplotlib, imported only where something is drawn."""


def import_pyplot(caller):
    """Return matplotlib.pyplot, or raise an ImportError that says what to install."""
    # scikit-learn has such a check, but under a private name.
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: install sstruct[plot].") from error
    return plt
