"""What ``predict`` returns for samples of different sizes: an array of arrays."""

import numpy as np

from sstruct._input.labels import object_array

# Design: metrics of scikit-learn, such as scoring="accuracy", cannot read an array for each sample,
# and what they say of it is an accident of NumPy's comparisons ("operands could not be broadcast").
# Accuracy, precision, recall and F1 begin with numpy.unique of the predictions, so that is where a
# subclass of ndarray can say what to do (unless y is an object array, of which they begin with
# that). In all else it is the array that it looks like; copies in pickles are plain ones.

ADVICE = (
    'predictions of sequences, images and graphs are an array a sample, which scoring="accuracy" '
    "and the other metrics of scikit-learn do not read. Leave scoring=None for the share of right "
    "labels (the estimator's score), or take one of sstruct.metrics: scoring=flat_accuracy_scorer, "
    'make_flat_scorer(flat_f1_score, average="macro"), chunk_f1_scorer. All labels as one array '
    "are numpy.concatenate(y_pred)"
)


class PerSample(np.ndarray):
    """A 1-D object array of arrays, one a sample."""

    @classmethod
    def of(cls, items):
        """Return the items as such an array."""
        return object_array(items).view(cls)

    def __array_function__(self, function, types, arguments, keywords):
        if function is np.unique and self.dtype == object:
            raise TypeError(ADVICE)
        return super().__array_function__(function, types, arguments, keywords)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        # Of a sum, which is the array of a sample, NumPy would make an array of that array.
        return array[()] if array.ndim == 0 else super().__array_wrap__(array, context)

    def __repr__(self):
        return repr(np.asarray(self))

    def __reduce_ex__(self, protocol):
        return np.asarray(self).__reduce_ex__(protocol)
