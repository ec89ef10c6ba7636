"""Codebooks designed for a problem, as in the literature: from class distances, class moments, or trials of a learner.

They are experimental: their constants and results may change. All are in :data:`codekin.codebooks.CODEBOOKS`, and
:class:`codekin.ECOCClassifier` fills in what they need. Their parameters, unless they say otherwise:

- ``n_codewords``: the number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
- ``n_bits``: the number of bits; by default ``10 log2 K``, rounded up, or as many as there are useful columns.
- ``class_distances``: how far apart the classes are, distances or a matrix.
- ``class_moments``: class frequencies and what least squares explains of the classes.
- ``column_trials``: what the learner makes of columns.
- ``bandwidth``: the distance, as a share of the mean, over which similarity fades.
- ``rng``: the source of randomness, or a seed for one.
"""
