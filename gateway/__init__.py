"""An authenticated HTTP gateway for language-model clients and agents: web tools, text, OCR, sanitized."""

__version__ = "0.3.0"
