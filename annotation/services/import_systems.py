"""Systems that a file brings beside those whose translations the campaign holds: names that look the same."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from annotation.formats.cells import excerpt
from annotation.formats.compound_units import CompoundRow
from annotation.formats.errors import RowIssue
from annotation.models import Campaign, Output
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_name, hidden_character


def hidden_in_names(campaign: Campaign, rows: Iterable[object]) -> list[RowIssue]:
    """An error for each system and run whose name holds what cannot be seen, on the first row of it; what was named so
    before stays so. No query where there is none.
    """
    first: dict[tuple[str, str], RowIssue] = {}
    for row in rows:
        if not isinstance(row, CompoundRow):
            continue
        for column, name in (("system", row.system), ("run", row.run)):
            hidden = hidden_character(name or "")
            if name and hidden and (column, name) not in first:
                message = say(
                    "The name “{name}” holds U+{code}, which cannot be seen; leave it out.",
                    name=excerpt(name),
                    code=f"{ord(hidden):04X}",
                )
                first[column, name] = RowIssue(row.line, column, message)
    if not first:
        return []
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    there = set(outputs.values_list("system__name", "run").distinct())
    known = {("system", system) for system, _run in there} | {("run", run) for _system, run in there}
    return [issue for name, issue in first.items() if name not in known]


def systems_beside(new: Sequence[object], known: Collection[str]) -> Iterator[RowIssue]:
    """Warnings where new outputs are probably of a system under another name: in case, width or spaces alone it differs
    from one that is `known`, or it has none where others are named.
    """
    rows = [row for row in new if isinstance(row, CompoundRow)]
    alike = {fold_name(name): name for name in known}
    first = {row.system or "": row.line for row in reversed(rows)}
    for name, line in reversed(first.items()):
        same = alike.setdefault(fold_name(name), name)
        if name and same != name and name not in known:
            message = say(
                "The system “{name}” is new, and is written like “{same}” but for case, width or spaces. They count "
                "as two systems, each with its own outputs; if they are one, write the name as it is in the campaign.",
                name=excerpt(name),
                same=excerpt(same),
            )
            yield RowIssue(line, "system", message)
    nameless = sum(not row.system for row in rows)
    named = sorted(name for name in known if name)
    if nameless and named:
        message = say_count(
            "{n} row names no system, and the campaign holds translations of {names}: it counts as the output of "
            "another system, without a name. Name the system if it is one of these.",
            "{n} rows name no system, and the campaign holds translations of {names}: they count as outputs of "
            "another system, without a name. Name the system if it is one of these.",
            n=nameless,
            names=_listed(named),
        )
        yield RowIssue(None, "system", message)


def _listed(names: Sequence[str], limit: int = 5) -> str:
    more = ["…"] if len(names) > limit else []
    return ", ".join([*(f"“{excerpt(name, 40)}”" for name in names[:limit]), *more])
