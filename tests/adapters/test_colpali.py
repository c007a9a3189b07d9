"""Under colpali-engine and transformers themselves, with random bfloat16 tensors for pages.

Their scorers multiply bfloat16 matrices, for which torch 2.13 picks AMX instructions where it sees them; on one such
machine that died with SIGILL. `ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16` in the environment avoids it.
"""

from __future__ import annotations

import pytest
import torch
from colpali_engine.models import ColPaliProcessor
from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor
from torch_models import documents, queries
from transformers.models.colpali.processing_colpali import ColPaliProcessor as TransformersProcessor

from maxsieve.adapters.colpali import MaxsieveScoring


class Processor(MaxsieveScoring, ColPaliProcessor):
    """As users write it. It is made without a checkpoint, because scoring needs none."""

    def __init__(self) -> None:
        pass


class OtherProcessor(MaxsieveScoring, TransformersProcessor):
    def __init__(self) -> None:
        pass


def plain() -> TransformersProcessor:
    return TransformersProcessor.__new__(TransformersProcessor)


PAGES, ASKED = documents(20, 20, 20), queries(7, 7)


def test_score_multi_vector_is_theirs_in_float32() -> None:
    expected = BaseVisualRetrieverProcessor.score_multi_vector(ASKED, PAGES, device="cpu")
    for qs, ps in ((ASKED, PAGES), (torch.stack(ASKED), torch.stack(PAGES))):
        found = Processor().score_multi_vector(qs, ps, batch_size=2, device="cpu")
        assert (found.dtype, found.device.type) == (torch.float32, "cpu")
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert torch.equal(Processor.score_multi_vector(ASKED, PAGES), found)


def test_score_of_a_processor_is_ours() -> None:
    assert torch.equal(Processor().score(ASKED, PAGES, device="cpu"), MaxsieveScoring.score_multi_vector(ASKED, PAGES))


def test_bfloat16_is_scored_in_float32() -> None:
    asked, pages = [one.bfloat16() for one in ASKED], [one.bfloat16() for one in PAGES]
    exact = BaseVisualRetrieverProcessor.score_multi_vector(
        [one.float() for one in asked], [one.float() for one in pages], device="cpu"
    )
    theirs = BaseVisualRetrieverProcessor.score_multi_vector(asked, pages, device="cpu")
    ours = Processor().score_multi_vector(asked, pages)
    torch.testing.assert_close(ours, exact, atol=1e-5, rtol=0)
    assert (theirs - exact).abs().max() > 100 * (ours - exact).abs().max()


def test_padding_is_left_out_of_tensors_and_lists() -> None:
    asked = [torch.ones(2, 4)]
    pages = torch.nn.utils.rnn.pad_sequence([-torch.ones(1, 4), -2 * torch.ones(3, 4)], batch_first=True)
    assert BaseVisualRetrieverProcessor.score_multi_vector(asked, pages, device="cpu").tolist() == [[0.0, -16.0]]
    for given in (pages, list(torch.unbind(pages)), pages.bfloat16()):
        assert Processor().score_multi_vector(asked, given).tolist() == [[-8.0, -16.0]]


def test_a_page_of_padding_is_no_answer() -> None:
    assert Processor().score_multi_vector(ASKED[:1], torch.zeros(1, 3, 16)).tolist() == [[-torch.inf]]


@pytest.mark.parametrize(("qs", "ps", "problem"), [([], PAGES, "No queries"), (ASKED, [], "No passages")])
def test_nothing_to_score_is_refused_as_they_do(qs: object, ps: object, problem: str) -> None:
    for score in (BaseVisualRetrieverProcessor.score_multi_vector, Processor.score_multi_vector):
        with pytest.raises(ValueError, match=problem):
            score(qs, ps)
    for processor in (plain(), OtherProcessor()):
        with pytest.raises(ValueError, match=problem):
            processor.score_retrieval(qs, ps)


@pytest.mark.parametrize("output", [None, torch.float32, torch.float64])
def test_score_retrieval_is_theirs(output: torch.dtype | None) -> None:
    expected = plain().score_retrieval(ASKED, PAGES, batch_size=2, output_dtype=output)
    found = OtherProcessor().score_retrieval(ASKED, PAGES, batch_size=2, output_dtype=output)
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_score_retrieval_keeps_types_apart() -> None:
    half = [one.bfloat16() for one in PAGES]
    for processor in (plain(), OtherProcessor()):
        with pytest.raises(ValueError, match="same dtype"):
            processor.score_retrieval(ASKED, half)
    asked = [one.bfloat16() for one in ASKED]
    assert OtherProcessor().score_retrieval(asked, half).dtype == torch.bfloat16
    exact = OtherProcessor().score_retrieval(asked, half, output_dtype=torch.float32)
    assert torch.equal(exact, Processor().score_multi_vector(asked, half))
