"""The input of a network: a picture's channels one after the other, as floats.

Each 8-bit value is looked up in a table: the same floats as by arithmetic, at a third of the time.
"""

from typing import Any

from gateway.ocr.extras import vision


def planes(pixels: Any, table: Any) -> Any:
    """An array (1, channels, height, width) of float32. `pixels`: 8 bits; `table`: (channels, 256), float32."""
    cv2, numpy = vision()
    height, width, channels = pixels.shape
    found = numpy.empty((1, channels, height, width), numpy.float32)
    for number, channel in enumerate(cv2.split(pixels)):
        cv2.LUT(channel, table[number], dst=found[0, number])
    return found
