# SPDX-License-Identifier: Apache-2.0
"""The lab: attacks on the shipped object files with their layers removed, one at a time.

attack.py says how an attack is added: one row and one small program.
"""
