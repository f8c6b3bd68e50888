"""What goes wrong with one image in the OCR worker, as callers are told."""

from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, InvalidRequest


class ImageFailed(GatewayError):
    """The engine failed on one image. Status 422, since the image is the cause: callers keep using the server."""

    status = 422
    type = "invalid_request_error"
    code = "ocr_failed"


class WorkerDied(ImageFailed):
    """The process ended while it had the job."""


def too_long() -> GatewayError:
    """The error for an image over which the worker was silent, or busy for too long."""
    return ImageFailed("the OCR engine took too long over this image; try a smaller one", code="ocr_timeout")


def died() -> GatewayError:
    """The error for an image during which the process ended."""
    return WorkerDied("the OCR engine failed on this image and was restarted; try another image")


def job_error(fields: Json) -> GatewayError:
    """The error that the worker reported: `{status, code, message}`."""
    kinds: dict[int, type[GatewayError]] = {400: InvalidRequest, 503: EngineMissing}
    return kinds.get(fields["status"], ImageFailed)(fields["message"], code=fields["code"])
