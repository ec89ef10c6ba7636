"""How the gallery draws: codekin's style, every figure on light and on dark paper, with the text that describes it.

An example says what a figure shows in the block that draws it, for readers who cannot see it. The line is not shown::

    # sphinx_gallery_alt = "Accuracy rises with the number of bits."
"""

import ast
import logging
import re
from pathlib import Path
from typing import Any

ALT = re.compile(r"^# sphinx_gallery_alt = (.+)$", re.MULTILINE)
COLOURS = ("blue", "orange", "green", "purple")

IMAGE = """
.. image:: /{path}
   :alt: {alt}
   :class: {classes}
"""


def with_our_style(gallery_conf: Any, script: Any) -> None:
    """Set matplotlib's defaults to codekin's style before an example runs."""
    import matplotlib.pyplot as plt
    from cycler import cycler

    from codekin.plots.style import PALETTE, RC

    logging.getLogger("distributed").setLevel(logging.ERROR)  # what its workers say is not output of the example
    plt.close("all")
    plt.rcdefaults()
    plt.rcParams.update(RC)
    plt.rcParams["axes.prop_cycle"] = cycler(color=[PALETTE[name] for name in COLOURS])
    plt.rcParams["savefig.dpi"] = 150


def on_both_papers(block: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Save the open figures of a block twice, and return the lines that show the one that suits the page."""
    import matplotlib.pyplot as plt

    from codekin.plots.style import darken

    alts = [ast.literal_eval(text) for text in ALT.findall(block[1])]
    numbers = plt.get_fignums()
    if len(alts) != len(numbers):
        raise ValueError(
            f"{block_vars['src_file']}, line {block[2]}: {len(numbers)} figures have {len(alts)} alt texts."
        )
    lines = []
    for number, alt, light in zip(numbers, alts, block_vars["image_path_iterator"], strict=False):
        figure, path = plt.figure(number), Path(light)
        dark = path.with_name(f"{path.stem}_dark{path.suffix}")
        figure.savefig(path)
        darken(figure)
        figure.savefig(dark, facecolor="none")
        for image, paper in ((path, "only-light"), (dark, "only-dark")):
            relative = image.relative_to(gallery_conf["src_dir"]).as_posix()
            lines.append(IMAGE.format(path=relative, alt=alt, classes=paper))
        plt.close(figure)
    return "".join(lines)
