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
# The code that folds with a window of one symbol ahead, a shelf with its way up, and two codes of one orbit.
echo '{"actions":[0,0,1,1,0,1,0,1,1,0,1,0,0,1,1,0]}' > "$scratch/window.json"
foldglass draw --task parity --lengths 3 --window 0,1 --code "$scratch/window.json" --input 1,0,1 --svg window.svg
echo '{"actions":[0,0,0,0,0,0]}' > "$scratch/start.json"
echo '{"actions":[0,1,0,0,0,0]}' > "$scratch/neutral.json"
echo '{"actions":[0,1,0,1,0,0]}' > "$scratch/raised.json"
foldglass draw --task parity --lengths 2 --code "$scratch/start.json" --code "$scratch/neutral.json" --code "$scratch/raised.json" --svg shelf.svg
echo '{"actions":[1,0,1,0,0,1,0,1,1,0]}' > "$scratch/renamed.json"
foldglass draw --task parity --lengths 3 --code "$scratch/fold.json" --code "$scratch/renamed.json" --input 1,0,1 --svg orbit.svg
# A trap of correlated parity at T = 6, and the tree of all of them.
foldglass law traps --lengths 6 --inputs markov:9/10 --out "$scratch/trap.json"
foldglass draw --code "$scratch/trap.json" --input 0,1,0,0,1,0 --svg trap.svg
foldglass tree --task parity --lengths 6 --inputs markov:9/10 --orbits --svg tree.svg
# The transition of parity.
foldglass parity --lengths 10 --tau 0.01 --svg transition.svg
# Monte Carlo and RLVR on the paper's quasigroup, against the temperature.
cat > "$scratch/gap.toml" <<'TOML'
name = "monte-carlo-and-rlvr"

[[class]]
id = "quasigroup-T8"
task = "quasigroup"
lengths = 8

[[dynamics]]
kind = "chain"
tau = { from = 1e-12, to = 1e-2, points = 6 }
sweeps = 1000
runs = 60

[[dynamics]]
kind = "cavi"
tau = { from = 1e-12, to = 1e-2, points = 6 }
iterations = 2000
runs = 60
TOML
foldglass run "$scratch/gap.toml" --out "$scratch/gap"
foldglass plot "$scratch/gap" --of solved --svg gap.svg
# The study of the tutorial, as the tutorial has it.
tutorial=$(cd "$(dirname "$0")/.." && pwd)/tutorial.md
sed -n "s/^echo '\(.*\)' > own.json$/\1/p" "$tutorial" > "$scratch/own.json"
sed -n '/^name = "warm"/,/^EOF/p' "$tutorial" | sed '$d' > "$scratch/warm.toml"
here=$PWD
(cd "$scratch" && foldglass run warm.toml && foldglass plot warm --svg "$here/warm.svg")
# The recipe's trap at T = 8, and the trees of longer inputs, of several lengths and of a process reward.
foldglass law traps --lengths 8 --inputs markov:9/10 --out "$scratch/trap8.json"
foldglass inspect --code "$scratch/trap8.json" --svg trap8.svg
foldglass tree --task parity --lengths 7 --inputs markov:9/10 --orbits --svg tree7.svg
foldglass tree --task parity --lengths 1,2,3,4,5 --svg lengths.svg
foldglass tree --task parity --lengths 3 --window 0,1 --reward process:1,2,4 --svg process.svg
# The page on theorems: the code that a policy collapses to on its way to reward 1, and a code that is put right step by step.
cp "$scratch/start.json" "$scratch/collapsed.json"
cp "$scratch/neutral.json" "$scratch/consolidated.json"
echo '{"actions":[0,1,0,1,1,0]}' > "$scratch/finished.json"
foldglass draw --task parity --lengths 2 --code "$scratch/collapsed.json" --code "$scratch/consolidated.json" --code "$scratch/finished.json" --svg collapse.svg
echo '{"actions":[0,0,0,0,0,0,0,0,0,0]}' > "$scratch/wrong.json"
echo '{"actions":[0,1,0,0,0,0,0,0,0,0]}' > "$scratch/step-1.json"
echo '{"actions":[0,1,0,1,1,0,0,0,0,0]}' > "$scratch/step-2.json"
echo '{"actions":[0,1,0,1,1,0,0,1,1,0]}' > "$scratch/step-3.json"
foldglass draw --task parity --lengths 3 --reward process:4,2,1 --code "$scratch/wrong.json" --code "$scratch/step-1.json" --code "$scratch/step-2.json" --code "$scratch/step-3.json" --svg falling.svg
