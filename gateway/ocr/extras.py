"""Imports libraries of the `ocr` extra at first use: without them the gateway starts, but OCR raises EngineMissing."""

from typing import Any, NamedTuple

from gateway.errors import EngineMissing

MISSING = (
    "the embedded OCR engine is not installed; the operator must install the extra 'ocr' (pip install 'gateway[ocr]')"
)


class Vision(NamedTuple):
    """The modules `cv2` and `numpy`."""

    cv2: Any
    numpy: Any


class Pillow(NamedTuple):
    """The modules Image, ImageOps, ImageDraw and ImageFont of Pillow."""

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
    """The module onnxruntime. Raises EngineMissing."""
    try:
        import onnxruntime as runtime  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    return runtime
