"""colpali-engine and the ColPali processors of transformers: their scores in float32, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxsieve.adapters.tensors import score, to_rows, without_padding
from maxsieve.common.optional import optional

torch: Any = optional("torch", package="torch>=2.1")


class MaxsieveScoring:
    """A mixin for processors: ``class Processor(MaxsieveScoring, ColPaliProcessor): ...``.

    If a page begins or ends with rows of zeros, its rows of zeros are padding and are left out, in a padded tensor and
    in a list. (The original scorers let them win over negative similarities.) A page without any other row scores
    ``-inf``. Sums are float32, whatever the type of the tensors.
    """

    @staticmethod
    def score_multi_vector(qs: Any, ps: Any, batch_size: int = 128, device: Any = None) -> Any:
        """`BaseVisualRetrieverProcessor.score_multi_vector` of colpali-engine: float32 [queries, pages] on the CPU.

        ``batch_size`` and ``device`` are accepted for compatibility and have no effect.
        """
        return _score(qs, ps)

    def score_retrieval(
        self,
        query_embeddings: Any,
        passage_embeddings: Any,
        batch_size: int = 128,
        output_dtype: Any = None,
        output_device: Any = "cpu",
    ) -> Any:
        """`score_retrieval` of the processors of transformers; without ``output_dtype`` scores get the inputs' type.

        That type may be bfloat16, which has three digits: use ``torch.float32`` to keep the full precision.
        """
        _require(query_embeddings, passage_embeddings)
        if query_embeddings[0].device != passage_embeddings[0].device:
            raise ValueError("Queries and passages must be on the same device")
        if query_embeddings[0].dtype != passage_embeddings[0].dtype:
            raise ValueError("Queries and passages must have the same dtype")
        dtype = query_embeddings[0].dtype if output_dtype is None else output_dtype
        return _score(query_embeddings, passage_embeddings).to(dtype).to(output_device)


def _score(queries: Any, passages: Any) -> Any:
    _require(queries, passages)
    asked, pages = (
        without_padding(to_rows(embeddings, what=what))
        for embeddings, what in ((queries, "query"), (passages, "passage"))
    )
    return torch.from_numpy(score(asked, pages, empty=-np.inf))


def _require(queries: Any, passages: Any) -> None:
    if len(queries) == 0:
        raise ValueError("No queries provided")
    if len(passages) == 0:
        raise ValueError("No passages provided")
