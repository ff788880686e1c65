//! Holds every flag that names a file to write to one rule: the file is whole or as it was, links are
//! followed, and what is no file is written to as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::escape::code;
use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// The commands that write a file, each up to the flag that names it, on files of [`scratch`].
const WRITERS: [&str; 12] = [
    "escape --code code.json --task parity --lengths 3 --out",
    "gauge --code code.json --task parity --lengths 3 --out",
    "certify --code code.json --task parity --lengths 3 --out",
    "chain --kernel metropolis --tau 1 --sweeps 5 --chains 2 --task parity --lengths 3 --record",
    "chain --kernel metropolis --tau 1 --sweeps 5 --chains 2 --task parity --lengths 3 --marginals",
    "cavi --tau 1 --iterations 5 --runs 2 --task parity --lengths 3 --policies",
    "cavi --tau 1 --iterations 5 --runs 2 --task parity --lengths 3 --record",
    "reinforce --estimator rloo:2 --learning-rate 1 --updates 5 --task parity --lengths 3 --policies",
    "reinforce --estimator rloo:2 --learning-rate 1 --updates 5 --task parity --lengths 3 --record",
    "tree --task parity --lengths 3 --svg",
    "tree --task parity --lengths 3 --vienna",
    "enumerate --task parity --lengths 4 --inputs markov:9/10 --traps",
];

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 1));
    scratch
}

/// What a command writes to a new file.
fn written(scratch: &Scratch, writer: &str) -> String {
    scratch.run(&words(&format!("{writer} fresh"))).success();
    let content = scratch.read("fresh");
    fs::remove_file(scratch.path().join("fresh")).unwrap();
    assert!(!content.is_empty());
    content
}

#[test]
fn an_old_file_is_replaced_and_a_link_followed() {
    let scratch = scratch();
    fs::create_dir(scratch.path().join("deep")).unwrap();
    for writer in WRITERS {
        let content = written(&scratch, writer);
        scratch.file("old", "something longer than a line\n".repeat(99).as_str());
        scratch.run(&words(&format!("{writer} old"))).success();
        assert_eq!(scratch.read("old"), content, "{writer}");
        // To a file, to a link to it, and to nothing yet.
        for (link, to, target) in [
            ("link", "deep/target", "deep/target"),
            ("second", "link", "deep/target"),
            ("dangling", "deep/new", "deep/new"),
        ] {
            let link_path = scratch.path().join(link);
            let _ = fs::remove_file(&link_path);
            symlink(to, &link_path).unwrap();
            scratch.file("deep/target", "old");
            scratch.run(&words(&format!("{writer} {link}"))).success();
            assert_eq!(scratch.read(target), content, "{writer} {link}");
            let is_link = fs::symlink_metadata(&link_path).unwrap().is_symlink();
            assert!(is_link, "{writer}: {link} was replaced");
        }
        fs::remove_file(scratch.path().join("deep/new")).unwrap();
        let left = fs::read_dir(scratch.path().join("deep")).unwrap().count();
        assert_eq!(left, 1, "{writer}: something unfinished is left");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_written_to_and_stays_one() {
    use std::os::unix::fs::FileTypeExt;
    let scratch = scratch();
    let is_device = |path: &str| fs::metadata(path).unwrap().file_type().is_char_device();
    for writer in WRITERS {
        scratch
            .run(&words(&format!("{writer} /dev/null")))
            .success();
        assert!(is_device("/dev/null"), "{writer}");
        // One that is always full.
        let full = scratch.run(&words(&format!("{writer} /dev/full")));
        assert_eq!((full.code, &full.text[..]), (Some(1), ""), "{writer}");
        assert!(
            full.errors.contains("cannot write /dev/full"),
            "{}",
            full.errors
        );
        assert!(is_device("/dev/full"), "{writer}");
        // A pipe has no name to be replaced.
        let piped = scratch.run(&words(&format!("{writer} /dev/stdout")));
        assert!(
            piped.success().contains(&written(&scratch, writer)),
            "{writer}: {}",
            piped.text
        );
    }
}

#[test]
fn a_directory_is_refused_at_once_and_nothing_is_left() {
    let scratch = scratch();
    fs::create_dir(scratch.path().join("there")).unwrap();
    for writer in WRITERS {
        for path in ["there", "there/", "nowhere/", "code.json/", "no/such/file"] {
            let said = format!("cannot write {path}: ");
            refuses(&scratch, &format!("{writer} {path}"), &[&said]);
        }
        let left = fs::read_dir(scratch.path().join("there")).unwrap().count();
        assert_eq!(left, 0, "{writer}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_the_long_part() {
    let scratch = scratch();
    for command in [
        "chain --kernel metropolis --tau 1 --sweeps 100000000 --chains 9 --task parity --lengths 3 \
         --record no/where",
        "chain --kernel metropolis --tau 1 --sweeps 100000000 --chains 9 --task parity --lengths 3 \
         --marginals no/where",
        "cavi --tau 1 --iterations 100000000 --runs 9 --task parity --lengths 3 --record no/where \
         --record-every 1000000",
        "cavi --tau 1 --iterations 100000000 --runs 9 --task parity --lengths 3 --policies no/where",
        "enumerate --task z:3 --lengths 4 --traps no/where",
    ] {
        let begun = Instant::now();
        let run = scratch.run(&words(command));
        assert_eq!(run.code, Some(2), "{}", run.errors);
        assert!(run.errors.contains("no/where"), "{}", run.errors);
        assert!(begun.elapsed() < Duration::from_secs(20), "{command}");
    }
}

#[test]
fn a_command_killed_in_the_middle_leaves_the_old_file() {
    let scratch = Scratch::new();
    scratch.file("zero.json", &format!("{{\"actions\":{:?}}}", [0; 102]));
    scratch.file("six.json", &code(26, 2, 1));
    for command in [
        "certify --code zero.json --cap 90000000 --task z:3 --lengths 12 --out old",
        "chain --kernel metropolis --tau 1 --sweeps 90000000 --chains 9 --task parity --lengths 9 \
         --record old --record-every 1000000",
        "cavi --tau 1 --iterations 90000000 --runs 9 --task parity --lengths 9 --policies old",
        "tree --task parity --lengths 8 --orbits --svg old",
        "enumerate --task z:3 --lengths 4 --traps old",
    ] {
        scratch.file("old", "as it was\n");
        let mut child = scratch
            .command(&words(command))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It has begun its file.
        let begun = Instant::now();
        let unfinished = || {
            let names = scratch.files().into_iter();
            names.filter(|name| name.ends_with(".tmp")).count()
        };
        while unfinished() == 0 && begun.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(5));
        }
        assert_eq!(unfinished(), 1, "{command}");
        assert!(child.try_wait().unwrap().is_none(), "{command}: too fast");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(scratch.read("old"), "as it was\n", "{command}");
        // The next that writes to the directory removes what the dead one left.
        let next = words("gauge --code six.json --task parity --lengths 7 --out new");
        scratch.run(&next).success();
        assert_eq!(unfinished(), 0, "{command}: {:?}", scratch.files());
    }
}
