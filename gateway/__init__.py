"""An authenticated HTTP gateway for language-model clients and agents: web tools, text, OCR, sanitized."""

import os

__version__ = "0.4.0"

# onnxruntime reports to its maker which models are loaded (Linux builds since 1.29; read 2026-11-23) unless the process
# has this variable. Set here, it is set in every process of the gateway and in those that they start.
os.putenv("ORT_DISABLE_TELEMETRY", "1")
