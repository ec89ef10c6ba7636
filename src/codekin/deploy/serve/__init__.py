"""Models that answer requests over HTTP: an ASGI application, and the server of ``codekin serve``.

Needs the packages starlette and uvicorn.
"""

from codekin.deploy.serve.application import application
from codekin.deploy.serve.requests import Limits

__all__ = ["Limits", "application"]
