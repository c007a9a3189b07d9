"""What can go wrong beyond a bad argument (those are `ValueError`, `TypeError` and `KeyError`)."""


class MaxsieveError(Exception):
    """The root of the library's own errors."""


class DamagedIndexError(MaxsieveError):
    """An index whose contents contradict themselves: never searched, never repaired silently."""


class IndexLockedError(MaxsieveError):
    """Another process is writing to the index."""


class ClosedIndexError(MaxsieveError):
    """The index was closed before this call."""


class ModelMissingError(MaxsieveError):
    """A model is not in the cache, or not whole; nothing is fetched unasked."""


class ModelFetchError(MaxsieveError):
    """A model could not be fetched, or what came is not the model."""
