"""What is searched: real and random token vectors, and the true scores of them."""
