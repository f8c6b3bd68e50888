"""The command line: arguments to commands. What a command does lives in the layer it belongs to.

Exit codes: 0 done, 1 failed, 2 wrong usage, 69 an engine is not installed, 78 the configuration is wrong (sysexits.h).
"""
