"""How a ColBERT model encodes queries and documents, read from the files that describe it.

Four kinds of folders are understood: ``onnx_config.json`` of pylate-onnx-export and of ``maxsieve model export``;
``config_sentence_transformers.json`` of PyLate; the same file with ``modules.json`` of Sentence Transformers 6; and
``artifact.metadata`` of Stanford's ColBERT. Nothing is assumed: a missing fact is an error, because any assumption
would silently give other vectors.
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxsieve.text.encoders.stated import Stated

ONNX_CONFIG = "onnx_config.json"
_SENTENCE_TRANSFORMERS = "config_sentence_transformers.json"
_STANFORD = "artifact.metadata"
_KINDS = ("ColBERT", "MultiVectorEncoder")


@dataclass(frozen=True)
class Side:
    """How one side, queries or documents, is turned into tokens."""

    prompt: str
    """Text that is put before each text and tokenised together with it."""
    prefix: int | None
    """A token that is inserted after the first one, or None."""
    length: int
    """The most tokens, including special ones."""
    skipped: frozenset[int]
    """Tokens whose rows are dropped."""


@dataclass(frozen=True)
class ColbertSettings:
    """All that the vectors depend on, besides weights and tokenizer."""

    query: Side
    document: Side
    expansion: int
    """Queries with fewer tokens are filled up to this number with mask tokens; 0 for no expansion."""
    attend: bool
    """Whether the model attends to these mask tokens."""
    mask: int | None
    strip: bool
    """Whether white space around a text is removed first."""
    lower: bool
    dim: int | None
    """The dimension, if a file states it."""
    source: Path
    """The file with these facts."""


def is_colbert(folder: Path) -> bool:
    """Whether a folder has a late-interaction model, which needs more than hidden states."""
    if any((folder / name).is_file() for name in (ONNX_CONFIG, _STANFORD)):
        return True
    described = Stated.read(folder / _SENTENCE_TRANSFORMERS).content
    architectures = Stated.read(folder / "config.json").content.get("architectures") or []
    return (
        described.get("model_type") in _KINDS
        or "query_prefix" in described
        or "HF_ColBERT" in architectures
        or any("MultiVector" in kind or kind.startswith("pylate.") for kind, _ in modules(folder))
    )


def modules(folder: Path) -> list[tuple[str, Path]]:
    """The type and the folder of each module in ``modules.json``, in order; none without that file."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        listed = json.loads(path.read_bytes())
        found = [(module["type"], module["path"]) for module in listed]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ValueError(f"{path} must contain a JSON list of modules with type and path") from None
    for kind, place in found:
        if not isinstance(kind, str) or not isinstance(place, str) or ".." in Path(place).parts or Path(place).root:
            raise ValueError(f"{path}: {place!r:.60} is not a folder inside {folder}")
    return [(kind, folder / place) for kind, place in found]


def read_settings(folder: Path, tokenizer: Any) -> ColbertSettings:
    """The settings of a folder for which `is_colbert` is true."""
    if (path := folder / ONNX_CONFIG).is_file():
        return _of_pylate(Stated.read(path), tokenizer)
    described = Stated.read(folder / _SENTENCE_TRANSFORMERS)
    if "query_prefix" in described.content or described.content.get("model_type") == "ColBERT":
        return _of_pylate(described, tokenizer)
    if described.content.get("model_type") == "MultiVectorEncoder":
        return _of_sentence_transformers(described, tokenizer)
    if (path := folder / _STANFORD).is_file():
        return _of_stanford(Stated.read(path), tokenizer)
    raise ValueError(
        f"{folder} has a ColBERT model, but no file that says how it encodes queries and documents (markers, lengths, "
        f"expansion, skip list): {ONNX_CONFIG}, {_SENTENCE_TRANSFORMERS} or {_STANFORD} of the same model is needed"
    )


def _of_pylate(stated: Stated, tokenizer: Any) -> ColbertSettings:
    expand = stated.flag("do_query_expansion")
    prompts = stated.inner("prompts")
    ours = stated.path.name == ONNX_CONFIG and bool(prompts.content)
    if not ours and (texts := [value for value in prompts.content.values() if value]):
        raise ValueError(
            f"{stated.path}: prompts has {texts[0]!r:.60} beside query_prefix, and libraries differ in what they do "
            "with both; remove the one that the model was trained without"
        )
    skipped = _tokens(stated.texts("skiplist_words"), tokenizer)
    tasks = stated.texts("skiplist_tasks") if "skiplist_tasks" in stated.content else ["document"]
    sides = {
        side: Side(
            prompt=prompts.text(side) if ours else "",
            prefix=_token(stated, f"{side}_prefix", tokenizer),
            length=stated.count(f"{side}_length"),
            skipped=skipped if side in tasks else frozenset(),
        )
        for side in ("query", "document")
    }
    floor = stated.count("expansion_length") if "expansion_length" in stated.content else sides["query"].length
    return ColbertSettings(
        **sides,
        expansion=floor if expand else 0,
        attend=expand and stated.flag("attend_to_expansion_tokens"),
        mask=_mask(stated, tokenizer) if expand else None,
        strip=not ours,
        lower=stated.flag("do_lower_case", default=False),
        dim=stated.count("embedding_dim") if "embedding_dim" in stated.content else None,
        source=stated.path,
    )


def _of_sentence_transformers(stated: Stated, tokenizer: Any) -> ColbertSettings:
    folder = stated.path.parent
    kinds = {kind.rpartition(".")[2]: Stated.read(place / "config.json") for kind, place in modules(folder)}
    strange = kinds.keys() - {"Transformer", "Dense", "MultiVectorMask", "Normalize"}
    if strange or not {"Transformer", "MultiVectorMask", "Normalize"} <= kinds.keys():
        raise ValueError(
            f"{folder / 'modules.json'} must have Transformer, MultiVectorMask and Normalize, and besides only Dense, "
            f"not {', '.join(sorted(kinds)) or 'nothing'}"
        )
    inner = Stated.read(folder / "sentence_bert_config.json")
    expansion, mask = inner.inner("query_expansion"), kinds["MultiVectorMask"]
    tasks, skipped = mask.texts("skiplist_tasks"), _tokens(mask.texts("skiplist_words"), tokenizer)
    if mask.content.get("keep_only_token_ids"):
        raise ValueError(f"{mask.path}: keep_only_token_ids, for images, is not supported")
    most = _most_tokens(folder, inner)
    limit = {side: inner.count(f"{side}_length") if inner.content.get(f"{side}_length") else most
             for side in ("query", "document")}  # fmt: skip
    floor = expansion.count("length") if expansion.content else 0
    if floor and (strategy := expansion.text("strategy")) not in ("fixed", "min"):
        raise ValueError(f"{inner.path}: strategy must be 'fixed' or 'min', not {strategy!r}")
    if floor:
        limit["query"] = floor if strategy == "fixed" else max(limit["query"] or 0, floor)
    prompts = stated.inner("prompts")
    sides = {}
    for side in ("query", "document"):
        if not (length := limit[side]):
            raise ValueError(f"{inner.path} does not state {side}_length, and no other file has a limit of tokens")
        prompt = prompts.text(side) if prompts.content.get(side) else ""
        sides[side] = Side(prompt, None, length, skipped if side in tasks else frozenset())
    named = expansion.content.get("token")
    return ColbertSettings(
        **sides,
        expansion=floor,
        attend=bool(floor) and expansion.flag("attend", default=False),
        mask=(_token(expansion, "token", tokenizer) if named else _mask(stated, tokenizer)) if floor else None,
        strip=False,
        lower=inner.flag("do_lower_case", default=False),
        dim=None,
        source=stated.path,
    )


def _of_stanford(stated: Stated, tokenizer: Any) -> ColbertSettings:
    most = stated.count("query_maxlen")
    skipped = _tokens(list(string.punctuation), tokenizer) if stated.flag("mask_punctuation") else frozenset()
    return ColbertSettings(
        Side("", _token(stated, "query_token_id", tokenizer), most, frozenset()),
        Side("", _token(stated, "doc_token_id", tokenizer), stated.count("doc_maxlen"), skipped),
        expansion=most,  # Stanford's ColBERT always fills up its queries
        attend=stated.flag("attend_to_mask_tokens"),
        mask=_mask(stated, tokenizer),
        strip=True,
        lower=False,
        dim=stated.count("dim") if "dim" in stated.content else None,
        source=stated.path,
    )


def _token(stated: Stated, field: str, tokenizer: Any) -> int | None:
    """The number of a marker; None if it is empty. `field` may be confirmed by ``field_id``, as exports do."""
    marker = stated.text(field)
    if not marker:
        return None
    found: int | None = tokenizer.token_to_id(marker)
    if found is None:
        raise ValueError(f"{stated.path}: {field} {marker!r:.60} is no token of tokenizer.json")
    if f"{field}_id" in stated.content and stated.token(f"{field}_id") != found:
        raise ValueError(
            f"{stated.path}: {field}_id is {stated.content[f'{field}_id']}, but in tokenizer.json {marker!r} is {found}"
        )
    return found


def _tokens(words: list[str], tokenizer: Any) -> frozenset[int]:
    """The tokens that these words are; a word that is no token can't occur, so it is left out."""
    return frozenset(found for word in words if (found := tokenizer.token_to_id(word)) is not None)


def _mask(stated: Stated, tokenizer: Any) -> int:
    """The mask token: its number, if it is stated, or its name in the tokenizer's configuration."""
    if "mask_token_id" in stated.content:
        number = stated.token("mask_token_id")
        if tokenizer.id_to_token(number) is None:
            raise ValueError(f"{stated.path}: mask_token_id {number} is no token of tokenizer.json")
        return number
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        named = Stated.read(stated.path.parent / name)
        if isinstance(described := named.content.get("mask_token"), dict):
            named = Stated(named.path, {"mask_token": described.get("content")})
        if named.content.get("mask_token") and (found := _token(named, "mask_token", tokenizer)) is not None:
            return found
    raise ValueError(
        f"{stated.path} does not state mask_token_id, nor does tokenizer_config.json beside it state mask_token: "
        "with which token are queries filled up?"
    )


def _most_tokens(folder: Path, inner: Stated) -> int | None:
    """The model's own limit of tokens: the least one of those that are stated."""
    stated: tuple[Any, ...] = (
        inner.content.get("max_seq_length"),
        Stated.read(folder / "tokenizer_config.json").content.get("model_max_length"),
        Stated.read(folder / "config.json").content.get("max_position_embeddings"),
    )
    return min((int(limit) for limit in stated if type(limit) in (int, float) and 0 < limit < 1 << 20), default=None)
