"""Pages from templates, with a policy by which a browser runs and loads nothing but what the template holds."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib import resources

PLACE = re.compile(r"@@(\w+)@@")
OWN = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its places, ``@@name@@``, filled in; ``@@policy@@`` becomes a Content-Security-Policy.

    Nothing is loaded from anywhere, and only the scripts and styles of the template itself are used, by their hashes:
    one that somebody smuggles into a value does not run, and neither does a handler in an attribute.

    >>> "sha256-" in filled("@@policy@@<style>p { color: @@ink@@ }</style>", {"ink": "black"})
    True
    """

    def fill(text: str) -> str:
        return PLACE.sub(lambda place: values[place[1]], text)

    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in OWN.findall(template):
        digest = base64.b64encode(hashlib.sha256(fill(content).encode("utf-8")).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    rules = {f"{kind}-src": " ".join(own) or "'none'" for kind, own in hashes.items()}
    rules = {"default-src": "'none'", **rules, "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    policy = "; ".join(f"{name} {allowed}" for name, allowed in rules.items())
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return fill(template.replace("@@policy@@", tag))


def asset(package: str, name: str) -> str:
    """The text of a file in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
