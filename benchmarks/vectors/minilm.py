"""Token vectors of texts, by MiniLM in float32 (the built-in model `minilm-fp32`), torch and transformers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from maxsieve.common.threads import thread_count
from maxsieve.text.encoders.builtin import MODELS
from maxsieve.text.encoders.encoder import unit_rows
from maxsieve.text.encoders.models import fetch_model

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

MODEL = "minilm-fp32"
MODEL_DIGEST = MODELS[MODEL].carrier.members["model.safetensors"].sha256
DIM = 384
WORD_PIECES = 512  # the model's own limit (max_position_embeddings), with [CLS] and [SEP]
BATCH_WORD_PIECES = 4096  # padded; so the activations of a batch stay in cache


def embed(texts: Sequence[str], label: str = "embedding") -> tuple[F32, I64]:
    """Embeds `texts`: unit rows [tokens, 384], text after text, and how many rows each text has.

    [CLS] and [SEP] are dropped, texts are truncated to 512 word pieces, and a text without any has no rows.
    """
    folder = fetch_model(MODEL)
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
    torch.set_num_threads(thread_count(None))
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
                    rows[starts[text] : starts[text + 1]] = unit_rows(states[row, 1 : sizes[text] - 1])
                progress.advance(task, int(sizes[batch].sum()))
    finally:
        torch.set_num_threads(threads)
    return rows, sizes - 2


def _batches(sizes: I64) -> Iterator[I64]:
    """Positions of texts, longest first, in batches of at most `BATCH_WORD_PIECES` (padded), or of one text."""
    order = np.argsort(-sizes, kind="stable")
    while len(order):
        count = max(1, BATCH_WORD_PIECES // int(sizes[order[0]]))
        yield order[:count]
        order = order[count:]
