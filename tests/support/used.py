"""Usage of two keys in a state directory, as a gateway that has served leaves it."""

from pathlib import Path

from gateway.access.usage import PriceList, UsageBook, UsageKey, Used
from gateway.config.settings import Price
from gateway.shared_state.sqlite_state import STATE_FILE, StateFile


async def use(state_dir: Path, key_id: str = "k1", tool_price: float = 0) -> None:
    """Two requests of `k1` to SvcLLM, and four searches of `k2`, which cost `tool_price` each."""
    file = StateFile(state_dir / STATE_FILE)
    book = UsageBook(file, PriceList([Price("websearch-search", tool_call=tool_price)]), 400)
    book.add(UsageKey(key_id, "SvcLLM"), Used(input_tokens=1_700, output_tokens=3), 2)
    book.add(UsageKey("k2", tool="websearch-search"), Used(tool_calls=4), 4)
    await book.close()
    await file.close()
