"""The embedding process: started at need, replaced when it dies or hangs, and shared fairly."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.engines.embedding.embedder import DIMENSIONS, EmbeddingProcess, LocalEmbedder, TextsFailed, is_installed
from gateway.errors import EngineMissing
from tests.support.scripted_embedding import COMMAND, vector

WAIT_S = 30

MANY_LENGTHS = """
import random, resource, threading
from gateway.engines.embedding.worker import Encoder
from gateway.engines.embedding.embedder import model_path

encoder = Encoder(model_path())

def embed(seed, count, longest):
    lengths = random.Random(seed)
    for _ in range(count):
        encoder.encode(["word " * lengths.randint(1, longest)], 256)

threads = [threading.Thread(target=embed, args=each) for each in ((1, 150, 80), (2, 80, 250))]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize())
"""
MOST_BYTES = 290_000_000
"""Resident memory after texts of all lengths: 255 MB were measured, 365 MB when each length has memory of its own."""


@asynccontextmanager
async def running(*, idle_s: float = 900, job_limit_s: float = 60) -> AsyncIterator[EmbeddingProcess]:
    process = EmbeddingProcess(COMMAND, idle_s=idle_s, job_limit_s=job_limit_s)
    try:
        yield process
    finally:
        async with asyncio.timeout(WAIT_S):
            await process.close()


def cosine(one: list[float], other: list[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


async def embed(process: EmbeddingProcess, *texts: str, key: str = "k") -> list[int]:
    async with asyncio.timeout(WAIT_S):
        head, _ = await process.ask({"kind": "embed", "texts": texts, "max_tokens": 8}, "urgent", key)
    tokens: list[int] = head["tokens"]
    return tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words", "is_new"), [("die", "stopped while it had these texts", True), ("fail", "RuntimeError", False)]
)
async def test_what_fails_or_ends_the_process_costs_its_own_text_alone(text: str, words: str, is_new: bool) -> None:
    async with running() as process:
        assert process.pid is None, "nothing runs before the first text"
        assert list(await asyncio.gather(embed(process, "a"), embed(process, "bb", key="other"))) == [[1], [2]]
        first = process.pid
        with pytest.raises(TextsFailed, match=words):
            await embed(process, text)
        assert await embed(process, "ccc") == [3]
        assert (process.pid != first) is is_new


@pytest.mark.slow
async def test_a_caller_that_leaves_does_not_let_more_work_in_than_the_process_can_do() -> None:
    async with running(job_limit_s=1) as process:
        await embed(process, "a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await process.ask({"kind": "embed", "texts": ["hang"], "max_tokens": 8}, "urgent", "k")
        first = process.pid
        assert await embed(process, "bb") == [2], "served once the hanging process is replaced"
        assert process.pid != first


@pytest.mark.slow
async def test_embeddings_come_in_the_order_of_the_texts_also_in_several_turns() -> None:
    texts = ["x" * length for length in range(1, 30)]
    async with running() as process:
        found = await LocalEmbedder(process, lambda: True).embed_counted(texts, "k")
    assert found.vectors == [vector(text) for text in texts]
    assert found.tokens == list(range(1, 30)) and not any(found.cut)


async def test_without_the_extra_embedding_says_what_to_install() -> None:
    async with running() as process:
        with pytest.raises(EngineMissing, match="semantic"):
            await LocalEmbedder(process, lambda: False).embed(["a"], "k")
        assert process.pid is None


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the semantic extra is not installed")
async def test_the_model_puts_texts_of_one_meaning_near_each_other() -> None:
    process = EmbeddingProcess()
    texts = ["How do I stop a running query?", "Cancel a statement that is being executed", "Best pizza in Naples"]
    try:
        async with asyncio.timeout(WAIT_S):
            found = await LocalEmbedder(process).embed_counted([*texts, "word " * 1000], "k")
    finally:
        await process.close()
    asked, same, other = found.vectors[:3]
    assert all(len(each) == DIMENSIONS and abs(cosine(each, each) - 1) < 1e-3 for each in found.vectors)
    assert cosine(asked, same) > 0.4 > 0.2 > cosine(asked, other)
    assert found.cut == [False, False, False, True] and found.tokens[3] == LocalEmbedder.max_tokens
    assert found.tokens[0] == 10


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the semantic extra is not installed")
def test_texts_of_many_lengths_in_two_threads_take_a_bounded_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MANY_LENGTHS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < MOST_BYTES
