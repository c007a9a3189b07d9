"""The lab: the experiments of the Col-Bandit paper, and more, on any corpus (extra ``maxsieve[lab]``)."""

DIM = 128
"""The dimensions that ColBERT has, and that the paper's figures are about: what experiments reduce vectors to."""
