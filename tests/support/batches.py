"""What an upstream streams: batches of the data of events."""

from collections.abc import AsyncGenerator

Batches = AsyncGenerator[list[bytes], None]
