"""How ``--help`` looks: plain text in sections.

typer's own tables leave the sentences 16 of 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType as Command


class _InSections:
    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """List the arguments and options by section, and the commands of a group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            section = getattr(parameter, "rich_help_panel", None) or f"{parameter.param_type_name.capitalize()}s"
            name, sentence = parameter.get_help_record(ctx)
            # As some versions of typer have them: a type that says too much, and brackets escaped for rich.
            record = name.replace("<int range>", "<int>"), sentence.replace("\\[", "[")
            sections.setdefault(section, []).append(record)
        for name, command in getattr(self, "commands", {}).items():
            sections.setdefault("Commands", []).append((name, command.get_short_help_str(limit=1000)))
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records, col_max=28)


class HelpCommand(_InSections, TyperCommand):
    """A command with such a help."""


class HelpGroup(_InSections, TyperGroup):
    """A group of commands with such a help."""


class App(typer.Typer):
    """A program whose commands have such a help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": HelpGroup, "rich_markup_mode": None, "add_completion": False} | settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Add a function as a command."""
        return super().command(name, **{"cls": HelpCommand} | settings)
