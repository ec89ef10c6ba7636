"""Which class gets which codeword, and how good an assignment is."""

from codekin.assignments.identifiers import ItemIdentifiers, item_identifiers
from codekin.assignments.policy import ASSIGNMENTS, assign, compare_assignments, quadratic_assignment
from codekin.assignments.quadratic import QuadraticSolution
from codekin.assignments.result import AssignmentComparison, AssignmentResult
from codekin.assignments.scores import binary_loss_bound, class_codeword_score, class_codeword_z
from codekin.code.codebook import EquidistantCodebookWarning

__all__ = [
    "ASSIGNMENTS",
    "AssignmentComparison",
    "AssignmentResult",
    "EquidistantCodebookWarning",
    "ItemIdentifiers",
    "QuadraticSolution",
    "assign",
    "binary_loss_bound",
    "class_codeword_score",
    "class_codeword_z",
    "compare_assignments",
    "item_identifiers",
    "quadratic_assignment",
]
