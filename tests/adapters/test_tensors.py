"""Tensors become rows: every form, without a copy if none is needed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_models import documents, queries, unit_rows

import maxsieve as ms
from maxsieve.adapters.tensors import nonzero_rows, score, to_array, to_rows, without_padding
from maxsieve.arrays import from_buffer

LENGTHS = (3, 1, 4)
FORMS = {
    "float32": lambda x: x,
    "float64": lambda x: x.double(),
    "with gradient": lambda x: x.clone().requires_grad_(),
    "every second row": lambda x: x.repeat_interleave(2, dim=0)[::2],
    "transposed": lambda x: x.T.contiguous().T,
    "NumPy": lambda x: x.numpy(),
    "read-only NumPy": lambda x: np.frombuffer(x.numpy().tobytes(), np.float32).reshape(x.shape),
    "nested lists": lambda x: x.tolist(),
    "a list of rows": lambda x: list(x),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_scores(form: str) -> None:
    docs, asked = documents(*LENGTHS), queries(2, 5)
    expected = ms.maxsim([one.numpy() for one in asked], [one.numpy() for one in docs])
    make = FORMS[form]
    rows = to_rows([make(one) for one in docs], what="document")
    found = score(to_rows([make(one) for one in asked], what="query"), rows, empty=0.0)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened_and_scored_in_float32(dtype: torch.dtype) -> None:
    docs, asked = documents(*LENGTHS, dtype=dtype), queries(2, dtype=dtype)
    expected = ms.maxsim([one.float().numpy() for one in asked], [one.float().numpy() for one in docs])
    rows = to_rows([one.repeat_interleave(2, dim=0)[::2] for one in docs], what="document")
    assert score(to_rows(asked, what="query"), rows, empty=0.0).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_memory_is_shared(dtype: torch.dtype) -> None:
    tensor = torch.zeros(2, 3, dtype=dtype)
    view = to_array(tensor, "document")
    tensor[1, 2] = 1
    assert from_buffer(view)[1, 2] == 1


def test_numbers_of_another_kind_are_converted() -> None:
    assert to_array(torch.tensor([[1, 2]], dtype=torch.int8), "document").dtype == np.float32
    assert to_array(np.array([[1, 2]], np.int8), "document").dtype == np.float32


def padded(docs: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    whole = torch.nn.utils.rnn.pad_sequence(docs, batch_first=True)
    return whole, torch.arange(whole.shape[1]) < torch.tensor([len(one) for one in docs])[:, None]


@pytest.mark.parametrize("kind", [torch.bool, torch.float32, torch.bfloat16, torch.int64])
def test_a_mask_leaves_out_padding(kind: torch.dtype) -> None:
    docs = documents(*LENGTHS)
    whole, mask = padded(docs)
    whole[~mask] = 7.0
    rows = to_rows(whole, mask.to(kind), what="document")
    assert [one.tolist() for one in rows] == [one.tolist() for one in docs]


def test_a_mask_with_gaps() -> None:
    whole, _ = padded(documents(3, 3))
    rows = to_rows(whole, torch.tensor([[1, 0, 1], [0, 0, 1]]), what="document")
    assert [one.tolist() for one in rows] == [whole[0, [0, 2]].tolist(), whole[1, [2]].tolist()]


def test_masks_of_a_list() -> None:
    docs = documents(3, 1)
    rows = to_rows(docs, [torch.tensor([True, False, True]), torch.tensor([False])], what="document")
    assert [len(one) for one in rows] == [2, 0]


@pytest.mark.parametrize(
    ("mask", "problem"),
    [
        (torch.ones(2, 3), r"\b4 tokens"),
        (torch.ones(3, 4), r"\b3 masks\b.*\b2\b"),
        ([torch.ones(4)], r"\b1 masks\b.*\b2\b"),
        ([torch.ones(4), torch.ones(2)], r"mask of document 1\b.*\b2\b.*\b4\b"),
        (torch.full((2, 4), 0.5), "weights"),
    ],
)
def test_a_mask_that_does_not_fit(mask: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        to_rows(torch.ones(2, 4, 8), mask, what="document")


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1e-40, 2.0]), min_size=3, max_size=3), max_size=6), st.booleans())
def test_rows_of_zeros_are_found_as_torch_finds_them(rows: list[list[float]], half: bool) -> None:
    tensor = torch.tensor(rows, dtype=torch.bfloat16 if half else torch.float32).reshape(-1, 3)
    assert nonzero_rows(to_array(tensor, "document")).tolist() == (tensor != 0).any(-1).tolist()


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"document 1\b.*\(2, 2, 2\)"):
        to_rows([torch.ones(1, 2), torch.ones(2, 2, 2)], what="document")
    with pytest.raises(ValueError, match=r"documents\b.*\[N, L, d\]"):
        to_rows(torch.ones(3), what="document")
    with pytest.raises(ValueError, match=r"document 1\b.*\b8\b.*\b16\b"):
        score([unit_rows(2, seed=1).numpy()], [np.ones((1, 16)), np.ones((1, 8))], empty=0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_number_that_is_none_is_named(dtype: torch.dtype) -> None:
    docs = documents(2, 3, dtype=dtype)
    docs[1][2, 5] = float("nan")
    with pytest.raises(ValueError, match="document 1, row 2, dimension 5"):
        score(to_rows(queries(2), what="query"), to_rows(docs, what="document"), empty=0.0)


def test_empty_documents_and_queries() -> None:
    asked = [*queries(2), torch.zeros(0, 16)]
    scores = score(to_rows(asked, what="query"), to_rows(documents(0, 3), what="document"), empty=-7.0)
    assert scores[:, 0].tolist() == [-7.0, -7.0]
    assert scores[1, 1] == 0.0
    assert scores[0, 1] == ms.maxsim(asked[0].numpy(), documents(0, 3)[1].numpy())[0, 0]


def test_padding_of_negative_zeros_in_bfloat16() -> None:
    page = torch.tensor([[-0.0, -0.0], [1.0, 0.0], [-0.0, 0.0]], dtype=torch.bfloat16)
    [kept] = without_padding(to_rows([page], what="page"))
    assert kept.tolist() == [[0x3F80, 0]]


def test_a_row_that_only_begins_with_zero_is_no_padding() -> None:
    page = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 2.0]], np.float32)
    [kept] = without_padding([page])
    assert kept is page
