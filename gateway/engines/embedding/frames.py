"""Formats that the server and the embedding process share: a frame's length, and a stored vector."""

import struct

LENGTH = struct.Struct(">I")
VECTOR = struct.Struct("<f384b")
"""A vector: its scale, and 384 whole numbers from -127 to 127, each of which times the scale is one of the vector."""
