"""Pages from templates, with a policy by which a browser runs and loads nothing but what the template holds."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib import resources

POLICY = "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'"


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its places, ``@@name@@``, filled in; ``@@policy@@`` by a Content-Security-Policy.

    Only the scripts and styles of the template itself are used, by their hashes: one that is smuggled into a value does
    not run, and neither does a handler in an attribute. Nothing is loaded from anywhere.
    """

    def fill(text: str) -> str:
        return re.sub(r"@@(\w+)@@", lambda place: values[place[1]], text)

    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in re.findall(r"<(script|style)>(.*?)</\1>", template, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(fill(content).encode("utf-8")).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return fill(template.replace("@@policy@@", POLICY.format(*map(" ".join, hashes.values()))))


def asset(package: str, name: str) -> str:
    """The text of a file in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
