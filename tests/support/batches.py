"""What `ports.Upstream.stream` returns."""

from collections.abc import AsyncGenerator

Batches = AsyncGenerator[list[bytes], None]
