"""Lets torchvision be imported beside a torch for CPUs, when imported before it.

The torchvision of the package registry is linked against CUDA. Beside a torch without CUDA its compiled part does not
load, its operators stay undeclared, and its import fails with "operator torchvision::nms does not exist". transformers
imports it wherever it is installed, and colpali_engine does not import without it. No test here detects objects: to
declare the operators is enough, none is called.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

OPERATORS = [
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input) -> Tensor",
    "_roi_align_backward(Tensor grad) -> Tensor",
    "qroi_align(Tensor input) -> Tensor",
    "ps_roi_align(Tensor input) -> (Tensor, Tensor)",
    "_ps_roi_align_backward(Tensor grad) -> Tensor",
    "roi_pool(Tensor input) -> (Tensor, Tensor)",
    "_roi_pool_backward(Tensor grad) -> Tensor",
    "ps_roi_pool(Tensor input) -> (Tensor, Tensor)",
    "_ps_roi_pool_backward(Tensor grad) -> Tensor",
    "deform_conv2d(Tensor input) -> Tensor",
    "_deform_conv2d_backward(Tensor grad) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
]

found = importlib.util.find_spec("torchvision")
library = torch.library.Library("torchvision", "FRAGMENT")  # kept, because its declarations disappear with it
if found is not None and found.origin is not None:
    try:
        torch.ops.load_library(str(Path(found.origin).with_name("_C.so")))
    except OSError:
        for operator in OPERATORS:
            library.define(operator)
