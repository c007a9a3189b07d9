"""Work that another thread may tell to end.

The engine's calls end soon after `Stop.request`, if the thread that makes them is inside ``with stop:``. They raise
`StoppedError` and leave everything as it was. Other work looks at the flag by ``stop.check()``.

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
