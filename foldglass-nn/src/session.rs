//! Trains networks in pieces, saves them and resumes them: what fleets, distillations and followed paths share.

use crate::backend::{Backend, BackendError, ModelState, unless_stopped};
use crate::error::FleetError;
use foldglass::support::watch::Stop;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What networks are trained for: what a step does, when they are looked at, and what follows from a look.
pub trait Course {
    /// The name of the form of a saved session.
    const FORMAT: &'static str;
    /// What is saved beside the step and the states of the models.
    type Saved: Serialize + DeserializeOwned;
    /// What steps return.
    type Trained;
    /// What follows from a look.
    type News;

    /// The step at which the networks are looked at next.
    fn next_look(&self, step: u64) -> u64;

    /// Makes steps.
    fn train(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        count: u64,
    ) -> Result<Self::Trained, BackendError>;

    /// Looks at the networks after a step, given what the last steps returned, and takes note of what it finds. Where
    /// the back end is stopped nothing is noted.
    fn look(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        trained: Self::Trained,
    ) -> Result<Self::News, FleetError>;

    /// What [`Course::resume`] needs.
    fn saved(&self) -> Self::Saved;

    /// Continues from what was saved after a step, the models being restored; refuses what is of other networks.
    fn resume(
        &mut self,
        backend: &mut dyn Backend,
        step: u64,
        saved: Self::Saved,
    ) -> Result<(), FleetError>;
}

/// Networks on a course, and how far they have come.
pub struct Session<C> {
    pub(crate) course: C,
    pub(crate) backend: Box<dyn Backend>,
    step: u64,
}

/// A session as it is saved, behind the name of its format.
#[derive(Serialize, Deserialize)]
struct Checkpoint<S> {
    step: u64,
    saved: S,
    states: Vec<ModelState>,
}

impl<C: Course> Session<C> {
    /// Begins with the models of a back end.
    pub(crate) fn begin(course: C, backend: Box<dyn Backend>) -> Session<C> {
        Session {
            course,
            backend,
            step: 0,
        }
    }

    /// Steps made so far.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The back end.
    pub fn backend(&mut self) -> &mut dyn Backend {
        self.backend.as_mut()
    }

    /// From now on a back end whose single steps may take long asks this within them; see
    /// [`Session::advance_by`].
    pub fn heed(&mut self, stop: Stop) {
        self.backend.heed(stop);
    }

    /// Trains by at most so many steps and at most to the next look; what follows from it, where it was reached. A
    /// back end that is told to stop leaves all of these steps undone. How steps are cut does not show in what is
    /// trained.
    pub fn advance_by(&mut self, most: u64) -> Result<Option<C::News>, FleetError> {
        let (before, end) = (self.step, self.course.next_look(self.step));
        if before >= end {
            return Ok(None);
        }
        let count = most.clamp(1, end - before);
        let trained = self.course.train(self.backend.as_mut(), before, count);
        let Some(trained) = unless_stopped(trained)? else {
            return Ok(None);
        };
        self.step += count;
        if self.step < end {
            return Ok(None);
        }
        let news = self.course.look(self.backend.as_mut(), self.step, trained);
        if let Err(FleetError::Backend(BackendError::Stopped)) = news {
            // A step after which a look is due is saved only when they were looked at.
            self.backend.take_back();
            self.step = before;
            return Ok(None);
        }
        news.map(Some)
    }

    /// Writes everything that a later call needs to continue as if nothing had happened.
    pub fn save(&mut self) -> Result<Vec<u8>, FleetError> {
        let format = postcard::to_stdvec(C::FORMAT).expect("plain data");
        let checkpoint = Checkpoint {
            step: self.step,
            saved: self.course.saved(),
            states: states(self.backend.as_mut())?,
        };
        Ok(postcard::to_extend(&checkpoint, format).expect("plain data"))
    }

    /// Resumes what [`Session::save`] left of the same networks under the same settings.
    pub fn take_up(&mut self, bytes: &[u8]) -> Result<(), FleetError> {
        let (format, rest): (String, &[u8]) = read(bytes)?;
        if format != C::FORMAT {
            return Err(FleetError::Checkpoint(format!(
                "format '{format}'; this version reads '{}'",
                C::FORMAT
            )));
        }
        let (checkpoint, _): (Checkpoint<C::Saved>, _) = read(rest)?;
        restore(self.backend.as_mut(), &checkpoint.states)?;
        self.step = checkpoint.step;
        let backend = self.backend.as_mut();
        self.course
            .resume(backend, checkpoint.step, checkpoint.saved)
    }
}

/// The states of all models of a back end.
pub(crate) fn states(backend: &mut dyn Backend) -> Result<Vec<ModelState>, BackendError> {
    let models = 0..backend.models();
    models.map(|model| backend.state(model)).collect()
}

/// Puts all models of a back end into states that were saved.
pub(crate) fn restore(backend: &mut dyn Backend, saved: &[ModelState]) -> Result<(), FleetError> {
    if saved.len() != backend.models() {
        return Err(other_networks());
    }
    for (model, state) in saved.iter().enumerate() {
        let parameters = backend.state(model)?.weights.len();
        let lists = [&state.weights, &state.mean, &state.square];
        let gathered = state.gathered.len();
        let fits = lists.iter().all(|list| list.len() == parameters)
            && (gathered == 0 || gathered == parameters);
        if !fits {
            return Err(other_networks());
        }
        backend.restore(model, state)?;
    }
    Ok(())
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), FleetError> {
    postcard::take_from_bytes(bytes).map_err(|e| FleetError::Checkpoint(e.to_string()))
}

/// A checkpoint of something else.
pub(crate) fn other_networks() -> FleetError {
    FleetError::Checkpoint("it is of other networks".to_owned())
}
