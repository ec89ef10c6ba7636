"""Which class gets which codeword, and how good an assignment is."""

from codekin.assignments.comparison import AssignmentComparison, compare_assignments
from codekin.assignments.matrices import quadratic_assignment
from codekin.assignments.policy import ASSIGNMENTS, assign
from codekin.assignments.quadratic import QuadraticSolution
from codekin.assignments.result import AssignmentResult, EquidistantCodebookWarning
from codekin.assignments.scores import binary_loss_bound, class_codeword_score, class_codeword_z

__all__ = [
    "ASSIGNMENTS",
    "AssignmentComparison",
    "AssignmentResult",
    "EquidistantCodebookWarning",
    "QuadraticSolution",
    "assign",
    "binary_loss_bound",
    "class_codeword_score",
    "class_codeword_z",
    "compare_assignments",
    "quadratic_assignment",
]
