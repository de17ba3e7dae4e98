"""Models that give up the requests that an endpoint does not answer, by no clock but theirs."""

from __future__ import annotations

import asyncio
import re
from typing import Any


def giving_up(model: Any, endpoint: Any, seconds: float) -> Any:
    """Have a model give up a request that gets a fault after so many seconds, and no other.

    However long the others take on a busy machine, none is given up with it.
    """
    whole = model.acomplete

    async def acomplete(request: Any) -> Any:
        number = int(re.findall(r"Claim (\d+)", request.messages[-1].content)[0])
        async with asyncio.timeout(seconds if endpoint.is_due(number) else None):
            return await whole(request)

    model.acomplete = acomplete
    return model
