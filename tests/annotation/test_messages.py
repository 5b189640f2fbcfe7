"""The Chinese of every page: how messages are found, and that none is missing."""

import re
from pathlib import Path

import polib  # type: ignore[import-untyped]
import pytest

from scripts.messages import (
    CATALOGUE,
    Message,
    MessageError,
    load,
    main,
    merged,
    messages,
    problems,
    python_messages,
    template_messages,
)


def catalogue(*entries: polib.POEntry) -> polib.POFile:
    made = merged(polib.POFile(), [])
    made.extend(entries)
    return made


def test_a_chinese_figure_stands_at_its_percent_sign() -> None:
    said = [text for entry in load() for text in (entry.msgstr, *entry.msgstr_plural.values())]
    assert [text for text in said if re.search(r"[0-9})s][ \u00a0]%%?(?!\(|\w)", text)] == []


def test_it_finds_the_messages_of_python_code() -> None:
    source = (
        'title = _("one")\n'
        'label = gettext_lazy("two " "joined")\n'
        'ngettext("%(n)s item", "%(n)s items", n)\n'
        'pgettext_lazy("round", "main")\n'
        'other("not a message")\n'
        "gettext(stored)\n"
    )

    assert list(python_messages(source, "a.py")) == [
        Message("one"),
        Message("two joined"),
        Message("%(n)s item", "%(n)s items"),
        Message("main", context="round"),
    ]


@pytest.mark.parametrize("call", ['_(f"{n} items")', '_("%s items" % n)', '_("{} items".format(n))', "_()"])
def test_it_refuses_a_message_that_is_computed(call: str) -> None:
    with pytest.raises(MessageError, match=r"a\.py:1"):
        list(python_messages(call, "a.py"))


def test_it_finds_the_messages_of_templates() -> None:
    source = (
        '{% translate "one" %} {% translate "main" context "round" %} {{ x|default:_("none") }}'
        "{% blocktranslate trimmed with name=x %}\n  Hello\n  {{ name }}\n{% endblocktranslate %}"
        "{% blocktranslate count n=n %}{{ n }} item{% plural %}{{ n }} items{% endblocktranslate %}"
        "<p>not _('a message')</p>"
    )

    assert list(template_messages(source, "a.html")) == [
        Message("one"),
        Message("main", context="round"),
        Message("none"),
        Message("Hello %(name)s"),
        Message("%(n)s item", "%(n)s items"),
    ]


def test_it_finds_the_same_messages_in_every_folder_once(tmp_path: Path) -> None:
    for folder in ("annotation", "templates"):
        (tmp_path / folder).mkdir()
    (tmp_path / "annotation/a.py").write_text('_("Save")')
    (tmp_path / "templates/b.html").write_text('{% translate "Save" %}')

    [message] = messages(tmp_path)

    assert message.files == ["annotation/a.py", "templates/b.html"]


def test_it_keeps_translations_and_takes_in_what_is_new() -> None:
    old = catalogue(
        polib.POEntry(msgid="Save", msgstr="保存"),
        polib.POEntry(msgid="Gone", msgstr="没有了"),
        polib.POEntry(msgid="Never translated"),
    )

    new = merged(old, [Message("Save"), Message("New"), Message("%(n)s item", "%(n)s items")])

    assert [(entry.msgid, entry.msgstr, bool(entry.obsolete)) for entry in new] == [
        ("Save", "保存", False),
        ("New", "", False),
        ("%(n)s item", "", False),
        ("Gone", "没有了", True),
    ]
    assert "python-format" in new[2].flags


def test_it_takes_an_obsolete_translation_up_again() -> None:
    old = merged(catalogue(polib.POEntry(msgid="Save", msgstr="保存")), [])

    [entry] = merged(old, [Message("Save")])

    assert (entry.msgstr, bool(entry.obsolete)) == ("保存", False)


def test_it_says_what_keeps_the_pages_from_being_chinese() -> None:
    found = catalogue(
        polib.POEntry(msgid="Good", msgstr="好"),
        polib.POEntry(msgid="Unsure", msgstr="？", flags=["fuzzy"]),
        polib.POEntry(msgid="Untranslated"),
        polib.POEntry(msgid="%(n)s left", msgstr="还剩"),
        polib.POEntry(msgid="Old", msgstr="旧"),
    )
    wanted = [
        Message(text, files=["a.py"]) for text in ("Good", "Unsure", "Untranslated", "%(n)s left", "Missing")
    ]

    lines = problems(found, b"something else", wanted)

    assert lines == [
        "unsure (fuzzy): 'Unsure'",
        "without Chinese: 'Untranslated'",
        "other placeholders in the Chinese of '%(n)s left': '还剩'",
        "not in the catalogue: 'Missing' (a.py)",
        "not in the code any more: 'Old'",
        "django.mo differs from django.po: compile it",
    ]


def test_it_is_content_with_a_whole_catalogue() -> None:
    found = catalogue(
        polib.POEntry(msgid="%(n)s item", msgid_plural="%(n)s items", msgstr_plural={0: "%(n)s 条"})
    )

    assert problems(found, found.to_binary(), [Message("%(n)s item", "%(n)s items")]) == []


def test_it_has_compiled_what_is_in_the_catalogue() -> None:
    assert load().to_binary() == CATALOGUE.with_suffix(".mo").read_bytes()


def test_it_has_every_message_of_the_code_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check"])

    assert status == 0, capsys.readouterr().out


def test_it_explains_itself() -> None:
    assert main(["publish"]) == 2
