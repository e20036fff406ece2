"""Text messages over a WebSocket, on either side, as `asobiba.protocols.aiwolf.LineSocket` has lines over TCP.

The frames are those of the package websockets (extra `websocket`).
"""

from __future__ import annotations

import hmac
import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from asobiba.core.errors import MissingExtra
from asobiba.protocols.aiwolf import LONGEST_LINE, ClientError

if TYPE_CHECKING:
    from websockets.protocol import Protocol

_CHUNK = 1 << 16


def _websockets() -> Any:
    try:
        import websockets.client
        import websockets.frames
        import websockets.server
        import websockets.uri
    except ImportError:
        raise MissingExtra("websockets", "websocket") from None
    return websockets


class MessageSocket:
    """Messages over a WebSocket whose opening handshake is done, with a time limit for each.

    Args:
        connection: the socket.
        protocol: of websockets, in the state OPEN.
        events: that came with the end of the handshake.
    """

    def __init__(self, connection: socket.socket, protocol: Protocol, events: Sequence[Any] = ()):
        self._socket, self._protocol = connection, protocol
        self._parts: list[bytes] = []
        self._messages: list[bytes] = []
        self._take(events)

    def close(self) -> None:
        """Says goodbye, if the peer still listens, and closes the socket."""
        try:
            self._socket.settimeout(1.0)
            self._protocol.send_close()
            self._flush()
        except Exception:
            pass
        self._socket.close()

    def send(self, text: str, seconds: float = 5.0) -> None:
        """Sends a message. Raises `ClientError` if the peer is gone or does not take it in time."""
        try:
            self._socket.settimeout(seconds)
            self._protocol.send_text(text.encode())
            self._flush()
        except TimeoutError:
            raise ClientError(f"it has not read what was sent to it for {seconds:g} s") from None
        except (OSError, _websockets().exceptions.InvalidState) as error:
            raise ClientError(f"the connection broke: {error}") from None

    def receive(self, seconds: float | None) -> str:
        """The next message. Raises `ClientError` if none comes in time, or if it is too long or no UTF-8."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._messages:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ClientError(f"no reply within {seconds:g} s")
            self._read(left)
        try:
            return self._messages.pop(0).decode()
        except UnicodeDecodeError:
            raise ClientError("it sent bytes that are no UTF-8", lost=False) from None

    def drop_pending(self) -> int:
        """Discards unrequested messages; returns the number of bytes. Raises `ClientError` on a dead peer."""
        while self._read(0.0):
            if sum(map(len, self._messages)) > LONGEST_LINE:
                raise ClientError(f"it sent more than {LONGEST_LINE} bytes without being asked")
        dropped = sum(map(len, self._messages))
        self._messages.clear()
        return dropped

    def _read(self, seconds: float | None) -> bool:
        # Whether anything came in time.
        try:
            self._socket.settimeout(seconds)
            data = self._socket.recv(_CHUNK)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError as error:
            raise ClientError(f"the connection broke: {error.strerror or error}") from None
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        self._take(self._protocol.events_received())
        try:
            self._socket.settimeout(5.0)
            self._flush()  # answers to pings
        except OSError:
            pass  # the next send tells
        if not self._messages and (not data or self._protocol.close_expected()):
            raise ClientError(self._why())
        return True

    def _why(self) -> str:
        error = self._protocol.parser_exc
        return f"it broke the protocol: {error}" if error is not None else "it closed the connection"

    def _take(self, events: Sequence[Any]) -> None:
        opcodes = _websockets().frames.Opcode
        for event in events:
            opcode = getattr(event, "opcode", None)
            if opcode in (opcodes.TEXT, opcodes.BINARY, opcodes.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    self._messages.append(b"".join(self._parts))
                    self._parts.clear()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._socket.sendall(data)


def accept_websocket(connection: socket.socket, seconds: float, token: str = "") -> MessageSocket:
    """Answers a client's opening handshake.

    Args:
        connection: a socket that was accepted.
        seconds: how long the client may take.
        token: if not empty, the client must give it as `Authorization: Bearer TOKEN` or in the query, `?token=TOKEN`.

    Raises:
        ClientError: for a client that opens no WebSocket, or has another token.
    """
    protocol = _websockets().server.ServerProtocol(max_size=LONGEST_LINE)
    request, *events = _handshake(connection, protocol, seconds, ())
    query = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
    given = query or request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token and not hmac.compare_digest(given.encode(), token.encode()):
        response = protocol.reject(401, "the token is another one\n")
    else:
        response = protocol.accept(request)
    protocol.send_response(response)
    for data in protocol.data_to_send():
        if data:
            connection.sendall(data)
    if protocol.state.name != "OPEN":
        raise ClientError("it has another token" if token else f"it opened no WebSocket: {protocol.handshake_exc}")
    return MessageSocket(connection, protocol, events)


def open_websocket(url: str, seconds: float, longest: int, headers: Mapping[str, str] | None = None) -> MessageSocket:
    """Connects to a server.

    Args:
        url: `ws://HOST:PORT/PATH`, or `wss://` for a connection over TLS.
        seconds: how long the server may take.
        longest: bytes of the longest message that is read.
        headers: further headers of the request.

    Raises:
        ClientError: for a server that cannot be reached or opens no WebSocket.
    """
    library = _websockets()
    try:
        uri = library.uri.parse_uri(url)
        connection = socket.create_connection((uri.host, uri.port), timeout=seconds)
        if uri.secure:
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=uri.host)
    except library.exceptions.InvalidURI:
        raise ClientError(f"{url!r} is not an address of a WebSocket; expected ws://HOST:PORT/PATH") from None
    except OSError as error:
        raise ClientError(f"no server answers at {url}: {error}") from None
    protocol = library.client.ClientProtocol(uri, max_size=longest)
    request = protocol.connect()
    for name, value in (headers or {}).items():
        request.headers[name] = value
    protocol.send_request(request)
    try:
        _, *events = _handshake(connection, protocol, seconds, protocol.data_to_send())
    except OSError as error:
        connection.close()
        raise ClientError(f"no server answers at {url}: {error}") from None
    if protocol.state.name != "OPEN":
        connection.close()
        raise ClientError(f"{url} opens no WebSocket: {protocol.handshake_exc}")
    return MessageSocket(connection, protocol, events)


def _handshake(connection: socket.socket, protocol: Any, seconds: float, first: Iterable[bytes]) -> Sequence[Any]:
    # Sends what is to be sent first, and reads until the peer's part of the handshake is here.
    deadline = time.monotonic() + seconds
    for data in first:
        if data:
            connection.sendall(data)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise ClientError(f"it opened no WebSocket within {seconds:g} s")
        connection.settimeout(left)
        try:
            data = connection.recv(_CHUNK)
        except TimeoutError:
            continue
        if not data:
            raise ClientError("it closed the connection")
        protocol.receive_data(data)
        events = protocol.events_received()
        if events:
            return list(events)
        if protocol.handshake_exc is not None:
            raise ClientError(f"it opened no WebSocket: {protocol.handshake_exc}")
