"""Models in folders: what is told of them without a library, and that a loaded one scores as it should."""

import json
import math
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from annotation.services.errors import Refused
from scoring.services import checkpoints
from scoring.services.checkpoints import CAUSAL, CLASSIFIER, SEQ2SEQ, Scorer, Text, load, look_at
from tests.scoring.tiny_models import POSITIONS, WORDS, edit_config, libraries, tiny, tokenizer

TEXTS = [
    Text("PersonX writes a letter , afterwards PersonX wants ", "PersonX seals it"),
    Text("PersonX plants a tree , ", "PersonX waters it ."),
    Text("it , before that PersonX needed ", "a tree"),
    Text("PersonY feels , so people see PersonX as ", "a letter"),
    Text("PersonX seals a letter because , beforehand , PersonX wanted ", "it"),
]
KINDS = (
    "BertForSequenceClassification",
    "GPT2LMHeadModel",
    "T5ForConditionalGeneration",
    "BartForConditionalGeneration",
)


def folder_with(folder: Path, **config: Any) -> Path:
    """A folder that looks like a checkpoint from outside."""
    folder.mkdir(exist_ok=True)
    named = {"architectures": ["BertForSequenceClassification"]} | config
    (folder / "config.json").write_text(json.dumps(named))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def opened(folder: Path, **options: Any) -> Scorer:
    return load(look_at(folder, **options))


# What the folder says, without a library


@pytest.mark.parametrize(
    ("architecture", "kind", "reading"),
    [
        ("RobertaForSequenceClassification", CLASSIFIER, "softmax, label 1 (LABEL_1)"),
        ("GPT2LMHeadModel", CAUSAL, "exp(mean token log-probability of the text)"),
        ("LlamaForCausalLM", CAUSAL, "exp(mean token log-probability of the text)"),
        (
            "BartForConditionalGeneration",
            SEQ2SEQ,
            "exp(mean token log-probability of the tail, given what stands before it)",
        ),
    ],
)
def test_the_architecture_decides_what_a_score_is(
    architecture: str, kind: str, reading: str, tmp_path: Path
) -> None:
    found = look_at(folder_with(tmp_path / "tiny", architectures=[architecture]))

    assert (found.kind, found.reading, found.folder.name) == (kind, reading, "tiny")


@pytest.mark.parametrize(
    ("config", "label", "reading"),
    [
        ({}, None, "softmax, label 1 (LABEL_1)"),
        ({}, 0, "softmax, label 0 (LABEL_0)"),
        ({"id2label": {"0": "no", "1": "yes"}}, 1, "softmax, label 1 (yes)"),
        ({"id2label": {"0": "entails", "1": "neutral", "2": "denies"}}, 0, "softmax, label 0 (entails)"),
        ({"num_labels": 3}, 2, "softmax, label 2 (LABEL_2)"),
        ({"id2label": {"0": "LABEL_0"}}, None, "sigmoid of the one logit"),
        ({"num_labels": 1}, None, "sigmoid of the one logit"),
    ],
)
def test_the_plausible_label_is_the_one_named(
    config: dict[str, Any], label: int | None, reading: str, tmp_path: Path
) -> None:
    assert look_at(folder_with(tmp_path, **config), label=label).reading == reading


@pytest.mark.parametrize(
    ("config", "label", "sentence"),
    [
        ({"id2label": {"0": "yes", "1": "no"}}, None, "means plausible: 0 = yes, 1 = no"),
        ({"num_labels": 3}, None, "means plausible: 0 = LABEL_0, 1 = LABEL_1, 2 = LABEL_2"),
        ({}, 2, "means plausible: 0 = LABEL_0, 1 = LABEL_1"),
        ({}, -1, "means plausible"),
        ({"num_labels": 1}, 0, "no labels to choose from"),
        ({"architectures": ["GPT2LMHeadModel"]}, 1, "no labels to choose from"),
    ],
)
def test_a_label_is_not_guessed_from_a_place_whose_name_says_otherwise(
    config: dict[str, Any], label: int | None, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=sentence) as caught:
        look_at(folder_with(tmp_path, **config), label=label)
    assert caught.value.options == ["label"]


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"architectures": ["BertForMaskedLM"]}, "BertForMaskedLM"),
        ({"architectures": ["BertModel"]}, "BertModel"),
        ({"architectures": None}, "–"),
        ({"architectures": []}, "–"),
    ],
)
def test_it_names_a_model_that_scores_nothing(config: dict[str, Any], shown: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=rf"cannot score triples \({shown}\)"):
        look_at(folder_with(tmp_path, **config))


def test_it_says_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is no checkpoint: there is no config"):
        look_at(tmp_path / "absent")
    with pytest.raises(Refused, match="is no checkpoint: there is no config"):
        look_at(tmp_path)
    for text in ("{", "[]", "\xff"):
        (tmp_path / "config.json").write_text(text, encoding="latin-1")
        with pytest.raises(Refused, match="” is no JSON object"):
            look_at(tmp_path)


def test_it_loads_no_pickle_and_no_adapter(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(Refused, match="has no weights: there is no model"):
        look_at(folder)
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(Refused, match="are a pickle, which can run code"):
        look_at(folder)
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(Refused, match="holds an adapter"):
        look_at(folder)


def test_a_fingerprint_is_of_what_is_loaded_and_of_nothing_else(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "one")
    (folder / "vocab.txt").write_text("a")
    before = look_at(folder).fingerprint
    shutil.copytree(folder, tmp_path / "two")
    (folder / "README.md").write_text("A model.")
    (folder / "optimizer.pt").write_bytes(b"1")
    (folder / "checkpoint-5").mkdir()
    assert look_at(folder).fingerprint == look_at(tmp_path / "two").fingerprint == before

    for name in ("vocab.txt", "model.safetensors"):
        (folder / name).write_bytes(b"b")
        assert look_at(folder).fingerprint != before
        before = look_at(folder).fingerprint


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_it_says_what_to_install(absent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)

    with pytest.raises(
        Refused, match=r"the extra “model”, which is not installed: \.venv/bin/pip install torch"
    ):
        opened(folder_with(tmp_path))


def test_it_tells_where_a_half_means_nothing(tmp_path: Path) -> None:
    def means_something(**config: Any) -> bool:
        return look_at(folder_with(tmp_path, **config)).is_probability

    assert means_something()
    assert means_something(num_labels=1)
    assert not means_something(num_labels=1, problem_type="regression")
    assert not means_something(architectures=["GPT2LMHeadModel"])


# A loaded model


def reference(folder: Path, text: Text) -> float:
    """The score of one text alone, by what the library itself calls its output."""
    torch, transformers = libraries()
    name = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, name).from_pretrained(folder).eval()
    read = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        if name.endswith("Classification"):
            logits = model(**read(str(text), return_tensors="pt")).logits[0]
            return float(torch.softmax(logits, -1)[1] if len(logits) == 2 else torch.sigmoid(logits[0]))
        if name == "GPT2LMHeadModel":
            tokens = read(str(text), return_tensors="pt")
            return math.exp(-model(**tokens, labels=tokens["input_ids"]).loss)
        tokens = read(text.before.strip(), return_tensors="pt")
        return math.exp(-model(**tokens, labels=read(text.rest, return_tensors="pt")["input_ids"]).loss)


@pytest.mark.parametrize("model", [*KINDS, "GPT2ForSequenceClassification"])
def test_it_scores_as_the_library_does_whatever_the_batch(model: str, tmp_path: Path) -> None:
    folder = tiny(tmp_path, model)
    scorer = opened(folder)
    texts = TEXTS * 2

    together = scorer.score(texts[:8])
    alone = [score for text in texts[:8] for score in scorer.score([text])]

    assert together == pytest.approx(alone, abs=1e-5)
    assert alone[:5] == pytest.approx([reference(folder, text) for text in TEXTS], abs=1e-5)
    assert max(alone) - min(alone) > 1e-3  # scores that tell texts apart, or equal ones would prove nothing
    assert all(0 <= score <= 1 for score in alone)
    assert set(scorer.versions) == {"torch", "transformers"}


def test_one_logit_is_read_by_sigmoid(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertForSequenceClassification", num_labels=1)

    scores = opened(folder).score(TEXTS)

    assert scores == pytest.approx([reference(folder, text) for text in TEXTS], abs=1e-5)


def test_another_label_is_the_other_side(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertForSequenceClassification")

    first, second = opened(folder, label=0).score(TEXTS), opened(folder).score(TEXTS)

    assert [one + other for one, other in zip(first, second, strict=True)] == pytest.approx([1] * 5)


def test_a_sure_model_still_orders_its_scores(tmp_path: Path) -> None:
    """Logits 20 and 25 apart are both 1 in single precision."""
    torch, _transformers = libraries()
    scorer: Any = opened(tiny(tmp_path, "BertForSequenceClassification"))
    logits = torch.tensor([[0.0, 20.0], [0.0, 25.0]])
    scorer._logits = lambda _tokens: logits

    low, high = scorer.score(TEXTS[:2])

    assert torch.softmax(logits, -1)[0, 1] == torch.softmax(logits, -1)[1, 1] == 1
    assert low < high < 1


def test_no_connection_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny(tmp_path, "BertForSequenceClassification")
    asked: list[object] = []

    def refuse(*arguments: object, **_more: object) -> None:
        asked.append(arguments)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert len(opened(folder).score(TEXTS)) == 5
    assert asked == []


def test_code_in_the_folder_is_not_run(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "tiny", "BertForSequenceClassification")
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    edit_config(folder, model_type="own", auto_map={"AutoConfig": "own.Config"})

    with pytest.raises(Refused, match="“tiny” cannot be used"):
        opened(folder)

    assert not (tmp_path / "ran").exists()


# A folder that is not what it says


def test_weights_that_are_missing_are_not_drawn_at_random(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertForMaskedLM")
    edit_config(folder, architectures=["BertForSequenceClassification"])

    with pytest.raises(Refused, match=r"weights are missing, bert\.pooler|weights are missing, classifier"):
        opened(folder)


def test_weights_that_are_damaged_are_named(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "tiny", "BertForSequenceClassification")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])

    with pytest.raises(Refused, match=r"^The checkpoint “tiny” cannot be used: .*[^.]\.$") as caught:
        opened(folder)
    assert "\n" not in caught.value.message


def test_weights_that_give_no_number_are_found_before_the_work(tmp_path: Path) -> None:
    torch, transformers = libraries()
    folder = tiny(tmp_path, "GPT2LMHeadModel")
    model = transformers.GPT2LMHeadModel.from_pretrained(folder)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    model.save_pretrained(folder)

    with pytest.raises(Refused, match="it gives no number, so its weights are damaged"):
        opened(folder)


def test_a_batch_that_does_not_fit_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer: Any = opened(tiny(tmp_path, "BertForSequenceClassification"))

    def fail(*_sides: object) -> None:
        raise RuntimeError("cannot allocate 9 GB\nat line 1")

    monkeypatch.setattr(scorer, "_scores", fail)
    with pytest.raises(Refused, match=r"failed at 5 texts at once \(cannot allocate 9 GB\)") as caught:
        scorer.score(TEXTS)
    assert caught.value.options == ["batch_size"]


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertForSequenceClassification", words=len(WORDS) + 5)

    with pytest.raises(Refused, match=f"tokenizer knows {len(WORDS) + 5} tokens and its model {len(WORDS)}"):
        opened(folder)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertForSequenceClassification")
    for path in folder.glob("tokenizer*"):
        path.unlink()

    with pytest.raises(Refused, match="its tokenizer knows no word of “PersonX plants a tree"):
        opened(folder)


def test_what_fills_a_batch_is_found_or_missed(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "GPT2LMHeadModel")
    padded = opened(folder).score(TEXTS)
    tokenizer(pad_token=None).save_pretrained(folder)
    assert opened(folder).score(TEXTS) == pytest.approx(padded, abs=1e-6)

    tokenizer(pad_token=None, eos_token=None).save_pretrained(folder)
    with pytest.raises(Refused, match="no token for padding"):
        opened(folder)


def test_a_model_that_sees_later_tokens_is_no_causal_one(tmp_path: Path) -> None:
    folder = tiny(tmp_path, "BertLMHeadModel")
    with pytest.raises(Refused, match="it sees later tokens"):
        opened(folder)

    edit_config(folder, is_decoder=True)
    assert len(opened(folder).score(TEXTS)) == 5


@pytest.mark.parametrize("model", KINDS)
def test_it_says_what_is_too_long_for_the_model(model: str, tmp_path: Path) -> None:
    folder = tiny(tmp_path, model)
    scorer = opened(folder)
    known = POSITIONS - checkpoints._RESERVED
    long = Text("PersonX , ", " ".join(["it"] * known))
    fits = Text("a , ", "it")

    places, limit = scorer.too_long([fits, long, fits])

    if model.startswith("T5"):  # which counts no positions
        assert places == []
    else:
        assert limit == known
        assert places == ([] if model.startswith("Bart") else [1])
        assert scorer.too_long([Text("it " * (known + 1), "it")]) == ([0], known)
    tokenizer(model_max_length=8).save_pretrained(folder)
    assert opened(folder).too_long([fits, long]) == ([1], 8)
