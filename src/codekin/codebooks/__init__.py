"""Which codewords exist."""
