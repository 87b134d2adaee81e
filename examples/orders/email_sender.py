"""The e-mail sender: one mail to the customer for each order that has come to its end.

    python -m examples.orders.email_sender --smtp localhost:2525

It reads topic `orders` as the consumer group `email-sender`. The ids of orders that had their mail
are kept in a file, so a record that is seen again sends nothing. If the machine dies between a
mail and its line in the file, the mail goes out twice: it has the same Message-ID then, by which
mail servers know it.
"""

from __future__ import annotations

import smtplib
import sqlite3
import sys
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

from examples.orders.following import follow
from examples.orders.topics import ORDERS, arguments

_SHOP = "shop@example.org"


def compose(order: dict[str, Any]) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = _SHOP
    mail["To"] = f"{order['customer']}@example.org"
    mail["Message-ID"] = f"<{order['id']}@orders.example.org>"
    goods = f"{order['quantity']} x {order['product']}"
    if order["state"] == "VALIDATED":
        total = order["quantity"] * order["price_cents"] / 100
        mail["Subject"] = f"Your order {order['id']} is on its way"
        mail.set_content(f"{goods}, {total:.2f} in all. Thank you!\n")
    else:
        mail["Subject"] = f"Your order {order['id']} was not accepted"
        mail.set_content(f"{goods}: {order['reason']}.\n")
    return mail


class EmailSender:
    """Sends what was not sent yet."""

    def __init__(self, smtp: str, journal: str) -> None:
        host, _, port = smtp.rpartition(":")
        self._address = (host, int(port))
        self._journal = sqlite3.connect(journal)
        # A commit a mail: safe when the process dies, without waiting for the disk each time.
        self._journal.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self._journal.execute("CREATE TABLE IF NOT EXISTS sent (order_id TEXT PRIMARY KEY)")

    def send(self, orders: Sequence[dict[str, Any]]) -> None:
        due = [order for order in orders if order["state"] != "CREATED" and self._is_due(order)]
        if not due:
            return
        with smtplib.SMTP(*self._address, timeout=30) as server:
            for order in due:
                server.send_message(compose(order))
                with self._journal:
                    self._journal.execute("INSERT OR IGNORE INTO sent VALUES (?)", (order["id"],))

    def close(self) -> None:
        self._journal.close()

    def _is_due(self, order: dict[str, Any]) -> bool:
        query = "SELECT 1 FROM sent WHERE order_id = ?"
        return self._journal.execute(query, (order["id"],)).fetchone() is None


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--smtp", default="localhost:2525", metavar="HOST:PORT")
    parser.add_argument("--journal", default="sent.db", help="remembers which mails went out")
    args = parser.parse_args()
    sender = EmailSender(args.smtp, args.journal)
    return follow(args.bootstrap_server, args.registry, ORDERS, "email-sender", sender.send)


if __name__ == "__main__":
    sys.exit(main())
