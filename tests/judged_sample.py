"""A sample of two claims, and a reply of a model that supports the first one."""

from __future__ import annotations

import json

from fullrecall import Sample

SAMPLE = Sample(
    user_input="q",
    retrieved_contexts=["Paris is the capital of {France}.", "Rome is old."],
    reference_claims=["Paris is France's capital.", "Rome is new."],
)
ANSWER = json.dumps(
    {
        "verdicts": [
            {
                "id": 1,
                "begins": "Paris",
                "verdict": "supported",
                "together": False,
                "citations": [{"context": 1, "quote": "Paris is the capital"}],
            },
            {
                "id": 2,
                "begins": "Rome",
                "verdict": "not_supported",
                "citations": [],
                "together": False,
            },
        ]
    }
)
