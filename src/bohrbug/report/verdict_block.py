"""Prints the verdict, in a few lines."""

from __future__ import annotations

from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.report.style import FAILED, PASSED, QUIET, WARNED, Paper
from bohrbug.report.verdict import MOST_SENTENCES, figures, headline, races_in_words, size_in_words

_STYLES = {
    VerdictKind.HOLDS: PASSED,
    VerdictKind.HOLDS_WITHIN_BOUND: PASSED,
    VerdictKind.NO_FAILURE_FOUND: PASSED,
    VerdictKind.FAILED: FAILED,
    VerdictKind.INCONCLUSIVE: WARNED,
}


def draw_verdict(paper: Paper, result: Result, *, verbose: bool = False) -> None:
    """Print the verdict block: kind, what was covered, figures, caveats.

    Parameters:
        paper: where to print to.
        result: of the exploration.
        verbose: say what was covered also where a failure was found, which ends the search,
            and by each member of a portfolio.
    """
    verdict = result.verdict
    failed = verdict.kind is VerdictKind.FAILED
    style = _STYLES[verdict.kind]
    if failed:
        sign = paper.glyphs.failed
    elif verdict.kind is VerdictKind.INCONCLUSIVE:
        sign = paper.glyphs.unknown
    else:
        sign = paper.glyphs.passed
    title = paper.text(f"{sign} {headline(result)}", style)
    if result.interrupted:
        title.append(" (interrupted)", style=WARNED)
    title.append_text(paper.text(f"  {result.test}" if result.test else ""))
    paper.put(title)
    if verbose or not failed:
        _draw_covered(paper, verdict.covered, verbose)
    if verdict.reason and not failed:
        paper.paragraph(paper.text(f"reason: {verdict.reason}"), 2, 4)
    if verdict.estimate is not None and not failed:
        paper.paragraph(paper.text(f"size: {size_in_words(verdict.estimate)}"), 2, 4)
    if verdict.conditions is not None and not failed:
        paper.paragraph(paper.text(f"conditions: {verdict.conditions}", QUIET), 2, 4)
    if result.executions:
        paper.paragraph(paper.text(figures(result), QUIET), 2, 4)
    if result.races:
        paper.paragraph(paper.text(races_in_words(result.races, verbose=verbose)), 2, 4)
    for caveat in verdict.caveats:
        if not failed and caveat == verdict.reason:
            # It stands above.
            continue
        paper.paragraph(paper.text("caveat: ", WARNED) + paper.text(caveat), 2, 4)
    for notice in result.notices:
        paper.paragraph(paper.text(f"note: {notice}", QUIET), 2, 4)


def _draw_covered(paper: Paper, sentences: tuple[str, ...], verbose: bool) -> None:
    members = len(sentences) - 1
    if members > MOST_SENTENCES and not verbose:
        # The last one is on all members; what they promise together stands in the reason.
        sentences = (sentences[-1], f"by {members} strategies; -v shows what each covered")
    for sentence in sentences:
        paper.paragraph(paper.text(f"covered: {sentence}"), 2, 4)
