"""Debian's Firefox, driven through WebDriver BiDi: Playwright drives only a Firefox of its own, which it downloads."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from conftest import debian_program
from websockets.sync.client import ClientConnection, connect


class Firefox:
    """A page of a headless Firefox."""

    def __init__(self, connection: ClientConnection):
        self._connection, self._count = connection, 0
        self.errors: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        self._connection.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._connection.recv(60))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.errors.append(str(answer["params"]["text"]))
            if answer.get("id") == self._count:
                if answer["type"] == "error":
                    raise RuntimeError(answer["message"])
                return answer["result"]

    def size(self, width: int, height: int) -> None:
        self._ask("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})

    def open(self, address: str) -> None:
        """Opens an address afresh."""
        for url in ("about:blank", address):
            self._ask("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript: a text, a number, a boolean, or nothing."""
        found = self._ask(
            "script.evaluate", expression=expression, target={"context": self._context}, awaitPromise=True
        )  # fmt: skip
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return found["result"].get("value")

    def keys(self, *keys: str) -> None:
        """Presses and releases keys, one after another: characters, or WebDriver's codes of others."""
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": presses}
        self._ask("input.performActions", context=self._context, actions=[source])

    def violations(self) -> list[str]:
        """The violations that axe-core finds in the page."""
        self.run(f"{AXE_SCRIPT}; 0")
        found = self.run(
            "axe.run().then((found) => JSON.stringify(found.violations.map((one) => "
            "`${one.id}: ${one.help}: ${one.nodes.map((node) => node.target).join(', ')}`)))"
        )
        return json.loads(found)

    def wait(self, expression: str, seconds: float = 60.0) -> None:
        """Waits until an expression is true."""
        end = monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            if monotonic() > end:
                raise TimeoutError(expression)
            sleep(0.02)


@contextmanager
def firefox(folder: Path, dark: bool = False) -> Iterator[Firefox]:
    """A headless Firefox whose profile lies in `folder`."""
    folder.mkdir(exist_ok=True)
    # 1 is dark; by default a headless browser is light.
    (folder / "user.js").write_text(f'user_pref("ui.systemUsesDarkTheme", {int(dark)});\n', encoding="utf-8")
    program = debian_program("firefox-esr", "firefox-esr", "firefox")
    command = [program, "--headless", "--no-remote", "--profile", str(folder)]
    process = subprocess.Popen(
        [*command, "--remote-debugging-port", "0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"ws://127\.0\.0\.1:\d+", line) for line in process.stderr)))
        with connect(f"{found[0]}/session", max_size=None) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.communicate(timeout=60)
