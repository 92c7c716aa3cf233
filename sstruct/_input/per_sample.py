"""Arrays of arrays, the output of ``predict`` for samples of different sizes."""

import numpy as np

from sstruct._input.labels import object_array

# Design: scikit-learn metrics, such as scoring="accuracy", do not support ragged predictions, and
# their error depends on NumPy's comparison ("operands could not be broadcast"). Accuracy,
# precision, recall and F1 start with numpy.unique of the predictions (or of y, if it is an object
# array), so a subclass of ndarray can raise a helpful error there. In all other respects it behaves
# like an array; pickles contain plain arrays.

ADVICE = (
    "predictions of sequences, images and graphs contain an array for each sample, which "
    'scoring="accuracy" and other scikit-learn metrics do not support. Use scoring=None for the '
    "accuracy (the score of the estimator), or sstruct.metrics: scoring=flat_accuracy_scorer, "
    'make_flat_scorer(flat_f1_score, average="macro"), chunk_f1_scorer. Use '
    "numpy.concatenate(y_pred) for all labels as one array"
)


class PerSample(np.ndarray):
    """A 1-D object array with an array for each sample."""

    @classmethod
    def from_items(cls, items):
        """Return an array of the items."""
        return object_array(items).view(cls)

    def __array_function__(self, function, types, arguments, keywords):
        if function is np.unique and self.dtype == object:
            raise TypeError(ADVICE)
        return super().__array_function__(function, types, arguments, keywords)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        # The sum of arrays is an array, which NumPy would wrap into an array of this class.
        return array[()] if array.ndim == 0 else super().__array_wrap__(array, context)

    def __repr__(self):
        return repr(np.asarray(self))

    def __reduce_ex__(self, protocol):
        return np.asarray(self).__reduce_ex__(protocol)
