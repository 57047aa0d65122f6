# SPDX-License-Identifier: Apache-2.0
import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("orders")
log.debug("not shown")
log.info("read %d orders", 3)
log.warning("order %s has no customer", "A-7")
