"""Accepts the clients of a host: each is greeted separately, so that silent and broken ones block no other."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from asobiba.core.errors import AsobibaError

T = TypeVar("T")
AT_ONCE = 64
"""Clients that are greeted at the same time; others wait to be accepted."""
_LOOK = 0.2
"""Seconds between two checks whether more clients are wanted."""


class Reception(Generic[T]):
    """Greets clients in the background, until enough have come.

    Args:
        server: a listening socket; it stays open.
        count: number of clients wanted.
        greet: makes a client of a connection and its address, within its own time limit. It raises an `AsobibaError` to
            send the client away.
        tell: called for every client that came or was sent away, by one thread at a time.
        admit: is called with a client that was greeted and those before it, by one thread at a time.
    """

    def __init__(
        self,
        server: socket.socket,
        count: int,
        greet: Callable[[socket.socket, str], T],
        tell: Callable[[str], Any] = print,
        admit: Callable[[T, Sequence[T]], Any] = lambda client, before: None,
    ):
        self._server, self._count, self._greet, self._tell, self._admit = server, count, greet, tell, admit
        self._clients: list[T] = []
        self._closed = count == 0
        self._change = threading.Condition()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        server.settimeout(_LOOK)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closed:
            if not self._places.acquire(timeout=_LOOK):
                continue
            try:
                connection, address = self._server.accept()
            except OSError:
                self._places.release()
                continue
            named = f"{address[0]}:{address[1]}"
            threading.Thread(target=self._receive, args=(connection, named), daemon=True).start()

    def _receive(self, connection: socket.socket, address: str) -> None:
        why = ""
        try:
            client = self._greet(connection, address)
        except (AsobibaError, OSError) as error:
            why = str(error)
        finally:
            self._places.release()
        with self._change:
            if why or self._closed:
                if why and not self._closed:
                    self._tell(f"{address} is sent away: {why}")
                with contextlib.suppress(OSError):
                    connection.close()
                return
            self._admit(client, self._clients)
            self._clients.append(client)
            self._closed = len(self._clients) == self._count
            self._change.notify_all()

    def wait(self, seconds: float | None = None) -> list[T]:
        """The clients in the order in which they were greeted, when all have come or `seconds` are over.

        No client is greeted after that.
        """
        with self._change:
            self._change.wait_for(lambda: self._closed, seconds)
            self._closed = True
            clients = list(self._clients)
        self._thread.join()
        return clients
