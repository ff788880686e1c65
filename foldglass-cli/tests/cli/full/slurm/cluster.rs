//! Starts a Slurm of two nodes on this machine, and ends it: one controller, two `slurmd`, a `munged`, all
//! with files, ports and names of their own.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::tools::need;

/// The daemons of Slurm, and where Debian puts them.
const PROGRAMS: [&str; 3] = ["slurmctld", "slurmd", "munged"];
const PLACES: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command that finds the daemons too.
fn command(program: &str) -> Command {
    let own = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("env");
    command.arg(format!("PATH={own}:{PLACES}")).arg(program);
    command.stdin(Stdio::null());
    command
}

/// Returns something where a Slurm can be started; else the test is skipped, and in CI it fails.
pub fn installed() -> Option<()> {
    for program in PROGRAMS {
        let output = command(program).arg("-V").output();
        let runs = output.is_ok_and(|output| output.status.success());
        let lacking = format!("{program} (install the packages slurm-wlm and munge)");
        need(runs.then_some(()), &lacking)?;
    }
    let user = Command::new("id").arg("-u").output();
    let is_root = user.is_ok_and(|user| user.stdout == b"0\n");
    let lacking = "root, as which the daemons of Slurm run";
    need(is_root.then_some(()), lacking)
}

/// A Slurm of two nodes with a processor each.
pub struct Cluster {
    directory: PathBuf,
    /// Names of the nodes, which no other cluster of this machine has.
    pub nodes: [String; 2],
    /// `munged`, the controller, the nodes.
    daemons: Vec<Child>,
}

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something, and fails with what it was.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(50));
    }
}

impl Cluster {
    /// Starts it; its files are in a new directory.
    pub fn start(directory: &Path) -> Cluster {
        let directory = directory.to_owned();
        fs::create_dir_all(directory.join("state")).unwrap();
        let number = std::process::id();
        let nodes = ["one", "two"].map(|name| format!("fg{number}{name}"));
        write_key(&directory.join("key"), number);
        fs::write(
            directory.join("slurm.conf"),
            configuration(&directory, &nodes),
        )
        .unwrap();
        let mut cluster = Cluster {
            directory,
            nodes: nodes.clone(),
            daemons: Vec::new(),
        };
        let munge = munge_flags(&cluster.directory);
        let munge: Vec<&str> = munge.iter().map(String::as_str).collect();
        cluster.begin("munged", &[&["--foreground"], &munge[..]].concat());
        wait_for("munged", || {
            let socket = cluster.directory.join("munge.socket");
            socket.exists().then_some(())
        });
        cluster.begin("slurmctld", &["-D"]);
        for node in &nodes {
            cluster.begin("slurmd", &["-D", "-N", node]);
        }
        wait_for("two idle nodes", || {
            let states = cluster.ask("sinfo", &["-h", "-N", "-o", "%T"])?;
            (states == "idle\nidle\n").then_some(())
        });
        cluster
    }

    /// A command of Slurm for this cluster.
    pub fn command(&self, program: &str) -> Command {
        let mut command = command(program);
        command.env("SLURM_CONF", self.directory.join("slurm.conf"));
        command
    }

    /// What a command of Slurm prints; none where it fails, as when a busy controller does not answer.
    pub fn ask(&self, program: &str, args: &[&str]) -> Option<String> {
        let output = self.command(program).args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then_some(text)
    }

    /// What the controller has to say.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("slurmctld.log")).unwrap_or_default()
    }

    /// Starts a daemon that ends with this test, however that ends.
    fn begin(&mut self, program: &str, args: &[&str]) {
        let name = format!("{program}-{}.out", self.daemons.len());
        let output = fs::File::create(self.directory.join(name)).unwrap();
        let errors = output.try_clone().unwrap();
        let mut command = self.command("setpriv");
        command.args(["--pdeathsig", "KILL", program]).args(args);
        let child = command.stdout(output).stderr(errors).spawn().unwrap();
        self.daemons.push(child);
    }

    /// Ends a node as a power cut would: its daemon, what guards its tasks, and the tasks.
    pub fn cut_power(&mut self, node: usize) {
        let daemon = &mut self.daemons[2 + node];
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        kill(&self.processes(node));
        assert_eq!(self.processes(node), Vec::<String>::new());
    }

    /// The processes of a node but its daemon: tasks carry its name, their guards hold its log open.
    fn processes(&self, node: usize) -> Vec<String> {
        let name = format!("SLURMD_NODENAME={}", self.nodes[node]);
        let log = self.directory.join(format!("{}.log", self.nodes[node]));
        let is_own = |process: &Path| {
            let variables = fs::read(process.join("environ")).unwrap_or_default();
            if variables
                .split(|&byte| byte == 0)
                .any(|one| one == name.as_bytes())
            {
                return true;
            }
            let files = fs::read_dir(process.join("fd")).into_iter().flatten();
            let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
            targets.any(|target| target == log)
        };
        let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.to_owned();
            let is_process = number.bytes().all(|byte| byte.is_ascii_digit());
            (is_process && is_own(&path)).then_some(number)
        });
        all.collect()
    }

    /// Ends all of it.
    pub fn stop(&mut self) {
        // By a signal that they hear: the controller has a process of its own, which it ends then. It needs
        // munged for that, which began first.
        for daemon in self.daemons.iter_mut().rev() {
            let begun = Instant::now();
            let _ = Command::new("kill").arg(daemon.id().to_string()).output();
            while matches!(daemon.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(5)
            {
                sleep(Duration::from_millis(20));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for node in 0..self.nodes.len() {
            kill(&self.processes(node));
        }
    }

    /// Whether anything of it is left.
    pub fn is_gone(&mut self) -> bool {
        let ended = |daemon: &mut Child| daemon.try_wait().unwrap().is_some();
        let nodes = 0..self.nodes.len();
        self.daemons.iter_mut().all(ended)
            && nodes.into_iter().all(|n| self.processes(n).is_empty())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Ends processes at once, and waits until they are gone.
fn kill(processes: &[String]) {
    if processes.is_empty() {
        return;
    }
    // Some may have ended meanwhile.
    let _ = Command::new("kill").arg("-KILL").args(processes).output();
    let left = |process: &String| {
        let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = state.rsplit(") ").next().unwrap_or_default().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    };
    let begun = Instant::now();
    while processes.iter().any(left) && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(20));
    }
}

/// Writes the secret that the daemons share; one that others may read is refused.
fn write_key(path: &Path, number: u32) {
    let key: Vec<u8> = (0..1024).map(|byte| (byte * 7 + number) as u8).collect();
    let mut closed = fs::OpenOptions::new();
    let closed = closed.write(true).create_new(true).mode(0o600);
    closed.open(path).unwrap().write_all(&key).unwrap();
}

/// The flags that keep `munged` to a directory.
fn munge_flags(directory: &Path) -> Vec<String> {
    let files = [
        ("key-file", "key"),
        ("socket", "munge.socket"),
        ("pid-file", "munge.pid"),
        ("seed-file", "munge.seed"),
        ("log-file", "munge.log"),
    ];
    let flag = |(flag, file)| format!("--{flag}={}", directory.join(file).display());
    files.map(flag).to_vec()
}

/// Ports that are free now.
fn ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// A node is given up after seconds, not minutes, and what is requeued starts again after seconds.
fn configuration(directory: &Path, nodes: &[String; 2]) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let (user, files) = (user.trim(), directory.display());
    let [controller, first, second] = ports();
    let [one, two] = nodes;
    let node = |name: &str, port: u16| {
        format!(
            "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=1000"
        )
    };
    format!(
        "ClusterName=foldglass
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={files}/munge.socket,cred_expire=5
StateSaveLocation={files}/state
SlurmdSpoolDir={files}/%n
SlurmctldPidFile={files}/slurmctld.pid
SlurmdPidFile={files}/%n.pid
SlurmctldLogFile={files}/slurmctld.log
SlurmdLogFile={files}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
SlurmdTimeout=3
MessageTimeout=2
KillWait=2
ReturnToService=2
{}
{}
PartitionName=all Nodes={one},{two} Default=YES MaxTime=INFINITE State=UP
",
        node(one, first),
        node(two, second)
    )
}
