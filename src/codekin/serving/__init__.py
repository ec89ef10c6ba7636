"""Models that answer requests over HTTP: an ASGI application, and the server of ``codekin serve``.

Needs the packages starlette and uvicorn.
"""

from codekin.serving.application import application
from codekin.serving.limits import Limits

__all__ = ["Limits", "application"]
