"""How good answers are: beside exhaustive scoring (`fidelity`), by judgements (`quality`); and how sure that is."""
