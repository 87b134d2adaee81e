"""Mails of the order example, over SMTP as Python's own client speaks it."""

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from examples.orders.email_sender import EmailSender
from examples.orders.smtp_server import SmtpServer


@pytest.fixture
def mails() -> list[EmailMessage]:
    return []


@pytest.fixture
def server(mails: list[EmailMessage]) -> Iterator[SmtpServer]:
    server = SmtpServer(0, mails.append)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def sender(server: SmtpServer, tmp_path: Path) -> Iterator[EmailSender]:
    sender = EmailSender(f"127.0.0.1:{server.port}", str(tmp_path / "sent.db"))
    yield sender
    sender.close()


def order(order_id: str, state: str, reason: str = "") -> dict[str, Any]:
    goods = {"customer": "ann", "product": "tea", "quantity": 2, "price_cents": 760}
    return {"id": order_id, "state": state, "reason": reason, **goods}


def test_a_mail_goes_out_for_each_end_of_an_order(
    sender: EmailSender, mails: list[EmailMessage]
) -> None:
    sender.send([order("a", "CREATED"), order("a", "VALIDATED"), order("b", "FAILED", ".sold out")])
    assert [(mail["To"], mail["Subject"]) for mail in mails] == [
        ("ann@example.org", "Your order a is on its way"),
        ("ann@example.org", "Your order b was not accepted"),
    ]
    assert mails[0].get_content().strip() == "2 x tea, 15.20 in all. Thank you!"
    assert ".sold out" in mails[1].get_content()


def test_an_order_that_is_seen_again_gets_no_second_mail(
    sender: EmailSender, server: SmtpServer, mails: list[EmailMessage], tmp_path: Path
) -> None:
    sender.send([order("a", "VALIDATED")])
    sender.send([order("a", "VALIDATED")])
    again = EmailSender(f"127.0.0.1:{server.port}", str(tmp_path / "sent.db"))
    again.send([order("a", "VALIDATED"), order("b", "VALIDATED")])
    again.close()
    assert [mail["Message-ID"] for mail in mails] == [
        "<a@orders.example.org>",
        "<b@orders.example.org>",
    ]


def test_a_line_that_begins_with_a_dot_arrives_as_it_was(
    sender: EmailSender, mails: list[EmailMessage]
) -> None:
    sender.send([order("a", "FAILED", "no\n.\n..two")])
    assert mails[0].get_content().splitlines()[1:] == [".", "..two."]
