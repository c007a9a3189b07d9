"""maxsieve under other libraries: one module for each, imported by name, with that library's types in and out."""
