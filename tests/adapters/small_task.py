"""A retrieval task of MTEB, made here."""

from __future__ import annotations

from typing import Any

import mteb
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from torch_models import ANSWERS, QUESTIONS, TEXTS


class Fables(AbsTaskRetrieval):
    """Six fables. The title of each is its first sentence."""

    metadata = mteb.TaskMetadata(
        name="Fables",
        dataset={"path": "fables", "revision": "1"},
        description="fables",
        type="Retrieval",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        reference=None,
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )
    top_ranked: dict[str, list[str]] | None = None

    def load_data(self, *args: Any, **kwargs: Any) -> None:
        parts = [text.split(". ", 1) for text in TEXTS.values()]
        corpus = {"id": list(TEXTS), "title": [one[0] for one in parts], "text": [one[1] for one in parts]}
        asked = {"id": list(QUESTIONS), "text": list(QUESTIONS.values())}
        split = RetrievalSplitData(
            corpus=Dataset.from_dict(corpus),
            queries=Dataset.from_dict(asked),
            relevant_docs={one: {ANSWERS[one]: 1} for one in QUESTIONS},
            top_ranked=self.top_ranked,
        )
        self.dataset = {"default": {"test": split}}
        self.data_loaded = True
