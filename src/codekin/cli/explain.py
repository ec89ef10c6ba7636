"""``codekin explain``: what each word or feature contributes to the score of a label."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.parallel import limited_threads
from codekin.cli.display import for_stdout
from codekin.cli.models import LoadedModel
from codekin.cli.options import App, NThreads, Quiet, ToFile, Trust, check_sources, reads_samples
from codekin.data.blocks import output_stream
from codekin.data.datasets import TextData
from codekin.data.model_input import samples_for
from codekin.explaining import Explanation
from codekin.progress import reporter

app = App()

ROWS_AT_ONCE = 256

Naming = Callable[[int], str]


@app.command()
@reads_samples("multilabel", "label_separator", "label", "missing_labels")
def explain(
    model: Annotated[Path, typer.Argument(help="The folder of a model with linear bits.")],
    data: Annotated[str, typer.Argument(help="The samples, with or without labels; - is the standard input.")] = "-",
    output: ToFile = "-",
    label: Annotated[
        str | None, typer.Option(show_default="the predicted one", help="The label whose score is explained.")
    ] = None,
    top_k: Annotated[int, typer.Option(min=1, help="Explain this many labels of each sample, best first.")] = 1,
    n_features: Annotated[
        int, typer.Option(min=1, help="How many words or features to print, the largest contributions first.")
    ] = 10,
    n_threads: NThreads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")] = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Show what each word or feature contributes to the score of a label.

    Contributions, the bias and the other terms add up to the score that the model ranks labels by. A model that was
    trained on texts needs texts, and shows words.
    """
    check_sources({"DATA": data, "MODEL": model}, output)
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_sets=True)
    classifier = loaded.classifier
    if label is not None and top_k > 1:
        raise ValueError(f"--label explains one label of each sample. Got --top-k {top_k} as well.")
    wanted = None if label is None else _label(classifier, label)
    k = min(top_k, len(classifier.classes_))
    n_done = 0
    with limited_threads(n_threads), loaded.display.watching(only_if_slow=True), output_stream(output) as stream:
        for X, read in loaded.samples(data, ROWS_AT_ONCE, reporter(f"explaining {data}"), labels="none", **reading):
            if wanted is not None:
                columns: list[Any] = [wanted]
            elif k == 1:
                columns = [None]
            else:
                columns = list(classifier.top_k(X, k)[0].T)
            explained = [classifier.explain(X, labels) for labels in columns]
            names = _names(loaded, read)
            for row in range(X.shape[0]):
                n_done += 1
                for rank, one in enumerate(explained):
                    shown = _json_line if as_json else _text_lines
                    text = shown(one, row, n_features, names(row), n_done, rank if k > 1 else None)
                    stream.write((for_stdout(text) if output == "-" else text).encode())
            stream.flush()


def _label(classifier: Any, text: str) -> Any:
    """The label with this text."""
    found = [label for label in classifier.classes_.tolist() if str(label) == text]
    if not found:
        raise ValueError(f"The label {text!r} is not among the {len(classifier.classes_)} classes of the model.")
    return found[0]


def _names(loaded: LoadedModel, read: Any) -> Callable[[int], Naming]:
    """For each row of a chunk, a function from features to what they are called."""
    vectorizer = loaded.model_input.vectorizer
    if vectorizer is not None and isinstance(read, TextData):
        samples: Any = samples_for(vectorizer, read)

        def of_text(row: int) -> Naming:
            terms = vectorizer.terms_by_column(samples[row])
            return lambda feature: " / ".join(terms[feature])

        return of_text
    names = getattr(loaded.classifier, "feature_names_in_", None)
    return lambda _: loaded.feature_name if names is None else lambda feature: str(names[feature])


def _text_lines(one: Explanation, row: int, n_features: int, name: Naming, number: int, rank: int | None) -> str:
    """The sample, its label and score, and a line for each term."""
    place = "" if rank is None else f", rank {rank + 1}"
    terms = [(name(int(feature)), value) for feature, value in one.top(row, n_features)]
    lines = [f"{value:+12.4f}  {what}\n" for what, value in terms + one.rest(row, n_features)]
    return "".join([f"sample {number}{place}: {one.labels[row]}, score {one.scores[row]:.4f}\n", *lines])


def _json_line(one: Explanation, row: int, n_features: int, name: Naming, number: int, rank: int | None) -> str:
    place = {} if rank is None else {"rank": rank + 1}
    features = [{"name": name(int(feature)), "contribution": value} for feature, value in one.top(row, n_features)]
    rest = {what.replace(" ", "_"): value for what, value in one.rest(row, n_features, least=0.0)}
    label, score = one.labels[row : row + 1].tolist()[0], float(one.scores[row])
    whole = {"sample": number, **place, "label": label, "score": score, "features": features, **rest}
    return json.dumps(whole, ensure_ascii=False) + "\n"
