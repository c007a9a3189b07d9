"""The library's own errors. Bad arguments raise `ValueError`, `TypeError` and `KeyError`."""


class MaxsieveError(Exception):
    """The base class of the library's own errors."""


class DamagedIndexError(MaxsieveError):
    """The contents of an index are inconsistent. Such an index is never searched, and never repaired silently."""


class IndexLockedError(MaxsieveError):
    """Another process is writing to the index."""


class StaleVersionError(MaxsieveError):
    """A version of a corpus in shards whose files are gone: there is a newer one."""


class ClosedIndexError(MaxsieveError):
    """The index was closed before this call."""


class ModelMissingError(MaxsieveError):
    """A model is not in the cache, or is damaged there. Models are downloaded only on request."""


class ModelFetchError(MaxsieveError):
    """A model could not be downloaded, or the downloaded file is not the model."""
