"""Package discovery, which setup.cfg alone cannot say: every package below `gateway`, found, and the two top-level
folders that setup.cfg maps to packages of other names. All else stands in setup.cfg."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["gateway", "gateway.*"]),
        "gateway_docs",
        "gateway_schemas",
        "gateway_schemas.tools",
    ]
)
