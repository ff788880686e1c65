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
# The mean reward as windows and tying become penalties.
foldglass family --task parity --lengths 3 --gwin 0,1,3,10,30 --gtie 0,10 --tau 0.1 --svg family.svg
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
# The first picture of README.md: the reward curve of the explorer's story (curve.svg, which its page saves) beside a tree.
cat > first.svg <<'SVG'
<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 900 450" width="900" height="450" font-family="DejaVu Sans, sans-serif" font-size="13" fill="#222222">
<title>Left: on the quasigroup at T = 8 Monte Carlo reaches reward 1, and RLVR stops at 0.576. Right: the barrier tree of correlated parity at T = 6.</title>
<rect width="900" height="450" fill="#ffffff"/>
<text x="20" y="24" font-weight="bold">Two learners, one task: the quasigroup, T = 8</text>
<text x="20" y="345">Monte Carlo reaches reward 1 after 74 sweeps.</text>
<text x="20" y="365">RLVR stops at 1801/3125 = 0.576. That is not a trap: 28 changes</text>
<text x="20" y="385">of one cell lead to reward 1, and none of them lowers the reward.</text>
<text x="20" y="415" font-size="11">One run of each, as foldglass explore begins: sweeps of Monte Carlo, updates of RLVR.</text>
<text x="470" y="24" font-weight="bold">Real traps: parity with correlated inputs, T = 6</text>
SVG
{
  sed 's/^<svg /<svg x="10" y="50" /' "$(dirname "$0")/curve.svg"
  # Cut under the title of the tree.
  sed 's|<svg role="img" viewBox="0 0 \([0-9]*\) [0-9]*" xmlns="[^"]*" width="[0-9]*" height="[0-9]*">|<svg x="470" y="34" viewBox="0 44 \1 606" preserveAspectRatio="xMinYMin" width="420" height="411">|' tree.svg
  echo '</svg>'
} >> first.svg
