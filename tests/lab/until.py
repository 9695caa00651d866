# SPDX-License-Identifier: Apache-2.0
"""Waiting in tests."""

import time


def until(done, seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not done():
        if time.monotonic() > limit:
            return False
        time.sleep(0.1)
    return True
