//! The published verdicts of small programs under ten schedulers, from the files in `progress` where `STANDSTILL_DATA` points;
//! skipped elsewhere.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

#[path = "../examples/progress/translate.rs"]
mod translate;
#[path = "../examples/progress/verdicts.rs"]
mod verdicts;

use std::path::PathBuf;

#[test]
fn every_published_verdict_is_ours() {
    let Some(data) = std::env::var_os("STANDSTILL_DATA") else {
        println!("SKIPPED: STANDSTILL_DATA does not say where the published verdicts are");
        return;
    };
    let mut total = 0;
    for file in ["2t2i.tsv", "2t3i.tsv", "2t4i.tsv"] {
        let path = PathBuf::from(&data).join("progress").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let judged = verdicts::judge(&text).unwrap();
        assert_eq!(judged.disagreements, Vec::<String>::new(), "{file}");
        total += judged.total;
    }
    assert_eq!(total, 3570);
}

#[test]
fn a_wrong_verdict_is_noticed() {
    let check = |program: &str, verdict: &str, agreed: usize| {
        let text = format!("id\tprogram\tWEAK_FAIR\n0\t{program}\t{verdict}\n");
        let judged = verdicts::judge(&text).unwrap();
        assert_eq!((judged.agreed, judged.total), (agreed, 1), "{program} {verdict}");
    };
    check("atomic_chk_branch(0,0,0)", "F", 1);
    check("atomic_chk_branch(0,0,0)", "P", 0);
    check("atomic_chk_branch(0,1,0)", "P", 1);
    for wrong in
        ["", "id\tprogram\tWEAK_FAIR\n0\tjump(3)\tP\n", "id\tprogram\tNEVER\n0\tatomic_store(0,1)\tP\n"]
    {
        assert!(verdicts::judge(wrong).is_err(), "{wrong}");
    }
}
