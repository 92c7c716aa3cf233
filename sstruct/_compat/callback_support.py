"""Callbacks for scikit-learn before 1.9, for estimators without sub-estimators.

For newer versions, ``_compat`` imports the names from scikit-learn.
"""

import inspect
from copy import copy
from functools import wraps

_PARAMETERS = ("X", "y", "metadata", "fitted_estimator")


class CallbackContext:
    """Context of a task of a fit, which may have subtasks."""

    def __init__(self, estimator_name, callbacks, task_name, task_id, max_subtasks, parent=None):
        self.estimator_name, self.parent = estimator_name, parent
        self.task_name, self.task_id = task_name, task_id
        self.max_subtasks, self.sequential_subtasks = max_subtasks, True
        self._callbacks, self._n_subtasks = callbacks, 0

    def subcontext(self, task_name="", max_subtasks=0):
        """Create the context of the next subtask."""
        task_id = self._n_subtasks
        self._n_subtasks += 1
        return CallbackContext(
            self.estimator_name, self._callbacks, task_name, task_id, max_subtasks, self
        )

    def call_on_fit_task_begin(self, **given):
        """Call the hook of every callback."""
        self._call("on_fit_task_begin", **given)
        return self

    def call_on_fit_task_end(self, **given):
        """Call the hook of every callback; return True if one of them returned True."""
        return self._call("on_fit_task_end", **given)

    def _call(self, name, *, estimator, reconstruction_attributes=None, **given):
        """Call each hook with its keyword-only parameters; evaluate callable values only once."""
        values, stop = {"X": None, "y": None, "metadata": None, **given}, False
        for callback in self._callbacks:
            hook = getattr(callback, name)
            parameters = inspect.signature(hook).parameters.values()
            wanted = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
            for parameter in wanted:
                if parameter not in _PARAMETERS:
                    raise TypeError(
                        f"{name} of {type(callback).__name__} has the parameter {parameter!r}, "
                        f"expected only {', '.join(_PARAMETERS)}"
                    )
                if parameter == "fitted_estimator" and parameter not in values:
                    values[parameter] = _as_if_fitted(estimator, reconstruction_attributes)
                elif parameter != "fitted_estimator" and callable(values[parameter]):
                    values[parameter] = values[parameter]()
            stop |= bool(hook(estimator, self, **{p: values[p] for p in wanted}))
        return stop


def _as_if_fitted(estimator, attributes):
    """Return a shallow copy of the estimator with additional attributes, or None without them.

    attributes : dict, function that returns a dict, or None
    """
    attributes = attributes() if callable(attributes) else attributes
    if attributes is None:
        return None
    fitted = copy(estimator)
    fitted.__dict__.update(attributes)
    return fitted


class CallbackSupportMixin:
    """Mixin with ``set_callbacks``; clones share the callbacks."""

    def set_callbacks(self, *callbacks):
        """Set the callbacks of fits; without arguments, remove them."""
        if callbacks:
            self._skl_callbacks = list(callbacks)
        else:
            self.__dict__.pop("_skl_callbacks", None)
        return self

    def __sklearn_clone__(self):
        # As in scikit-learn 1.9: parameters are copied, callbacks are shared.
        new = super().__sklearn_clone__()
        if hasattr(self, "_skl_callbacks"):
            new._skl_callbacks = self._skl_callbacks
        return new

    def _init_callback_context(self, task_name="fit", task_id=0, max_subtasks=0):
        """Create the context of a fit and set up the callbacks."""
        callbacks = getattr(self, "_skl_callbacks", [])
        context = CallbackContext(type(self).__name__, callbacks, task_name, task_id, max_subtasks)
        self._callback_fit_ctx, self._callbacks_to_teardown = context, []
        for callback in callbacks:
            self._callbacks_to_teardown.append(callback)
            callback.setup(estimator=self, context=context)
        return context


def with_callbacks(method):
    """Decorate a method that starts a fit so that its callbacks are always torn down."""

    @wraps(method)
    def managed(estimator, *args, **kwargs):
        try:
            return method(estimator, *args, **kwargs)
        finally:
            if hasattr(estimator, "_callback_fit_ctx"):
                context = estimator.__dict__.pop("_callback_fit_ctx")
                errors = []
                for callback in estimator.__dict__.pop("_callbacks_to_teardown"):
                    try:
                        callback.teardown(estimator=estimator, context=context)
                    except Exception as error:
                        errors.append(error)
                if errors:
                    raise errors[0] if len(errors) == 1 else ExceptionGroup("teardown", errors)

    return managed
