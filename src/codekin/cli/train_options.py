"""The options of ``codekin train``, in the order in which its help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codekin.cli.options import READING
from codekin.cli.values import count_or_auto, named, positive_number, share_or_none, size, trellis_width, two_numbers
from codekin.decoding import LOSSES
from codekin.fitting.checked_choices import ASSIGNMENT_NAMES
from codekin.fitting.rules import RERANK
from codekin.learners import LEARNERS
from codekin.learners.compact import PRECISIONS
from codekin.model.reranking import CANDIDATE_SOURCES

CODE, LEARNING, TEXT = "The code", "Learning", "Texts"

Width = Annotated[
    Any,
    typer.Option(
        parser=trellis_width,
        metavar="N|auto",
        rich_help_panel=CODE,
        help="The width of a trellis; auto is the widest within --max-bits, the best within a budget, or else 10 "
        "(2 for 100 to 499 classes). With --code tree, how many children a node has; auto is a power of 2 up to 64.",
    ),
]
CodeName = Annotated[
    str,
    named(
        ("auto", "trellis", "tree"),
        "What codewords are paths of: trellis or tree; auto is a tree for 100 or more classes of texts "
        "or other sparse samples, unless an option needs a trellis.",
        "--code",
        rich_help_panel=CODE,
    ),
]
MaxBits = Annotated[int | None, typer.Option(min=1, rich_help_panel=CODE, help="The most bits to use.")]
MaxModelBytes = Annotated[
    int | None,
    typer.Option(
        "--max-model-bytes",
        parser=size,
        metavar="SIZE",
        rich_help_panel=CODE,
        help="The most bytes of the model folder, like 5MB. Validation samples then choose everything that is auto.",
    ),
]
MaxMicroseconds = Annotated[
    float | None,
    typer.Option(
        parser=positive_number,
        rich_help_panel=CODE,
        help="The most microseconds per prediction on one thread; also a budget.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        parser=positive_number,
        metavar="SECONDS",
        rich_help_panel=CODE,
        help="Seconds after which no further recipe is tried within a budget.",
    ),
]
AssignmentChoice = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE.json",
        rich_help_panel=CODE,
        help=f"Which class gets which codeword: auto, {', '.join(ASSIGNMENT_NAMES)}, or a file written by codekin "
        "assign. halving is for trees, and chooses one.",
    ),
]
LossName = Annotated[
    str,
    named(
        ("auto", *LOSSES),
        f"The decoding loss: {', '.join(LOSSES)}; auto is exponential for arow and logistic for softmax.",
        rich_help_panel=CODE,
    ),
]
EstimatorName = Annotated[
    str,
    named(
        ("auto", *LEARNERS),
        f"The learner: {', '.join(LEARNERS)}; auto is arow at width 2 and softmax above.",
        rich_help_panel=LEARNING,
    ),
]
NEpochs = Annotated[int, typer.Option(min=1, rich_help_panel=LEARNING, help="How many passes over the samples.")]
Regularisation = Annotated[
    float | None,
    typer.Option(
        "--r",
        parser=positive_number,
        show_default="1.0",
        rich_help_panel=LEARNING,
        help="Regularisation of arow: the larger, the smaller the steps. Chooses arow.",
    ),
]
FitIntercept = Annotated[
    bool, typer.Option("--fit-intercept", rich_help_panel=LEARNING, help="Learn a bias for each bit.")
]
Average = Annotated[
    bool,
    typer.Option(
        "--average", rich_help_panel=LEARNING, help="Keep the average of arow's weights over all steps. Chooses arow."
    ),
]
ClassWeight = Annotated[
    str | None, named(("balanced",), "balanced gives every class the same weight.", rich_help_panel=LEARNING)
]
ValidationFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=LEARNING,
        help="Samples that choose the best epoch, stop the training early and calibrate probabilities.",
    ),
]
Patience = Annotated[
    int,
    typer.Option(
        min=1,
        rich_help_panel=LEARNING,
        help="Stop after this many epochs in a row below the best. Needs --validation.",
    ),
]
Prune = Annotated[
    Any,
    typer.Option(
        parser=share_or_none,
        metavar="MAX_LOSS",
        rich_help_panel=LEARNING,
        help="Drop as many small weights as cost at most this much validation accuracy; 0.001 is a tenth of a point.",
    ),
]
PrecisionName = Annotated[
    str,
    named(
        ("auto", *PRECISIONS),
        "How weights are stored: float32, float16 (half the bytes), int8 (a quarter); auto: int8 if re-ranked.",
        rich_help_panel=LEARNING,
    ),
]
Rerank = Annotated[
    str,
    named(
        ("auto", "none", *RERANK),
        f"Rescore the best classes: none, {', '.join(RERANK)}; auto is learned from 100 classes on.",
        rich_help_panel=CODE,
    ),
]
CandidatesName = Annotated[
    str,
    named(
        ("auto", *CANDIDATE_SOURCES),
        "What lists the classes to rescore: code (its best paths), index (of class vectors) or both; "
        "auto is index for 100 or more classes on trellises of width 2 to 4.",
        "--candidates",
        rich_help_panel=CODE,
    ),
]
NMembers = Annotated[
    Any,
    typer.Option(
        "--n-members",
        parser=count_or_auto,
        metavar="N|auto",
        rich_help_panel=CODE,
        help="How many codes to train, whose losses are added.",
    ),
]
NSpare = Annotated[
    int,
    typer.Option(
        "--n-spare",
        min=0,
        rich_help_panel=CODE,
        help="How many codewords to leave free, for codekin grow. With them there is no re-ranking.",
    ),
]
MaxMemory = Annotated[
    int | None,
    typer.Option(
        parser=size,
        metavar="SIZE",
        show_default="what there is",
        rich_help_panel=LEARNING,
        help="The most memory for samples, weights and all else that grows with them. Files that do not fit are "
        "learned in blocks, bits that do not fit in turns; what does not fit at all is refused. Python itself comes on "
        "top.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        show_default="DATA.cache",
        rich_help_panel=READING,
        help="Where to keep the converted samples of a file larger than half of --max-memory; if given, of any file.",
    ),
]
TextMethod = Annotated[
    str,
    named(
        ("tfidf", "hashing"),
        "How texts become features: tfidf, or hashing, which keeps no vocabulary.",
        rich_help_panel=TEXT,
    ),
]
Analyzer = Annotated[
    str,
    named(("word", "char_wb"), "What is counted: word, or char_wb for letters within words.", rich_help_panel=TEXT),
]
NgramRange = Annotated[
    Any,
    typer.Option(
        "--ngram-range",
        "--ngrams",
        parser=two_numbers,
        metavar="FROM,TO",
        rich_help_panel=TEXT,
        help="The shortest and the longest n-grams to count.",
    ),
]
MinDf = Annotated[int, typer.Option(min=1, rich_help_panel=TEXT, help="Leave out terms in fewer texts (tfidf).")]
MaxFeatures = Annotated[
    int | None, typer.Option(min=1, rich_help_panel=TEXT, help="How many of the most frequent terms to keep (tfidf).")
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="as many as the data show; 2^18 for hashing",
        rich_help_panel=READING,
        help="How many features there are; for texts, how many columns --text hashing has.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint, if there is one.")]
Checkpoint = Annotated[
    bool, typer.Option("--checkpoint/--no-checkpoint", help="After each epoch, save what is needed to continue.")
]
