"""Pages in a real browser: what a script sees there."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--dump-dom",
    "--virtual-time-budget=2000",
    "--window-size=1600,1000",
]
# Windows are at least 500 pixels wide, frames as wide as one likes.
FRAME = (
    '<!doctype html><meta charset="utf-8"><body>'
    '<iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe></body>'
)
# Pages run only their own scripts; those of a test are let in by a nonce.
LISTEN = """<head><script nonce="test">
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
window.addEventListener("error", (event) => document.documentElement.dataset.error = event.message);
window.addEventListener("unhandledrejection", (event) => document.documentElement.dataset.error = event.reason);
const texts = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent);
</script>"""
WATCH = """<script nonce="test">
(typeof ready === "undefined" ? new Promise((done) => window.addEventListener("load", done)) : ready)
  .then((given) => { SCRIPT })
  .catch((error) => ({ failed: `${error}` }))
  .then((seen) => {
    const { scrollWidth, clientWidth, dataset } = document.documentElement, note = parent.document.createElement("pre");
    note.id = "seen";
    const error = seen.failed ?? dataset.error ?? null;
    const overflow = scrollWidth - clientWidth;
    note.textContent = JSON.stringify({ ...seen, error, violations, width: innerWidth, overflow });
    parent.document.body.append(note);
  });
</script></body>"""


def seen_by(script, page, home, *, width=1200, violations=()):
    """What a script returns when a page is ready, in a window of some width; the page fits it and has no errors.

    ``violations`` are the rules of its own policy that the page breaks.

    The script is the body of a function of what the page's promise ``ready`` gives, and returns an object. ``home`` is
    a folder for files. Skips the test if there is no browser; fails where CODEKIN_NEEDS_BROWSER is set.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        missing = pytest.fail if os.environ.get("CODEKIN_NEEDS_BROWSER") else pytest.skip
        missing("needs Chromium or Chrome")
    watched = page.replace("<head>", LISTEN, 1).replace("; script-src ", "; script-src 'nonce-test' ", 1)
    watched = watched.replace("</body>", WATCH.replace("SCRIPT", script.replace("</", "<\\/")))
    file = home / "watched.html"
    file.write_text(FRAME.format(width=width, page=html.escape(watched)), encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={home / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=100)
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert seen["error"] is None, seen["error"]
    assert sorted(seen["violations"]) == sorted(violations)
    assert seen["width"] == width
    assert seen["overflow"] == 0, f"{seen['overflow']} pixels wider than {width}"
    return seen
