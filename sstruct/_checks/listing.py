"""Classes that ``help`` and completion list without the internals of dataclasses."""

from abc import ABCMeta

_INTERNALS = frozenset(
    {
        "__abstractmethods__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__match_args__",
        "__orig_bases__",
        "__parameters__",
    }
)


class ListedType(ABCMeta):
    """Metaclass of classes whose ``dir`` omits attributes that annotations and dataclasses add.

    It is derived from ABCMeta, so that these classes may also inherit from abstract classes.
    """

    def __dir__(cls):
        return [name for name in super().__dir__() if name not in _INTERNALS]
