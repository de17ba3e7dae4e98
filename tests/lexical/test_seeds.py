"""The examples of the specification, by the built-in judge and by a scripted model."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.judge.scripted import quoting, reply

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.lexical.clauses import facts_of

STEPS = (
    "Build your Docker image",
    "Push the image to Azure Container Registry",
    "Create an AKS cluster using az aks create",
    "Configure kubectl to connect to your cluster",
    "Create Kubernetes deployment YAML",
    "Apply the deployment using kubectl apply",
)
NUMBERED = [f"{number}. {step}" for number, step in enumerate(STEPS, start=1)]
AKS = [
    (
        "Azure Container Registry (ACR) stores Docker images. "
        "Push with: docker push myacr.azurecr.io/myapp:v1"
    ),
    "Create AKS cluster: az aks create --resource-group myRG --name myAKS --node-count 3",
    "Kubectl connects to clusters. Get credentials: az aks get-credentials --name myAKS",
]
FRANCE = "France is in Western Europe and its capital is Paris."
FRANCE_AND_PARIS = (
    "France, in Western Europe, encompasses medieval cities, alpine villages and Mediterranean "
    "beaches. Paris, its capital, is famed for its fashion houses, classical art museums "
    "including the Louvre and monuments like the Eiffel Tower."
)
FRANCE_ALONE = (
    "France, in Western Europe, encompasses medieval cities, alpine villages and Mediterranean "
    "beaches. The country is also renowned for its wines and sophisticated cuisine. Lascaux’s "
    "ancient cave drawings, Lyon’s Roman theater and the vast Palace of Versailles attest to its "
    "rich history."
)
FIRST_GAME = (
    "The First AFL–NFL World Championship Game was an American football game played on "
    "January 15, 1967, at the Los Angeles Memorial Coliseum in Los Angeles,"
)


class Seed(NamedTuple):
    """A reference with its contexts, its number of targets, and the right scores."""

    reference: str
    contexts: list[str]
    targets: int
    low: float
    high: float
    missed: tuple[str, ...] = ()


SEEDS = {
    "AKS, a list": Seed("\n".join(["To deploy to AKS:", *NUMBERED]), AKS, 6, 0.5, 0.67, STEPS[4:]),
    "AKS, one line": Seed(" ".join(["To deploy to AKS:", *NUMBERED]), AKS, 6, 0.5, 0.67, STEPS[4:]),
    "France and Paris": Seed(FRANCE, [FRANCE_AND_PARIS], 2, 1, 1),
    "France alone": Seed(FRANCE, [FRANCE_ALONE], 2, 0.5, 0.5, ("capital is Paris",)),
    "Super Bowl I": Seed(
        "The first superbowl was held on January 15, 1967",
        [FIRST_GAME],
        1, 0, 1,
    ),
    "Super Bowl wins": Seed(
        "The New England Patriots have won the Super Bowl a record six times",
        ["The Green Bay Packers...Green Bay, Wisconsin.",
         "The Packers compete...Football Conference"],
        1, 0, 0, ("The New England Patriots",),
    ),
    "Eiffel Tower": Seed(
        "The Eiffel Tower is located in Paris.", ["Paris is the capital of France."], 1, 0, 0,
        ("The Eiffel Tower is located in Paris.",),
    ),
    "Marie Curie": Seed(
        "Marie Curie discovered radium.", ["Marie Curie discovered radium."], 1, 1, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_by_the_built_in_judge(seed: Seed) -> None:
    """The built-in judge scores each example within its bounds, with the right target count."""
    result = ClaimRecall().score(reference=seed.reference, retrieved_contexts=seed.contexts)
    assert len(result.findings) == seed.targets
    assert result.score is not None
    assert seed.low <= round(result.score, 2) <= seed.high
    assert all(any(part in missed for missed in result.missed) for part in seed.missed)


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_by_a_scripted_model(seed: Seed) -> None:
    """A scripted model that finds the first half of the facts scores their share."""
    facts = facts_of(seed.reference)
    assert len(facts) == seed.targets
    found = (len(facts) + 1) // 2
    verdicts = [
        quoting(number, "supported", (1, seed.contexts[0]), begins=fact)
        if number <= found
        else quoting(number, "not_supported", begins=fact)
        for number, fact in enumerate(facts, start=1)
    ]
    judge = LLMJudge(ScriptedChatModel([reply(*verdicts)]))
    result = ClaimRecall(judge=judge).score(
        reference_claims=facts, retrieved_contexts=seed.contexts
    )
    assert result.score == pytest.approx(found / len(facts))
    assert list(result.missed) == facts[found:]


def test_a_name_alone_supports_nothing() -> None:
    """A context with a claim's name and no other word of it does not support it."""
    contexts = ["The Eiffel Tower is in Paris.", "Bananas are yellow."]
    result = ClaimRecall().score(
        retrieved_contexts=contexts, reference="The Eiffel Tower is in Paris. It is made of cheese."
    )
    assert [finding.credit_at() for finding in result.findings] == [1.0, 0.0]


def test_a_chunk_may_begin_with_a_pronoun() -> None:
    """A chunk that was cut behind its subject supports its predicate, and is quoted unchanged."""
    chunk = "It was built from 1887 to 1889, as the centrepiece of a World's Fair."
    result = ClaimRecall().score(
        retrieved_contexts=[chunk],
        reference="The Eiffel Tower is in Paris. It was built from 1887 to 1889.",
    )
    assert [finding.credit_at() for finding in result.findings] == [0.0, 1.0]
    assert [(each.quote, each.verified) for each in result.findings[1].evidence] == [(chunk, True)]
