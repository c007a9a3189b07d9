"""What every other room may use: checks of arguments, files that last, optional packages. It imports none of them."""
