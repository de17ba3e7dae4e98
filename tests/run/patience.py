"""Models whose requests time out, by their own clock, if the endpoint does not answer."""

from __future__ import annotations

import asyncio
import re
from typing import Any


def giving_up(model: Any, endpoint: Any, seconds: float) -> Any:
    """Make a model stop waiting for a faulty request after these seconds, and for no other.

    On a busy machine, the other requests may take longer without a timeout.
    """
    whole = model.acomplete

    async def acomplete(request: Any) -> Any:
        number = int(re.findall(r"Claim (\d+)", request.messages[-1].content)[0])
        async with asyncio.timeout(seconds if endpoint.is_due(number) else None):
            return await whole(request)

    model.acomplete = acomplete
    return model
