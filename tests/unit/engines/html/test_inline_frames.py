"""How many frames of a page are read, and how much of each; what is read of them is in `oddities.txt`."""

from tests.support.read_pages import content_of

_TEXT = "<h1>Ferry</h1><p>The ferry crosses the bay twice an hour and takes cars too.</p>" + "<p>It is old.</p>" * 20


def test_only_so_many_frames_and_so_much_of_them_is_read() -> None:
    frames = (f"<iframe srcdoc='<p>The boat number{at} leaves from the pier.</p>'></iframe>" for at in range(30))
    text = content_of(_TEXT + "".join(frames))
    assert "number19 " in text and "number20 " not in text
    long = f"<iframe srcdoc='<p>The night boat</p>{'<b></b>' * 30_000}'></iframe>"
    assert "night boat" not in content_of(_TEXT + long)
