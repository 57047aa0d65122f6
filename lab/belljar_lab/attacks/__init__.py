# SPDX-License-Identifier: Apache-2.0
"""The attacks: each module here has a list ROWS of attack.Attack."""

import importlib
import pkgutil

ROWS = [row for module in sorted(found.name for found in pkgutil.iter_modules(__path__))
        for row in importlib.import_module(f"{__name__}.{module}").ROWS]
