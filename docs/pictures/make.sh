#!/usr/bin/env bash
# Draws the pictures of README.md and of the book into the folder in which it runs, with the `foldglass` on the path.
# A test runs it and compares the pictures with the committed ones.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Parity at T = 3: the code that folds, and the code that copies its input.
echo '{"actions":[0,1,0,1,1,0,0,1,1,0]}' > "$scratch/fold.json"
echo '{"actions":[0,1,0,0,1,1,0,0,1,1]}' > "$scratch/copy.json"
foldglass draw --task parity --lengths 3 --code "$scratch/fold.json" --code "$scratch/copy.json" --input 1,0,1 --svg rollout.svg
# A trap of correlated parity at T = 6, and the tree of all of them.
foldglass law traps --length 6 --inputs markov:9/10 --out "$scratch/trap.json"
foldglass draw --code "$scratch/trap.json" --input 0,1,0,0,1,0 --svg trap.svg
foldglass tree --task parity --lengths 6 --inputs markov:9/10 --orbits --svg tree.svg
# The transition of parity.
foldglass parity --lengths 10 --tau 0.01 --svg transition.svg
