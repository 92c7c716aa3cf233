"""Import paths of classes that are defined in private modules."""


def public_module(name):
    """Return a decorator that makes the import path of a class public, for pickles and skops files.

    It is the outermost decorator, since dataclasses evaluate annotations in the module of a class.
    """

    def decorate(cls):
        cls.__module__ = name
        if "__firstlineno__" in vars(cls):  # inspect would search the file of the public module
            del cls.__firstlineno__
        return cls

    return decorate
