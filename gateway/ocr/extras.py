"""The libraries of the `ocr` extra, imported at first use: without them the gateway starts, and says so when asked."""

from typing import Any, NamedTuple

from gateway.errors import EngineMissing

MISSING = "The embedded OCR engine needs the `ocr` extra: pip install 'gateway[ocr]'."


class Vision(NamedTuple):
    cv2: Any
    numpy: Any


class Pillow(NamedTuple):
    image: Any
    ops: Any
    draw: Any
    font: Any


def vision() -> Vision:
    """OpenCV and numpy. Raises EngineMissing."""
    try:
        import cv2  # noqa: PLC0415 - optional extra
        import numpy  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    return Vision(cv2, numpy)


def pillow() -> Pillow:
    """Pillow's modules. Raises EngineMissing."""
    try:
        from PIL import Image, ImageDraw, ImageFont, ImageOps  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    return Pillow(Image, ImageOps, ImageDraw, ImageFont)


def onnxruntime() -> Any:
    """Raises EngineMissing."""
    try:
        import onnxruntime as runtime  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    return runtime
