"""A model in a folder as a scorer of texts: the one place with torch and transformers, which are an extra.

What the folder says of its model is read without them. Nothing is fetched, and nothing in the folder is run: weights
are safetensors, code beside them is left alone. What the folder lacks is refused, for a library would put random
weights in its place and score all the same.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from itertools import repeat
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from django.utils.translation import gettext as _

from annotation.services.errors import Refused

CLASSIFIER, CAUSAL, SEQ2SEQ = "classifier", "causal", "seq2seq"
_KINDS = {
    "ForSequenceClassification": CLASSIFIER,
    "ForCausalLM": CAUSAL,
    "LMHeadModel": CAUSAL,
    "ForConditionalGeneration": SEQ2SEQ,
}
PLAUSIBLE = 1  # of two labels without names of their own

CONFIG, ADAPTER = "config.json", "adapter_config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_READ_FROM = {".json", ".txt", ".model", ".bpe", ".tiktoken", ".safetensors", ".jinja"}
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_NO_LIMIT = 10**9  # a tokenizer that knows none says a number beyond this
_RESERVED = 2  # positions that models of the family of RoBERTa do not give to tokens
_NOTHING = -100  # a token that is not predicted
_SAME = 1e-3  # logits that no later token may move


@dataclass(frozen=True, slots=True)
class Text:
    """A triple as a text: what stands before the tail, and the rest from the tail on."""

    before: str
    rest: str

    def __str__(self) -> str:
        return self.before + self.rest


_TRIAL = Text("PersonX plants a tree, ", "PersonX waters it")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a folder says of its model. `label` is the plausible one of a classifier; None where it has no choice.

    `is_probability` is False where a score only orders triples and 0.5 means nothing: of a language model, and of a
    classifier that was trained to give the number itself, which a sigmoid moves.
    """

    folder: Path
    architecture: str
    kind: str
    fingerprint: str
    labels: Sequence[str] = ()
    label: int | None = None
    is_probability: bool = True

    @property
    def reading(self) -> str:
        """What a score is, for headers and signatures."""
        if self.kind == CAUSAL:
            return "exp(mean token log-probability of the text)"
        if self.kind == SEQ2SEQ:
            return "exp(mean token log-probability of the tail, given what stands before it)"
        if self.label is None:
            return "sigmoid of the one logit"
        return f"softmax, label {self.label} ({self.labels[self.label]})"


class Scorer(Protocol):
    """A loaded model. Higher scores are more plausible; they lie between 0 and 1."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Of the libraries that compute; figures of others may differ in their last digits."""

    def too_long(self, texts: Sequence[Text]) -> tuple[list[int], int]:
        """Which texts the model cannot take whole, and how many tokens it takes."""

    def score(self, texts: Sequence[Text]) -> list[float]:
        """The score of each text, computed as one batch."""


# What the folder says -------------------------------------------------------------------------------------------


def look_at(folder: Path, *, label: int | None = None) -> Checkpoint:
    """What is in the folder; Refused where it holds no model that can score, or `label` is not one of its own.

    A classifier of several labels is asked for the one that means plausible. Only of two that have no names of their
    own the second is taken unasked.
    """
    folder = Path(os.path.abspath(folder))  # so that “.” has a name
    config = _config(folder)
    architecture, kind = _architecture(folder, config)
    _check_weights(folder)
    labels = _labels(config) if kind == CLASSIFIER else []
    return Checkpoint(
        folder=folder,
        architecture=architecture,
        kind=kind,
        fingerprint=_fingerprint(folder),
        labels=labels,
        label=_plausible(folder, labels, label),
        is_probability=kind == CLASSIFIER and config.get("problem_type") != "regression",
    )


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise Refused(
            _(
                "“%(folder)s” is no checkpoint: there is no %(file)s to read in it. Name the folder that "
                "`save_pretrained` wrote."
            )
            % {"folder": folder, "file": CONFIG}
        ) from None
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise Refused(_("The file “%(file)s” is no JSON object.") % {"file": path})
    return config


def _architecture(folder: Path, config: Mapping[str, Any]) -> tuple[str, str]:
    """The class of model that was saved, which decides what its output means: never guessed from the weights."""
    named = config.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else ""
    for ending, kind in _KINDS.items():
        if name.endswith(ending):
            return name, kind
    raise Refused(
        _(
            "The checkpoint “%(folder)s” holds a model that cannot score triples (%(architecture)s). It takes one for "
            "sequence classification, a causal language model or an encoder and decoder."
        )
        % {"folder": folder.name, "architecture": name or "–"}
    )


def _check_weights(folder: Path) -> None:
    if (folder / ADAPTER).exists():
        raise Refused(
            _(
                "The checkpoint “%(folder)s” holds an adapter, which is no model without its base. Merge the two and "
                "save the result."
            )
            % {"folder": folder.name}
        )
    if any((folder / name).is_file() for name in WEIGHTS):
        return
    if any(path for pattern in _PICKLES for path in folder.glob(pattern)):
        raise Refused(
            _(
                "The weights of the checkpoint “%(folder)s” are a pickle, which can run code of its author. Load it "
                "where you trust it, save it again with `save_pretrained`, which writes %(file)s, and name that folder."
            )
            % {"folder": folder.name, "file": WEIGHTS[0]}
        )
    raise Refused(
        _("The checkpoint “%(folder)s” has no weights: there is no %(file)s.")
        % {"folder": folder.name, "file": WEIGHTS[0]}
    )


def _labels(config: Mapping[str, Any]) -> list[str]:
    """The names of a classifier's labels, in order. A configuration that was saved without any has two, unnamed."""
    named = config.get("id2label")
    if isinstance(named, dict) and named:
        return [str(named.get(str(place), _unnamed(place))) for place in range(len(named))]
    count = config.get("num_labels")
    return [_unnamed(place) for place in range(count if isinstance(count, int) else 2)]


def _unnamed(place: int) -> str:
    return f"LABEL_{place}"


def _plausible(folder: Path, labels: Sequence[str], asked: int | None) -> int | None:
    """The label that means plausible. A name may say the opposite of what its place does, so it is not guessed."""
    if len(labels) < 2:
        if asked is not None:
            raise Refused(
                _("The checkpoint “%(folder)s” has no labels to choose from.") % {"folder": folder.name},
                options=["label"],
            )
        return None
    if asked is None and list(labels) == [_unnamed(0), _unnamed(1)]:
        return PLAUSIBLE
    if asked is not None and 0 <= asked < len(labels):
        return asked
    listed = ", ".join(f"{place} = {name}" for place, name in enumerate(labels))
    raise Refused(
        _("Say which label of the checkpoint “%(folder)s” means plausible: %(labels)s.")
        % {"folder": folder.name, "labels": listed},
        options=["label"],
    )


def _fingerprint(folder: Path) -> str:
    """Of everything that loading may read, by name and content; where the folder lies is no part of it."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in _READ_FROM:
            with path.open("rb") as file:
                digest.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


# The model itself -----------------------------------------------------------------------------------------------


def load(checkpoint: Checkpoint) -> Scorer:
    """The model in memory, tried once; Refused where the extra is missing or the folder is not what it says."""
    torch, transformers = _libraries()
    try:
        return _MODELS[checkpoint.kind](checkpoint, torch, transformers)
    except Refused:
        raise
    except Exception as error:  # whatever the libraries make of files that somebody else wrote
        raise _unusable(checkpoint, _first_line(error)) from error


def _libraries() -> tuple[Any, Any]:
    """torch and transformers, which are told before they start that there is no network."""
    os.environ.update(_OFFLINE)
    try:
        torch, transformers = import_module("torch"), import_module("transformers")
    except ImportError:
        raise Refused(
            _(
                "Scoring with a model needs the extra “model”, which is not installed: "
                ".venv/bin/pip install torch transformers safetensors."
            )
        ) from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _unusable(checkpoint: Checkpoint, reason: str) -> Refused:
    return Refused(
        _("The checkpoint “%(folder)s” cannot be used: %(reason)s.")
        % {"folder": checkpoint.folder.name, "reason": reason}
    )


def _first_line(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return (said[0] if said else type(error).__name__).rstrip(".:")


class _Model:
    """A model on the CPU in single precision, dropout off."""

    loader = ""

    def __init__(self, checkpoint: Checkpoint, torch: Any, transformers: Any) -> None:
        self._checkpoint, self._torch = checkpoint, torch
        self.versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        folder, local = str(checkpoint.folder), {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
        self._model, found = getattr(transformers, self.loader).from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **local
        )
        self._model.eval()
        self._takes = set(signature(self._model.forward).parameters)
        self._limit = self._longest()
        self._check_whole(found["missing_keys"])
        self._give_padding()
        self._try()

    def too_long(self, texts: Sequence[Text]) -> tuple[list[int], int]:
        sizes = [map(len, self._tokenizer(side)["input_ids"]) for side in self._sides(texts)]
        longest = map(max, zip(*sizes, repeat(0)))
        return [place for place, size in enumerate(longest) if size > self._limit], self._limit

    def score(self, texts: Sequence[Text]) -> list[float]:
        try:
            return self._numbers(texts)
        except RuntimeError as error:
            raise Refused(
                _("The model failed at %(n)d texts at once (%(reason)s). Fewer take less memory.")
                % {"n": len(texts), "reason": _first_line(error)},
                options=["batch_size"],
            ) from error

    def _numbers(self, texts: Sequence[Text]) -> list[float]:
        with self._torch.inference_mode():
            return [float(score) for score in self._scores(*self._sides(texts)).tolist()]

    def _sides(self, texts: Sequence[Text]) -> list[list[str]]:
        """What is given to the tokenizer: whole texts."""
        return [[str(text) for text in texts]]

    def _scores(self, *sides: list[str]) -> Any:
        raise NotImplementedError

    def _logits(self, tokens: Mapping[str, Any], **more: Any) -> Any:
        """A tokenizer may give more than its model takes."""
        return self._model(**{name: tokens[name] for name in tokens if name in self._takes}, **more).logits

    def _probability(self, logits: Any, wanted: Any) -> Any:
        """exp(mean token log-probability) of each row; `wanted` holds the tokens, `_NOTHING` where none counts."""
        losses = self._torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), wanted, ignore_index=_NOTHING, reduction="none"
        )
        return self._torch.exp(-losses.double().sum(dim=1) / (wanted != _NOTHING).sum(dim=1))

    def _longest(self) -> int:
        """How many tokens the model takes."""
        known = int(self._tokenizer.model_max_length)
        places = getattr(self._model.config, "max_position_embeddings", None)
        if not isinstance(places, int) or places <= 0:
            return known
        return min(known, places) if known < _NO_LIMIT else places - _RESERVED

    def _check_whole(self, missing: Iterable[str]) -> None:
        """Weights that the folder lacks were drawn at random just now."""
        names = sorted(missing)
        if names:
            raise _unusable(self._checkpoint, _("weights are missing, %(name)s first") % {"name": names[0]})
        known, there = len(self._tokenizer), self._model.get_input_embeddings().num_embeddings
        if known > there:
            raise _unusable(
                self._checkpoint,
                _("its tokenizer knows %(known)d tokens and its model %(there)d")
                % {"known": known, "there": there},
            )

    def _give_padding(self) -> None:
        """What fills the rows of a batch counts nowhere, so any token does."""
        tokenizer, config = self._tokenizer, self._model.config
        if tokenizer.pad_token_id is None:
            if tokenizer.eos_token_id is None:
                raise _unusable(self._checkpoint, _("its tokenizer has no token for padding"))
            tokenizer.pad_token = tokenizer.eos_token
        if config.pad_token_id is None:
            config.pad_token_id = tokenizer.pad_token_id

    def _try(self) -> None:
        """Before hours of work. A folder without a vocabulary loads too, and reads all texts as one and the same."""
        if not all(map(isfinite, self._numbers([_TRIAL]))):
            raise _unusable(self._checkpoint, _("it gives no number, so its weights are damaged"))
        if set(self._tokenizer(str(_TRIAL))["input_ids"]) <= set(self._tokenizer.all_special_ids):
            raise _unusable(
                self._checkpoint, _("its tokenizer knows no word of “%(text)s”") % {"text": _TRIAL}
            )


class _Classifier(_Model):
    loader = "AutoModelForSequenceClassification"

    def _scores(self, *sides: list[str]) -> Any:
        """In double precision, in which a sure model still tells its scores apart."""
        (texts,) = sides
        logits = self._logits(self._tokenizer(texts, padding=True, return_tensors="pt")).double()
        if logits.shape[1] != max(1, len(self._checkpoint.labels)):
            raise _unusable(self._checkpoint, _("its model has other labels than its configuration"))
        if self._checkpoint.label is None:
            return self._torch.sigmoid(logits[:, 0])
        return self._torch.softmax(logits, dim=1)[:, self._checkpoint.label]


class _Causal(_Model):
    loader = "AutoModelForCausalLM"

    def _scores(self, *sides: list[str]) -> Any:
        (texts,) = sides
        self._tokenizer.padding_side = "right"
        tokens = self._tokenizer(texts, padding=True, return_tensors="pt")
        wanted = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, _NOTHING)
        return self._probability(self._logits(tokens)[:, :-1], wanted[:, 1:])

    def _try(self) -> None:
        """A model that sees later tokens reads each answer off its own input, and scores everything high."""
        super()._try()
        tokens = self._tokenizer([str(_TRIAL)], return_tensors="pt")
        before = self._logits(tokens)[:, :-1]
        tokens["input_ids"][:, -1] += -1 if tokens["input_ids"][0, -1] else 1
        if not self._torch.allclose(before, self._logits(tokens)[:, :-1], atol=_SAME):
            raise _unusable(self._checkpoint, _("its model is no causal one, it sees later tokens"))


class _EncoderDecoder(_Model):
    loader = "AutoModelForSeq2SeqLM"

    def _sides(self, texts: Sequence[Text]) -> list[list[str]]:
        """What the encoder reads, and what the decoder should say."""
        return [[text.before.rstrip() for text in texts], [text.rest for text in texts]]

    def _scores(self, *sides: list[str]) -> Any:
        read, said = sides
        self._tokenizer.padding_side = "right"
        tokens = self._tokenizer(read, padding=True, return_tensors="pt")
        target = self._tokenizer(text_target=said, padding=True, return_tensors="pt")
        wanted = target["input_ids"].masked_fill(target["attention_mask"] == 0, _NOTHING)
        return self._probability(self._logits(tokens, labels=wanted), wanted)


_MODELS: Mapping[str, type[_Model]] = {CLASSIFIER: _Classifier, CAUSAL: _Causal, SEQ2SEQ: _EncoderDecoder}
