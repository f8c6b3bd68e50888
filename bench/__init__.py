"""Side-by-side measurements. Ratios within one run are the figures to quote: absolute times drift with the machine."""
