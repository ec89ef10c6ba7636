"""Two pages to play with: type what you want and get the command; say what happened and get the diagnosis code for it.

    python benchmarks/demo_pages.py OUTPUT [--data-home FOLDER] [--only commands | accidents]

    commands     ``tldr_commands`` of the data home (tldr-pages, CC BY 4.0; not part of codekin): 6,287 commands
    accidents    the diagnoses that come with codekin, 374 categories of ICD-10-CM, from parrots to power tools

Each page is one HTML file with the whole model, which needs no network. Prints its size, how often the first and the
best five are right on test texts, and what it answers to some wishes.
"""

import argparse
from pathlib import Path

import numpy as np

from codekin import TextClassifier
from codekin.data import load_dataset, read_data
from codekin.deploy.export import export_page

WISHES = {
    "commands": (
        "find out which files eat up my disk",
        "make a gif out of a video",
        "undo my last commit",
        "turn the volume up",
        "who is using port 8080",
        "draw a cow that says moo",
    ),
    "accidents": (
        "bitten by a parrot",
        "struck by a duck",
        "the boat sank and it was cold",
        "cannot sleep",
    ),
}
TITLES = {
    "commands": "Type what you want, get the command",
    "accidents": "Say what happened, get the code for it",
}
SOURCES = {"commands": "Texts: tldr-pages, CC BY 4.0.", "accidents": "Texts: ICD-10-CM, NCHS/CDC, public domain."}
MOST_TITLE = 70


def command_texts(home):
    """Texts and labels to learn from and to test: a command and what it is for."""
    folder = Path(home) / "tldr_commands"
    train, *others = (read_data(folder / f"{split}.tsv.gz") for split in ("train", "val", "test"))
    first = {}
    for text, label in zip(train.texts, train.labels.tolist(), strict=True):
        first.setdefault(label, text)

    def shown(label):
        purpose = first.get(label, "")
        return f"{label} · {purpose if len(purpose) <= MOST_TITLE else purpose[: MOST_TITLE - 1] + '…'}"

    return [(list(part.texts), [shown(label) for label in part.labels.tolist()]) for part in (train, *others)]


def accident_texts(_home):
    """The same of the embedded diagnoses: a category and its title."""
    data = load_dataset("icd10cm")
    named = [f"{name} · {title}" for name, title in zip(data.class_names, data.class_titles, strict=True)]
    return [
        (list(part.texts), [named[k] for k in part.y.tolist()]) for part in (data.train, data.validation, data.test)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--data-home", default=".")
    parser.add_argument("--only", choices=list(WISHES))
    arguments = parser.parse_args()
    for name, read in {"commands": command_texts, "accidents": accident_texts}.items():
        if arguments.only not in (None, name):
            continue
        train, validation, (texts, labels) = read(arguments.data_home)
        classifier = TextClassifier(random_state=0).fit(*train, validation=validation)
        page = export_page(classifier, arguments.output / name, title=TITLES[name])
        whole = page.read_text(encoding="utf-8").replace("</footer>", f" {SOURCES[name]}</footer>")
        page.write_text(whole, encoding="utf-8")
        best = classifier.top_k(texts, 5)[0]
        is_hit = best == np.array(labels)[:, None]
        print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, {len(classifier.classes_):,} classes")
        print(f"  {is_hit[:, 0].mean():.1%} right, {is_hit.any(axis=1).mean():.1%} among the best five")
        for wish, answers in zip(WISHES[name], classifier.top_k(list(WISHES[name]), 3)[0].tolist(), strict=True):
            print(f"  {wish}: {'; '.join(answer.split(' · ')[0] for answer in answers)} ({answers[0]})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
