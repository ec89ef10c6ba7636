"""Which class gets which codeword."""
