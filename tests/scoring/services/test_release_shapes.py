"""A release is a folder of the shape that is read as “huggingface”: its items and votes can be brought in elsewhere."""

from pathlib import Path

import pytest

from annotation.models import Annotation, Campaign, Item, Output
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.shapes import read_shape, recognised, store_shape
from scoring.services.release_content import SplitWish
from scoring.services.releases import archive_of, freeze
from tests.factories import make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, triple_campaign

pytestmark = pytest.mark.django_db


def brought(source: Campaign, target: Campaign, folder: Path) -> None:
    """The release of one campaign, stored in the other."""
    finalize(source)
    release = freeze(source, "v1", wish=SplitWish(), by=make_user("boss"))
    path = folder / "v1.zip"
    path.write_bytes(Path(archive_of(release)).read_bytes())
    assert recognised(target, [path]) == "huggingface"
    report = store_shape(target, read_shape(target, [path], shape_name="huggingface"))
    assert report.as_json()["errors"] == []
    assert report.ok


def votes(campaign: Campaign) -> list[tuple[str, str, str, str]]:
    rows = Annotation.objects.filter(assignment__round__campaign=campaign)
    return sorted(
        rows.values_list("assignment__item__key", "assignment__item__translation", "label", "cannot_judge")
    )


def test_a_release_of_triples_comes_in_with_its_votes(tmp_path: Path) -> None:
    source = triple_campaign(tmp_path, 12, experts=["ada", "bo"], slug="source", **{"class": "adv"})
    answer_everything(source, lambda row: "1" if row.item.position % 2 else "0")
    target = new_campaign(slug="target")
    brought(source, target, tmp_path)
    texts = ("key", "head", "relation", "tail", "item_class")
    assert sorted(Item.objects.filter(campaign=target).values_list(*texts)) == sorted(
        Item.objects.filter(campaign=source).values_list(*texts)
    )
    assert votes(target) == votes(source)
    labels = dict(Item.objects.filter(campaign=target).values_list("key", "imported_label"))
    assert {labels["t1"], labels["t2"]} == {"0", "1"}


@pytest.mark.parametrize(
    ("first_named", "second_named"),
    [
        (("base", ""), ("large", "seed1")),
        (("facebook/nllb-200", ""), ("a; b", "s/1")),
        (("100%", "%2F"), (" ;/", "; ")),
        (("模型/大;", "1"), ("模型", "大;1")),
    ],
)
def test_a_release_of_compounds_comes_in_with_every_system(
    tmp_path: Path, first_named: tuple[str, str], second_named: tuple[str, str]
) -> None:
    source = new_campaign("compound", slug="source")
    load_rows(source, compounds(2, system=first_named[0], run=first_named[1]), tmp_path)
    second = compounds(2, system=second_named[0], run=second_named[1])
    for row in second[:3]:
        row["translation"] = f"{row['translation']} 别的"
    load_rows(source, second, tmp_path)
    assign_parts(source, experts=["ada"], design="single", seed=1)
    answer_everything(source, lambda row: str(row.item_id % 2))
    target = new_campaign("compound", slug="target")
    brought(source, target, tmp_path)
    outputs = ("system__name", "run", "context__key", "translation")
    stored = Output.objects.filter(system__campaign=target)
    assert set(stored.values_list("system__name", "run")) == {first_named, second_named}
    assert sorted(stored.values_list(*outputs)) == sorted(
        Output.objects.filter(system__campaign=source).values_list(*outputs)
    )
    assert votes(target) == votes(source)
