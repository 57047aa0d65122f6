# SPDX-License-Identifier: Apache-2.0
"""What the verb `filter` needs: filters on code, spellings of attacks, and honest programs."""
