# SPDX-License-Identifier: Apache-2.0
import argparse
import sys

parser = argparse.ArgumentParser(prog="resize", description="Says what would be resized.")
parser.add_argument("names", nargs="*", default=["a.png", "b.png"])
parser.add_argument("--width", type=int, default=640)
args = parser.parse_args(sys.argv[1:])
for name in args.names:
    print(f"{name}: {args.width} wide")
