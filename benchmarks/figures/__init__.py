"""What draws charts of results, and writes tables of them."""
