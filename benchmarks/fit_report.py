"""The report of ``codekin train`` costs at most 2 % of a fit.

    python benchmarks/fit_report.py [--sets ...] [--data-home FOLDER] [--journal FILE]

CPU seconds of a fit with the defaults and of what is measured only to be reported: the losses of the bits and the error
on training samples after the fit, and the likelihoods and calibration errors of validation samples within it.
"""

import argparse
from pathlib import Path

import numpy as np
from apart import Journal, carry_out, cpu_seconds
from budget_time import splits_of

MOST = 0.02
SETS = ("icd10cm_category", "wordnet_hypernym", "debian_dirs100k")


def measure(task):
    from codekin import ExtremeClassifier
    from codekin.cli.train import MOST_MEASURED
    from codekin.fitting import temperature

    (train, validation, _), tree = splits_of(task["data"], task["home"])
    few = np.flatnonzero(train[1] < 300)[:3000]
    y = np.unique(train[1][few], return_inverse=True)[1]
    classifier = ExtremeClassifier(random_state=0).fit(train[0][few], y, validation=(train[0][few], y))
    classifier.report(train[0][few], y)
    within, measures = [], temperature._measures

    def timed(*given):
        begin = cpu_seconds()
        found = measures(*given)
        within.append(cpu_seconds() - begin)
        return found

    temperature._measures = timed
    begin = cpu_seconds()
    classifier = ExtremeClassifier(taxonomy=tree, random_state=0).fit(*train, validation=validation)
    seconds = cpu_seconds() - begin
    rows = np.arange(0, len(train[1]), -(-len(train[1]) // MOST_MEASURED))
    begin = cpu_seconds()
    classifier.report(train[0][rows], train[1][rows])
    return {"fit": seconds, "within": sum(within), "after": cpu_seconds() - begin}


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--journal", type=Path, default=Path("out/fit_report.jsonl"))
    options = parser.parse_args()
    journal, is_met = Journal(options.journal), True
    print("| | fit, s | measured within, s | measured after, s | share |\n|---|---:|---:|---:|---:|")
    for data in options.sets:
        of = journal.of(__file__, {"data": data, "home": options.data_home})
        if of is None:
            is_met = False
            continue
        share = (of["within"] + of["after"]) / (of["fit"] + of["after"])
        is_met &= share <= MOST
        print(f"| {data} | {of['fit']:.2f} | {of['within']:.3f} | {of['after']:.3f} | {share:.1%} |", flush=True)
    print(f"\nat most {MOST:.0%}: {'met' if is_met else 'NOT met'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
