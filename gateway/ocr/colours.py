"""Ink of any colour: what gray does not tell from its ground may still differ from it in one channel."""

from typing import Any

from gateway.ocr.extras import vision


def any_colour(page: Any) -> Any:
    """The page in gray, so that ink of any colour is darker than its ground: the mean of its luminance and its darkest
    channel. Magenta on gray may have the ground's luminance. `page`: BGR, dark ink."""
    cv2, _ = vision()
    blue, green, red = cv2.split(page)
    return cv2.addWeighted(cv2.cvtColor(page, cv2.COLOR_BGR2GRAY), 0.5, cv2.min(cv2.min(blue, green), red), 0.5, 0)
