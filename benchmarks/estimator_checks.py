"""How many of scikit-learn's estimator checks pass, compared with OutputCodeClassifier.

    python benchmarks/estimator_checks.py

Claim: nothing fails, and nothing that OutputCodeClassifier passes is failed or skipped.
"""

import argparse
import warnings
from collections import Counter

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier
from sklearn.utils.estimator_checks import check_estimator

from codekin import ECOCClassifier


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    warnings.simplefilter("ignore")
    passed, n_failed = {}, 0
    for estimator in (OutputCodeClassifier(LogisticRegression()), ECOCClassifier(random_state=0)):
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        counts = Counter(result["status"] for result in results)
        name = type(estimator).__name__
        passed[name] = {result["check_name"] for result in results if result["status"] == "passed"}
        n_failed = counts["failed"]
        print(f"{name:<22}{counts['passed']} passed of {sum(counts.values())} applicable")
        for result in results:
            if result["status"] != "passed":
                print(f"    {result['check_name']}: {result['status']}: {result['exception']}")
    missing = passed["OutputCodeClassifier"] - passed["ECOCClassifier"]
    print("passed by OutputCodeClassifier only:", ", ".join(sorted(missing)) or "none")
    return 1 if missing or n_failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
