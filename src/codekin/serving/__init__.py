"""Models that answer requests over HTTP: an ASGI application, and the server of ``codekin serve``.

Needs starlette and uvicorn: ``pip install codekin[serve]``.
"""

from codekin.serving.application import application
from codekin.serving.limits import Limits

__all__ = ["Limits", "application"]
