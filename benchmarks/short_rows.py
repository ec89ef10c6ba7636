"""Training on 100,000 short rows, made-up place names: processor time, bytes and accuracy of the default beside PECOS.

    python benchmarks/short_rows.py [--pecos-python PATH] [--rounds 3]

A region is a class, 2,500 of them in 50 languages. A language has 60 syllables and 8 endings, and a region prefers some
of its language's. A name has two or three syllables and mostly an ending, so that one can guess the language and
sometimes the region. Features are the words and trigrams that ``TextVectorizer`` makes of the names. Both learn from
the same features, each in a process of its own, bound to one processor and in turns (``contenders.py``); seconds are
of the processor and the least of the rounds. Codekin is to take at most PECOS's.
"""

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from contenders import Samples, class_of, python_for, result_of

N_LANGUAGES, REGIONS_OF_LANGUAGE, N_NAMES = 50, 50, 100_000
N_SYLLABLES, N_PREFERRED, N_ENDINGS = 60, 8, 8
SOUNDS = [line.split(",") for line in ("b,ch,d,f,g,gr,h,k,kr,l,m,n,p,r,s,st,t,th,v,w,z", "a,e,i,o,u,y", ",n,r,l,s")]
FEATURES = "words+trigrams"
NAMES = ("ours, default", "ours, default, no taxonomy", "PECOS XR-Linear")


def place_names(n_names, seed=0):
    """Names and the number of the region of each."""
    languages = np.random.default_rng(0)

    def syllable():
        return "".join(languages.choice(parts) for parts in SOUNDS)

    syllables = [[syllable() for _ in range(N_SYLLABLES)] for _ in range(N_LANGUAGES)]
    endings = [[syllable() for _ in range(N_ENDINGS)] for _ in range(N_LANGUAGES)]
    n_regions = N_LANGUAGES * REGIONS_OF_LANGUAGE
    preferred = [languages.choice(N_SYLLABLES, size=N_PREFERRED, replace=False) for _ in range(n_regions)]
    rng = np.random.default_rng([1, seed])
    regions = rng.integers(n_regions, size=n_names)
    names = []
    for region in regions.tolist():
        language = region // REGIONS_OF_LANGUAGE
        n_own, is_long, has_ending = rng.integers(1, 3), rng.random() < 0.4, rng.random() < 0.7
        own = rng.choice(preferred[region], size=n_own).tolist()
        own += rng.integers(N_SYLLABLES, size=2 + is_long - n_own).tolist()
        name = "".join(syllables[language][k] for k in own)
        names.append((name + endings[language][rng.integers(N_ENDINGS)] * has_ending).capitalize())
    return names, regions


def write_samples(folder):
    from codekin.classes import ClassTree
    from codekin.data import TextVectorizer

    named = {part: place_names(n, seed) for seed, (part, n) in enumerate(
        (("train", N_NAMES), ("validation", N_NAMES // 10), ("test", N_NAMES // 10))
    )}  # fmt: skip
    vectorizer = TextVectorizer(features=FEATURES).fit(named["train"][0])
    splits = {part: SimpleNamespace(X=vectorizer.transform(names), y=y) for part, (names, y) in named.items()}
    nested = {
        f"language {k:02}": [f"region {k:02} {i:02}" for i in range(REGIONS_OF_LANGUAGE)] for k in range(N_LANGUAGES)
    }
    Samples.write(SimpleNamespace(splits=splits, class_tree=ClassTree.from_nested(nested)), folder)
    X = splits["train"].X
    print(f"{X.shape[0]:,} names of {N_LANGUAGES * REGIONS_OF_LANGUAGE:,} regions, {X.shape[1]:,} features, ", end="")
    print(f"{X.nnz / X.shape[0]:.1f} of a name; {', '.join(named['train'][0][:4])} ...", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if python_for(class_of(NAMES[-1]), options.pecos_python) is None:
        parser.error("PECOS is not installed here; name an interpreter that has it with --pecos-python.")
    found = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_samples(folder)
        for _ in range(options.rounds):
            for name in NAMES:
                result = result_of(name, folder, pecos_python=options.pecos_python)
                if isinstance(result, str):
                    raise SystemExit(f"{name}: {result}")
                found[name].append(result)
    print("| | accuracy | MB | training, s | batch, µs | peak, MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, results in found.items():
        least = {cost: min(result[cost] for result in results) for cost in ("training", "prediction", "peak_bytes")}
        print(
            f"| {name} | {results[0]['accuracy']:.1f} | {results[0]['bytes'] / 1e6:.2f} | {least['training']:.2f} ",
            end="",
        )
        print(f"| {least['prediction']:.1f} | {least['peak_bytes'] / 1e6:,.0f} |")
    ours, theirs = (min(result["training"] for result in found[name]) for name in (NAMES[0], NAMES[-1]))
    print(
        f"\nthe default takes {ours / theirs:.2f} times PECOS's processor time: {'met' if ours <= theirs else 'MISSED'}"
    )
    return 0 if ours <= theirs else 1


if __name__ == "__main__":
    raise SystemExit(main())
