"""Every assignment again, behind a decoder that is learned by least squares."""
