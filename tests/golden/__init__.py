"""The golden corpus: what some thirty settings give, byte for byte. See :mod:`tests.golden.cases`."""
