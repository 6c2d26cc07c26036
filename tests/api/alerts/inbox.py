"""A mail server that keeps what it is sent."""

from __future__ import annotations

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class Inbox:
    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        return "250 taken"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        """Only `night` with the password `watch`."""
        right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"night", b"watch")
        return AuthResult(success=right, handled=False)
