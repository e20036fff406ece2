"""A browser that plays on the playground, through Playwright with Debian's Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from conftest import debian_program
from playwright.sync_api import Page, sync_playwright

CHROMIUM = "chromium", "chromium", "google-chrome"
"""The program, its package, and the one that some have instead."""
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on a plain file server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def chromium() -> Iterator[Any]:
    """It runs without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=debian_program(*CHROMIUM),
            args=["--no-sandbox", "--disable-gpu"],
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """Somebody on a page of the playground, whose errors and requests are noted."""

    def __init__(
        self, browser: Any, site: str, viewport: dict[str, int] = DESK, dark: bool = False, touch: bool = False
    ):
        self.site = site
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme, has_touch=touch, is_mobile=touch)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.bytes = 0
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("response", self._count)

    def _count(self, response: Any) -> None:
        self.bytes += int(response.headers.get("content-length", 0))

    def open(self, **link: Any) -> None:
        """Opens the page at a link and waits until something can be done."""
        fragment = "&".join(f"{key}={value}" for key, value in link.items())
        self.page.goto("about:blank")
        self.page.goto(f"{self.site}/index.html#{fragment}")
        self.wait()

    def wait(self) -> str:
        """Waits until the person is asked or the game is over; which of the two."""
        self.page.wait_for_selector("body[data-state='asked'], body[data-state='over']", timeout=240_000)
        return self.page.get_attribute("body", "data-state") or ""

    def said(self) -> str:
        """The page's line about the position."""
        return self.page.inner_text("#status")

    def link(self) -> dict[str, str]:
        """The link of the position, by its parts."""
        self.page.click("#link")
        return dict(part.split("=", 1) for part in self.page.evaluate("location.hash.slice(1)").split("&"))

    def close(self) -> None:
        self.context.close()
