"""The page of all settings, from their table: ``python -m tests.test_contracts.settings_page`` rewrites it."""

from codekin.fitting.setting import Setting, Table
from codekin.fitting.settings import ECOC_SETTINGS, EXTREME_SETTINGS
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "settings.md"
HEAD = """# All settings

The parameters of the two classifiers, from the table that their checks and the options of `codekin train` follow. The
parameter `max_bits` is the option `--max-bits`. What "auto" means is decided when the samples are known; `plan_` of a
fitted classifier and the `plan` of a model folder have the values.
"""


def settings_page() -> str:
    """The text of the page."""
    return "\n".join(
        [HEAD, *_section("ExtremeClassifier", EXTREME_SETTINGS), "", *_section("ECOCClassifier", ECOC_SETTINGS), ""]
    )


def _section(name: str, table: Table) -> list[str]:
    rows = ['| setting | values | default | what it is | what "auto" is |', "| --- | --- | --- | --- | --- |"]
    return [f"## {name}", "", *rows, *(_row(setting, table) for setting in table.values())]


def _row(setting: Setting, table: Table) -> str:
    names = {name: f"`{name}`" for name in table}
    sentence, auto = (text.format_map(names).replace("|", "\\|") for text in (setting.help, setting.auto))
    return f"| `{setting.name}` | {_values(setting)} | `{setting.default!r}` | {sentence} | {auto} |"


def _values(setting: Setting) -> str:
    numbers = [] if setting.numbers is None else [setting.numbers]
    kinds = [{"Integral": "int", "Real": "float"}[each.type.__name__] for each in numbers]
    words = [f"`{name}`" for name in setting.names if name not in ("auto",) or setting.default == "auto"]
    none = ["`None`"] if setting.is_optional or setting.default is None else []
    flags = ["`True`", "`False`"] if isinstance(setting.default, bool) else []
    return ", ".join([*kinds, *flags, *words, *none]) or "see the reference"


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
