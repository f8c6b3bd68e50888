"""Mails and archives of mails: their texts decoded, in the order and below the subjects in which they were written."""

from email.message import EmailMessage
from email.policy import SMTP

import pytest

from gateway.engines.documents.sniff import kind_of, read
from tests.support.read_pages import page_of

LONG = "Grüße an alle, die eine Zeile lesen, die länger als sechsundsiebzig Zeichen ist und darum umgebrochen wird."


def mail(subject: str = "Über die Liste") -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = "Jürgen Müller <j@example.org>"
    message["Date"] = "Mon, 1 May 2023 10:00:00 +0200"
    message["Subject"] = subject
    return message


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64", "8bit"])
@pytest.mark.parametrize("declared", ["message/rfc822", "text/plain"])
def test_the_text_of_a_mail_is_decoded(encoding: str, declared: str) -> None:
    message = mail()
    message.set_content(f"{LONG}\n\n> zitiert\n", cte=encoding)
    page = page_of(bytes(message), content_type=declared)
    assert page["title"] == "Über die Liste"
    assert page["content"] == (
        "# Über die Liste\n\n**From:** Jürgen Müller \\<j@example.org>  \n"
        f"**Date:** Mon, 01 May 2023 10:00:00 +0200\n\n{LONG}\n\n> zitiert"
    )


def test_of_two_forms_of_a_text_the_plain_one_is_read_and_attachments_are_named() -> None:
    message = mail()
    message.set_content("The plain form.\n")
    message.add_alternative("<p>The <b>other</b> form.</p>", subtype="html")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="büro.pdf")
    message.add_attachment("--- a\n+++ b\n", subtype="x-patch", filename="fix.patch")
    text = read("mail", bytes(message), "message/rfc822", False)[1]
    assert text.endswith("The plain form.\n\n\\[attachment: büro.pdf]\n\n```diff\n--- a\n+++ b\n```")


def test_a_mail_that_is_html_alone_is_written_as_a_page_is() -> None:
    message = mail("News")
    message.set_content("<h1>One</h1><p>A <a href='https://example.org/x'>link</a></p>", subtype="html", cte="base64")
    assert read("mail", bytes(message), "", False)[1].endswith("### One\n\nA [link](https://example.org/x)")


def test_each_mail_of_an_archive_stands_below_its_subject() -> None:
    archive = (
        b"From ann at x.org  Mon May  1 10:00:00 2023\nFrom: ann at x.org\nDate: Mon, 1 May 2023\n"
        b"Subject: First\n\nHello.\n\nFrom here on 10:00 it is text.\n\n\n"
        b"From bob at y.org  Mon May  1 11:00:00 2023\nFrom: bob at y.org\nDate: Mon, 1 May 2023\n"
        b"Subject: =?utf-8?Q?Re:_F=C3=AErst?=\n\n> Hello.\nYes.\n"
    )
    assert kind_of("text/plain", archive) == "mail"
    title, text = read("mail", archive, "text/plain", True)
    assert title == "First"
    assert text == (
        "First\n\nFrom: ann at x.org\nDate: Mon, 1 May 2023\n\nHello.\n\nFrom here on 10:00 it is text.\n\n"
        "Re: Fîrst\n\nFrom: bob at y.org\nDate: Mon, 1 May 2023\n\n> Hello.\nYes."
    )


@pytest.mark.parametrize("text", ["From: a\nTo: b\n\nno mail", "Note: a text\nthat goes on", "From the start, a text"])
def test_a_text_that_begins_with_a_word_and_a_colon_is_no_mail(text: str) -> None:
    assert kind_of("text/plain", text.encode()) == "text"


def test_parts_nested_without_end_are_read_to_a_bound() -> None:
    head = b"From: a\nDate: b\nSubject: c\n"
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (at, at) for at in range(5_000))
    assert read("mail", head + deep + b"Content-Type: text/plain\n\nx", "", True)[0] == "c"
