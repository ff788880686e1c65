//! Names what the numbers of a column are in.

/// Whether a result is a reward: a probability, between 0 and 1.
pub fn is_reward(result: &str) -> bool {
    unit(result) == Some(REWARD)
}

const REWARD: &str = "probability of a right answer";

/// The unit of a column's numbers; none where they measure nothing, such as names and exact
/// fractions.
pub fn unit(column: &str) -> Option<&'static str> {
    // `reward_at_100`: J after that sweep.
    let quantity = match column.rsplit_once("_at_") {
        Some((quantity, sweep)) if sweep.bytes().all(|byte| byte.is_ascii_digit()) => quantity,
        _ => column,
    };
    Some(match quantity {
        "reward" | "mean_reward" | "mean_rewards" | "expected_reward" | "greedy_reward"
        | "code_reward" | "start_reward" | "cavi_reward" | "trace" | "greedy_trace" | "sampled"
        | "curve_sampled" => REWARD,
        "tau" | "quench_tau" | "ladder" | "c" => "reward per nat",
        "entropy" | "regulator" | "cavi_entropy" | "curve_entropy" | "kl" | "curve_kl" => "nats",
        "residual" | "cavi_residual" | "rows" | "barrier" | "largest_loss" => "probability",
        "share" | "damping" | "resets_share" | "swap_rates" => "share of 1",
        "sweeps"
        | "sweeps_done"
        | "sweeps_to_optimum"
        | "sweeps_to_stationary"
        | "last_change"
        | "stationary_after"
        | "stop_when_stationary"
        | "equilibration"
        | "slowest_time"
        | "thinning"
        | "marginals" => "sweeps",
        "iterations" | "iterations_done" | "quench_iterations" | "resets_every" => "iterations",
        "lengths" | "window_past" | "window_future" => "symbols",
        "memory" => "tokens",
        "cells" | "moving_cells" | "unresolved_cells" | "active_cells" => "cells",
        "curve_step" => "steps",
        _ => return None,
    })
}
