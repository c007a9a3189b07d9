"""The lab: the experiments of the Col-Bandit paper, and more, on any corpus (extra ``maxsieve[lab]``)."""

DIM = 128
"""ColBERT's number of dimensions, which the paper uses. The paper's experiments reduce vectors to it."""
