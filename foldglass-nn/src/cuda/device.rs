//! Talks to a CUDA device: memory, kernels, errors a person can act on.

use super::memory::{Call, Memory};
use super::source::{Instructions, Sizes};
use crate::backend::BackendError;
use crate::backend::Precision;
use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, result, sys};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// How a kernel is launched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub kernel: &'static str,
    pub grid: (usize, usize, usize),
    pub threads: usize,
    /// Bytes of shared memory.
    pub shared: usize,
}

/// A device's address.
pub(super) type Address = u64;

/// What a fleet needs of a device.
pub(super) trait Device: Send {
    fn name(&self) -> String;
    /// Bytes that are free.
    fn free(&self) -> Result<usize, BackendError>;
    /// Memory, zeroed, at an address divisible by 1,024.
    fn allocate(&mut self, bytes: usize) -> Result<Address, BackendError>;
    fn write(&mut self, to: Address, bytes: &[u8]) -> Result<(), BackendError>;
    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Result<(), BackendError>;
    fn launch(&mut self, launch: Launch, memory: &Memory, call: &Call) -> Result<(), BackendError>;
    /// Waits for all launches.
    fn finish(&mut self) -> Result<(), BackendError>;
    /// Starts measuring kernels one by one, or ends it and says how long each took in milliseconds.
    fn profile(&mut self, start: bool) -> Result<Vec<(&'static str, usize, f64)>, BackendError>;
}

/// A GPU through its driver.
pub(super) struct Driver {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
    functions: HashMap<&'static str, CudaFunction>,
    allocated: Vec<Address>,
    /// Whether a kernel's blocks may be put in place before what the kernel before it wrote can be seen.
    overlap: bool,
    measured: Option<Vec<(&'static str, CudaEvent, CudaEvent)>>,
}

fn broken(what: &str, error: impl std::fmt::Debug) -> BackendError {
    BackendError::Device(format!("CUDA: {what}: {error:?}"))
}

impl Driver {
    /// Opens the first device and compiles the kernels for it.
    pub fn open(sizes: &Sizes) -> Result<Driver, BackendError> {
        let none = |what: &str| BackendError::Device(what.to_owned());
        // SAFETY: both only look for a library.
        let (driver, compiler) = unsafe {
            (
                sys::is_culib_present(),
                cudarc::nvrtc::sys::is_culib_present(),
            )
        };
        if !driver {
            return Err(none(
                "no NVIDIA driver is on this machine (libcuda was not found)",
            ));
        }
        if !compiler {
            return Err(none(
                "CUDA's run-time compiler was not found (libnvrtc, of CUDA 12 or later)",
            ));
        }
        let context = CudaContext::new(0).map_err(|e| broken("no usable GPU", e))?;
        let (major, minor) =
            (context.compute_capability()).map_err(|e| broken("its version", e))?;
        let needed = match sizes.precision {
            Precision::Bf16 => 9,
            Precision::Tf32 => 8,
        };
        let fits = match sizes.precision {
            Precision::Bf16 => major == needed,
            Precision::Tf32 => major >= needed,
        };
        if !fits {
            return Err(BackendError::Device(format!(
                "the GPU has compute capability {major}.{minor}; bf16 needs 9.0 (Hopper), tf32 8.0 or later"
            )));
        }
        let arch: &'static str = match (sizes.precision, major) {
            (Precision::Bf16, _) => "compute_90a",
            (_, 8) => "compute_80",
            _ => "compute_90",
        };
        let options = CompileOptions {
            arch: Some(arch),
            options: vec!["--std=c++17".into()],
            ..CompileOptions::default()
        };
        let ptx = compile_ptx_with_opts(sizes.source(Instructions::Ptx), options).map_err(|e| {
            let log = match &e {
                CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
                other => format!("{other:?}"),
            };
            BackendError::Device(format!("the kernels do not compile here: {log}"))
        })?;
        let module = context.load_module(ptx).map_err(|e| {
            broken(
                "the kernels cannot be loaded; a driver older than the compiler says \
                 UNSUPPORTED_PTX_VERSION",
                e,
            )
        })?;
        let stream = context.new_stream().map_err(|e| broken("no stream", e))?;
        Ok(Driver {
            context,
            stream,
            module,
            functions: HashMap::new(),
            allocated: Vec::new(),
            overlap: major >= 9,
            measured: None,
        })
    }

    fn function(&mut self, launch: &Launch) -> Result<CudaFunction, BackendError> {
        if let Some(function) = self.functions.get(launch.kernel) {
            return Ok(function.clone());
        }
        let function =
            (self.module.load_function(launch.kernel)).map_err(|e| broken(launch.kernel, e))?;
        let attribute =
            sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        (function.set_attribute(attribute, launch.shared as i32))
            .map_err(|e| broken(launch.kernel, e))?;
        self.functions.insert(launch.kernel, function.clone());
        Ok(function)
    }

    fn event(&self) -> Result<CudaEvent, BackendError> {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let event = self.stream.record_event(flags);
        event.map_err(|e| broken("event", e))
    }
}

impl Device for Driver {
    fn name(&self) -> String {
        self.context.name().unwrap_or_else(|_| "a GPU".into())
    }

    fn free(&self) -> Result<usize, BackendError> {
        let (free, _) = (self.context.mem_get_info()).map_err(|e| broken("free memory", e))?;
        Ok(free)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Address, BackendError> {
        self.context
            .bind_to_thread()
            .map_err(|e| broken("context", e))?;
        let bytes = bytes.next_multiple_of(1024) + 1024;
        // SAFETY: the memory is zeroed before anything reads it, and freed once, on drop.
        let start = unsafe {
            let start = result::malloc_sync(bytes).map_err(|e| broken("memory", e))?;
            self.allocated.push(start);
            result::memset_d8_async(start, 0, bytes, self.stream.cu_stream())
                .map_err(|e| broken("memory", e))?;
            start
        };
        Ok(start.next_multiple_of(1024))
    }

    fn write(&mut self, to: Address, bytes: &[u8]) -> Result<(), BackendError> {
        // SAFETY: callers write inside what they allocated; the copy has left `bytes` when it
        // returns, since the memory is pageable, and takes its turn among the launches.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }
            .map_err(|e| broken("copy", e))
    }

    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Result<(), BackendError> {
        // SAFETY: callers read inside what they allocated, and the stream is waited for.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }
            .map_err(|e| broken("copy", e))?;
        self.finish()
    }

    fn launch(&mut self, launch: Launch, memory: &Memory, call: &Call) -> Result<(), BackendError> {
        let function = self.function(&launch)?;
        let before = match &self.measured {
            Some(_) => Some(self.event()?),
            None => None,
        };
        let mut arguments = [
            std::ptr::from_ref(memory).cast_mut().cast::<c_void>(),
            std::ptr::from_ref(call).cast_mut().cast::<c_void>(),
        ];
        let (x, y, z) = launch.grid;
        let mut attributes = self.overlap.then_some(sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue {
                programmaticStreamSerializationAllowed: 1,
            },
        });
        let config = sys::CUlaunchConfig {
            gridDimX: x as u32,
            gridDimY: y as u32,
            gridDimZ: z as u32,
            blockDimX: launch.threads as u32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: launch.shared as u32,
            hStream: self.stream.cu_stream(),
            numAttrs: attributes.iter().len() as u32,
            attrs: (attributes.as_mut()).map_or(std::ptr::null_mut(), std::ptr::from_mut),
        };
        // SAFETY: every kernel takes these two structures, which are laid out as in common.cu, stays
        // inside the memory they point to, and touches none of it before the kernel before it has ended
        // (`after_previous`). What `config` points to lives until the call returns.
        unsafe {
            let none = std::ptr::null_mut();
            let arguments = arguments.as_mut_ptr();
            sys::cuLaunchKernelEx(&config, function.cu_function(), arguments, none).result()
        }
        .map_err(|e| broken(launch.kernel, e))?;
        if let Some(before) = before {
            let after = self.event()?;
            let measured = self.measured.get_or_insert_default();
            measured.push((launch.kernel, before, after));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        self.stream
            .synchronize()
            .map_err(|e| broken("a kernel failed", e))
    }

    fn profile(&mut self, start: bool) -> Result<Vec<(&'static str, usize, f64)>, BackendError> {
        self.finish()?;
        let mut totals: Vec<(&'static str, usize, f64)> = Vec::new();
        for (kernel, before, after) in self.measured.take().unwrap_or_default() {
            let time = before.elapsed_ms(&after).map_err(|e| broken("event", e))?;
            match totals.iter_mut().find(|total| total.0 == kernel) {
                Some(total) => {
                    total.1 += 1;
                    total.2 += f64::from(time);
                }
                None => totals.push((kernel, 1, time.into())),
            }
        }
        self.measured = start.then(Vec::new);
        Ok(totals)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        _ = self.stream.synchronize();
        for start in self.allocated.drain(..) {
            // SAFETY: allocated by this driver, not freed before; the stream has finished.
            _ = unsafe { result::free_sync(start) };
        }
    }
}
