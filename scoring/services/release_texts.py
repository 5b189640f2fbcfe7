"""The prose of a release: the card that Hugging Face reads, a datasheet, a paragraph on methods. In English, as papers
are.

Every sentence is a fact of the campaign or says that something is not recorded; nothing is supposed. The questions
are those of Gebru et al. 2021, "Datasheets for Datasets".
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Campaign
from annotation.protocol.labels import get_rule
from scoring.services.release_content import Content

COEFFICIENTS = {
    "raw": "raw agreement",
    "contrast": "contrast coefficient",
    "fleiss": "Fleiss' kappa",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "gwet_ac1": "Gwet's AC1",
}
OF_PROTOCOL = {
    Campaign.Protocol.COMPOUND.value: ("raw", "fleiss", "alpha_nominal", "gwet_ac1"),
    Campaign.Protocol.TRIPLE.value: ("raw", "contrast", "alpha_nominal", "alpha_ordinal", "gwet_ac1"),
}
MEANING = {
    Campaign.Protocol.COMPOUND.value: "1: the compound is translated correctly in this context; 0: it is not",
    Campaign.Protocol.TRIPLE.value: "1: plausible; 0: not plausible",
}

_SYSTEMS = (
    "`systems` names every system with this translation, as `system/run; system`; within a name `/`, `;` and `%` are "
    "written `%2F`, `%3B` and `%25`."
)


def data_card(content: Content, configs: Mapping[str, Sequence[str]]) -> str:
    """README.md: the front matter that says which files load as what, and how the folder is laid out."""
    lines = ["---", f"pretty_name: {json.dumps(content.campaign.title, ensure_ascii=False)}", "configs:"]
    for number, (config, names) in enumerate(configs.items()):
        lines += [f"- config_name: {config}", *(["  default: true"] if not number else []), "  data_files:"]
        for name in names:
            lines += [f"  - split: {name}", f"    path: data/{name}.parquet"]
    lines += ["---", "", f"# {content.campaign.title}", "", *_overview(content), "", *_layout(content)]
    return "\n".join(lines) + "\n"


def _overview(content: Content) -> list[str]:
    labelled = sum(row["label"] is not None for row in content.items)
    return [
        f"{len(content.items)} items, {labelled} of them labelled ({MEANING[content.campaign.protocol]}).",
        _label_sentence(content),
        _split_sentence(content),
    ]


def _layout(content: Content) -> list[str]:
    return [
        "| folder or file | what it holds |",
        "| --- | --- |",
        "| `data/*.parquet` | the items by split; loads with `datasets.load_dataset` |",
        "| `csv/`, `jsonl/` | the same rows in other formats |",
        *(["| `*/votes.*` | every judgement of these items, under pseudonyms |"] if content.votes else []),
        *(["| `*/unlabelled.*` | items without a label, with the reason |"] if _unlabelled(content) else []),
        "| `guidelines/` | what the experts were told, by version and language |",
        "| `design.json` | who judged which part, and who was to by the design |",
        "| `agreement.json` | how far the independent judgements agree |",
        "| `conditions.json` | settings of the judging page and where answers came from |",
        "| `split.json` | how the split was made, and what test shares with dev |",
        "| `DATASHEET.md` | motivation, composition, collection, uses |",
        "| `METHODS.md` | a paragraph for a paper |",
        "| `manifest.json`, `SHA256SUMS` | every file with its checksum |",
        *(["", _SYSTEMS] if _compound(content) else []),
    ]


def datasheet(content: Content) -> str:
    """DATASHEET.md."""
    sections = {
        "Motivation": [
            "Made with Assay, on which experts judge items under a fixed protocol. Why these items were chosen, and "
            "who paid for the work, is not recorded there; whoever publishes this release should add it here."
        ],
        "Composition": _composition(content),
        "Collection": _collection(content),
        "Labels": [_label_sentence(content), *_agreement(content)],
        "Split": [_split_sentence(content), *_leakage(content)],
        "Uses": [
            "The labels say what these experts judged under these guidelines; figures made from them are conditional "
            "on both. Whoever tunes on test measures nothing.",
        ],
        "Distribution and maintenance": [
            "The licence of the texts is that of their source and is not recorded here. A release never changes: "
            "corrections make a new release, and the checksums in `SHA256SUMS` tell which one a figure rests on.",
        ],
        "Privacy": [
            "Experts stand under pseudonyms. Names, notes, times of day and sessions are left out; the seconds an "
            "answer took are kept."
        ],
    }
    blocks = [f"# Datasheet: {content.campaign.title}"]
    blocks += [f"## {title}\n\n" + "\n\n".join(paragraphs) for title, paragraphs in sections.items()]
    return "\n\n".join(blocks) + "\n"


def methods(content: Content) -> str:
    """METHODS.md: the campaign's paragraph for a paper, and how this release is split."""
    here = [] if content.votes else ["The judgements behind the labels are not part of this release."]
    sentences = [*content.methods, *here, _split_sentence(content), *_leakage(content)]
    return "# Methods\n\n" + " ".join(sentences) + "\n"


def _composition(content: Content) -> list[str]:
    kind = (
        "translations of compounds in context" if _compound(content) else "triples of head, relation and tail"
    )
    ones = sum(row["label"] == 1 for row in content.items)
    zeros = sum(row["label"] == 0 for row in content.items)
    found = [f"{len(content.items)} {kind}. Label 1: {ones}; label 0: {zeros}."]
    unlabelled = _unlabelled(content)
    if unlabelled:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in unlabelled.items())
        found.append(f"Without a label, by reason: {reasons}.")
    return found


def _unlabelled(content: Content) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in content.items:
        if row["label"] is None:
            counts[str(row["reason"])] = counts.get(str(row["reason"]), 0) + 1
    return dict(sorted(counts.items()))


def _collection(content: Content) -> list[str]:
    conditions = content.conditions
    if not content.votes:
        return ["No judgements are held here: the labels were imported with the items."]
    return [
        f"{conditions['judgements']} judgements (experts: {conditions['experts']}; per item: "
        f"{content.campaign.annotators_per_item}) on the scale {', '.join(conditions['scale'])}. "
        f"Judgements by round: {_listed(conditions['by_round'])}. Those of the main round are the independent "
        "answers; a label rests on an expert's last answer of a resolution or a re-judgement, where there is one. "
        "Labels by rule: "
        f"{_listed(conditions['labels_by_rule'])}.",
        f"Judgements by version of the guidelines: {_versions(conditions['by_guideline'])}.",
        f"{_settings_sentence(content)} Where answers came from: {_listed(conditions['by_entrance'])}.",
    ]


def _versions(counts: Mapping[str, int]) -> str:
    """Of imported judgements the version is not known."""
    names = {version: "not recorded" if version == "None" else f"version {version}" for version in counts}
    return ", ".join(f"{names[version]}: {n:,}" for version, n in counts.items())


def _settings_sentence(content: Content) -> str:
    """How the page was set; of judgements that were all brought in from elsewhere nothing is known."""
    if set(content.conditions["by_entrance"]) <= {"import"}:
        return "Under which conditions these were given elsewhere is not recorded."
    settings = ", ".join(f"{name} {value}" for name, value in content.conditions["settings"].items())
    return f"Settings of the judging page: {settings}."


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())


def _label_sentence(content: Content) -> str:
    labels = content.labels
    if labels.source == "imported":
        return "The labels were imported with the items; by which rule they were made is not recorded here."
    rule = get_rule(labels.rule or "", labels.rule_version)
    return (
        f"The labels follow from the judgements by the rule {rule.name} (version {labels.rule_version}); this is "
        f"version {labels.label_version} of the labels."
    )


def _split_sentence(content: Content) -> str:
    split = content.split
    if split["rule"] == "none":
        return "The items are not split."
    if split["rule"] == "keep":
        return f"The split is the one that the items were imported with: {_listed(split['items'])}."
    together = "triples of one head" if split["by_head"] else "identical triples"
    kept = (
        ""
        if split["rule"] == "ckbp-released"
        else f", {'compounds' if _compound(content) else together} kept together"
    )
    return f"The split was made by the rule {split['rule']} with seed {split['seed']}{kept}: {_listed(split['items'])}."


def _leakage(content: Content) -> list[str]:
    found = content.leakage
    if found is None:
        return []
    return [
        f"Triples that stand in dev and in test: {found['triples_on_both_sides']}. Test items whose head occurs in "
        f"dev: {found['test_units_with_head_in_dev']} of {found['test_units']}."
    ]


def _agreement(content: Content) -> list[str]:
    if "coefficients" not in content.agreement:
        return []
    shown = [
        f"{COEFFICIENTS[name]} {_figure(content.agreement['coefficients'][name])}"
        for name in OF_PROTOCOL[content.campaign.protocol]
    ]
    return [f"Agreement of the independent judgements, before any resolution: {'; '.join(shown)}."]


def _figure(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return f"undefined ({found['reason']})"
    interval = f" [{found['ci95'][0]:.4f}, {found['ci95'][1]:.4f}]" if found["ci95"] else ""
    return f"{found['value']:.4f}{interval}"


def _compound(content: Content) -> bool:
    return bool(content.campaign.protocol == Campaign.Protocol.COMPOUND)
