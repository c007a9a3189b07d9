"""Tiny visual late-interaction models of real architectures, with random weights, made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

WORDS = ["Question", "Query", "Describe", "the", "image", "fox", "grapes", "hungry", "which", "animal", ":", ".", "?"]
SIZE = 32
"""Hidden size of all models."""


def colpali(folder: Path) -> Path:
    """A ColPali: pages become squares of 28 x 28 pixels, with 4 x 4 patches."""
    from transformers import ColPaliConfig, ColPaliForRetrieval, ColPaliProcessor, SiglipImageProcessor

    special = ["<pad>", "<bos>", "<eos>", "<unk>", "<image>"]
    tokenizer = _tokenizer(special, bos_token="<bos>", eos_token="<eos>")
    images = SiglipImageProcessor(size={"height": 28, "width": 28})
    images.image_seq_length = 16
    processor = ColPaliProcessor(images, tokenizer)
    text = _text("gemma", len(tokenizer)) | {"head_dim": 16}
    vision = {"model_type": "siglip_vision_model", **_vision(), "image_size": 28, "patch_size": 7}
    vlm = {"model_type": "paligemma", "text_config": text, "vision_config": vision, "projection_dim": SIZE}
    vlm |= {"image_token_index": processor.image_token_id, "hidden_size": SIZE}
    config = ColPaliConfig(vlm_config=vlm, text_config=text, embedding_dim=16)
    return _saved(ColPaliForRetrieval, config, processor, folder)


def colqwen2(folder: Path) -> Path:
    """A ColQwen2: patches of 28 x 28 pixels, as many as a page has room for."""
    from transformers import ColQwen2Config, ColQwen2ForRetrieval, ColQwen2Processor, Qwen2VLImageProcessor

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
    special += ["<|video_pad|>", "<unk>"]
    tokenizer = _tokenizer(special, pad_token="<|endoftext|>", padding_side="left")
    images = Qwen2VLImageProcessor(min_pixels=4 * 28 * 28, max_pixels=30 * 28 * 28)
    processor = ColQwen2Processor(images, tokenizer)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in (
        ("vision_start_token_id", "<|vision_start|>"), ("vision_end_token_id", "<|vision_end|>"),
        ("image_token_id", "<|image_pad|>"), ("video_token_id", "<|video_pad|>"))}  # fmt: skip
    text = _text("qwen2_vl_text", len(tokenizer)) | {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}
    vision = {"depth": 1, "embed_dim": SIZE, "num_heads": 2, "hidden_size": SIZE, "mlp_ratio": 2, "patch_size": 14}
    vlm = {"model_type": "qwen2_vl", "text_config": text, "vision_config": vision, **ids}
    return _saved(ColQwen2ForRetrieval, ColQwen2Config(vlm_config=vlm, embedding_dim=16), processor, folder)


def _text(kind: str, words: int) -> dict[str, Any]:
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1}
    return {"model_type": kind, "vocab_size": words, "hidden_size": SIZE, "intermediate_size": SIZE, **heads}


def _vision() -> dict[str, Any]:
    heads = {"num_attention_heads": 2, "num_hidden_layers": 1}
    return {"hidden_size": SIZE, "intermediate_size": SIZE, "projection_dim": SIZE, **heads}


def _tokenizer(special: list[str], **options: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate([*special, *WORDS, "\n"])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+|\n|[^\w\s]"), "removed", invert=True)
    options = {"pad_token": "<pad>", "unk_token": "<unk>", "additional_special_tokens": special, **options}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **options)


def _saved(kind: Any, config: Any, processor: Any, folder: Path) -> Path:
    import torch

    torch.manual_seed(7)
    kind(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
