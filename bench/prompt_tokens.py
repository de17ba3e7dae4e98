"""Count the prompt tokens that `LLMJudge` sends for a sample, over the bare contexts and claims.

Counted with the GPT-2 family tokenizer that ships inside llama-index-core, without a download. The
texts come from a seeded model of words.
"""

from __future__ import annotations

import argparse
import random

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.testing import ScriptedChatModel

WORDS = (
    "the of and to in is that for it as was with be by on not his but at are this have from or "
    "had an they which one you were all her she there would their we him been has when who will "
    "no more if out so said what up its about into than them can only other time new some could"
).split()


def main() -> None:
    """Print a row for each size of context."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contexts", type=int, default=20)
    parser.add_argument("--claims", type=int, default=5)
    options = parser.parse_args()
    from llama_index.core.utils import get_tokenizer

    tokens = get_tokenizer()
    rng = random.Random(0)

    def text(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."

    print("| words in a context | bare tokens | sent | sent / bare |")
    print("| ---: | ---: | ---: | ---: |")
    for words in (50, 100, 200):
        contexts = [text(words) for _ in range(options.contexts)]
        claims = [text(12) for _ in range(options.claims)]
        model = ScriptedChatModel(["{}"])
        judge = LLMJudge(model, reasks=0)
        ClaimRecall(judge=judge).score(retrieved_contexts=contexts, reference_claims=claims)
        bare = sum(len(tokens(part)) for part in [*contexts, *claims])
        sent = sum(len(tokens(message.content)) for message in model.requests[0].messages)
        print(f"| {words} | {bare:,} | {sent:,} | {sent / bare:.2f} |")


if __name__ == "__main__":
    main()
