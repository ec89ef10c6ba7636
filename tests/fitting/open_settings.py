"""The settings of a fit of many classes, all of them open but the code, which is a trellis."""

from dataclasses import fields

import numpy as np

from codekin.fitting.defaults import FitSettings
from codekin.fitting.settings import EXTREME_SETTINGS
from codekin.fitting.trial import Recipe


def open_settings(n_classes, X=None, **given):
    defaults = {name: setting.default for name, setting in EXTREME_SETTINGS.items()}
    X = np.zeros((3, 2)) if X is None else X
    return FitSettings(EXTREME_SETTINGS, {**defaults, "code": "trellis", **given}, n_classes, (0,), X)


def default_recipe(n_classes, X=None, **given):
    settings = open_settings(n_classes, X, **given)
    return Recipe(**{each.name: getattr(settings, each.name) for each in fields(Recipe)})
