"""Checkpoints that a test makes: one layer, random weights from a seed, a vocabulary of a few words."""

import json
from pathlib import Path
from typing import Any

import pytest

EXTRA = "the extra “model” is not installed (torch, transformers)"
WORDS = (
    "[PAD]", "[UNK]", "</s>", "PersonX", "PersonY", "writes", "letter", "seals", "it", "plants", "a", "tree", "waters",
    ",", ".", "afterwards", "wants", "before", "that", "needed", "so", "people", "see", "as", "because", "beforehand",
    "wanted", "feels",
)  # fmt: skip
POSITIONS = 40


def libraries() -> tuple[Any, Any]:
    """torch and transformers; without them the calling test is skipped, and says why."""
    return pytest.importorskip("torch", reason=EXTRA), pytest.importorskip("transformers", reason=EXTRA)


def tiny(folder: Path, model: str, *, seed: int = 1, words: int = len(WORDS), **settings: Any) -> Path:
    """A model of this class, saved with its tokenizer: bert, gpt2, t5 and bart have a small configuration here."""
    torch, transformers = libraries()
    torch.manual_seed(seed)
    family = next(name for name in _SMALL if model.lower().startswith(name))
    config = getattr(transformers, f"{_CONFIGS[family]}Config")
    made = getattr(transformers, model)(config(vocab_size=len(WORDS), **_SMALL[family] | settings))
    with torch.no_grad():
        for weights in made.parameters():
            weights.mul_(_SCALES[family])
    made.save_pretrained(folder)
    tokenizer(words).save_pretrained(folder)
    return folder


def tokenizer(words: int = len(WORDS), **settings: Any) -> Any:
    """Words apart at blanks; the first `words` of them are known, or one more than there are for each too many."""
    _torch, transformers = libraries()
    tokenizers = pytest.importorskip("tokenizers", reason=EXTRA)
    known = [*WORDS, *(f"more{number}" for number in range(words - len(WORDS)))][:words]
    model = tokenizers.models.WordLevel({word: place for place, word in enumerate(known)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    given = {"pad_token": "[PAD]", "eos_token": "</s>"} | settings
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", **given)


def edit_config(folder: Path, **values: Any) -> None:
    """Change what the saved configuration says; None takes an entry out."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))


# So that texts get scores well apart: as the weights are made, they hardly differ, or all but vanish.
_SCALES = {"bert": 8.0, "gpt2": 4.0, "t5": 0.3, "bart": 4.0}
_CONFIGS = {"bert": "Bert", "gpt2": "GPT2", "t5": "T5", "bart": "Bart"}
_SMALL: dict[str, dict[str, Any]] = {
    "bert": {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
        "max_position_embeddings": POSITIONS,
    },
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": POSITIONS, "bos_token_id": 2, "eos_token_id": 2},
    "t5": {
        "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0,
        "pad_token_id": 0,
    },
    "bart": {
        "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
        "max_position_embeddings": POSITIONS, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 2,
        "decoder_start_token_id": 2, "forced_eos_token_id": 2,
    },
}  # fmt: skip
