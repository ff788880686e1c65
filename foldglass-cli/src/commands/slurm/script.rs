//! Writes a job array of Slurm as one bash script, which also submits itself (DESIGN, "Beyond one machine").
//!
//! The script is run in three ways: by hand it submits the array and the job that collects; as a task of
//! the array it does the share of its index; as the job that collects it makes the table.

use std::path::Path;

use super::limits::{Mebibytes, TimeLimit};

/// What the array does and asks for.
pub struct Script<'a> {
    /// The name of the jobs.
    pub name: &'a str,
    /// The script's own name, for what it says of itself.
    pub file: &'a str,
    /// The command of a task and its flags, but those of the share, the directory, threads and memory.
    pub command: &'a [String],
    /// The directory of the records.
    pub out: &'a str,
    /// The program.
    pub program: &'a str,
    /// Where relative paths are found from.
    pub directory: &'a str,
    /// Shares.
    pub tasks: usize,
    /// Processors of each.
    pub cpus: usize,
    /// Time of each.
    pub time: TimeLimit,
    /// Memory of each, where it is asked for.
    pub memory: Option<Mebibytes>,
    /// Further flags of `sbatch`, each with its value: `--partition=short`.
    pub flags: &'a [String],
}

impl Script<'_> {
    /// The text.
    pub fn text(&self) -> String {
        [self.head(), self.settings(), BODY.to_owned()].join("\n")
    }

    fn head(&self) -> String {
        let Script { name, file, .. } = self;
        let shown = quoted(file);
        let version = foldglass_study::VERSION;
        let mut text = format!(
            "#!/bin/bash\n\
             # {name} as a job array of Slurm, written by foldglass {version}.\n\
             #   bash {shown}                submits the array, and a job that collects when all have ended\n\
             #   bash {shown} --array=2,5    the same for some indices; finished runs are not done again\n"
        );
        let mut put = |line: String| text += &format!("#SBATCH {line}\n");
        put(format!("--job-name={name}"));
        put(format!("--array=1-{}", self.tasks));
        put("--ntasks=1".to_owned());
        put(format!("--cpus-per-task={}", self.cpus));
        put(format!("--time={}", self.time));
        if let Some(Mebibytes(number)) = self.memory {
            put(format!("--mem={number}M"));
        }
        self.flags.iter().for_each(|flag| put(directive(flag)));
        put("--requeue".to_owned());
        put("--signal=TERM@60".to_owned());
        put("--open-mode=append".to_owned());
        put(directive(&format!("--chdir={}", self.directory)));
        let log = self.out.replace('%', "%%");
        put(directive(&format!("--output={log}/slurm-%A_%a.log")));
        text
    }

    fn settings(&self) -> String {
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        format!(
            "# Every index does its share of so many. With another number they would be other shares: while some\n\
             # are missing it stays as it is.\n\
             shares={}\n\
             name={}\n\
             foldglass={}\n\
             directory={}\n\
             out={}\n\
             command=({})\n",
            self.tasks,
            quoted(self.name),
            quoted(self.program),
            quoted(self.directory),
            quoted(self.out),
            command.join(" ")
        )
    }
}

/// What is the same in every script.
const BODY: &str = r#"case ${1-} in
collect)
  exec "$foldglass" collect "$out"
  ;;
esac

if [ -z "${SLURM_ARRAY_TASK_ID-}" ]; then
  set -e
  script=$(realpath -- "$0")
  cd -- "$directory"
  mkdir -p -- "$out"
  array=$(sbatch --parsable "$@" "$script")
  array=${array%%;*}
  # After the array however it ended: what is missing is then named, and no table made.
  collect=$(sbatch --parsable --dependency="afterany:$array" --array=1 --cpus-per-task=1 \
    --job-name="$name-collect" --output="${out//%/%%}/collect-%A.log" "$script" collect)
  echo "job $array does the shares, job ${collect%%;*} collects: $out/collect-${collect%%;*}.log"
  exit
fi

threads=${SLURM_CPUS_PER_TASK:-1}
# The limit of the job in MiB, where it has one; a tenth is for what is not counted.
limit=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * threads))}
memory=()
if [ "$limit" -gt 0 ]; then
  memory=(--max-memory "$((limit * 9 / 10))MiB")
fi

# By srun: the warning before the time limit goes to the steps of a job, not to its script. scancel goes
# to both, so that what the user ends does not come back.
srun --ntasks=1 --cpus-per-task="$threads" "$foldglass" "${command[@]}" --out "$out" \
  --shard "$SLURM_ARRAY_TASK_ID/$shares" --threads "$threads" "${memory[@]}"
code=$?
# 130: stopped and saved. 3: the share is still being done, by a task of a node that was thought dead.
if [ "$code" -eq 130 ] || [ "$code" -eq 3 ]; then
  # By both numbers: SLURM_JOB_ID of one task is the number of the whole array.
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
"#;

/// A word of bash.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A flag in a line of `#SBATCH`, whose quotes are read as bash reads them but for `'\''`.
fn directive(flag: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%*[]".contains(c);
    if flag.chars().all(plain) {
        return flag.to_owned();
    }
    format!("\"{}\"", flag.replace('"', "\\\""))
}

/// A path as text that both bash and Slurm take as it is.
pub fn plain_path<'a>(flag: &str, path: &'a Path) -> Result<&'a str, String> {
    let text = path.to_str().filter(|text| {
        let odd = |c: char| c.is_control() || c == '\\';
        !text.contains(odd) && !text.starts_with('-')
    });
    text.ok_or_else(|| {
        format!(
            "{flag} {}: a path for Slurm has neither line breaks nor backslashes, and no hyphen first",
            path.display().to_string().escape_debug()
        )
    })
}
