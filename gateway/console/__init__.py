"""The console: one page for the operator, served by the ops listener. Files alone, no framework and no build step."""
