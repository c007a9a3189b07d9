"""Where an index lives: in memory, or in a folder of immutable files. Nothing here knows about policies."""
