"""The distribution of squared scores over all assignments, from that of the alignment."""

from math import sqrt

from codekin.assignments.scores import AssignmentProblem


def squared_score_moments(codebook, class_distances):
    """Mean and standard deviation of ``s^2 = 2 - 2 F / (|A| |D|)`` where every codeword is in use."""
    problem = AssignmentProblem.of(codebook, class_distances)
    norm = sqrt(problem.class_moments.sum_of_squares * problem.codeword_moments.sum_of_squares)
    mean = problem.mean_class_distance * problem.codeword_moments.total
    return 2 - 2 * mean / norm, 2 * problem.alignment_spread / norm
