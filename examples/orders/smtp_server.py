"""A mail server for the example: takes every mail (RFC 5321) and delivers it nowhere.

python -m examples.orders.smtp_server --port 2525      # prints who got what
"""

from __future__ import annotations

import argparse
import socketserver
import threading
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage

_LINE_MAX = 65_536


class _Session(socketserver.StreamRequestHandler):
    """One client: a command a line, an answer a line."""

    server: SmtpServer

    def handle(self) -> None:
        self._answer("220 orders.example.org")
        while line := self.rfile.readline(_LINE_MAX):
            verb = line[:4].upper().strip()
            if verb == b"QUIT":
                self._answer("221 Goodbye")
                return
            if verb == b"DATA":
                self._answer("354 End with a dot")
                self.server.deliver(self._read_mail())
                self._answer("250 Taken")
            elif verb in (b"EHLO", b"HELO", b"MAIL", b"RCPT", b"RSET", b"NOOP"):
                self._answer("250 Yes")
            else:
                self._answer("502 No")

    def _read_mail(self) -> EmailMessage:
        """Lines up to one with only a dot; a dot that began a line came doubled."""
        lines = []
        while (line := self.rfile.readline(_LINE_MAX)) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(mail, EmailMessage)
        return mail

    def _answer(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


class SmtpServer(socketserver.ThreadingTCPServer):
    """Listens from the start; `deliver` is called with each mail, on its session's thread."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, deliver: Callable[[EmailMessage], None]) -> None:
        super().__init__(("127.0.0.1", port), _Session)
        self.deliver = deliver
        self.port = int(self.server_address[1])

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=2525)
    server = SmtpServer(
        parser.parse_args().port, lambda mail: print(mail["To"], mail["Subject"], flush=True)
    )
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
