"""A campaign's wording: put in place of the protocol's, and what of the site goes by it."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from annotation.formats.judgements import read_judgements
from annotation.formats.triples import read_triples
from annotation.models import Annotation, AuditEntry, Campaign
from annotation.protocol.errors import ProtocolError
from annotation.protocol.wording import WordingError
from annotation.services.answers import save_answers
from annotation.services.errors import Refused
from annotation.services.exports import names_of, table, take
from annotation.services.guidelines import acknowledge
from annotation.services.practice import choices, units_for
from annotation.services.sheets import Answer, Sheet
from annotation.services.wording import wording_of
from annotation.services.wording_change import change_wording, digest_of, preview
from annotation.templatetags.manage import label_word
from scoring.services.boards import board_groups
from scoring.services.gather import labels_of, triples_of
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.targets import target_of
from scoring.templatetags.figures import answer_title
from tests.annotation.formats.files import csv_table
from tests.annotation.views.test_seat import make_work, page_data, rows_of
from tests.factories import Cast, make_cast, make_triple, signed_in
from tests.material import run

pytestmark = pytest.mark.django_db

RELATIONS = [
    {
        "code": "xWant",
        "connector": {"en": "so PersonX would like", "zh": "于是 PersonX 想"},
        "definition": {"en": "A wish.", "zh": "一个愿望。"},
    },
    {"code": "leadsTo", "connector": {"en": "this leads to", "zh": "这会导致"}},
]
OWN: dict[str, Any] = {
    "relations": RELATIONS,
    "answers": {"sometimes": {"en": "now and then", "zh": "时有"}},
    "class_groups": {"seen": "ID", "unseen": "OOD"},
}
REASON = {"code": "tone", "words": {"en": "wrong tone", "zh": "语气不对"}}


def change(cast: Cast, document: Any = OWN, **fields: Any) -> Any:
    base = fields.pop("base", None) or digest_of(wording_of(cast.campaign))
    return change_wording(cast.campaign, document, base=base, by=cast.mei, **fields)


class TestChanging:
    def test_it_stores_what_differs_and_writes_it_down(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        cast = make_cast()
        shown, changes = preview(cast.campaign, OWN)
        assert Campaign.objects.get(slug="main").wording == {}

        assert change(cast) == changes

        stored = Campaign.objects.get(slug="main")
        assert stored.wording["answers"] == OWN["answers"]
        with django_assert_num_queries(0):
            assert wording_of(stored) == shown
        entry = AuditEntry.objects.get(action="wording changed")
        assert (entry.actor, entry.detail["n"]) == (cast.mei, len(changes))
        assert stored.guidelines.count() == 1  # nobody has been given anything

    def test_it_goes_back_to_the_protocols_own(self) -> None:
        cast = make_cast()
        change(cast)

        change(cast, {})

        assert Campaign.objects.get(slug="main").wording == {}

    def test_the_second_of_two_managers_is_told(self) -> None:
        cast = make_cast()
        base = digest_of(wording_of(cast.campaign))
        change(cast, base=base)

        with pytest.raises(Refused, match="Somebody else"):
            change(cast, {**OWN, "answers": {}}, base=base)
        assert change(cast, base=base) == []  # the same sent twice

    def test_it_refuses_to_lose_a_relation_that_items_have(self) -> None:
        cast = make_cast()
        make_triple(cast.campaign, 1, relation="xNeed")

        with pytest.raises(Refused, match="have to stay: xNeed"):
            change(cast)

        assert Campaign.objects.get(slug="main").wording == {}

    def test_it_refuses_to_lose_a_reason_that_answers_name(self) -> None:
        cast = make_work("compound", units=1)
        judge(cast, "missing")

        with pytest.raises(Refused, match="have to stay: missing"):
            change(cast, {"reasons": [REASON]})

    def test_it_says_what_is_wrong_with_a_document(self) -> None:
        with pytest.raises(WordingError, match=r"answers\.often\.zh: this text is missing"):
            change(make_cast(), {"answers": {"often": {"en": "x"}}})

    def test_once_work_is_given_out_experts_are_told_by_a_new_version(self) -> None:
        cast = make_work("triple", units=1)

        change(cast, judge_again=True)

        version = cast.campaign.guidelines.get(version=2)
        assert version.text_en == cast.campaign.guidelines.get(version=1).text_en
        assert "relations.xWant" in version.change_en
        assert version.change_zh
        assert version.touches == {"relations": ["xWant", "leadsTo"]}
        assert cast.campaign.rounds.get().guideline == version


def judge(cast: Cast, *reasons: str) -> Annotation:
    row = rows_of(cast.ada)[0]
    row.refresh_from_db()
    answer = Answer(assignment=row.pk, revision=row.revision, label="wrong", reasons=reasons)
    sheet = Sheet(screen=row.pk, client_key=uuid4(), answers=(answer,))
    save_answers(sheet, slug="main", expert_id=cast.ada.pk)
    return Annotation.objects.latest("pk")


class TestUsing:
    def test_answers_name_the_campaigns_reasons_from_the_next_save_on(self) -> None:
        cast = make_work("compound", units=1)
        judge(cast)  # the process knows this expert's place from now on
        with pytest.raises(ProtocolError):
            judge(cast, "tone")

        change(cast, {"reasons": [REASON]})

        assert judge(cast, "语气不对").reasons == ["tone"]
        with pytest.raises(ProtocolError):
            judge(cast, "missing")

    def test_saving_costs_the_same_with_reasons_of_ones_own(self) -> None:
        cast = make_work("compound", units=2)
        judge(cast)  # what PostgreSQL is asked for a first sheet is not what is compared
        plain = counted(cast, "missing")
        change(cast, {"reasons": [REASON, {"code": "missing", "words": REASON["words"]}]})
        acknowledge(cast.campaign.memberships.get(user=cast.ada), version=2)
        judge(cast)

        assert counted(cast, "tone") == plain

    def test_files_of_items_go_by_its_relations_and_classes(self) -> None:
        cast = make_cast()
        change(cast)
        lines = ("head,relation,tail,class", "a,leadsTo,b,seen", "a,xNeed,b,seen", "a,leadsTo,c,test_set")

        found = read_triples(csv_table(*lines), wording=wording_of(cast.campaign))

        assert [row.tail for row in found.rows] == ["b", "c"]
        assert "the relations are xWant, leadsTo" in found.errors[0].message
        assert "none of the classes seen, unseen" in found.warnings[0].message

    def test_practice_keeps_to_its_relations_and_words(self) -> None:
        cast = make_cast()
        change(cast)

        units = units_for(cast.campaign)

        assert {unit.rows[0].relation for unit in units} <= {"xWant", "leadsTo"}
        assert [unit.number for unit in units] == list(range(1, len(units) + 1))
        assert choices(cast.campaign)[1].words.en == "now and then"

    def test_reports_group_by_its_classes(self) -> None:
        cast = make_cast()
        change(cast)
        make_triple(cast.campaign, 1, item_class="seen", imported_label="1")
        make_triple(cast.campaign, 2, item_class="unseen", imported_label="0")
        make_triple(cast.campaign, 3, item_class="test_set", imported_label="0")

        document = report(cast.campaign, "statistics", Options())

        rows = {(row["by"], row["value"]): row["n"] for row in document["rows"]}
        assert (rows["group", "ID"], rows["group", "OOD"]) == (1, 1)
        assert ("group", "Adv") not in rows
        triples, _items = triples_of(cast.campaign, labels_of(cast.campaign))
        assert triples.class_groups["OOD"] == ("unseen",)

    def test_a_board_has_columns_for_its_classes(self) -> None:
        cast = make_cast()
        assert board_groups(cast.campaign) == ("all", "ID", "OOD", "cs_head", "all_head", "Adv")

        change(cast)

        assert board_groups(cast.campaign) == ("all", "ID", "OOD", "unseen", "Adv")
        target = target_of(cast.campaign)
        assert target.class_groups == {"ID": ("seen",), "OOD": ("unseen",), "Adv": ()}

    @pytest.mark.parametrize("page", ["judge/", "guidelines/", "history/", "practice/"])
    def test_the_experts_pages_use_its_words(self, page: str) -> None:
        cast = make_work("triple", units=1)
        change(cast)
        cast.campaign.memberships.update(joined_at=cast.campaign.guidelines.latest("version").created_at)
        client = Client()
        client.force_login(cast.ada, backend="django.contrib.auth.backends.ModelBackend")

        response = client.get(f"/campaigns/main/{page}")

        assert response.status_code == 200
        body = response.content.decode()
        assert "afterwards, PersonX wants" not in body
        if page == "judge/":
            assert "so PersonX would like" in body.replace(
                '<span class="chip chip-personx">PersonX</span>', "PersonX"
            )
            assert body.count("now and then") == 2  # the button and the script's word
        if page == "guidelines/":
            assert "A wish." in body
            assert 'id="relation-leadsTo"' not in body  # nothing is written about it


def counted(cast: Cast, reason: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        judge(cast, reason)
    return len(captured)


class TestOwnAnswers:
    """A campaign's own words for its answers are read and shown wherever an answer is."""

    COMPOUND: dict[str, Any] = {
        "answers": {"wrong": {"en": "off", "zh": "不对"}, "correct": {"en": "fine", "zh": "可以"}}
    }
    TRIPLE: dict[str, Any] = {
        "answers": {"sometimes": {"en": "now and then", "zh": "时有"}},
        "details": {"invalid": {"en": "no sentence", "zh": "不成句"}},
    }

    @pytest.mark.parametrize(("label", "code"), [("OFF", "0"), ("可以", "1"), ("wrong", "0"), ("1", "1")])
    def test_a_file_of_judgements_may_use_them(self, label: str, code: str) -> None:
        cast = make_cast(protocol="compound")
        change(cast, self.COMPOUND)
        table = csv_table("item_id,annotator,label", f"NP-1,ada,{label}")

        found = read_judgements(table, protocol="compound", wording=wording_of(cast.campaign))

        assert [row.label for row in found.rows] == [code]

    def test_a_word_that_is_none_is_refused_with_those_that_are(self) -> None:
        cast = make_cast()
        change(cast, self.TRIPLE)
        table = csv_table("triple_id,annotator,label", "t1,ada,now & then")

        found = read_judgements(table, protocol="triple", wording=wording_of(cast.campaign))

        assert "now and then (时有), no sentence (不成句)" in found.errors[0].message

    def test_the_command_reads_them(self, tmp_path: Path) -> None:
        cast = make_cast()
        change(cast, self.TRIPLE)
        item = make_triple(cast.campaign, 1)
        file = tmp_path / "answers.csv"
        file.write_text(f"triple_id,annotator,label\r\n{item.key},bo,时有\r\n", encoding="utf-8")

        ran = run("import_annotations", "main", str(file), "--json")

        assert ran.code == 0, ran.err
        assert Annotation.objects.get().label == "0.5"

    def test_gold_is_marked_by_them(self, tmp_path: Path) -> None:
        cast = make_cast()
        change(cast, self.TRIPLE)
        item = make_triple(cast.campaign, 1)
        file = tmp_path / "gold.csv"
        file.write_text(f"triple_id,label\r\n{item.key},now and then\r\n", encoding="utf-8")

        assert run("mark_gold", "main", str(file)).code == 0
        assert cast.campaign.items.get().gold.label == "0.5"

    def test_a_program_may_answer_by_them(self) -> None:
        cast = make_work("compound", units=1)
        change(cast, self.COMPOUND)

        assert given(cast, "fine").label == "1"
        assert given(cast, "不对").label == "0"
        assert given(cast, "correct").label == "1"
        with pytest.raises(ProtocolError, match="fine"):
            given(cast, "great")

    def test_a_detail_may_be_named_by_them(self) -> None:
        cast = make_work("triple", units=1)
        Campaign.objects.filter(pk=cast.campaign.pk).update(zero_detail=True)
        change(cast, self.TRIPLE)

        saved = given(cast, "不成句")

        assert (saved.label, saved.detail) == ("0", "invalid")

    @pytest.mark.parametrize(
        "answers",
        [
            {"often": {"en": "sometimes", "zh": "总是"}},
            {"often": {"en": "x", "zh": "y"}, "rarely": {"en": "X", "zh": "z"}},
            {"rarely": {"en": "1", "zh": "很少"}},
        ],
    )
    def test_a_word_that_stands_for_another_answer_is_refused(self, answers: dict[str, Any]) -> None:
        with pytest.raises(WordingError, match="stands for another answer already"):
            change(make_cast(), {"answers": answers})

    def test_the_seat_says_them_of_the_last_answer(self) -> None:
        cast = make_work("compound", units=1)
        usual = page_words(cast)
        assert usual["allCorrect"] == "all correct"

        change(cast, self.COMPOUND)
        acknowledge(cast.campaign.memberships.get(user=cast.ada), version=2)
        words = page_words(cast)

        assert words["allCorrect"] == "all rows: fine"
        assert words["rowsWrong"] == "rows {rows}: off"
        assert words["restMarked"].startswith("{n} rows marked “fine”")
        page = signed_in(cast.ada).get("/campaigns/main/judge/").content.decode()
        assert "rest: fine" in page
        assert "that row: “off”, again: “fine”" in page

    def test_labels_are_called_by_them(self) -> None:
        cast = make_cast(protocol="compound")
        change(cast, self.COMPOUND)
        cast.campaign.refresh_from_db()

        assert [label_word(label, cast.campaign) for label in ("1", "0")] == ["fine", "off"]
        assert [answer_title(label, cast.campaign) for label in ("1", "0")] == ["fine", "off"]
        triples = Campaign.objects.create(slug="t", title="T", protocol="triple", annotators_per_item=2)
        triples.wording = self.TRIPLE
        assert answer_title("0.5", triples) == "now and then"
        assert label_word("1", triples) == "plausible"  # a label is no answer there

    def test_exports_keep_the_codes(self) -> None:
        cast = make_work("compound", units=1)
        change(cast, self.COMPOUND)
        given(cast, "fine")

        chosen = table(cast.campaign, "annotations", names=names_of(cast.campaign, real=False))
        found = take(chosen)

        assert {row["label"] for row in found.rows} == {"1"}


def given(cast: Cast, label: str) -> Annotation:
    """What was stored of Ada's first row, answered so once more."""
    row = rows_of(cast.ada)[0]
    row.refresh_from_db()
    answer = Answer(assignment=row.pk, revision=row.revision, label=label)
    save_answers(
        Sheet(screen=row.pk, client_key=uuid4(), answers=(answer,)), slug="main", expert_id=cast.ada.pk
    )
    return Annotation.objects.latest("pk")


def page_words(cast: Cast) -> dict[str, str]:
    """What the script of Ada's page may say."""
    words: dict[str, str] = page_data(signed_in(cast.ada).get("/campaigns/main/judge/").content)["words"]
    return words
