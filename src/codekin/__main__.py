"""``python -m codekin`` is the command ``codekin``."""

from codekin.cli.main import main

raise SystemExit(main())
