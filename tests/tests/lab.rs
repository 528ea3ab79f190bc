//! From a submission to a verdict, with scripted hosts: what must work, and what must not be lost when it does not.

use blklab_coordinator::store::testing::for_each_database;
use blklab_lab_tests::{TestLab, submission};
use blklab_model::host::OFFLINE_AFTER;
use blklab_model::job::LEASE;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::testing::noise;
use blklab_model::time::SpanMs;
use blklab_stats::Verdict;
use blklab_wire::agent::{Heartbeat, TrialSpec};
use reqwest::StatusCode;

/// bfq reads at half the rate of everything else.
fn bfq_is_slow(spec: &TrialSpec) -> f64 {
    let rate = if spec.scheduler.name == "bfq" { 40e6 } else { 80e6 };
    rate * noise(spec.trial.arm, spec.trial.run)
}

#[tokio::test]
async fn a_submission_becomes_a_verdict_on_both_databases() {
    for_each_database(async |database| {
        let lab = TestLab::on(Some(database.url())).await;
        let host = lab.host("lab-1", &["sata-hdd"]).await;
        let submitted = lab.client().submit(&submission(&[("rounds = 6", "rounds = 6\naa_cells = 1")])).await.unwrap();
        assert_eq!((submitted.cells, submitted.trials), (2, 24));
        assert_eq!(host.work(bfq_is_slow).await, 24);
        let report = lab.client().report(submitted.id).await.unwrap();
        assert_eq!(report.headline, "Regression suspected in 1 of 1 comparison: bfq against none.");
        assert_eq!(report.cells[0].comparisons[0].judgement.verdict, Verdict::SuspectRegression);
        assert_eq!((report.aa_counts.regressions, report.aa_counts.tested()), (0, 1));
        assert_eq!(lab.client().progress(submitted.id).await.unwrap().state, "finished");
    })
    .await;
}

#[tokio::test]
async fn two_hosts_share_an_experiment() {
    let lab = TestLab::new().await;
    let (one, two) = (lab.host("lab-1", &["sata-hdd"]).await, lab.host("lab-2", &["ssd"]).await);
    let submitted = lab.client().submit(&submission(&[("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\"]")])).await.unwrap();
    let (done_by_one, done_by_two) = tokio::join!(one.work(bfq_is_slow), two.work(bfq_is_slow));
    assert_eq!((done_by_one, done_by_two), (12, 12));
    assert_eq!(lab.client().report(submitted.id).await.unwrap().counts.regressions, 2);
}

#[tokio::test]
async fn a_killed_agent_loses_no_finished_trial() {
    let lab = TestLab::new().await;
    let mut host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    host.report(&host.completed(&job, &job.trials[0], 80e6)).await.unwrap();
    host.heartbeat(&job, Some(&job.trials[1])).await.unwrap();

    host.restart();
    host.hello().await.unwrap();
    let again = host.claim().await.unwrap().unwrap();
    assert_eq!(again.job, job.job, "the job comes back");
    assert_eq!(again.trials.len(), job.trials.len() - 1, "without the trial that is over");
    assert_eq!((again.trials[0].trial, again.trials[0].attempt), (job.trials[1].trial, 2));
    for spec in &again.trials {
        host.report(&host.completed(&again, spec, 80e6)).await.unwrap();
    }
    host.work(bfq_is_slow).await;
    assert_eq!(lab.client().report(id).await.unwrap().trials.completed, 12);
}

#[tokio::test]
async fn a_killed_coordinator_loses_no_finished_trial() {
    let lab = TestLab::new().await;
    let mut host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    host.report(&host.completed(&job, &job.trials[0], 80e6)).await.unwrap();

    let lab = lab.restarted().await;
    host.follow(&lab.url);
    assert!(!host.heartbeat(&job, None).await.unwrap().drop_job, "the lease outlives the coordinator");
    for spec in &job.trials[1..] {
        host.report(&host.completed(&job, spec, 80e6)).await.unwrap();
    }
    host.work(bfq_is_slow).await;
    assert_eq!(lab.client().report(id).await.unwrap().trials.completed, 12);
}

#[tokio::test]
async fn the_work_of_a_silent_host_is_queued_again_and_its_late_report_still_counts() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    lab.client().submit(&submission(&[])).await.unwrap();
    let job = host.claim().await.unwrap().unwrap();
    lab.pass(SpanMs(LEASE.0 - 1)).await;
    assert!(!host.heartbeat(&job, None).await.unwrap().drop_job);
    lab.pass(LEASE).await;
    assert!(host.heartbeat(&job, None).await.unwrap().drop_job, "the lease ran out");
    assert!(host.report(&host.completed(&job, &job.trials[0], 80e6)).await.unwrap().counted);
    let again = host.claim().await.unwrap().unwrap();
    assert_eq!(again.trials.len(), job.trials.len() - 1);
}

#[tokio::test]
async fn a_report_sent_twice_counts_once() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    let report = host.completed(&job, &job.trials[0], 80e6);
    assert!(host.report(&report).await.unwrap().counted);
    assert!(!host.report(&report).await.unwrap().counted);
    let mut other = report.clone();
    other.attempt += 1;
    assert!(!host.report(&other).await.unwrap().counted, "what is over stays over");
    assert_eq!(lab.client().report(id).await.unwrap().trials.completed, 1);
}

#[tokio::test]
async fn lab_faults_are_tried_again_and_others_are_results() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let fail = |fault, message: &str| Outcome::Failed(Failure { fault, step: "mkfs".into(), message: message.into() });

    let job = host.claim().await.unwrap().unwrap();
    let mut report = host.completed(&job, &job.trials[0], 1.0);
    report.outcome = fail(Fault::Lab, "no space left on the disk");
    host.report(&report).await.unwrap();
    let mut report = host.completed(&job, &job.trials[1], 1.0);
    report.outcome = fail(Fault::Workload, "dd: exit status 1");
    host.report(&report).await.unwrap();

    let again = host.claim().await.unwrap().unwrap();
    assert_eq!(again.trials.iter().map(|spec| spec.trial).collect::<Vec<_>>(), [job.trials[0].trial]);
    host.report(&host.completed(&again, &again.trials[0], 80e6)).await.unwrap();
    host.work(bfq_is_slow).await;
    let report = lab.client().report(id).await.unwrap();
    assert_eq!((report.trials.completed, report.trials.failed), (11, 1));
    let failed = report.cells[0].trials.iter().find_map(|trial| trial.failure.clone()).unwrap();
    assert_eq!(failed.message, "dd: exit status 1");
}

#[tokio::test]
async fn an_output_without_the_promised_metric_is_the_workloads_fault() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    let mut report = host.completed(&job, &job.trials[0], 80e6);
    report.outputs.clear();
    host.report(&report).await.unwrap();
    let report = lab.client().report(id).await.unwrap();
    let failure = report.cells[0].trials.iter().find_map(|trial| trial.failure.clone()).unwrap();
    assert_eq!(failure.fault, Fault::Workload);
    assert!(failure.message.starts_with("metric `rate`"), "{}", failure.message);
}

#[tokio::test]
async fn cancelling_stops_the_agent_and_keeps_what_was_measured() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    host.report(&host.completed(&job, &job.trials[0], 80e6)).await.unwrap();
    lab.client().cancel(id).await.unwrap();
    assert!(host.heartbeat(&job, None).await.unwrap().drop_job);
    assert!(!host.report(&host.completed(&job, &job.trials[1], 80e6)).await.unwrap().counted);
    assert!(host.claim().await.unwrap().is_none());
    let report = lab.client().report(id).await.unwrap();
    assert_eq!((report.trials.completed, report.trials.cancelled), (1, 11));
}

#[tokio::test]
async fn a_dirty_host_gets_no_work_until_it_is_clean() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    lab.client().submit(&submission(&[])).await.unwrap();
    let beat = |dirty: Option<&str>| Heartbeat {
        host: host.host.name.clone(),
        incarnation: host.incarnation.clone(),
        job: None,
        at: None,
        dirty: dirty.map(str::to_owned),
        build: None,
        last_boot: None,
    };
    host.beat(beat(Some("cannot unmount /mnt"))).await.unwrap();
    assert!(host.claim().await.unwrap().is_none());
    host.beat(beat(None)).await.unwrap();
    assert!(host.claim().await.unwrap().is_some());
}

#[tokio::test]
async fn wrong_tokens_and_taken_names_are_told_apart() {
    let lab = TestLab::new().await;
    let mut first = lab.host("lab-1", &["sata-hdd"]).await;

    let mut stranger = blklab_lab_tests::ScriptedHost::new(&lab.url, blklab_model::testing::host("lab-2", &[]), "guess");
    let (status, refusal) = stranger.hello().await.unwrap_err();
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(refusal.help.contains("enrol.token"), "{}", refusal.help);

    let mut namesake = blklab_lab_tests::ScriptedHost::new(&lab.url, first.host.clone(), &lab.token("enrol"));
    namesake.incarnation = "other-machine.1".into();
    let (status, refusal) = namesake.hello().await.unwrap_err();
    assert_eq!((status, refusal.error.as_str()), (StatusCode::CONFLICT, "the name `lab-1` is taken by a host that is enrolled already"));

    // The first one's state folder was copied to another machine.
    namesake.token = first.token.clone();
    let (status, refusal) = namesake.hello().await.unwrap_err();
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(refusal.error.contains("another agent is alive"), "{}", refusal.error);
    lab.pass(OFFLINE_AFTER).await;
    namesake.hello().await.unwrap();
    let (status, refusal) = first.claim().await.unwrap_err();
    assert_eq!((status, refusal.error.as_str()), (StatusCode::CONFLICT, "a newer agent has taken over the name `lab-1`"));
    first.token = "guess".into();
    assert_eq!(first.claim().await.unwrap_err().0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_agent_that_lost_its_token_enrols_again_on_its_own_machine() {
    let lab = TestLab::new().await;
    let mut host = lab.host("lab-1", &["sata-hdd"]).await;
    host.token = lab.token("enrol");
    host.restart();
    assert_eq!(host.hello().await.unwrap_err().0, StatusCode::CONFLICT, "the former agent may be alive");
    lab.pass(OFFLINE_AFTER).await;
    assert!(host.hello().await.unwrap().token.is_some());
    host.claim().await.unwrap();
}

#[tokio::test]
async fn a_trial_that_kills_its_agent_is_given_up_and_the_rest_goes_on() {
    let lab = TestLab::new().await;
    let mut host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let mut deadly = None;
    for _ in 0..blklab_model::trial::MAX_ATTEMPTS {
        let job = host.claim().await.unwrap().unwrap();
        // Only the last trial of the job is left to do its harm.
        for spec in &job.trials[..job.trials.len() - 1] {
            host.report(&host.completed(&job, spec, 80e6)).await.unwrap();
        }
        let last = job.trials.last().unwrap();
        host.heartbeat(&job, Some(last)).await.unwrap();
        deadly = Some(last.trial);
        host.restart();
        host.hello().await.unwrap();
    }
    assert_eq!(host.work(bfq_is_slow).await, 10, "the other rounds are measured");
    let report = lab.client().report(id).await.unwrap();
    assert_eq!((report.trials.completed, report.trials.failed), (11, 1));
    let failed = report.cells[0].trials.iter().find(|trial| trial.failure.is_some()).unwrap();
    assert_eq!(Some(failed.id), deadly);
    assert_eq!(lab.client().progress(id).await.unwrap().state, "finished");
}

#[tokio::test]
async fn strangers_are_turned_away_before_their_bodies_are_read() {
    let lab = TestLab::new().await;
    let mut host = lab.host("lab-1", &["sata-hdd"]).await;
    host.token = "guess".into();
    for path in ["hello", "heartbeat", "claim", "trial"] {
        let (status, refusal) = host.post_raw::<()>(path, b"{".to_vec()).await.unwrap_err();
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(!refusal.help.is_empty(), "{path}");
    }
    host.token = lab.token("enrol");
    let (status, refusal) = host.post_raw::<()>("hello", b"{".to_vec()).await.unwrap_err();
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(refusal.error.contains("EOF"), "the refusal says what is wrong: {}", refusal.error);
    let huge = vec![b' '; 1 << 20];
    assert_eq!(host.post_raw::<()>("claim", huge).await.unwrap_err().0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn malformed_uploads_are_refused_and_nothing_is_lost() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let id = lab.client().submit(&submission(&[])).await.unwrap().id;
    let job = host.claim().await.unwrap().unwrap();
    let good = host.completed(&job, &job.trials[0], 80e6);

    let torn = serde_json::to_vec(&good).unwrap();
    assert!(host.post_raw::<()>("trial", torn[..torn.len() / 2].to_vec()).await.unwrap_err().0.is_client_error());
    let mut bad = good.clone();
    bad.outputs[0].base64 = "***".into();
    assert_eq!(host.report(&bad).await.unwrap_err().0, StatusCode::UNPROCESSABLE_ENTITY);
    let mut bad = good.clone();
    bad.trial.run = 99;
    assert_eq!(host.report(&bad).await.unwrap_err().0, StatusCode::NOT_FOUND);
    let other = lab.host("lab-2", &["ssd"]).await;
    let mut bad = good.clone();
    bad.host = other.host.name.clone();
    assert_eq!(other.report(&bad).await.unwrap_err().0, StatusCode::NOT_FOUND, "not its trial");

    assert!(host.report(&good).await.unwrap().counted);
    assert_eq!(lab.client().report(id).await.unwrap().trials.completed, 1);
}

#[tokio::test]
async fn a_bad_submission_says_file_line_and_remedy_and_stores_nothing() {
    let lab = TestLab::new().await;
    let _host = lab.host("lab-1", &["sata-hdd"]).await;
    let cases = [
        (("\"bfq\"", "\"bqf\""), "experiment.toml:8: unknown scheduler `bqf`"),
        (("rounds = 6", "rouns = 6"), "experiment.toml:5: unknown field `rouns`"),
        (("\"reader\"", "\"raeder\""), "experiment.toml: unknown workload `raeder`; did you mean `reader`?"),
        (("sata-hdd", "sata-hhd"), "no host offers a disk of class `sata-hhd`; did you mean `sata-hdd`?"),
    ];
    for (change, words) in cases {
        let error = lab.client().submit(&submission(&[change])).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut submit = submission(&[]);
    submit.overrides.only.insert("scheduler".into(), vec!["bfq".into()]);
    let error = lab.client().submit(&submit).await.unwrap_err().to_string();
    assert!(error.contains("the baseline `none` must stay"), "{error}");
    let mut submit = submission(&[]);
    let (without_metrics, _) = submit.workloads[0].text.split_once("[[metric]]").unwrap();
    submit.workloads[0].text = without_metrics.to_owned();
    let error = lab.client().submit(&submit).await.unwrap_err().to_string();
    assert!(error.contains("reader.toml: a workload without metrics measures nothing"), "{error}");
    let nobody = blklab_coordinator::client::Client::new(&lab.url, Some("guess".into())).unwrap();
    let error = nobody.submit(&submission(&[])).await.unwrap_err().to_string();
    assert!(error.contains("wrong submission token") && error.contains("submit.token"), "{error}");
    assert_eq!(lab.client().experiments().await.unwrap(), []);
}

#[tokio::test]
async fn the_kept_file_says_what_the_command_line_changed() {
    let lab = TestLab::new().await;
    let _host = lab.host("lab-1", &["sata-hdd"]).await;
    let plain = lab.client().submit(&submission(&[])).await.unwrap().id;
    let mut submit = submission(&[]);
    submit.overrides.rounds = Some(5);
    submit.overrides.only.insert("scheduler".into(), vec!["none".into(), "bfq".into()]);
    let changed = lab.client().submit(&submit).await.unwrap().id;
    let client = lab.client();
    let file = async |id| client.page(&format!("/experiments/{id}.toml")).await.unwrap();
    assert_eq!(file(plain).await, submit.file.text);
    assert_eq!(file(changed).await, format!("# Submitted with: --rounds 5 --only scheduler='none,bfq'\n{}", submit.file.text));
}

#[tokio::test]
async fn a_waiting_claim_is_answered_when_work_comes() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let claim = blklab_wire::agent::Claim { host: host.host.name.clone(), incarnation: host.incarnation.clone(), wait_ms: 20_000 };
    let waiting = host.post::<Option<blklab_wire::agent::JobSpec>>("claim", &claim);
    let client = lab.client();
    let submit = submission(&[]);
    let (job, submitted) = tokio::join!(waiting, client.submit(&submit));
    assert_eq!(job.unwrap().unwrap().job.experiment, submitted.unwrap().id);
}

#[tokio::test]
async fn a_scale_asks_the_same_question_elsewhere() {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd", "ssd"]).await;
    let mut submit = submission(&[]);
    submit.file.text.push_str("\n[scale.other]\nrounds = 3\nmemory_cap = \"64 MiB\"\nmatrix.disk_class = [\"ssd\"]\n");
    submit.overrides.scale = Some("other".into());
    let submitted = lab.client().submit(&submit).await.unwrap();
    assert_eq!(submitted.trials, 6);
    let job = host.claim().await.unwrap().unwrap();
    assert_eq!(job.trials[0].memory_cap_bytes, Some(64 << 20));
    assert_eq!(lab.client().report(submitted.id).await.unwrap().cells[0].disk_class.as_str(), "ssd");
    let kept = lab.client().page(&format!("/experiments/{}.toml", submitted.id)).await.unwrap();
    assert!(kept.starts_with("# Submitted with: --scale other\n"), "{kept}");
    submit.overrides.scale = Some("huge".into());
    let error = lab.client().submit(&submit).await.unwrap_err().to_string();
    assert!(error.contains("unknown scale `huge`") && error.contains("known: other"), "{error}");
}

#[tokio::test]
async fn a_working_set_that_fits_into_memory_is_told_at_once_and_in_the_report() {
    let lab = TestLab::new().await;
    let _host = lab.host("lab-1", &["sata-hdd"]).await;
    let mut submit = submission(&[]);
    submit.workloads[0].text = submit.workloads[0].text.replacen("needs.space", "needs.working_set = [\"{size}\"]\n        needs.space", 1);
    let submitted = lab.client().submit(&submit).await.unwrap();
    assert!(submitted.cautions[0].contains("its working set of 8 MiB fits into"), "{:?}", submitted.cautions);
    assert_eq!(lab.client().report(submitted.id).await.unwrap().cautions, submitted.cautions);
    let page = lab.client().page(&format!("/experiments/{}", submitted.id)).await.unwrap();
    assert!(page.contains("<dt>caution</dt>"), "{page}");
}
