"""The default settings of a classifier on a trellis, all of them open."""

from codekin.fitting.trellis_settings import TrellisSettings

DEFAULTS = {
    **dict.fromkeys(("width", "assignment", "learner", "loss", "prune", "precision", "rerank", "n_members"), "auto"),
    **dict.fromkeys(("class_tree", "max_bits", "max_model_bytes", "max_microseconds", "time_limit")),
    "seed": (0,),
    "n_spare": 0,
}


def open_settings(n_classes, **settled):
    return TrellisSettings(n_classes, **{**DEFAULTS, **settled})
