"""A small language model in the layout of the hub: random weights, a tokenizer made on the spot."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONFIG = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "vocab_size": 320,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "eos_token_id": 257,
    "torch_dtype": "float32",
}
MAMBA = {
    "model_type": "mamba",
    "vocab_size": 320,
    "hidden_size": 32,
    "intermediate_size": 64,
    "state_size": 8,
    "num_hidden_layers": 2,
    "conv_kernel": 4,
    "use_bias": False,
    "use_conv_bias": True,
    "time_step_rank": 4,
    "eos_token_id": 257,
}
"""A network that keeps a state, and no token by itself."""
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write(
    folder: Path, *, template: str | None = TEMPLATE, config: Mapping[str, Any] = CONFIG
) -> Path:
    """The checkpoint's folder; bytes are tokens, and so is each letter."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    mx.random.seed(0)
    made = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    network = made.Model(made.ModelArgs.from_dict(config))
    # larger than they begin, so that what is read matters
    weights = {name: 3 * value for name, value in tree_flatten(network.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    tokenizer(folder, template)
    return folder


def tokenizer(folder: Path, template: str | None) -> None:
    """Bytes as tokens, some pairs of letters, and the marks of a conversation."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("a", "n")]
    words = [*letters, *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE({word: n for n, word in enumerate(words)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    marks = ("<|im_start|>", "<|im_end|>")
    made.add_special_tokens([AddedToken(mark, special=True) for mark in marks])
    made.save(str(folder / "tokenizer.json"))
    facts = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    if template is not None:
        facts["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))
