"""The reader of code fences agrees with markdown-it; the writer's fences hold any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.engines.words.sections import closing, fenced
from tests.support.markdown_fences import TEXTS, fences, open_fences


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("a\n1) ```", "\n   ```"),
        ("-\n\n  ```", "\n  ```"),  # the item ended with the empty line
        ("-\n\n  ```\nb", "\n  ```"),
        ("- a\n\nb\n    ```", ""),
        ("-\t```", "\n    ```"),
        ("-      ```", ""),
        ("> ```\na", ""),
        ("> a\nb\n> ~~~", "\n> ~~~"),
        ("- a\n\n> b\n\n   ```\n\na", "\n   ```"),  # the quote ends the list
        ("> - a\n>   ```\n>   b", "\n>   ```"),
    ],
)
def test_what_is_lacking_follows_the_blocks_of_markdown(text: str, lacking: str) -> None:
    assert closing(text) == lacking
    assert open_fences(text + lacking) == 0 and len(fences(text + lacking)) == bool(lacking) + text.startswith("> `")


@pytest.mark.slow
@settings(max_examples=400)
@given(TEXTS)
def test_what_is_read_as_open_is_open_to_another_reader(text: str) -> None:
    ended = text + closing(text)
    assert open_fences(ended) == 0 and len(fences(ended)) == len(fences(text))


@pytest.mark.slow
@given(st.text(alphabet="ab `~>-\n", max_size=60))
def test_a_fence_that_is_written_holds_the_whole_text(code: str) -> None:
    (only,) = fences(fenced(code, "python"))
    assert only.content == f"{code}\n" and only.info == "python"
