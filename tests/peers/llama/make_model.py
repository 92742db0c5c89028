"""Writes a tiny model file for llama.cpp that calls tools, then answers: make_model.py FILE CALLS_JSON TEXT.

Random weights give noise, and noise calls no tool. So this model is constructed: attention and feed-forward
are zero, embeddings are one-hot, and the output matrix has which token follows which. Its output is
fixed; the rest (tokens, chat template, prompt cache, limits, the parsing of tool calls) is llama.cpp's own.
Run by the peers' interpreter, which has gguf and numpy.
"""

from __future__ import annotations

import json
import re
import sys

import gguf
import numpy as np
from numpy.typing import NDArray

HEADS = 4
FEED_FORWARD = 32
CONTEXT = 65_536
CERTAIN = 3.0
NORMAL = gguf.TokenType.NORMAL
CONTROL = gguf.TokenType.CONTROL
OWN = gguf.TokenType.USER_DEFINED
_PIECES = re.compile(r"[\x00-\x7f]{1,9}|[^\x00-\x7f]")
"""What it says in tokens: a few letters, or else the bytes of one character."""

TEMPLATE = """
{%- if tools %}<|im_start|>system
You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Answer with one object for each call, in tags of its own:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role == 'assistant' and message.tool_calls %}<|im_start|>assistant
{{ message.content or '' }}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if tools and messages[-1].role != 'tool' %}<|does|>{% else %}<|says|>{% endif %}
{%- endif %}"""


class Vocabulary:
    """All bytes, some marks, and pieces of the model's output; `follows`: which token comes after which."""

    def __init__(self) -> None:
        self.names = [_byte_label(byte) for byte in range(256)]
        self.kinds = [NORMAL] * 256
        self.follows: dict[int, int] = {}

    def add(self, name: str, kind: gguf.TokenType = OWN) -> int:
        self.names.append(name)
        self.kinds.append(kind)
        return len(self.names) - 1

    def say(self, first: int, text: str, last: int) -> None:
        """Let the text, then `last`, follow `first`. Non-ASCII text is encoded byte by byte."""
        chain = [first]
        for piece in _PIECES.findall(text):
            chain += [self.add(piece)] if piece.isascii() else list(piece.encode())
        for token, following in zip(chain, [*chain[1:], last], strict=True):
            assert token not in self.follows, f"two tokens would follow {self.names[token]!r}"
            self.follows[token] = following


def _byte_label(byte: int) -> str:
    """Return a byte's spelling in a byte-level vocabulary: printable ones unchanged, others shifted."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return chr(byte) if byte in plain else chr(256 + [i for i in range(256) if i not in plain].index(byte))


def write(path: str, calls: list[dict[str, object]], text: str) -> None:
    words = Vocabulary()
    start = words.add("<|endoftext|>", CONTROL)
    _ = words.add("<|im_start|>", CONTROL)
    end, does, says = (words.add(name, CONTROL) for name in ("<|im_end|>", "<|does|>", "<|says|>"))
    tagged = "".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>\n" for call in calls)
    words.say(does, tagged, end)
    words.say(says, text, end)
    merged = words.add("th", NORMAL)
    assert merged
    writer = gguf.GGUFWriter(path, "llama")
    width = -(-len(words.names) // 32) * 32
    _describe(writer, words, width)
    writer.add_bos_token_id(start)
    writer.add_eos_token_id(end)
    for name, tensor in _tensors(words, width, end).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, words: Vocabulary, width: int) -> None:
    writer.add_name("made by hand")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_vocab_size(len(words.names))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words.names)
    writer.add_token_types(words.kinds)
    writer.add_token_merges(["t h"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _tensors(words: Vocabulary, width: int, end: int) -> dict[str, NDArray[np.float32]]:
    size = len(words.names)
    following = np.zeros((size, width), np.float32)
    for token in range(size):
        # The norm stretches a one-hot row by the root of the width: far above all others.
        following[words.follows.get(token, end), token] = CERTAIN
    nothing = np.zeros((width, width), np.float32)
    ones = np.ones(width, np.float32)
    return {
        "token_embd.weight": np.eye(size, width, dtype=np.float32),
        "output_norm.weight": ones,
        "output.weight": following,
        **{f"blk.0.attn_{part}.weight": nothing for part in ("q", "k", "v", "output")},
        **{f"blk.0.{part}_norm.weight": ones for part in ("attn", "ffn")},
        **{
            f"blk.0.ffn_{part}.weight": np.zeros((FEED_FORWARD, width), np.float32) for part in ("gate", "up")
        },
        "blk.0.ffn_down.weight": np.zeros((width, FEED_FORWARD), np.float32),
    }


if __name__ == "__main__":
    write(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])
