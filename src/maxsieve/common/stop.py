"""Cancels work from another thread.

Calls of the engine end soon after `Stop.request`, if their thread is inside ``with stop:``. They raise `StoppedError`
and change nothing. Other code checks the flag by ``stop.check()``.

>>> import maxsieve as ms
>>> index, stop = ms.Index.build([[[1.0]]]), Stop()
>>> with stop:
...     index.search([[1.0]]).ids
[0]
>>> stop.request()
>>> with stop:
...     index.search([[1.0]]).ids
Traceback (most recent call last):
maxsieve._core.StoppedError: the work was told to end
"""

from maxsieve._core import Stop, StoppedError

__all__ = ["Stop", "StoppedError"]
