"""An agent that plays the first legal action, as any language could: see docs/programs.md."""

import json
import sys

for line in sys.stdin:
    question = json.loads(line)
    if question["type"] == "begin":
        answer = {"wants": ["legal"]}
    elif question["type"] == "act":
        answer = {"action": question["legal"][0]}
    else:
        break
    print(json.dumps(answer), flush=True)
