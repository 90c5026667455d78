"""Comparisons with other packages on real data: ``make bench`` (all) or ``make bench ARGS="ocr conll"``.

Each module has ``run() -> dict`` and ``markdown(result) -> str``; results are written to ``benchmarks/results`` with
the date and the command. Data come from MAXMARGIN_DATA.
"""
