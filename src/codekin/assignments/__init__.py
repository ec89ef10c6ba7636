"""Which class gets which codeword, and how good the answer is."""

from codekin.assignments.annealing import annealing
from codekin.assignments.comparison import AssignmentComparison, compare_assignments
from codekin.assignments.exhaustive import all_scores, exhaustive, nth_assignment
from codekin.assignments.explanation import ClassPair, nearest_classes, torn_pairs
from codekin.assignments.frank_wolfe import frank_wolfe
from codekin.assignments.given import identity, random
from codekin.assignments.greedy import greedy
from codekin.assignments.matrices import quadratic_assignment
from codekin.assignments.optimal import optimal
from codekin.assignments.orders import ordered, spectral
from codekin.assignments.policy import ASSIGNMENTS, POLICIES, assign, choose_method
from codekin.assignments.portfolio import portfolio
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
from codekin.assignments.steepest_descent import steepest_descent
from codekin.assignments.tabu import tabu
from codekin.assignments.trees import top_down, tree_swaps
from codekin.assignments.vectors import vector_swaps

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
    "annealing",
    "assign",
    "binary_loss_bound",
    "choose_method",
    "class_codeword_score",
    "class_codeword_z",
    "compare_assignments",
    "exhaustive",
    "frank_wolfe",
    "greedy",
    "identity",
    "nearest_classes",
    "nth_assignment",
    "optimal",
    "ordered",
    "portfolio",
    "quadratic_assignment",
    "random",
    "random_score_moments",
    "spectral",
    "steepest_descent",
    "tabu",
    "top_down",
    "torn_pairs",
    "tree_swaps",
    "vector_swaps",
]
