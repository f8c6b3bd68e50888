"""Boxes on a page, their reading order, and the tables and blocks that they form: shared by PDF documents and OCR."""
