//! Reads a trained network back as a code of a class (what the paper suggests in section 5).
//!
//! The code takes in every cell the action that the network most probably takes there; how much of the
//! network it explains is their agreement. Both are weighted by the law of the inputs, as J is.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::model::policy::CodeForm;
use foldglass::{Class, ClassSpec, Reward, Symbol};
use foldglass_nn::backend::ModelState;
use foldglass_nn::bridge::{self, BridgeError};
use foldglass_nn::layout::Layout;
use foldglass_nn::origin::Origin;
use foldglass_nn::settings::{BatchLengths, Evaluation, FleetSettings, LengthDraw, ModelSettings};
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::Weights;
use foldglass_study::files::read_listed;
use foldglass_study::{StudyError, claims};
use schemars::JsonSchema;
use serde::Serialize;

use super::distill::lesson_named;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::fleet::{BackendArgs, Machine, NetworkArgs, backend_named, named};
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The flags of `read-back`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass read-back --weights nets/000_z-5_c0.3_s0.safetensors --task z:5 --lengths 2 --window 1,1 --out code.json
      A trained network as a code.
  foldglass read-back --weights nets/000_z-5_c0.3_s0.safetensors --task z:5 --lengths 2
      How much of a network a narrow window explains.")]
pub struct ReadBackArgs {
    /// The network, as `train --weights` and `distill --weights` write it; another safetensors file
    /// with the same tensors needs the flags below
    #[arg(long, value_name = "FILE")]
    weights: PathBuf,
    /// Write the code to this file, which `eval`, `certify` and others read
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The longest length of its training, which sets positions under prefix-fixed and
    /// causal-fixed [default: from the file, else the longest of --lengths]
    #[arg(long, alias = "cap", value_name = "T", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    longest: Option<usize>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    class: ClassArgs,
}

impl ReadBackArgs {
    /// Reads the network back.
    pub fn run(&self, settings: &GlobalArgs) -> Result<NetworkCode, Error> {
        let class = self.class.class()?;
        let name = self.weights.display().to_string();
        let not = |problem: String| StudyError::Content {
            path: name.clone(),
            expected: "a safetensors file of a network",
            problem,
        };
        let bytes =
            read_listed(&self.weights).map_err(|source| StudyError::read(&self.weights, source))?;
        let origin = Origin::read(&bytes).map_err(|error| not(error.to_string()))?;
        self.check_class(&class, origin.as_ref())?;
        let net = self.settings(&class, origin.as_ref())?;
        let weights = Weights::from_safetensors(net.shape, &bytes);
        let weights = weights.map_err(|error| not(error.to_string()))?;
        let models = [ModelSettings::new(0, class.task().square().clone())];
        let checked = net.check(&models);
        checked.map_err(|error| named(error.into()))?;
        let maker = self.backend.maker(settings.threads)?;
        let mut backend = maker
            .make(&net, &models)
            .map_err(|error| backend_named(&error))?;
        backend
            .restore(0, &ModelState::new(weights.values))
            .map_err(|error| backend_named(&error))?;
        let found = bridge::read_back(backend.as_mut(), 0, &class, net.cap);
        let found = found.map_err(|error| match error {
            BridgeError::Backend(error) => backend_named(&error),
            BridgeError::Lesson(error) => lesson_named(error),
            _ => Error::Failed(error.to_string()),
        })?;
        if let Some(out) = &self.out {
            claims::write(out, &CodeForm::from(&found.code))?;
        }
        Ok(NetworkCode {
            back_end: maker.machine().expect("a network was read"),
            trained_steps: origin.map(|origin| origin.step),
            cells: class.cells(),
            consulted: found.consulted,
            decided: found.decided,
            agreement: found.agreement.to_f64(),
            agreement_exact: found.agreement,
            inputs: found.inputs,
            network_reward_exact: found.network_reward,
            reward_exact: found.reward,
            actions: found.code.actions().to_vec(),
            class: class.spec(),
            out: self.out.clone(),
        })
    }

    /// Refuses a class that the network knows nothing of, or that has too many inputs.
    fn check_class(&self, class: &Class, origin: Option<&Origin>) -> Result<(), Error> {
        let other = origin.filter(|origin| &origin.model.square != class.task().square());
        if other.is_some() {
            return Err(Error::Usage(format!(
                "--task: {} was trained on another multiplication table than this one",
                self.weights.display()
            )));
        }
        let longest = class.task().longest();
        let inputs = (class.q() as u128).checked_pow(longest as u32);
        let bytes = inputs.and_then(|inputs| inputs.checked_mul(24 + longest as u128));
        let what = format!("a list of all inputs of length {longest}");
        Ok(self.class.allowance().check(&what, bytes)?)
    }

    /// What the network is: the flags, else the file, else the paper.
    fn settings(&self, class: &Class, origin: Option<&Origin>) -> Result<FleetSettings, Error> {
        let longest = class.task().longest();
        let own = origin.map(|origin| &origin.settings);
        let cap = self.longest.or(own.map(|own| own.cap)).unwrap_or(longest);
        if longest > cap {
            return Err(Error::Usage(format!(
                "--lengths {longest}: {} is of a network for lengths up to {cap}",
                self.weights.display()
            )));
        }
        let shape = own.map_or(NetworkShape::default(), |own| own.shape);
        let layout = own.map_or(Layout::default(), |own| own.layout);
        let mut settings = FleetSettings::default();
        settings.shape = self.network.shape(shape);
        settings.layout = self.network.layout(layout);
        settings.cap = cap;
        settings.lengths = BatchLengths::Fixed {
            lengths: vec![longest],
            weights: Vec::new(),
            drawn: LengthDraw::Sample,
        };
        settings.evaluation = Evaluation {
            length: longest,
            ..Evaluation::default()
        };
        Ok(settings)
    }
}

/// A network as a code.
#[derive(JsonSchema, Serialize)]
pub struct NetworkCode {
    back_end: Machine,
    /// Its updates, where the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    trained_steps: Option<u64>,
    cells: usize,
    consulted: usize,
    decided: usize,
    agreement: f64,
    agreement_exact: Reward,
    inputs: u64,
    network_reward_exact: Reward,
    reward_exact: Reward,
    actions: Vec<Symbol>,
    #[serde(skip)]
    class: ClassSpec,
    #[serde(skip)]
    out: Option<PathBuf>,
}

impl NetworkCode {
    fn table(&self) -> Table {
        let columns = [Column::words("what"), Column::numbers("value")];
        let rows: [(&str, Cell); 7] = [
            ("cells", self.cells.into()),
            ("cells that the network consults", self.consulted.into()),
            ("of them with one action only", self.decided.into()),
            (
                "agreement of network and code",
                Cell::Real(Digits::Decimals(6).of(self.agreement)),
            ),
            ("inputs that occur", self.inputs.into()),
            ("reward of the network", (&self.network_reward_exact).into()),
            ("reward of the code", (&self.reward_exact).into()),
        ];
        Table::new(columns).rows(rows.map(|(what, value)| [what.into(), value]))
    }
}

impl Report for NetworkCode {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        match &self.out {
            Some(path) => writeln!(
                out,
                "\n{0} holds the code: foldglass certify --code {0} says whether it is a trap",
                path.display()
            ),
            None => writeln!(out, "\n--out FILE writes the code"),
        }
    }
}
