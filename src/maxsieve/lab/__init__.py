"""The lab: the experiments of the Col-Bandit paper, and more, on any corpus (extra ``maxsieve[lab]``)."""
