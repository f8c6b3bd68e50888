"""Hosted tools are counted and paid for: their prices, in usage and in what a key may spend, and its calls a day."""

from gateway.access.usage import read_usage
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support.gateways import Serve
from tests.support.hosted_mcp import WORDS, Stage, mcp_stage
from tests.support.hosted_search import SEARCH, call, round_of, search

PRICES = """
[[prices]]
model = "SvcLLM"
tool_call = 0.5
[[prices]]
model = "websearch-search"
tool_call = 0.125
"""
SCOPES = ("chat", "responses", "web-search", "mcp:words")


def spent(stage: Stage) -> dict[tuple[str, str], tuple[int, float]]:
    """`(model, tool)` -> calls and spend."""
    rows = read_usage(stage.scene.server.config.state_dir / STATE_FILE, "2000-01-01", ["model", "tool"])
    return {(row["model"], row["tool"]): (row["tool_calls"], row["spend"]) for row in rows}


async def test_each_hosted_call_is_in_the_usage_with_the_tools_price_or_else_the_models(serve: Serve) -> None:
    async with mcp_stage(serve, more=PRICES) as stage:
        both = (search(), call("words__lookup", "c2", 1, word="x"))
        rounds = (round_of(*both, is_stream=False), round_of("Ok.", is_stream=False))
        status, _ = await stage.respond(*rounds, tools=[WORDS, SEARCH], key=stage.scene.server.make_key(*SCOPES))
        assert status == 200
        await stage.scene.server.listener.close()  # writes the usage
        assert spent(stage) == {
            ("SvcLLM", ""): (0, 0.0),
            ("SvcLLM", "websearch-search"): (1, 0.125),
            ("SvcLLM", "mcp:words"): (1, 0.5),
        }


async def test_what_hosted_calls_cost_counts_for_the_spend_limit_and_the_answer_goes_on(serve: Serve) -> None:
    async with mcp_stage(serve, more=PRICES) as stage:
        key = stage.scene.server.make_key(*SCOPES, spend_per_month=0.7)
        lookups = [round_of(call("words__lookup", word="x"), is_stream=False) for _ in range(2)]
        _, response = await stage.respond(*lookups, round_of("Enough.", is_stream=False), key=key)
        first, second = [item for item in response["output"] if item["type"] == "mcp_call"]
        assert (first["status"], second["status"]) == ("completed", "failed")
        assert "USD 0.7 a month" in str(second["error"]) and len(stage.server.calls) == 1
        assert response["output"][-1]["content"][0]["text"] == "Enough."


async def test_hosted_calls_take_from_the_tool_calls_of_a_day(serve: Serve) -> None:
    async with mcp_stage(serve) as stage:
        key = stage.scene.server.make_key(*SCOPES, tool_calls_per_day=2)
        calls = (search(), call("words__lookup", "c2", 1, word="x"), call("words__lookup", "c3", 2, word="y"))
        rounds = round_of(*calls, is_stream=False), round_of("Enough.", is_stream=False)
        _, response = await stage.respond(*rounds, tools=[WORDS, SEARCH], key=key)
        assert sorted(item["status"] for item in response["output"] if item["type"].endswith("_call")) == [
            "completed", "completed", "failed",
        ]  # fmt: skip
        assert "2 tool calls a day" in str(response["output"])
