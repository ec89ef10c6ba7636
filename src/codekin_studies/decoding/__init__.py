"""Every assignment with a decoder that is learned by least squares."""
