"""The report: everything about a fitted curve on one page."""

from sagdiv.report.figures import save_figures
from sagdiv.report.findings import Curve, Findings, findings
from sagdiv.report.html import report_html

__all__ = ["Curve", "Findings", "findings", "report_html", "save_figures"]
