"""Makes a collection follow a folder of files."""
