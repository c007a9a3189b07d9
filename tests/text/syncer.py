"""Syncs until it is killed: ``python syncer.py collection folder`` prints each text when it is encoded.

It waits after each text, as the adder does.
"""

from __future__ import annotations

import sys

from maxsieve.text import FolderSync
from maxsieve.text.collection.collection import Collection
from maxsieve.text.sync import run as sync_run
from text.adder import announce, small_batches
from text.support import WordEncoder

if __name__ == "__main__":
    small_batches()
    sync_run.GROUP_DOCUMENTS = 5
    with Collection.open(sys.argv[1], WordEncoder(seen=announce)) as collection:
        FolderSync(collection, sys.argv[2]).run()
