//! Kernels in the lab, with scripted hosts: files come and go whole, no trial counts on the wrong kernel, builds end as they should.

use blklab_coordinator::client::Client;
use blklab_coordinator::kernels::{UNUSED_FOR, sweep};
use blklab_coordinator::store::testing::for_each_database;
use blklab_lab_tests::{ScriptedHost, TestLab, blob, kernel_submission};
use blklab_model::build::{BuildFailure, BuildFault, BuildState, MAX_BUILD_ATTEMPTS};
use blklab_model::id::BuildId;
use blklab_model::job::LEASE;
use blklab_model::kernel::{Clock, KernelSource};
use blklab_model::testing::{build_request, id, kernel, noise};
use blklab_model::time::SpanMs;
use blklab_wire::agent::{JobSpec, KernelSpec, TrialSpec};
use blklab_wire::build::{BuildOutcome, BuildSpec, BuiltKernel, Known};
use blklab_wire::people::AddKernel;
use reqwest::StatusCode;

/// The patched kernel reads at half the rate of every other.
fn patched_is_slow(job: &JobSpec, spec: &TrialSpec) -> f64 {
    let is_patched = matches!(&job.kernel, KernelSpec::Boot(kernel) if kernel.name.as_str() == "patched");
    (if is_patched { 40e6 } else { 80e6 }) * noise(spec.trial.arm, spec.trial.run)
}

/// Works until there is no job left.
async fn work(host: &ScriptedHost) -> u32 {
    let mut done = 0;
    while let Some(job) = host.claim().await.expect("a claim") {
        for spec in &job.trials {
            let report = host.completed(&job, spec, patched_is_slow(&job, spec));
            assert!(host.report(&report).await.expect("a receipt").counted);
            done += 1;
        }
    }
    done
}

#[tokio::test]
async fn two_kernels_on_two_hosts_become_a_verdict_on_both_databases() {
    for_each_database(async |database| {
        let lab = TestLab::on(Some(database.url())).await;
        let (one, two) = (lab.booting_host("lab-1", &["sata-hdd"]).await, lab.booting_host("lab-2", &["ssd"]).await);
        let (base, patched) = (lab.add_kernel("base", 'a').await, lab.add_kernel("patched", 'b').await);
        let submit = kernel_submission(&["base", "patched"], &[("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\"]")]);
        let submitted = lab.client().submit(&submit).await.unwrap();
        assert_eq!((submitted.cells, submitted.trials, submitted.impossible.len()), (2, 24, 0));

        let job = one.claim().await.unwrap().unwrap();
        let KernelSpec::Boot(boot) = &job.kernel else { panic!("{:?}", job.kernel) };
        let wanted = if boot.name.as_str() == "base" { &base } else { &patched };
        assert_eq!((&boot.release, &boot.build_id, &boot.image), (&wanted.release, &wanted.build_id, &wanted.image));
        assert_eq!(blob(&one.blob(&boot.image.sha256).await.unwrap()), boot.image);

        let done = tokio::join!(work(&one), work(&two));
        assert_eq!(done, (12, 12), "the claimed job came back");
        let report = lab.client().report(submitted.id).await.unwrap();
        assert_eq!(report.headline, "Regression suspected in 2 of 2 comparisons: patched against base.");
        assert_eq!(report.cells[0].arms[1].setting[0], ("kernel".into(), "patched".into()));
    })
    .await;
}

#[tokio::test]
async fn the_time_left_counts_trials_and_boots_before_and_while_it_runs() {
    let lab = TestLab::new().await;
    let host = lab.booting_host("lab-1", &["sata-hdd"]).await;
    lab.add_kernel("base", 'a').await;
    lab.add_kernel("patched", 'b').await;
    let submit = kernel_submission(&["base", "patched"], &[]);
    let first = lab.client().submit(&submit).await.unwrap();
    assert_eq!((first.boots, first.eta_ms), (12, None), "nothing like it was ever measured");

    // A boot takes 6.3 s, a trial 2 s.
    let run_one = async || {
        let job = host.claim().await.unwrap().unwrap();
        lab.lab.clock.advance(SpanMs(6_300 + 2_000));
        host.report(&host.completed(&job, &job.trials[0], 80e6)).await.unwrap();
    };
    run_one().await;
    let left = lab.client().progress(first.id).await.unwrap().eta_ms;
    assert_eq!(left, Some(11 * 8_300));
    for _ in 0..11 {
        run_one().await;
    }
    assert_eq!(lab.client().progress(first.id).await.unwrap().eta_ms, None, "it is over");

    let second = lab.client().submit(&submit).await.unwrap();
    assert_eq!(second.eta_ms, Some(12 * 8_300));
    assert_eq!(lab.client().progress(second.id).await.unwrap().eta_ms, Some(12 * 8_300), "before it begins");
    let other_host = lab.booting_host("lab-2", &["ssd"]).await;
    let elsewhere = lab.client().submit(&kernel_submission(&["base", "patched"], &[("sata-hdd", "ssd")])).await.unwrap();
    assert_eq!(elsewhere.eta_ms, None, "another host says nothing of this one");
    drop(other_host);
}

#[tokio::test]
async fn runs_of_a_boot_are_one_value_and_say_how_many_pay_off() {
    let lab = TestLab::new().await;
    let host = lab.booting_host("lab-1", &["sata-hdd"]).await;
    lab.add_kernel("base", 'a').await;
    lab.add_kernel("patched", 'b').await;
    let submit = kernel_submission(&["base", "patched"], &[("rounds = 6", "rounds = 6\nruns_per_boot = \"auto\"")]);
    let first = lab.client().submit(&submit).await.unwrap();
    assert_eq!((first.trials, first.boots), (24, 12), "nothing is known: two runs find out");
    let mut trials = 0;
    while let Some(job) = host.claim().await.unwrap() {
        assert_eq!(job.trials.len(), 2);
        for trial in &job.trials {
            let spread = 1.0 + f64::from(trial.trial.run % 3) / 100.0;
            host.report(&host.completed(&job, trial, 80e6 * spread)).await.unwrap();
            trials += 1;
        }
    }
    assert_eq!(trials, 24);
    let report = lab.client().report(first.id).await.unwrap();
    let spread = report.spread.unwrap();
    assert!(spread.run_cv_pct > 0.5 && spread.boot_cv_pct < spread.run_cv_pct, "{spread:?}");
    assert_eq!(report.cells[0].comparisons[0].comparison.as_ref().unwrap().base.n, 6);
    assert_eq!((report.cells[0].trials[23].round, report.cells[0].trials[23].run), (5, 1));

    let second = lab.client().submit(&submit).await.unwrap();
    assert_eq!(second.trials, 12 * spread.advised);
    assert_eq!(lab.client().report(second.id).await.unwrap().runs_per_boot, spread.advised);
    let mut by_hand = submit.clone();
    by_hand.overrides.runs_per_boot = Some("3".into());
    assert_eq!(lab.client().submit(&by_hand).await.unwrap().trials, 36);
    by_hand.overrides.runs_per_boot = Some("many".into());
    let error = lab.client().submit(&by_hand).await.unwrap_err().to_string();
    assert!(error.contains("--runs-per-boot many") && error.contains("1 to 10, or \"auto\""), "{error}");
}

#[tokio::test]
async fn a_host_whose_clock_changed_measures_nothing_for_the_old_plan() {
    let lab = TestLab::new().await;
    let mut host = lab.booting_host("lab-1", &["sata-hdd"]).await;
    lab.add_kernel("base", 'a').await;
    lab.add_kernel("patched", 'b').await;
    let error = lab.client().submit(&kernel_submission(&["base", "patched"], &[("rounds = 6", "rounds = 6\nclock = \"virtual\"")])).await;
    assert!(error.unwrap_err().to_string().contains("the host measures real time, the experiment asks for virtual"));
    let id = lab.client().submit(&kernel_submission(&["base", "patched"], &[])).await.unwrap().id;
    host.host.facts.clock = Clock::Virtual;
    host.restart();
    host.hello().await.unwrap();
    for _ in 0..12 {
        assert_eq!(host.claim().await.unwrap(), None);
    }
    let report = lab.client().report(id).await.unwrap();
    assert_eq!((report.trials.completed, report.trials.failed), (0, 12));
    let failure = report.cells[0].trials[0].failure.as_ref().unwrap();
    assert!(failure.message.contains("asks for real time, and its host measures virtual time"), "{failure:?}");
}

#[tokio::test]
async fn a_host_that_runs_another_kernel_measures_nothing() {
    let lab = TestLab::new().await;
    let liar = lab.booting_host("lab-1", &["sata-hdd"]).await;
    let (base, _) = (lab.add_kernel("base", 'a').await, lab.add_kernel("patched", 'b').await);
    let id = lab.client().submit(&kernel_submission(&["base", "patched"], &[])).await.unwrap().id;
    let mut lies = 0;
    while let Some(job) = liar.claim().await.unwrap() {
        for spec in &job.trials {
            let mut report = liar.completed(&job, spec, 80e6);
            let boot = report.boot.as_mut().unwrap();
            if boot.build_id != base.build_id {
                lies += 1;
                (boot.release, boot.build_id) = (base.release.clone(), base.build_id.clone());
            }
            liar.report(&report).await.unwrap();
        }
    }
    assert_eq!(lies, 6 * 3, "each is tried again, in case it was a mishap");
    let report = lab.client().report(id).await.unwrap();
    assert_eq!((report.trials.completed, report.trials.failed), (6, 6));
    for trial in &report.cells[0].trials {
        let Some(failure) = &trial.failure else { continue };
        assert!(failure.message.starts_with("wrong kernel: `patched` was asked for, whose release is 6.1.0-patched"), "{failure:?}");
        assert_eq!((failure.fault.word(), trial.arm, trial.values.len()), ("lab", 1, 0));
        assert_eq!(trial.outputs, ["reader.err"], "what it sent is kept");
    }
}

#[tokio::test]
async fn a_kernel_experiment_is_refused_before_anything_runs() {
    let lab = TestLab::new().await;
    let client = lab.client();
    let fixed = lab.host("lab-1", &["sata-hdd"]).await;
    let refused = async |kernels: &[&str]| client.submit(&kernel_submission(kernels, &[])).await.unwrap_err().to_string();
    let error = refused(&["base", "patched"]).await;
    assert!(error.contains("unknown kernel `base`\n  help: there is none yet; add one by `blklab kernel add`"), "{error}");
    lab.add_kernel("base", 'a').await;
    let error = refused(&["base", "bsae"]).await;
    assert!(
        error.contains("unknown kernel `bsae`") && error.contains("did you mean `base`?") && error.contains("blklab kernel add"),
        "{error}"
    );

    client.build(&build_request("patched"), "a tester").await.unwrap();
    let error = refused(&["base", "patched"]).await;
    assert!(error.contains("kernel `patched` is not built yet: build b1 waits for a builder") && error.contains("/builds/b1"), "{error}");
    let builder = lab.builder("builder").await;
    let spec = builder.claim_build().await.unwrap().unwrap();
    assert!(refused(&["base", "patched"]).await.contains("builder works on build b1"));
    let failure = BuildFailure { fault: BuildFault::DoesNotApply, message: "hunk".into() };
    builder.report_build(&spec, BuildOutcome::Failed(failure), None).await.unwrap();
    assert!(refused(&["base", "patched"]).await.contains("build b1 failed (does not apply)"));

    lab.add_kernel("patched", 'b').await;
    let error = refused(&["base", "patched"]).await;
    assert!(error.contains("the kernel of host lab-1 is fixed"), "{error}");
    assert_eq!(client.experiments().await.unwrap(), []);
    drop(fixed);
}

#[tokio::test]
async fn a_kernel_is_added_once_and_removed_only_when_nobody_needs_it() {
    let lab = TestLab::new().await;
    let client = lab.client();
    let host = lab.booting_host("lab-1", &["sata-hdd"]).await;
    let record = lab.add_kernel("base", 'a').await;
    assert_eq!(lab.add_kernel("base", 'a').await, record, "the same again");
    lab.add_kernel("patched", 'b').await;
    assert_eq!(client.kernels().await.unwrap().len(), 2);
    assert_eq!(client.kernel(&record.name).await.unwrap(), record);

    let add = |name: &str, change: fn(&mut AddKernel)| {
        let model = kernel(name, 'c');
        let mut kernel = AddKernel {
            name: model.name,
            id: model.id,
            release: model.release,
            build_id: model.build_id,
            source: model.source,
            toolchain: model.toolchain,
            arguments: model.arguments,
            image: record.image.clone(),
            modules: None,
            config: None,
        };
        change(&mut kernel);
        kernel
    };
    let cases: [(AddKernel, &str); 7] = [
        (add("base", |_| ()), "the name `base` is taken by another kernel (aaaaaaaaaaaa)"),
        (add("as-booted", |_| ()), "experiment files mean by this name whatever a host has booted"),
        (add("other", |kernel| kernel.image.sha256 = "d".repeat(64)), "is not here"),
        (add("other", |kernel| kernel.image.bytes += 1), "is 7 bytes long here"),
        (add("other", |kernel| kernel.build_id = "xyz".into()), "build id"),
        (add("other", |kernel| kernel.arguments = "blklab.token=1".into()), "words for its command line"),
        (add("other", |kernel| kernel.release = "../6.1".into()), "is no release of a kernel"),
    ];
    for (kernel, words) in cases {
        let error = client.add_kernel(&kernel).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let nobody = Client::new(&lab.url, None).unwrap();
    assert!(nobody.add_kernel(&add("other", |_| ())).await.unwrap_err().to_string().contains("a submission token is needed"));
    assert!(nobody.remove_kernel(&record.name).await.is_err());

    let id = client.submit(&kernel_submission(&["base", "patched"], &[])).await.unwrap().id;
    let error = client.remove_kernel(&record.name).await.unwrap_err().to_string();
    assert!(error.contains("kernel `base` is needed by x1"), "{error}");
    work(&host).await;
    client.remove_kernel(&record.name).await.unwrap();
    assert!(client.kernel(&record.name).await.unwrap_err().to_string().contains("there is no kernel `base`"));
    assert_eq!(client.report(id).await.unwrap().trials.completed, 12, "what was measured stays");
}

#[tokio::test]
async fn files_come_whole_or_not_at_all() {
    let lab = TestLab::new().await;
    let builder = lab.builder("builder").await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let file = vec![7u8; 3 << 20];
    let name = blob(&file).sha256;
    assert_eq!(builder.put_blob(&name, &file).await.unwrap(), blob(&file));
    assert_eq!(host.blob(&name).await.unwrap(), file);
    assert_eq!(builder.put_blob(&name, &file).await.unwrap(), blob(&file), "the same again");

    let (status, refusal) = builder.put_blob(&name, b"other").await.unwrap_err();
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refusal.error.starts_with("5 bytes with SHA-256"), "{}", refusal.error);
    assert_eq!(host.blob(&name).await.unwrap(), file, "what was there stays");
    assert_eq!(builder.put_blob("..%2f..%2fetc", b"x").await.unwrap_err().0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(host.blob(&"0".repeat(64)).await.unwrap_err(), StatusCode::NOT_FOUND);
    assert_eq!(host.put_blob(&name, &file).await.unwrap_err().0, StatusCode::FORBIDDEN, "it builds nothing");

    // By people: what is there already is not sent again, and its length is told.
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let url = format!("{}/api/v1/blobs/{name}", lab.url);
    let head = http.head(&url).send().await.unwrap();
    assert_eq!((head.status(), head.headers()["content-length"].to_str().unwrap()), (StatusCode::OK, "3145728"));
    assert_eq!(http.put(&url).body(file.clone()).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let local = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(local.path(), &file).unwrap();
    assert!(!lab.client().put_blob(local.path(), &blob(&file)).await.unwrap());
    let broken_off = futures_of(vec![Ok(vec![7u8; 1 << 20]), Err(std::io::Error::other("the line is cut"))]);
    let other = format!("{}/api/v1/blobs/{}", lab.url, "1".repeat(64));
    assert!(
        http.put(&other)
            .bearer_auth(lab.token("submit"))
            .body(broken_off)
            .send()
            .await
            .map_or(true, |answer| !answer.status().is_success())
    );
    assert_eq!(host.blob(&"1".repeat(64)).await.unwrap_err(), StatusCode::NOT_FOUND);
}

fn futures_of(pieces: Vec<std::io::Result<Vec<u8>>>) -> reqwest::Body {
    reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))
}

#[tokio::test]
async fn files_that_nothing_names_go_after_a_day() {
    let lab = TestLab::new().await;
    let kept = lab.add_kernel("base", 'a').await;
    let removed = lab.add_kernel("patched", 'b').await;
    let lost = lab.put_blob(b"an upload that came to nothing").await;
    lab.client().remove_kernel(&removed.name).await.unwrap();
    assert_eq!(sweep(&lab.lab).await.unwrap(), 0, "somebody may still name them");
    let folder = lab.folder().join("blobs");
    for blob in [&kept.image, &removed.image, &lost] {
        let file = std::fs::File::options().write(true).open(folder.join(&blob.sha256[..2]).join(&blob.sha256[2..])).unwrap();
        file.set_modified(file.metadata().unwrap().modified().unwrap() - UNUSED_FOR * 2).unwrap();
    }
    assert_eq!(sweep(&lab.lab).await.unwrap(), 2);
    let is_there = |blob: &blklab_model::kernel::Blob| lab.lab.blobs.size(&blob.sha256).unwrap().is_some();
    assert_eq!((is_there(&kept.image), is_there(&removed.image), is_there(&lost)), (true, false, false));
    assert!(is_there(removed.modules.as_ref().unwrap()), "it is not a day old");
}

/// What a builder makes of a request.
async fn built(builder: &ScriptedHost, digit: char) -> BuiltKernel {
    let model = kernel("patched", digit);
    let mut blobs = Vec::new();
    for bytes in [format!("image {digit}"), format!("config {digit}")] {
        let blob = blob(bytes.as_bytes());
        builder.put_blob(&blob.sha256, bytes.as_bytes()).await.expect("a place for the file");
        blobs.push(blob);
    }
    let [image, config] = <[_; 2]>::try_from(blobs).expect("two files");
    BuiltKernel {
        id: model.id,
        release: model.release,
        build_id: model.build_id,
        source: model.source,
        toolchain: model.toolchain,
        image,
        modules: None,
        config,
    }
}

async fn state(lab: &TestLab, build: BuildId) -> BuildState {
    lab.client().build_record(build).await.expect("a build").state
}

#[tokio::test]
async fn a_build_gives_a_kernel_and_an_equal_one_is_used_again() {
    let lab = TestLab::new().await;
    let client = lab.client();
    let builder = lab.builder("builder").await;
    assert_eq!(builder.claim_build().await.unwrap(), None);
    let asked = client.build(&build_request("patched"), "a tester").await.unwrap();
    assert_eq!((asked.id, asked.path.as_str()), (BuildId(1), "/builds/b1"));
    assert_eq!(client.build(&build_request("patched"), "another").await.unwrap(), asked, "the same is asked for once");

    let spec = builder.claim_build().await.unwrap().unwrap();
    assert_eq!(spec, BuildSpec { build: BuildId(1), attempt: 1, request: build_request("patched") });
    assert!(!builder.heartbeat_of_build(spec.build).await.unwrap().drop_build);
    assert!(!builder.post::<bool>("builds/known", &Known { host: id("builder"), id: kernel("x", 'b').id }).await.unwrap());
    let log = blob(b"CC bfq-iosched.o\n");
    builder.put_blob(&log.sha256, b"CC bfq-iosched.o\n").await.unwrap();
    let outcome = BuildOutcome::Built(Box::new(built(&builder, 'b').await));
    assert!(builder.report_build(&spec, outcome.clone(), Some(log.clone())).await.unwrap().counted);
    assert!(!builder.report_build(&spec, outcome, Some(log.clone())).await.unwrap().counted, "sent twice");
    let record = client.kernel(&id("patched")).await.unwrap();
    assert_eq!((&record.log, record.id.short()), (&Some(log), "bbbbbbbbbbbb"));
    assert!(matches!(&record.source, KernelSource::Git { patches, .. } if patches == &["bfq: idle for no one"]));
    assert_eq!(state(&lab, spec.build).await, BuildState::Built { reused: false });
    assert_eq!(client.page("/api/v1/builds/b1/log").await.unwrap(), "CC bfq-iosched.o\n");
    assert_eq!(client.build(&build_request("patched"), "a tester").await.unwrap(), asked, "it gave the kernel that is here");
    let mut other = build_request("patched");
    other.salt = Some("again".into());
    assert!(client.build(&other, "a tester").await.unwrap_err().to_string().contains("there is a kernel `patched` already"));

    client.build(&build_request("twin"), "a tester").await.unwrap();
    let spec = builder.claim_build().await.unwrap().unwrap();
    assert!(builder.post::<bool>("builds/known", &Known { host: id("builder"), id: record.id.clone() }).await.unwrap());
    assert!(builder.report_build(&spec, BuildOutcome::Reused(record.id.clone()), None).await.unwrap().counted);
    let twin = client.kernel(&id("twin")).await.unwrap();
    assert_eq!((&twin.id, &twin.image), (&record.id, &record.image));
    assert_eq!(state(&lab, spec.build).await, BuildState::Built { reused: true });
}

#[tokio::test]
async fn a_patch_that_does_not_apply_is_an_answer_and_a_lost_builder_is_not() {
    let lab = TestLab::new().await;
    let client = lab.client();
    let (mut first, second) = (lab.builder("builder-1").await, lab.builder("builder-2").await);
    client.build(&build_request("broken"), "a tester").await.unwrap();
    let spec = first.claim_build().await.unwrap().unwrap();
    assert_eq!(second.claim_build().await.unwrap(), None, "it is at work");
    let failure = BuildFailure { fault: BuildFault::DoesNotApply, message: "idle.mbox: hunk #1 of block/bfq-iosched.c".into() };
    first.report_build(&spec, BuildOutcome::Failed(failure.clone()), None).await.unwrap();
    assert_eq!(state(&lab, spec.build).await, BuildState::Failed(failure));

    // Its agent is killed and started again.
    client.build(&build_request("patched"), "a tester").await.unwrap();
    let spec = first.claim_build().await.unwrap().unwrap();
    first.restart();
    first.hello().await.unwrap();
    assert_eq!(state(&lab, spec.build).await, BuildState::Queued);
    // Its machine dies for good.
    let spec = first.claim_build().await.unwrap().unwrap();
    assert_eq!(spec.attempt, 2);
    lab.pass(LEASE).await;
    let spec = second.claim_build().await.unwrap().unwrap();
    assert_eq!(spec.attempt, 3);
    assert!(first.heartbeat_of_build(spec.build).await.unwrap().drop_build, "it is another's now");
    // The first one comes back with a fault of its own, which is nobody's business any more, and then with the kernel after all.
    let late = BuildSpec { attempt: 2, ..spec.clone() };
    let failure = BuildFailure { fault: BuildFault::Infrastructure, message: "no space".into() };
    assert!(!first.report_build(&late, BuildOutcome::Failed(failure), None).await.unwrap().counted);
    let kernel = BuildOutcome::Built(Box::new(built(&first, 'b').await));
    assert!(first.report_build(&late, kernel, None).await.unwrap().counted);
    assert!(second.heartbeat_of_build(spec.build).await.unwrap().drop_build, "it is done");
    assert_eq!(client.kernel(&id("patched")).await.unwrap().id.short(), "bbbbbbbbbbbb");
}

#[tokio::test]
async fn a_build_that_kills_its_builders_is_given_up() {
    let lab = TestLab::new().await;
    let builder = lab.builder("builder").await;
    lab.client().build(&build_request("deadly"), "a tester").await.unwrap();
    for attempt in 1..=MAX_BUILD_ATTEMPTS {
        assert_eq!(builder.claim_build().await.unwrap().unwrap().attempt, attempt);
        lab.pass(LEASE).await;
    }
    assert_eq!(builder.claim_build().await.unwrap(), None);
    assert!(matches!(state(&lab, BuildId(1)).await, BuildState::Failed(failure) if failure.fault == BuildFault::Infrastructure));
}

#[tokio::test]
async fn what_a_builder_says_is_checked() {
    let lab = TestLab::new().await;
    let client = lab.client();
    let (builder, host) = (lab.builder("builder").await, lab.host("lab-1", &["sata-hdd"]).await);
    assert_eq!(host.claim_build().await.unwrap_err().0, StatusCode::FORBIDDEN);
    client.build(&build_request("patched"), "a tester").await.unwrap();
    let spec = builder.claim_build().await.unwrap().unwrap();
    assert!(client.cancel_build(BuildId(9)).await.unwrap_err().to_string().contains("there is no build `b9`"));

    let mut kernel = built(&builder, 'b').await;
    kernel.image.sha256 = "0".repeat(64);
    let (status, refusal) = builder.report_build(&spec, BuildOutcome::Built(Box::new(kernel)), None).await.unwrap_err();
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refusal.error.contains("its image") && refusal.help.contains("put its files first"), "{refusal:?}");
    let error = lab.add_kernel_or("patched", 'c').await.unwrap_err().to_string();
    assert!(error.contains("the name `patched` belongs to build b1, which is under way"), "{error}");

    let mut nameless = built(&builder, 'd').await;
    nameless.build_id = String::new();
    client.build(&build_request("nameless"), "a tester").await.unwrap();
    let other = lab.builder("builder-2").await;
    let second = other.claim_build().await.unwrap().unwrap();
    assert!(other.report_build(&second, BuildOutcome::Built(Box::new(nameless)), None).await.unwrap().counted);
    assert!(matches!(state(&lab, second.build).await, BuildState::Failed(failure) if failure.message.contains("no host can prove")));

    client.cancel_build(spec.build).await.unwrap();
    assert!(builder.heartbeat_of_build(spec.build).await.unwrap().drop_build);
    let kernel = BuildOutcome::Built(Box::new(built(&builder, 'b').await));
    assert!(!builder.report_build(&spec, kernel, None).await.unwrap().counted, "nobody wants it any more");
    assert_eq!(client.kernels().await.unwrap(), []);
    assert!(client.cancel_build(spec.build).await.is_err(), "it is over");
    let mut evil = build_request("evil");
    evil.repo = "ext::sh -c true".into();
    assert!(client.build(&evil, "a tester").await.unwrap_err().to_string().contains("is no address of a git repository"));
    let states: Vec<String> = client.builds().await.unwrap().into_iter().map(|line| line.state).collect();
    assert_eq!(states, ["failed: does not configure", "cancelled"]);
}
