"""Which class gets which codeword, and how good the answer is."""

from codekin.assignments.comparison import AssignmentComparison, compare_assignments
from codekin.assignments.exhaustive import all_scores, nth_assignment
from codekin.assignments.explanation import ClassPair, nearest_classes, torn_pairs
from codekin.assignments.matrices import quadratic_assignment
from codekin.assignments.policy import ASSIGNMENTS, POLICIES, assign, choose_method
from codekin.assignments.quadratic import QuadraticSolution
from codekin.assignments.result import AssignmentResult, EquidistantCodebookWarning, SearchProgress
from codekin.assignments.scores import (
    AssignmentProblem,
    ScoreMoments,
    binary_loss_bound,
    class_codeword_score,
    class_codeword_z,
    random_score_moments,
)

__all__ = [
    "ASSIGNMENTS",
    "POLICIES",
    "AssignmentComparison",
    "AssignmentProblem",
    "AssignmentResult",
    "ClassPair",
    "EquidistantCodebookWarning",
    "QuadraticSolution",
    "ScoreMoments",
    "SearchProgress",
    "all_scores",
    "assign",
    "binary_loss_bound",
    "choose_method",
    "class_codeword_score",
    "class_codeword_z",
    "compare_assignments",
    "nearest_classes",
    "nth_assignment",
    "quadratic_assignment",
    "random_score_moments",
    "torn_pairs",
]
