//! Every page of a lab that has measured something: each link leads somewhere, each twin is there, nothing in it runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use blklab_lab_tests::{ScriptedHost, TestLab, blob, kernel_submission, submission};
use blklab_model::build::{BuildFailure, BuildFault};
use blklab_model::crash::{Crash, CrashKind};
use blklab_model::id::ExperimentId;
use blklab_model::imported::PublishedSummary;
use blklab_model::outcome::Outcome;
use blklab_model::testing::{build_request, noise};
use blklab_model::workload::metric::Better;
use blklab_wire::agent::Output;
use blklab_wire::build::BuildOutcome;
use blklab_wire::people::{HostDetails, Import, ImportCell, ImportData, ImportMetric, ImportValue, KernelLine};
use reqwest::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use reqwest::{Response, StatusCode};

/// What a workload under test may print.
const EVIL: &str = "<script>alert('raw')</script>\n";

/// A lab with one experiment of a question full of markup, whose trials are over but for the last job.
async fn lab() -> (TestLab, ScriptedHost, ExperimentId) {
    let lab = TestLab::new().await;
    let host = lab.host("lab-1", &["sata-hdd"]).await;
    let changes = [
        ("Is bfq slower than none?", "<script>alert('title')</script>"),
        ("\"none\", \"bfq\"", "\"none\", { name = \"bfq\", label = \"<b>bfq</b>\" }"),
    ];
    let id = lab.client().submit(&submission(&changes)).await.expect("a place in the queue").id;
    for round in 0..5 {
        let job = host.claim().await.expect("a claim").expect("a job");
        for spec in &job.trials {
            let rate = if spec.scheduler.name == "bfq" { 40e6 } else { 80e6 };
            let mut report = host.completed(&job, spec, rate * noise(spec.trial.arm, round));
            report.outputs.push(Output { name: "evil.html".into(), base64: BASE64_STANDARD.encode(EVIL), truncated_bytes: 0 });
            host.report(&report).await.expect("a receipt");
        }
    }
    (lab, host, id)
}

/// Fetches a path as a browser does.
async fn get(lab: &TestLab, path: &str) -> Response {
    browser().get(format!("{}{path}", lab.url)).send().await.expect("an answer")
}

fn browser() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().expect("a client")
}

async fn text(lab: &TestLab, path: &str) -> String {
    let response = get(lab, path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    response.text().await.expect("a text")
}

/// What `href="` and `src="` say, without fragments.
fn links(html: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|attribute| html.split(attribute).skip(1));
    values.filter_map(|rest| rest.split('"').next()).map(|link| link.split('#').next().unwrap_or_default()).filter(|link| !link.is_empty())
}

/// Follows every link from the first page on: each leads somewhere, and no page holds foreign markup. Gives the paths.
async fn walk(lab: &TestLab) -> BTreeSet<String> {
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut open = VecDeque::from(["/".to_owned()]);
    while let Some(path) = open.pop_front() {
        let response = get(lab, &path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let kind = response.headers()[CONTENT_TYPE].to_str().expect("plain text").to_owned();
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().expect("plain text").to_owned();
        assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert!(!policy.contains("unsafe"), "{policy}");
        if !kind.starts_with("text/html") {
            continue;
        }
        let html = response.text().await.expect("a page");
        for forbidden in ["<script>", "<b>", " style=", " onclick=", "<style"] {
            assert!(!html.contains(forbidden), "{forbidden} in {path}: {html}");
        }
        for link in links(&html) {
            assert!(link.starts_with('/') && !link.starts_with("//"), "{path} leads to {link}");
            if seen.insert(link.to_owned()) {
                open.push_back(link.to_owned());
            }
        }
    }
    seen
}

#[tokio::test]
async fn every_link_leads_somewhere_and_no_page_holds_foreign_markup() {
    let (lab, host, _) = lab().await;
    for state in ["running", "finished"] {
        if state == "finished" {
            host.work(|_| 60e6).await;
        }
        let seen = walk(&lab).await;
        for path in [
            "/kernels",
            "/experiments/x1",
            "/experiments/x1.csv",
            "/experiments/x1.toml",
            "/experiments/x1/cells/0",
            "/hosts/lab-1",
            "/queue.json",
            "/method",
        ] {
            assert!(seen.contains(path), "{path} is reached from /: {seen:?}");
        }
    }
}

/// A lab with two kernels, one of which panics now and then, whose messages are full of markup, and with builds.
async fn lab_with_kernels() -> (TestLab, ScriptedHost) {
    let lab = TestLab::new().await;
    let (host, builder) = (lab.booting_host("vm-1", &["sata-hdd"]).await, lab.builder("builder").await);
    lab.add_kernel("base", 'a').await;
    let mut request = build_request("patched");
    request.repo = EVIL.trim().into();
    lab.client().build(&request, EVIL).await.expect("a place in the queue");
    let spec = builder.claim_build().await.expect("a claim").expect("a build");
    let log = blob(EVIL.as_bytes());
    builder.put_blob(&log.sha256, EVIL.as_bytes()).await.expect("a place for the log");
    let failure = BuildFailure { fault: BuildFault::DoesNotCompile, message: EVIL.into() };
    builder.report_build(&spec, BuildOutcome::Failed(failure), Some(log)).await.expect("a receipt");
    lab.client().build(&build_request("waiting"), "a tester").await.expect("a place in the queue");
    lab.add_kernel("patched", 'b').await;
    let id = lab.client().submit(&kernel_submission(&["base", "patched"], &[])).await.expect("a place in the queue").id;
    while let Some(job) = host.claim().await.expect("a claim") {
        for spec in &job.trials {
            let mut report = host.completed(&job, spec, 80e6 * noise(spec.trial.arm, spec.trial.run));
            if spec.trial.arm == 1 && spec.trial.run < 2 {
                let crash = Crash { kind: CrashKind::Panic, title: EVIL.trim().into(), excerpt: EVIL.into() };
                report.outcome = Outcome::Failed(crash.failure("workload"));
            }
            host.report(&report).await.expect("a receipt");
        }
    }
    assert_eq!(lab.client().report(id).await.expect("a report").trials.failed, 2);
    (lab, host)
}

#[tokio::test]
async fn kernels_builds_and_boots_have_pages() {
    let (lab, _host) = lab_with_kernels().await;
    let seen = walk(&lab).await;
    for path in
        ["/kernels/base", "/kernels/patched", "/kernels/base.json", "/kernels/base/config", "/builds/b1", "/builds/b1/log", "/builds/b2"]
    {
        assert!(seen.contains(path), "{path} is reached from /: {seen:?}");
    }
    assert!(text(&lab, "/kernels/base/config").await.contains("CONFIG_PVH=y"));
    assert_eq!(text(&lab, "/builds/b1/log").await, EVIL);
    let report = text(&lab, "/experiments/x1").await;
    assert!(report.contains("Kernel regression: 2 of 6 trials of patched panicked"), "{report}");
    assert!(text(&lab, "/experiments/x1.txt").await.starts_with("Verdict: Kernel regression: 2 of 6 trials of patched panicked"));
    let host: HostDetails = serde_json::from_str(&text(&lab, "/hosts/vm-1.json").await).unwrap();
    assert_eq!((host.boots.len(), host.boots[0].boot_ms), (12, Some(6_300)));
    let kernels: Vec<KernelLine> = serde_json::from_str(&text(&lab, "/kernels.json").await).unwrap();
    assert_eq!(kernels.iter().map(|line| line.experiments.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(get(&lab, "/kernels/none").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(get(&lab, "/builds/b9").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn twins_say_what_the_page_says() {
    let (lab, host, id) = lab().await;
    host.work(|spec| if spec.scheduler.name == "bfq" { 40e6 } else { 80e6 } * noise(spec.trial.arm, 5)).await;
    let report = lab.client().report(id).await.unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(&lab, "/experiments/x1.json").await).unwrap();
    assert_eq!(json["headline"], report.headline);
    let mail = text(&lab, "/experiments/x1.txt").await;
    assert!(mail.starts_with("Verdict: Regression suspected in 1 of 1 comparison"), "{mail}");
    assert!(mail.contains(&format!("Details    {}/experiments/x1\n", lab.url)), "links lead back to where the reader came from: {mail}");
    assert_eq!(text(&lab, "/experiments/x1.csv").await.lines().count(), 3, "a head and two metrics");
    assert_eq!(text(&lab, "/experiments/x1/cells/0.csv").await.lines().count(), 13, "a head and twelve trials");
    let cell: serde_json::Value = serde_json::from_str(&text(&lab, "/experiments/x1/cells/0.json").await).unwrap();
    assert_eq!(cell["id"], "x1.c0");
    assert!(text(&lab, "/experiments/x1.toml").await.contains("compare = \"scheduler\""));
    assert!(text(&lab, "/experiments/x1").await.contains("Regression suspected in 1 of 1 comparison"));
}

#[tokio::test]
async fn raw_outputs_are_text_that_cannot_run() {
    let (lab, _host, _) = lab().await;
    let response = get(&lab, "/experiments/x1/trials/x1.c0.r0.a0/raw/evil.html").await;
    assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], "default-src 'none'; sandbox");
    assert_eq!(response.text().await.unwrap(), EVIL);
}

#[tokio::test]
async fn what_is_not_there_is_a_page_that_helps() {
    let (lab, _host, _) = lab().await;
    let missing = [
        "/nothing",
        "/experiments/x99",
        "/experiments/x99.json",
        "/experiments/%3Cscript%3E",
        "/experiments/x1/cells/99",
        "/experiments/x1/cells/minus",
        "/experiments/x1/trials/x1.c0.r0.a0/raw/none",
        "/experiments/x2/trials/x1.c0.r0.a0/raw/evil.html",
        "/experiments/x1/trials/..%2F..%2Fetc/raw/passwd",
        "/hosts/lab-99",
        "/hosts/lab-99.json",
        "/hosts/%00",
    ];
    for path in missing {
        let response = get(&lab, path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let html = response.text().await.unwrap();
        assert!(html.contains("<a href=\"/\">Experiments</a>") && !html.contains("<script>"), "{path}: {html}");
    }
}

#[tokio::test]
async fn browsers_keep_the_style_sheet() {
    let lab = TestLab::new().await;
    let etag = get(&lab, "/assets/style.css").await.headers()[ETAG].clone();
    let again = browser().get(format!("{}/assets/style.css", lab.url)).header(IF_NONE_MATCH, etag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn an_empty_lab_says_how_to_begin() {
    let lab = TestLab::new().await;
    let home = text(&lab, "/").await;
    assert!(home.contains("blklab submit") && home.contains("No host is enrolled yet"), "{home}");
    assert!(text(&lab, "/queue").await.contains("The queue is empty"));
}

/// Labels, metrics and sources of an import are whatever a file says.
#[tokio::test]
async fn an_imported_experiment_has_the_same_pages() {
    let lab = TestLab::new().await;
    let values = |factor: f64| {
        let of = (0..10).map(|run| ImportValue { value: 100.0 * factor * noise(0, run), round: None });
        Some(ImportData::Values(of.collect()))
    };
    let summary =
        |mean: f64| Some(ImportData::Summary(PublishedSummary { n: Some(10), mean, sd: Some(mean / 10.0), min: None, max: None }));
    let metric = |name: &str, arms: Vec<Option<ImportData>>| ImportMetric {
        name: name.into(),
        unit: "<b>s</b>".into(),
        better: Better::Lower,
        arms,
    };
    let cell = BTreeMap::from([("disk".to_owned(), "ssd".to_owned()), ("<b>column</b>".to_owned(), EVIL.to_owned())]);
    let import = Import {
        name: EVIL.into(),
        title: EVIL.into(),
        question: EVIL.into(),
        source: EVIL.into(),
        submitter: EVIL.into(),
        arms: vec!["old".into(), EVIL.into()],
        cells: vec![ImportCell {
            cell,
            metrics: vec![metric(EVIL, vec![values(1.0), values(1.4)]), metric("published", vec![summary(1.0), summary(2.0)])],
        }],
        smallest_effect_pct: 5.0,
        sources: vec![EVIL.into()],
        warnings: vec![EVIL.into()],
    };
    let done = lab.client().import(&import).await.expect("a place in the database");
    let seen = walk(&lab).await;
    for path in ["/experiments/x1", "/experiments/x1.csv", "/experiments/x1.toml", "/experiments/x1/cells/0"] {
        assert!(seen.contains(path), "{path} is reached from /: {seen:?}");
    }
    let page = text(&lab, &done.path).await;
    assert!(page.contains("not measured by this lab") && page.contains("imported</span>"), "{page}");
    let mail = text(&lab, "/experiments/x1.txt").await;
    assert!(mail.contains("imported") && !mail.contains("blklab submit"), "{mail}");
    let cell = text(&lab, "/experiments/x1/cells/0").await;
    assert!(cell.contains("strip") && !cell.contains("run-order"), "nobody recorded an order");
}

#[tokio::test]
async fn an_import_needs_the_submission_token() {
    let lab = TestLab::new().await;
    let response = browser().post(format!("{}/api/v1/imports", lab.url)).body("{}").send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}
