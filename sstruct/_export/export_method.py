"""The method ``export`` of estimators whose models other programs can read."""

import os

from sstruct._export.write import content_for, write_model


class ExportMixin:
    """Adds ``export`` to an estimator whose Structure has ``exported``."""

    def export(self, path: str | os.PathLike) -> None:
        """Write the fitted model to a file that programs without Python can read.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.json``, for the readers in C and JavaScript that are part of the
            package (:func:`sstruct.export.reader_path`), or in ``.onnx``, for ONNX runtimes
            (requires the package onnx). An existing file is replaced.

        Raises
        ------
        ValueError, TypeError
            If the path has another ending, or the model has terms that cannot be exported; the
            message names them.
        ImportError
            If the path ends in ``.onnx`` and onnx is not installed.
        NotFittedError
            Before a fit.
        FileNotFoundError
            If the folder of the file does not exist.

        See Also
        --------
        sstruct.export.export_model : The same for pipelines.
        """
        content_for(path)
        write_model(self._exported(), path)

    def _exported(self):
        """Return the ExportedModel."""
        structure, model = self._fitted()
        return structure.exported(model)
